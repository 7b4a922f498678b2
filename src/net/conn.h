/* SPDX-License-Identifier: Apache-2.0 */
/* A stream connection that carries length-prefixed frames, client or server side. It knows nothing
 * of what is inside a frame. All functions: Thread: loop, if not said otherwise. */
#ifndef FL_CONN_H
#define FL_CONN_H
#include "base/frame.h"
#include "base/gather.h"
#include "net/loop.h"

typedef struct fl_conn fl_conn;

typedef struct fl_conn_events {
    /** Connected (client side only). */
    void (*on_open)(fl_conn *conn, void *context);
    /** One whole frame without its length prefix: frame->data, frame->size. takes the frame. */
    void (*on_frame)(fl_conn *conn, fl_frame *frame, void *context);
    /** A length prefix that is negative, below frame_size_min or above frame_size_max. Reading has
     * stopped; the handler may still send, then closes. May be NULL: the connection closes. */
    void (*on_bad_length)(fl_conn *conn, int32_t length, void *context);
    /** Output went below output_bytes_low after having been above output_bytes_high. May be NULL.
     */
    void (*on_drained)(fl_conn *conn, void *context);
    /** The last event, exactly once, also after fl_conn_close (code 0 in `why` then). The
     * connection is freed after it returns. */
    void (*on_closed)(fl_conn *conn, const fluss_error_t *why, void *context);
} fl_conn_events;

typedef struct fl_conn_opts {
    size_t frame_size_min, frame_size_max; /* bytes, what the length prefix may say */
    int64_t connect_timeout_ms;            /* client side */
    int64_t idle_timeout_ms;               /* 0: none; closes without a word */
    size_t output_bytes_high,
        output_bytes_low; /* marks for fl_conn_is_congested and on_drained; 0: none */
} fl_conn_opts;

/**
 * Start to connect to "host:port", "[v6]:port" or "unix:PATH". Names are resolved off the loop;
 * every address is tried. Failure to connect comes by on_closed: NETWORK_EXCEPTION, the message
 * names the address and the reason.
 *
 * @param events borrowed until on_closed (static in practice)
 * @param conn   valid until on_closed has returned
 */
FLUSS_CHECKED fluss_code_t fl_conn_connect(fl_loop *loop, const char *address,
                                           const fl_conn_opts *opts, const fl_conn_events *events,
                                           void *context, fl_conn **conn, fluss_error_t *err);
/** Serve an accepted socket. takes `fd` (closed also on failure). */
FLUSS_CHECKED fluss_code_t fl_conn_accept(fl_loop *loop, int fd, const fl_conn_opts *opts,
                                          const fl_conn_events *events, void *context,
                                          fl_conn **conn, fluss_error_t *err);
/** Queue bytes and write what the socket takes at once. takes the content of `out`, which is empty
 * afterwards; on a closing connection it is dropped. Writes of one turn of the loop are joined. */
void fl_conn_send(fl_conn *conn, fl_gather *out);
/** Stop or go on reading: back-pressure. */
void fl_conn_pause(fl_conn *conn);
void fl_conn_resume(fl_conn *conn);
bool fl_conn_is_congested(const fl_conn *conn);
/** Close now, or after the queued output is written (at most 5 s). on_closed follows, never from
 * inside this call. */
void fl_conn_close(fl_conn *conn);
void fl_conn_close_after_output(fl_conn *conn);
#endif
