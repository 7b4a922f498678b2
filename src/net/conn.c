/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a connection: made, watched, closed, freed. Reading is in conn_read.c, writing in
 * conn_write.c, the way to a connected socket in conn_connect.c.
 *
 * The object lives until nothing of the event loop refers to it any more (pins); on_closed is its
 * last event and comes from the loop, never from inside a call. */
#include "net/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "net/conn_private.h"

enum { DRAIN_LIMIT_MS = 5000, HELD_SIZE_MAX = FL_LOOP_SCRATCH_SIZE };

static void on_limit(uv_timer_t *timer)
{
    fl_conn *conn = timer->data;
    if (conn->state == FL_CONN_DRAINING) {
        fl_conn_fail(conn, NULL);
        return;
    }
    fluss_error_t why;
    (void)fl_error(&why, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_TIMEOUT,
                   "no connection to %s within %lld ms%s%s", conn->address,
                   (long long)conn->opts.connect_timeout_ms, conn->connect->reason[0] ? ": " : "",
                   conn->connect->reason);
    fl_conn_fail(conn, &why);
}

void fl_conn_limit(fl_conn *conn, int64_t limit_ms)
{
    uv_update_time(&conn->loop->uv);
    (void)uv_timer_start(&conn->limit, on_limit, (uint64_t)limit_ms, 0);
}

static void on_idle(uv_timer_t *timer)
{
    fl_conn *conn = timer->data;
    const int64_t quiet_ms = fl_clock_ms() - conn->last_active_ms;
    if (quiet_ms >= conn->opts.idle_timeout_ms) {
        fl_conn_fail(conn, NULL);
        return;
    }
    (void)uv_timer_start(timer, on_idle, (uint64_t)(conn->opts.idle_timeout_ms - quiet_ms), 0);
}

fluss_code_t fl_conn_new(fl_loop *loop, const fl_conn_opts *opts, const fl_conn_events *events,
                         void *context, fl_conn **out, fluss_error_t *err)
{
    FL_DEBUG_ASSERT(fl_loop_is_current(loop));
    *out = NULL;
    fl_conn *conn = fl_calloc(1, sizeof(*conn));
    if (conn == NULL) {
        return fl_error_nomem(err);
    }
    conn->loop = loop;
    conn->opts = *opts;
    conn->events = events;
    conn->context = context;
    conn->fd = -1;
    conn->out_last = &conn->out_first;
    conn->resume.run = fl_conn_run_resume;
    fl_buf_init(&conn->held, HELD_SIZE_MAX);
    (void)uv_timer_init(&loop->uv, &conn->limit);
    (void)uv_timer_init(&loop->uv, &conn->idle);
    conn->limit.data = conn;
    conn->idle.data = conn;
    conn->pins = 2;
    *out = conn;
    return 0;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    fl_conn *conn = poll->data;
    if (conn->state == FL_CONN_CONNECTING) {
        fl_conn_on_connectable(conn);
        return;
    }
    if (status < 0) { /* libuv names every failure of a socket alike: the socket knows better */
        fluss_error_t why;
        int failure = 0;
        socklen_t size = sizeof(failure);
        const bool is_told =
            getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure != 0;
        (void)fl_error(&why, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK, "connection to %s: %s",
                       conn->peer, is_told ? strerror(failure) : FL_UV_REASON(status));
        fl_conn_fail(conn, &why);
        return;
    }
    if ((events & UV_WRITABLE) != 0) {
        fl_conn_flush(conn);
    }
    if ((events & (UV_READABLE | UV_DISCONNECT)) != 0 && conn->state == FL_CONN_OPEN) {
        fl_conn_on_readable(conn);
    }
}

fluss_code_t fl_conn_watch(fl_conn *conn, int fd, fluss_error_t *err)
{
    const int rc = uv_poll_init_socket(&conn->loop->uv, &conn->poll, fd);
    if (rc != 0) {
        (void)close(fd);
        return fl_error(err, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK,
                        "can't watch a socket: %s", FL_UV_REASON(rc));
    }
    conn->fd = fd;
    conn->poll.data = conn;
    conn->has_poll = true;
    conn->interest = 0;
    conn->pins++;
    return 0;
}

void fl_conn_update_interest(fl_conn *conn)
{
    int wanted = 0;
    if (conn->state == FL_CONN_CONNECTING) {
        wanted = UV_WRITABLE;
    } else if (conn->state == FL_CONN_OPEN || conn->state == FL_CONN_DRAINING) {
        wanted |= conn->out_first != NULL ? UV_WRITABLE : 0;
        wanted |= conn->state == FL_CONN_OPEN && !conn->is_paused ? UV_READABLE : 0;
    }
    if (conn->has_poll && wanted != conn->interest) {
        conn->interest = wanted;
        if (wanted != 0) {
            (void)uv_poll_start(&conn->poll, wanted, on_poll);
        } else {
            (void)uv_poll_stop(&conn->poll);
        }
    }
}

void fl_conn_opened(fl_conn *conn)
{
    const int on = 1; /* both fail on a Unix socket, which needs neither */
    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(conn->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    conn->state = FL_CONN_OPEN;
    conn->last_active_ms = fl_clock_ms();
    (void)uv_timer_stop(&conn->limit);
    if (conn->opts.idle_timeout_ms > 0) {
        (void)uv_timer_start(&conn->idle, on_idle, (uint64_t)conn->opts.idle_timeout_ms, 0);
    }
    fl_conn_update_interest(conn);
}

fluss_code_t fl_conn_accept(fl_loop *loop, int fd, const fl_conn_opts *opts,
                            const fl_conn_events *events, void *context, fl_conn **out,
                            fluss_error_t *err)
{
    struct sockaddr_storage peer = {0};
    socklen_t peer_size = sizeof(peer);
    fl_conn *conn;
    const fluss_code_t rc = fl_conn_new(loop, opts, events, context, &conn, err);
    if (rc != 0) {
        (void)close(fd);
        return rc;
    }
    const bool has_peer = getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0;
    fl_address_print(has_peer ? (struct sockaddr *)&peer : NULL, conn->peer, sizeof(conn->peer));
    fluss_error_t why;
    if (fl_conn_watch(conn, fd, &why) != 0) {
        fl_conn_fail(conn, &why); /* reported by on_closed */
    } else {
        fl_conn_opened(conn);
    }
    *out = conn;
    return 0;
}

static void finish(fl_conn *conn)
{
    if (conn->fd >= 0) {
        (void)close(conn->fd);
    }
    conn->events->on_closed(conn, &conn->why, conn->context);
    fl_conn_drop_output(conn);
    fl_conn_drop_input(conn);
    fl_conn_connect_done(conn);
    fl_buf_deinit(&conn->held);
    fl_free(conn);
}

void fl_conn_unpin(fl_conn *conn)
{
    if (--conn->pins == 0) {
        finish(conn);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    fl_conn_unpin(handle->data);
}

void fl_conn_fail(fl_conn *conn, const fluss_error_t *why)
{
    if (conn->state == FL_CONN_CLOSING) {
        return;
    }
    if (why != NULL) {
        conn->why = *why;
    }
    const bool was_resolving = conn->state == FL_CONN_RESOLVING;
    conn->state = FL_CONN_CLOSING;
    uv_close((uv_handle_t *)&conn->limit, on_handle_closed);
    uv_close((uv_handle_t *)&conn->idle, on_handle_closed);
    if (conn->has_poll) {
        uv_close((uv_handle_t *)&conn->poll, on_handle_closed);
    }
    if (was_resolving && conn->connect != NULL) {
        (void)uv_cancel((uv_req_t *)&conn->connect->resolver); /* its callback still comes */
    }
}

void fl_conn_close(fl_conn *conn)
{
    fl_conn_fail(conn, NULL);
}

void fl_conn_close_after_output(fl_conn *conn)
{
    if (conn->state != FL_CONN_OPEN || conn->out_first == NULL) {
        fl_conn_fail(conn, NULL);
        return;
    }
    conn->state = FL_CONN_DRAINING;
    fl_conn_limit(conn, DRAIN_LIMIT_MS);
    fl_conn_update_interest(conn);
}
