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

enum { AGG_MODE_OVERWRITE = 1, PRESSURE_VERSION_MIN = 2 };

typedef fl_msg_pb_put_kv_resp_for_bucket put_answer;

static void not_synced(fl_request *req, size_t index, const fluss_error_t *error)
{
    put_answer *answer = fl_visit_answer(req, index);
    answer->has_log_end_offset = false;
    FL_SET_BUCKET_ERROR(req, answer, error->code, error);
}

static void reply(fl_request *req)
{
    const fl_visit *visit = req->state;
    const fl_msg_put_kv_response response = {.buckets_resp = visit->answers,
                                             .buckets_resp_count = visit->count};
    fl_request_reply(req, &response);
}

static fluss_code_t put(fl_request *req, size_t index, fl_tablet *tablet, int64_t *log_end_offset,
                        fluss_error_t *err)
{
    const fl_visit *visit = req->state;
    const fl_msg_put_kv_request *asked = req->message;
    const fl_kv_put what = {.records = asked->buckets_req[index].records,
                            .target_columns = asked->target_columns,
                            .target_count = asked->target_columns_count,
                            .overwrites =
                                asked->has_agg_mode && asked->agg_mode == AGG_MODE_OVERWRITE,
                            .now_ms = fl_wall_ms()};
    fl_log_appended appended;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &visit->keys[index], err);
    }
    FL_TRY(fl_tablet_put(tablet, &what, &appended, err));
    *log_end_offset = appended.log_end_offset;
    if (asked->acks == -1) {
        fl_write_join_sync(req, index, tablet, appended.log_end_offset);
    } else {
        fl_tablet_sync_soon(tablet);
    }
    return 0;
}

/* Clients of version 2 are asked to slow down before they are refused, and know the refusal. Older
 * ones get one that they try again after, too. */
static void set_pressure(fl_request *req, put_answer *answer, const fl_tablet *tablet)
{
    const bool is_known = req->header.api_version >= PRESSURE_VERSION_MIN;
    const double pressure =
        is_known && tablet != NULL && tablet->kv != NULL ? fl_kv_tablet_pressure(tablet->kv) : 0;
    answer->has_pressure = pressure > 0 && pressure < 1;
    answer->pressure = (float)pressure;
    if (!is_known && answer->error_code == FLUSS_E_STORAGE_BACKPRESSURE) {
        answer->error_code = FLUSS_E_KV_STORAGE_EXCEPTION;
    }
}

static void put_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    put_answer *answer = fl_visit_answer(req, index);
    fluss_error_t err;
    const fluss_code_t rc = put(req, index, tablet, &answer->log_end_offset, &err);
    answer->has_log_end_offset = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
    set_pressure(req, answer, tablet);
}

static const fl_write_steps steps = {.each = put_each, .failed = not_synced, .done = reply};

void fl_handle_put_kv(fl_request *req)
{
    const fl_msg_put_kv_request *asked = req->message;
    fluss_error_t err;
    if (fl_check_write(req, asked->acks, &err) != 0 ||
        fl_write_join_new(req, &steps, asked->buckets_req_count, sizeof(put_answer),
                          asked->timeout_ms, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    for (size_t i = 0; i < asked->buckets_req_count; i++) {
        const fl_msg_pb_put_kv_req_for_bucket *bucket = &asked->buckets_req[i];
        put_answer *answer = fl_visit_answer(req, i);
        FL_SET_BUCKET(req->state, i, answer, asked->table_id, bucket);
    }
    fl_visit_run_write(req);
}
