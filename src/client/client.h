/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection consists of: one loop thread, and the parts that live on it. Handles of users
 * (connection, tables, writers, scanners) share it by reference count. */
#ifndef FL_CLIENT_H
#define FL_CLIENT_H
#include <fluss/fluss.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "client/config.h"
#include "client/future.h"
#include "client/metrics.h"
#include "client/rpc.h"

typedef struct fl_client fl_client;
typedef struct fl_metadata fl_metadata;
typedef struct fl_sender fl_sender;
typedef struct fl_lookups fl_lookups;
typedef struct fl_scanners fl_scanners;
typedef struct fl_embedded fl_embedded;
typedef struct fl_fork_guard fl_fork_guard;

struct fl_client {
    atomic_int refs;
    atomic_bool is_closing; /* fluss_close was called: no new work */
    atomic_bool is_closed;  /* nothing of it is left on the loop */
    fl_fork_guard *guard;
    fluss_config_t *config;
    fl_loop *loop;
    fl_rpc *rpc;
    fl_metadata *metadata;
    fl_sender *sender;
    fl_lookups *lookups;
    struct fl_scanner *scanners; /* open ones; loop */
    fl_embedded *embedded;
    fl_metrics metrics;
    char bootstrap[FL_ADDRESS_SIZE_MAX * 8]; /* resolved: no "embedded:" */
    fl_task shutdown;
    void *farewell;           /* what the last close needs, so that it needs no memory then */
    struct closing *closings; /* closes under way, which end together; loop */
};

/** shares. Thread: any. */
fl_client *fl_client_ref(fl_client *client);
/** The last one ends loop and thread: at once when the connection was closed and the caller is not
 * the loop, else in the background. NULL allowed. Thread: any. */
void fl_client_unref(fl_client *client);
/** Whether new work may start. @return FLUSS_KIND_STATE after a fork, FLUSS_KIND_CLOSED.
 * Thread: any. */
FLUSS_CHECKED fluss_code_t fl_client_check(const fl_client *client, fluss_error_t *err);
/** The error of everything after fluss_close. */
fluss_code_t fl_client_closed_error(fluss_error_t *err);
bool fl_client_is_forked(const fl_client *client);

/** A page that a fork empties: tells the child from the parent without a system call. */
fl_fork_guard *fl_fork_guard_new(void);
bool fl_fork_guard_is_child(const fl_fork_guard *guard);
void fl_fork_guard_free(fl_fork_guard *guard);

struct fluss_conn {
    fl_client *client; /* shares */
};

/* ---- embedded.c ---- */
/** Start or join the server of a directory in this process, or find it in another. @param address
 * room for "unix:PATH". gives (fl_embedded_release). Thread: any; blocks for milliseconds. */
FLUSS_CHECKED fluss_code_t fl_embedded_acquire(const char *directory, fl_embedded **embedded,
                                               char address[FL_ADDRESS_SIZE_MAX],
                                               fluss_error_t *err);
/** The last one of the process stops the server. NULL allowed. Thread: any but a loop. */
void fl_embedded_release(fl_embedded *embedded);
#endif
