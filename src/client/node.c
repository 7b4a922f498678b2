/* SPDX-License-Identifier: Apache-2.0 */
/* One server address: its connection's life, and the responses that come in.
 *
 * A connection is made when a call needs one. When it fails, what was in flight fails with
 * NETWORK_EXCEPTION; what still waits fails too if the address could not be reached at all, so that
 * the caller can choose another server. The next call connects again, after a back-off that grows
 * with the failures in a row. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/rpc_private.h"

static void on_timer(void *context)
{
    fl_node *node = context;
    if (node->state == FL_NODE_BACKOFF) {
        node->state = FL_NODE_IDLE;
        if (node->waiting.first != NULL) {
            fl_node_connect(node);
        }
    } else if (node->state == FL_NODE_HANDSHAKE && node->refused_count > 0) {
        fl_handshake_again(node);
    } else if (node->state == FL_NODE_HANDSHAKE) {
        fluss_error_t err;
        (void)fl_error(&err, FLUSS_E_REQUEST_TIME_OUT, FLUSS_KIND_TIMEOUT,
                       "%s accepts connections but does not answer: no handshake within %lld ms",
                       node->address, (long long)node->rpc->config->connect_timeout_ms.number);
        fl_node_fail(node, &err);
    }
}

fluss_code_t fl_node_init_timer(fl_node *node, fluss_error_t *err)
{
    return fl_timer_new(node->rpc->loop, on_timer, node, &node->timer, err);
}

/* The delay, a fifth more or less. */
static int64_t backoff_ms(int failed_count, int64_t most_ms)
{
    const int64_t delay_ms = fl_backoff_ms(failed_count - 1, FL_BACKOFF_MS_MIN, most_ms);
    return delay_ms - delay_ms / 5 + (int64_t)(fl_random() % (uint64_t)(2 * delay_ms / 5 + 1));
}

static void fail_calls(fl_call_list *list, const fluss_error_t *why)
{
    fl_call *call = list->first;
    fl_call_list_init(list);
    while (call != NULL) {
        fl_call *next = call->next;
        fl_call_fail_later(call, why);
        call = next;
    }
}

static void start_backoff(fl_node *node)
{
    node->failed_count++;
    node->state = FL_NODE_IDLE;
    if (node->rpc->is_closed) {
        return;
    }
    fl_timer_start(node->timer, backoff_ms(node->failed_count, FL_BACKOFF_MS_MAX));
    node->state = FL_NODE_BACKOFF;
}

void fl_node_authenticate_later(fl_node *node)
{
    node->refused_count++;
    fl_timer_start(node->timer, backoff_ms(node->refused_count, FL_AUTHENTICATE_MS_MAX));
}

void fl_node_fail(fl_node *node, const fluss_error_t *why)
{
    if (node->conn != NULL && node->state != FL_NODE_CLOSING) {
        node->why = *why;
        node->state = FL_NODE_CLOSING;
        fl_conn_close(node->conn);
    }
}

/* ---- events of the connection ---- */

static void on_open(fl_conn *conn, void *context)
{
    (void)conn;
    fl_node *node = context;
    if (node->state == FL_NODE_CONNECTING) {
        node->state = FL_NODE_HANDSHAKE;
        node->refused_count = 0;
        node->late_count = 0;
        fl_timer_start(node->timer, node->rpc->config->connect_timeout_ms.number);
        fl_handshake_start(node);
    }
}

/* @return whether the session is over: the server wants the client to authenticate again. The call
 * that learns it can be repeated, once: a new session may not help. */
static bool deliver(fl_node *node, fl_call *call, fl_response_type type, fl_slice body,
                    fl_frame *frame)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_error_t err;
    bool is_signed_out = false;
    const fl_api *api = fl_api_find((int16_t)call->key);
    if (type == FL_RESPONSE_SUCCESS) {
        void *message = fl_arena_alloc(&arena, fl_msg_struct_size(api->response));
        fluss_code_t rc = message == NULL
                              ? fl_error_nomem(&err)
                              : fl_msg_decode(api->response, body, &arena, message, &err);
        if (rc == 0) {
            const fl_reply reply = {.message = message, .frame = frame};
            call->done(call->context, &reply, NULL, true);
        } else {
            fl_error_prefix(&err, "answer of %s to %s: ", node->address, api->name);
            call->done(call->context, NULL, &err, true);
        }
    } else {
        fl_error_response_decode(body, &err);
        is_signed_out = err.code == FLUSS_E_AUTHENTICATE_EXCEPTION &&
                        node->rpc->config->security_protocol.number == FL_SECURITY_SASL;
        err.retriable |= is_signed_out && node->signed_out_count == 0;
        call->done(call->context, NULL, &err, true);
    }
    node->signed_out_count = is_signed_out ? node->signed_out_count + 1 : 0;
    fl_arena_deinit(&arena);
    return is_signed_out;
}

/* Whether the request was failed for its time; its answer, which comes late, is thrown away. */
static bool was_given_up(fl_node *node, int32_t request_id)
{
    for (size_t i = 0; i < node->late_count; i++) {
        if (node->late_ids[i] == request_id) {
            node->late_ids[i] = node->late_ids[--node->late_count];
            return true;
        }
    }
    return false;
}

static void handle_frame(fl_node *node, fl_frame *frame)
{
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    fluss_error_t err;
    const fl_slice bytes = fl_slice_of(frame->data, frame->size);
    if (node->state == FL_NODE_HANDSHAKE) {
        fl_handshake_response(node, bytes);
        return;
    }
    if (node->state != FL_NODE_READY) {
        return;
    }
    if (fl_response_parse(bytes, &type, &request_id, &body, &err) != 0) {
        fl_error_prefix(&err, "%s: ", node->address);
        fl_node_fail(node, &err);
        return;
    }
    if (type == FL_RESPONSE_FAILURE) {
        fl_error_response_decode(body, &err);
        fl_error_prefix(&err, "%s ends the connection: ", node->address);
        fl_node_fail(node, &err);
        return;
    }
    fl_call *call = fl_call_list_find(&node->in_flight, request_id);
    if (call == NULL && was_given_up(node, request_id)) {
        return;
    }
    if (call == NULL) {
        (void)fl_error_corrupt(&err, "%s answers request %d, which was not asked", node->address,
                               request_id);
        fl_node_fail(node, &err);
        return;
    }
    (void)fl_call_list_remove(&node->in_flight, call);
    fl_rpc *rpc = node->rpc;
    atomic_fetch_add_explicit(&rpc->responses, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&rpc->in_flight, 1, memory_order_relaxed);
    const bool is_signed_out = deliver(node, call, type, body, frame);
    fl_call_free(call);
    if (is_signed_out) {
        (void)fl_error(&err, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK,
                       "%s does not take the connection for authenticated any more", node->address);
        fl_node_fail(node, &err);
    }
}

static void on_frame(fl_conn *conn, fl_frame *frame, void *context)
{
    (void)conn;
    fl_node *node = context;
    node->heard_ms = fl_clock_ms();
    atomic_fetch_add_explicit(&node->rpc->bytes_received, (long long)frame->size + 4,
                              memory_order_relaxed);
    handle_frame(node, frame);
    fl_frame_unref(frame);
}

static void on_closed(fl_conn *conn, const fluss_error_t *why, void *context)
{
    (void)conn;
    fl_node *node = context;
    const bool never_opened = node->state == FL_NODE_CONNECTING || node->state == FL_NODE_HANDSHAKE;
    fluss_error_t reason;
    if (node->why.code != 0) {
        reason = node->why;
    } else if (why->code != 0) {
        reason = *why;
    } else {
        (void)fl_error(&reason, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK,
                       "%s closed the connection", node->address);
    }
    if (reason.kind == FLUSS_KIND_CORRUPT) { /* of a frame; the calls only lose their connection */
        reason.code = FLUSS_E_NETWORK_EXCEPTION;
        reason.kind = FLUSS_KIND_NETWORK;
        reason.retriable = 1;
    }
    node->why = reason;
    node->conn = NULL;
    long long lost = 0;
    for (const fl_call *call = node->in_flight.first; call != NULL; call = call->next) {
        lost++;
    }
    atomic_fetch_sub_explicit(&node->rpc->in_flight, lost, memory_order_relaxed);
    fail_calls(&node->in_flight, &reason);
    fl_log(FL_LOG_INFO, "rpc", "%s: %.800s", node->address, reason.message);
    if (never_opened || node->state == FL_NODE_CLOSING) {
        fail_calls(&node->waiting, &reason);
        start_backoff(node);
    } else {
        node->state = FL_NODE_IDLE;
        if (node->waiting.first != NULL) {
            fl_node_connect(node);
        }
    }
}

static const fl_conn_events events = {
    .on_open = on_open,
    .on_frame = on_frame,
    .on_closed = on_closed,
};

void fl_node_connect(fl_node *node)
{
    if (node->state != FL_NODE_IDLE || node->rpc->is_closed) {
        return;
    }
    const fluss_config_t *config = node->rpc->config;
    const fl_conn_opts opts = {
        .frame_size_min = 1,
        .frame_size_max = FL_FRAME_SIZE_MAX,
        .connect_timeout_ms = config->connect_timeout_ms.number,
    };
    fluss_error_t err;
    node->why = (fluss_error_t){0};
    atomic_fetch_add_explicit(&node->rpc->connects, 1, memory_order_relaxed);
    if (fl_conn_connect(node->rpc->loop, node->address, &opts, &events, node, &node->conn, &err) !=
        0) {
        node->conn = NULL;
        fail_calls(&node->waiting, &err);
        return;
    }
    node->state = FL_NODE_CONNECTING;
}
