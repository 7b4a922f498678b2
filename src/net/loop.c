/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that runs a libuv loop. Posted tasks wait in a lock-free stack: a poster pushes with one
 * exchange, and only the post that finds the stack empty wakes the thread; the thread takes the
 * whole stack at once and turns it round, so tasks of one poster keep their order. */
#include "net/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/uncancelled.h"
#include "net/exit_guard.h"
#include "net/loop_private.h"

static _Thread_local bool is_loop_thread;

static void run_posted(fl_loop *loop)
{
    fl_task *task = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire);
    fl_task *ordered = NULL;
    while (task != NULL) {
        fl_task *next = task->next;
        task->next = ordered;
        ordered = task;
        task = next;
    }
    while (ordered != NULL) {
        fl_task *next = ordered->next; /* the task may be gone once it ran */
        ordered->run(ordered);
        ordered = next;
    }
}

static void on_wake(uv_async_t *wake)
{
    run_posted(wake->data);
}

static void on_before_poll(uv_prepare_t *handle)
{
    fl_conn_flush_all(handle->data);
}

static void on_after_poll(uv_check_t *handle)
{
    fl_conn_flush_all(handle->data);
}

static void run_stop(fl_task *task)
{
    fl_loop *loop = FL_CONTAINER_OF(task, fl_loop, stop);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->before_poll, NULL);
    uv_close((uv_handle_t *)&loop->after_poll, NULL);
}

static void *run_loop(void *context)
{
    fl_loop *loop = context;
    is_loop_thread = true;
    (void)pthread_setname_np(pthread_self(), loop->name);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* ends when the last handle has closed */
    return NULL;
}

/* The process's signals are the business of its own threads. */
static int start_thread(fl_loop *loop)
{
    sigset_t all, old;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(&loop->thread, NULL, run_loop, loop);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

/* libuv ends the process when its first loop finds no three descriptors. @return 0, or its code */
static int check_descriptors(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return uv_translate_sys_error(errno);
    }
    const int third = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
    const int rc = third >= 0 ? 0 : uv_translate_sys_error(errno);
    (void)close(ends[0]);
    (void)close(ends[1]);
    if (third >= 0) {
        (void)close(third);
    }
    return rc;
}

static int init_uv(uv_loop_t *uv)
{
    int rc = check_descriptors();
    if (rc == 0) {
        uv->backend_fd = -1;
        rc = uv_loop_init(uv);
        if (rc != 0 && uv_backend_fd(uv) >= 0) { /* libuv leaves it open */
            (void)close(uv_backend_fd(uv));
        }
    }
    return rc;
}

fluss_code_t fl_loop_new(const char *name, fl_loop **out, fluss_error_t *err)
{
    *out = NULL;
    fl_loop *loop = fl_alloc(sizeof(*loop));
    if (loop == NULL) {
        return fl_error_nomem(err);
    }
    fl_exit_guard_once();
    memset(loop, 0, offsetof(fl_loop, scratch));
    (void)snprintf(loop->name, sizeof(loop->name), "%s", name);
    int rc = init_uv(&loop->uv);
    if (rc == 0) {
        rc = uv_async_init(&loop->uv, &loop->wake, on_wake);
        if (rc != 0) {
            (void)uv_loop_close(&loop->uv);
        }
    }
    if (rc != 0) {
        fl_free(loop);
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "can't make an event loop: %s",
                        FL_UV_REASON(rc));
    }
    loop->wake.data = loop;
    loop->stop.run = run_stop;
    (void)uv_prepare_init(&loop->uv, &loop->before_poll);
    (void)uv_check_init(&loop->uv, &loop->after_poll);
    loop->before_poll.data = loop;
    loop->after_poll.data = loop;
    (void)uv_prepare_start(&loop->before_poll, on_before_poll);
    (void)uv_check_start(&loop->after_poll, on_after_poll);
    rc = start_thread(loop);
    if (rc != 0) {
        run_stop(&loop->stop);
        (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
        (void)uv_loop_close(&loop->uv);
        fl_free(loop);
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "can't start a thread: %s",
                        strerror(rc));
    }
    *out = loop;
    return 0;
}

void fl_loop_free(fl_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    FL_ASSERT(!fl_loop_is_current(loop));
    fl_loop_post(loop, &loop->stop);
    (void)pthread_join(loop->thread, NULL);
    run_posted(loop); /* posted by handles while they closed */
    FL_ASSERT(uv_loop_close(&loop->uv) == 0);
    fl_free(loop);
}

void fl_loop_post(fl_loop *loop, fl_task *task)
{
    fl_task *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do {
        task->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&loop->posted, &head, task,
                                                    memory_order_release, memory_order_relaxed));
    if (head == NULL) {
        const int before = fl_uncancelled_begin();
        (void)uv_async_send(&loop->wake);
        fl_uncancelled_end(before);
    }
}

bool fl_loop_is_current(const fl_loop *loop)
{
    return pthread_equal(pthread_self(), loop->thread) != 0;
}

bool fl_loop_is_any_current(void)
{
    return is_loop_thread;
}

typedef struct work_request {
    uv_work_t uv;
    fl_work *work;
} work_request;

static void on_work(uv_work_t *uv)
{
    fl_work *work = FL_CONTAINER_OF(uv, work_request, uv)->work;
    work->work(work);
}

static void on_work_done(uv_work_t *uv, int status)
{
    (void)status; /* never cancelled */
    work_request *request = FL_CONTAINER_OF(uv, work_request, uv);
    fl_work *work = request->work;
    fl_free(request);
    work->done(work);
}

fluss_code_t fl_loop_work(fl_loop *loop, fl_work *work, fluss_error_t *err)
{
    FL_DEBUG_ASSERT(fl_loop_is_current(loop));
    work_request *request = fl_calloc(1, sizeof(*request));
    if (request == NULL) {
        return fl_error_nomem(err);
    }
    request->work = work;
    int rc = UV_ECANCELED; /* the process exits */
    if (fl_pool_enter()) {
        rc = uv_queue_work(&loop->uv, &request->uv, on_work, on_work_done);
        fl_pool_leave();
    }
    if (rc != 0) {
        fl_free(request);
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "can't queue work: %s",
                        FL_UV_REASON(rc));
    }
    return 0;
}

static int64_t clock_read(clockid_t clock, int64_t units_per_second)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * units_per_second + now.tv_nsec / (1000000000 / units_per_second);
}

int64_t fl_clock_ms(void)
{
    return clock_read(CLOCK_MONOTONIC, 1000);
}

int64_t fl_wall_ms(void)
{
    return clock_read(CLOCK_REALTIME, 1000);
}
