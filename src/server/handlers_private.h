/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers share. */
#ifndef FL_HANDLERS_PRIVATE_H
#define FL_HANDLERS_PRIVATE_H
#include "protocol/messages.h"
#include "server/catalog.h"
#include "server/request.h"

/** Fill error_code and error_message of a bucket's answer when rc is not 0. The message is copied
 * into the request's arena. */
#define FL_SET_BUCKET_ERROR(req, answer, rc, err)                            \
    do {                                                                     \
        if ((rc) != 0) {                                                     \
            (answer)->has_error_code = true;                                 \
            (answer)->error_code = fl_wire_code((err)->code);                \
            (answer)->error_message = fl_request_text(req, (err)->message);  \
            (answer)->has_error_message = (answer)->error_message.size != 0; \
        }                                                                    \
    } while (0)

/** Name the bucket of a request at its place of the visit, and in its answer. */
#define FL_SET_BUCKET(visit, index, answer, id_of_table, bucket)            \
    do {                                                                    \
        fl_visit_set(visit, index, id_of_table, (bucket)->has_partition_id, \
                     (bucket)->partition_id, (bucket)->bucket_id);          \
        (answer)->bucket_id = (bucket)->bucket_id;                          \
        (answer)->has_partition_id = (bucket)->has_partition_id;            \
        (answer)->partition_id = (bucket)->partition_id;                    \
    } while (0)

/** The code as it may travel: what only callers of the library know becomes -1. */
static inline int32_t fl_wire_code(fluss_code_t code)
{
    return code == FLUSS_E_CLIENT ? FLUSS_E_SERVER_UNKNOWN : code;
}

/** The table of a path. @return FLUSS_E_TABLE_NOT_EXIST names it. Thread: shard 0. */
FLUSS_CHECKED fluss_code_t fl_find_table(fl_request *req, const fl_msg_pb_table_path *path,
                                         fl_table **table, fluss_error_t *err);
/** The same; also that it is partitioned. @return FLUSS_E_TABLE_NOT_PARTITIONED */
FLUSS_CHECKED fluss_code_t fl_find_partitioned(fl_request *req, const fl_msg_pb_table_path *path,
                                               fl_table **table, fluss_error_t *err);
/** What holds for every write: valid acks, room on the disk. Thread: any. */
FLUSS_CHECKED fluss_code_t fl_check_write(fl_request *req, int32_t acks, fluss_error_t *err);
/** A frame's content for a response, kept with the request. @return no memory */
FLUSS_CHECKED fluss_code_t fl_request_keep_text(fl_request *req, fl_frame *frame, fl_slice *text,
                                                fluss_error_t *err);
/** Print a slice with %.*s. */
#define FL_SLICE_ARG(slice) \
    (int)((slice).size < 256 ? (slice).size : 256), (const char *)(slice).data

/** Answer that memory is out. */
static inline void fl_request_fail_nomem(fl_request *request)
{
    fluss_error_t err;
    (void)fl_error_nomem(&err);
    fl_request_fail(request, &err);
}

/**
 * Begin to plan a change of the catalog.
 *
 * @param state_size bytes of request->state, zeroed
 * @return the write of fl_change_commit, else ended by fl_kv_write_free; NULL: no memory, which was
 * answered
 */
static inline fl_kv_write *fl_plan_begin(fl_request *request, size_t state_size)
{
    fl_kv_write *write = fl_kv_write_new();
    request->state = fl_arena_alloc(&request->arena, state_size);
    if (write != NULL && request->state != NULL) {
        return write;
    }
    fl_kv_write_free(write);
    fl_request_fail_nomem(request);
    return NULL;
}

/** Answer with an error, or that all is well where the request wants the error ignored. */
static inline void fl_request_fail_unless(fl_request *request, bool is_ignored,
                                          const fluss_error_t *error)
{
    if (is_ignored) {
        fl_request_reply_empty(request);
    } else {
        fl_request_fail(request, error);
    }
}

/** The last step of a change of tablets (fl_change_spread): an empty response. */
static inline void fl_reply_spread(fl_change *change)
{
    fl_tablet_ops_release(change);
    fl_request_reply_empty(change->context);
}

#endif
