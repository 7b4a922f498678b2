/* SPDX-License-Identifier: Apache-2.0 */
/* A handler of exit that knows the process it belongs to: in any other, a child, it ends the
 * process with the status that exit was called with. Handlers run last in, first out, so what was
 * registered before it does not run in a child. */
#include "net/exit_guard.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __GLIBC__
static void end_child(int status, void *owner)
{
    if (getpid() != (pid_t)(intptr_t)owner) {
        (void)fflush(NULL);
        _exit(status);
    }
}
#endif

void fl_exit_guard_add(void)
{
#ifdef __GLIBC__
    /* Without memory for the handler, exit in a child is as it would be without us. */
    (void)on_exit(end_child, (void *)(intptr_t)getpid());
#endif
}

static struct {
    atomic_bool is_gone;
    atomic_int users;
} pool;

static void end_pool(void)
{
    atomic_store(&pool.is_gone, true);
    while (atomic_load(&pool.users) != 0) { /* for the moment that giving work takes */
        (void)sched_yield();
    }
}

void fl_exit_guard_once(void)
{
    static atomic_flag is_added = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_added)) {
        (void)atexit(end_pool); /* before the guard: a child, which may have no users, skips it */
        fl_exit_guard_add();
    }
}

bool fl_pool_enter(void)
{
    atomic_fetch_add(&pool.users, 1);
    if (atomic_load(&pool.is_gone)) {
        atomic_fetch_sub(&pool.users, 1);
        return false;
    }
    return true;
}

void fl_pool_leave(void)
{
    atomic_fetch_sub(&pool.users, 1);
}
