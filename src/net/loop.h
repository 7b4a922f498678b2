/* SPDX-License-Identifier: Apache-2.0 */
/* One thread with an event loop. Everything that belongs to a loop is touched by its thread only;
 * other threads post tasks to it, through a lock-free list with one wake-up per burst. */
#ifndef FL_LOOP_H
#define FL_LOOP_H
#include "base/error.h"

typedef struct fl_loop fl_loop;

/** A piece of work for a loop, embedded in the object that it is about; owned by the poster until
 * it runs. */
typedef struct fl_task {
    void (*run)(struct fl_task *task);
    struct fl_task *next;
} fl_task;

/** Make a loop and start its thread. @param name at most 15 bytes, shown by debuggers. gives
 * (fl_loop_free). Thread: any. */
FLUSS_CHECKED fluss_code_t fl_loop_new(const char *name, fl_loop **loop, fluss_error_t *err);
/** Run what is posted, then end the thread and free the loop. Connections, timers and listeners of
 * the loop are closed before this is called. Thread: any but the loop's own. NULL allowed. */
void fl_loop_free(fl_loop *loop);
/** Run the task on the loop's thread, in the order of posts from one thread. takes the task until
 * it runs. Thread: any. */
void fl_loop_post(fl_loop *loop, fl_task *task);
bool fl_loop_is_current(const fl_loop *loop);
/** Whether this is the thread of any loop, which must not wait for what loops do. Thread: any. */
bool fl_loop_is_any_current(void);
/** Monotonic milliseconds, and ms since 1970. Thread: any. */
int64_t fl_clock_ms(void);
int64_t fl_wall_ms(void);

/** Blocking work on a pool thread: `work` runs there, then `done` on the loop. */
typedef struct fl_work {
    void (*work)(struct fl_work *work);
    void (*done)(struct fl_work *work);
    fl_loop *loop;
} fl_work;
/** takes the work until done. Thread: loop. On failure (out of memory) nothing runs. */
FLUSS_CHECKED fluss_code_t fl_loop_work(fl_loop *loop, fl_work *work, fluss_error_t *err);

/** A one-shot timer. */
typedef struct fl_timer fl_timer;
/** gives (fl_timer_free). `fire` runs on the loop. Thread: loop. */
FLUSS_CHECKED fluss_code_t fl_timer_new(fl_loop *loop, void (*fire)(void *context), void *context,
                                        fl_timer **timer, fluss_error_t *err);
/** Set to fire once after `delay_ms`, instead of an earlier setting. Thread: loop. */
void fl_timer_start(fl_timer *timer, int64_t delay_ms);
void fl_timer_stop(fl_timer *timer);
bool fl_timer_is_set(const fl_timer *timer);
/** NULL allowed. Thread: loop. */
void fl_timer_free(fl_timer *timer);
#endif
