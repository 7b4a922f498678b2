/* SPDX-License-Identifier: Apache-2.0 */
/* The idempotent writers of one bucket: what each wrote last, to tell a repeated batch from a new
 * one and from a gap. */
#ifndef FL_LOG_WRITERS_H
#define FL_LOG_WRITERS_H
#include "base/buf.h"

enum { FL_WRITER_BATCHES = 5 };

typedef struct fl_writer_batch {
    int32_t sequence, offset_delta;
    int64_t last_offset, timestamp_ms;
} fl_writer_batch;

typedef struct fl_writer {
    int64_t id;
    uint32_t count; /* batches, oldest first */
    fl_writer_batch batches[FL_WRITER_BATCHES];
} fl_writer;

/** Writers by id: a dense array and an open-addressing table of positions in it. */
typedef struct fl_writers {
    fl_writer *items;
    uint32_t *slots; /* position + 1; 0: free */
    size_t count, capacity, slot_count;
} fl_writers;

typedef enum { FL_WRITE_NEXT, FL_WRITE_DUPLICATE, FL_WRITE_GAP } fl_write_order;

void fl_writers_init(fl_writers *writers);
void fl_writers_deinit(fl_writers *writers);
/** Forget all, keep the memory. */
void fl_writers_reset(fl_writers *writers);
/** NULL: unknown. views until the next change. */
const fl_writer *fl_writers_find(const fl_writers *writers, int64_t id);
/** What a batch with this sequence is to a writer. @param writer NULL: unknown
 * @param batch set for FL_WRITE_DUPLICATE: the one that was written */
fl_write_order fl_writer_order(const fl_writer *writer, int32_t sequence,
                               const fl_writer_batch **batch);
/** Make room for so many new writers. Drops writers silent for expiration_ms, and past a maximum
 * those that wrote longest ago. */
FLUSS_CHECKED fluss_code_t fl_writers_reserve(fl_writers *writers, size_t count, int64_t now_ms,
                                              int64_t expiration_ms, fluss_error_t *err);
/** Note a batch; room was reserved when the writer is new. */
void fl_writers_record(fl_writers *writers, int64_t id, const fl_writer_batch *batch);
/** Copy a writer with all its batches over the one with its id; room was reserved. */
void fl_writers_put(fl_writers *writers, const fl_writer *writer);
/** Drop writers whose last batch is older than expiration_ms. */
void fl_writers_expire(fl_writers *writers, int64_t now_ms, int64_t expiration_ms);

/** Write as JSON (log_writers_json.c). */
FLUSS_CHECKED fluss_code_t fl_writers_to_json(const fl_writers *writers, fl_buf *json,
                                              fluss_error_t *err);
/** Read; the writers are empty before. @return FLUSS_E_CORRUPT_RECORD: not such a text */
FLUSS_CHECKED fluss_code_t fl_writers_from_json(fl_writers *writers, fl_slice json,
                                                fluss_error_t *err);
#endif
