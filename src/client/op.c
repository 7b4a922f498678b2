/* SPDX-License-Identifier: Apache-2.0 */
/* Building, sending, repeating and finishing of remote calls. */
#include "client/op.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/metadata.h"

enum { RETRY_MS_MIN = 10, RETRY_MS_MAX = 500 };

/* ---- building ---- */

fl_op *fl_op_new(fl_client *client, const fl_op_kind *kind)
{
    fl_op *op = fl_calloc(1, sizeof(*op));
    if (op == NULL) {
        return NULL;
    }
    fl_arena_init(&op->arena);
    op->kind = kind;
    op->future = fl_future_new();
    if (client == NULL) {
        (void)fl_error_argument(&op->err, "the handle must not be NULL");
    } else {
        op->client = fl_client_ref(client);
        if (fl_client_check(client, &op->err) == 0) {
            op->err = (fluss_error_t){0};
        }
    }
    if (fl_future_is_abandoned(op->future)) {
        (void)fl_error_nomem(&op->err); /* nobody would learn how it ends */
    }
    op->request = fl_op_array(op, 1, kind->request_size + 1);
    return op;
}

void fl_op_reject(fl_op *op, const fluss_error_t *err)
{
    if (op != NULL && op->err.code == 0) {
        op->err = *err;
    }
}

void *fl_op_array(fl_op *op, size_t count, size_t size)
{
    if (op == NULL) {
        return NULL;
    }
    void *array = fl_arena_array(&op->arena, count, size);
    if (array == NULL && op->err.code == 0) {
        (void)fl_error_nomem(&op->err);
    }
    return array;
}

fl_slice fl_op_text_or_none(fl_op *op, const char *text, bool *has)
{
    *has = text != NULL;
    if (op == NULL || text == NULL) {
        return (fl_slice){0};
    }
    const char *copy = fl_arena_strdup(&op->arena, text);
    if (copy == NULL) {
        if (op->err.code == 0) {
            (void)fl_error_nomem(&op->err);
        }
        return (fl_slice){0};
    }
    return fl_slice_str(copy);
}

fl_slice fl_op_text(fl_op *op, const char *text, const char *what)
{
    bool has;
    const fl_slice copy = fl_op_text_or_none(op, text, &has);
    if (!has && op != NULL && op->err.code == 0) {
        (void)fl_error_argument(&op->err, "%s must not be NULL", what);
    }
    return copy;
}

fl_msg_pb_table_path fl_op_path(fl_op *op, fluss_path_t path)
{
    return (fl_msg_pb_table_path){
        .database_name = fl_op_text(op, path.database, "the database name"),
        .table_name = fl_op_text(op, path.table, "the table name"),
    };
}

fl_msg_pb_key_value *fl_op_pairs(fl_op *op, const fluss_kv_t *pairs, size_t n, const char *what)
{
    if (n > 0 && pairs == NULL) {
        fluss_error_t err;
        (void)fl_error_argument(&err, "%s must not be NULL", what);
        fl_op_reject(op, &err);
        return NULL;
    }
    fl_msg_pb_key_value *copies = fl_op_array(op, n, sizeof(*copies));
    for (size_t i = 0; copies != NULL && i < n; i++) {
        copies[i].key = fl_op_text(op, pairs[i].key, what);
        copies[i].value = fl_op_text(op, pairs[i].value, what);
    }
    return copies;
}

static void free_op(fl_op *op)
{
    fl_timer_free(op->timer);
    fl_arena_deinit(&op->arena);
    fl_client *client = op->client;
    fl_free(op);
    fl_client_unref(client);
}

static void send_request(fl_op *op);

static void run_start(fl_task *task)
{
    fl_op *op = FL_CONTAINER_OF(task, fl_op, task);
    const int64_t limit_ms = op->client->config->request_timeout_ms.number;
    op->deadline_ms =
        fl_clock_ms() + (op->limit_ms > 0 && op->limit_ms < limit_ms ? op->limit_ms : limit_ms);
    if (op->kind->start != NULL) {
        op->kind->start(op);
    } else {
        send_request(op);
    }
}

fluss_future_t *fl_op_submit(fl_op *op)
{
    if (op == NULL) {
        fluss_error_t err;
        (void)fl_error_nomem(&err);
        return fl_future_failed(&err);
    }
    fluss_future_t *future = op->future;
    if (op->err.code != 0) {
        fl_future_fail(future, &op->err);
        free_op(op);
        return future;
    }
    op->task.run = run_start;
    fl_loop_post(op->client->loop, &op->task);
    return future;
}

/* ---- ending ---- */

void fl_op_complete(fl_op *op, fl_value value)
{
    fl_future_complete_or_free(op->future, value);
    free_op(op);
}

void fl_op_fail(fl_op *op, const fluss_error_t *err)
{
    const bool was_short = fl_clock_ms() - op->attempt_ms < RETRY_MS_MAX;
    const bool has_cause = op->cause.code != 0 && err->kind == FLUSS_KIND_TIMEOUT;
    fl_future_fail(op->future, was_short && has_cause ? &op->cause : err);
    free_op(op);
}

void fl_op_complete_rows(fl_op *op, const void *message)
{
    fluss_error_t err;
    fluss_result_t *result = fl_result_new(op->kind->columns, op->kind->column_count);
    const fluss_code_t rc =
        result != NULL ? op->kind->rows(message, result, &err) : fl_error_nomem(&err);
    if (rc != 0) {
        fluss_result_free(result);
        fl_op_fail(op, &err);
        return;
    }
    fl_op_complete(op, (fl_value){.kind = FL_VALUE_RESULT, .v.object = result});
}

/* ---- sending ---- */

int64_t fl_op_time_left(const fl_op *op)
{
    const int64_t left = op->deadline_ms - fl_clock_ms();
    return left > 0 ? left : 1;
}

fluss_code_t fl_op_call(fl_op *op, const char *address, fl_api_key key, const void *request,
                        fl_call_done done, fluss_error_t *err)
{
    const fl_call_spec spec = {
        .address = address,
        .key = key,
        .message = request,
        .timeout_ms = fl_op_time_left(op),
        .done = done,
        .context = op,
    };
    return fl_rpc_call(op->client->rpc, &spec, err);
}

fluss_code_t fl_op_call_coordinator(fl_op *op, fl_api_key key, const void *request,
                                    fl_call_done done, fluss_error_t *err)
{
    const char *address;
    FL_TRY(fl_metadata_coordinator(op->client->metadata, &address, err));
    return fl_op_call(op, address, key, request, done, err);
}

bool fl_op_may_retry(const fl_op *op, const fluss_error_t *err)
{
    return (err->retriable != 0 || err->code == FLUSS_E_NOT_COORDINATOR_LEADER) &&
           fl_clock_ms() < op->deadline_ms && !fl_future_is_abandoned(op->future);
}

static void on_timer(void *context)
{
    fl_op *op = context;
    op->attempt_ms = fl_clock_ms();
    op->then(op);
}

void fl_op_retry(fl_op *op, const fluss_error_t *err, void (*then)(fl_op *op))
{
    fluss_error_t failure;
    if (op->timer == NULL &&
        fl_timer_new(op->client->loop, on_timer, op, &op->timer, &failure) != 0) {
        fl_op_fail(op, &failure);
        return;
    }
    if (err->kind != FLUSS_KIND_TIMEOUT) {
        op->cause = *err;
    }
    const int64_t delay_ms = fl_backoff_ms(op->attempt, RETRY_MS_MIN, RETRY_MS_MAX);
    op->attempt++;
    op->then = then;
    fl_timer_start(op->timer, fl_jitter_ms(delay_ms));
}

void fl_op_retry_or_fail(fl_op *op, const fluss_error_t *err, void (*then)(fl_op *op))
{
    if (fl_op_may_retry(op, err)) {
        fl_op_retry(op, err, then);
    } else {
        fl_op_fail(op, err);
    }
}

static void on_servers(void *context, const fluss_error_t *failure)
{
    fl_op *op = context;
    fluss_error_t none;
    const char *coordinator;
    if (failure == NULL &&
        fl_metadata_coordinator(op->client->metadata, &coordinator, &none) == 0) {
        op->then(op);
    } else {
        fl_op_retry_or_fail(op, failure != NULL ? failure : &none, op->then);
    }
}

void fl_op_learn_servers(fl_op *op, void (*then)(fl_op *op))
{
    fluss_error_t err;
    const fl_metadata_want want = {.partition_id = FL_NO_PARTITION};
    op->then = then;
    if (fl_metadata_refresh(op->client->metadata, want, on_servers, op, &err) != 0) {
        fl_op_fail(op, &err);
    }
}

static void refresh_and_send(fl_op *op)
{
    fl_op_learn_servers(op, send_request);
}

static void finish(fl_op *op, const fl_reply *reply)
{
    const fl_op_kind *kind = op->kind;
    fl_value value = {.kind = FL_VALUE_VOID};
    fluss_error_t err;
    if (kind->rows != NULL) {
        fl_op_complete_rows(op, reply->message);
    } else if (kind->finish != NULL && kind->finish(op, reply, &value, &err) != 0) {
        fl_op_fail(op, &err);
    } else if (kind->after != NULL) {
        kind->after(op, value);
    } else {
        fl_op_complete(op, value);
    }
}

static void on_reply(void *context, const fl_reply *reply, const fluss_error_t *failure,
                     bool was_sent)
{
    fl_op *op = context;
    if (reply != NULL) {
        finish(op, reply);
        return;
    }
    const bool is_answer = failure->kind == FLUSS_KIND_SERVER;
    const bool is_safe = op->kind->is_read || !was_sent || is_answer;
    if (!is_safe || failure->code == op->kind->final_code || !fl_op_may_retry(op, failure)) {
        fl_op_fail(op, failure);
        return;
    }
    fl_log(FL_LOG_DEBUG, "admin", "a call is repeated: %.800s", failure->message);
    const bool is_elsewhere = failure->code == FLUSS_E_NOT_COORDINATOR_LEADER || !is_answer;
    fl_op_retry(op, failure, is_elsewhere ? refresh_and_send : send_request);
}

/* Send the op's own request as its kind says. */
static void send_request(fl_op *op)
{
    fl_metadata *metadata = op->client->metadata;
    const char *address = NULL;
    if (op->kind->target != FL_TARGET_COORDINATOR) {
        address = fl_metadata_any_server(metadata);
    } else if (fl_metadata_coordinator(metadata, &address, NULL) != 0) {
        address = NULL;
    }
    if (address == NULL) {
        refresh_and_send(op);
        return;
    }
    fluss_error_t err;
    if (fl_op_call(op, address, op->kind->key, op->request, on_reply, &err) != 0) {
        fl_op_fail(op, &err);
    }
}
