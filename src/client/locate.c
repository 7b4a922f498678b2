/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a table: GET_TABLE_INFO, which knows a table as soon as it is made and answers
 * TABLE_NOT_EXIST for others, then metadata until every bucket has a leader. On a cluster the
 * leaders of a new table appear a moment later than the table. */
#include <string.h>

#include "client/metadata.h"
#include "client/op.h"
#include "format/table_desc.h"

typedef struct locating {
    fl_msg_get_table_info_request request;
    char *database, *table;
    const char *partition;
    fl_located *located;
    void (*then)(fl_op *op);
    void *state;   /* the op's own, meanwhile */
    bool is_stale; /* the servers are asked for before the table */
} locating;

static void refresh(fl_op *op);
static void ask_info(fl_op *op);

static void done(fl_op *op)
{
    locating *l = op->state;
    op->state = l->state;
    l->then(op);
}

static bool has_all_leaders(const fl_op *op, const fl_located *located)
{
    const fl_leaders *leaders =
        fl_metadata_leaders(op->client->metadata, located->table_id, located->partition_id);
    if (leaders == NULL || leaders->bucket_count < (size_t)located->bucket_count) {
        return false;
    }
    for (size_t i = 0; i < leaders->bucket_count; i++) {
        if (leaders->leader_ids[i] == FL_NO_LEADER ||
            fl_metadata_server(op->client->metadata, leaders->leader_ids[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static void on_metadata(void *context, const fluss_error_t *failure)
{
    fl_op *op = context;
    const locating *l = op->state;
    fluss_error_t err;
    if (failure != NULL) {
        err = *failure;
        /* The table exists: GET_TABLE_INFO said so. The server asked has not heard of it yet. */
        err.retriable |= err.code == FLUSS_E_TABLE_NOT_EXIST;
    } else {
        if (l->partition != NULL) {
            l->located->partition_id =
                fl_metadata_partition(op->client->metadata, l->located->table_id, l->partition);
        }
        if (has_all_leaders(op, l->located)) {
            done(op);
            return;
        }
        (void)fl_error(&err, FLUSS_E_LEADER_NOT_AVAILABLE, FLUSS_KIND_SERVER,
                       "table %s.%s: not every bucket has a leader", l->database, l->table);
    }
    fl_op_retry_or_fail(op, &err, refresh);
}

static void refresh(fl_op *op)
{
    const locating *l = op->state;
    const fl_metadata_want want = {.database = l->database,
                                   .table = l->table,
                                   .partition = l->partition,
                                   .partition_id = FL_NO_PARTITION};
    fluss_error_t err;
    if (fl_metadata_refresh(op->client->metadata, want, on_metadata, op, &err) != 0) {
        fl_op_fail(op, &err);
    }
}

static fluss_code_t read_info(const locating *l, const fl_msg_get_table_info_response *info,
                              fluss_error_t *err)
{
    fl_table_desc *desc;
    FL_TRY(fl_table_desc_from_json(info->table_json, &desc, err));
    const bool is_partitioned = desc->partition_key_count > 0;
    *l->located = (fl_located){
        .table_id = info->table_id,
        .partition_id = FL_NO_PARTITION,
        .bucket_count = desc->bucket_count,
        .may_be_partitioned = l->located->may_be_partitioned,
        .is_partitioned = is_partitioned,
    };
    fl_table_desc_free(desc);
    if (is_partitioned && l->partition == NULL && !l->located->may_be_partitioned) {
        return fl_error_argument(err, "table %s.%s is partitioned: name a partition", l->database,
                                 l->table);
    }
    if (!is_partitioned && l->partition != NULL) {
        return fl_error(err, FLUSS_E_TABLE_NOT_PARTITIONED, FLUSS_KIND_ARGUMENT,
                        "table %s.%s is not partitioned", l->database, l->table);
    }
    return 0;
}

static void on_info(void *context, const fl_reply *reply, const fluss_error_t *failure,
                    bool was_sent)
{
    (void)was_sent;
    fl_op *op = context;
    fluss_error_t err;
    if (failure != NULL) {
        ((locating *)op->state)->is_stale = true;
        fl_op_retry_or_fail(op, failure, ask_info);
        return;
    }
    if (read_info(op->state, reply->message, &err) != 0) {
        fl_op_fail(op, &err);
        return;
    }
    const locating *l = op->state;
    if (l->located->is_partitioned && l->partition == NULL) {
        done(op);
    } else {
        refresh(op);
    }
}

static void ask_info(fl_op *op)
{
    locating *l = op->state;
    const char *address;
    if (l->is_stale || fl_metadata_coordinator(op->client->metadata, &address, NULL) != 0) {
        l->is_stale = false;
        fl_op_learn_servers(op, ask_info);
        return;
    }
    fluss_error_t err;
    if (fl_op_call(op, address, FL_API_GET_TABLE_INFO, &l->request, on_info, &err) != 0) {
        fl_op_fail(op, &err);
    }
}

void fl_op_locate(fl_op *op, const fl_msg_pb_table_path *path, const char *partition,
                  fl_located *located, void (*then)(fl_op *op))
{
    locating *l = fl_arena_alloc(&op->arena, sizeof(*l));
    fluss_error_t err;
    if (l == NULL) {
        (void)fl_error_nomem(&err);
        fl_op_fail(op, &err);
        return;
    }
    *l = (locating){
        .request.table_path = *path,
        .database =
            fl_arena_strndup(&op->arena, path->database_name.data, path->database_name.size),
        .table = fl_arena_strndup(&op->arena, path->table_name.data, path->table_name.size),
        .partition = partition,
        .located = located,
        .then = then,
        .state = op->state,
    };
    if (l->database == NULL || l->table == NULL) {
        (void)fl_error_nomem(&err);
        fl_op_fail(op, &err);
        return;
    }
    op->state = l;
    ask_info(op);
}
