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

/* ---- writers ---- */

/**
 * Open a writer for a log table.
 *
 * @param table  borrowed; may be freed before the writer
 * @param out    gives (fluss_writer_free); NULL on failure
 * @return 0; FLUSS_KIND_ARGUMENT: the table has a primary key; FLUSS_KIND_STATE: the child of a
 *         fork; FLUSS_KIND_CLOSED
 * Thread: any. Source: Append.createWriter.
 */
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

/**
 * Open a writer for a primary-key table.
 *
 * @param table  borrowed; may be freed before the writer
 * @param opts   copied; NULL: whole rows
 * @param out    gives (fluss_writer_free); NULL on failure
 * @return 0; FLUSS_KIND_ARGUMENT: no primary key; target columns that are unknown, repeated, lack a
 *         key column, or leave out a column that must not be null; FLUSS_KIND_STATE: the child of a
 *         fork; FLUSS_KIND_CLOSED
 * Thread: any. Source: Upsert.createWriter, partialUpdate, mergeMode.
 */
FLUSS_API fluss_code_t fluss_upsert_open(fluss_table_t *table, const fluss_upsert_opts_t *opts,
                                         fluss_writer_t **out, fluss_error_t *err);

/**
 * Append a row to a log table.
 *
 * @param row  n values, copied before the call returns
 * @param n    the number of columns
 * @param ack  gives a future -> ack (fluss_await_ack); NULL: fire and forget
 * @return 0: queued; FLUSS_KIND_ARGUMENT names the column; FLUSS_KIND_TIMEOUT: the buffer stayed
 *         full; FLUSS_KIND_CLOSED. Nothing was queued on failure
 * Thread: any. Cost: values are copied once. Source: AppendWriter.append.
 */
FLUSS_API fluss_code_t fluss_append(fluss_writer_t *writer, const fluss_datum_t *row, size_t n,
                                    fluss_future_t **ack, fluss_error_t *err);

/**
 * Insert or update a row of a primary-key table.
 *
 * @param row  n values, copied before the call returns
 * @param n    the number of columns, or of the writer's target columns
 * @param ack  gives a future -> ack (fluss_await_ack); NULL: fire and forget
 * @return as fluss_append
 * Thread: any. Cost: values are copied once. Source: UpsertWriter.upsert.
 */
FLUSS_API fluss_code_t fluss_upsert(fluss_writer_t *writer, const fluss_datum_t *row, size_t n,
                                    fluss_future_t **ack, fluss_error_t *err);

/**
 * Delete a row of a primary-key table; that no such row exists is no error.
 *
 * @param key  n values, copied before the call returns
 * @param n    the number of key columns, in key order, or of all columns, of which the key is used
 * @param ack  gives a future -> ack (fluss_await_ack); NULL: fire and forget
 * @return as fluss_append
 * Thread: any. Cost: values are copied once. Source: UpsertWriter.delete.
 */
FLUSS_API fluss_code_t fluss_delete(fluss_writer_t *writer, const fluss_datum_t *key, size_t n,
                                    fluss_future_t **ack, fluss_error_t *err);

/**
 * Write the rows of an Arrow batch: append, upsert, or delete by key.
 *
 * @param schema   struct; columns are found by name, in any order, and converted where nothing is
 *                 lost; moved from on success; a failure leaves what still has its `release`
 * @param array    struct array of that schema, 0 rows or more; moved from as `schema`
 * @param deletes  delete by key instead of upserting
 * @param ack      gives one future -> ack for the whole batch, ready when all rows are
 *                 acknowledged; its bucket is that of the batch's last part. NULL: fire and forget
 * @return 0: queued; FLUSS_KIND_ARGUMENT names the column and row; FLUSS_KIND_TIMEOUT: the buffer
 *         stayed full, the first rows may be queued; FLUSS_KIND_CLOSED
 * Thread: any. Cost: columns are copied once. Source: ours; rows as AppendWriter.append.
 */
FLUSS_API fluss_code_t fluss_write_arrow(fluss_writer_t *writer, struct ArrowSchema *schema,
                                         struct ArrowArray *array, bool deletes,
                                         fluss_future_t **ack, fluss_error_t *err);

/**
 * Check an Arrow batch and convert it to the table's columns, without queueing any row.
 *
 * So that a table of many batches is written as a whole or not at all: prepare all, then write all.
 *
 * @param schema, array, deletes  as fluss_write_arrow
 * @param out  gives (fluss_prepared_free); holds the writer's table open
 * @return FLUSS_KIND_ARGUMENT names the column and row; FLUSS_KIND_CLOSED
 * Thread: any. Cost: columns of the table's own layout are shared. Source: ours.
 */
FLUSS_API fluss_code_t fluss_prepare_arrow(fluss_writer_t *writer, struct ArrowSchema *schema,
                                           struct ArrowArray *array, bool deletes,
                                           fluss_prepared_t **out, fluss_error_t *err);

/**
 * Queue a prepared batch, or what is left of it.
 *
 * @param batch  one call at a time; when it is queued to its end, only fluss_prepared_free is left
 * @param ack    as fluss_write_arrow, given by the call that succeeds; it must be wanted by the
 *               first call too. NULL: fire and forget
 * @return 0: queued to its end; FLUSS_KIND_TIMEOUT: the buffer stayed full; what was queued stays
 *         queued, and the next call goes on behind it; FLUSS_KIND_CLOSED
 * Thread: any, one at a time. Cost: columns are copied once. Source: ours.
 */
FLUSS_API fluss_code_t fluss_write_prepared(fluss_prepared_t *batch, fluss_future_t **ack,
                                            fluss_error_t *err);

/**
 * Release a prepared batch. Rows of it that are not queued are never written.
 *
 * @param batch  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_prepared_free(fluss_prepared_t *batch);

/**
 * Wait for the acknowledgement of everything that this writer has queued up to now.
 *
 * @return -> void. Fails with the first error of a write whose ack nobody took since the last flush
 * Thread: any. Source: TableWriter.flush.
 */
FLUSS_API fluss_future_t *fluss_flush(fluss_writer_t *writer);

/**
 * Release the handle. What is queued is still sent.
 *
 * @param writer  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_writer_free(fluss_writer_t *writer);

#ifdef __cplusplus
}
#endif
#endif
