/* SPDX-License-Identifier: Apache-2.0 */
/* The writing half of a client: tables' open batches (accumulator) and the sender that drains them.
 * See sender_private.h for its parts. */
#ifndef FL_SENDER_H
#define FL_SENDER_H
#include "client/client.h"

/** gives. NULL: out of memory. Thread: any. */
fl_sender *fl_sender_new(fl_client *client) FLUSS_CHECKED;
/** Make the timer, so that nothing that waits later needs memory for it. Thread: loop. */
FLUSS_CHECKED fluss_code_t fl_sender_start(fl_sender *sender, fluss_error_t *err);
/** After the loop has ended. NULL allowed. */
void fl_sender_free(fl_sender *sender);
/** Send everything; call `done` when it is acknowledged or the limit has passed. Once a sender.
 * Thread: loop. */
void fl_sender_drain(fl_sender *sender, int64_t limit_ms, void (*done)(void *context),
                     void *context);
/** Take what was given up and neither an ack nor a flush has told: the first error, with the number
 * of rows. @return its code, 0: nothing was. Thread: loop. */
FLUSS_CHECKED fluss_code_t fl_sender_take_losses(fl_sender *sender, fluss_error_t *err);
/** Fail what is left. Thread: loop. */
void fl_sender_close(fl_sender *sender, const fluss_error_t *why);
#endif
