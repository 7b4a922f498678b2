/* SPDX-License-Identifier: Apache-2.0 */
/* PRODUCE_LOG. Each bucket's batches are appended on its shard; with acks -1 the answer then waits
 * until every touched log is on disk, all syncs running at the same time. */
#include "protocol/messages.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"
#include "server/session.h"
#include "server/visit.h"
#include "server/write_join.h"

typedef struct produce_state {
    fl_visit visit;
    fl_msg_pb_produce_log_resp_for_bucket *answers;
    const fl_msg_pb_produce_log_req_for_bucket *buckets;
    fl_write_join join;
    bool syncs;
} produce_state;

static void not_synced(fl_request *req, size_t index, fluss_code_t code, const char *reason)
{
    const produce_state *state = req->state;
    fl_msg_pb_produce_log_resp_for_bucket *answer = &state->answers[index];
    answer->has_base_offset = false;
    answer->has_error_code = answer->has_error_message = true;
    answer->error_code = code;
    answer->error_message = fl_slice_str(reason);
}

static void reply(fl_request *req)
{
    const produce_state *state = req->state;
    const fl_msg_produce_log_response response = {.buckets_resp = state->answers,
                                                  .buckets_resp_count = state->visit.count};
    fl_request_reply(req, &response);
}

static fluss_code_t append(fl_request *req, size_t index, fl_tablet *tablet, int64_t *base_offset,
                           fluss_error_t *err)
{
    produce_state *state = req->state;
    fl_log_appended appended;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &state->visit.keys[index], err);
    }
    if (tablet->info->has_primary_key) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "table %s.%s has a primary key: rows are written with PUT_KV, its log is "
                        "the changelog",
                        tablet->info->database, tablet->info->name);
    }
    FL_TRY(fl_tablet_append(tablet, state->buckets[index].records, &appended, err));
    *base_offset = appended.base_offset;
    if (state->syncs) {
        fl_write_join_sync(&state->join, index, tablet, appended.log_end_offset);
    }
    return 0;
}

static void produce_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    produce_state *state = req->state;
    fl_msg_pb_produce_log_resp_for_bucket *answer = &state->answers[index];
    fluss_error_t err;
    const fluss_code_t rc = append(req, index, tablet, &answer->base_offset, &err);
    answer->has_base_offset = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void produce_walked(fl_request *req)
{
    produce_state *state = req->state;
    fl_write_join_walked(&state->join);
}

fluss_code_t fl_check_write(fl_request *req, int32_t acks, fluss_error_t *err)
{
    if (acks < -1 || acks > 1) {
        return fl_error(err, FLUSS_E_INVALID_REQUIRED_ACKS, FLUSS_KIND_ARGUMENT,
                        "acks = %d: expected -1, 0 or 1", (int)acks);
    }
    if (atomic_load(&fl_request_server(req)->is_disk_full)) {
        return fl_error(err, FLUSS_E_DISK_WRITE_LOCKED, FLUSS_KIND_STATE,
                        "the disk of the data directory is nearly full "
                        "(server.data-disk.write-limit-ratio); reads go on");
    }
    return 0;
}

static fluss_code_t prepare(fl_request *req, produce_state **out, fluss_error_t *err)
{
    const fl_msg_produce_log_request *asked = req->message;
    const size_t count = asked->buckets_req_count;
    produce_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_visit_init(&state->visit, req, count, err));
    state->answers = fl_arena_array(&req->arena, count, sizeof(state->answers[0]));
    if (state->answers == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_write_join_init(&state->join, req, count, not_synced, reply, err));
    state->buckets = asked->buckets_req;
    state->syncs = asked->acks == -1 && fl_request_server(req)->syncs;
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_produce_log_req_for_bucket *bucket = &asked->buckets_req[i];
        state->visit.keys[i] = (fl_tablet_key){
            .table_id = asked->table_id,
            .partition_id = fl_optional_id(bucket->has_partition_id, bucket->partition_id),
            .bucket = bucket->bucket_id};
        state->answers[i].bucket_id = bucket->bucket_id;
        state->answers[i].has_partition_id = bucket->has_partition_id;
        state->answers[i].partition_id = bucket->partition_id;
    }
    state->visit.each = produce_each;
    state->visit.done = produce_walked;
    *out = state;
    return 0;
}

void fl_handle_produce_log(fl_request *req)
{
    fluss_error_t err;
    produce_state *state = NULL;
    const fl_msg_produce_log_request *asked = req->message;
    if (fl_check_write(req, asked->acks, &err) != 0 || prepare(req, &state, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    req->state = state;
    fl_visit_run_write(req);
}
