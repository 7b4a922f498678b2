/* SPDX-License-Identifier: Apache-2.0 */
/* Loops: order of tasks, many posters, timers, blocking work, leak-free end. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "net/loop.h"

enum { POSTERS = 4, TASKS_EACH = 20000, DEADLINE_S = 30 };

static void await(sem_t *done)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DEADLINE_S;
    assert_int_equal(sem_timedwait(done, &until), 0);
}

typedef struct poster {
    fl_loop *loop;
    sem_t *done;
    struct numbered {
        fl_task task;
        struct poster *poster;
        int number;
    } *tasks;
    int next_number; /* on the loop */
    bool in_order;
} poster;

static void check_order(fl_task *task)
{
    struct numbered *numbered = FL_CONTAINER_OF(task, struct numbered, task);
    poster *owner = numbered->poster;
    owner->in_order = owner->in_order && numbered->number == owner->next_number;
    if (++owner->next_number == TASKS_EACH) {
        sem_post(owner->done);
    }
}

static void *post_all(void *context)
{
    poster *self = context;
    for (int i = 0; i < TASKS_EACH; i++) {
        self->tasks[i] = (struct numbered){.task.run = check_order, .poster = self, .number = i};
        fl_loop_post(self->loop, &self->tasks[i].task);
    }
    return NULL;
}

static void tasks_of_one_thread_keep_their_order(void **state)
{
    (void)state;
    fl_loop *loop;
    sem_t done;
    poster posters[POSTERS];
    pthread_t threads[POSTERS];
    sem_init(&done, 0, 0);
    assert_int_equal(fl_loop_new("test", &loop, NULL), 0);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (poster){.loop = loop, .done = &done, .in_order = true};
        posters[i].tasks = fl_calloc(TASKS_EACH, sizeof(struct numbered));
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
    }
    for (int i = 0; i < POSTERS; i++) {
        await(&done);
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(posters[i].in_order);
        fl_free(posters[i].tasks);
    }
    fl_loop_free(loop);
    sem_destroy(&done);
}

typedef struct timed {
    fl_task start;
    fl_work work;
    fl_loop *loop;
    fl_timer *timer;
    sem_t *done;
    int64_t started_ms, fired_ms;
    bool worked_elsewhere, done_on_loop;
} timed;

static void on_fire(void *context)
{
    timed *self = context;
    self->fired_ms = fl_clock_ms();
    fl_timer_free(self->timer);
    sem_post(self->done);
}

static void start_timer(fl_task *task)
{
    timed *self = FL_CONTAINER_OF(task, timed, start);
    self->started_ms = fl_clock_ms();
    if (fl_timer_new(self->loop, on_fire, self, &self->timer, NULL) == 0) {
        fl_timer_start(self->timer, 5000);
        fl_timer_start(self->timer, 20); /* instead of the earlier setting */
    }
}

static void a_timer_fires_once_after_its_delay(void **state)
{
    (void)state;
    sem_t done;
    sem_init(&done, 0, 0);
    timed self = {.start.run = start_timer, .done = &done};
    assert_int_equal(fl_loop_new("test", &self.loop, NULL), 0);
    fl_loop_post(self.loop, &self.start);
    await(&done);
    assert_in_range(self.fired_ms - self.started_ms, 19, 4000);
    fl_loop_free(self.loop);
}

static void work_here(fl_work *work)
{
    timed *self = FL_CONTAINER_OF(work, timed, work);
    self->worked_elsewhere = !fl_loop_is_current(self->loop);
}

static void work_done(fl_work *work)
{
    timed *self = FL_CONTAINER_OF(work, timed, work);
    self->done_on_loop = fl_loop_is_current(self->loop);
    sem_post(self->done);
}

static void start_work(fl_task *task)
{
    timed *self = FL_CONTAINER_OF(task, timed, start);
    self->work = (fl_work){.work = work_here, .done = work_done};
    FL_ASSERT(fl_loop_work(self->loop, &self->work, NULL) == 0);
}

static void blocking_work_runs_elsewhere_and_ends_on_the_loop(void **state)
{
    (void)state;
    sem_t done;
    sem_init(&done, 0, 0);
    timed self = {.start.run = start_work, .done = &done};
    assert_int_equal(fl_loop_new("test", &self.loop, NULL), 0);
    fl_loop_post(self.loop, &self.start);
    await(&done);
    assert_true(self.worked_elsewhere);
    assert_true(self.done_on_loop);
    fl_loop_free(self.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_one_thread_keep_their_order),
        cmocka_unit_test(a_timer_fires_once_after_its_delay),
        cmocka_unit_test(blocking_work_runs_elsewhere_and_ends_on_the_loop),
    };
    const int64_t live = fl_alloc_live_count();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (fl_alloc_live_count() != live);
}
