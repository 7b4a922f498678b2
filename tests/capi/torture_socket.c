/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: whichever socket call of the client fails, everything ends in success or in an error within
 * its limits, nothing crashes or leaks, no row is lost or there twice, and the next life of a
 * client is as good as new. Transfers of one byte, and calls that are interrupted or find nothing,
 * fail no call at all. Method: this program has functions with the names of the socket calls, which
 * the libraries use in place of the C library's. The scenario runs with the n-th call failing, for
 * n = 1, 2, … until none is reached any more; in the ways of a full table of descriptors, a reset,
 * an end of file, and a peer that is silent for too long. FLUSS_TORTURE_STEP=1 takes every n;
 * larger steps, such as the default, take every so many, beginning elsewhere for each way. The
 * server is another process. */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "scenario.h"

enum { LIFE_MS_MAX = 60000, FD_COUNT = 4096 };

typedef enum { RESET, END_OF_FILE, SILENCE, FAILURE_COUNT } way; /* of the call that fails */
/* What is so all the time: one byte a call; every second call is interrupted, or finds nothing. */
typedef enum { SMOOTH, CRUMBS, INTERRUPTED, NOT_READY, ROAD_COUNT } road;

static const struct {
    int read, write; /* errors; 0: the end of the file */
} errors[FAILURE_COUNT] = {
    [RESET] = {ECONNRESET, EPIPE},
    [END_OF_FILE] = {0, EPIPE},
    [SILENCE] = {ETIMEDOUT, ENOBUFS},
};

static struct {
    atomic_llong count, fail_at; /* 1-based; 0: none */
    atomic_int way, road;
    atomic_bool is_socket[FD_COUNT];
} net;

/* Whether this call is the one that fails. */
static bool must_fail(void)
{
    return atomic_fetch_add(&net.count, 1) + 1 == atomic_load(&net.fail_at);
}

static bool is_socket(int fd)
{
    return fd >= 0 && fd < FD_COUNT && atomic_load(&net.is_socket[fd]);
}

static int fail_with(int error)
{
    errno = error;
    return -1;
}

/* What becomes of a transfer before the system is asked. @return whether that is all of it */
static bool breaks(int fd, int error, ssize_t *result)
{
    if (!is_socket(fd)) {
        return false;
    }
    const int on = atomic_load(&net.road);
    if (must_fail()) {
        *result = error == 0 ? 0 : fail_with(error);
        return true;
    }
    if ((on == INTERRUPTED || on == NOT_READY) && atomic_load(&net.count) % 2 == 0) {
        *result = fail_with(on == INTERRUPTED ? EINTR : EAGAIN);
        return true;
    }
    return false;
}

static bool breaks_read(int fd, ssize_t *result)
{
    return breaks(fd, errors[atomic_load(&net.way)].read, result);
}

static bool breaks_write(int fd, ssize_t *result)
{
    return breaks(fd, errors[atomic_load(&net.way)].write, result);
}

/* How much of a transfer the socket takes or gives. */
static size_t cut(int fd, size_t size)
{
    return size > 1 && is_socket(fd) && atomic_load(&net.road) == CRUMBS ? 1 : size;
}

/* The first byte of a list, where only that goes through; else NULL. */
static void *first_byte(int fd, const struct iovec *parts, size_t count)
{
    size_t i = 0;
    while (i < count && parts[i].iov_len == 0) {
        i++;
    }
    return i < count && cut(fd, 2) == 1 ? parts[i].iov_base : NULL;
}

/* The C library's function of a name; the cast is the one POSIX asks for. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int socket(int domain, int type, int protocol)
{
    if (must_fail()) {
        return fail_with(EMFILE);
    }
    const int fd = REAL(socket)(domain, type, protocol);
    if (fd >= 0 && fd < FD_COUNT) {
        atomic_store(&net.is_socket[fd], true);
    }
    return fd;
}

int close(int fd)
{
    if (fd >= 0 && fd < FD_COUNT) {
        atomic_store(&net.is_socket[fd], false);
    }
    return REAL(close)(fd);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    return must_fail() ? fail_with(ECONNREFUSED) : REAL(connect)(fd, address, size);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    return must_fail() ? fail_with(ENOBUFS) : REAL(setsockopt)(fd, level, name, value, size);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    return must_fail() ? fail_with(ENOBUFS) : REAL(getsockopt)(fd, level, name, value, size);
}

ssize_t read(int fd, void *buf, size_t size)
{
    ssize_t result;
    return breaks_read(fd, &result) ? result : REAL(read)(fd, buf, cut(fd, size));
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
    ssize_t result;
    if (breaks_read(fd, &result)) {
        return result;
    }
    void *first = first_byte(fd, parts, (size_t)count);
    return first != NULL ? REAL(read)(fd, first, 1) : REAL(readv)(fd, parts, count);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    ssize_t result;
    return breaks_read(fd, &result) ? result : REAL(recvmsg)(fd, msg, flags);
}

ssize_t write(int fd, const void *buf, size_t size)
{
    ssize_t result;
    return breaks_write(fd, &result) ? result : REAL(write)(fd, buf, cut(fd, size));
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    ssize_t result;
    return breaks_write(fd, &result) ? result : REAL(writev)(fd, parts, count);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    ssize_t result;
    if (breaks_write(fd, &result)) {
        return result;
    }
    void *first = first_byte(fd, msg->msg_iov, msg->msg_iovlen);
    return first != NULL ? REAL(send)(fd, first, 1, flags) : REAL(sendmsg)(fd, msg, flags);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    return must_fail() ? EAI_AGAIN : REAL(getaddrinfo)(node, service, hints, found);
}

/* One life with call n failing; whether it was reached. */
static bool live_once(const char *servers, way how, long long n, int64_t *failures)
{
    fluss_error_t err = {0};
    const int64_t started = now_ms();
    atomic_store(&net.count, 0);
    atomic_store(&net.way, (int)how);
    atomic_store(&net.fail_at, n);
    const char *step = "";
    const fluss_code_t rc = scenario_run(servers, &step, &err);
    atomic_store(&net.fail_at, 0);
    const bool is_reached = atomic_load(&net.count) >= n;
    if (now_ms() - started > LIFE_MS_MAX) {
        (void)fprintf(stderr, "call %lld: %" PRId64 " ms\n", n, now_ms() - started);
        exit(1);
    }
    if (rc != 0) {
        ++*failures;
        if (err.code != rc || err.message[0] == '\0' || err.kind == FLUSS_KIND_CORRUPT) {
            (void)fprintf(stderr, "call %lld: code %d, kind %d: %s\n", n, rc, err.kind,
                          err.message);
            exit(1);
        }
    }
    return is_reached;
}

int main(void)
{
    const char *servers = server_start(NULL, 0);
    fluss_error_t err = {0};
    const char *reached;
    scenario_prepare(servers);
    const long long step = size_from("FLUSS_TORTURE_STEP", 3);
    int64_t lives = 0, failures = 0, calls = 0;
    for (road on = CRUMBS; on < ROAD_COUNT; on++) {
        atomic_store(&net.road, (int)on);
        atomic_store(&net.count, 0);
        must(scenario_run(servers, &reached, &err));
        expect(atomic_load(&net.count) > (on == CRUMBS ? 1000 : 50));
    }
    atomic_store(&net.road, SMOOTH);
    for (way how = RESET; how < FAILURE_COUNT; how++) {
        long long n = 1 + (long long)how % step;
        for (; live_once(servers, how, n, &failures); n += step) {
            lives++;
        }
        calls = n;
        must(scenario_run(servers, &reached, &err));
    }
    scenario_check_rows(servers);
    server_stop();
    (void)printf("%" PRId64 " calls, %" PRId64 " lives, %" PRId64 " of them with an error\n", calls,
                 lives, failures);
    expect(lives > 0 && calls > 10);
    return 0;
}
