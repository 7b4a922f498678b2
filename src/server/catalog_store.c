/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the catalog. Keys are text, numbers in them have 20 digits so that they sort;
 * values are JSON with "version": 1; a higher version is refused.
 *
 *   d/NAME                    database: json, created_ms, modified_ms
 *   t/TABLE_ID                table: database, name, json, older_schemas, created_ms, modified_ms
 *   p/TABLE_ID/PARTITION_ID   partition: name
 *   a/[ACL]                   an ACL, all of it in the key, a JSON array: resource type and name,
 *                             principal type and name, host, operation, permission
 *   s/KEY                     a setting that was changed at run time: value
 *   g/SERVER_ID               the tag of a server: tag
 *   r/last                    the last rebalance: id
 *   c/table, c/partition      the next id
 *   c/writer                  no writer id from here on was given away
 *   i/TABLE_ID                see id_blocks.c
 *   o/PRODUCER_ID             see handlers_producer.c */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/catalog_private.h"
#include "server/server.h"

enum { RECORD_VERSION = 1, KEY_SIZE_MAX = 256, WRITER_ID_BLOCK = 1000 };

/* ---- writing ---- */

static fl_slice make_key(char room[KEY_SIZE_MAX], const char *format, ...) FL_PRINTF(2, 3);

static fl_slice make_key(char room[KEY_SIZE_MAX], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(room, KEY_SIZE_MAX, format, arguments);
    va_end(arguments);
    FL_ASSERT(size > 0 && size < KEY_SIZE_MAX);
    return fl_slice_of(room, (size_t)size);
}

static fl_slice database_key(char room[KEY_SIZE_MAX], const char *name)
{
    return make_key(room, "d/%s", name);
}

static fl_slice table_key(char room[KEY_SIZE_MAX], int64_t table_id)
{
    return make_key(room, "t/%020" PRId64, table_id);
}

static fl_slice partition_key(char room[KEY_SIZE_MAX], int64_t table_id, int64_t partition_id)
{
    return make_key(room, "p/%020" PRId64 "/%020" PRId64, table_id, partition_id);
}

/* Put an object, which is taken; NULL: it could not be made. */
static fluss_code_t put(fl_kv_write *write, fl_slice key, json_t *object, fluss_error_t *err)
{
    const size_t size = object != NULL ? json_dumpb(object, NULL, 0, JSON_COMPACT) : 0;
    char *text = size != 0 ? fl_alloc(size) : NULL;
    const bool is_made = text != NULL && json_dumpb(object, text, size, JSON_COMPACT) == size;
    json_decref(object);
    if (is_made) {
        fl_kv_write_put(write, FL_KV_CATALOG, key, fl_slice_of(text, size));
    }
    fl_free(text);
    return is_made ? 0 : fl_error_nomem(err);
}

fluss_code_t fl_catalog_put_database(fl_kv_write *write, const fl_database *database,
                                     fluss_error_t *err)
{
    char room[KEY_SIZE_MAX];
    return put(write, database_key(room, database->name),
               json_pack("{siss%sIsI}", "version", (int)RECORD_VERSION, "json",
                         (const char *)database->json->data, database->json->size, "created_ms",
                         (json_int_t)database->created_ms, "modified_ms",
                         (json_int_t)database->modified_ms),
               err);
}

void fl_catalog_delete_database(fl_kv_write *write, const fl_database *database)
{
    char room[KEY_SIZE_MAX];
    fl_kv_write_delete(write, FL_KV_CATALOG, database_key(room, database->name));
}

fluss_code_t fl_catalog_put_table(fl_kv_write *write, const fl_table_info *info, fluss_error_t *err)
{
    char room[KEY_SIZE_MAX];
    json_t *older = json_array();
    for (int32_t i = 0; i + 1 < info->schema_count; i++) {
        const fl_frame *json = info->schemas[i].json;
        if (json_array_append_new(older, json_stringn((const char *)json->data, json->size)) != 0) {
            json_decref(older);
            return fl_error_nomem(err);
        }
    }
    return put(write, table_key(room, info->table_id),
               json_pack("{sissssss%sosIsI}", "version", (int)RECORD_VERSION, "database",
                         info->database, "name", info->name, "json", (const char *)info->json->data,
                         info->json->size, "older_schemas", older, "created_ms",
                         (json_int_t)info->created_ms, "modified_ms",
                         (json_int_t)info->modified_ms),
               err);
}

void fl_catalog_delete_table(fl_kv_write *write, int64_t table_id)
{
    char from[KEY_SIZE_MAX], to[KEY_SIZE_MAX];
    fl_kv_write_delete(write, FL_KV_CATALOG, table_key(from, table_id));
    fl_kv_write_delete_range(write, FL_KV_CATALOG, partition_key(from, table_id, 0),
                             partition_key(to, table_id, INT64_MAX));
}

fluss_code_t fl_catalog_put_partition(fl_kv_write *write, int64_t table_id,
                                      const fl_partition *partition, fluss_error_t *err)
{
    char room[KEY_SIZE_MAX];
    return put(write, partition_key(room, table_id, partition->id),
               json_pack("{siss}", "version", (int)RECORD_VERSION, "name", partition->name), err);
}

void fl_catalog_delete_partition(fl_kv_write *write, int64_t table_id, int64_t partition_id)
{
    char room[KEY_SIZE_MAX];
    fl_kv_write_delete(write, FL_KV_CATALOG, partition_key(room, table_id, partition_id));
}

/* The key of an ACL. @param key gives (fl_free) */
static fluss_code_t acl_key(const fl_acl *acl, char **key, size_t *size, fluss_error_t *err)
{
    json_t *parts =
        json_pack("[is%s%s%s%ii]", (int)acl->resource_type, (const char *)acl->resource_name.data,
                  acl->resource_name.size, (const char *)acl->principal_type.data,
                  acl->principal_type.size, (const char *)acl->principal_name.data,
                  acl->principal_name.size, (const char *)acl->host.data, acl->host.size,
                  (int)acl->operation_type, (int)acl->permission_type);
    if (parts == NULL) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "an ACL with a text that is not UTF-8");
    }
    const size_t json_size = json_dumpb(parts, NULL, 0, JSON_COMPACT);
    *size = json_size + 2;
    *key = fl_alloc(*size);
    const bool is_made =
        *key != NULL && json_dumpb(parts, *key + 2, json_size, JSON_COMPACT) == json_size;
    json_decref(parts);
    if (!is_made) {
        fl_free(*key);
        return fl_error_nomem(err);
    }
    memcpy(*key, "a/", 2);
    return 0;
}

fluss_code_t fl_catalog_put_acl(fl_kv_write *write, const fl_acl *acl, fluss_error_t *err)
{
    char *key;
    size_t size;
    FL_TRY(acl_key(acl, &key, &size, err));
    const fluss_code_t rc =
        put(write, fl_slice_of(key, size), json_pack("{si}", "version", (int)RECORD_VERSION), err);
    fl_free(key);
    return rc;
}

fluss_code_t fl_catalog_delete_acl(fl_kv_write *write, const fl_acl *acl, fluss_error_t *err)
{
    char *key;
    size_t size;
    FL_TRY(acl_key(acl, &key, &size, err));
    fl_kv_write_delete(write, FL_KV_CATALOG, fl_slice_of(key, size));
    fl_free(key);
    return 0;
}

fluss_code_t fl_catalog_put_server_tag(fl_kv_write *write, int32_t tag, fluss_error_t *err)
{
    char room[KEY_SIZE_MAX];
    const fl_slice key = make_key(room, "g/%d", (int)FL_SERVER_ID);
    if (tag < 0) {
        fl_kv_write_delete(write, FL_KV_CATALOG, key);
        return 0;
    }
    return put(write, key, json_pack("{sisi}", "version", (int)RECORD_VERSION, "tag", (int)tag),
               err);
}

fluss_code_t fl_catalog_put_rebalance_id(fl_kv_write *write, const char *id, fluss_error_t *err)
{
    return put(write, fl_slice_str("r/last"),
               json_pack("{siss}", "version", (int)RECORD_VERSION, "id", id), err);
}

fluss_code_t fl_catalog_put_configs(fl_kv_write *write, const fl_config_set *configs,
                                    fluss_error_t *err)
{
    char room[KEY_SIZE_MAX];
    fl_kv_write_delete_range(write, FL_KV_CATALOG, fl_slice_str("s/"), fl_slice_str("s0"));
    for (size_t i = 0; i < FL_CONFIG_COUNT; i++) {
        if (configs->values[i] != NULL) {
            FL_TRY(put(
                write, make_key(room, "s/%s", fl_config_key(i)),
                json_pack("{siss}", "version", (int)RECORD_VERSION, "value", configs->values[i]),
                err));
        }
    }
    return 0;
}

static void put_counter(fl_kv_write *write, const char *key, int64_t value)
{
    char text[24];
    const int size = snprintf(text, sizeof(text), "%" PRId64, value);
    fl_kv_write_put(write, FL_KV_CATALOG, fl_slice_str(key), fl_slice_of(text, (size_t)size));
}

int64_t fl_catalog_new_table_id(fl_catalog *catalog, fl_kv_write *write)
{
    const int64_t id = catalog->next_table_id++;
    put_counter(write, "c/table", catalog->next_table_id);
    return id;
}

int64_t fl_catalog_new_partition_id(fl_catalog *catalog, fl_kv_write *write)
{
    const int64_t id = catalog->next_partition_id++;
    put_counter(write, "c/partition", catalog->next_partition_id);
    return id;
}

void fl_catalog_put_writer_block(fl_catalog *catalog, fl_kv_write *write)
{
    put_counter(write, "c/writer", catalog->writer_id_limit + WRITER_ID_BLOCK);
}

void fl_catalog_add_writer_block(fl_catalog *catalog)
{
    catalog->writer_id_limit += WRITER_ID_BLOCK;
}

/* ---- reading ---- */

static fluss_code_t broken(fl_slice key, const char *what, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_KV_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                    "catalog record '%.*s': %s", (int)key.size, (const char *)key.data, what);
}

static fluss_code_t read_counter(fl_kv_store *kv, const char *key, int64_t *value,
                                 fluss_error_t *err)
{
    uint8_t *text = NULL;
    size_t size = 0;
    bool found = false;
    *value = 0;
    FL_TRY(fl_kv_get(kv, FL_KV_CATALOG, fl_slice_str(key), &text, &size, &found, err));
    for (size_t i = 0; i < size && found; i++) {
        const bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (!is_digit || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, text[i] - '0', value)) {
            fl_free(text);
            return broken(fl_slice_str(key), "not a number", err);
        }
    }
    fl_free(text);
    return 0;
}

static json_t *parse(fl_slice value)
{
    json_error_t ignored;
    json_t *record = json_loadb((const char *)value.data, value.size, 0, &ignored);
    if (json_integer_value(json_object_get(record, "version")) != RECORD_VERSION) {
        json_decref(record);
        return NULL;
    }
    return record;
}

static fl_slice text_of(const json_t *value)
{
    return fl_slice_of(json_string_value(value), json_string_length(value));
}

static fluss_code_t load_database(fl_catalog *catalog, fl_slice key, const json_t *record,
                                  fluss_error_t *err)
{
    const json_t *json = json_object_get(record, "json");
    if (!json_is_string(json)) {
        return broken(key, "no descriptor", err);
    }
    fl_database *database =
        fl_database_new(fl_slice_sub(key, 2, key.size - 2), text_of(json),
                        json_integer_value(json_object_get(record, "created_ms")));
    if (database == NULL || !fl_catalog_add_database(catalog, database)) {
        fl_database_free(database);
        return fl_error_nomem(err);
    }
    database->modified_ms = json_integer_value(json_object_get(record, "modified_ms"));
    return 0;
}

static bool read_id(fl_slice key, size_t position, int64_t *id)
{
    *id = 0;
    if (key.size < position + 20) {
        return false;
    }
    for (size_t i = position; i < position + 20; i++) {
        if (key.data[i] < '0' || key.data[i] > '9' || __builtin_mul_overflow(*id, 10, id) ||
            __builtin_add_overflow(*id, key.data[i] - '0', id)) {
            return false;
        }
    }
    return true;
}

/* Older schemas as slices into the record; at most INT16_MAX, as schema ids are. */
static fluss_code_t read_older(const json_t *array, fl_arena *arena, fl_slice **older,
                               fluss_error_t *err)
{
    const size_t count = json_array_size(array);
    *older = fl_arena_array(arena, count + 1, sizeof(fl_slice));
    if (*older == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        (*older)[i] = text_of(json_array_get(array, i));
    }
    return 0;
}

static fluss_code_t load_table(fl_catalog *catalog, fl_slice key, const json_t *record,
                               fluss_error_t *err)
{
    fluss_code_t rc = 0;
    fl_arena arena;
    fl_slice *older = NULL;
    fl_table_desc *desc = NULL;
    fl_table_info *info = NULL;
    fl_table *table = NULL;
    fl_arena_init(&arena);
    const json_t *array = json_object_get(record, "older_schemas");
    fl_table_info_spec spec = {
        .database = text_of(json_object_get(record, "database")),
        .name = text_of(json_object_get(record, "name")),
        .created_ms = json_integer_value(json_object_get(record, "created_ms")),
        .modified_ms = json_integer_value(json_object_get(record, "modified_ms"))};
    if (spec.database.data == NULL || spec.name.data == NULL || !read_id(key, 2, &spec.table_id)) {
        rc = broken(key, "no id, database or name", err);
        goto out;
    }
    FL_TRY_OUT(fl_table_desc_from_json(text_of(json_object_get(record, "json")), &desc, err));
    FL_TRY_OUT(read_older(array, &arena, &older, err));
    FL_TRY_OUT(fl_table_info_new(&spec, desc, older, json_array_size(array), &info, err));
    desc = NULL;
    table = fl_table_new(info);
    if (table != NULL) {
        info = NULL;
    }
    if (table == NULL || !fl_catalog_add_table(catalog, table)) {
        rc = fl_catalog_database(catalog, spec.database) == NULL
                 ? broken(key, "its database has no record", err)
                 : fl_error_nomem(err);
        goto out;
    }
    table = NULL;
out:
    fl_table_free(table);
    fl_table_info_unref(info);
    fl_table_desc_free(desc);
    fl_arena_deinit(&arena);
    return rc;
}

static fluss_code_t load_partition(fl_catalog *catalog, fl_slice key, const json_t *record,
                                   fluss_error_t *err)
{
    int64_t table_id, partition_id;
    const fl_slice name = text_of(json_object_get(record, "name"));
    if (!read_id(key, 2, &table_id) || !read_id(key, 23, &partition_id) || name.data == NULL) {
        return broken(key, "no id or name", err);
    }
    fl_table *table = fl_catalog_table_by_id(catalog, table_id);
    if (table == NULL) {
        return broken(key, "its table has no record", err);
    }
    fl_partition *partition = fl_partition_new(partition_id, name);
    if (partition == NULL || !fl_table_add_partition(table, partition)) {
        fl_partition_free(partition);
        return fl_error_nomem(err);
    }
    return 0;
}

static fluss_code_t load_acl(fl_catalog *catalog, fl_slice key, const json_t *record,
                             fluss_error_t *err)
{
    (void)record;
    json_error_t ignored;
    json_t *parts = json_loadb((const char *)key.data + 2, key.size - 2, 0, &ignored);
    const fl_acl acl = {
        .resource_type = (int32_t)json_integer_value(json_array_get(parts, 0)),
        .resource_name = text_of(json_array_get(parts, 1)),
        .principal_type = text_of(json_array_get(parts, 2)),
        .principal_name = text_of(json_array_get(parts, 3)),
        .host = text_of(json_array_get(parts, 4)),
        .operation_type = (int32_t)json_integer_value(json_array_get(parts, 5)),
        .permission_type = (int32_t)json_integer_value(json_array_get(parts, 6)),
    };
    fluss_code_t rc = fl_acl_check(&acl, err);
    if (rc != 0) {
        rc = broken(key, "no ACL", err);
    } else if (!fl_acls_add(catalog->acls, &acl)) {
        rc = fl_error_nomem(err);
    }
    json_decref(parts);
    return rc;
}

static fluss_code_t load_server_tag(fl_catalog *catalog, fl_slice key, const json_t *record,
                                    fluss_error_t *err)
{
    const json_t *tag = json_object_get(record, "tag");
    if (!json_is_integer(tag)) {
        return broken(key, "no tag", err);
    }
    catalog->server_tag = (int32_t)json_integer_value(tag);
    return 0;
}

static fluss_code_t load_rebalance_id(fl_catalog *catalog, fl_slice key, const json_t *record,
                                      fluss_error_t *err)
{
    const json_t *id = json_object_get(record, "id");
    if (!json_is_string(id) || json_string_length(id) >= sizeof(catalog->rebalance_id)) {
        return broken(key, "no id of a rebalance", err);
    }
    memcpy(catalog->rebalance_id, json_string_value(id), json_string_length(id) + 1);
    return 0;
}

/* A setting that this server does not know, or does not take, is passed over. */
static fluss_code_t load_config(fl_catalog *catalog, fl_slice key, const json_t *record,
                                fluss_error_t *err)
{
    const json_t *value = json_object_get(record, "value");
    size_t index;
    if (!json_is_string(value)) {
        return broken(key, "no value", err);
    }
    if (!fl_config_find(fl_slice_sub(key, 2, key.size - 2), &index)) {
        return 0;
    }
    return fl_config_set_put(&catalog->configs, index, text_of(value)) ? 0 : fl_error_nomem(err);
}

typedef fluss_code_t (*load_fn)(fl_catalog *catalog, fl_slice key, const json_t *record,
                                fluss_error_t *err);

static fluss_code_t load_all(fl_catalog *catalog, fl_kv_store *kv, char prefix, load_fn load,
                             fluss_error_t *err)
{
    const char from[2] = {prefix, '/'}, to[2] = {prefix, '/' + 1};
    fl_kv_iter *iter = NULL;
    fl_slice key, value;
    fluss_code_t rc = 0;
    FL_TRY(
        fl_kv_iter_open(kv, FL_KV_CATALOG, fl_slice_of(from, 2), fl_slice_of(to, 2), &iter, err));
    while (rc == 0 && fl_kv_iter_next(iter, &key, &value)) {
        json_t *record = parse(value);
        rc = record != NULL ? load(catalog, key, record, err)
                            : broken(key, "not JSON of version 1", err);
        json_decref(record);
    }
    if (rc == 0) {
        rc = fl_kv_iter_status(iter, err);
    }
    fl_kv_iter_close(iter);
    return rc;
}

fluss_code_t fl_catalog_load(fl_catalog *catalog, fl_kv_store *kv, fluss_error_t *err)
{
    FL_TRY(read_counter(kv, "c/table", &catalog->next_table_id, err));
    FL_TRY(read_counter(kv, "c/partition", &catalog->next_partition_id, err));
    FL_TRY(read_counter(kv, "c/writer", &catalog->writer_id_limit, err));
    catalog->next_writer_id = catalog->writer_id_limit;
    FL_TRY(load_all(catalog, kv, 'd', load_database, err));
    FL_TRY(load_all(catalog, kv, 't', load_table, err));
    FL_TRY(load_all(catalog, kv, 'p', load_partition, err));
    FL_TRY(load_all(catalog, kv, 'a', load_acl, err));
    FL_TRY(load_all(catalog, kv, 'g', load_server_tag, err));
    FL_TRY(load_all(catalog, kv, 'r', load_rebalance_id, err));
    return load_all(catalog, kv, 's', load_config, err);
}
