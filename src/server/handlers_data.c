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

typedef fl_msg_pb_list_offsets_resp_for_bucket offsets_answer;

static void offsets_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    const fl_visit *visit = req->state;
    offsets_answer *answer = fl_visit_answer(req, index);
    fluss_error_t err;
    answer->bucket_id = visit->keys[index].bucket;
    const fluss_code_t rc = tablet == NULL
                                ? fl_visit_unknown(req, &visit->keys[index], &err)
                                : find_offset(tablet, req->message, &answer->offset, &err);
    answer->has_offset = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void offsets_done(fl_request *req)
{
    const fl_visit *visit = req->state;
    const fl_msg_list_offsets_response response = {.buckets_resp = visit->answers,
                                                   .buckets_resp_count = visit->count};
    fl_request_reply(req, &response);
}

void fl_handle_list_offsets(fl_request *req)
{
    const fl_msg_list_offsets_request *asked = req->message;
    const size_t count = asked->bucket_id_count;
    fluss_error_t err;
    if (fl_visit_new(req, sizeof(fl_visit), count, sizeof(offsets_answer), &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_visit *visit = req->state;
    visit->each = offsets_each;
    visit->done = offsets_done;
    for (size_t i = 0; i < count; i++) {
        fl_visit_set(visit, i, asked->table_id, asked->has_partition_id, asked->partition_id,
                     asked->bucket_id[i]);
    }
    fl_visit_run(req);
}

/* ---- GET_TABLE_STATS ---- */

typedef fl_msg_pb_table_stats_resp_for_bucket stats_answer;

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
    const fl_visit *visit = req->state;
    stats_answer *answer = fl_visit_answer(req, index);
    fluss_error_t err;
    const fluss_code_t rc = tablet == NULL ? fl_visit_unknown(req, &visit->keys[index], &err)
                                           : count_rows(tablet, &answer->row_count, &err);
    answer->has_row_count = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void stats_done(fl_request *req)
{
    const fl_visit *visit = req->state;
    const fl_msg_get_table_stats_response response = {.buckets_resp = visit->answers,
                                                      .buckets_resp_count = visit->count};
    fl_request_reply(req, &response);
}

void fl_handle_get_table_stats(fl_request *req)
{
    const fl_msg_get_table_stats_request *asked = req->message;
    const size_t count = asked->buckets_req_count;
    fluss_error_t err;
    if (fl_visit_new(req, sizeof(fl_visit), count, sizeof(stats_answer), &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_visit *visit = req->state;
    visit->each = stats_each;
    visit->done = stats_done;
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_table_stats_req_for_bucket *bucket = &asked->buckets_req[i];
        stats_answer *answer = fl_visit_answer(req, i);
        FL_SET_BUCKET(visit, i, answer, asked->table_id, bucket);
    }
    fl_visit_run(req);
}
