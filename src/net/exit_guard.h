/* SPDX-License-Identifier: Apache-2.0 */
/* Making exit() work in the child of a fork. The child has the memory of libraries, but not their
 * threads; what these libraries do at the end of a process - libuv joins its workers, RocksDB takes
 * down its static objects - would wait for threads that are not there, or crash. And keeping the
 * threads of a process that exits away from what is gone. */
#ifndef FL_NET_EXIT_GUARD_H
#define FL_NET_EXIT_GUARD_H
#include <stdbool.h>

/** Let exit() in a child of this process end before handlers that were registered earlier.
 *
 * Those registered later have run by then, and the buffers of stdio are written; earlier ones are
 * passed over. To be called after a library has made the static objects that are to be skipped.
 * Nothing happens where the C library has no on_exit. Thread: any. */
void fl_exit_guard_add(void);
/** The same, on the first call only; it also ends the use of the pool, see below. Thread: any. */
void fl_exit_guard_once(void);

/* libuv takes its pool of threads down at the end of the process, and aborts when one of our
 * threads, which may still run then, gives it work afterwards. So all work for it is given between
 * these two. */

/** @return false: the process exits; the pool must not be used, nor fl_pool_leave called.
 * Thread: any. */
bool fl_pool_enter(void);
void fl_pool_leave(void);
#endif
