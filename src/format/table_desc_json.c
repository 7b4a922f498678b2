/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of tables and databases as JSON, both ways.
 *
 *   {"version": 1, "schema": S [, "comment": s], "partition_key": [s, …]
 *    [, "bucket_key": [s, …] [, "bucket_count": n]], "properties": {s: s},
 *    "custom_properties": {s: s}}
 *   {"version": 1 [, "comment": s], "custom_properties": {s: s}}
 *
 * Source: TableDescriptorJsonSerde and DatabaseDescriptorJsonSerde, Fluss 1.0. */
#include "base/alloc.h"
#include "format/json_read.h"
#include "format/json_text.h"

enum { VERSION = 1 };

static fluss_code_t read_names(const json_t *json, const char *key, fl_table_desc *desc,
                               fluss_code_t (*set)(fl_table_desc *, const char *const *, size_t,
                                                   fluss_error_t *),
                               fluss_error_t *err)
{
    const json_t *array;
    FL_TRY(fl_json_get_array(json, key, &array, err));
    if (array == NULL) {
        return fl_json_missing(key, err);
    }
    const char **names;
    size_t count;
    FL_TRY(fl_json_str_list(array, key, &desc->arena, &names, &count, err));
    return set(desc, names, count, err);
}

static fluss_code_t read_map(const json_t *json, const char *key, fl_arena *arena,
                             fluss_kv_t **entries, size_t *count, fluss_error_t *err)
{
    const json_t *object;
    FL_TRY(fl_json_get_object(json, key, &object, err));
    return object == NULL ? fl_json_missing(key, err)
                          : fl_json_str_map_read(object, key, arena, entries, count, err);
}

static fluss_code_t read_rest(const json_t *json, fl_table_desc *desc, fluss_error_t *err)
{
    const char *comment;
    FL_TRY(fl_json_get_str(json, "comment", &comment, err));
    FL_TRY(fl_table_desc_set_comment(desc, comment, err));
    FL_TRY(read_names(json, "partition_key", desc, fl_table_desc_set_partition_keys, err));
    if (json_object_get(json, "bucket_key") != NULL ||
        json_object_get(json, "bucket_count") != NULL) {
        FL_TRY(read_names(json, "bucket_key", desc, fl_table_desc_set_bucket_keys, err));
    }
    FL_TRY(fl_json_get_int(json, "bucket_count", 0, &desc->bucket_count, err));
    if (json_is_integer(json_object_get(json, "bucket_count")) && desc->bucket_count == 0) {
        /* A given 0 is a fault to be found later, not "not given". */
        desc->bucket_count = -1;
    }
    FL_TRY(
        read_map(json, "properties", &desc->arena, &desc->properties, &desc->property_count, err));
    return read_map(json, "custom_properties", &desc->arena, &desc->custom, &desc->custom_count,
                    err);
}

static fluss_code_t read_desc(const json_t *json, fl_table_desc **desc, fluss_error_t *err)
{
    const json_t *member = json_object_get(json, "schema");
    if (member == NULL) {
        return fl_json_missing("schema", err);
    }
    fl_schema *schema;
    fluss_code_t rc = fl_schema_read(member, &schema, err);
    if (rc != 0) {
        fl_error_prefix(err, "schema: ");
        return rc;
    }
    fl_table_desc *result = fl_table_desc_new(schema);
    fl_schema_unref(schema);
    if (result == NULL) {
        return fl_error_nomem(err);
    }
    rc = read_rest(json, result, err);
    if (rc != 0) {
        fl_table_desc_free(result);
        return rc;
    }
    *desc = result;
    return 0;
}

fluss_code_t fl_table_desc_from_json(fl_slice json, fl_table_desc **desc, fluss_error_t *err)
{
    *desc = NULL;
    json_t *root;
    FL_TRY(fl_json_load(json, &root, err));
    const fluss_code_t rc = read_desc(root, desc, err);
    json_decref(root);
    if (rc != 0) {
        fl_error_prefix(err, "table descriptor: ");
    }
    return rc;
}

static fluss_code_t write_comment(const char *comment, fl_buf *out, fluss_error_t *err)
{
    if (comment == NULL) {
        return 0;
    }
    FL_TRY(fl_buf_printf(out, err, ",\"comment\":"));
    return fl_json_str(comment, out, err);
}

fluss_code_t fl_table_desc_to_json(const fl_table_desc *desc, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, "{\"version\":%d,\"schema\":", VERSION));
    FL_TRY(fl_schema_to_json(desc->schema, out, err));
    FL_TRY(write_comment(desc->comment, out, err));
    FL_TRY(fl_buf_printf(out, err, ",\"partition_key\":"));
    FL_TRY(fl_json_str_array(desc->partition_keys, desc->partition_key_count, out, err));
    if (desc->bucket_key_count != 0 || desc->bucket_count != 0) {
        FL_TRY(fl_buf_printf(out, err, ",\"bucket_key\":"));
        FL_TRY(fl_json_str_array(desc->bucket_keys, desc->bucket_key_count, out, err));
    }
    if (desc->bucket_count != 0) {
        FL_TRY(fl_buf_printf(out, err, ",\"bucket_count\":%d", desc->bucket_count));
    }
    FL_TRY(fl_buf_printf(out, err, ",\"properties\":"));
    FL_TRY(fl_json_str_map(desc->properties, desc->property_count, out, err));
    FL_TRY(fl_buf_printf(out, err, ",\"custom_properties\":"));
    FL_TRY(fl_json_str_map(desc->custom, desc->custom_count, out, err));
    return fl_buf_append_byte(out, '}', err);
}

static fluss_code_t read_database(const json_t *json, fl_database_desc *desc, fluss_error_t *err)
{
    const char *comment;
    FL_TRY(fl_json_get_str(json, "comment", &comment, err));
    if (comment != NULL) {
        desc->comment = fl_arena_strdup(&desc->arena, comment);
        if (desc->comment == NULL) {
            return fl_error_nomem(err);
        }
    }
    return json_object_size(json) == 0 ? 0
                                       : read_map(json, "custom_properties", &desc->arena,
                                                  &desc->custom, &desc->custom_count, err);
}

fluss_code_t fl_database_desc_from_json(fl_slice json, fl_database_desc **desc, fluss_error_t *err)
{
    *desc = NULL;
    json_t *root;
    fluss_code_t rc = fl_json_load(json, &root, err);
    if (rc == 0) {
        fl_database_desc *result = fl_calloc(1, sizeof(*result));
        rc = result == NULL ? fl_error_nomem(err) : read_database(root, result, err);
        json_decref(root);
        if (rc == 0) {
            *desc = result;
        } else {
            fl_database_desc_free(result);
        }
    }
    if (rc != 0) {
        fl_error_prefix(err, "database descriptor: ");
    }
    return rc;
}

fluss_code_t fl_database_desc_to_json(const fl_database_desc *desc, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, "{\"version\":%d", VERSION));
    FL_TRY(write_comment(desc->comment, out, err));
    FL_TRY(fl_buf_printf(out, err, ",\"custom_properties\":"));
    FL_TRY(fl_json_str_map(desc->custom, desc->custom_count, out, err));
    return fl_buf_append_byte(out, '}', err);
}
