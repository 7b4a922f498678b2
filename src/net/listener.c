/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets. When the process has no descriptor left for a new connection, accepting pauses
 * for a moment: the connection waits in the kernel's queue, and the loop does not spin. */
#include "net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "net/conn_private.h"

enum { ACCEPTS_PER_TURN_MAX = 64, ACCEPT_PAUSE_MS = 100, BACKLOG = 1024 };
enum { COMPLAINT_PAUSE_MS = 10000 };

struct fl_listener {
    fl_loop *loop;
    uv_poll_t poll;
    uv_timer_t pause;
    int fd;
    int pins;
    uint64_t silent_until_ms; /* of the loop's clock: what was said is not said again before */
    void (*accepted)(int fd, void *context);
    void *context;
    char address[300];
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of a Unix socket, else empty */
};

static void on_acceptable(uv_poll_t *poll, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
    fl_listener *listener = timer->data;
    (void)uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
}

static void complain(fl_listener *listener, int error)
{
    const uint64_t now_ms = uv_now(listener->poll.loop);
    if (now_ms >= listener->silent_until_ms) {
        listener->silent_until_ms = now_ms + COMPLAINT_PAUSE_MS;
        fl_log(FL_LOG_WARNING, "net", "accepting on %s: %s; connections wait", listener->address,
               strerror(error));
    }
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    fl_listener *listener = poll->data;
    for (int i = 0; i < ACCEPTS_PER_TURN_MAX; i++) {
        const int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            listener->accepted(fd, listener->context);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED) {
            continue;
        }
        if (errno != EAGAIN) {
            complain(listener, errno);
            (void)uv_poll_stop(&listener->poll);
            (void)uv_timer_start(&listener->pause, on_pause_over, ACCEPT_PAUSE_MS, 0);
        }
        return;
    }
}

static fluss_code_t fail(fluss_error_t *err, const char *address, const char *what,
                         const char *reason)
{
    return fl_error(err, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK, "can't %s %s: %s", what,
                    address, reason);
}

static fluss_code_t bind_and_listen(int family, const struct sockaddr *to, socklen_t size,
                                    const char *address, int *out, fluss_error_t *err)
{
    const int on = 1;
    const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return fail(err, address, "make a socket for", strerror(errno));
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, to, size) != 0 || listen(fd, BACKLOG) != 0) {
        const fluss_code_t rc = fail(err, address, "listen on", strerror(errno));
        (void)close(fd);
        return rc;
    }
    *out = fd;
    return 0;
}

static fluss_code_t listen_unix(fl_listener *listener, const char *address, fluss_error_t *err)
{
    struct sockaddr_un path;
    struct stat old;
    FL_TRY(fl_address_unix(address, &path, err));
    if (lstat(path.sun_path, &old) == 0 && S_ISSOCK(old.st_mode)) {
        (void)unlink(path.sun_path);
    }
    const mode_t mask = umask(S_IRWXG | S_IRWXO); /* the owner's only */
    const fluss_code_t rc = bind_and_listen(AF_UNIX, (const struct sockaddr *)&path, sizeof(path),
                                            address, &listener->fd, err);
    (void)umask(mask);
    FL_TRY(rc);
    (void)snprintf(listener->path, sizeof(listener->path), "%s", path.sun_path);
    (void)snprintf(listener->address, sizeof(listener->address), "%s", address);
    return 0;
}

static fluss_code_t listen_tcp(fl_listener *listener, const char *address, fluss_error_t *err)
{
    char host[256], service[8];
    uint16_t port;
    struct addrinfo *found = NULL;
    struct sockaddr_storage bound = {0};
    socklen_t bound_size = sizeof(bound);
    FL_TRY(fl_address_parse(address, host, sizeof(host), &port, err));
    (void)snprintf(service, sizeof(service), "%u", (unsigned)port);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const int gai = getaddrinfo(host, service, &hints, &found);
    if (gai != 0) {
        return fail(err, address, "resolve", gai_strerror(gai));
    }
    const fluss_code_t rc = bind_and_listen(found->ai_family, found->ai_addr, found->ai_addrlen,
                                            address, &listener->fd, err);
    freeaddrinfo(found);
    FL_TRY(rc);
    (void)getsockname(listener->fd, (struct sockaddr *)&bound, &bound_size);
    const in_port_t real = bound.ss_family == AF_INET6
                               ? ((struct sockaddr_in6 *)(void *)&bound)->sin6_port
                               : ((struct sockaddr_in *)(void *)&bound)->sin_port;
    const bool bracket = strchr(host, ':') != NULL;
    (void)snprintf(listener->address, sizeof(listener->address), bracket ? "[%s]:%u" : "%s:%u",
                   host, (unsigned)ntohs(real));
    return 0;
}

fluss_code_t fl_listener_open(fl_loop *loop, const char *address,
                              void (*accepted)(int fd, void *context), void *context,
                              fl_listener **out, fluss_error_t *err)
{
    *out = NULL;
    fl_listener *listener = fl_calloc(1, sizeof(*listener));
    if (listener == NULL) {
        return fl_error_nomem(err);
    }
    *listener = (fl_listener){.loop = loop, .accepted = accepted, .context = context, .fd = -1};
    const bool is_unix = strncmp(address, "unix:", 5) == 0;
    fluss_code_t rc =
        is_unix ? listen_unix(listener, address, err) : listen_tcp(listener, address, err);
    if (rc == 0) {
        const int uv_rc = uv_poll_init_socket(&loop->uv, &listener->poll, listener->fd);
        if (uv_rc != 0) {
            rc = fail(err, address, "watch", FL_UV_REASON(uv_rc));
            (void)close(listener->fd);
        }
    }
    if (rc != 0) {
        fl_free(listener);
        return rc;
    }
    (void)uv_timer_init(&loop->uv, &listener->pause);
    listener->poll.data = listener;
    listener->pause.data = listener;
    listener->pins = 2;
    (void)uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
    *out = listener;
    return 0;
}

const char *fl_listener_address(const fl_listener *listener)
{
    return listener->address;
}

static void on_closed(uv_handle_t *handle)
{
    fl_listener *listener = handle->data;
    if (--listener->pins == 0) {
        (void)close(listener->fd);
        fl_free(listener);
    }
}

void fl_listener_close(fl_listener *listener)
{
    if (listener == NULL) {
        return;
    }
    if (listener->path[0] != '\0') {
        (void)unlink(listener->path);
    }
    uv_close((uv_handle_t *)&listener->poll, on_closed);
    uv_close((uv_handle_t *)&listener->pause, on_closed);
}
