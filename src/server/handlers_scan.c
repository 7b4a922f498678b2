/* SPDX-License-Identifier: Apache-2.0 */
/* LIMIT_SCAN: the last rows of a bucket of a log table, or the first ones by key of a primary-key
 * table. Errors travel in the body. */
#include "format/value_batch.h"
#include "protocol/messages.h"
#include "server/fetch_read.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/kv_tablet.h"
#include "server/visit.h"

enum { SCAN_SIZE_MAX = 256 << 20 };

typedef struct scan_state {
    fl_visit visit;
    fl_msg_limit_scan_response response;
} scan_state;

static fluss_code_t scan_log(fl_request *req, fl_tablet *tablet, int32_t limit, fl_slice *records,
                             fluss_error_t *err)
{
    FL_TRY(fl_tablet_open(tablet, err));
    const int64_t start = fl_log_store_start_offset(tablet->log);
    const int64_t end = fl_log_store_end_offset(tablet->log);
    const int64_t from = end - limit > start ? end - limit : start;
    return fl_fetch_read_tail(req, tablet, from, SCAN_SIZE_MAX, records, err);
}

static fluss_code_t scan_rows(fl_kv_scan *rows, int32_t limit, fl_buf *out, fluss_error_t *err)
{
    fl_value_builder builder;
    fl_slice value;
    FL_TRY(fl_value_builder_init(&builder, out, err));
    while (builder.record_count < limit && fl_kv_scan_next(rows, &value)) {
        FL_TRY(fl_value_builder_add(&builder, value, err));
    }
    FL_TRY(fl_kv_scan_status(rows, err));
    fl_value_builder_finish(&builder);
    return 0;
}

static fluss_code_t scan_kv(fl_request *req, fl_tablet *tablet, int32_t limit, fl_slice *records,
                            fluss_error_t *err)
{
    fl_kv_tablet *kv;
    fl_kv_scan *rows = NULL;
    fl_frame *frame = NULL;
    fl_buf out;
    fluss_code_t rc = 0;
    FL_TRY(fl_tablet_kv(tablet, &kv, err));
    fl_buf_init(&out, SCAN_SIZE_MAX);
    FL_TRY_OUT(fl_kv_scan_open(kv, fl_slice_of(NULL, 0), &rows, err));
    FL_TRY_OUT(scan_rows(rows, limit, &out, err));
    frame = fl_frame_copy(fl_buf_slice(&out));
    if (frame == NULL) {
        FL_TRY_OUT(fl_error_nomem(err));
    }
    *records = fl_frame_slice(frame);
    rc = fl_request_keep(req, frame, err);
out:
    fl_kv_scan_close(rows);
    fl_buf_deinit(&out);
    return rc;
}

static fluss_code_t scan(fl_request *req, fl_tablet *tablet, fluss_error_t *err)
{
    scan_state *state = req->state;
    const fl_msg_limit_scan_request *asked = req->message;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &state->visit.keys[0], err);
    }
    if (asked->limit < 0) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "a limit of %d rows: expected 0 or more", (int)asked->limit);
    }
    state->response.has_is_log_table = true;
    state->response.is_log_table = !tablet->info->has_primary_key;
    if (tablet->info->has_primary_key) {
        FL_TRY(scan_kv(req, tablet, asked->limit, &state->response.records, err));
    } else {
        FL_TRY(scan_log(req, tablet, asked->limit, &state->response.records, err));
    }
    state->response.has_records = true;
    return 0;
}

static void scan_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    scan_state *state = req->state;
    fluss_error_t err;
    (void)index;
    const fluss_code_t rc = scan(req, tablet, &err);
    FL_SET_BUCKET_ERROR(req, &state->response, rc, &err);
}

static void scan_done(fl_request *req)
{
    scan_state *state = req->state;
    fl_request_reply(req, &state->response);
}

void fl_handle_limit_scan(fl_request *req)
{
    const fl_msg_limit_scan_request *asked = req->message;
    fluss_error_t err;
    scan_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL || fl_visit_init(&state->visit, req, 1, &err) != 0) {
        fl_request_fail_nomem(req);
        return;
    }
    fl_visit_set(&state->visit, 0, asked->table_id, asked->has_partition_id, asked->partition_id,
                 asked->bucket_id);
    state->visit.each = scan_each;
    state->visit.done = scan_done;
    req->state = state;
    fl_visit_run(req);
}
