/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of the log store share: its state, and the steps that more than one uses. */
#ifndef FL_LOG_PRIVATE_H
#define FL_LOG_PRIVATE_H
#include "storage/log.h"
#include "storage/log_writers.h"
#include "storage/segment.h"

enum { FL_LOG_HINT_COUNT = 4 };
enum { FL_LOG_CHECKPOINT_INTERVAL_SIZE = 64 << 20, FL_LOG_WRITEBACK_SIZE = 8 << 20 };

/** Where the batch with this base offset starts: readers go on where they stopped. */
typedef struct fl_log_hint {
    int64_t offset;
    fl_segment *segment; /* NULL: unused */
    uint64_t position;
} fl_log_hint;

struct fl_log_store {
    char *dir;
    fl_log_store_opts opts;
    fl_file_cache *own_cache; /* NULL: opts.files is somebody else's */

    fl_segment **segments; /* oldest first; the last one grows; none before the first append */
    size_t segment_count, segment_capacity;
    int64_t start_offset, end_offset, newest_timestamp_ms;
    fl_writers writers, staged; /* staged: those that the current append changes */
    bool has_torn_tail;         /* a failed write could not be cut off yet */

    int64_t durable_offset;
    uint64_t durable_position; /* in the newest segment */
    size_t sync_levels;        /* directories to sync: dir, its parent … */
    bool must_rewrite;         /* a sync failed: write again from durable_position on */
    fl_log_sync *sync;         /* the open ticket */

    int64_t checkpoint_offset; /* end offset of the checkpoint on disk; -1: none */
    uint64_t checkpoint_position;
    uint64_t writeback_position;
    fl_log_hint hints[FL_LOG_HINT_COUNT];
    size_t hint_next;
};

struct fl_log_sync {
    fl_segment *segment; /* pinned; NULL: there is no file yet */
    const char *dir;
    uint64_t from, to; /* bytes of the segment */
    int64_t end_offset;
    size_t sync_levels;
    bool must_rewrite;
    fluss_code_t rc;
    fluss_error_t error;
};

static inline fl_segment *fl_log_newest(const fl_log_store *store)
{
    return store->segment_count == 0 ? NULL : store->segments[store->segment_count - 1];
}

/** Add a segment behind the others. */
FLUSS_CHECKED fluss_code_t fl_log_add_segment(fl_log_store *store, int64_t base_offset,
                                              fluss_error_t *err);
/** The segment whose range holds an offset from start_offset on: the last with base <= offset. */
size_t fl_log_segment_at(const fl_log_store *store, int64_t offset);
/** Make all of the newest segment durable, here and now. */
FLUSS_CHECKED fluss_code_t fl_log_sync_now(fl_log_store *store, fluss_error_t *err);
/** Seal the newest segment and start one at the end offset. */
FLUSS_CHECKED fluss_code_t fl_log_roll(fl_log_store *store, fluss_error_t *err);

/** Write the writers' state as of the end offset, beside the segments. */
FLUSS_CHECKED fluss_code_t fl_log_write_snapshot(fl_log_store *store, bool durable,
                                                 fluss_error_t *err);
/** Read the writers' state as of an offset. @param found false: missing or not readable */
FLUSS_CHECKED fluss_code_t fl_log_read_snapshot(fl_log_store *store, int64_t offset, bool *found,
                                                fluss_error_t *err);
/** Remove a snapshot, if no segment starts there. */
void fl_log_drop_snapshot(fl_log_store *store, int64_t offset);

/** A place up to which the newest segment is known to be good and durable. */
typedef struct fl_log_checkpoint {
    int64_t base_offset; /* of the segment */
    uint64_t position;   /* bytes that are good */
    int64_t end_offset, newest_timestamp_ms;
    uint64_t offset_entries, time_entries; /* in the index files */
    uint32_t tail_crc;                     /* of the last bytes below position */
} fl_log_checkpoint;
/** Everything of the newest segment is durable: write indexes, snapshot and checkpoint. */
FLUSS_CHECKED fluss_code_t fl_log_write_checkpoint(fl_log_store *store, fluss_error_t *err);
/** Filled whenever the file is whole. @param found whether the newest segment is the one it is of,
 * and still has what it covers */
FLUSS_CHECKED fluss_code_t fl_log_read_checkpoint(fl_log_store *store,
                                                  fl_log_checkpoint *checkpoint, bool *found,
                                                  fluss_error_t *err);
/** Bring a new store to the state on disk (log_recovery.c). */
FLUSS_CHECKED fluss_code_t fl_log_recover(fl_log_store *store, int64_t now_ms, fluss_error_t *err);
#endif
