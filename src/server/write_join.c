/* SPDX-License-Identifier: Apache-2.0 */
/* `started` is changed on the shards, one after the other, while syncs already end at home: there
 * it is looked at only when the walk has come back. */
#include "server/write_join.h"

struct fl_join_wait {
    fl_sync_wait sync;
    fl_write_join *join;
};

static void end_if_over(fl_write_join *join)
{
    if (join->is_walked && join->over == join->started) {
        join->done(join->request);
    }
}

static void synced(fl_task *task)
{
    const fl_sync_wait *sync = FL_CONTAINER_OF(task, fl_sync_wait, task);
    fl_write_join *join = FL_CONTAINER_OF(sync, fl_join_wait, sync)->join;
    if (sync->code != 0) {
        join->failed(join->request, sync->index, sync->code, sync->reason);
    }
    join->over++;
    end_if_over(join);
}

fluss_code_t fl_write_join_init(fl_write_join *join, fl_request *request, size_t count,
                                void (*failed)(fl_request *request, size_t index, fluss_code_t code,
                                               const char *reason),
                                fl_request_step done, fluss_error_t *err)
{
    *join = (fl_write_join){.request = request, .failed = failed, .done = done};
    join->waits = fl_arena_array(&request->arena, count, sizeof(join->waits[0]));
    return join->waits != NULL ? 0 : fl_error_nomem(err);
}

void fl_write_join_sync(fl_write_join *join, size_t index, fl_tablet *tablet,
                        int64_t log_end_offset)
{
    fl_join_wait *wait = &join->waits[index];
    *wait = (fl_join_wait){.join = join,
                           .sync = {.task.run = synced,
                                    .request = join->request,
                                    .offset = log_end_offset,
                                    .index = index}};
    join->started += fl_tablet_sync(tablet, &wait->sync) ? 1 : 0;
}

void fl_write_join_walked(fl_write_join *join)
{
    join->is_walked = true;
    end_if_over(join);
}
