/* SPDX-License-Identifier: Apache-2.0 */
/* FETCH_LOG. The request walks over the shards of its buckets up to three times:
 *
 *   read     every bucket, within what is left of max_bytes. Enough, or an error: the answer.
 *   arm      hang a wait into each tablet that has nothing new; then wait at home
 *   re-read  after a wait fired, the time is over or the connection is gone: take the waits back
 *            and read again. Still not enough and time left: arm again.
 *
 * A wait that fired sends its task home. A request ends, or arms again, only when all of these have
 * arrived, for they lie in its memory. */
#include "protocol/messages.h"
#include "server/fetch_read.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"
#include "server/session.h"
#include "server/visit.h"

enum { WAIT_DEFAULT_MS = 100 };

typedef struct fetch_bucket {
    const fl_msg_pb_fetch_log_req_for_table *table;
    const fl_msg_pb_fetch_log_req_for_bucket *asked;
    fl_msg_pb_fetch_log_resp_for_bucket *answer;
    int64_t end_seen; /* log end when it was read; -1: not read */
    fl_fetch_wait wait;
} fetch_bucket;

typedef struct fetch_state {
    fl_visit visit;
    fetch_bucket *buckets;
    fl_msg_fetch_log_response response;
    int64_t deadline_ms; /* of the clock */
    size_t min_bytes;
    /* of the walk */
    size_t bytes, bytes_max;
    bool has_error, is_news;
    bool has_progress; /* batches were left out: the client need not look at them again */
    size_t fired;      /* waits whose tasks went home */
    /* at home */
    size_t arrived;
    bool is_waiting, is_settling; /* settling: until all that fired has arrived */
    fl_timer *timer;
} fetch_state;

static void start_reread(fl_request *req);
static void read_done(fl_request *req);

/* ---- read ---- */

static void read_bucket(fl_request *req, fetch_bucket *bucket, fl_tablet *tablet,
                        const fl_tablet_key *key)
{
    fetch_state *state = req->state;
    fl_msg_pb_fetch_log_resp_for_bucket *answer = bucket->answer;
    fluss_error_t err;
    *answer =
        (fl_msg_pb_fetch_log_resp_for_bucket){.has_partition_id = bucket->asked->has_partition_id,
                                              .partition_id = bucket->asked->partition_id,
                                              .bucket_id = bucket->asked->bucket_id};
    const size_t left = state->bytes < state->bytes_max ? state->bytes_max - state->bytes : 0;
    const fl_fetch_read what = {.table = bucket->table,
                                .bucket = bucket->asked,
                                .size_max = left,
                                .is_first = state->bytes == 0};
    const fluss_code_t rc = tablet == NULL ? fl_visit_unknown(req, key, &err)
                                           : fl_fetch_read_bucket(req, tablet, &what, answer, &err);
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
    state->has_error |= rc != 0;
    state->has_progress |= answer->has_filtered_end_offset;
    state->bytes += answer->records.size;
    bucket->end_seen = rc == 0 ? answer->high_watermark : -1;
}

static void read_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    fetch_state *state = req->state;
    read_bucket(req, &state->buckets[index], tablet, &state->visit.keys[index]);
}

static void reread_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    fetch_state *state = req->state;
    fetch_bucket *bucket = &state->buckets[index];
    if (bucket->wait.state == FL_WAIT_ARMED) {
        fl_tablet_disarm(tablet, &bucket->wait);
    } else if (bucket->wait.state == FL_WAIT_FIRED) {
        bucket->wait.state = FL_WAIT_IDLE;
        state->fired++;
    }
    read_bucket(req, bucket, tablet, &state->visit.keys[index]);
}

/* ---- arm ---- */

static void arm_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    fetch_state *state = req->state;
    fetch_bucket *bucket = &state->buckets[index];
    if (tablet == NULL) {
        state->is_news |= bucket->end_seen >= 0;
        return;
    }
    const int64_t end = tablet->log != NULL ? fl_log_store_end_offset(tablet->log) : 0;
    if (bucket->end_seen < 0 || end > bucket->end_seen) {
        state->is_news = true;
        return;
    }
    fl_tablet_arm(tablet, &bucket->wait);
}

/* Leave the wait, for whatever reason; at home. */
static void end_wait(fl_request *req)
{
    fetch_state *state = req->state;
    if (state->is_waiting) {
        state->is_waiting = false;
        fl_timer_stop(state->timer);
        req->cancel = NULL;
        start_reread(req);
    }
}

static void on_timer(void *context)
{
    end_wait(context);
}

static void on_fired(fl_task *task)
{
    fl_request *req = FL_CONTAINER_OF(task, fl_fetch_wait, task)->request;
    fetch_state *state = req->state;
    state->arrived++;
    if (!state->is_settling) {
        end_wait(req);
    } else if (state->arrived == state->fired) {
        state->is_settling = false;
        read_done(req);
    }
}

static void armed(fl_request *req)
{
    fetch_state *state = req->state;
    const int64_t left_ms = state->deadline_ms - fl_clock_ms();
    state->is_waiting = true;
    req->cancel = end_wait;
    if (state->is_news || state->arrived > state->fired || left_ms <= 0 ||
        req->session->conn == NULL) {
        end_wait(req);
    } else {
        fl_timer_start(state->timer, left_ms);
    }
}

static void read_done(fl_request *req)
{
    fetch_state *state = req->state;
    fluss_error_t err;
    if (state->arrived != state->fired) {
        state->is_settling = true;
        return;
    }
    const bool waits = state->bytes < state->min_bytes && !state->has_error &&
                       !state->has_progress && state->visit.count != 0 &&
                       fl_clock_ms() < state->deadline_ms && req->session->conn != NULL;
    if (waits && (state->timer != NULL || fl_timer_new(req->session->shard->loop, on_timer, req,
                                                       &state->timer, &err) == 0)) {
        state->is_news = false;
        state->visit.each = arm_each;
        state->visit.done = armed;
        fl_visit_run(req);
        return;
    }
    fl_timer_free(state->timer);
    fl_request_reply(req, &state->response);
}

static void start_reading(fl_request *req, void (*each)(fl_request *, size_t, fl_tablet *))
{
    fetch_state *state = req->state;
    fl_gather_deinit(&req->out); /* frames of an earlier read */
    state->bytes = 0;
    state->has_error = state->has_progress = false;
    state->visit.each = each;
    state->visit.done = read_done;
    fl_visit_run(req);
}

static void start_read(fl_request *req)
{
    start_reading(req, read_each);
}

static void start_reread(fl_request *req)
{
    start_reading(req, reread_each);
}

/* ---- the request ---- */

static size_t not_negative(int32_t value)
{
    return value > 0 ? (size_t)value : 0;
}

/* The answer must come before the connection counts as idle. */
static int64_t wait_ms_of(const fl_request *req)
{
    const fl_msg_fetch_log_request *asked = req->message;
    const int64_t idle_ms = fl_request_server(req)->settings.idle_timeout;
    const int64_t wait_ms_max = idle_ms > 0 ? idle_ms / 2 : INT32_MAX;
    const int64_t wait_ms = asked->has_max_wait_ms ? asked->max_wait_ms : WAIT_DEFAULT_MS;
    if (!asked->has_min_bytes || wait_ms < 0) {
        return 0;
    }
    return wait_ms < wait_ms_max ? wait_ms : wait_ms_max;
}

static void set_limits(const fl_request *req)
{
    const fl_msg_fetch_log_request *asked = req->message;
    fetch_state *state = req->state;
    state->min_bytes = asked->has_min_bytes ? not_negative(asked->min_bytes) : 0;
    state->bytes_max = not_negative(asked->max_bytes);
    state->deadline_ms = fl_clock_ms() + wait_ms_of(req);
}

/* The answers of a table, as many as buckets were asked for. */
static fluss_code_t add_table(fl_request *req, const fl_msg_pb_fetch_log_req_for_table *table,
                              fl_msg_pb_fetch_log_resp_for_table *answers, size_t *at,
                              fluss_error_t *err)
{
    fetch_state *state = req->state;
    answers->table_id = table->table_id;
    answers->buckets_resp_count = table->buckets_req_count;
    answers->buckets_resp =
        fl_arena_array(&req->arena, table->buckets_req_count, sizeof(answers->buckets_resp[0]));
    if (answers->buckets_resp == NULL) {
        return fl_error_nomem(err);
    }
    if (table->has_filter_predicate != table->has_filter_schema_id ||
        (table->has_filter_schema_id && table->filter_schema_id < 0)) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "table id %lld: a filter needs a predicate and the id of its schema",
                        (long long)table->table_id);
    }
    for (size_t i = 0; i < table->buckets_req_count; i++) {
        const fl_msg_pb_fetch_log_req_for_bucket *bucket = &table->buckets_req[i];
        const size_t index = (*at)++;
        state->buckets[index] =
            (fetch_bucket){.table = table,
                           .asked = bucket,
                           .answer = &answers->buckets_resp[i],
                           .wait = {.request = req, .task.run = on_fired, .state = FL_WAIT_IDLE}};
        fl_visit_set(&state->visit, index, table->table_id, bucket->has_partition_id,
                     bucket->partition_id, bucket->bucket_id);
    }
    return 0;
}

static fluss_code_t prepare(fl_request *req, fluss_error_t *err)
{
    const fl_msg_fetch_log_request *asked = req->message;
    size_t count = 0, at = 0;
    for (size_t i = 0; i < asked->tables_req_count; i++) {
        count += asked->tables_req[i].buckets_req_count;
    }
    fetch_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL) {
        return fl_error_nomem(err);
    }
    req->state = state;
    FL_TRY(fl_visit_init(&state->visit, req, count, err));
    state->buckets = fl_arena_array(&req->arena, count, sizeof(state->buckets[0]));
    state->response.tables_resp_count = asked->tables_req_count;
    state->response.tables_resp = fl_arena_array(&req->arena, asked->tables_req_count,
                                                 sizeof(state->response.tables_resp[0]));
    if (state->buckets == NULL || state->response.tables_resp == NULL) {
        return fl_error_nomem(err);
    }
    set_limits(req);
    for (size_t i = 0; i < asked->tables_req_count; i++) {
        FL_TRY(add_table(req, &asked->tables_req[i], &state->response.tables_resp[i], &at, err));
    }
    return 0;
}

void fl_handle_fetch_log(fl_request *req)
{
    fluss_error_t err;
    if (prepare(req, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    start_read(req);
}
