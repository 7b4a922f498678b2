/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value engine of a server: one RocksDB with two column families. `catalog` writes through
 * a synced write-ahead log; `rows` has none, its log is the changelog of each bucket. Nothing else
 * knows that it is RocksDB. Thread: any, one writer a key range. */
#ifndef FL_KV_STORE_H
#define FL_KV_STORE_H
#include "base/error.h"
#include "base/slice.h"

typedef struct fl_kv_store fl_kv_store;
typedef enum { FL_KV_CATALOG, FL_KV_ROWS } fl_kv_family;

/** Bounds of memory and descriptors. */
typedef struct fl_kv_store_opts {
    size_t write_buffer_size; /* bytes of one table in memory, of `rows`; 32 MiB */
    size_t write_buffers_max; /* such tables before writes wait; 3 */
    size_t cache_size;        /* bytes of cached blocks, both families; 64 MiB */
    int open_files_max;       /* 256 */
    int background_jobs_max;  /* flushes and compactions at a time; 2 */
    int level0_pressure;      /* files at level 0 from which writers are slowed down; 8 */
    int level0_slowdown;      /* and from which the engine itself would hold writes up; 20 */
} fl_kv_store_opts;

/** Open or make. @param opts NULL, or a field of 0: the defaults named at each field
 * @return FLUSS_E_KV_STORAGE_EXCEPTION with the path and the reason. gives (fl_kv_store_close). */
FLUSS_CHECKED fluss_code_t fl_kv_store_open_with(const char *dir, const fl_kv_store_opts *opts,
                                                 fl_kv_store **store, fluss_error_t *err);
/** The same with the defaults. */
FLUSS_CHECKED fluss_code_t fl_kv_store_open(const char *dir, fl_kv_store **store,
                                            fluss_error_t *err);
/** Write what is only in memory to files, close. NULL allowed. */
void fl_kv_store_close(fl_kv_store *store);
/** Write the rows that are only in memory to files: less log to replay after a crash. Blocks. */
FLUSS_CHECKED fluss_code_t fl_kv_store_flush(fl_kv_store *store, fluss_error_t *err);
/**
 * How near the engine is to holding up writes to `rows`, looked at ten times a second at most.
 *
 * @param now_ms a clock in milliseconds that grows
 * @return 0: far; up to 1: writers should slow down; 1: they should stop, or they will wait
 */
double fl_kv_store_pressure(fl_kv_store *store, int64_t now_ms);

/** Read a value. @param value gives (fl_free); NULL data and size 0 when absent, `found` says so.
 */
FLUSS_CHECKED fluss_code_t fl_kv_get(fl_kv_store *store, fl_kv_family family, fl_slice key,
                                     uint8_t **value, size_t *size, bool *found,
                                     fluss_error_t *err);

/** One result of a multi-get; data gives (fl_free), NULL when absent. */
typedef struct fl_kv_value {
    uint8_t *data;
    size_t size;
    bool found;
} fl_kv_value;
/** Read many values at once. @param values count of them; all absent after an error */
FLUSS_CHECKED fluss_code_t fl_kv_multi_get(fl_kv_store *store, fl_kv_family family,
                                           const fl_slice *keys, size_t count, fl_kv_value *values,
                                           fluss_error_t *err);

/** Changes that happen together or not at all. */
typedef struct fl_kv_write fl_kv_write;
fl_kv_write *fl_kv_write_new(void) FLUSS_CHECKED; /* NULL: out of memory */
/* Out of memory in one of these is reported by the commit. Keys and values are copied. */
void fl_kv_write_put(fl_kv_write *write, fl_kv_family family, fl_slice key, fl_slice value);
void fl_kv_write_delete(fl_kv_write *write, fl_kv_family family, fl_slice key);
/** Delete from <= key < to. */
void fl_kv_write_delete_range(fl_kv_write *write, fl_kv_family family, fl_slice from, fl_slice to);
/** Forget the changes, keep the memory. */
void fl_kv_write_reset(fl_kv_write *write);
void fl_kv_write_free(fl_kv_write *write);
/** Apply. @param durable through the synced write-ahead log: on disk when this returns; else
 * without it: lost by a crash until the next flush, whose order keeps earlier changes before later
 * ones. The write may be committed or changed again. */
FLUSS_CHECKED fluss_code_t fl_kv_write_commit(fl_kv_store *store, fl_kv_write *write, bool durable,
                                              fluss_error_t *err);
/** The same for threads that must go on. @return FLUSS_E_STORAGE_BACKPRESSURE: the engine holds
 * writes up, nothing was applied */
FLUSS_CHECKED fluss_code_t fl_kv_write_commit_now(fl_kv_store *store, fl_kv_write *write,
                                                  bool durable, fluss_error_t *err);

/** The store as it is now, but for what is being written. */
typedef struct fl_kv_snapshot fl_kv_snapshot;
/** gives (fl_kv_snapshot_free) */
fl_kv_snapshot *fl_kv_snapshot_new(fl_kv_store *store) FLUSS_CHECKED;
void fl_kv_snapshot_free(fl_kv_store *store, fl_kv_snapshot *snapshot); /* NULL allowed */

/** An iterator over from <= key < to (size 0: no bound) on a snapshot of this moment. */
typedef struct fl_kv_iter fl_kv_iter;
/** The same on an earlier snapshot, borrowed. NULL: of this moment */
FLUSS_CHECKED fluss_code_t fl_kv_iter_open_at(fl_kv_store *store, const fl_kv_snapshot *snapshot,
                                              fl_kv_family family, fl_slice from, fl_slice to,
                                              fl_kv_iter **iter, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_kv_iter_open(fl_kv_store *store, fl_kv_family family, fl_slice from,
                                           fl_slice to, fl_kv_iter **iter, fluss_error_t *err);
/** Step to the next entry (the first call: to the first). false at the end. Key and value are views
 * until the next step. */
bool fl_kv_iter_next(fl_kv_iter *iter, fl_slice *key, fl_slice *value);
/** Whether the end was an error. */
FLUSS_CHECKED fluss_code_t fl_kv_iter_status(const fl_kv_iter *iter, fluss_error_t *err);
void fl_kv_iter_close(fl_kv_iter *iter);
#endif
