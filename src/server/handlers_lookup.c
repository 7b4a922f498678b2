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

enum { VALUES_SIZE_MAX = 1 << 30 };

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
    if (sink->count == sink->capacity) {
        const size_t capacity = sink->capacity != 0 ? sink->capacity * 2 : 64;
        fl_slice **places = fl_realloc(sink->places, capacity * sizeof(*places));
        if (places == NULL) {
            return fl_error_nomem(err);
        }
        sink->places = places;
        sink->capacity = capacity;
    }
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

typedef struct lookup_state {
    fl_visit visit;
    fl_msg_pb_lookup_resp_for_bucket *answers;
    fl_write_join join; /* of inserts */
} lookup_state;

static fluss_code_t lookup_keys(fl_request *req, const fl_msg_pb_lookup_req_for_bucket *bucket,
                                fl_kv_tablet *kv, fl_msg_pb_lookup_resp_for_bucket *answer,
                                fluss_error_t *err)
{
    value_sink sink;
    fluss_code_t rc = 0;
    answer->values = fl_arena_array(&req->arena, bucket->keys_count, sizeof(answer->values[0]));
    if (answer->values == NULL) {
        return fl_error_nomem(err);
    }
    sink_init(&sink, req);
    for (size_t i = 0; i < bucket->keys_count && rc == 0; i++) {
        uint8_t *value;
        size_t size;
        rc = fl_kv_tablet_get(kv, bucket->keys[i], &value, &size, err);
        if (rc == 0 && value != NULL) {
            answer->values[i].has_values = true;
            rc = sink_add(&sink, fl_slice_of(value, size), &answer->values[i].values, err);
        }
        fl_free(value);
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
    lookup_state *state = req->state;
    const fl_msg_lookup_request *asked = req->message;
    fl_msg_pb_lookup_resp_for_bucket *answer = &state->answers[index];
    fl_kv_tablet *kv;
    fluss_error_t err;
    if (answer->has_error_code) { /* its insert failed */
        return;
    }
    fluss_code_t rc = tablet == NULL ? fl_visit_unknown(req, &state->visit.keys[index], &err)
                                     : fl_tablet_kv(tablet, &kv, &err);
    if (rc == 0) {
        rc = lookup_keys(req, &asked->buckets_req[index], kv, answer, &err);
    }
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void lookup_done(fl_request *req)
{
    const lookup_state *state = req->state;
    const fl_msg_lookup_response response = {.buckets_resp = state->answers,
                                             .buckets_resp_count = state->visit.count};
    fl_request_reply(req, &response);
}

/* The missing rows are there: now all keys are read. */
static void look_up_inserted(fl_request *req)
{
    lookup_state *state = req->state;
    state->visit.each = lookup_each;
    state->visit.done = lookup_done;
    fl_visit_run(req);
}

static void insert_not_synced(fl_request *req, size_t index, fluss_code_t code, const char *reason)
{
    const lookup_state *state = req->state;
    fl_msg_pb_lookup_resp_for_bucket *answer = &state->answers[index];
    answer->has_error_code = answer->has_error_message = true;
    answer->error_code = code;
    answer->error_message = fl_slice_str(reason);
}

static fluss_code_t insert(fl_request *req, size_t index, fl_tablet *tablet, fluss_error_t *err)
{
    lookup_state *state = req->state;
    const fl_msg_lookup_request *asked = req->message;
    const fl_msg_pb_lookup_req_for_bucket *bucket = &asked->buckets_req[index];
    fl_log_appended appended;
    if (tablet == NULL) {
        return fl_visit_unknown(req, &state->visit.keys[index], err);
    }
    FL_TRY(fl_tablet_insert_missing(tablet, bucket->keys, bucket->keys_count, &appended, err));
    if (fl_request_server(req)->syncs && appended.log_end_offset >= 0) {
        fl_write_join_sync(&state->join, index, tablet, appended.log_end_offset);
    }
    return 0;
}

static void insert_each(fl_request *req, size_t index, fl_tablet *tablet)
{
    lookup_state *state = req->state;
    fluss_error_t err;
    const fluss_code_t rc = insert(req, index, tablet, &err);
    FL_SET_BUCKET_ERROR(req, &state->answers[index], rc, &err);
}

static void insert_walked(fl_request *req)
{
    lookup_state *state = req->state;
    fl_write_join_walked(&state->join);
}

static fluss_code_t lookup_prepare(fl_request *req, lookup_state **out, fluss_error_t *err)
{
    const fl_msg_lookup_request *asked = req->message;
    const size_t count = asked->buckets_req_count;
    lookup_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_visit_init(&state->visit, req, count, err));
    state->answers = fl_arena_array(&req->arena, count, sizeof(state->answers[0]));
    if (state->answers == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_write_join_init(&state->join, req, count, insert_not_synced, look_up_inserted, err));
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_lookup_req_for_bucket *bucket = &asked->buckets_req[i];
        fl_msg_pb_lookup_resp_for_bucket *answer = &state->answers[i];
        state->visit.keys[i] = (fl_tablet_key){
            .table_id = asked->table_id,
            .partition_id = fl_optional_id(bucket->has_partition_id, bucket->partition_id),
            .bucket = bucket->bucket_id};
        answer->bucket_id = bucket->bucket_id;
        answer->has_partition_id = bucket->has_partition_id;
        answer->partition_id = bucket->partition_id;
        answer->has_original_partition_name = bucket->has_original_partition_name;
        answer->original_partition_name = bucket->original_partition_name;
    }
    *out = state;
    return 0;
}

void fl_handle_lookup(fl_request *req)
{
    const fl_msg_lookup_request *asked = req->message;
    const bool inserts = asked->has_insert_if_not_exists && asked->insert_if_not_exists;
    lookup_state *state = NULL;
    fluss_error_t err;
    fluss_code_t rc = 0;
    if (inserts && (!asked->has_acks || !asked->has_timeout_ms)) {
        rc = fl_error(&err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                      "a lookup with insert_if_not_exists needs acks and timeout_ms");
    } else if (inserts) {
        rc = fl_check_write(req, asked->acks, &err);
    }
    if (rc != 0 || lookup_prepare(req, &state, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    req->state = state;
    state->visit.each = inserts ? insert_each : lookup_each;
    state->visit.done = inserts ? insert_walked : lookup_done;
    fl_visit_run(req);
}

/* ---- PREFIX_LOOKUP ---- */

typedef struct prefix_state {
    fl_visit visit;
    fl_msg_pb_prefix_lookup_resp_for_bucket *answers;
} prefix_state;

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
                                  fl_tablet *tablet,
                                  fl_msg_pb_prefix_lookup_resp_for_bucket *answer,
                                  fluss_error_t *err)
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
    prefix_state *state = req->state;
    const fl_msg_prefix_lookup_request *asked = req->message;
    fl_msg_pb_prefix_lookup_resp_for_bucket *answer = &state->answers[index];
    fluss_error_t err;
    const fluss_code_t rc =
        tablet == NULL ? fl_visit_unknown(req, &state->visit.keys[index], &err)
                       : list_prefixes(req, &asked->buckets_req[index], tablet, answer, &err);
    FL_SET_BUCKET_ERROR(req, answer, rc, &err);
}

static void prefix_done(fl_request *req)
{
    const prefix_state *state = req->state;
    const fl_msg_prefix_lookup_response response = {.buckets_resp = state->answers,
                                                    .buckets_resp_count = state->visit.count};
    fl_request_reply(req, &response);
}

static fluss_code_t prefix_prepare(fl_request *req, fluss_error_t *err)
{
    const fl_msg_prefix_lookup_request *asked = req->message;
    const size_t count = asked->buckets_req_count;
    prefix_state *state = fl_arena_alloc(&req->arena, sizeof(*state));
    if (state == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_visit_init(&state->visit, req, count, err));
    state->answers = fl_arena_array(&req->arena, count, sizeof(state->answers[0]));
    if (state->answers == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_prefix_lookup_req_for_bucket *bucket = &asked->buckets_req[i];
        state->visit.keys[i] = (fl_tablet_key){
            .table_id = asked->table_id,
            .partition_id = fl_optional_id(bucket->has_partition_id, bucket->partition_id),
            .bucket = bucket->bucket_id};
        state->answers[i].bucket_id = bucket->bucket_id;
        state->answers[i].has_partition_id = bucket->has_partition_id;
        state->answers[i].partition_id = bucket->partition_id;
    }
    state->visit.each = prefix_each;
    state->visit.done = prefix_done;
    req->state = state;
    return 0;
}

void fl_handle_prefix_lookup(fl_request *req)
{
    fluss_error_t err;
    if (prefix_prepare(req, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_visit_run(req);
}
