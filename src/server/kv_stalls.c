/* SPDX-License-Identifier: Apache-2.0 */
/* A list and a timer. The first tablet that waits is offered again; when the store takes its rows
 * the others follow at once, else all wait twice as long. What the store says to an offer is known
 * when the round that carries it ends. */
#include "server/kv_stalls.h"

#include "base/alloc.h"
#include "base/log.h"
#include "server/server.h"
#include "server/tablet_private.h"

enum { RETRY_MS_MIN = 10, RETRY_MS_MAX = 320 };

struct fl_kv_stalls {
    fl_timer *timer;
    int64_t retry_ms;
    bool is_told; /* that writes wait */
    fl_tablet *first, **last;
    const fl_tablet *offered; /* whose round is under way; NULL: the timer is set, or none waits */
};

static fl_tablet *take_first(fl_kv_stalls *self)
{
    fl_tablet *tablet = self->first;
    if (tablet != NULL) {
        self->first = tablet->next_stalled;
        self->last = self->first != NULL ? self->last : &self->first;
        tablet->next_stalled = NULL;
        tablet->is_stalled = false;
    }
    return tablet;
}

static void tell_end(fl_kv_stalls *self)
{
    if (self->is_told && self->first == NULL && self->offered == NULL) {
        self->is_told = false;
        self->retry_ms = RETRY_MS_MIN;
        fl_log(FL_LOG_WARNING, "server", "the key-value store takes rows again");
    }
}

/* Offer the first; those that need no round now are passed over. */
static void on_retry(void *context)
{
    fl_kv_stalls *self = context;
    while (self->first != NULL && self->offered == NULL) {
        fl_tablet *tablet = take_first(self);
        self->offered = tablet;
        fl_tablet_sync_soon(tablet);
        if (self->offered == tablet && !tablet->is_in_round) {
            self->offered = NULL;
        }
    }
    tell_end(self);
}

static void retry_later(fl_kv_stalls *self)
{
    if (self->offered == NULL && !fl_timer_is_set(self->timer)) {
        fl_timer_start(self->timer, self->retry_ms);
    }
}

void fl_kv_stalls_add(fl_tablet *tablet)
{
    fl_kv_stalls *self = tablet->shard->kv_stalls;
    if (self == NULL) {
        fl_tablet_give_up(tablet);
        return;
    }
    if (!self->is_told) {
        self->is_told = true;
        fl_log(FL_LOG_WARNING, "server",
               "the key-value store takes no rows until its files are on disk: writes wait");
    }
    if (self->offered == tablet) {
        self->offered = NULL;
        self->retry_ms = self->retry_ms < RETRY_MS_MAX ? self->retry_ms * 2 : RETRY_MS_MAX;
    }
    tablet->is_stalled = true;
    tablet->next_stalled = NULL;
    *self->last = tablet;
    self->last = &tablet->next_stalled;
    retry_later(self);
}

void fl_kv_stalls_taken(fl_tablet *tablet)
{
    fl_kv_stalls *self = tablet->shard->kv_stalls;
    if (self == NULL || self->offered != tablet) {
        return;
    }
    self->offered = NULL;
    self->retry_ms = RETRY_MS_MIN;
    for (fl_tablet *next = take_first(self); next != NULL; next = take_first(self)) {
        fl_tablet_sync_soon(next);
    }
    tell_end(self);
}

void fl_kv_stalls_forget(fl_tablet *tablet)
{
    fl_kv_stalls *self = tablet->shard->kv_stalls;
    if (self != NULL && self->offered == tablet) {
        self->offered = NULL;
        retry_later(self);
    }
    if (self == NULL || !tablet->is_stalled) {
        return;
    }
    for (fl_tablet **link = &self->first; *link != NULL; link = &(*link)->next_stalled) {
        if (*link == tablet) {
            *link = tablet->next_stalled;
            self->last = tablet->next_stalled == NULL ? link : self->last;
            break;
        }
    }
    tablet->next_stalled = NULL;
    tablet->is_stalled = false;
}

fluss_code_t fl_kv_stalls_start(fl_shard *shard, fluss_error_t *err)
{
    fl_kv_stalls *self = fl_calloc(1, sizeof(*self));
    if (self == NULL) {
        return fl_error_nomem(err);
    }
    self->retry_ms = RETRY_MS_MIN;
    self->last = &self->first;
    shard->kv_stalls = self;
    return fl_timer_new(shard->loop, on_retry, self, &self->timer, err);
}

void fl_kv_stalls_stop(fl_shard *shard)
{
    fl_kv_stalls *self = shard->kv_stalls;
    shard->kv_stalls = NULL;
    if (self == NULL) {
        return;
    }
    for (fl_tablet *tablet = take_first(self); tablet != NULL; tablet = take_first(self)) {
        fl_tablet_give_up(tablet);
    }
    fl_timer_free(self->timer);
    fl_free(self);
}
