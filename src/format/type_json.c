/* SPDX-License-Identifier: Apache-2.0 */
/* Data types as JSON, both ways.
 *
 *   {"type": ROOT [, "nullable": false] [, "length": n] [, "precision": n [, "scale": n]]
 *    [, "element_type": T] [, "key_type": T, "value_type": T]
 *    [, "fields": [{"name": s, "field_type": T [, "description": s], "field_id": n}]]}
 *
 * An absent "nullable" means true. Absent numbers have the defaults of SQL, as the Rust client
 * reads them; the Java side always writes them. Source: DataTypeJsonSerde, Fluss 1.0. */
#include "format/json_read.h"
#include "format/json_text.h"

enum { DECIMAL_PRECISION_DEFAULT = 10, TIMESTAMP_PRECISION_DEFAULT = 6, FIELD_COUNT_MAX = 65536 };

static const struct {
    const char *name;
    uint8_t root;
} roots[] = {
    {"BOOLEAN", FLUSS_BOOLEAN},
    {"TINYINT", FLUSS_TINYINT},
    {"SMALLINT", FLUSS_SMALLINT},
    {"INTEGER", FLUSS_INT},
    {"BIGINT", FLUSS_BIGINT},
    {"FLOAT", FLUSS_FLOAT},
    {"DOUBLE", FLUSS_DOUBLE},
    {"CHAR", FLUSS_CHAR},
    {"STRING", FLUSS_STRING},
    {"BINARY", FLUSS_BINARY},
    {"BYTES", FLUSS_BYTES},
    {"DECIMAL", FLUSS_DECIMAL},
    {"DATE", FLUSS_DATE},
    {"TIME_WITHOUT_TIME_ZONE", FLUSS_TIME},
    {"TIMESTAMP_WITHOUT_TIME_ZONE", FLUSS_TIMESTAMP},
    {"TIMESTAMP_WITH_LOCAL_TIME_ZONE", FLUSS_TIMESTAMP_LTZ},
    {"ARRAY", FLUSS_ARRAY},
    {"MAP", FLUSS_MAP},
    {"ROW", FLUSS_ROW},
};

static fluss_code_t read_at(const json_t *json, int depth, fl_arena *arena, fl_type *type,
                            fluss_error_t *err);

/* A number that a fl_type holds in a byte; what is too large for it fails fl_type_check. */
static fluss_code_t read_small(const json_t *json, const char *key, int32_t fallback,
                               uint8_t *number, fluss_error_t *err)
{
    int32_t wide;
    FL_TRY(fl_json_get_int(json, key, fallback, &wide, err));
    *number = wide < 0 || wide > UINT8_MAX ? UINT8_MAX : (uint8_t)wide;
    return 0;
}

static fluss_code_t read_parameters(const json_t *json, fl_type *type, fluss_error_t *err)
{
    if (fl_type_root_has_length(type->root)) {
        return fl_json_get_int(json, "length", 1, &type->length, err);
    }
    if (type->root == FLUSS_DECIMAL) {
        FL_TRY(read_small(json, "precision", DECIMAL_PRECISION_DEFAULT, &type->precision, err));
        return read_small(json, "scale", 0, &type->scale, err);
    }
    if (fl_type_root_has_precision(type->root)) {
        const int32_t fallback = type->root == FLUSS_TIME ? 0 : TIMESTAMP_PRECISION_DEFAULT;
        return read_small(json, "precision", fallback, &type->precision, err);
    }
    return 0;
}

/* A member that holds a type, with its key in front of errors. */
static fluss_code_t read_member(const json_t *json, const char *key, int depth, fl_arena *arena,
                                fl_type *type, fluss_error_t *err)
{
    const json_t *member = json_object_get(json, key);
    if (member == NULL) {
        return fl_json_missing(key, err);
    }
    const fluss_code_t rc = read_at(member, depth, arena, type, err);
    if (rc != 0) {
        fl_error_prefix(err, "%s: ", key);
    }
    return rc;
}

static fluss_code_t read_field(const json_t *json, int depth, fl_arena *arena, fl_field *field,
                               fluss_error_t *err)
{
    const char *name;
    const char *description;
    FL_TRY(fl_json_is_object(json, "field", err));
    FL_TRY(fl_json_get_str(json, "name", &name, err));
    if (name == NULL) {
        return fl_json_missing("name", err);
    }
    FL_TRY(fl_json_get_str(json, "description", &description, err));
    FL_TRY(fl_json_get_int(json, "field_id", -1, &field->id, err));
    field->name = fl_arena_strdup(arena, name);
    field->description = description == NULL ? NULL : fl_arena_strdup(arena, description);
    if (field->name == NULL || (description != NULL && field->description == NULL)) {
        return fl_error_nomem(err);
    }
    return read_member(json, "field_type", depth + 1, arena, &field->type, err);
}

static fluss_code_t read_row(const json_t *json, int depth, fl_arena *arena, fl_type *type,
                             fluss_error_t *err)
{
    const json_t *fields;
    FL_TRY(fl_json_get_array(json, "fields", &fields, err));
    if (fields == NULL) {
        return fl_json_missing("fields", err);
    }
    const size_t count = json_array_size(fields);
    if (count > FIELD_COUNT_MAX) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "ROW of %zu fields, at most %d are possible", count, FIELD_COUNT_MAX);
    }
    type->fields = fl_arena_array(arena, count, sizeof(fl_field));
    if (type->fields == NULL) {
        return fl_error_nomem(err);
    }
    type->field_count = count;
    for (size_t i = 0; i < count; i++) {
        const fluss_code_t rc =
            read_field(json_array_get(fields, i), depth, arena, &type->fields[i], err);
        if (rc != 0) {
            fl_error_prefix(err, "fields[%zu]: ", i);
            return rc;
        }
    }
    return 0;
}

static fluss_code_t read_collection(const json_t *json, int depth, fl_arena *arena, fl_type *type,
                                    fluss_error_t *err)
{
    const bool is_map = type->root == FLUSS_MAP;
    type->field_count = is_map ? 2 : 1;
    type->fields = fl_arena_array(arena, type->field_count, sizeof(fl_field));
    if (type->fields == NULL) {
        return fl_error_nomem(err);
    }
    type->fields[0] = (fl_field){.name = is_map ? "key" : "element", .id = -1};
    FL_TRY(read_member(json, is_map ? "key_type" : "element_type", depth + 1, arena,
                       &type->fields[0].type, err));
    if (!is_map) {
        return 0;
    }
    type->fields[0].type.nullable = false;
    type->fields[1] = (fl_field){.name = "value", .id = -1};
    return read_member(json, "value_type", depth + 1, arena, &type->fields[1].type, err);
}

static fluss_code_t read_at(const json_t *json, int depth, fl_arena *arena, fl_type *type,
                            fluss_error_t *err)
{
    const char *name;
    *type = (fl_type){0};
    if (depth > FL_TYPE_DEPTH_MAX) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "type is nested deeper than %d levels", FL_TYPE_DEPTH_MAX);
    }
    FL_TRY(fl_json_is_object(json, "data type", err));
    FL_TRY(fl_json_get_str(json, "type", &name, err));
    if (name == NULL) {
        return fl_json_missing("type", err);
    }
    for (size_t i = 0; i < FL_COUNT_OF(roots); i++) {
        if (strcmp(roots[i].name, name) == 0) {
            type->root = roots[i].root;
        }
    }
    if (type->root == FLUSS_NULL) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "'%.100s' is no type of Fluss", name);
    }
    const json_t *nullable = json_object_get(json, "nullable");
    type->nullable = !json_is_false(nullable);
    if (type->root == FLUSS_ROW) {
        return read_row(json, depth, arena, type, err);
    }
    if (fl_type_root_is_nested(type->root)) {
        return read_collection(json, depth, arena, type, err);
    }
    return read_parameters(json, type, err);
}

fluss_code_t fl_type_read(const json_t *json, fl_arena *arena, fl_type *type, fluss_error_t *err)
{
    FL_TRY(read_at(json, 1, arena, type, err));
    const fluss_code_t rc = fl_type_check(type, err);
    if (rc != 0 && err != NULL) {
        err->code = FLUSS_E_INVALID_TABLE;
    }
    return rc == 0 ? 0 : FLUSS_E_INVALID_TABLE;
}

fluss_code_t fl_type_from_json(fl_slice json, fl_arena *arena, fl_type *type, fluss_error_t *err)
{
    json_t *root;
    FL_TRY(fl_json_load(json, &root, err));
    const fluss_code_t rc = fl_type_read(root, arena, type, err);
    json_decref(root);
    if (rc != 0) {
        fl_error_prefix(err, "data type: ");
    }
    return rc;
}

/* ---- writing ---- */

static fluss_code_t write_member(const char *key, const fl_type *type, fl_buf *out,
                                 fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, ",\"%s\":", key));
    return fl_type_to_json(type, out, err);
}

static fluss_code_t write_row(const fl_type *type, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, ",\"fields\":["));
    for (size_t i = 0; i < type->field_count; i++) {
        const fl_field *field = &type->fields[i];
        FL_TRY(fl_buf_printf(out, err, "%s{\"name\":", i == 0 ? "" : ","));
        FL_TRY(fl_json_str(field->name, out, err));
        FL_TRY(write_member("field_type", &field->type, out, err));
        if (field->description != NULL) {
            FL_TRY(fl_buf_printf(out, err, ",\"description\":"));
            FL_TRY(fl_json_str(field->description, out, err));
        }
        FL_TRY(fl_buf_printf(out, err, ",\"field_id\":%d}", field->id));
    }
    return fl_buf_append_byte(out, ']', err);
}

static const char *json_name(uint8_t root)
{
    for (size_t i = 0; i < FL_COUNT_OF(roots); i++) {
        if (roots[i].root == root) {
            return roots[i].name;
        }
    }
    return "";
}

fluss_code_t fl_type_to_json(const fl_type *type, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, "{\"type\":\"%s\"", json_name(type->root)));
    if (!type->nullable) {
        FL_TRY(fl_buf_printf(out, err, ",\"nullable\":false"));
    }
    if (type->root == FLUSS_ROW) {
        FL_TRY(write_row(type, out, err));
    } else if (type->root == FLUSS_MAP) {
        FL_TRY(write_member("key_type", &type->fields[0].type, out, err));
        FL_TRY(write_member("value_type", &type->fields[1].type, out, err));
    } else if (type->root == FLUSS_ARRAY) {
        FL_TRY(write_member("element_type", &type->fields[0].type, out, err));
    } else if (fl_type_root_has_length(type->root)) {
        FL_TRY(fl_buf_printf(out, err, ",\"length\":%d", type->length));
    } else if (fl_type_root_has_precision(type->root)) {
        FL_TRY(fl_buf_printf(out, err, ",\"precision\":%u", type->precision));
    }
    if (type->root == FLUSS_DECIMAL) {
        FL_TRY(fl_buf_printf(out, err, ",\"scale\":%u", type->scale));
    }
    return fl_buf_append_byte(out, '}', err);
}
