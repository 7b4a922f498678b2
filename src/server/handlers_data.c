/* SPDX-License-Identifier: Apache-2.0 */
/* Reading facts of tablets: LIST_OFFSETS and GET_TABLE_STATS. */
#include <stdio.h>

#include "protocol/messages.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/kv_tablet.h"
#include "server/server.h"
#include "server/visit.h"

/* ---- LIST_OFFSETS ---- */

typedef struct offsets_state {
    fl_visit visit;
    fl_msg_pb_list_offsets_resp_for_bucket *answers;
} offsets_state;

enum { OFFSET_EARLIEST = 0, OFFSET_LATEST = 1, OFFSET_OF_TIMESTAMP = 2 };

static fluss_code_t offset_for_time(fl_tablet *tablet, const fl_msg_list_offsets_request *asked,
                                    int64_t *offset, fluss_error_t *err)
{
    const int64_t now_ms = fl_wall_ms();
    if (!asked->has_start_timestamp) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "offset type 2 (by timestamp) needs a start timestamp");
    }
    if (asked->start_timestamp > now_ms) {
        return fl_error(err, FLUSS_E_INVALID_TIMESTAMP, FLUSS_KIND_ARGUMENT,
                        "the timestamp %lld is larger than the current time %lld",
                        (long long)asked->start_timestamp, (long long)now_ms);
    }
    return fl_log_store_offset_for_time(tablet->log, asked->start_timestamp, offset, err);
}

static fluss_code_t find_offset(fl_tablet *tablet, const fl_msg_list_offsets_request *asked,
                                int64_t *offset, fluss_error_t *err)
{
    FL_TRY(fl_tablet_open(tablet, err));
    switch (asked->offset_type) {
    case OFFSET_EARLIEST:
        *offset = fl_log_store_start_offset(tablet->log);
        return 0;
    case OFFSET_LATEST:
        *offset = fl_log_store_end_offset(tablet->log);
        return 0;
    case OFFSET_OF_TIMESTAMP:
        return offset_for_time(tablet, asked, offset, err);
    default:
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "offset type %d: expected 0 (earliest), 1 (latest) or 2 (by timestamp)",
                        (int)asked->offset_type);
    }
}

static void offsets_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    offsets_state *state = req->state;
    fl_msg_pb_list_offsets_resp_for_bucket *answer = &state->answers[index];
    fluss_error_t err;
    answer->bucket_id = state->visit.keys[index].bucket;
    const fluss_code_t rc = tablet == NULL
                                ? fl_visit_unknown(req, &state->visit.keys[index], &err)
                                : find_offset(tablet, req->message, &answer->offset, &err);
    answer->has_offset = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void offsets_done(fl_request *req)
{
    offsets_state *state = req->state;
    const fl_msg_list_offsets_response response = {.buckets_resp = state->answers,
                                                   .buckets_resp_count = state->visit.count};
    fl_request_reply(req, &response);
}

void fl_handle_list_offsets(fl_request *req)
{
    const fl_msg_list_offsets_request *asked = req->message;
    fluss_error_t err;
    offsets_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    if (fl_visit_init(&state->visit, req, asked->bucket_id_count, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    state->answers = fl_arena_array(&req->arena, asked->bucket_id_count, sizeof(state->answers[0]));
    if (state->answers == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    for (size_t i = 0; i < asked->bucket_id_count; i++) {
        state->visit.keys[i] = (fl_tablet_key){
            .table_id = asked->table_id,
            .partition_id = fl_optional_id(asked->has_partition_id, asked->partition_id),
            .bucket = asked->bucket_id[i]};
    }
    state->visit.each = offsets_each;
    state->visit.done = offsets_done;
    req->state = state;
    fl_visit_run(req);
}

/* ---- GET_TABLE_STATS ---- */

typedef struct stats_state {
    fl_visit visit;
    fl_msg_pb_table_stats_resp_for_bucket *answers;
} stats_state;

/* Records of a log; live rows of a primary-key table, which a changelog without old rows does not
 * tell. */
static fluss_code_t count_rows(fl_tablet *tablet, int64_t *rows, fluss_error_t *err)
{
    fl_kv_tablet *kv;
    FL_TRY(fl_tablet_open(tablet, err));
    if (!tablet->info->has_primary_key) {
        *rows = fl_log_store_end_offset(tablet->log) - fl_log_store_start_offset(tablet->log);
        return 0;
    }
    FL_TRY(fl_tablet_kv(tablet, &kv, err));
    *rows = fl_kv_tablet_row_count(kv);
    return *rows >= 0
               ? 0
               : fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_SERVER,
                          "The rows of table '%s.%s' are not counted: its changelog image is WAL.",
                          tablet->info->database, tablet->info->name);
}

static void stats_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    stats_state *state = req->state;
    const fl_msg_get_table_stats_request *asked = req->message;
    fl_msg_pb_table_stats_resp_for_bucket *answer = &state->answers[index];
    fluss_error_t err;
    answer->bucket_id = asked->buckets_req[index].bucket_id;
    answer->has_partition_id = asked->buckets_req[index].has_partition_id;
    answer->partition_id = asked->buckets_req[index].partition_id;
    fluss_code_t rc = 0;
    if (tablet == NULL) {
        rc = fl_visit_unknown(req, &state->visit.keys[index], &err);
    } else {
        rc = count_rows(tablet, &answer->row_count, &err);
    }
    answer->has_row_count = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void stats_done(fl_request *req)
{
    stats_state *state = req->state;
    const fl_msg_get_table_stats_response response = {.buckets_resp = state->answers,
                                                      .buckets_resp_count = state->visit.count};
    fl_request_reply(req, &response);
}

void fl_handle_get_table_stats(fl_request *req)
{
    const fl_msg_get_table_stats_request *asked = req->message;
    fluss_error_t err;
    stats_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    if (fl_visit_init(&state->visit, req, asked->buckets_req_count, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    state->answers =
        fl_arena_array(&req->arena, asked->buckets_req_count, sizeof(state->answers[0]));
    if (state->answers == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    for (size_t i = 0; i < asked->buckets_req_count; i++) {
        const fl_msg_pb_table_stats_req_for_bucket *bucket = &asked->buckets_req[i];
        state->visit.keys[i] = (fl_tablet_key){
            .table_id = asked->table_id,
            .partition_id = fl_optional_id(bucket->has_partition_id, bucket->partition_id),
            .bucket = bucket->bucket_id};
    }
    state->visit.each = stats_each;
    state->visit.done = stats_done;
    req->state = state;
    fl_visit_run(req);
}
