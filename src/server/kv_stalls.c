/* SPDX-License-Identifier: Apache-2.0 */
/* A list and a timer. The first tablet that waits is offered again; when the store takes its rows
 * the others follow at once, else all wait twice as long. */
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

static void on_retry(void *context)
{
    fl_kv_stalls *self = context;
    bool is_taken = true;
    while (is_taken && self->first != NULL) {
        fl_tablet *tablet = take_first(self);
        fl_tablet_go_on(tablet);
        is_taken = !tablet->is_stalled;
    }
    if (self->first == NULL) {
        self->retry_ms = RETRY_MS_MIN;
        self->is_told = false;
        fl_log(FL_LOG_WARNING, "server", "the key-value store takes rows again");
        return;
    }
    self->retry_ms = self->retry_ms < RETRY_MS_MAX ? self->retry_ms * 2 : RETRY_MS_MAX;
    fl_timer_start(self->timer, self->retry_ms);
}

void fl_kv_stalls_add(fl_tablet *tablet)
{
    fl_kv_stalls *self = tablet->shard->kv_stalls;
    if (self == NULL) {
        fl_tablet_give_up(tablet);
        return;
    }
    if (tablet->is_stalled) {
        return;
    }
    if (!self->is_told) {
        self->is_told = true;
        fl_log(FL_LOG_WARNING, "server",
               "the key-value store takes no rows until its files are on disk: writes wait");
    }
    if (self->first == NULL) {
        fl_timer_start(self->timer, self->retry_ms);
    }
    tablet->is_stalled = true;
    tablet->next_stalled = NULL;
    *self->last = tablet;
    self->last = &tablet->next_stalled;
}

void fl_kv_stalls_forget(fl_tablet *tablet)
{
    fl_kv_stalls *self = tablet->shard->kv_stalls;
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
