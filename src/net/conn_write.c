/* SPDX-License-Identifier: Apache-2.0 */
/* Writing. fl_conn_send only queues: the loop writes before and after it polls, so the messages of
 * one turn leave with one sendmsg. What the socket does not take waits for it to become writable.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "net/conn_private.h"

enum { IOV_COUNT = 64 };

static size_t fill_iov(const fl_conn *conn, struct iovec *iov)
{
    size_t count = 0;
    size_t position = conn->out_position;
    for (const fl_conn_output *out = conn->out_first; out != NULL && count < IOV_COUNT;
         out = out->next) {
        count += fl_gather_iov(&out->gather, position, iov + count, IOV_COUNT - count);
        position = 0;
    }
    return count;
}

static void drop_first(fl_conn *conn)
{
    fl_conn_output *out = conn->out_first;
    conn->out_first = out->next;
    if (conn->out_first == NULL) {
        conn->out_last = &conn->out_first;
    }
    conn->out_position = 0;
    fl_gather_deinit(&out->gather);
    fl_free(out);
}

static void count_written(fl_conn *conn, size_t written)
{
    conn->out_bytes -= written;
    while (conn->out_first != NULL) {
        const size_t left = conn->out_first->gather.size - conn->out_position;
        if (written < left) {
            conn->out_position += written;
            return;
        }
        written -= left;
        drop_first(conn);
    }
}

/* false: the socket takes no more, or the connection failed. */
static bool write_once(fl_conn *conn)
{
    struct iovec iov[IOV_COUNT];
    const struct msghdr msg = {.msg_iov = iov, .msg_iovlen = fill_iov(conn, iov)};
    const ssize_t written = sendmsg(conn->fd, &msg, MSG_NOSIGNAL);
    if (written >= 0) {
        conn->last_active_ms = fl_clock_ms();
        count_written(conn, (size_t)written);
        return conn->out_first != NULL;
    }
    if (errno == EINTR) {
        return true;
    }
    if (errno != EAGAIN) {
        fluss_error_t why;
        (void)fl_error(&why, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK, "connection to %s: %s",
                       conn->peer, strerror(errno));
        fl_conn_fail(conn, &why);
    }
    return false;
}

static void tell_drained(fl_conn *conn)
{
    if (conn->is_congested && conn->out_bytes <= conn->opts.output_bytes_low) {
        conn->is_congested = false;
        if (conn->events->on_drained != NULL) {
            conn->events->on_drained(conn, conn->context);
        }
    }
}

void fl_conn_flush(fl_conn *conn)
{
    if (conn->state != FL_CONN_OPEN && conn->state != FL_CONN_DRAINING) {
        return;
    }
    while (conn->out_first != NULL && write_once(conn)) {
    }
    if (conn->state == FL_CONN_CLOSING) {
        return;
    }
    if (conn->state == FL_CONN_DRAINING && conn->out_first == NULL) {
        fl_conn_fail(conn, NULL);
        return;
    }
    fl_conn_update_interest(conn);
    tell_drained(conn);
}

void fl_conn_flush_all(fl_loop *loop)
{
    while (loop->unflushed != NULL) {
        fl_conn *conn = loop->unflushed;
        loop->unflushed = conn->unflushed_next;
        conn->is_unflushed = false;
        fl_conn_flush(conn);
        fl_conn_unpin(conn);
    }
}

void fl_conn_send(fl_conn *conn, fl_gather *out)
{
    FL_DEBUG_ASSERT(fl_loop_is_current(conn->loop));
    fl_conn_output *node = NULL;
    if (conn->state < FL_CONN_DRAINING && out->size != 0) {
        node = fl_alloc(sizeof(*node));
        if (node == NULL) {
            fluss_error_t why;
            (void)fl_error_nomem(&why);
            fl_conn_fail(conn, &why);
        }
    }
    if (node == NULL) {
        fl_gather_deinit(out);
        return;
    }
    fl_gather_move(out, &node->gather);
    node->next = NULL;
    conn->out_bytes += node->gather.size;
    *conn->out_last = node;
    conn->out_last = &node->next;
    if (conn->opts.output_bytes_high != 0 && conn->out_bytes > conn->opts.output_bytes_high) {
        conn->is_congested = true;
    }
    if (!conn->is_unflushed) {
        conn->is_unflushed = true;
        conn->pins++;
        conn->unflushed_next = conn->loop->unflushed;
        conn->loop->unflushed = conn;
    }
}

bool fl_conn_is_congested(const fl_conn *conn)
{
    return conn->is_congested;
}

void fl_conn_drop_output(fl_conn *conn)
{
    while (conn->out_first != NULL) {
        drop_first(conn);
    }
    conn->out_bytes = 0;
}
