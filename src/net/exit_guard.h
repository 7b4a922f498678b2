/* SPDX-License-Identifier: Apache-2.0 */
/* Making exit() work in the child of a fork. The child has the memory of libraries, but not their
 * threads; what these libraries do at the end of a process - libuv joins its workers, RocksDB takes
 * down its static objects - would wait for threads that are not there, or crash. */
#ifndef FL_NET_EXIT_GUARD_H
#define FL_NET_EXIT_GUARD_H

/** Let exit() in a child of this process end before handlers that were registered earlier.
 *
 * Those registered later have run by then, and the buffers of stdio are written; earlier ones are
 * passed over. To be called after a library has made the static objects that are to be skipped.
 * Nothing happens where the C library has no on_exit. Thread: any. */
void fl_exit_guard_add(void);
/** The same, on the first call only. Thread: any. */
void fl_exit_guard_once(void);
#endif
