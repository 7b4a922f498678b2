/* SPDX-License-Identifier: Apache-2.0 */
/* A tablet: one bucket of a table or partition, with its log. It belongs to one shard. Its files
 * are opened, and recovered, by the first request that needs them. Thread: the shard's loop, if not
 * said otherwise. */
#ifndef FL_TABLET_H
#define FL_TABLET_H
#include "base/containers.h"
#include "net/loop.h"
#include "server/request.h"
#include "server/table_info.h"
#include "storage/log.h"

typedef struct fl_tablet fl_tablet;
typedef struct fl_tablet_op fl_tablet_op;
typedef struct fl_kv_tablet fl_kv_tablet;
typedef struct fl_kv_put fl_kv_put;
typedef struct fl_kv_commit fl_kv_commit;

typedef struct fl_tablet_key {
    int64_t table_id, partition_id; /* partition_id -1: none */
    int32_t bucket;
    int32_t zero; /* the key is hashed as bytes */
} fl_tablet_key;
_Static_assert(sizeof(fl_tablet_key) == 24, "no padding, the key is hashed as bytes");

/** A fetch that waits for rows of a tablet. Linked into the tablet by its shard; when it fires it
 * is unlinked, and its task runs on the shard of its request. */
typedef struct fl_fetch_wait {
    fl_task task;
    struct fl_fetch_wait *previous, *next;
    fl_request *request;
    enum { FL_WAIT_IDLE, FL_WAIT_ARMED, FL_WAIT_FIRED } state;
} fl_fetch_wait;

/** A write that waits for the disk. Its task runs on the shard of its request, with the error, if
 * any. */
typedef struct fl_sync_wait {
    fl_task task;
    struct fl_sync_wait *next;
    fl_request *request;
    int64_t offset; /* everything below must be on disk */
    size_t index;   /* of the caller */
    fluss_code_t code;
    const char *reason; /* static text; NULL: none */
} fl_sync_wait;

struct fl_tablet {
    UT_hash_handle hh;
    fl_tablet_key key;
    fl_shard *shard;
    fl_table_info *info;
    char *partition_name;   /* NULL: none */
    fl_log_store *log;      /* NULL: not opened yet */
    fl_kv_tablet *kv;       /* the rows of a primary-key table; NULL: a log table, or not opened */
    fl_fetch_wait *fetches; /* waiting */
    fl_sync_wait *unsynced, **unsynced_last; /* writes waiting for a round, or the next one */
    bool is_in_round;     /* of the work that brings writes to disk and to readers: */
    fl_log_sync *sync;    /* of the log; NULL: log.flush does not ask for it */
    fl_kv_commit *commit; /* of the rows; NULL: a log table, or nothing to do */
    int64_t round_offset; /* what it covers */
    fl_work work;         /* the round's, or the removal's */
    bool must_go_on;      /* another round is due, and nobody waits for it */
    bool is_dropped;
    bool is_stalled;         /* the key-value store does not take its rows now (kv_stalls.h) */
    fl_tablet *next_stalled; /* of the shard */
};

/** Bring the tablets of a shard in line with a change of the catalog. */
void fl_tablets_apply(fl_shard *shard, const fl_tablet_op *op);
/** Close all; nothing may be in flight. */
void fl_tablets_close(fl_shard *shard);
/** The tablet of a key; NULL: not here. */
fl_tablet *fl_tablets_find(fl_shard *shard, const fl_tablet_key *key);

/** Open and recover the files, if that was not done. */
FLUSS_CHECKED fluss_code_t fl_tablet_open(fl_tablet *tablet, fluss_error_t *err);
/** Append, and wake the fetches that wait. @param records rewritten in place */
FLUSS_CHECKED fluss_code_t fl_tablet_append(fl_tablet *tablet, fl_slice records,
                                            fl_log_appended *appended, fluss_error_t *err);
/** Let the wait's task run when everything below wait->offset is on disk, where that is asked for
 * (log.flush), and its rows can be read. false: it is so already, nothing will run. */
bool fl_tablet_sync(fl_tablet *tablet, fl_sync_wait *wait);
/** Take a wait back. false: it was fired, its task runs. */
bool fl_tablet_unsync(fl_tablet *tablet, fl_sync_wait *wait);
/** Bring to disk, where that is asked for, and to readers what was appended, without anyone
 * waiting. */
void fl_tablet_sync_soon(fl_tablet *tablet);
/** The rows of a tablet, opened. @return FLUSS_E_NON_PRIMARY_KEY_TABLE */
FLUSS_CHECKED fluss_code_t fl_tablet_kv(fl_tablet *tablet, fl_kv_tablet **kv, fluss_error_t *err);
/** Write rows, and wake the fetches that wait; they can be read once the log is on disk. */
FLUSS_CHECKED fluss_code_t fl_tablet_put(fl_tablet *tablet, const fl_kv_put *put,
                                         fl_log_appended *appended, fluss_error_t *err);
/** Insert rows for keys that have none. @param appended log_end_offset -1: there were no such keys
 */
FLUSS_CHECKED fluss_code_t fl_tablet_insert_missing(fl_tablet *tablet, const fl_slice *keys,
                                                    size_t count, fl_log_appended *appended,
                                                    fluss_error_t *err);
void fl_tablet_arm(fl_tablet *tablet, fl_fetch_wait *wait);
/** Take back; nothing when it fired. tablet may be NULL when it is gone: it has fired then. */
void fl_tablet_disarm(fl_tablet *tablet, fl_fetch_wait *wait);
/** "table db.t (id 5), partition p, bucket 0" for messages. */
void fl_tablet_print(const fl_tablet *tablet, char *out, size_t size);
#endif
