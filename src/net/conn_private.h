/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a connection, shared by the files of this folder. */
#ifndef FL_CONN_PRIVATE_H
#define FL_CONN_PRIVATE_H
#include "net/conn.h"
#include "net/loop_private.h"

typedef enum {
    FL_CONN_RESOLVING,
    FL_CONN_CONNECTING,
    FL_CONN_OPEN,
    FL_CONN_DRAINING, /* no more input; closes when the output is written */
    FL_CONN_CLOSING
} fl_conn_state;

typedef struct fl_conn_output {
    fl_gather gather;
    struct fl_conn_output *next;
} fl_conn_output;

typedef struct fl_conn_connect_state {
    uv_getaddrinfo_t resolver;
    struct addrinfo *addresses, *next; /* next: to be tried */
    char reason[160];                  /* why the last attempt failed */
} fl_conn_connect_state;

struct fl_conn {
    fl_loop *loop;
    const fl_conn_events *events;
    void *context;
    fl_conn_opts opts;
    fl_conn_state state;
    fluss_error_t why; /* for on_closed */
    int pins;          /* open handles, a running resolver, a posted task: freed at 0 */

    int fd;
    uv_poll_t poll;
    bool has_poll;
    int interest;     /* events that poll watches */
    uv_timer_t limit; /* of connecting, then of draining */
    uv_timer_t idle;
    int64_t last_active_ms;

    /* Input: the length prefix, then the frame. */
    uint8_t prefix[4];
    size_t prefix_filled;
    fl_frame *frame; /* under construction; size bytes are filled */
    size_t frame_size;
    fl_buf held; /* read, but not yet delivered: reading is paused */
    bool is_paused, is_resume_posted;
    fl_task resume;

    /* Output. */
    fl_conn_output *out_first, **out_last;
    size_t out_position; /* written bytes of out_first */
    size_t out_bytes;
    bool is_congested, is_unflushed;
    fl_conn *unflushed_next;

    fl_conn_connect_state *connect;
    char address[256];
    char peer[64];
};

/** Make the object; it has no socket yet. */
FLUSS_CHECKED fluss_code_t fl_conn_new(fl_loop *loop, const fl_conn_opts *opts,
                                       const fl_conn_events *events, void *context, fl_conn **conn,
                                       fluss_error_t *err);
/** Start to watch a connected socket. On failure the caller closes with `why`. takes fd in any
 * case. */
FLUSS_CHECKED fluss_code_t fl_conn_watch(fl_conn *conn, int fd, fluss_error_t *err);
/** Watch for input and output as the state asks. */
void fl_conn_update_interest(fl_conn *conn);
/** The socket is connected: reads and writes can start. */
void fl_conn_opened(fl_conn *conn);
/** Begin to close; `why` is copied, NULL: asked for by this side. */
void fl_conn_fail(fl_conn *conn, const fluss_error_t *why);
void fl_conn_unpin(fl_conn *conn);
/** Give up connecting, or draining, after this time. */
void fl_conn_limit(fl_conn *conn, int64_t limit_ms);
/** Events of the socket. */
void fl_conn_on_readable(fl_conn *conn);
void fl_conn_on_connectable(fl_conn *conn);
void fl_conn_flush(fl_conn *conn);
/** Free what the connect phase holds. */
void fl_conn_connect_done(fl_conn *conn);
/** Drop unwritten output, and the part of a frame. */
void fl_conn_drop_output(fl_conn *conn);
void fl_conn_drop_input(fl_conn *conn);
/** Run what was posted by fl_conn_resume. */
void fl_conn_run_resume(fl_task *task);
/** "1.2.3.4:5", "[::1]:5" or "unix" of a socket address. */
void fl_address_print(const struct sockaddr *address, char *out, size_t size);
/** A socket address of "unix:PATH". */
struct sockaddr_un;
FLUSS_CHECKED fluss_code_t fl_address_unix(const char *address, struct sockaddr_un *out,
                                           fluss_error_t *err);
#endif
