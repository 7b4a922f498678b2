/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of a shard. Retention looks only at logs that are open: a log that nobody has used since
 * the start is looked at when it is. */
#include "server/housekeeping.h"

#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/auto_partition.h"
#include "server/kv_sessions.h"
#include "server/tablet.h"

enum { DISK_CHECK_MS = 1000 };

struct fl_housekeeping {
    fl_shard *shard;
    fl_timer *retention, *disk; /* disk: shard 0 only */
    fl_auto_partition_check *partitions;
};

/* ---- retention ---- */

static void expire(fl_tablet *tablet, int64_t now_ms)
{
    const int64_t ttl_ms = tablet->info->settings.log_ttl_ms;
    fluss_error_t err;
    size_t removed = 0;
    if (tablet->log == NULL || tablet->sync != NULL || ttl_ms <= 0) {
        return;
    }
    if (tablet->kv != NULL && fl_kv_tablet_pending_bytes(tablet->kv) != 0) {
        return; /* the log is what recovers them */
    }
    if (fl_log_store_expire(tablet->log, now_ms, ttl_ms, &removed, &err) != 0) {
        fl_log(FL_LOG_WARNING, "server", "%s", err.message);
    }
}

static void on_retention(void *context)
{
    fl_housekeeping *self = context;
    const int64_t now_ms = fl_wall_ms();
    fl_tablet *tablet, *next;
    fluss_error_t err;
    fl_kv_sessions_expire(self->shard);
    /* Rows that are only in memory would be lost with the part of the log that they came from. */
    if (fl_kv_store_flush(self->shard->server->kv, &err) != 0) {
        fl_log(FL_LOG_WARNING, "server", "no log expires for now: %s", err.message);
        fl_timer_start(self->retention, self->shard->server->settings.retention_interval);
        return;
    }
    HASH_ITER(hh, self->shard->tablets, tablet, next)
    {
        expire(tablet, now_ms);
    }
    fl_timer_start(self->retention, self->shard->server->settings.retention_interval);
}

/* ---- disk ---- */

static void on_disk(void *context)
{
    fl_housekeeping *self = context;
    fl_server *server = self->shard->server;
    struct statvfs disk;
    if (statvfs(server->data_dir, &disk) == 0 && disk.f_blocks != 0) {
        const double used = 1.0 - (double)disk.f_bavail / (double)disk.f_blocks;
        const bool was_full = atomic_load(&server->is_disk_full);
        const bool is_full =
            used >= (was_full ? server->settings.disk_recover : server->settings.disk_limit);
        if (is_full != was_full) {
            fl_log(FL_LOG_WARNING, "server", "the disk of %s is used to %.1f %%: writes are %s",
                   server->data_dir, used * 100, is_full ? "refused" : "accepted again");
        }
        atomic_store(&server->is_disk_full, is_full);
    }
    fl_timer_start(self->disk, DISK_CHECK_MS);
}

/* ---- life ---- */

fluss_code_t fl_housekeeping_start(fl_shard *shard, fluss_error_t *err)
{
    fl_housekeeping *self = fl_calloc(1, sizeof(*self));
    if (self == NULL) {
        return fl_error_nomem(err);
    }
    self->shard = shard;
    shard->housekeeping = self;
    FL_TRY(fl_timer_new(shard->loop, on_retention, self, &self->retention, err));
    fl_timer_start(self->retention, shard->server->settings.retention_interval);
    if (shard->index == 0) {
        FL_TRY(fl_timer_new(shard->loop, on_disk, self, &self->disk, err));
        on_disk(self);
        FL_TRY(fl_auto_partition_start(shard->server, &self->partitions, err));
    }
    return 0;
}

void fl_housekeeping_stop(fl_shard *shard)
{
    fl_housekeeping *self = shard->housekeeping;
    if (self != NULL) {
        shard->housekeeping = NULL;
        fl_timer_free(self->retention);
        fl_timer_free(self->disk);
        fl_auto_partition_stop(self->partitions);
        fl_free(self);
    }
}

void fl_housekeeping_check_partitions(fl_shard *shard)
{
    if (shard->housekeeping != NULL) {
        fl_auto_partition_check_now(shard->housekeeping->partitions);
    }
}
