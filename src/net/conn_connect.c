/* SPDX-License-Identifier: Apache-2.0 */
/* The client's way to a connected socket: resolve the name off the loop, try each address in turn,
 * all within one time limit. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "net/conn_private.h"
#include "net/exit_guard.h"
#include "net/listener.h"

static void try_next(fl_conn *conn);

static void note_reason(fl_conn *conn, const char *reason)
{
    (void)snprintf(conn->connect->reason, sizeof(conn->connect->reason), "%.150s", reason);
}

static void give_up(fl_conn *conn)
{
    fluss_error_t why;
    (void)fl_error(&why, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK, "can't connect to %s: %s",
                   conn->address, conn->connect->reason);
    fl_conn_fail(conn, &why);
}

static void connected(fl_conn *conn)
{
    fl_conn_connect_done(conn);
    fl_conn_opened(conn);
    conn->events->on_open(conn, conn->context);
}

/* Start a non-blocking connect. false: refused at once, the reason is noted. */
static bool start(fl_conn *conn, const struct sockaddr *address, socklen_t size)
{
    fluss_error_t err;
    fl_address_print(address, conn->peer, sizeof(conn->peer));
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        note_reason(conn, strerror(errno));
        return false;
    }
    if (connect(fd, address, size) != 0 && errno != EINPROGRESS) {
        note_reason(conn, strerror(errno));
        (void)close(fd);
        return false;
    }
    if (fl_conn_watch(conn, fd, &err) != 0) {
        note_reason(conn, err.message);
        return false;
    }
    conn->state = FL_CONN_CONNECTING;
    fl_conn_update_interest(conn);
    return true;
}

/* A failed attempt's socket is closed once the loop has let go of it; then the next address is
 * tried. */
static void on_attempt_closed(uv_handle_t *handle)
{
    fl_conn *conn = handle->data;
    (void)close(conn->fd);
    conn->fd = -1;
    if (conn->state != FL_CONN_CLOSING) {
        try_next(conn);
    }
    fl_conn_unpin(conn);
}

void fl_conn_on_connectable(fl_conn *conn)
{
    int failure = 0;
    socklen_t size = sizeof(failure);
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
        failure = errno;
    }
    if (failure == 0) {
        conn->interest = 0;
        connected(conn);
        return;
    }
    note_reason(conn, strerror(failure));
    conn->has_poll = false;
    uv_close((uv_handle_t *)&conn->poll, on_attempt_closed);
}

static void try_next(fl_conn *conn)
{
    while (conn->connect->next != NULL) {
        const struct addrinfo *address = conn->connect->next;
        conn->connect->next = address->ai_next;
        if (start(conn, address->ai_addr, address->ai_addrlen)) {
            return;
        }
    }
    give_up(conn);
}

static void on_resolved(uv_getaddrinfo_t *resolver, int status, struct addrinfo *addresses)
{
    fl_conn *conn = resolver->data;
    conn->connect->addresses = addresses;
    conn->connect->next = addresses;
    if (conn->state == FL_CONN_RESOLVING) {
        if (status != 0) {
            note_reason(conn, FL_UV_REASON(status));
        }
        try_next(conn);
    }
    fl_conn_unpin(conn);
}

static fluss_code_t resolve(fl_conn *conn, const char *address, fluss_error_t *err)
{
    char host[256], service[8];
    uint16_t port;
    FL_TRY(fl_address_parse(address, host, sizeof(host), &port, err));
    (void)snprintf(service, sizeof(service), "%u", (unsigned)port);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};
    conn->connect->resolver.data = conn;
    int rc = UV_ECANCELED; /* the process exits */
    if (fl_pool_enter()) {
        rc = uv_getaddrinfo(&conn->loop->uv, &conn->connect->resolver, on_resolved, host, service,
                            &hints);
        fl_pool_leave();
    }
    if (rc != 0) {
        return fl_error(err, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK, "can't resolve %s: %s",
                        address, FL_UV_REASON(rc));
    }
    conn->pins++;
    return 0;
}

static fluss_code_t begin(fl_conn *conn, const char *address, fluss_error_t *err)
{
    conn->connect = fl_calloc(1, sizeof(*conn->connect));
    if (conn->connect == NULL) {
        return fl_error_nomem(err);
    }
    (void)snprintf(conn->address, sizeof(conn->address), "%s", address);
    if (strncmp(address, "unix:", 5) != 0) {
        return resolve(conn, address, err);
    }
    struct sockaddr_un path;
    FL_TRY(fl_address_unix(address, &path, err));
    if (!start(conn, (const struct sockaddr *)&path, sizeof(path))) {
        give_up(conn); /* reported by on_closed, like every failure to connect */
    }
    return 0;
}

static void ignore_closed(fl_conn *conn, const fluss_error_t *why, void *context)
{
    (void)conn;
    (void)why;
    (void)context;
}

fluss_code_t fl_conn_connect(fl_loop *loop, const char *address, const fl_conn_opts *opts,
                             const fl_conn_events *events, void *context, fl_conn **out,
                             fluss_error_t *err)
{
    static const fl_conn_events no_events = {.on_closed = ignore_closed};
    *out = NULL;
    fl_conn *conn;
    FL_TRY(fl_conn_new(loop, opts, events, context, &conn, err));
    conn->state = FL_CONN_RESOLVING;
    const fluss_code_t rc = begin(conn, address, err);
    if (rc != 0) {
        conn->events = &no_events; /* the caller has the error already */
        conn->state = FL_CONN_CONNECTING;
        fl_conn_fail(conn, NULL);
        return rc;
    }
    if (conn->state != FL_CONN_CLOSING && opts->connect_timeout_ms > 0) {
        fl_conn_limit(conn, opts->connect_timeout_ms);
    }
    *out = conn;
    return 0;
}

void fl_conn_connect_done(fl_conn *conn)
{
    if (conn->connect != NULL) {
        if (conn->connect->addresses != NULL) {
            uv_freeaddrinfo(conn->connect->addresses);
        }
        fl_free(conn->connect);
        conn->connect = NULL;
    }
}
