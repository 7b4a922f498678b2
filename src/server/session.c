/* SPDX-License-Identifier: Apache-2.0 */
/* Connections. A frame becomes a request here; a request that came home becomes a response.
 * Reading stops while too many requests or bytes of the connection are unanswered, or too many
 * bytes of its responses are unread, and goes on when half of that is done. */
#include "server/session.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/containers.h"
#include "base/log.h"
#include "base/varint.h"
#include "server/catalog.h"
#include "server/handlers.h"
#include "server/server.h"
#include "server/visit.h"

/* ---- life ---- */

static void unlink_request(fl_session *session, fl_request *request)
{
    DL_DELETE2(session->requests, request, previous, next);
    session->request_count--;
    session->request_bytes -= request->frame->size;
}

static void free_if_over(fl_session *session)
{
    if (session->conn != NULL || session->request_count != 0) {
        return;
    }
    fl_shard *shard = session->shard;
    DL_DELETE2(shard->sessions, session, previous, next);
    fl_free(session);
    atomic_fetch_sub(&shard->server->connection_count, 1);
    fl_server_release(shard->server);
}

static void on_closed(fl_conn *conn, const fluss_error_t *why, void *context)
{
    fl_session *session = context;
    (void)conn;
    (void)why;
    session->conn = NULL;
    session->request_count++; /* keeps the session while its requests end */
    for (fl_request *request = session->requests, *next; request != NULL; request = next) {
        next = request->next;
        if (request->cancel != NULL) {
            request->cancel(request);
        }
    }
    session->request_count--;
    free_if_over(session);
}

void fl_session_close(fl_session *session)
{
    if (session->conn != NULL) {
        fl_conn_close(session->conn);
    }
}

/* ---- back-pressure ---- */

static void hold_back_or_go_on(fl_session *session)
{
    if (session->conn == NULL) {
        return;
    }
    const fl_settings *settings = &session->shard->server->settings;
    const size_t count_max = (size_t)settings->connection_requests_max;
    const size_t bytes_max = settings->connection_input_max;
    const bool is_congested = fl_conn_is_congested(session->conn);
    if (!session->is_full && (session->request_count >= count_max ||
                              session->request_bytes >= bytes_max || is_congested)) {
        session->is_full = true;
        fl_conn_pause(session->conn);
    } else if (session->is_full && session->request_count <= count_max / 2 &&
               session->request_bytes <= bytes_max / 2 && !is_congested) {
        session->is_full = false;
        fl_conn_resume(session->conn);
    }
}

static void on_drained(fl_conn *conn, void *context)
{
    (void)conn;
    hold_back_or_go_on(context);
}

/* ---- requests ---- */

static void run_change(fl_change *change)
{
    fl_request *request = change->context;
    request->change = change;
    fl_handler_find(request->header.api_key)->run(request);
}

static void queue_change(fl_request *request)
{
    fl_change *change = fl_arena_alloc(&request->arena, sizeof(*change));
    if (change == NULL) {
        fluss_error_t err;
        (void)fl_error_nomem(&err);
        fl_request_fail(request, &err);
        return;
    }
    change->run = run_change;
    change->context = request;
    fl_catalog_change(fl_request_server(request)->catalog, change);
}

enum { OTHER_BODY_SIZE_MAX = 16 << 20 };

/* Fields of a message, not of those inside it; malformed ones end the count, for the decoder to
 * name. */
static size_t count_fields(fl_slice body)
{
    size_t count = 0, at = 0;
    while (at < body.size) {
        uint64_t tag, size = 0;
        size_t used = fl_varint_load(body.data + at, body.size - at, &tag);
        if (used == 0) {
            break;
        }
        at += used;
        if ((tag & 7) == 0 || (tag & 7) == 2) {
            used = fl_varint_load(body.data + at, body.size - at, &size);
            at += used;
        }
        size = (tag & 7) == 0 ? 0 : (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : size;
        if (used == 0 || size > body.size - at) {
            break;
        }
        at += size;
        count++;
    }
    return count;
}

/* Decoding needs some ten times the room of a message of many tiny parts. Only writes are allowed
 * to be large, and those of few parts. */
static fluss_code_t check_body(int16_t api_key, fl_slice body, fluss_error_t *err)
{
    if (api_key != FL_API_PRODUCE_LOG && api_key != FL_API_PUT_KV) {
        return body.size <= OTHER_BODY_SIZE_MAX
                   ? 0
                   : fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                              "a request of %zu bytes that is not a write; at most %d are possible",
                              body.size, (int)OTHER_BODY_SIZE_MAX);
    }
    const size_t count = count_fields(body);
    return count <= FL_VISIT_MAX ? 0
                                 : fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                                            "a write of %zu parts; at most %d are possible", count,
                                            (int)FL_VISIT_MAX);
}

/* To where the handler runs. */
static void place(fl_request *request)
{
    const fl_handler *handler = fl_handler_find(request->header.api_key);
    fl_shard *catalog_shard = &fl_request_server(request)->shards[0];
    switch (handler->place) {
    case FL_AT_HOME:
        fl_request_walk_home(request, handler->run);
        break;
    case FL_AT_CATALOG:
        fl_request_walk(request, catalog_shard, handler->run);
        break;
    case FL_CHANGES_CATALOG:
        fl_request_walk(request, catalog_shard, queue_change);
        break;
    }
}

/* Thread: shard 0. */
static void check_access(fl_request *request)
{
    fluss_error_t err;
    const fl_handler *handler = fl_handler_find(request->header.api_key);
    if (fl_access_check(request, &handler->access, &err) != 0) {
        fl_request_fail(request, &err);
    } else {
        place(request);
    }
}

static bool is_open_to_all(int16_t api_key)
{
    return api_key == FL_API_API_VERSIONS || api_key == FL_API_AUTHENTICATE;
}

/* Decode and hand to the handler; every way ends the request. */
static void dispatch(fl_request *request, fl_slice body)
{
    fluss_error_t err;
    fl_session *session = request->session;
    const fl_handler *handler = fl_handler_find(request->header.api_key);
    if (handler == NULL) {
        (void)fl_error(&err, FLUSS_E_UNSUPPORTED_VERSION, FLUSS_KIND_UNSUPPORTED,
                       "this server has no API with the key %d", (int)request->header.api_key);
        fl_request_fail(request, &err);
        return;
    }
    request->api = fl_api_find(request->header.api_key);
    if (!session->is_authenticated && !is_open_to_all(handler->key)) {
        (void)fl_error(&err, FLUSS_E_AUTHENTICATE_EXCEPTION, FLUSS_KIND_STATE,
                       "%s before the connection is authenticated; is the client's "
                       "'client.security.protocol' set to SASL?",
                       request->api->name);
        fl_request_fail(request, &err);
        return;
    }
    if (check_body(handler->key, body, &err) != 0) {
        fl_error_prefix(&err, "%s: ", request->api->name);
        fl_request_fail(request, &err);
        return;
    }
    request->message = fl_arena_alloc(&request->arena, handler->message_size);
    if (request->message == NULL) {
        (void)fl_error_nomem(&err);
        fl_request_fail(request, &err);
        return;
    }
    if (fl_msg_decode(request->api->request, body, &request->arena, request->message, &err) != 0) {
        fl_error_prefix(&err, "%s request: ", request->api->name);
        err.code = FLUSS_E_SERVER_UNKNOWN;
        fl_request_fail(request, &err);
        return;
    }
    if (session->is_checked && !is_open_to_all(handler->key)) {
        fl_request_walk(request, &session->shard->server->shards[0], check_access);
    } else {
        place(request);
    }
}

static const fl_api unknown_api = {.key = -1, .name = "unknown API"};

static void on_frame(fl_conn *conn, fl_frame *frame, void *context)
{
    fl_session *session = context;
    fl_request *request = fl_calloc(1, sizeof(*request));
    fl_slice body = {0};
    fluss_error_t err;
    if (request == NULL) {
        fl_frame_unref(frame);
        fl_conn_close(conn);
        return;
    }
    request->at = session->shard;
    request->session = session;
    request->frame = frame;
    request->api = &unknown_api;
    DL_PREPEND2(session->requests, request, previous, next);
    session->request_count++;
    session->request_bytes += frame->size;
    fl_arena_init(&request->arena);
    fl_gather_init(&request->out);
    if (fl_request_parse(fl_slice_of(frame->data, frame->size), &request->header, &body, &err) !=
        0) {
        fl_request_fail(request, &err);
        return;
    }
    dispatch(request, body);
    hold_back_or_go_on(session);
}

void fl_session_finish(fl_request *request)
{
    fl_session *session = request->session;
    unlink_request(session, request);
    if (session->conn != NULL) {
        if (request->is_answered) {
            fl_conn_send(session->conn, &request->out);
        } else {
            fl_conn_close(session->conn);
        }
    }
    fl_gather_deinit(&request->out);
    fl_arena_deinit(&request->arena);
    fl_frame_unref(request->frame);
    fl_free(request);
    hold_back_or_go_on(session);
    free_if_over(session);
}

/* A length that no request can have: say so in a frame that needs no request id, then close. */
static void on_bad_length(fl_conn *conn, int32_t length, void *context)
{
    const fl_session *session = context;
    fluss_error_t error, err;
    fl_gather out;
    (void)fl_error(&error, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_CORRUPT,
                   "a request of %d bytes: the header has %d, the largest request "
                   "(netty.server.max-request-size) %zu",
                   (int)length, (int)FL_REQUEST_HEADER_SIZE,
                   session->shard->server->settings.request_size_max);
    fl_gather_init(&out);
    if (fl_error_response_encode(-1, &error, &out, &err) == 0) {
        fl_conn_send(conn, &out);
    }
    fl_gather_deinit(&out);
    fl_conn_close_after_output(conn);
}

/* ---- opening ---- */

static const fl_conn_events conn_events = {.on_frame = on_frame,
                                           .on_bad_length = on_bad_length,
                                           .on_drained = on_drained,
                                           .on_closed = on_closed};

/* "host:port" or "unix:PATH" into what metadata says. */
static void set_address(fl_session *session, const char *address)
{
    fluss_error_t err;
    uint16_t port = 0;
    if (strncmp(address, "unix:", 5) == 0 ||
        fl_address_parse(address, session->host, sizeof(session->host), &port, &err) != 0) {
        (void)snprintf(session->host, sizeof(session->host), "%s", address);
    }
    session->port = port;
}

static bool print_address(const struct sockaddr_storage *address, char *out, size_t size)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        return inet_ntop(AF_INET, &v4->sin_addr, out, (socklen_t)size) != NULL;
    }
    if (address->ss_family != AF_INET6) {
        return false;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    return IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)
               ? inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], out, (socklen_t)size) != NULL
               : inet_ntop(AF_INET6, &v6->sin6_addr, out, (socklen_t)size) != NULL;
}

/* Who comes by a Unix socket is on this machine. */
static void find_peer(fl_session *session, int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof(peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 ||
        !print_address(&peer, session->peer, sizeof(session->peer))) {
        (void)snprintf(session->peer, sizeof(session->peer), "127.0.0.1");
    }
}

/* The address the client came to is the one it can reach, also when the listener is bound to all
 * addresses; only what is configured as advertised beats it. */
static void find_address(fl_session *session, int fd)
{
    const fl_endpoint *endpoint = session->endpoint;
    struct sockaddr_storage local = {0};
    socklen_t size = sizeof(local);
    if (endpoint->advertised != NULL) {
        set_address(session, endpoint->advertised);
        return;
    }
    set_address(session, endpoint->bound);
    if (getsockname(fd, (struct sockaddr *)&local, &size) != 0) {
        return;
    }
    (void)print_address(&local, session->host, sizeof(session->host));
}

void fl_session_open(fl_shard *shard, const fl_endpoint *endpoint, int fd)
{
    fl_server *server = shard->server;
    const fl_settings *settings = &server->settings;
    fluss_error_t err;
    fl_session *session = fl_calloc(1, sizeof(*session));
    if (session == NULL) {
        (void)close(fd);
        atomic_fetch_sub(&server->connection_count, 1);
        fl_server_release(server);
        return;
    }
    session->shard = shard;
    session->endpoint = endpoint;
    session->is_authenticated = !endpoint->needs_sasl;
    find_address(session, fd);
    find_peer(session, fd);
    (void)snprintf(session->user, sizeof(session->user), "ANONYMOUS");
    fl_access_begin(session);
    DL_PREPEND2(shard->sessions, session, previous, next);
    const fl_conn_opts opts = {.frame_size_min = FL_REQUEST_HEADER_SIZE,
                               .frame_size_max = settings->request_size_max - 4,
                               .idle_timeout_ms = settings->idle_timeout,
                               .output_bytes_high = settings->connection_output_max,
                               .output_bytes_low = settings->connection_output_max / 2};
    if (fl_conn_accept(shard->loop, fd, &opts, &conn_events, session, &session->conn, &err) != 0) {
        fl_log(FL_LOG_WARNING, "server", "%s", err.message);
        session->conn = NULL;
        free_if_over(session);
    }
}
