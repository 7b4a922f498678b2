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

typedef fl_msg_pb_produce_log_resp_for_bucket produce_answer;

static void not_synced(fl_request *req, size_t index, const fluss_error_t *error)
{
    produce_answer *answer = fl_visit_answer(req, index);
    answer->has_base_offset = false;
    FL_SET_BUCKET_ERROR(req, answer, error->code, error);
}

static void reply(fl_request *req)
{
    const fl_visit *visit = req->state;
    const fl_msg_produce_log_response response = {.buckets_resp = visit->answers,
                                                  .buckets_resp_count = visit->count};
    fl_request_reply(req, &response);
}

static fluss_code_t append(fl_request *req, size_t index, fl_tablet *tablet, int64_t *base_offset,
                           fluss_error_t *err)
{
    const fl_visit *visit = req->state;
    const fl_msg_produce_log_request *asked = req->message;
    fl_log_appended appended;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &visit->keys[index], err);
    }
    if (tablet->info->has_primary_key) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "table %s.%s has a primary key: rows are written with PUT_KV, its log is "
                        "the changelog",
                        tablet->info->database, tablet->info->name);
    }
    FL_TRY(fl_tablet_append(tablet, asked->buckets_req[index].records, &appended, err));
    *base_offset = appended.base_offset;
    if (asked->acks == -1 && fl_request_server(req)->syncs) {
        fl_write_join_sync(req, index, tablet, appended.log_end_offset);
    }
    return 0;
}

static void produce_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    produce_answer *answer = fl_visit_answer(req, index);
    fluss_error_t err;
    const fluss_code_t rc = append(req, index, tablet, &answer->base_offset, &err);
    answer->has_base_offset = rc == 0;
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
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

static const fl_write_steps steps = {.each = produce_each, .failed = not_synced, .done = reply};

void fl_handle_produce_log(fl_request *req)
{
    const fl_msg_produce_log_request *asked = req->message;
    fluss_error_t err;
    if (fl_check_write(req, asked->acks, &err) != 0 ||
        fl_write_join_new(req, &steps, asked->buckets_req_count, sizeof(produce_answer),
                          asked->timeout_ms, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    for (size_t i = 0; i < asked->buckets_req_count; i++) {
        const fl_msg_pb_produce_log_req_for_bucket *bucket = &asked->buckets_req[i];
        produce_answer *answer = fl_visit_answer(req, i);
        FL_SET_BUCKET(req->state, i, answer, asked->table_id, bucket);
    }
    fl_visit_run_write(req);
}
