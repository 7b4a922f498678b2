/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a tablet in use: lazy opening, appends that wake readers, group commit.
 *
 * Group commit: a write that must be on disk joins a list. One sync of the tablet runs at a time,
 * on a pool thread; it covers what was appended before it began. Writes that come meanwhile are
 * covered by the next one, all together. */
#include "server/tablet.h"

#include <stdio.h>

#include "base/log.h"
#include "server/kv_stalls.h"
#include "server/kv_tablet.h"
#include "server/server.h"
#include "server/session.h"
#include "server/tablet_private.h"

void fl_tablet_print(const fl_tablet *tablet, char *out, size_t size)
{
    const bool named = tablet->partition_name != NULL;
    (void)snprintf(out, size, "table %s.%s (id %lld)%s%s, bucket %d", tablet->info->database,
                   tablet->info->name, (long long)tablet->info->table_id,
                   named ? ", partition " : "", named ? tablet->partition_name : "",
                   (int)tablet->key.bucket);
}

fluss_code_t fl_tablet_open(fl_tablet *tablet, fluss_error_t *err)
{
    if (tablet->log == NULL) {
        char dir[FL_TABLET_DIR_SIZE];
        FL_TRY(fl_tablet_dir(tablet, dir, err));
        FL_TRY(fl_log_store_open(dir, &tablet->shard->server->log_opts, fl_wall_ms(), &tablet->log,
                                 err));
    }
    if (tablet->kv == NULL && tablet->info->has_primary_key) {
        FL_TRY(fl_tablet_open_kv(tablet, err));
    }
    return 0;
}

/* ---- readers ---- */

void fl_tablet_arm(fl_tablet *tablet, fl_fetch_wait *wait)
{
    wait->state = FL_WAIT_ARMED;
    DL_PREPEND2(tablet->fetches, wait, previous, next);
}

void fl_tablet_disarm(fl_tablet *tablet, fl_fetch_wait *wait)
{
    if (wait->state == FL_WAIT_ARMED) {
        DL_DELETE2(tablet->fetches, wait, previous, next);
        wait->state = FL_WAIT_IDLE;
    }
}

void fl_tablet_wake(fl_tablet *tablet)
{
    while (tablet->fetches != NULL) {
        fl_fetch_wait *wait = tablet->fetches;
        DL_DELETE2(tablet->fetches, wait, previous, next);
        wait->state = FL_WAIT_FIRED;
        fl_loop_post(wait->request->session->shard->loop, &wait->task);
    }
}

/* ---- writers ---- */

fluss_code_t fl_tablet_append(fl_tablet *tablet, fl_slice records, fl_log_appended *appended,
                              fluss_error_t *err)
{
    FL_TRY(fl_tablet_open(tablet, err));
    /* The frame that holds the records is this request's alone; offsets are written into it. */
    uint8_t *bytes = (uint8_t *)(uintptr_t)records.data;
    FL_TRY(fl_log_store_append(tablet->log, bytes, records.size, fl_wall_ms(), appended, err));
    fl_tablet_wake(tablet);
    return 0;
}

/* End the waits for what lies below an offset; code 0 when it is done. */
static void end_waits(fl_tablet *tablet, int64_t offset, fluss_code_t code, const char *reason)
{
    fl_sync_wait **link = &tablet->unsynced;
    while (*link != NULL) {
        fl_sync_wait *wait = *link;
        if (wait->offset > offset) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        wait->code = code;
        wait->reason = reason;
        fl_loop_post(wait->request->session->shard->loop, &wait->task);
    }
    tablet->unsynced_last = link;
}

static void sync_run(fl_work *work)
{
    fl_log_sync_run(FL_CONTAINER_OF(work, fl_tablet, sync_work)->sync);
}

static void sync_failed(fl_tablet *tablet, const fluss_error_t *err)
{
    char name[FL_TABLET_NAME_SIZE];
    fl_tablet_print(tablet, name, sizeof(name));
    fl_log(FL_LOG_ERROR, "server", "%s: %s", name, err->message);
    end_waits(tablet, tablet->sync_offset, FLUSS_E_LOG_STORAGE_EXCEPTION,
              "the log could not be brought to disk");
}

/* What lies below it is as safe as log.flush wants it. */
static int64_t safe_offset(const fl_tablet *tablet)
{
    return tablet->shard->server->syncs ? fl_log_store_durable_offset(tablet->log)
                                        : fl_log_store_end_offset(tablet->log);
}

/* The same, and its rows can be read. */
static int64_t settled_offset(const fl_tablet *tablet)
{
    const int64_t safe = safe_offset(tablet);
    const int64_t applied = tablet->kv != NULL ? fl_kv_tablet_applied_offset(tablet->kv) : safe;
    return applied < safe ? applied : safe;
}

void fl_tablet_settle(fl_tablet *tablet)
{
    if (tablet->log == NULL) {
        return;
    }
    if (fl_tablet_commit(tablet)) {
        end_waits(tablet, safe_offset(tablet), 0, NULL);
    } else {
        fl_kv_stalls_add(tablet);
    }
}

void fl_tablet_give_up(fl_tablet *tablet)
{
    end_waits(tablet, INT64_MAX, FLUSS_E_KV_STORAGE_EXCEPTION, "the server stops");
}

static void start_sync(fl_tablet *tablet);

/* While the store stands still, writes wait for it, not for a sync. */
static void sync_next(fl_tablet *tablet)
{
    if (tablet->must_sync || (tablet->unsynced != NULL && !tablet->is_stalled)) {
        start_sync(tablet);
    } else if (tablet->is_dropped) {
        fl_tablet_remove(tablet);
    }
}

void fl_tablet_go_on(fl_tablet *tablet)
{
    fl_tablet_settle(tablet);
    if (tablet->sync == NULL) {
        sync_next(tablet);
    }
}

static void sync_done(fl_work *work)
{
    fl_tablet *tablet = FL_CONTAINER_OF(work, fl_tablet, sync_work);
    fl_server *server = tablet->shard->server;
    fluss_error_t err;
    const fluss_code_t rc = fl_log_sync_end(tablet->log, tablet->sync, &err);
    tablet->sync = NULL;
    if (rc != 0) {
        sync_failed(tablet, &err);
    } else {
        fl_tablet_settle(tablet);
    }
    sync_next(tablet);
    fl_server_release(server);
}

static void start_sync(fl_tablet *tablet)
{
    fluss_error_t err;
    tablet->must_sync = false;
    tablet->sync_offset = fl_log_store_end_offset(tablet->log);
    if (fl_log_sync_begin(tablet->log, &tablet->sync, &err) != 0) {
        tablet->sync = NULL;
        sync_failed(tablet, &err);
        return;
    }
    /* Nobody may wait for it any more when the server stops. */
    fl_server_hold(tablet->shard->server);
    tablet->sync_work = (fl_work){.work = sync_run, .done = sync_done};
    if (fl_loop_work(tablet->shard->loop, &tablet->sync_work, &err) != 0) {
        /* No thread for it: the blocking part runs here, late rather than never. */
        sync_run(&tablet->sync_work);
        sync_done(&tablet->sync_work);
    }
}

bool fl_tablet_sync(fl_tablet *tablet, fl_sync_wait *wait)
{
    if (settled_offset(tablet) >= wait->offset) {
        return false;
    }
    wait->next = NULL;
    *tablet->unsynced_last = wait;
    tablet->unsynced_last = &wait->next;
    if (tablet->sync == NULL && !tablet->is_stalled) {
        start_sync(tablet);
    }
    return true;
}

bool fl_tablet_unsync(fl_tablet *tablet, fl_sync_wait *wait)
{
    for (fl_sync_wait **link = &tablet->unsynced; *link != NULL; link = &(*link)->next) {
        if (*link != wait) {
            continue;
        }
        *link = wait->next;
        if (wait->next == NULL) {
            tablet->unsynced_last = link;
        }
        return true;
    }
    return false;
}

void fl_tablet_sync_soon(fl_tablet *tablet)
{
    if (tablet->sync == NULL) {
        start_sync(tablet);
    } else {
        tablet->must_sync = true;
    }
}
