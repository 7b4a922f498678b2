/* SPDX-License-Identifier: Apache-2.0 */
/* `started` and `withdrawn` are changed on the shards, one after the other, while syncs already end
 * at home: there they are looked at only when the walk has come back.
 *
 * A tablet knows the waits, which lie in the request's memory, so a request whose time is over
 * walks once more and takes back those that are left. One that was fired before has posted its task
 * to home by then, so it arrives before the walk does; one of a tablet that was dropped meanwhile
 * fires when its last sync ends. */
#include "server/write_join.h"

#include "server/server.h"
#include "server/session.h"

struct fl_join_wait {
    fl_sync_wait sync;
    bool is_started, is_withdrawn;
};

static void end_if_over(fl_request *request)
{
    fl_write_join *join = request->state;
    if (join->is_walked && join->over + join->withdrawn == join->started) {
        fl_timer_free(join->timer);
        join->timer = NULL;
        join->steps->done(request);
    }
}

static void synced(fl_task *task)
{
    fl_sync_wait *sync = FL_CONTAINER_OF(task, fl_sync_wait, task);
    fl_request *request = sync->request;
    fl_write_join *join = request->state;
    if (sync->code != 0) {
        fluss_error_t err;
        (void)fl_error(&err, sync->code, FLUSS_KIND_SERVER, "%s", sync->reason);
        join->steps->failed(request, sync->index, &err);
    }
    join->over++;
    end_if_over(request);
}

/* ---- the time is over ---- */

static void withdraw_each(fl_request *request, size_t index, fl_tablet *tablet)
{
    fl_write_join *join = request->state;
    fl_join_wait *wait = &join->waits[index];
    if (wait->is_started && tablet != NULL && fl_tablet_unsync(tablet, &wait->sync)) {
        wait->is_withdrawn = true;
        join->withdrawn++;
    }
}

static void withdrawn(fl_request *request)
{
    fl_write_join *join = request->state;
    for (size_t i = 0; i < join->visit.count; i++) {
        if (join->waits[i].is_withdrawn) {
            fluss_error_t err;
            (void)fl_error(&err, FLUSS_E_REQUEST_TIME_OUT, FLUSS_KIND_TIMEOUT,
                           "what was written did not get to disk within %d ms; it stays",
                           (int)join->timeout_ms);
            join->steps->failed(request, i, &err);
        }
    }
    join->is_walked = true;
    end_if_over(request);
}

static void on_timer(void *context)
{
    fl_request *request = context;
    fl_write_join *join = request->state;
    join->is_walked = false;
    join->visit.each = withdraw_each;
    join->visit.done = withdrawn;
    fl_visit_run(request);
}

/* ---- the walk ---- */

static void walked(fl_request *request)
{
    fl_write_join *join = request->state;
    fluss_error_t err;
    join->is_walked = true;
    if (join->over != join->started &&
        fl_timer_new(request->session->shard->loop, on_timer, request, &join->timer, &err) == 0) {
        fl_timer_start(join->timer, join->timeout_ms > 0 ? join->timeout_ms : 0);
    }
    end_if_over(request);
}

fluss_code_t fl_write_join_new(fl_request *request, const fl_write_steps *steps, size_t count,
                               size_t answer_size, int32_t timeout_ms, fluss_error_t *err)
{
    FL_TRY(fl_visit_new(request, sizeof(fl_write_join), count, answer_size, err));
    fl_write_join *join = request->state;
    join->steps = steps;
    join->timeout_ms = timeout_ms;
    join->visit.each = steps->each;
    join->visit.done = walked;
    join->waits = fl_arena_array(&request->arena, count, sizeof(join->waits[0]));
    return join->waits != NULL ? 0 : fl_error_nomem(err);
}

void fl_write_join_sync(fl_request *request, size_t index, fl_tablet *tablet,
                        int64_t log_end_offset)
{
    fl_write_join *join = request->state;
    fl_join_wait *wait = &join->waits[index];
    *wait = (fl_join_wait){
        .sync = {.task.run = synced, .request = request, .offset = log_end_offset, .index = index}};
    wait->is_started = fl_tablet_sync(tablet, &wait->sync);
    join->started += wait->is_started;
}
