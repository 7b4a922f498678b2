/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over loopback and Unix sockets: an echo server and clients, on loops of their own. */
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "net/conn.h"
#include "net/listener.h"

enum { DEADLINE_S = 30, FRAME_SIZE_MAX = 32 << 20 };

static const fl_conn_opts opts = {.frame_size_min = 1,
                                  .frame_size_max = FRAME_SIZE_MAX,
                                  .connect_timeout_ms = 5000,
                                  .output_bytes_high = 1 << 20,
                                  .output_bytes_low = 1 << 18};

static void await(sem_t *done)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DEADLINE_S;
    assert_int_equal(sem_timedwait(done, &until), 0);
}

static void send_frame(fl_conn *conn, const uint8_t *data, size_t size)
{
    fl_gather out;
    uint8_t prefix[4];
    fl_gather_init(&out);
    fl_store_be32(prefix, (uint32_t)size);
    FL_ASSERT(fl_gather_copy(&out, prefix, sizeof(prefix), NULL) == 0);
    FL_ASSERT(fl_gather_copy(&out, data, size, NULL) == 0);
    fl_conn_send(conn, &out);
}

/* ---- the echo server ---- */

typedef struct echo {
    fl_task task, resume;
    fl_conn *paused; /* NULL: none */
    fl_loop *loop;
    fl_listener *listener;
    const char *address;
    fluss_error_t err;
    sem_t ready;
    int open_count;
    bool is_closing, pauses;
} echo;

static void echo_frame(fl_conn *conn, fl_frame *frame, void *context)
{
    echo *self = context;
    send_frame(conn, frame->data, frame->size);
    fl_frame_unref(frame);
    if (self->pauses) { /* every frame: the rest of what was read waits for the loop's next turn */
        fl_conn_pause(conn);
        self->paused = conn;
        fl_loop_post(self->loop, &self->resume);
    }
}

static void echo_resume(fl_task *task)
{
    echo *self = FL_CONTAINER_OF(task, echo, resume);
    if (self->paused != NULL) {
        fl_conn_resume(self->paused);
    }
}

static void echo_bad_length(fl_conn *conn, int32_t length, void *context)
{
    (void)context;
    char text[32];
    const int size = snprintf(text, sizeof(text), "bad %d", (int)length);
    send_frame(conn, (const uint8_t *)text, (size_t)size);
    fl_conn_close_after_output(conn);
}

static void echo_closed(fl_conn *conn, const fluss_error_t *why, void *context)
{
    (void)why;
    echo *self = context;
    self->open_count--;
    self->paused = self->paused == conn ? NULL : self->paused;
}

static const fl_conn_events echo_events = {
    .on_frame = echo_frame, .on_bad_length = echo_bad_length, .on_closed = echo_closed};

static void echo_accepted(int fd, void *context)
{
    echo *self = context;
    fl_conn *conn;
    if (fl_conn_accept(self->loop, fd, &opts, &echo_events, self, &conn, NULL) == 0) {
        self->open_count++;
    }
}

static void echo_run(fl_task *task)
{
    echo *self = FL_CONTAINER_OF(task, echo, task);
    if (self->is_closing) {
        fl_listener_close(self->listener);
    } else {
        const fluss_code_t rc = fl_listener_open(self->loop, self->address, echo_accepted, self,
                                                 &self->listener, &self->err);
        FL_ASSERT(rc == self->err.code);
    }
    sem_post(&self->ready);
}

static void echo_start(echo *self, const char *address)
{
    *self = (echo){.task.run = echo_run, .resume.run = echo_resume, .address = address};
    sem_init(&self->ready, 0, 0);
    assert_int_equal(fl_loop_new("echo", &self->loop, NULL), 0);
    fl_loop_post(self->loop, &self->task);
    await(&self->ready);
}

static void echo_stop(echo *self)
{
    self->is_closing = true;
    fl_loop_post(self->loop, &self->task);
    await(&self->ready);
    fl_loop_free(self->loop);
    assert_int_equal(self->open_count, 0);
    sem_destroy(&self->ready);
}

/* ---- a client that sends frames of given sizes and checks their echoes ---- */

typedef struct client {
    fl_task task;
    fl_loop *loop;
    const char *address;
    const size_t *sizes;
    size_t count, received;
    bool is_right, was_opened;
    fluss_error_t why;
    sem_t done;
} client;

static uint8_t byte_at(size_t frame, size_t at)
{
    return (uint8_t)(frame * 31 + at * 7 + (at >> 8));
}

static void client_opened(fl_conn *conn, void *context)
{
    client *self = context;
    self->was_opened = true;
    for (size_t i = 0; i < self->count; i++) {
        uint8_t *data = fl_alloc(self->sizes[i]);
        for (size_t at = 0; at < self->sizes[i]; at++) {
            data[at] = byte_at(i, at);
        }
        send_frame(conn, data, self->sizes[i]);
        fl_free(data);
    }
    if (self->count == 0) {
        fl_conn_close(conn);
    }
}

static void client_frame(fl_conn *conn, fl_frame *frame, void *context)
{
    client *self = context;
    self->is_right = self->is_right && frame->size == self->sizes[self->received];
    for (size_t at = 0; self->is_right && at < frame->size; at++) {
        self->is_right = frame->data[at] == byte_at(self->received, at);
    }
    fl_frame_unref(frame);
    if (++self->received == self->count) {
        fl_conn_close(conn);
    }
}

static void client_closed(fl_conn *conn, const fluss_error_t *why, void *context)
{
    (void)conn;
    client *self = context;
    self->why = *why;
    sem_post(&self->done);
}

static const fl_conn_events client_events = {
    .on_open = client_opened, .on_frame = client_frame, .on_closed = client_closed};

static void client_run(fl_task *task)
{
    client *self = FL_CONTAINER_OF(task, client, task);
    fl_conn *conn;
    if (fl_conn_connect(self->loop, self->address, &opts, &client_events, self, &conn,
                        &self->why) != 0) {
        sem_post(&self->done);
    }
}

static void client_go(client *self, const char *address, const size_t *sizes, size_t count)
{
    *self = (client){.task.run = client_run,
                     .address = address,
                     .sizes = sizes,
                     .count = count,
                     .is_right = true};
    sem_init(&self->done, 0, 0);
    assert_int_equal(fl_loop_new("client", &self->loop, NULL), 0);
    fl_loop_post(self->loop, &self->task);
    await(&self->done);
    fl_loop_free(self->loop);
    sem_destroy(&self->done);
}

static const size_t frame_sizes[] = {1,    2,       100,     4095,     65531, 65532, 65536, 1,
                                     3000, 1 << 20, 7 << 20, 20 << 20, 5,     17,    9,     65537};

static void frames_of_all_sizes_come_back_in_order(void **state)
{
    (void)state;
    echo server;
    client one;
    echo_start(&server, "127.0.0.1:0");
    assert_int_equal(server.err.code, 0);
    client_go(&one, fl_listener_address(server.listener), frame_sizes, FL_COUNT_OF(frame_sizes));
    assert_true(one.is_right);
    assert_int_equal(one.received, FL_COUNT_OF(frame_sizes));
    assert_int_equal(one.why.code, 0);
    echo_stop(&server);
}

static void a_receiver_that_pauses_loses_nothing(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    echo server;
    client one;
    size_t *sizes = fl_calloc(COUNT, sizeof(size_t));
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = 1 + i % 97;
    }
    echo_start(&server, "127.0.0.1:0");
    server.pauses = true;
    client_go(&one, fl_listener_address(server.listener), sizes, COUNT);
    assert_true(one.is_right);
    assert_int_equal(one.received, COUNT);
    echo_stop(&server);
    fl_free(sizes);
}

static void a_unix_socket_works_and_leaves_no_file(void **state)
{
    (void)state;
    char dir[] = "/tmp/fl_net_XXXXXX";
    char address[64];
    echo server;
    client one;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(address, sizeof(address), "unix:%s/s", dir);
    echo_start(&server, address);
    assert_int_equal(server.err.code, 0);
    client_go(&one, address, frame_sizes, FL_COUNT_OF(frame_sizes));
    assert_true(one.is_right);
    echo_stop(&server);
    assert_int_equal(rmdir(dir), 0); /* empty again */
}

static void failures_to_connect_name_address_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *address, *reason;
    } cases[] = {{"127.0.0.1:1", "refused"},
                 {"unix:/tmp/fl_net_no_such_socket", "No such file"},
                 {"no-such-host.invalid:9123", ""},
                 {"nonsense", "no port"}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        client one;
        client_go(&one, cases[i].address, NULL, 0);
        assert_false(one.was_opened);
        assert_int_not_equal(one.why.code, 0);
        assert_non_null(strstr(one.why.message, cases[i].address));
        assert_non_null(strstr(one.why.message, cases[i].reason));
    }
}

static void an_address_in_use_is_named(void **state)
{
    (void)state;
    echo first, second;
    echo_start(&first, "127.0.0.1:0");
    char address[64];
    (void)snprintf(address, sizeof(address), "%s", fl_listener_address(first.listener));
    echo_start(&second, address);
    assert_int_equal(second.err.code, FLUSS_E_NETWORK_EXCEPTION);
    assert_non_null(strstr(second.err.message, address));
    assert_null(second.listener);
    echo_stop(&second);
    echo_stop(&first);
}

/* Send bytes by a raw socket. @param answer filled with what comes back, up to the end of the
 * connection, as text */
static void exchange(const echo *server, const uint8_t *bytes, size_t size, char answer[static 64])
{
    char host[64];
    uint16_t port;
    assert_int_equal(
        fl_address_parse(fl_listener_address(server->listener), host, sizeof(host), &port, NULL),
        0);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint8_t to[16] = {2, 0, (uint8_t)(port >> 8), (uint8_t)port, 127, 0, 0, 1};
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)to, sizeof(to)), 0);
    assert_int_equal(write(fd, bytes, size), size);
    size_t filled = 0;
    ssize_t got;
    while ((got = read(fd, answer + filled, 63 - filled)) > 0) {
        filled += (size_t)got;
    }
    answer[filled] = '\0';
    (void)close(fd);
}

static const int32_t bad_lengths[] = {0, -1, INT32_MIN, FRAME_SIZE_MAX + 1, INT32_MAX};

static void bad_lengths_are_answered_and_cost_no_memory(void **state)
{
    (void)state;
    echo server;
    echo_start(&server, "127.0.0.1:0");
    for (size_t i = 0; i < FL_COUNT_OF(bad_lengths); i++) {
        uint8_t prefix[4];
        char answer[64] = "", expected[64];
        fl_store_be32(prefix, (uint32_t)bad_lengths[i]);
        exchange(&server, prefix, sizeof(prefix), answer);
        (void)snprintf(expected, sizeof(expected), "bad %d", (int)bad_lengths[i]);
        assert_string_equal(answer + 4, expected);
    }
    echo_stop(&server);
}

static void a_bad_length_among_held_frames_is_answered(void **state)
{
    (void)state;
    echo server;
    echo_start(&server, "127.0.0.1:0");
    server.pauses = true;
    for (size_t i = 0; i < FL_COUNT_OF(bad_lengths); i++) {
        uint8_t bytes[] = {0, 0, 0, 1, 'a', 0, 0, 0, 1, 'b', 0, 0, 0, 0, 'm', 'o', 'r', 'e'};
        char answer[64] = "", expected[64];
        fl_store_be32(bytes + 10, (uint32_t)bad_lengths[i]);
        exchange(&server, bytes, sizeof(bytes), answer);
        (void)snprintf(expected, sizeof(expected), "bad %d", (int)bad_lengths[i]);
        assert_int_equal(answer[4], 'a');
        assert_int_equal(answer[9], 'b');
        assert_string_equal(answer + 14, expected);
    }
    echo_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_all_sizes_come_back_in_order),
        cmocka_unit_test(a_receiver_that_pauses_loses_nothing),
        cmocka_unit_test(a_unix_socket_works_and_leaves_no_file),
        cmocka_unit_test(failures_to_connect_name_address_and_reason),
        cmocka_unit_test(an_address_in_use_is_named),
        cmocka_unit_test(bad_lengths_are_answered_and_cost_no_memory),
        cmocka_unit_test(a_bad_length_among_held_frames_is_answered),
    };
    const int64_t live = fl_alloc_live_count();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed + (fl_alloc_live_count() != live);
}
