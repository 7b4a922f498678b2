/* SPDX-License-Identifier: Apache-2.0 */
/* The log of one bucket: segments of record batches exactly as they travel, sparse offset and time
 * indexes, the state of idempotent writers, recovery. One owner thread; only fl_log_sync_run may
 * run elsewhere. */
#ifndef FL_STORAGE_LOG_H
#define FL_STORAGE_LOG_H
#include "base/error.h"
#include "base/frame.h"

typedef struct fl_log_store fl_log_store;
/* Descriptors shared by many logs (storage/file.h). */
typedef struct fl_file_cache fl_file_cache;

typedef struct fl_log_store_opts {
    size_t segment_size_max;      /* bytes; 1 GiB */
    size_t index_interval_size;   /* bytes of log between two index entries; 4 KiB */
    int64_t writer_expiration_ms; /* 7 days */
    fl_file_cache *files; /* borrowed until close: one for all logs of a server; NULL: its own */
} fl_log_store_opts;

typedef struct fl_log_appended {
    int64_t base_offset; /* of the first batch, or of the original of a duplicate; -1: no batches */
    int64_t log_end_offset; /* after the append */
    bool is_duplicate;
    int64_t original_end_offset; /* of a duplicate: the log's end after the original */
} fl_log_appended;

/**
 * Open or make the log in a directory (made with its parents). Recovers: the newest segment is
 * scanned batch by batch, CRC verified, and cut after the last good one; indexes that are missing
 * or wrong are rebuilt; writer state is rebuilt.
 *
 * @param opts  NULL, or a field of 0: the defaults named at each field
 * @param store gives (fl_log_store_close)
 * @return FLUSS_E_LOG_STORAGE_EXCEPTION: I/O, with path and reason; FLUSS_E_CORRUPT_RECORD: a
 * sealed segment is broken
 */
FLUSS_CHECKED fluss_code_t fl_log_store_open(const char *dir, const fl_log_store_opts *opts,
                                             int64_t now_ms, fl_log_store **store,
                                             fluss_error_t *err);
/** Make everything durable, note that the log is whole, free it. The log is good on disk even when
 * that fails; then the next open scans it. No ticket is open. NULL allowed. */
void fl_log_store_close(fl_log_store *store);
/** Close and remove the directory with all its files. The store is gone also after an error. NULL
 * allowed. */
FLUSS_CHECKED fluss_code_t fl_log_store_delete(fl_log_store *store, fluss_error_t *err);

/**
 * Append the batches of one produce request: checks size, CRC and batch
 * sequence of each, assigns base offsets and one commit timestamp max(last, now_ms) in place,
 * writes them. Nothing is written unless all of it is: no batch at all, or one that is cut off, is
 * corrupt. After a failed write the file is cut back.
 *
 * @param records whole batches; offsets and timestamps are rewritten in place; borrowed
 * @return FLUSS_E_CORRUPT_RECORD, FLUSS_E_OUT_OF_ORDER_SEQUENCE, FLUSS_E_LOG_STORAGE_EXCEPTION
 */
FLUSS_CHECKED fluss_code_t fl_log_store_append(fl_log_store *store, uint8_t *records, size_t size,
                                               int64_t now_ms, fl_log_appended *appended,
                                               fluss_error_t *err);
int64_t fl_log_store_start_offset(const fl_log_store *store);
int64_t fl_log_store_end_offset(const fl_log_store *store);
/** Bytes on disk. */
uint64_t fl_log_store_size(const fl_log_store *store);

/**
 * Read whole batches from the one that contains `offset` on, from one segment.
 *
 * @param offset   start_offset..end_offset; at the end: an empty frame
 * @param size_max bytes; at least one batch comes when `at_least_one`
 * @param frame    gives (fl_frame_unref); frame->size bytes
 * @return FLUSS_E_LOG_OFFSET_OUT_OF_RANGE names offset, start and end;
 * FLUSS_E_LOG_STORAGE_EXCEPTION
 */
FLUSS_CHECKED fluss_code_t fl_log_store_read(fl_log_store *store, int64_t offset, size_t size_max,
                                             bool at_least_one, fl_frame **frame,
                                             fluss_error_t *err);
/** The same, but no batch that reaches past `end` (a high watermark, at most the end offset). */
FLUSS_CHECKED fluss_code_t fl_log_store_read_until(fl_log_store *store, int64_t offset, int64_t end,
                                                   size_t size_max, bool at_least_one,
                                                   fl_frame **frame, fluss_error_t *err);
/** Base offset of the first batch with commit timestamp >= timestamp_ms; end offset when all are
 * older. */
FLUSS_CHECKED fluss_code_t fl_log_store_offset_for_time(fl_log_store *store, int64_t timestamp_ms,
                                                        int64_t *offset, fluss_error_t *err);
/**
 * Delete whole sealed segments whose newest batch is older than a time to live; forget writers that
 * have been silent too long.
 *
 * @param ttl_ms       < 0: keep all segments
 * @param below_offset only segments whose offsets all lie below
 * @param removed      how many went
 */
FLUSS_CHECKED fluss_code_t fl_log_store_expire(fl_log_store *store, int64_t now_ms, int64_t ttl_ms,
                                               int64_t below_offset, size_t *removed,
                                               fluss_error_t *err);
/** Begin a new segment when the newest one has rows, all of them older than the time to live: then
 * it expires like the others. Blocks for the disk. */
FLUSS_CHECKED fluss_code_t fl_log_store_roll_expired(fl_log_store *store, int64_t now_ms,
                                                     int64_t ttl_ms, fluss_error_t *err);
/** Whether there is a segment that fl_log_store_expire would delete. */
FLUSS_CHECKED fluss_code_t fl_log_store_may_expire(fl_log_store *store, int64_t now_ms,
                                                   int64_t ttl_ms, bool *may_expire,
                                                   fluss_error_t *err);
/** The same of a log that is not open, by its files: false also where they can't be looked at.
 * Blocks. Thread: any. @param rolls its newest segment may go too (fl_log_store_roll_expired) */
bool fl_log_dir_may_expire(const char *dir, int64_t now_ms, int64_t ttl_ms, bool rolls);

/** Group commit. begin on the owner thread notes what is to be made durable; run does the blocking
 * part on any thread; end on the owner thread moves the durable offset and frees the ticket. One
 * ticket at a time. Appends and reads may go on meanwhile; close and delete may not. When run
 * failed, end reports it, and the next ticket writes the same bytes again before it syncs: the
 * system may have dropped them. */
typedef struct fl_log_sync fl_log_sync;
FLUSS_CHECKED fluss_code_t fl_log_sync_begin(fl_log_store *store, fl_log_sync **sync,
                                             fluss_error_t *err);
/** @return whether it went well */
bool fl_log_sync_run(fl_log_sync *sync);
FLUSS_CHECKED fluss_code_t fl_log_sync_end(fl_log_store *store, fl_log_sync *sync,
                                           fluss_error_t *err);
/** Everything below is on disk. */
int64_t fl_log_store_durable_offset(const fl_log_store *store);
#endif
