/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a tablet in use: lazy opening, appends that wake readers, group commit.
 *
 * Group commit: a write that must be on disk, or that readers must see, joins a list. One round of
 * the tablet runs at a time, on a pool thread; it syncs the log and then moves the rows of a
 * primary-key table to the key-value store, all that was appended before it began. Writes that come
 * meanwhile are covered by the next one, all together. */
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

void fl_tablet_give_up(fl_tablet *tablet)
{
    end_waits(tablet, INT64_MAX, FLUSS_E_KV_STORAGE_EXCEPTION, "the server stops");
}

/* ---- rounds ---- */

static void round_run(fl_work *work)
{
    const fl_tablet *tablet = FL_CONTAINER_OF(work, fl_tablet, work);
    const bool is_safe = tablet->sync == NULL || fl_log_sync_run(tablet->sync);
    if (is_safe && tablet->commit != NULL) {
        fl_kv_commit_run(tablet->commit);
    }
}

static void sync_failed(fl_tablet *tablet, const fluss_error_t *err)
{
    char name[FL_TABLET_NAME_SIZE];
    fl_tablet_print(tablet, name, sizeof(name));
    fl_log(FL_LOG_ERROR, "server", "%s: %s", name, err->message);
    end_waits(tablet, tablet->round_offset, FLUSS_E_LOG_STORAGE_EXCEPTION,
              "the log could not be brought to disk");
}

static bool start_round(fl_tablet *tablet);

/* While the store stands still, writes wait for it, not for a round. */
static void round_next(fl_tablet *tablet)
{
    const bool is_due = tablet->must_go_on || (tablet->unsynced != NULL && !tablet->is_stalled);
    if ((!is_due || !start_round(tablet)) && tablet->is_dropped) {
        fl_tablet_remove(tablet);
    }
}

static void end_sync(fl_tablet *tablet, bool *is_safe)
{
    fluss_error_t err;
    if (tablet->sync != NULL) {
        *is_safe = fl_log_sync_end(tablet->log, tablet->sync, &err) == 0;
        tablet->sync = NULL;
        if (!*is_safe) {
            sync_failed(tablet, &err);
        }
    }
}

static void round_done(fl_work *work)
{
    fl_tablet *tablet = FL_CONTAINER_OF(work, fl_tablet, work);
    fl_server *server = tablet->shard->server;
    bool is_safe = true;
    tablet->is_in_round = false;
    end_sync(tablet, &is_safe);
    const bool is_over = fl_tablet_end_commit(tablet, is_safe);
    if (is_safe) {
        end_waits(tablet, is_over ? tablet->round_offset : settled_offset(tablet), 0, NULL);
    }
    if (tablet->is_dropped) {
        fl_tablet_close_kv(tablet);
    }
    round_next(tablet);
    fl_server_release(server);
}

/* Begin what the round is to do: the sync of the log where log.flush asks for it, and the commit of
 * the rows that are safe then. false: that failed, or there is nothing to do. */
static bool begin_round(fl_tablet *tablet)
{
    fluss_error_t err;
    const bool syncs = tablet->shard->server->syncs;
    tablet->must_go_on = false;
    tablet->round_offset = fl_log_store_end_offset(tablet->log);
    if (syncs && fl_log_sync_begin(tablet->log, &tablet->sync, &err) != 0) {
        tablet->sync = NULL;
        sync_failed(tablet, &err);
        return false;
    }
    fl_tablet_begin_commit(tablet, tablet->round_offset);
    if (!syncs && tablet->commit == NULL) {
        end_waits(tablet, settled_offset(tablet), 0, NULL);
        return false;
    }
    return true;
}

/* false: no round was begun, the tablet is as it was. Else it may be gone. */
static bool start_round(fl_tablet *tablet)
{
    fluss_error_t err;
    if (!begin_round(tablet)) {
        return false;
    }
    /* Nobody may wait for it any more when the server stops. */
    fl_server_hold(tablet->shard->server);
    tablet->is_in_round = true;
    tablet->work = (fl_work){.work = round_run, .done = round_done};
    if (fl_loop_work(tablet->shard->loop, &tablet->work, &err) != 0) {
        /* No thread for it: the blocking part runs here, late rather than never. */
        round_run(&tablet->work);
        round_done(&tablet->work);
    }
    return true;
}

void fl_tablet_go_on(fl_tablet *tablet)
{
    if (!tablet->is_in_round) {
        round_next(tablet);
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
    if (!tablet->is_stalled) {
        fl_tablet_go_on(tablet);
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
    tablet->must_go_on = true;
    fl_tablet_go_on(tablet);
}
