/* SPDX-License-Identifier: Apache-2.0 */
/* What a shard does by itself, but for retention and partitions by time, which have their own
 * files: scans that are not used end, the free disk is looked at. */
#include "server/housekeeping.h"

#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/auto_partition.h"
#include "server/kv_sessions.h"
#include "server/kv_stalls.h"
#include "server/retention.h"

enum { DISK_CHECK_MS = 1000, SCANS_CHECK_MIN_MS = 100 };

struct fl_housekeeping {
    fl_shard *shard;
    fl_timer *scans, *disk; /* disk: shard 0 only */
    fl_retention *retention;
    fl_auto_partition_check *partitions;
};

/* ---- scans ---- */

/* An idle scan is kept up to a tenth longer than kv.scanner.ttl. */
static int64_t scans_interval(const fl_server *server)
{
    const int64_t interval_ms = server->settings.scanner_ttl / 10;
    return interval_ms < SCANS_CHECK_MIN_MS ? SCANS_CHECK_MIN_MS : interval_ms;
}

static void on_scans(void *context)
{
    fl_housekeeping *self = context;
    fl_kv_sessions_expire(self->shard);
    fl_timer_start(self->scans, scans_interval(self->shard->server));
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
    FL_TRY(fl_retention_start(shard, &self->retention, err));
    FL_TRY(fl_kv_stalls_start(shard, err));
    FL_TRY(fl_timer_new(shard->loop, on_scans, self, &self->scans, err));
    fl_timer_start(self->scans, scans_interval(shard->server));
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
        fl_retention_stop(self->retention);
        fl_kv_stalls_stop(shard);
        fl_timer_free(self->scans);
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
