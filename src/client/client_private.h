/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of client.c and connection.c. */
#ifndef FL_CLIENT_PRIVATE_H
#define FL_CLIENT_PRIVATE_H
#include "client/client.h"
#include "net/loop.h"

enum { FL_CLOSE_IN_BACKGROUND_MS_MAX = 5000 };

/** A client with one reference and a running loop, not connected. */
FLUSS_CHECKED fluss_code_t fl_client_new(const fluss_config_t *config, fl_client **client,
                                         fluss_error_t *err);
/** End all parts with FLUSS_KIND_CLOSED. Thread: loop. */
void fl_client_end_parts(fl_client *client);
/** Room for one close, for `farewell`; NULL: out of memory. gives (fl_free). */
void *fl_client_farewell_new(void);
/** Close without a future, and without memory, once: `done` runs on the loop. */
void fl_client_close_now(fl_client *client, int64_t limit_ms, void (*done)(void *context),
                         void *context);
#endif
