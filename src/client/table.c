/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a table: GET_TABLE_INFO, and everything that follows from its description, worked out
 * once. */
#include "client/table.h"

#include <string.h>

#include "base/alloc.h"
#include "client/hash_choice.h"
#include "client/metadata.h"
#include "client/op.h"

fl_table *fl_table_ref(fl_table *table)
{
    (void)atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
    return table;
}

void fl_table_unref(fl_table *table)
{
    if (table == NULL || atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (size_t i = 0; i < table->known_schema_count; i++) {
        fl_schema_unref(table->known_schemas[i].schema);
    }
    fl_free(table->known_schemas);
    fluss_schema_free(table->public_schema);
    fl_table_desc_free(table->desc);
    fl_arena_deinit(&table->arena);
    (void)pthread_mutex_destroy(&table->lock);
    fl_free(table);
}

/* ---- schemas by id ---- */

fl_schema *fl_table_find_schema(fl_table *table, int32_t schema_id)
{
    fl_schema *found = NULL;
    (void)pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->known_schema_count && found == NULL; i++) {
        if (table->known_schemas[i].id == schema_id) {
            found = fl_schema_ref(table->known_schemas[i].schema);
        }
    }
    (void)pthread_mutex_unlock(&table->lock);
    return found;
}

/* takes the reference. */
static fluss_code_t keep_schema(fl_table *table, int32_t schema_id, fl_schema *schema,
                                fluss_error_t *err)
{
    (void)pthread_mutex_lock(&table->lock);
    fl_known_schema *grown = fl_realloc(table->known_schemas, (table->known_schema_count + 1) *
                                                                  sizeof(*table->known_schemas));
    if (grown != NULL) {
        table->known_schemas = grown;
        grown[table->known_schema_count++] = (fl_known_schema){.id = schema_id, .schema = schema};
    }
    (void)pthread_mutex_unlock(&table->lock);
    if (grown == NULL) {
        fl_schema_unref(schema);
        return fl_error_nomem(err);
    }
    return 0;
}

/* A schema on its way. Schemas are asked for by the table's name, which may be that of another
 * table by then: the schema is the table's own only if the name still was afterwards. */
typedef struct schema_fetch {
    fl_table *table; /* shares */
    int32_t schema_id;
    fl_schema *schema; /* shares; NULL until it is there */
    fl_table_schema_done done;
    void *context;
} schema_fetch;

static void free_fetch(schema_fetch *f)
{
    fl_schema_unref(f->schema);
    fl_table_unref(f->table);
    fl_free(f);
}

static void end_fetch(schema_fetch *f, const fluss_error_t *err)
{
    f->done(f->context, err);
    free_fetch(f);
}

static void on_owner(void *context, const fl_reply *reply, const fluss_error_t *failure,
                     bool was_sent)
{
    (void)was_sent;
    schema_fetch *f = context;
    fluss_error_t err;
    fluss_code_t rc = fl_metadata_check_owner(f->table->database, f->table->name,
                                              f->table->table_id, reply, failure, &err);
    if (rc == 0) {
        rc = keep_schema(f->table, f->schema_id, fl_schema_ref(f->schema), &err);
    }
    end_fetch(f, rc == 0 ? NULL : &err);
}

static void on_schema(void *context, const fl_reply *reply, const fluss_error_t *failure,
                      bool was_sent)
{
    (void)was_sent;
    schema_fetch *f = context;
    if (failure != NULL) {
        end_fetch(f, failure);
        return;
    }
    const fl_msg_get_table_schema_response *response = reply->message;
    fluss_error_t err;
    fluss_code_t rc = 0;
    if (response->schema_id != f->schema_id) {
        rc =
            fl_error_corrupt(&err, "table %s.%s: schema %d came, %d was asked for",
                             f->table->database, f->table->name, response->schema_id, f->schema_id);
    } else {
        rc = fl_schema_from_json(response->schema_json, &f->schema, &err);
    }
    if (rc == 0) {
        rc = fl_metadata_ask_owner(f->table->client->metadata, f->table->database, f->table->name,
                                   on_owner, f, &err);
    }
    if (rc != 0) {
        end_fetch(f, &err);
    }
}

fluss_code_t fl_table_fetch_schema(fl_table *table, int32_t schema_id, fl_table_schema_done done,
                                   void *context, fluss_error_t *err)
{
    schema_fetch *f = fl_calloc(1, sizeof(*f));
    if (f == NULL) {
        return fl_error_nomem(err);
    }
    *f = (schema_fetch){
        .table = fl_table_ref(table), .schema_id = schema_id, .done = done, .context = context};
    const fl_msg_get_table_schema_request request = {
        .table_path = fl_metadata_path(table->database, table->name),
        .has_schema_id = true,
        .schema_id = schema_id,
    };
    const fluss_code_t rc = fl_metadata_ask_coordinator(
        f->table->client->metadata, FL_API_GET_TABLE_SCHEMA, &request, on_schema, f, err);
    if (rc != 0) {
        free_fetch(f);
    }
    return rc;
}

/* ---- the table itself ---- */

static fluss_code_t find_columns(fl_table *table, const char *const *names, size_t count,
                                 uint32_t **out, fluss_error_t *err)
{
    *out = fl_arena_array(&table->arena, count, sizeof(**out));
    if (*out == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t column = fl_schema_find(table->schema, names[i], strlen(names[i]));
        if (column < 0) {
            return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_SERVER,
                            "table %s.%s: key column '%.100s' is not in its schema",
                            table->database, table->name, names[i]);
        }
        (*out)[i] = (uint32_t)column;
    }
    return 0;
}

static fluss_code_t find_keys(fl_table *table, fluss_error_t *err)
{
    const fl_table_desc *desc = table->desc;
    FL_TRY(find_columns(table, desc->bucket_keys, desc->bucket_key_count, &table->bucket_key, err));
    FL_TRY(find_columns(table, desc->partition_keys, desc->partition_key_count,
                        &table->partition_key, err));
    table->physical_key = fl_arena_array(&table->arena, table->schema->primary_key_count,
                                         sizeof(*table->physical_key));
    if (table->physical_key == NULL) {
        return fl_error_nomem(err);
    }
    table->physical_key_count = fl_table_physical_key(desc, table->physical_key);
    table->types =
        fl_arena_array(&table->arena, table->schema->column_count, sizeof(*table->types));
    if (table->types == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < table->schema->column_count; i++) {
        table->types[i] = &table->schema->columns[i].type;
    }
    return 0;
}

static fluss_code_t fill_info(fl_table *table, const fl_msg_get_table_info_response *response,
                              fluss_error_t *err)
{
    const fl_table_desc *desc = table->desc;
    const size_t key_count = table->schema->primary_key_count;
    const char **keys = fl_arena_array(&table->arena, key_count, sizeof(*keys));
    if (keys == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < key_count; i++) {
        keys[i] = table->schema->columns[table->schema->primary_key[i]].name;
    }
    FL_TRY(fl_client_schema_wrap(table->schema, &table->public_schema, err));
    table->info = (fluss_table_info_t){
        .size = sizeof(table->info),
        .path = {.database = table->database, .table = table->name},
        .table_id = table->table_id,
        .created_ms = response->created_time,
        .modified_ms = response->modified_time,
        .schema_id = table->schema_id,
        .buckets = table->bucket_count,
        .schema = table->public_schema,
        .comment = desc->comment,
        .primary_keys = keys,
        .n_primary_keys = key_count,
        .bucket_keys = desc->bucket_keys,
        .n_bucket_keys = desc->bucket_key_count,
        .partition_keys = desc->partition_keys,
        .n_partition_keys = desc->partition_key_count,
        .properties = desc->properties,
        .n_properties = desc->property_count,
        .custom = desc->custom,
        .n_custom = desc->custom_count,
    };
    return 0;
}

static fluss_code_t fill_table(fl_table *table, fl_slice database, fl_slice name,
                               const fl_msg_get_table_info_response *info, fluss_error_t *err)
{
    table->database = fl_arena_strndup(&table->arena, database.data, database.size);
    table->name = fl_arena_strndup(&table->arena, name.data, name.size);
    if (table->database == NULL || table->name == NULL) {
        return fl_error_nomem(err);
    }
    table->table_id = info->table_id;
    table->schema_id = info->schema_id;
    FL_TRY(fl_table_desc_from_json(info->table_json, &table->desc, err));
    table->schema = table->desc->schema;
    table->bucket_count = table->desc->bucket_count > 0 ? table->desc->bucket_count : 1;
    FL_TRY(fl_table_settings_read(table->desc, &table->arena, &table->settings, err));
    FL_TRY(find_keys(table, err));
    FL_TRY(fill_info(table, info, err));
    return keep_schema(table, table->schema_id, fl_schema_ref(table->schema), err);
}

fluss_code_t fl_table_new(fl_client *client, fl_slice database, fl_slice name,
                          const fl_msg_get_table_info_response *info, fl_table **out,
                          fluss_error_t *err)
{
    fl_table *table = fl_calloc(1, sizeof(*table));
    if (table == NULL) {
        return fl_error_nomem(err);
    }
    atomic_init(&table->refs, 1);
    table->client = client;
    fl_arena_init(&table->arena);
    (void)pthread_mutex_init(&table->lock, NULL);
    const fluss_code_t rc = fill_table(table, database, name, info, err);
    if (rc != 0) {
        fl_error_prefix(err, "description of table %.*s.%.*s: ", (int)database.size,
                        (const char *)database.data, (int)name.size, (const char *)name.data);
        fl_table_unref(table);
        return rc;
    }
    *out = table;
    return 0;
}

/* ---- public ---- */

static fluss_code_t finish_open(fl_op *op, const fl_reply *reply, fl_value *value,
                                fluss_error_t *err)
{
    const fl_msg_get_table_info_request *request = op->request;
    fluss_table_t *handle = fl_calloc(1, sizeof(*handle));
    if (handle == NULL) {
        return fl_error_nomem(err);
    }
    const fluss_code_t rc =
        fl_table_new(op->client, request->table_path.database_name, request->table_path.table_name,
                     reply->message, &handle->table, err);
    if (rc != 0) {
        fl_free(handle);
        return rc;
    }
    handle->client = fl_client_ref(op->client);
    *value = (fl_value){.kind = FL_VALUE_TABLE, .v.object = handle};
    return 0;
}

static void after_open(fl_op *op, fl_value value)
{
    fluss_table_t *handle = value.v.object;
    handle->table->hash = op->client->config->bucket_hash.number == FL_HASH_SETTING_RUST
                              ? FL_HASH_RUST
                              : FL_HASH_JAVA;
    if (fl_hash_needs_probe(handle->table)) {
        fl_hash_probe(op, value);
    } else {
        fl_op_complete(op, value);
    }
}

static const fl_op_kind open_table_kind = {
    .key = FL_API_GET_TABLE_INFO,
    .target = FL_TARGET_COORDINATOR,
    .is_read = true,
    .request_size = sizeof(fl_msg_get_table_info_request),
    .finish = finish_open,
    .after = after_open,
};

fluss_future_t *fluss_open_table(fluss_conn_t *conn, fluss_path_t path)
{
    fl_op *op = fl_op_new(conn != NULL ? conn->client : NULL, &open_table_kind);
    fl_msg_get_table_info_request *request = op != NULL ? op->request : NULL;
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
    }
    return fl_op_submit(op);
}

const fluss_table_info_t *fluss_table_info(const fluss_table_t *table)
{
    return table != NULL ? &table->table->info : NULL;
}

void fluss_table_free(fluss_table_t *table)
{
    if (table != NULL) {
        fl_client *client = table->client;
        fl_table_unref(table->table);
        fl_free(table);
        fl_client_unref(client);
    }
}
