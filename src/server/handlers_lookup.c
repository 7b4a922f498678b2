/* SPDX-License-Identifier: Apache-2.0 */
/* LOOKUP and PREFIX_LOOKUP: the keys of each bucket on its shard. The values of a bucket are
 * gathered in one frame that lives until the response is written.
 *
 * LOOKUP with insert_if_not_exists visits twice: first the missing rows are inserted, and once
 * their changelog is on disk, all keys are read. */
#include "base/alloc.h"
#include "protocol/messages.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/kv_tablet.h"
#include "server/server.h"
#include "server/session.h"
#include "server/visit.h"
#include "server/write_join.h"

enum { VALUES_SIZE_MAX = 1 << 30, LOOKUP_STEP = 256 /* keys that are read at once */ };

/* Values on their way into a frame: noted by place first, since the buffer moves as it grows. */
typedef struct value_sink {
    fl_request *request;
    fl_buf bytes;
    fl_slice **places; /* where each value's slice goes; holds place and size until the end */
    size_t count, capacity;
} value_sink;

static void sink_init(value_sink *sink, fl_request *request)
{
    *sink = (value_sink){.request = request};
    fl_buf_init(&sink->bytes, VALUES_SIZE_MAX);
}

static void sink_deinit(value_sink *sink)
{
    fl_buf_deinit(&sink->bytes);
    fl_free(sink->places);
}

static fluss_code_t sink_add(value_sink *sink, fl_slice value, fl_slice *place, fluss_error_t *err)
{
    fl_slice **places = fl_grow(sink->places, &sink->capacity, sink->count, sizeof(*places));
    if (places == NULL) {
        return fl_error_nomem(err);
    }
    sink->places = places;
    *place = fl_slice_of(NULL, value.size);
    sink->places[sink->count++] = place;
    return fl_buf_append_slice(&sink->bytes, value, err);
}

/* Move the bytes into a frame kept with the response, and point the slices there. */
static fluss_code_t sink_finish(value_sink *sink, fluss_error_t *err)
{
    if (sink->count == 0) {
        return 0;
    }
    fl_frame *frame = fl_frame_copy(fl_buf_slice(&sink->bytes));
    if (frame == NULL) {
        return fl_error_nomem(err);
    }
    const uint8_t *at = frame->data;
    for (size_t i = 0; i < sink->count; i++) {
        sink->places[i]->data = at;
        at += sink->places[i]->size;
    }
    return fl_request_keep(sink->request, frame, err);
}

/* ---- LOOKUP ---- */

typedef fl_msg_pb_lookup_resp_for_bucket lookup_answer;

static fluss_code_t lookup_some(fl_kv_tablet *kv, const fl_slice *keys, size_t count,
                                value_sink *sink, fl_msg_pb_value *answers, fluss_error_t *err)
{
    fl_kv_value values[LOOKUP_STEP];
    fluss_code_t rc = fl_kv_tablet_get_many(kv, keys, count, values, err);
    for (size_t i = 0; i < count; i++) {
        if (rc == 0 && values[i].found) {
            answers[i].has_values = true;
            rc = sink_add(sink, fl_slice_of(values[i].data, values[i].size), &answers[i].values,
                          err);
        }
        fl_free(values[i].data);
    }
    return rc;
}

static fluss_code_t lookup_keys(fl_request *req, const fl_msg_pb_lookup_req_for_bucket *bucket,
                                fl_kv_tablet *kv, lookup_answer *answer, fluss_error_t *err)
{
    value_sink sink;
    fluss_code_t rc = 0;
    answer->values = fl_arena_array(&req->arena, bucket->keys_count, sizeof(answer->values[0]));
    if (answer->values == NULL) {
        return fl_error_nomem(err);
    }
    sink_init(&sink, req);
    for (size_t at = 0, count; at < bucket->keys_count && rc == 0; at += count) {
        const size_t rest = bucket->keys_count - at;
        count = rest < LOOKUP_STEP ? rest : LOOKUP_STEP;
        rc = lookup_some(kv, &bucket->keys[at], count, &sink, &answer->values[at], err);
    }
    if (rc == 0) {
        rc = sink_finish(&sink, err);
    }
    sink_deinit(&sink);
    answer->values_count = rc == 0 ? bucket->keys_count : 0;
    return rc;
}

static void lookup_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    const fl_visit *visit = req->state;
    const fl_msg_lookup_request *asked = req->message;
    lookup_answer *answer = fl_visit_answer(req, index);
    fl_kv_tablet *kv;
    fluss_error_t err;
    if (answer->has_error_code) { /* its insert failed */
        return;
    }
    fluss_code_t rc = tablet == NULL ? fl_visit_unknown(req, &visit->keys[index], &err)
                                     : fl_tablet_kv(tablet, &kv, &err);
    if (rc == 0) {
        rc = lookup_keys(req, &asked->buckets_req[index], kv, answer, &err);
    }
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void lookup_done(fl_request *req)
{
    const fl_visit *visit = req->state;
    const fl_msg_lookup_response response = {.buckets_resp = visit->answers,
                                             .buckets_resp_count = visit->count};
    fl_request_reply(req, &response);
}

/* Also when the missing rows are there: now all keys are read. */
static void look_up(fl_request *req)
{
    fl_visit *visit = req->state;
    visit->each = lookup_each;
    visit->done = lookup_done;
    fl_visit_run(req);
}

static void insert_not_synced(fl_request *req, size_t index, const fluss_error_t *error)
{
    lookup_answer *answer = fl_visit_answer(req, index);
    FL_SET_BUCKET_ERROR(req, answer, error->code, error);
}

static fluss_code_t insert(fl_request *req, size_t index, fl_tablet *tablet, fluss_error_t *err)
{
    const fl_visit *visit = req->state;
    const fl_msg_lookup_request *asked = req->message;
    const fl_msg_pb_lookup_req_for_bucket *bucket = &asked->buckets_req[index];
    fl_log_appended appended;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &visit->keys[index], err);
    }
    FL_TRY(fl_tablet_insert_missing(tablet, bucket->keys, bucket->keys_count, &appended, err));
    if (appended.log_end_offset >= 0) {
        fl_write_join_sync(req, index, tablet, appended.log_end_offset);
    }
    return 0;
}

static void insert_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    lookup_answer *answer = fl_visit_answer(req, index);
    fluss_error_t err;
    const fluss_code_t rc = insert(req, index, tablet, &err);
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
    if (answer->error_code == FLUSS_E_STORAGE_BACKPRESSURE) { /* only puts of version 2 know it */
        answer->error_code = FLUSS_E_KV_STORAGE_EXCEPTION;
    }
}

static const fl_write_steps insert_steps = {
    .each = insert_each, .failed = insert_not_synced, .done = look_up};

static fluss_code_t lookup_begin(fl_request *req, bool inserts, fluss_error_t *err)
{
    const fl_msg_lookup_request *asked = req->message;
    const size_t count = asked->buckets_req_count, size = sizeof(lookup_answer);
    if (!inserts) {
        return fl_visit_new(req, sizeof(fl_visit), count, size, err);
    }
    if (!asked->has_acks || !asked->has_timeout_ms) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "a lookup with insert_if_not_exists needs acks and timeout_ms");
    }
    FL_TRY(fl_check_write(req, asked->acks, err));
    return fl_write_join_new(req, &insert_steps, count, size, asked->timeout_ms, err);
}

void fl_handle_lookup(fl_request *req)
{
    const fl_msg_lookup_request *asked = req->message;
    const bool inserts = asked->has_insert_if_not_exists && asked->insert_if_not_exists;
    fluss_error_t err;
    if (lookup_begin(req, inserts, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    for (size_t i = 0; i < asked->buckets_req_count; i++) {
        const fl_msg_pb_lookup_req_for_bucket *bucket = &asked->buckets_req[i];
        lookup_answer *answer = fl_visit_answer(req, i);
        FL_SET_BUCKET(req->state, i, answer, asked->table_id, bucket);
        answer->has_original_partition_name = bucket->has_original_partition_name;
        answer->original_partition_name = bucket->original_partition_name;
    }
    if (inserts) {
        fl_visit_run(req);
    } else {
        look_up(req);
    }
}

/* ---- PREFIX_LOOKUP ---- */

typedef fl_msg_pb_prefix_lookup_resp_for_bucket prefix_answer;

/* All values of one prefix. They are counted first, so that the list's array can be taken at once.
 */
static fluss_code_t list_prefix(fl_request *req, fl_kv_tablet *kv, fl_slice prefix,
                                value_sink *sink, fl_msg_pb_value_list *list, fluss_error_t *err)
{
    fl_kv_scan *scan;
    fl_slice value;
    fluss_code_t rc = 0;
    size_t count = 0;
    for (int pass = 0; pass < 2 && rc == 0; pass++) {
        FL_TRY(fl_kv_scan_open(kv, prefix, &scan, err));
        size_t at = 0;
        while (rc == 0 && fl_kv_scan_next(scan, &value) && (pass == 0 || at < count)) {
            rc = pass == 0 ? 0 : sink_add(sink, value, &list->values[at], err);
            at++;
        }
        if (rc == 0) {
            rc = fl_kv_scan_status(scan, err);
        }
        fl_kv_scan_close(scan);
        if (pass == 0) {
            count = at;
            list->values = fl_arena_array(&req->arena, count, sizeof(list->values[0]));
            rc = rc == 0 && list->values == NULL ? fl_error_nomem(err) : rc;
        }
        list->values_count = at;
    }
    return rc;
}

static fluss_code_t list_prefixes(fl_request *req,
                                  const fl_msg_pb_prefix_lookup_req_for_bucket *bucket,
                                  fl_tablet *tablet, prefix_answer *answer, fluss_error_t *err)
{
    fl_kv_tablet *kv;
    value_sink sink;
    fluss_code_t rc = 0;
    FL_TRY(fl_tablet_kv(tablet, &kv, err));
    answer->value_lists =
        fl_arena_array(&req->arena, bucket->keys_count, sizeof(answer->value_lists[0]));
    if (answer->value_lists == NULL) {
        return fl_error_nomem(err);
    }
    sink_init(&sink, req);
    for (size_t i = 0; i < bucket->keys_count && rc == 0; i++) {
        rc = list_prefix(req, kv, bucket->keys[i], &sink, &answer->value_lists[i], err);
    }
    if (rc == 0) {
        rc = sink_finish(&sink, err);
    }
    sink_deinit(&sink);
    answer->value_lists_count = rc == 0 ? bucket->keys_count : 0;
    return rc;
}

static void prefix_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    const fl_visit *visit = req->state;
    const fl_msg_prefix_lookup_request *asked = req->message;
    prefix_answer *answer = fl_visit_answer(req, index);
    fluss_error_t err;
    const fluss_code_t rc =
        tablet == NULL ? fl_visit_unknown(req, &visit->keys[index], &err)
                       : list_prefixes(req, &asked->buckets_req[index], tablet, answer, &err);
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void prefix_done(fl_request *req)
{
    const fl_visit *visit = req->state;
    const fl_msg_prefix_lookup_response response = {.buckets_resp = visit->answers,
                                                    .buckets_resp_count = visit->count};
    fl_request_reply(req, &response);
}

void fl_handle_prefix_lookup(fl_request *req)
{
    const fl_msg_prefix_lookup_request *asked = req->message;
    const size_t count = asked->buckets_req_count;
    fluss_error_t err;
    if (fl_visit_new(req, sizeof(fl_visit), count, sizeof(prefix_answer), &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_visit *visit = req->state;
    visit->each = prefix_each;
    visit->done = prefix_done;
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_prefix_lookup_req_for_bucket *bucket = &asked->buckets_req[i];
        prefix_answer *answer = fl_visit_answer(req, i);
        FL_SET_BUCKET(visit, i, answer, asked->table_id, bucket);
    }
    fl_visit_run(req);
}
