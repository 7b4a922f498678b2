/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a tablet of a primary-key table, next to its log: opened with it, written through it,
 * committed when the log is durable. */
#include "base/log.h"
#include "server/kv_stalls.h"
#include "server/kv_tablet.h"
#include "server/server.h"
#include "server/tablet_private.h"

static fluss_code_t take_ids(void *context, int64_t count, int64_t *first, fluss_error_t *err)
{
    const fl_tablet *tablet = context;
    return fl_id_blocks_take(tablet->shard->server->id_blocks, tablet->key.table_id, count, first,
                             err);
}

/* What recovery is about to apply must be on disk first: the store may never be ahead of the log.
 */
static fluss_code_t sync_now(fl_tablet *tablet, fluss_error_t *err)
{
    fl_log_sync *sync;
    FL_TRY(fl_log_sync_begin(tablet->log, &sync, err));
    fl_log_sync_run(sync);
    return fl_log_sync_end(tablet->log, sync, err);
}

fluss_code_t fl_tablet_open_kv(fl_tablet *tablet, fluss_error_t *err)
{
    const fl_kv_tablet_spec spec = {.store = tablet->shard->server->kv,
                                    .log = tablet->log,
                                    .memory = &tablet->shard->server->kv_memory,
                                    .info = tablet->info,
                                    .partition_id = tablet->key.partition_id,
                                    .partition_name = tablet->partition_name,
                                    .bucket = tablet->key.bucket,
                                    .take_ids = take_ids,
                                    .context = tablet};
    if (tablet->shard->server->syncs) {
        FL_TRY(sync_now(tablet, err));
    }
    const fluss_code_t rc = fl_kv_tablet_open(&spec, &tablet->kv, err);
    if (rc == FLUSS_E_STORAGE_BACKPRESSURE) { /* only puts of version 2 know it */
        err->code = FLUSS_E_KV_STORAGE_EXCEPTION;
        return FLUSS_E_KV_STORAGE_EXCEPTION;
    }
    return rc;
}

void fl_tablet_close_kv(fl_tablet *tablet)
{
    fl_kv_tablet_close(tablet->kv);
    tablet->kv = NULL;
}

/* The rows are in the log: the next commit, or the next start, brings them to readers. */
static void commit_failed(const fl_tablet *tablet, const fluss_error_t *err)
{
    char name[FL_TABLET_NAME_SIZE];
    fl_tablet_print(tablet, name, sizeof(name));
    fl_log(FL_LOG_ERROR, "server", "%s: rows stay in memory until the next commit: %s", name,
           err->message);
}

void fl_tablet_begin_commit(fl_tablet *tablet, int64_t offset)
{
    fluss_error_t err;
    tablet->commit = NULL;
    if (tablet->kv != NULL && !tablet->is_stalled &&
        fl_kv_commit_begin(tablet->kv, offset, &tablet->commit, &err) != 0) {
        commit_failed(tablet, &err);
    }
}

bool fl_tablet_end_commit(fl_tablet *tablet, bool is_run)
{
    fluss_error_t err;
    if (tablet->commit == NULL) {
        if (!tablet->is_stalled && !tablet->must_go_on) { /* offered, and nothing was left to do */
            fl_kv_stalls_forget(tablet);
        }
        return false;
    }
    const fluss_code_t rc = fl_kv_commit_end(tablet->kv, tablet->commit, &err);
    tablet->commit = NULL;
    if (!is_run || tablet->is_dropped) {
        fl_kv_stalls_forget(tablet);
        return false;
    }
    if (rc == FLUSS_E_STORAGE_BACKPRESSURE) {
        fl_kv_stalls_add(tablet);
        return false;
    }
    fl_kv_stalls_taken(tablet);
    if (rc != 0) {
        commit_failed(tablet, &err);
    }
    return true;
}

fluss_code_t fl_tablet_kv(fl_tablet *tablet, fl_kv_tablet **kv, fluss_error_t *err)
{
    if (!tablet->info->has_primary_key) {
        return fl_error(err, FLUSS_E_NON_PRIMARY_KEY_TABLE, FLUSS_KIND_SERVER,
                        "table %s.%s is a log table: it has no primary key", tablet->info->database,
                        tablet->info->name);
    }
    FL_TRY(fl_tablet_open(tablet, err));
    *kv = tablet->kv;
    return 0;
}

fluss_code_t fl_tablet_put(fl_tablet *tablet, const fl_kv_put *put, fl_log_appended *appended,
                           fluss_error_t *err)
{
    fl_kv_tablet *kv;
    FL_TRY(fl_tablet_kv(tablet, &kv, err));
    FL_TRY(fl_kv_tablet_put(kv, put, appended, err));
    fl_tablet_wake(tablet);
    return 0;
}

fluss_code_t fl_tablet_insert_missing(fl_tablet *tablet, const fl_slice *keys, size_t count,
                                      fl_log_appended *appended, fluss_error_t *err)
{
    fl_kv_tablet *kv;
    FL_TRY(fl_tablet_kv(tablet, &kv, err));
    FL_TRY(fl_kv_tablet_insert_missing(kv, keys, count, fl_wall_ms(), appended, err));
    fl_tablet_wake(tablet);
    return 0;
}
