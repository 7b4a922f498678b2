/* SPDX-License-Identifier: Apache-2.0 */
/* One-shot timers of a loop. */
#include "base/alloc.h"
#include "net/loop_private.h"

struct fl_timer {
    uv_timer_t uv;
    void (*fire)(void *context);
    void *context;
};

static void on_fire(uv_timer_t *uv)
{
    fl_timer *timer = FL_CONTAINER_OF(uv, fl_timer, uv);
    timer->fire(timer->context);
}

static void on_freed(uv_handle_t *handle)
{
    fl_free(FL_CONTAINER_OF(handle, fl_timer, uv));
}

fluss_code_t fl_timer_new(fl_loop *loop, void (*fire)(void *context), void *context, fl_timer **out,
                          fluss_error_t *err)
{
    FL_DEBUG_ASSERT(fl_loop_is_current(loop));
    *out = NULL;
    fl_timer *timer = fl_calloc(1, sizeof(*timer));
    if (timer == NULL) {
        return fl_error_nomem(err);
    }
    timer->fire = fire;
    timer->context = context;
    (void)uv_timer_init(&loop->uv, &timer->uv); /* can't fail */
    *out = timer;
    return 0;
}

void fl_timer_start(fl_timer *timer, int64_t delay_ms)
{
    /* The loop's own clock is read once a turn, so a delay would count from the start of the turn.
     */
    uv_update_time(timer->uv.loop);
    (void)uv_timer_start(&timer->uv, on_fire, delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
}

void fl_timer_stop(fl_timer *timer)
{
    (void)uv_timer_stop(&timer->uv);
}

bool fl_timer_is_set(const fl_timer *timer)
{
    return uv_is_active((const uv_handle_t *)&timer->uv) != 0;
}

void fl_timer_free(fl_timer *timer)
{
    if (timer != NULL) {
        uv_close((uv_handle_t *)&timer->uv, on_freed);
    }
}
