/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_write.h - writers. One sender per connection; any thread may use a writer.
 *
 * A row is an array of fluss_datum_t. Integers and floats convert when the value fits the column's
 * type; nothing else converts silently. A row is checked as a whole before it is queued: a refused
 * row leaves no trace. `ack` may be NULL (fire and forget; failures are reported by the next
 * fluss_flush); else it gives a future of fluss_ack_t. A write blocks only while the buffer is
 * full, for at most `writer.buffer.wait-timeout-ms`. */
#ifndef FLUSS_WRITE_H
#define FLUSS_WRITE_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Open a writer for a log table. gives (fluss_writer_free).
 * @return FLUSS_KIND_ARGUMENT: the table has a primary key; FLUSS_KIND_STATE: closed */
FLUSS_API fluss_code_t fluss_append_open(fluss_table_t *table, fluss_writer_t **out,
                                         fluss_error_t *err);

/** How to write to a primary-key table. Target columns are given by index or by name, not both. */
typedef struct {
    size_t size; /* sizeof(fluss_upsert_opts_t) */
    const int32_t *columns;
    const char *const *names;
    size_t n;       /* of columns or names; 0: all columns */
    bool overwrite; /* bypass the table's merge engine */
} fluss_upsert_opts_t;

/** Open a writer for a primary-key table. @param opts NULL: whole rows. gives (fluss_writer_free).
 * @return FLUSS_KIND_ARGUMENT: no primary key; target columns that are unknown, repeated, lack a
 * key column, or leave out a column that must not be null */
FLUSS_API fluss_code_t fluss_upsert_open(fluss_table_t *table, const fluss_upsert_opts_t *opts,
                                         fluss_writer_t **out, fluss_error_t *err);

/** Append a row of `n` = all columns. @return FLUSS_KIND_ARGUMENT names the column;
 * FLUSS_KIND_TIMEOUT: the buffer stayed full, nothing was queued; FLUSS_KIND_CLOSED.
 * Cost: values are copied once. */
FLUSS_API fluss_code_t fluss_append(fluss_writer_t *writer, const fluss_datum_t *row, size_t n,
                                    fluss_future_t **ack, fluss_error_t *err);
/** Insert or update a row of `n` = all columns, or the writer's target columns. */
FLUSS_API fluss_code_t fluss_upsert(fluss_writer_t *writer, const fluss_datum_t *row, size_t n,
                                    fluss_future_t **ack, fluss_error_t *err);
/** Delete by key: `n` = the key columns in key order, or all columns, of which the key is used. */
FLUSS_API fluss_code_t fluss_delete(fluss_writer_t *writer, const fluss_datum_t *key, size_t n,
                                    fluss_future_t **ack, fluss_error_t *err);
/**
 * Write the rows of an Arrow batch: append, upsert, or delete by key.
 *
 * @param schema  struct; columns are found by name, in any order, and converted where nothing is
 *                lost; moved from on success
 * @param array   struct array of that schema; moved from on success
 * @param deletes delete by key instead of upserting
 * @param ack     gives one future for the whole batch: ready when all rows are acknowledged; its
 *                bucket is that of the batch's last part
 */
FLUSS_API fluss_code_t fluss_write_arrow(fluss_writer_t *writer, struct ArrowSchema *schema,
                                         struct ArrowArray *array, bool deletes,
                                         fluss_future_t **ack, fluss_error_t *err);
/** -> void: everything queued by this writer before it is acknowledged. Fails with the first error
 * of a write whose ack nobody took since the last flush. */
FLUSS_API fluss_future_t *fluss_flush(fluss_writer_t *writer);
/** What is queued is still sent. NULL allowed. */
FLUSS_API void fluss_writer_free(fluss_writer_t *writer);

#ifdef __cplusplus
}
#endif
#endif
