/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: encode, queue at the address's node, fail at the deadline or when the connection is gone.
 *
 * A call's bytes are made at once; the API version, known only after the handshake, is patched in
 * when it is sent. `done` never runs inside fl_rpc_call: failures are reported by a task. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/rpc_private.h"

enum { VERSION_POSITION = 4 + 2 }; /* in a request: after length and key */

/* ---- lists ---- */

void fl_call_list_init(fl_call_list *list)
{
    list->first = NULL;
    list->last = &list->first;
}

static void append(fl_call_list *list, fl_call *call)
{
    call->next = NULL;
    *list->last = call;
    list->last = &call->next;
}

bool fl_call_list_remove(fl_call_list *list, fl_call *call)
{
    for (fl_call **at = &list->first; *at != NULL; at = &(*at)->next) {
        if (*at == call) {
            *at = call->next;
            if (list->last == &call->next) {
                list->last = at;
            }
            call->next = NULL;
            return true;
        }
    }
    return false;
}

fl_call *fl_call_list_find(const fl_call_list *list, int32_t request_id)
{
    fl_call *call = list->first;
    while (call != NULL && call->request_id != request_id) {
        call = call->next;
    }
    return call;
}

/* ---- calls ---- */

void fl_call_free(fl_call *call)
{
    fl_gather_deinit(&call->out);
    fl_free(call->failure);
    fl_free(call);
}

static void run_report(fl_task *task)
{
    fl_rpc *rpc = FL_CONTAINER_OF(task, fl_rpc, report);
    rpc->is_report_posted = false;
    fl_call_list failed = rpc->failed;
    if (failed.first == NULL) {
        return;
    }
    fl_call_list_init(&rpc->failed);
    for (fl_call *call = failed.first; call != NULL;) {
        fl_call *next = call->next;
        fluss_error_t nomem;
        (void)fl_error_nomem(&nomem);
        atomic_fetch_add_explicit(&rpc->failures, 1, memory_order_relaxed);
        call->done(call->context, NULL, call->failure != NULL ? call->failure : &nomem,
                   call->was_sent);
        fl_call_free(call);
        call = next;
    }
}

void fl_call_fail_later(fl_call *call, const fluss_error_t *err)
{
    fl_rpc *rpc = call->node->rpc;
    call->failure = fl_alloc(sizeof(*call->failure));
    if (call->failure != NULL) {
        *call->failure = *err;
    }
    append(&rpc->failed, call);
    if (!rpc->is_report_posted) {
        rpc->is_report_posted = true;
        fl_loop_post(rpc->loop, &rpc->report);
    }
}

static fl_node *find_node(const fl_rpc *rpc, const char *address)
{
    fl_node *node = rpc->nodes;
    while (node != NULL && strcmp(node->address, address) != 0) {
        node = node->next;
    }
    return node;
}

static fluss_code_t make_node(fl_rpc *rpc, const char *address, fl_node **out, fluss_error_t *err)
{
    if (strlen(address) >= FL_ADDRESS_SIZE_MAX) {
        return fl_error_argument(err, "the address '%.100s…' is longer than %d bytes", address,
                                 FL_ADDRESS_SIZE_MAX - 1);
    }
    fl_node *node = fl_calloc(1, sizeof(*node));
    if (node == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(node->address, address, strlen(address) + 1);
    node->rpc = rpc;
    const fluss_code_t rc = fl_node_init_timer(node, err);
    if (rc != 0) {
        fl_free(node);
        return rc;
    }
    fl_call_list_init(&node->waiting);
    fl_call_list_init(&node->in_flight);
    memset(node->version_max, 0xFF, sizeof(node->version_max));
    node->next = rpc->nodes;
    rpc->nodes = node;
    *out = node;
    return 0;
}

/* ---- deadlines ---- */

static void watch_deadline(fl_rpc *rpc, int64_t deadline_ms)
{
    if (rpc->limit != NULL && (!fl_timer_is_set(rpc->limit) || deadline_ms < rpc->limit_ms)) {
        rpc->limit_ms = deadline_ms;
        fl_timer_start(rpc->limit, deadline_ms - fl_clock_ms());
    }
}

static void timeout_error(const fl_call *call, fluss_error_t *err)
{
    const fl_node *node = call->node;
    const char *name = fl_api_find((int16_t)call->key)->name;
    if (call->was_sent) {
        (void)fl_error(err, FLUSS_E_REQUEST_TIME_OUT, FLUSS_KIND_TIMEOUT,
                       "%s did not answer %s in time", node->address, name);
    } else {
        (void)fl_error(err, FLUSS_E_REQUEST_TIME_OUT, FLUSS_KIND_TIMEOUT,
                       "%s was not sent in time%s%.600s", name,
                       node->why.code != 0 ? ": " : "; no connection to ",
                       node->why.code != 0 ? node->why.message : node->address);
    }
}

/* A request that was not answered in time. When others, sent later, were answered, the server is
 * alive and has lost this one; else the connection is dead. */
static void call_is_late(fl_node *node, fl_call *call)
{
    fluss_error_t err;
    timeout_error(call, &err);
    if (node->heard_ms > call->sent_ms && node->late_count < FL_LATE_COUNT_MAX) {
        (void)fl_call_list_remove(&node->in_flight, call);
        atomic_fetch_sub_explicit(&node->rpc->in_flight, 1, memory_order_relaxed);
        node->late_ids[node->late_count++] = call->request_id;
        fl_call_fail_later(call, &err);
    } else {
        fl_node_fail(node, &err);
    }
}

/* Fail what waits too long. */
static int64_t check_node(fl_node *node, int64_t now)
{
    int64_t nearest = INT64_MAX;
    for (fl_call *call = node->waiting.first; call != NULL;) {
        fl_call *next = call->next;
        if (call->deadline_ms <= now) {
            fluss_error_t err;
            timeout_error(call, &err);
            (void)fl_call_list_remove(&node->waiting, call);
            fl_call_fail_later(call, &err);
            if (node->state == FL_NODE_HANDSHAKE) {
                fl_node_fail(node, &err);
            }
        } else if (call->deadline_ms < nearest) {
            nearest = call->deadline_ms;
        }
        call = next;
    }
    for (fl_call *call = node->in_flight.first; call != NULL;) {
        fl_call *next = call->next;
        if (call->deadline_ms <= now && node->state != FL_NODE_CLOSING) {
            call_is_late(node, call);
        } else if (call->deadline_ms > now && call->deadline_ms < nearest) {
            nearest = call->deadline_ms;
        }
        call = next;
    }
    return nearest;
}

static void on_limit(void *context)
{
    fl_rpc *rpc = context;
    const int64_t now = fl_clock_ms();
    int64_t nearest = INT64_MAX;
    for (fl_node *node = rpc->nodes; node != NULL; node = node->next) {
        const int64_t deadline = check_node(node, now);
        nearest = deadline < nearest ? deadline : nearest;
    }
    if (nearest != INT64_MAX) {
        watch_deadline(rpc, nearest);
    }
}

/* ---- public ---- */

fl_rpc *fl_rpc_new(fl_loop *loop, const fluss_config_t *config)
{
    fl_rpc *rpc = fl_calloc(1, sizeof(*rpc));
    if (rpc != NULL) {
        rpc->loop = loop;
        rpc->config = config;
        rpc->report.run = run_report;
        fl_call_list_init(&rpc->failed);
    }
    return rpc;
}

static fluss_code_t encode_call(fl_call *call, const fl_call_spec *spec, fluss_error_t *err)
{
    const fl_api *api = fl_api_find((int16_t)spec->key);
    call->request_id = call->node->request_id_next;
    const fl_request_header header = {.api_key = api->key, .request_id = call->request_id};
    FL_TRY(fl_request_encode(header, api->request, spec->message, &call->out, err));
    for (size_t i = 0; i < spec->frame_count; i++) {
        fl_frame *frame = fl_frame_ref(spec->frames[i]);
        const fluss_code_t rc = fl_gather_own(&call->out, frame, err);
        if (rc != 0) {
            fl_frame_unref(frame);
            return rc;
        }
    }
    return 0;
}

fluss_code_t fl_rpc_call(fl_rpc *rpc, const fl_call_spec *spec, fluss_error_t *err)
{
    if (rpc->is_closed) {
        if (err != NULL) {
            *err = rpc->closed_why;
        }
        return rpc->closed_why.code;
    }
    if (rpc->limit == NULL) {
        FL_TRY(fl_timer_new(rpc->loop, on_limit, rpc, &rpc->limit, err));
    }
    fl_node *node = find_node(rpc, spec->address);
    if (node == NULL) {
        FL_TRY(make_node(rpc, spec->address, &node, err));
    }
    fl_call *call = fl_calloc(1, sizeof(*call));
    if (call == NULL) {
        return fl_error_nomem(err);
    }
    *call = (fl_call){.node = node, .key = spec->key, .done = spec->done, .context = spec->context};
    fl_gather_init(&call->out);
    const fluss_code_t rc = encode_call(call, spec, err);
    if (rc != 0) {
        fl_call_free(call);
        return rc;
    }
    node->request_id_next = (node->request_id_next + 1) & INT32_MAX;
    call->deadline_ms = fl_clock_ms() + spec->timeout_ms;
    append(&node->waiting, call);
    watch_deadline(rpc, call->deadline_ms);
    if (node->state == FL_NODE_READY) {
        fl_node_send_waiting(node);
    } else {
        fl_node_connect(node);
    }
    return 0;
}

void fl_node_send_waiting(fl_node *node)
{
    fl_rpc *rpc = node->rpc;
    for (fl_call *call = node->waiting.first; call != NULL;) {
        fl_call *next = call->next;
        (void)fl_call_list_remove(&node->waiting, call);
        const fl_api *api = fl_api_find((int16_t)call->key);
        const int index = (int)call->key - FL_API_KEY_MIN;
        const int16_t theirs = node->version_max[index];
        const int16_t version = theirs < api->version_max ? theirs : api->version_max;
        if (version < 0 || version < node->version_min[index] || version < api->version_min) {
            fluss_error_t err;
            (void)fl_error(&err, FLUSS_E_UNSUPPORTED_VERSION, FLUSS_KIND_UNSUPPORTED,
                           "the server at %s does not offer %s in a version this client speaks",
                           node->address, api->name);
            fl_call_fail_later(call, &err);
        } else {
            uint8_t bytes[2];
            fl_store_be16(bytes, (uint16_t)version);
            fl_gather_patch(&call->out, VERSION_POSITION, bytes, sizeof(bytes));
            call->was_sent = true;
            call->sent_ms = fl_clock_ms();
            atomic_fetch_add_explicit(&rpc->requests, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&rpc->in_flight, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&rpc->bytes_sent, (long long)call->out.size,
                                      memory_order_relaxed);
            append(&node->in_flight, call);
            fl_conn_send(node->conn, &call->out);
        }
        call = next;
    }
}

void fl_rpc_close(fl_rpc *rpc, const fluss_error_t *why)
{
    if (rpc->is_closed) {
        return;
    }
    rpc->is_closed = true;
    rpc->closed_why = *why;
    fl_timer_free(rpc->limit);
    rpc->limit = NULL;
    for (fl_node *node = rpc->nodes; node != NULL; node = node->next) {
        fl_node_fail(node, why);
        fl_timer_free(node->timer);
        node->timer = NULL;
        for (fl_call *call = node->waiting.first; call != NULL;) {
            fl_call *next = call->next;
            fl_call_fail_later(call, why);
            call = next;
        }
        fl_call_list_init(&node->waiting);
    }
}

void fl_rpc_free(fl_rpc *rpc)
{
    if (rpc == NULL) {
        return;
    }
    if (rpc->failed.first != NULL) {
        run_report(&rpc->report);
    }
    while (rpc->nodes != NULL) {
        fl_node *node = rpc->nodes;
        rpc->nodes = node->next;
        FL_ASSERT(node->conn == NULL);
        fl_free(node);
    }
    fl_free(rpc);
}

fl_rpc_counts fl_rpc_counts_read(const fl_rpc *rpc)
{
    return (fl_rpc_counts){
        .requests = atomic_load_explicit(&rpc->requests, memory_order_relaxed),
        .responses = atomic_load_explicit(&rpc->responses, memory_order_relaxed),
        .failures = atomic_load_explicit(&rpc->failures, memory_order_relaxed),
        .connects = atomic_load_explicit(&rpc->connects, memory_order_relaxed),
        .bytes_sent = atomic_load_explicit(&rpc->bytes_sent, memory_order_relaxed),
        .bytes_received = atomic_load_explicit(&rpc->bytes_received, memory_order_relaxed),
        .in_flight = atomic_load_explicit(&rpc->in_flight, memory_order_relaxed),
    };
}
