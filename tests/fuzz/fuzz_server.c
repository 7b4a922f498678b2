/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes a whole server in this process: an input is what one client sends, frame after frame, to a
 * server that has a log table, a primary-key table and a partitioned one.
 *
 *   1 byte   API key - 1000; the largest ones are no API
 *   1 byte   bits 0-1 version, 2: ask for something harmless first, 3: hang up in the middle of the
 *            frame, and come back
 *   2 bytes  size of the body, little endian; then the body
 *
 * What must hold for any input: no access outside, nothing leaks, and the server answers a harmless
 * request on the same connection, or a new one where a frame ended it. The server is stopped and a
 * fresh one started every now and then, so that what it does not give back shows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/varint.h"
#include "fluss/fluss_server.h"
#include "server/server.h"

enum {
    FRAMES_MAX = 64,
    INPUTS_OF_A_SERVER = 500,
    ANSWER_S_MAX = 20,
    HEADER_SIZE = 12,
    PING_ID = 1 << 30,
    KEY_FIRST = 1000,
    KEY_API_VERSIONS = 1000,
    KEY_CREATE_DATABASE = 1001,
    KEY_CREATE_TABLE = 1005,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    fluss_server_t *server;
    int socket; /* -1: none */
    int inputs;
} world = {.socket = -1};

static void fail(const char *what)
{
    (void)fprintf(stderr, "fuzz_server: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- the connection ---- */

static void hang_up(void)
{
    if (world.socket >= 0) {
        (void)close(world.socket);
    }
    world.socket = -1;
}

static void connect_again(void)
{
    const char *address = fluss_server_endpoint(world.server);
    const struct timeval limit = {.tv_sec = ANSWER_S_MAX};
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    hang_up();
    (void)snprintf(where.sun_path, sizeof(where.sun_path), "%s", address + strlen("unix:"));
    world.socket = socket(AF_UNIX, SOCK_STREAM, 0);
    if (world.socket < 0 ||
        connect(world.socket, (const struct sockaddr *)&where, sizeof(where)) != 0) {
        fail("no connection");
    }
    (void)setsockopt(world.socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(world.socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* false: the server has ended the connection. */
static bool send_all(const uint8_t *data, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(world.socket, data, size, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            fail("nothing is read");
        }
        if (sent <= 0) {
            return false;
        }
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive(uint8_t *data, size_t size)
{
    while (size > 0) {
        const ssize_t got = recv(world.socket, data, size, 0);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            fail("no answer");
        }
        if (got <= 0) {
            return false;
        }
        data += got;
        size -= (size_t)got;
    }
    return true;
}

static void put_header(uint8_t header[HEADER_SIZE], size_t body_size, int key, int version, int id)
{
    fl_store_be32(header, (uint32_t)(body_size + HEADER_SIZE - 4));
    fl_store_be16(header + 4, (uint16_t)key);
    fl_store_be16(header + 6, (uint16_t)version);
    fl_store_be32(header + 8, (uint32_t)id);
}

static bool send_frame(int key, int version, int id, fl_slice body)
{
    uint8_t header[HEADER_SIZE];
    put_header(header, body.size, key, version, id);
    return send_all(header, sizeof(header)) && send_all(body.data, body.size);
}

/* Read answers until the one of a request; false: the connection has ended. */
static bool await(int id)
{
    static uint8_t skipped[1 << 16];
    uint8_t head[9];
    for (;;) {
        if (!receive(head, sizeof(head))) {
            return false;
        }
        size_t rest = fl_load_be32(head) - 5;
        const bool is_it = head[4] != 2 && fl_load_be32(head + 5) == (uint32_t)id;
        while (rest > 0) {
            const size_t part = rest < sizeof(skipped) ? rest : sizeof(skipped);
            if (!receive(skipped, part)) {
                return false;
            }
            rest -= part;
        }
        if (is_it) {
            return true;
        }
    }
}

static bool ping(void)
{
    static const uint8_t hello[] = {0x0a, 1, 'f', 0x12, 1, '1'};
    return send_frame(KEY_API_VERSIONS, 0, PING_ID, fl_slice_of(hello, sizeof(hello))) &&
           await(PING_ID);
}

/* ---- the server ---- */

static void put_field(fl_buf *out, unsigned number, fl_slice bytes)
{
    uint8_t head[FL_VARINT64_SIZE_MAX * 2];
    size_t size = fl_varint_store(head, number << 3 | 2);
    size += fl_varint_store(head + size, bytes.size);
    if (fl_buf_append(out, head, size, NULL) != 0 || fl_buf_append_slice(out, bytes, NULL) != 0) {
        fail("no memory");
    }
}

static void make_table(const char *name, const char *description)
{
    static const uint8_t not_if_there[] = {0x18, 0};
    fl_buf path, request;
    fl_buf_init(&path, 1 << 10);
    fl_buf_init(&request, 1 << 16);
    put_field(&path, 1, fl_slice_str("api"));
    put_field(&path, 2, fl_slice_str(name));
    put_field(&request, 1, fl_buf_slice(&path));
    put_field(&request, 2, fl_slice_str(description));
    if (fl_buf_append(&request, not_if_there, sizeof(not_if_there), NULL) != 0 ||
        !send_frame(KEY_CREATE_TABLE, 0, 1, fl_buf_slice(&request)) || !await(1)) {
        fail("no table");
    }
    fl_buf_deinit(&path);
    fl_buf_deinit(&request);
}

#define COLUMNS(more)                                                                    \
    "\"schema\":{\"version\":1,\"columns\":[{\"name\":\"id\",\"data_type\":{\"type\":"   \
    "\"INTEGER\",\"nullable\":false},\"id\":0},{\"name\":\"p\",\"data_type\":{\"type\":" \
    "\"STRING\"},\"id\":1}],\"highest_field_id\":1" more "},\"properties\":{},"          \
    "\"custom_properties\":{},\"bucket_count\":2"

static void start_server(void)
{
    static const fluss_kv_t settings[] = {{"bind.listeners", "FLUSS://unix:fuzz.sock"},
                                          {"netty.connection.max-idle-time", "4s"},
                                          {"netty.server.max-request-size", "1mb"},
                                          {"log.segment.file-size", "4kb"},
                                          {"log.flush", "os"},
                                          {"server.shards", "2"},
                                          {"kv.scanner.ttl", "1s"},
                                          {"auto-partition.check.interval", "1s"},
                                          {"log.retention.check-interval", "1s"}};
    static const uint8_t database[] = {0x0a, 3, 'a', 'p', 'i', 0x10, 0};
    fluss_error_t err;
    char listener[64];
    (void)snprintf(listener, sizeof(listener), "FLUSS://unix:/tmp/fuzz-%d.sock", (int)getpid());
    fluss_kv_t own[FL_COUNT_OF(settings)];
    memcpy(own, settings, sizeof(settings));
    own[0].value = listener;
    if (fluss_server_start(own, FL_COUNT_OF(own), &world.server, &err) != 0) {
        fail(err.message);
    }
    connect_again();
    if (!send_frame(KEY_CREATE_DATABASE, 0, 1, fl_slice_of(database, sizeof(database))) ||
        !await(1)) {
        fail("no database");
    }
    make_table("log", "{\"version\":1,\"partition_key\":[],\"bucket_key\":[]," COLUMNS("") "}");
    make_table("pk", "{\"version\":1,\"partition_key\":[],\"bucket_key\":[\"id\"]," COLUMNS(
                         ",\"primary_key\":[\"id\"]") "}");
    make_table("parts",
               "{\"version\":1,\"partition_key\":[\"p\"],\"bucket_key\":[]," COLUMNS("") "}");
}

static void prepare_world(void)
{
    if (world.inputs++ % INPUTS_OF_A_SERVER == 0) {
        hang_up();
        fluss_server_free(world.server);
        start_server();
    }
    if (world.socket < 0) {
        connect_again();
    }
}

/* ---- an input ---- */

/* One frame; false: the connection is over. */
static bool play(const uint8_t *head, fl_slice body, int id)
{
    const int key = KEY_FIRST + head[0], flags = head[1];
    uint8_t header[HEADER_SIZE];
    put_header(header, body.size, key, flags & 3, id);
    if ((flags & 4) != 0 && !ping()) {
        return false;
    }
    if ((flags & 8) != 0) {
        (void)send_all(header, sizeof(header));
        (void)send_all(body.data, body.size / 2);
        connect_again();
        return true;
    }
    return send_all(header, sizeof(header)) && send_all(body.data, body.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0;
    bool is_open = true;
    prepare_world();
    for (int id = 0; id < FRAMES_MAX && is_open && at + 4 <= size; id++) {
        const size_t claimed = fl_load_u16(data + at + 2), rest = size - at - 4;
        const size_t body_size = claimed < rest ? claimed : rest;
        is_open = play(data + at, fl_slice_of(data + at + 4, body_size), id);
        at += 4 + body_size;
    }
    if (!is_open || !ping()) {
        connect_again();
        if (!ping()) {
            fail("no answer on a new connection");
        }
    }
    return 0;
}
