/* SPDX-License-Identifier: Apache-2.0 */
/* A handler of exit that knows the process it belongs to: in any other, a child, it ends the
 * process with the status that exit was called with. Handlers run last in, first out, so what was
 * registered before it does not run in a child. */
#include "net/exit_guard.h"

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

void fl_exit_guard_once(void)
{
    static atomic_flag is_added = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_added)) {
        fl_exit_guard_add();
    }
}
