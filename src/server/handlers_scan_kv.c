/* SPDX-License-Identifier: Apache-2.0 */
/* SCAN_KV: all rows of a primary-key bucket, batch by batch, on one snapshot. Opening names a
 * bucket, going on names the scan; both end with the batch that has no successor. Errors travel in
 * the body.
 *
 * The right to read is asked for by each request, so a scan ends when it is taken away. Only the
 * shard of a scan knows its table, and only shard 0 the rights: the request walks to the one, the
 * other, and back. */
#include "protocol/messages.h"
#include "server/access.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/kv_sessions.h"
#include "server/server.h"
#include "server/session.h"
#include "server/visit.h"

typedef struct scan_kv_state {
    fl_visit visit; /* of an opening */
    fl_msg_scan_kv_response response;
    fl_shard *shard;      /* of the scan that goes on */
    int64_t table_id;     /* its table */
    fluss_code_t refused; /* its user may not read it any more */
    fluss_error_t refusal;
} scan_kv_state;

static fluss_code_t check(const fl_msg_scan_kv_request *asked, fluss_error_t *err)
{
    const bool closes = asked->has_close_scanner && asked->close_scanner;
    if (asked->has_scanner_id == asked->has_bucket_scan_req) {
        return fl_error(
            err, FLUSS_E_INVALID_SCAN_REQUEST, FLUSS_KIND_ARGUMENT,
            "a scan needs either bucket_scan_req, to open it, or scanner_id, to go on; not %s",
            asked->has_scanner_id ? "both" : "neither");
    }
    if (!closes && (!asked->has_batch_size_bytes || asked->batch_size_bytes <= 0)) {
        return fl_error(err, FLUSS_E_INVALID_SCAN_REQUEST, FLUSS_KIND_ARGUMENT,
                        "batch_size_bytes must be above 0");
    }
    if (asked->has_bucket_scan_req && asked->has_call_seq_id && asked->call_seq_id != 0) {
        return fl_error(err, FLUSS_E_INVALID_SCAN_REQUEST, FLUSS_KIND_ARGUMENT,
                        "call_seq_id of an opening must be 0, not %d", (int)asked->call_seq_id);
    }
    return 0;
}

static void set_error(fl_request *req, const fluss_error_t *err)
{
    scan_kv_state *state = req->state;
    state->response = (fl_msg_scan_kv_response){0};
    FL_SET_BUCKET_ERROR(req, &state->response, err->code, err);
}

static fluss_code_t keep_records(fl_request *req, const fl_buf *out, fluss_error_t *err)
{
    scan_kv_state *state = req->state;
    fl_frame *frame = fl_frame_copy(fl_buf_slice(out));
    if (frame == NULL) {
        return fl_error_nomem(err);
    }
    state->response.has_records = true;
    state->response.records = fl_frame_slice(frame);
    return fl_request_keep(req, frame, err);
}

/* Read the next batch; a scan that has ended is closed. */
static fluss_code_t read_on(fl_request *req, fl_kv_session *session, fluss_error_t *err)
{
    scan_kv_state *state = req->state;
    fl_shard *shard = req->at;
    const fl_msg_scan_kv_request *asked = req->message;
    const size_t size_max = fl_request_server(req)->settings.scanner_batch_max;
    fl_buf out;
    int32_t count = 0;
    bool has_more = false;
    fl_buf_init(&out, INT32_MAX);
    const size_t asked_max = (size_t)asked->batch_size_bytes;
    const size_t wanted = asked_max < size_max ? asked_max : size_max;
    fluss_code_t rc = fl_kv_session_read(session, wanted, &out, &count, &has_more, err);
    if (rc == 0 && count != 0) {
        rc = keep_records(req, &out, err);
    }
    fl_buf_deinit(&out);
    state->response.has_has_more_results = true;
    state->response.has_more_results = has_more;
    if (count != 0 || !asked->has_bucket_scan_req) { /* an empty bucket has no scan */
        state->response.has_scanner_id = true;
        state->response.scanner_id = fl_slice_of(
            fl_arena_strndup(&req->arena, session->id, sizeof(session->id)), sizeof(session->id));
        rc = rc == 0 && state->response.scanner_id.data == NULL ? fl_error_nomem(err) : rc;
    }
    if (rc != 0 || !has_more) {
        fl_kv_session_close(shard, session);
    }
    return rc;
}

static fluss_code_t open_scan(fl_request *req, fl_tablet *tablet, fluss_error_t *err)
{
    scan_kv_state *state = req->state;
    const fl_msg_scan_kv_request *asked = req->message;
    const int64_t limit =
        asked->bucket_scan_req.has_limit ? asked->bucket_scan_req.limit : INT64_MAX;
    fl_kv_session *session;
    fl_kv_tablet *kv;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &state->visit.keys[0], err);
    }
    if (limit < 0) {
        return fl_error(err, FLUSS_E_INVALID_SCAN_REQUEST, FLUSS_KIND_ARGUMENT,
                        "a limit of %lld rows: expected 0 or more", (long long)limit);
    }
    FL_TRY(fl_tablet_kv(tablet, &kv, err));
    FL_TRY(fl_kv_session_open(tablet, limit, &session, err));
    state->response.has_log_offset = true;
    state->response.log_offset = fl_kv_tablet_applied_offset(kv);
    return read_on(req, session, err);
}

static void open_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    fluss_error_t err;
    (void)index;
    if (open_scan(req, tablet, &err) != 0) {
        set_error(req, &err);
    }
}

static void reply(fl_request *req)
{
    scan_kv_state *state = req->state;
    fl_request_reply(req, &state->response);
}

static fluss_code_t go_on(fl_request *req, fluss_error_t *err)
{
    scan_kv_state *state = req->state;
    const fl_msg_scan_kv_request *asked = req->message;
    fl_kv_session *session;
    FL_TRY(fl_kv_session_find(req->at, asked->scanner_id, &session, err));
    if (state->refused != 0) {
        fl_kv_session_close(req->at, session);
        *err = state->refusal;
        return state->refused;
    }
    if (asked->has_close_scanner && asked->close_scanner) {
        fl_kv_session_close(req->at, session);
        state->response.has_has_more_results = true;
        return 0;
    }
    if (!asked->has_call_seq_id || asked->call_seq_id != session->call_seq + 1) {
        return fl_error(err, FLUSS_E_INVALID_SCAN_REQUEST, FLUSS_KIND_ARGUMENT,
                        "call_seq_id must be %d, one above that of the last call, not %d",
                        (int)(session->call_seq + 1),
                        asked->has_call_seq_id ? (int)asked->call_seq_id : -1);
    }
    session->call_seq++;
    return read_on(req, session, err);
}

static void go_on_there(fl_request *req)
{
    fluss_error_t err;
    if (go_on(req, &err) != 0) {
        set_error(req, &err);
    }
    fl_request_walk_home(req, reply);
}

/* Thread: shard 0. */
static void check_right(fl_request *req)
{
    scan_kv_state *state = req->state;
    state->refused =
        fl_access_require_table_id(req, FL_OPERATION_READ, state->table_id, &state->refusal);
    fl_request_walk(req, state->shard, go_on_there);
}

static void find_table_there(fl_request *req)
{
    scan_kv_state *state = req->state;
    const fl_msg_scan_kv_request *asked = req->message;
    fl_kv_session *session;
    fluss_error_t err;
    if (fl_kv_session_find(req->at, asked->scanner_id, &session, &err) != 0) {
        set_error(req, &err);
        fl_request_walk_home(req, reply);
        return;
    }
    state->table_id = session->tablet.table_id;
    fl_request_walk(req, &fl_request_server(req)->shards[0], check_right);
}

static void start_open(fl_request *req)
{
    scan_kv_state *state = req->state;
    const fl_msg_pb_scan_req_for_bucket *bucket =
        &((const fl_msg_scan_kv_request *)req->message)->bucket_scan_req;
    fluss_error_t err;
    if (fl_visit_init(&state->visit, req, 1, &err) != 0) {
        fl_request_fail_nomem(req);
        return;
    }
    fl_visit_set(&state->visit, 0, bucket->table_id, bucket->has_partition_id, bucket->partition_id,
                 bucket->bucket_id);
    state->visit.each = open_each;
    state->visit.done = reply;
    fl_visit_run(req);
}

static void start_go_on(fl_request *req)
{
    scan_kv_state *state = req->state;
    const fl_msg_scan_kv_request *asked = req->message;
    fluss_error_t err;
    state->shard = fl_kv_session_shard(fl_request_server(req), asked->scanner_id);
    if (state->shard == NULL) {
        (void)fl_error(&err, FLUSS_E_UNKNOWN_SCANNER_ID, FLUSS_KIND_STATE,
                       "no open scan has this id");
        set_error(req, &err);
        reply(req);
        return;
    }
    fl_request_walk(req, state->shard, req->session->is_checked ? find_table_there : go_on_there);
}

void fl_handle_scan_kv(fl_request *req)
{
    const fl_msg_scan_kv_request *asked = req->message;
    fluss_error_t err;
    req->state = fl_arena_alloc(&req->arena, sizeof(scan_kv_state));
    if (req->state == NULL) {
        fl_request_fail_nomem(req);
    } else if (check(asked, &err) != 0) {
        set_error(req, &err);
        reply(req);
    } else if (asked->has_scanner_id) {
        start_go_on(req);
    } else {
        start_open(req);
    }
}
