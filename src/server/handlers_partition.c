/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions. A spec names every partition key of the table, in any order; the name of a partition
 * is its values in the order of the keys, joined by '$'. */
#include <stdlib.h>

#include "net/loop.h"
#include "server/auto_partition.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

/* ---- specs ---- */

static fl_slice find_value(const fl_msg_pb_partition_spec *spec, const char *key)
{
    for (size_t i = 0; i < spec->partition_key_values_count; i++) {
        if (fl_slice_equal_str(spec->partition_key_values[i].key, key)) {
            return spec->partition_key_values[i].value;
        }
    }
    return (fl_slice){0};
}

/* The values of a spec in key order, checked. @param values in the request's arena */
static fluss_code_t read_spec(fl_request *req, const fl_table_info *info,
                              const fl_msg_pb_partition_spec *spec, bool is_create,
                              fl_slice **values, fluss_error_t *err)
{
    const fl_table_desc *desc = info->desc;
    if (spec->partition_key_values_count != desc->partition_key_count) {
        return fl_error(err, FLUSS_E_PARTITION_SPEC_INVALID, FLUSS_KIND_SERVER,
                        "Table %s.%s has %zu partition keys, the partition spec names %zu.",
                        info->database, info->name, desc->partition_key_count,
                        spec->partition_key_values_count);
    }
    *values = fl_arena_array(&req->arena, desc->partition_key_count, sizeof(**values));
    if (*values == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < desc->partition_key_count; i++) {
        (*values)[i] = find_value(spec, desc->partition_keys[i]);
        if ((*values)[i].data == NULL) {
            return fl_error(err, FLUSS_E_PARTITION_SPEC_INVALID, FLUSS_KIND_SERVER,
                            "The partition spec does not contain the partition key '%s' of table "
                            "%s.%s.",
                            desc->partition_keys[i], info->database, info->name);
        }
        FL_TRY(fl_rules_check_partition_value((*values)[i], is_create, err));
    }
    return 0;
}

static fluss_code_t join_name(fl_arena *arena, const fl_slice *values, size_t count, fl_slice *name,
                              fluss_error_t *err)
{
    size_t size = count;
    for (size_t i = 0; i < count; i++) {
        size += values[i].size;
    }
    uint8_t *text = fl_arena_alloc(arena, size);
    if (text == NULL) {
        return fl_error_nomem(err);
    }
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            text[at++] = '$';
        }
        if (values[i].size != 0) {
            memcpy(text + at, values[i].data, values[i].size);
        }
        at += values[i].size;
    }
    *name = fl_slice_of(text, at);
    return 0;
}

/* "k=v/k2=v2" for messages, as the official server prints specs. */
static const char *print_spec(fl_request *req, const fl_table_info *info, const fl_slice *values)
{
    fl_buf buf;
    fluss_error_t ignored;
    const char *text = NULL;
    fl_buf_init(&buf, 64 << 10);
    for (size_t i = 0; i < info->desc->partition_key_count; i++) {
        if (fl_buf_printf(&buf, &ignored, "%s%s=%.*s", i == 0 ? "" : "/",
                          info->desc->partition_keys[i], FL_SLICE_ARG(values[i])) != 0) {
            break;
        }
    }
    text = fl_arena_strndup(&req->arena, buf.data, buf.size);
    fl_buf_deinit(&buf);
    return text != NULL ? text : "?";
}

/* ---- CREATE_PARTITION, DROP_PARTITION ---- */

typedef struct partition_state {
    fl_table *table;
    fl_partition *partition; /* to be added, or removed */
} partition_state;

static void spread_partition(fl_change *change, bool is_removal, void (*spread)(fl_change *))
{
    fl_request *req = change->context;
    const partition_state *state = req->state;
    change->ops[0] = (fl_tablet_op){.info = fl_table_info_ref(state->table->info),
                                    .partition_id = state->partition->id,
                                    .partition_name = state->partition->name,
                                    .is_removal = is_removal};
    fl_change_spread(change, change->ops, 1, spread);
}

static void create_committed(fl_change *change)
{
    fl_request *req = change->context;
    const partition_state *state = req->state;
    if (change->error.code != 0) {
        fl_table_take_partition(state->table, state->partition);
        fl_partition_free(state->partition);
        fl_request_fail(req, &change->error);
        return;
    }
    spread_partition(change, false, fl_reply_spread);
}

static fluss_code_t check_create(fl_request *req, fl_table *table, const fl_slice *values,
                                 fl_slice *name, fluss_error_t *err)
{
    const fl_settings *settings = &fl_request_server(req)->settings;
    const fl_table_info *info = table->info;
    FL_TRY(join_name(&req->arena, values, info->desc->partition_key_count, name, err));
    FL_TRY(fl_auto_partition_check_value(info, values, fl_wall_ms(), err));
    if (fl_table_partition(table, *name) != NULL) {
        return fl_error(err, FLUSS_E_PARTITION_ALREADY_EXISTS, FLUSS_KIND_SERVER,
                        "Partition '%s' already exists for table %s.%s",
                        print_spec(req, info, values), info->database, info->name);
    }
    if (fl_table_partition_count(table) >= (size_t)settings->partition_max) {
        return fl_error(err, FLUSS_E_PARTITION_MAX_NUM, FLUSS_KIND_SERVER,
                        "Table %s.%s has the largest number of partitions, %d (max.partition.num).",
                        info->database, info->name, (int)settings->partition_max);
    }
    return 0;
}

static fluss_code_t plan_create(fl_request *req, fl_kv_write *write, partition_state *state,
                                fluss_error_t *err)
{
    const fl_msg_create_partition_request *asked = req->message;
    fl_slice *values, name;
    FL_TRY(fl_find_partitioned(req, &asked->table_path, &state->table, err));
    FL_TRY(read_spec(req, state->table->info, &asked->partition_spec, true, &values, err));
    FL_TRY(check_create(req, state->table, values, &name, err));
    state->partition =
        fl_partition_new(fl_catalog_new_partition_id(fl_request_server(req)->catalog, write), name);
    if (state->partition == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_catalog_put_partition(write, state->table->id, state->partition, err));
    FL_TRY(fl_change_reserve(req->change, &req->arena, 1, err));
    return fl_table_add_partition(state->table, state->partition) ? 0 : fl_error_nomem(err);
}

void fl_handle_create_partition(fl_request *req)
{
    const fl_msg_create_partition_request *asked = req->message;
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, sizeof(partition_state));
    if (write == NULL) {
        return;
    }
    partition_state *state = req->state;
    const fluss_code_t rc = plan_create(req, write, state, &err);
    if (rc == 0) {
        fl_change_commit(req->change, write, create_committed);
        return;
    }
    fl_kv_write_free(write);
    fl_partition_free(state->partition);
    /* The flag is misnamed in the protocol: it means "if it exists". */
    fl_request_fail_unless(
        req, rc == FLUSS_E_PARTITION_ALREADY_EXISTS && asked->ignore_if_not_exists, &err);
}

static void drop_spread(fl_change *change)
{
    fl_request *req = change->context;
    const partition_state *state = req->state;
    fl_tablet_ops_release(change);
    fl_partition_free(state->partition);
    fl_request_reply_empty(req);
}

static void drop_committed(fl_change *change)
{
    fl_request *req = change->context;
    const partition_state *state = req->state;
    if (change->error.code != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    fl_table_take_partition(state->table, state->partition);
    spread_partition(change, true, drop_spread);
}

static fluss_code_t find_dropped(fl_request *req, partition_state *state, fluss_error_t *err)
{
    const fl_msg_drop_partition_request *asked = req->message;
    fl_slice *values, name;
    FL_TRY(fl_find_partitioned(req, &asked->table_path, &state->table, err));
    const fl_table_info *info = state->table->info;
    FL_TRY(read_spec(req, info, &asked->partition_spec, false, &values, err));
    FL_TRY(join_name(&req->arena, values, info->desc->partition_key_count, &name, err));
    state->partition = fl_table_partition(state->table, name);
    if (state->partition == NULL) {
        return fl_error(err, FLUSS_E_PARTITION_NOT_EXISTS, FLUSS_KIND_SERVER,
                        "Partition '%s' does not exist for table %s.%s",
                        print_spec(req, info, values), info->database, info->name);
    }
    return 0;
}

void fl_handle_drop_partition(fl_request *req)
{
    const fl_msg_drop_partition_request *asked = req->message;
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, sizeof(partition_state));
    if (write == NULL) {
        return;
    }
    partition_state *state = req->state;
    fluss_code_t rc = find_dropped(req, state, &err);
    if (rc == 0) {
        rc = fl_change_reserve(req->change, &req->arena, 1, &err);
    }
    if (rc == 0) {
        fl_catalog_delete_partition(write, state->table->id, state->partition->id);
        fl_change_commit(req->change, write, drop_committed);
        return;
    }
    fl_kv_write_free(write);
    fl_request_fail_unless(req, rc == FLUSS_E_PARTITION_NOT_EXISTS && asked->ignore_if_not_exists,
                           &err);
}

/* ---- LIST_PARTITION_INFOS ---- */

/* Cut a name into the values of the keys. */
static bool split_name(fl_slice name, fl_msg_pb_key_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *end = memchr(name.data, '$', name.size);
        const size_t size = end != NULL ? (size_t)(end - name.data) : name.size;
        if ((end == NULL) != (i + 1 == count)) {
            return false;
        }
        values[i].value = fl_slice_sub(name, 0, size);
        const size_t used = end != NULL ? size + 1 : size;
        name = fl_slice_sub(name, used, name.size - used);
    }
    return true;
}

static bool matches(const fl_msg_pb_partition_spec *spec, const fl_msg_pb_partition_spec *filter)
{
    for (size_t i = 0; i < filter->partition_key_values_count; i++) {
        const fl_msg_pb_key_value *wanted = &filter->partition_key_values[i];
        bool is_equal = false;
        for (size_t j = 0; j < spec->partition_key_values_count; j++) {
            is_equal |= fl_slice_equal(spec->partition_key_values[j].key, wanted->key) &&
                        fl_slice_equal(spec->partition_key_values[j].value, wanted->value);
        }
        if (!is_equal) {
            return false;
        }
    }
    return true;
}

static fluss_code_t check_filter(const fl_table *table, const fl_msg_pb_partition_spec *filter,
                                 fluss_error_t *err)
{
    const fl_table_desc *desc = table->info->desc;
    for (size_t i = 0; i < filter->partition_key_values_count; i++) {
        bool is_key = false;
        for (size_t j = 0; j < desc->partition_key_count; j++) {
            is_key |=
                fl_slice_equal_str(filter->partition_key_values[i].key, desc->partition_keys[j]);
        }
        if (!is_key && table->partitions_by_id != NULL) {
            return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_SERVER,
                            "table %s.%s has no partition key '%.*s'", table->info->database,
                            table->info->name, FL_SLICE_ARG(filter->partition_key_values[i].key));
        }
    }
    return 0;
}

static fluss_code_t fill_info(fl_request *req, const fl_table *table, const fl_partition *partition,
                              fl_msg_pb_partition_info *out, fluss_error_t *err)
{
    const fl_table_desc *desc = table->info->desc;
    const size_t count = desc->partition_key_count;
    fl_msg_pb_key_value *values = fl_arena_array(&req->arena, count, sizeof(values[0]));
    if (values == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        values[i].key = fl_slice_str(desc->partition_keys[i]);
    }
    if (!split_name(fl_slice_str(partition->name), values, count)) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_CORRUPT,
                        "the partition name '%s' has not one value for each key", partition->name);
    }
    out->partition_id = partition->id;
    out->partition_spec.partition_key_values = values;
    out->partition_spec.partition_key_values_count = count;
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = ((const fl_msg_pb_partition_info *)a)->partition_id;
    const int64_t y = ((const fl_msg_pb_partition_info *)b)->partition_id;
    return (x > y) - (x < y);
}

static fluss_code_t list(fl_request *req, fl_msg_list_partition_infos_response *out,
                         fluss_error_t *err)
{
    const fl_msg_list_partition_infos_request *asked = req->message;
    fl_table *table = NULL;
    FL_TRY(fl_find_partitioned(req, &asked->table_path, &table, err));
    if (asked->has_partial_partition_spec) {
        FL_TRY(check_filter(table, &asked->partial_partition_spec, err));
    }
    out->partitions_info = fl_arena_array(&req->arena, fl_table_partition_count(table),
                                          sizeof(out->partitions_info[0]));
    if (out->partitions_info == NULL) {
        return fl_error_nomem(err);
    }
    for (fl_partition *each = table->partitions_by_id; each != NULL; each = each->by_id.next) {
        fl_msg_pb_partition_info *info = &out->partitions_info[out->partitions_info_count];
        FL_TRY(fill_info(req, table, each, info, err));
        if (!asked->has_partial_partition_spec ||
            matches(&info->partition_spec, &asked->partial_partition_spec)) {
            out->partitions_info_count++;
        }
    }
    qsort(out->partitions_info, out->partitions_info_count, sizeof(out->partitions_info[0]),
          compare_ids);
    return 0;
}

void fl_handle_list_partition_infos(fl_request *req)
{
    fl_msg_list_partition_infos_response response = {0};
    fluss_error_t err;
    if (list(req, &response, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}
