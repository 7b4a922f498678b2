/* SPDX-License-Identifier: Apache-2.0 */
/* A round of retention, in steps. What blocks runs on a pool thread, the rest on the loop:
 *
 *   list     the directories of logs that are not open
 *   look     (pool) which of them have segments old enough, by their files
 *   open     those, and note for every open log what may go: of a primary-key table only what the
 *            store has, for the log is what brings back the rest. Segments that are written to may
 *            go too, where the settings say so: they are ended first
 *   flush    (pool) the store, when a changelog loses segments: rows that are only in its memory
 *            would be lost with the part of the log that they came from
 *   expire   what was noted
 *
 * Tablets may come and go between the steps, so they are known by their keys. */
#include "server/retention.h"

#include "base/alloc.h"
#include "base/log.h"
#include "server/tablet_private.h"

typedef struct closed_log {
    fl_tablet_key key;
    char *dir;
    int64_t ttl_ms;
    bool may_expire;
} closed_log;

typedef struct open_log {
    fl_tablet_key key;
    int64_t below_offset;
} open_log;

struct fl_retention {
    fl_shard *shard; /* NULL: stopped, a step on the pool is not over */
    fl_server *server;
    fl_timer *timer;
    fl_work work;
    bool is_working;

    /* Of the round. */
    fl_arena arena;
    int64_t now_ms;
    bool rolls; /* the segment that is written to expires too */
    closed_log *closed;
    size_t closed_count;
    open_log *open;
    size_t open_count;
    fluss_code_t flush_rc;
    fluss_error_t flush_error;
};

static void end_round(fl_retention *self)
{
    fl_arena_reset(&self->arena);
    fl_timer_start(self->timer, self->server->settings.retention_interval);
}

static void give_up(fl_retention *self, const fluss_error_t *why)
{
    fl_log(FL_LOG_WARNING, "server", "no log expires for now: %s", why->message);
    end_round(self);
}

static void free_retention(fl_retention *self)
{
    fl_arena_deinit(&self->arena);
    fl_free(self);
}

/* ---- steps on the pool ---- */

/* Whether the next step may follow one that ran on the pool. */
static bool back_on_loop(fl_retention *self)
{
    fl_server *server = self->server;
    const bool goes_on = self->shard != NULL;
    self->is_working = false;
    if (!goes_on) {
        free_retention(self);
    }
    fl_server_release(server);
    return goes_on;
}

static void run_on_pool(fl_retention *self, void (*work)(fl_work *work),
                        void (*done)(fl_work *work))
{
    fluss_error_t err;
    self->work = (fl_work){.work = work, .done = done};
    self->is_working = true;
    fl_server_hold(self->server);
    if (fl_loop_work(self->shard->loop, &self->work, &err) != 0) {
        self->is_working = false;
        fl_server_release(self->server);
        give_up(self, &err);
    }
}

/* ---- expire ---- */

static void expire_all(fl_retention *self)
{
    for (size_t i = 0; i < self->open_count; i++) {
        fl_tablet *tablet = fl_tablets_find(self->shard, &self->open[i].key);
        fluss_error_t err;
        size_t removed = 0;
        if (tablet == NULL || tablet->log == NULL) {
            continue;
        }
        const int64_t ttl_ms = tablet->info->settings.log_ttl_ms;
        if (fl_log_store_expire(tablet->log, self->now_ms, ttl_ms > 0 ? ttl_ms : -1,
                                self->open[i].below_offset, &removed, &err) != 0) {
            fl_log(FL_LOG_WARNING, "server", "%s", err.message);
        }
    }
    end_round(self);
}

/* ---- flush ---- */

static void flush(fl_work *work)
{
    fl_retention *self = FL_CONTAINER_OF(work, fl_retention, work);
    self->flush_rc = fl_kv_store_flush(self->server->kv, &self->flush_error);
}

static void flushed(fl_work *work)
{
    fl_retention *self = FL_CONTAINER_OF(work, fl_retention, work);
    if (!back_on_loop(self)) {
        return;
    }
    if (self->flush_rc != 0) {
        give_up(self, &self->flush_error);
        return;
    }
    expire_all(self);
}

/* ---- open ---- */

static void open_closed(fl_retention *self)
{
    for (size_t i = 0; i < self->closed_count; i++) {
        fl_tablet *tablet = fl_tablets_find(self->shard, &self->closed[i].key);
        fluss_error_t err;
        if (self->closed[i].may_expire && tablet != NULL && fl_tablet_open(tablet, &err) != 0) {
            fl_log(FL_LOG_WARNING, "server", "%s", err.message);
        }
    }
}

static fluss_code_t look_at_open(const fl_retention *self, fl_tablet *tablet, bool *may,
                                 fluss_error_t *err)
{
    const int64_t ttl_ms = tablet->info->settings.log_ttl_ms;
    *may = false;
    if (ttl_ms <= 0) {
        return 0;
    }
    if (self->rolls) {
        FL_TRY(fl_log_store_roll_expired(tablet->log, self->now_ms, ttl_ms, err));
    }
    return fl_log_store_may_expire(tablet->log, self->now_ms, ttl_ms, may, err);
}

static bool may_expire(const fl_retention *self, fl_tablet *tablet)
{
    fluss_error_t err;
    bool may = false;
    if (look_at_open(self, tablet, &may, &err) != 0) {
        fl_log(FL_LOG_WARNING, "server", "%s", err.message);
    }
    return may;
}

/* Note all open logs. @param needs_flush a changelog loses segments */
static fluss_code_t note_open(fl_retention *self, bool *needs_flush, fluss_error_t *err)
{
    fl_tablet *tablet, *next;
    self->open_count = 0;
    self->open = fl_arena_array(&self->arena, HASH_COUNT(self->shard->tablets), sizeof(open_log));
    if (self->open == NULL) {
        return fl_error_nomem(err);
    }
    *needs_flush = false;
    HASH_ITER(hh, self->shard->tablets, tablet, next)
    {
        if (tablet->log == NULL) {
            continue;
        }
        const bool is_changelog = tablet->kv != NULL, may = may_expire(self, tablet);
        self->open[self->open_count++] = (open_log){
            .key = tablet->key,
            .below_offset = is_changelog ? fl_kv_tablet_applied_offset(tablet->kv) : INT64_MAX};
        *needs_flush = *needs_flush || (is_changelog && may);
    }
    return 0;
}

static void open_and_expire(fl_retention *self)
{
    fluss_error_t err;
    bool needs_flush = false;
    open_closed(self);
    if (note_open(self, &needs_flush, &err) != 0) {
        give_up(self, &err);
    } else if (needs_flush) {
        run_on_pool(self, flush, flushed);
    } else {
        expire_all(self);
    }
}

/* ---- look ---- */

static void look(fl_work *work)
{
    fl_retention *self = FL_CONTAINER_OF(work, fl_retention, work);
    for (size_t i = 0; i < self->closed_count; i++) {
        closed_log *log = &self->closed[i];
        log->may_expire = fl_log_dir_may_expire(log->dir, self->now_ms, log->ttl_ms, self->rolls);
    }
}

static void looked(fl_work *work)
{
    fl_retention *self = FL_CONTAINER_OF(work, fl_retention, work);
    if (back_on_loop(self)) {
        open_and_expire(self);
    }
}

/* ---- list ---- */

static fluss_code_t list_closed(fl_retention *self, fluss_error_t *err)
{
    fl_tablet *tablet, *next;
    char dir[FL_TABLET_DIR_SIZE];
    self->closed_count = 0;
    self->closed =
        fl_arena_array(&self->arena, HASH_COUNT(self->shard->tablets), sizeof(closed_log));
    if (self->closed == NULL) {
        return fl_error_nomem(err);
    }
    HASH_ITER(hh, self->shard->tablets, tablet, next)
    {
        const int64_t ttl_ms = tablet->info->settings.log_ttl_ms;
        if (tablet->log != NULL || ttl_ms <= 0) {
            continue;
        }
        closed_log *log = &self->closed[self->closed_count];
        FL_TRY(fl_tablet_dir(tablet, dir, err));
        *log = (closed_log){
            .key = tablet->key, .dir = fl_arena_strdup(&self->arena, dir), .ttl_ms = ttl_ms};
        if (log->dir == NULL) {
            return fl_error_nomem(err);
        }
        self->closed_count++;
    }
    return 0;
}

static void on_timer(void *context)
{
    fl_retention *self = context;
    fluss_error_t err;
    self->now_ms = fl_wall_ms();
    self->rolls = atomic_load(&self->server->rolls_active);
    if (list_closed(self, &err) != 0) {
        give_up(self, &err);
    } else if (self->closed_count != 0) {
        run_on_pool(self, look, looked);
    } else {
        open_and_expire(self);
    }
}

/* ---- life ---- */

fluss_code_t fl_retention_start(fl_shard *shard, fl_retention **retention, fluss_error_t *err)
{
    fl_retention *self = fl_calloc(1, sizeof(*self));
    *retention = self;
    if (self == NULL) {
        return fl_error_nomem(err);
    }
    self->shard = shard;
    self->server = shard->server;
    fl_arena_init(&self->arena);
    FL_TRY(fl_timer_new(shard->loop, on_timer, self, &self->timer, err));
    fl_timer_start(self->timer, shard->server->settings.retention_interval);
    return 0;
}

void fl_retention_stop(fl_retention *self)
{
    if (self == NULL) {
        return;
    }
    fl_timer_free(self->timer);
    self->timer = NULL;
    self->shard = NULL;
    if (!self->is_working) {
        free_retention(self);
    }
}
