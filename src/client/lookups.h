/* SPDX-License-Identifier: Apache-2.0 */
/* The lookup batcher of a client. */
#ifndef FL_LOOKUPS_H
#define FL_LOOKUPS_H
#include "client/client.h"

/** gives. NULL: out of memory. Thread: any. */
fl_lookups *fl_lookups_new(fl_client *client) FLUSS_CHECKED;
/** Make the timer, so that no key that waits later needs memory for it. Thread: loop. */
FLUSS_CHECKED fluss_code_t fl_lookups_start(fl_lookups *lookups, fluss_error_t *err);
/** After the loop has ended. NULL allowed. */
void fl_lookups_free(fl_lookups *lookups);
/** Fail what waits. Thread: loop. */
void fl_lookups_close(fl_lookups *lookups, const fluss_error_t *why);
#endif
