/* SPDX-License-Identifier: Apache-2.0 */
/* Producer offsets: a job notes the log offsets at which it began, and asks for them after a crash.
 * The first note of a producer stays until it is deleted or its time is over. One record each in
 * the catalog's family:
 *
 *   o/PRODUCER_ID    expiration i64 LE, ms since 1970 · GetProducerOffsetsResponse
 *
 * Source: CoordinatorService.registerProducerOffsets, Fluss 1.0. */
#include <stdio.h>

#include "base/alloc.h"
#include "net/loop.h"
#include "server/access.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

enum { KEY_SIZE_MAX = FL_NAME_SIZE_MAX + 3, RECORD_SIZE_MAX = 16 << 20, EXPIRATION_SIZE = 8 };

typedef struct record {
    uint8_t *data; /* NULL: none, or its time is over */
    size_t size;
    int64_t expiration_ms;
} record;

static fluss_code_t make_key(fl_slice producer_id, char key[KEY_SIZE_MAX], fl_slice *out,
                             fluss_error_t *err)
{
    if (fl_rules_check_table_name(producer_id, err) != 0) {
        fl_error_prefix(err, "producer id: ");
        err->code = FLUSS_E_INVALID_PRODUCER_ID;
        return err->code;
    }
    const int size = snprintf(key, KEY_SIZE_MAX, "o/%.*s", FL_SLICE_ARG(producer_id));
    *out = fl_slice_of(key, (size_t)size);
    return 0;
}

/* The live record of a producer. found->data gives (fl_free). */
static fluss_code_t load(fl_request *req, fl_slice key, record *found, fluss_error_t *err)
{
    bool exists = false;
    *found = (record){0};
    FL_TRY(fl_kv_get(fl_request_server(req)->kv, FL_KV_CATALOG, key, &found->data, &found->size,
                     &exists, err));
    if (exists && found->size >= EXPIRATION_SIZE) {
        found->expiration_ms = fl_load_i64(found->data);
    }
    if (found->expiration_ms <= fl_wall_ms()) {
        fl_free(found->data);
        *found = (record){0};
    }
    return 0;
}

static fluss_code_t encode(const fl_msg_register_producer_offsets_request *asked,
                           int64_t expiration_ms, fl_buf *out, fluss_error_t *err)
{
    const fl_msg_get_producer_offsets_response kept = {.has_producer_id = true,
                                                       .producer_id = asked->producer_id,
                                                       .has_expiration_time = true,
                                                       .expiration_time = expiration_ms,
                                                       .table_offsets = asked->table_offsets,
                                                       .table_offsets_count =
                                                           asked->table_offsets_count};
    fl_gather gather;
    struct iovec parts[16];
    uint8_t expiration[EXPIRATION_SIZE];
    fl_store_i64(expiration, expiration_ms);
    fl_gather_init(&gather);
    fluss_code_t rc =
        fl_msg_encode(&fl_msg_desc_get_producer_offsets_response, &kept, &gather, err);
    if (rc == 0) {
        rc = fl_buf_append(out, expiration, sizeof(expiration), err);
    }
    for (size_t at = 0; rc == 0 && at < gather.size;) {
        const size_t count = fl_gather_iov(&gather, at, parts, FL_COUNT_OF(parts));
        for (size_t i = 0; rc == 0 && i < count; i++) {
            rc = fl_buf_append(out, parts[i].iov_base, parts[i].iov_len, err);
            at += parts[i].iov_len;
        }
    }
    fl_gather_deinit(&gather);
    return rc;
}

static void reply_result(fl_request *req, int32_t result)
{
    const fl_msg_register_producer_offsets_response response = {.has_result = true,
                                                                .result = result};
    fl_request_reply(req, &response);
}

static void registered(fl_change *change)
{
    if (change->error.code != 0) {
        fl_request_fail(change->context, &change->error);
    } else {
        reply_result(change->context, 0);
    }
}

static fluss_code_t plan_register(fl_request *req, fl_kv_write *write, bool *is_known,
                                  fluss_error_t *err)
{
    const fl_msg_register_producer_offsets_request *asked = req->message;
    char room[KEY_SIZE_MAX];
    fl_slice key;
    record found;
    fl_buf value;
    int64_t expiration_ms;
    const int64_t ttl_ms =
        asked->has_ttl_ms ? asked->ttl_ms : fl_request_server(req)->settings.producer_offsets_ttl;
    FL_TRY(make_key(asked->producer_id, room, &key, err));
    FL_TRY(load(req, key, &found, err));
    *is_known = found.data != NULL;
    fl_free(found.data);
    if (*is_known) {
        return 0;
    }
    if (ttl_ms <= 0 || __builtin_add_overflow(fl_wall_ms(), ttl_ms, &expiration_ms)) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "a time to live of %lld ms", (long long)ttl_ms);
    }
    fl_buf_init(&value, RECORD_SIZE_MAX);
    const fluss_code_t rc = encode(asked, expiration_ms, &value, err);
    if (rc == 0) {
        fl_kv_write_put(write, FL_KV_CATALOG, key, fl_buf_slice(&value));
    }
    fl_buf_deinit(&value);
    return rc;
}

void fl_handle_register_producer_offsets(fl_request *req)
{
    fluss_error_t err;
    bool is_known = false;
    fl_kv_write *write = fl_plan_begin(req, 0);
    if (write == NULL) {
        return;
    }
    const fluss_code_t rc = plan_register(req, write, &is_known, &err);
    if (rc == 0 && !is_known) {
        fl_change_commit(req->change, write, registered);
        return;
    }
    fl_kv_write_free(write);
    if (rc == 0) {
        reply_result(req, 1);
    } else {
        fl_request_fail(req, &err);
    }
}

static fluss_code_t read_offsets(fl_request *req, fl_slice producer_id,
                                 fl_msg_get_producer_offsets_response *out, fluss_error_t *err)
{
    char room[KEY_SIZE_MAX];
    fl_slice key;
    record found;
    FL_TRY(make_key(producer_id, room, &key, err));
    FL_TRY(load(req, key, &found, err));
    if (found.data == NULL) {
        return 0;
    }
    fl_frame *frame =
        fl_frame_copy(fl_slice_of(found.data + EXPIRATION_SIZE, found.size - EXPIRATION_SIZE));
    fl_free(found.data);
    if (frame == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_request_keep(req, frame, err));
    return fl_msg_decode(&fl_msg_desc_get_producer_offsets_response, fl_frame_slice(frame),
                         &req->arena, out, err);
}

/* Leave out the tables that the user may not read. */
static void filter_tables(fl_request *req, fl_msg_get_producer_offsets_response *out)
{
    const size_t count = out->table_offsets_count;
    out->table_offsets_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (fl_access_allows_table_id(req, FL_OPERATION_READ, out->table_offsets[i].table_id)) {
            out->table_offsets[out->table_offsets_count++] = out->table_offsets[i];
        }
    }
}

void fl_handle_get_producer_offsets(fl_request *req)
{
    fl_msg_get_producer_offsets_response response = {0};
    fluss_error_t err;
    const fl_msg_get_producer_offsets_request *asked = req->message;
    if (read_offsets(req, asked->producer_id, &response, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    filter_tables(req, &response);
    fl_request_reply(req, &response);
}

static void deleted(fl_change *change)
{
    if (change->error.code != 0) {
        fl_request_fail(change->context, &change->error);
    } else {
        fl_request_reply_empty(change->context);
    }
}

/* The user must be allowed to write all tables of the record. */
static fluss_code_t check_delete(fl_request *req, fl_slice producer_id, fluss_error_t *err)
{
    fl_msg_get_producer_offsets_response found = {0};
    FL_TRY(read_offsets(req, producer_id, &found, err));
    for (size_t i = 0; i < found.table_offsets_count; i++) {
        FL_TRY(fl_access_require_table_id(req, FL_OPERATION_WRITE, found.table_offsets[i].table_id,
                                          err));
    }
    return 0;
}

void fl_handle_delete_producer_offsets(fl_request *req)
{
    const fl_msg_delete_producer_offsets_request *asked = req->message;
    char room[KEY_SIZE_MAX];
    fl_slice key;
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, 0);
    if (write == NULL) {
        return;
    }
    if (check_delete(req, asked->producer_id, &err) != 0 ||
        make_key(asked->producer_id, room, &key, &err) != 0) {
        fl_kv_write_free(write);
        fl_request_fail(req, &err);
        return;
    }
    fl_kv_write_delete(write, FL_KV_CATALOG, key);
    fl_change_commit(req->change, write, deleted);
}
