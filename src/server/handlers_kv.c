/* SPDX-License-Identifier: Apache-2.0 */
/* PUT_KV. Each bucket's rows are written on its shard; with acks -1 the answer waits until the
 * changelog is on disk and the rows can be read. With acks 0 and 1 the same happens a moment after
 * the answer. */
#include "protocol/messages.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/kv_tablet.h"
#include "server/server.h"
#include "server/session.h"
#include "server/visit.h"
#include "server/write_join.h"

enum { AGG_MODE_OVERWRITE = 1 };

typedef struct put_state {
    fl_visit visit;
    fl_msg_pb_put_kv_resp_for_bucket *answers;
    fl_write_join join;
} put_state;

static void not_synced(fl_request *req, size_t index, fluss_code_t code, const char *reason)
{
    const put_state *state = req->state;
    fl_msg_pb_put_kv_resp_for_bucket *answer = &state->answers[index];
    answer->has_log_end_offset = false;
    answer->has_error_code = answer->has_error_message = true;
    answer->error_code = code;
    answer->error_message = fl_slice_str(reason);
}

static void reply(fl_request *req)
{
    const put_state *state = req->state;
    const fl_msg_put_kv_response response = {.buckets_resp = state->answers,
                                             .buckets_resp_count = state->visit.count};
    fl_request_reply(req, &response);
}

static fluss_code_t put(fl_request *req, size_t index, fl_tablet *tablet, int64_t *log_end_offset,
                        fluss_error_t *err)
{
    put_state *state = req->state;
    const fl_msg_put_kv_request *asked = req->message;
    const fl_kv_put what = {.records = asked->buckets_req[index].records,
                            .target_columns = asked->target_columns,
                            .target_count = asked->target_columns_count,
                            .overwrites =
                                asked->has_agg_mode && asked->agg_mode == AGG_MODE_OVERWRITE,
                            .now_ms = fl_wall_ms()};
    fl_log_appended appended;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &state->visit.keys[index], err);
    }
    FL_TRY(fl_tablet_put(tablet, &what, &appended, err));
    *log_end_offset = appended.log_end_offset;
    if (!fl_request_server(req)->syncs) {
        return 0;
    }
    if (asked->acks != -1) {
        fl_tablet_sync_soon(tablet);
        return 0;
    }
    fl_write_join_sync(&state->join, index, tablet, appended.log_end_offset);
    return 0;
}

static void put_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    put_state *state = req->state;
    fl_msg_pb_put_kv_resp_for_bucket *answer = &state->answers[index];
    fluss_error_t err;
    const fluss_code_t rc = put(req, index, tablet, &answer->log_end_offset, &err);
    answer->has_log_end_offset = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void put_walked(fl_request *req)
{
    put_state *state = req->state;
    fl_write_join_walked(&state->join);
}

static fluss_code_t prepare(fl_request *req, fluss_error_t *err)
{
    const fl_msg_put_kv_request *asked = req->message;
    const size_t count = asked->buckets_req_count;
    put_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_visit_init(&state->visit, req, count, err));
    state->answers = fl_arena_array(&req->arena, count, sizeof(state->answers[0]));
    if (state->answers == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_write_join_init(&state->join, req, count, not_synced, reply, err));
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_put_kv_req_for_bucket *bucket = &asked->buckets_req[i];
        state->visit.keys[i] = (fl_tablet_key){
            .table_id = asked->table_id,
            .partition_id = fl_optional_id(bucket->has_partition_id, bucket->partition_id),
            .bucket = bucket->bucket_id};
        state->answers[i].bucket_id = bucket->bucket_id;
        state->answers[i].has_partition_id = bucket->has_partition_id;
        state->answers[i].partition_id = bucket->partition_id;
    }
    state->visit.each = put_each;
    state->visit.done = put_walked;
    req->state = state;
    return 0;
}

void fl_handle_put_kv(fl_request *req)
{
    const fl_msg_put_kv_request *asked = req->message;
    fluss_error_t err;
    if (fl_check_write(req, asked->acks, &err) != 0 || prepare(req, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_visit_run_write(req);
}
