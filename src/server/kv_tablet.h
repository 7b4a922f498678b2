/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of one bucket of a primary-key table: what a write makes of them, their changelog,
 * lookups and scans. The changelog is the write-ahead log:
 *
 *   put      old rows are read, merged, and the changes appended to the log as one batch; the new
 * rows wait in the prewrite buffer commit   once the log is durable up to an offset, the rows below
 * it go to the key-value store, in one write together with that offset open     the log is replayed
 * from the offset that the store names
 *
 * Readers see what is committed. Keys in the store are the tablet's name, a kind, and the row's
 * key:
 *
 *   table id i64 BE · partition id i64 BE · bucket i32 BE · 0            applied offset, row count,
 * … table id i64 BE · partition id i64 BE · bucket i32 BE · 1 · key      schema id i16 LE, row
 *
 * Thread: the tablet's shard, for all functions. */
#ifndef FL_KV_TABLET_H
#define FL_KV_TABLET_H
#include "base/frame.h"
#include "server/table_info.h"
#include "storage/kv_store.h"
#include "storage/log.h"

typedef struct fl_kv_tablet fl_kv_tablet;

/** Memory for rows, shared by the tablets of a server. */
typedef struct fl_kv_memory {
    size_t cache_size; /* bytes for the rows that were written last */
    atomic_int tablet_count;
    size_t pending_max;    /* bytes of rows that wait for a commit; 0: any number */
    atomic_size_t pending; /* that do */
} fl_kv_memory;

typedef struct fl_kv_tablet_spec {
    fl_kv_store *store;         /* outlives the tablet */
    fl_log_store *log;          /* the changelog; outlives the tablet */
    fl_kv_memory *memory;       /* outlives the tablet; NULL: no cache, no bound */
    fl_table_info *info;        /* shared */
    int64_t partition_id;       /* -1: none */
    const char *partition_name; /* NULL: none; outlives the tablet */
    int32_t bucket;
    /** Take `count` ids of the table's auto-increment column, never given before. */
    fluss_code_t (*take_ids)(void *context, int64_t count, int64_t *first, fluss_error_t *err);
    void *context;
} fl_kv_tablet_spec;

/** Open; replays what the store has not seen. gives (fl_kv_tablet_close). */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_open(const fl_kv_tablet_spec *spec, fl_kv_tablet **tablet,
                                             fluss_error_t *err);
/** Close; rows that are not committed are in the log. NULL allowed. */
void fl_kv_tablet_close(fl_kv_tablet *tablet);
/** The table was altered. */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_set_info(fl_kv_tablet *tablet, fl_table_info *info,
                                                 fluss_error_t *err);
/** Remove the rows of a dropped bucket. Thread: any. */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_erase(fl_kv_store *store, int64_t table_id,
                                              int64_t partition_id, int32_t bucket,
                                              fluss_error_t *err);

/** Remove the rows of tables and partitions that are not known any more: what a crash in the middle
 * of a drop left. Thread: any, before the server answers. */
FLUSS_CHECKED fluss_code_t fl_kv_tablets_sweep(fl_kv_store *store,
                                               bool (*is_known)(void *context, int64_t table_id,
                                                                int64_t partition_id),
                                               void *context, fluss_error_t *err);

typedef struct fl_kv_put {
    fl_slice records;              /* a KV batch; borrowed */
    const int32_t *target_columns; /* none: whole rows */
    size_t target_count;
    bool overwrites; /* past the merge engine */
    int64_t now_ms;  /* since 1970 */
} fl_kv_put;

/**
 * Write. All or nothing: after an error neither the rows nor the log have changed.
 *
 * @param appended base offset and log end offset; a duplicate has those of the first time
 * @return FLUSS_E_CORRUPT_RECORD, FLUSS_E_SCHEMA_NOT_EXIST, FLUSS_E_INVALID_TARGET_COLUMN,
 *         FLUSS_E_DELETION_DISABLED, FLUSS_E_OUT_OF_ORDER_SEQUENCE, storage errors;
 *         FLUSS_E_STORAGE_BACKPRESSURE: too many bytes wait for a commit, or the store is near to
 *         holding up writes; later there is room
 */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_put(fl_kv_tablet *tablet, const fl_kv_put *put,
                                            fl_log_appended *appended, fluss_error_t *err);
/** Move the rows below a log offset to the store: begin, run and end of a commit in one. */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_commit(fl_kv_tablet *tablet, int64_t durable_offset,
                                               fluss_error_t *err);
/** A commit in three steps, as the sync of a log: begin notes which rows move, run writes them to
 * the store on any thread, end lets readers see them. One at a time. Writes, lookups, scans and
 * changes of the schema may go on meanwhile; close may not. */
typedef struct fl_kv_commit fl_kv_commit;
/** @param commit NULL: there is nothing to commit */
FLUSS_CHECKED fluss_code_t fl_kv_commit_begin(fl_kv_tablet *tablet, int64_t durable_offset,
                                              fl_kv_commit **commit, fluss_error_t *err);
/** Thread: any. */
void fl_kv_commit_run(fl_kv_commit *commit);
/** Also without a run, after which nothing has changed; as after an error. @return how the run
 * went; FLUSS_E_STORAGE_BACKPRESSURE: the store does not take rows now */
FLUSS_CHECKED fluss_code_t fl_kv_commit_end(fl_kv_tablet *tablet, fl_kv_commit *commit,
                                            fluss_error_t *err);
/** Log offset up to which the rows that readers see are complete. */
int64_t fl_kv_tablet_applied_offset(const fl_kv_tablet *tablet);
/** How near writes are to being refused: 0 far, up to 1. */
double fl_kv_tablet_pressure(const fl_kv_tablet *tablet);
/** Bytes that wait to be committed. */
size_t fl_kv_tablet_pending_bytes(const fl_kv_tablet *tablet);
/** Live rows; -1: not known (table.changelog.image = WAL). */
int64_t fl_kv_tablet_row_count(const fl_kv_tablet *tablet);

/** The stored value of a key: schema id and row. @param value gives (fl_free); NULL: no such row */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_get(fl_kv_tablet *tablet, fl_slice key, uint8_t **value,
                                            size_t *size, fluss_error_t *err);
/** The same of many keys, which the store is asked for together. @param values count of them; all
 * absent after an error */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_get_many(fl_kv_tablet *tablet, const fl_slice *keys,
                                                 size_t count, fl_kv_value *values,
                                                 fluss_error_t *err);
/** Add rows of nulls, with their auto-increment values, for keys that have none. @param appended as
 * of a put; the rows can be read once everything below log_end_offset is committed */
FLUSS_CHECKED fluss_code_t fl_kv_tablet_insert_missing(fl_kv_tablet *tablet, const fl_slice *keys,
                                                       size_t count, int64_t now_ms,
                                                       fl_log_appended *appended,
                                                       fluss_error_t *err);

/** A scan over the rows whose key begins with a prefix, in key order, on a snapshot of this moment.
 */
typedef struct fl_kv_scan fl_kv_scan;
FLUSS_CHECKED fluss_code_t fl_kv_scan_open(fl_kv_tablet *tablet, fl_slice prefix, fl_kv_scan **scan,
                                           fluss_error_t *err);
/** The next stored value; a view until the next call. false: the end, or an error (status). */
bool fl_kv_scan_next(fl_kv_scan *scan, fl_slice *value);
FLUSS_CHECKED fluss_code_t fl_kv_scan_status(const fl_kv_scan *scan, fluss_error_t *err);
void fl_kv_scan_close(fl_kv_scan *scan); /* NULL allowed */
#endif
