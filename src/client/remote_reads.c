/* SPDX-License-Identifier: Apache-2.0 */
/* Workers take the reads one after the other from a common counter, so a slow log keeps one worker
 * and no other log waits for it. Memory is bounded by what the reads may take together, and by one
 * step a worker more. */
#include "client/remote_reads.h"

#include <stdatomic.h>

#include "base/alloc.h"

typedef struct remote_reads remote_reads;

typedef struct worker {
    fl_work work;
    remote_reads *all;
} worker;

struct remote_reads {
    fl_remote_read *reads;
    size_t count, bytes_max;
    atomic_size_t next, bytes;
    size_t running; /* loop */
    void (*done)(void *context);
    void *context;
    worker workers[];
};

static void read_some(fl_work *work)
{
    remote_reads *all = FL_CONTAINER_OF(work, worker, work)->all;
    size_t i;
    while ((i = atomic_fetch_add(&all->next, 1)) < all->count &&
           atomic_load(&all->bytes) < all->bytes_max) {
        fl_remote_read *read = &all->reads[i];
        if (fl_remote_log_read(read->remote, read->offset, read->size_max, &read->frame,
                               &read->err) == 0) {
            read->err.code = 0;
            (void)atomic_fetch_add(&all->bytes, read->frame->size);
        }
    }
}

static void on_read(fl_work *work)
{
    remote_reads *all = FL_CONTAINER_OF(work, worker, work)->all;
    if (--all->running == 0) {
        void (*done)(void *context) = all->done;
        void *context = all->context;
        fl_free(all);
        done(context);
    }
}

fluss_code_t fl_remote_reads_start(fl_loop *loop, fl_remote_read *reads, size_t count,
                                   const fl_remote_limits *limits, void (*done)(void *context),
                                   void *context, fluss_error_t *err)
{
    const size_t wanted = limits->threads < count ? limits->threads : count;
    remote_reads *all = fl_calloc(1, sizeof(*all) + wanted * sizeof(all->workers[0]));
    if (all == NULL) {
        return fl_error_nomem(err);
    }
    *all = (remote_reads){.reads = reads,
                          .count = count,
                          .bytes_max = limits->bytes_max,
                          .done = done,
                          .context = context};
    for (size_t i = 0; i < wanted; i++) {
        all->workers[i] = (worker){.work = {.work = read_some, .done = on_read}, .all = all};
        if (fl_loop_work(loop, &all->workers[i].work, err) != 0) {
            break; /* fewer of them do it too */
        }
        all->running++;
    }
    if (all->running == 0) {
        fl_free(all);
        return FLUSS_E_CLIENT;
    }
    return 0;
}
