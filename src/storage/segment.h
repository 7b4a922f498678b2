/* SPDX-License-Identifier: Apache-2.0 */
/* One segment of a log: a file of record batches with rising offsets, and its two indexes. */
#ifndef FL_SEGMENT_H
#define FL_SEGMENT_H
#include "base/frame.h"
#include "storage/batch_head.h"
#include "storage/offset_index.h"
#include "storage/time_index.h"

/* Positions in an index are 32-bit. */
enum { FL_SEGMENT_SIZE_MAX = INT32_MAX };

typedef struct fl_segment {
    int64_t base_offset; /* lower bound of its offsets, and its name */
    fl_file log;
    fl_offset_index offsets;
    fl_time_index times;
    uint64_t size;               /* bytes of good batches */
    uint64_t unindexed_size;     /* bytes since the last index entry */
    int64_t newest_timestamp_ms; /* of the last batch; -1: empty, or not read yet */
    int64_t newest_time_offset;  /* base offset of the first batch with it; -1: not known */
} fl_segment;

/** A segment without content; opens nothing. @param dir views; outlives the segment. NULL: no
 * memory */
fl_segment *fl_segment_new(fl_file_cache *cache, const char *dir,
                           int64_t base_offset) FLUSS_CHECKED;
/** Close its files. NULL allowed. */
void fl_segment_free(fl_segment *segment);
/** Remove its files; the log file first, for indexes without a log are cleared away when the log
 * is opened. */
FLUSS_CHECKED fluss_code_t fl_segment_remove(fl_segment *segment, fluss_error_t *err);

/** Make room so that fl_segment_index cannot fail. */
FLUSS_CHECKED fluss_code_t fl_segment_reserve(fl_segment *segment, fluss_error_t *err);
/** Note that batches were added at `position` = the size so far: grow the size, and add index
 * entries when `interval` bytes have gone by. @param head of the last one; base_offset of the first
 */
void fl_segment_index(fl_segment *segment, uint64_t position, size_t size, int64_t base_offset,
                      const fl_batch_head *head, size_t interval);
/** Write the index entries of what lies below position and offset. */
FLUSS_CHECKED fluss_code_t fl_segment_flush_indexes(fl_segment *segment, uint64_t position,
                                                    int64_t offset, fluss_error_t *err);

/** Write all index entries; the files exist then, even without entries. */
FLUSS_CHECKED fluss_code_t fl_segment_seal(fl_segment *segment, fluss_error_t *err);

/** Position of the batch that contains `offset`. @return FLUSS_E_CORRUPT_RECORD: there is
 * none */
FLUSS_CHECKED fluss_code_t fl_segment_find(fl_segment *segment, int64_t offset, uint64_t *position,
                                           fluss_error_t *err);
/** Base offset of the first batch with commit timestamp >= timestamp_ms, -1: all are older. */
FLUSS_CHECKED fluss_code_t fl_segment_find_time(fl_segment *segment, int64_t timestamp_ms,
                                                int64_t *offset, fluss_error_t *err);
/** Commit timestamp of the first batch; -1: empty. */
FLUSS_CHECKED fluss_code_t fl_segment_first_timestamp(fl_segment *segment, int64_t *timestamp_ms,
                                                      fluss_error_t *err);
/** Read the last batches: next offset and newest timestamp. Cost: one index interval of heads. */
FLUSS_CHECKED fluss_code_t fl_segment_read_tail(fl_segment *segment, int64_t *next_offset,
                                                fluss_error_t *err);

/** A walk over batches, first to last. */
typedef struct fl_segment_cursor {
    fl_segment *segment;
    uint64_t position, limit; /* of the next batch; end of the walk */
    bool is_whole;            /* read payloads too */
    fl_frame *window;         /* bytes of the file from window_position on */
    uint64_t window_position;
    uint64_t batch_position; /* of the batch found last */
    fl_batch_head head;
    fl_slice batch; /* all its bytes, when is_whole; views until the next step */
} fl_segment_cursor;

/** @param is_whole read and checksum each batch, not only its head */
void fl_segment_cursor_init(fl_segment_cursor *cursor, fl_segment *segment, uint64_t position,
                            uint64_t limit, bool is_whole);
void fl_segment_cursor_deinit(fl_segment_cursor *cursor);
/** @param found false: the limit is reached
 * @return FLUSS_E_CORRUPT_RECORD: no good batch here; FLUSS_E_LOG_STORAGE_EXCEPTION */
FLUSS_CHECKED fluss_code_t fl_segment_cursor_next(fl_segment_cursor *cursor, bool *found,
                                                  fluss_error_t *err);
#endif
