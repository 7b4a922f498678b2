/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas as JSON, both ways.
 *
 *   {"version": 1,
 *    "columns": [{"name": s, "data_type": T [, "comment": s]
 *                 [, "agg_function": {"type": s [, "parameters": {s: s}]}], "id": n}, …]
 *    [, "primary_key": [s, …]] [, "auto_increment_column": [s]], "highest_field_id": n}
 *
 * Either all columns have an id or none has; without ids a column's position is its id and nested
 * fields are numbered behind. Source: SchemaJsonSerde and ColumnJsonSerde, Fluss 1.0. */
#include <ctype.h>

#include "format/agg_function.h"
#include "format/json_read.h"
#include "format/json_text.h"

enum { VERSION = 1 };

/* The canonical name of a function; NULL: unknown, which is as none. */
static const char *canonical_function(const char *name)
{
    fl_agg_function function;
    return fl_agg_function_find(name, &function) ? fl_agg_function_name(function) : NULL;
}

static fluss_code_t read_agg_function(const json_t *json, fl_arena *arena, fl_column *column,
                                      fluss_error_t *err)
{
    const json_t *function;
    const json_t *parameters;
    const char *name;
    FL_TRY(fl_json_get_object(json, "agg_function", &function, err));
    if (function == NULL) {
        return 0;
    }
    FL_TRY(fl_json_get_str(function, "type", &name, err));
    column->agg_function = name == NULL ? NULL : canonical_function(name);
    FL_TRY(fl_json_get_object(function, "parameters", &parameters, err));
    if (column->agg_function == NULL || parameters == NULL) {
        return 0;
    }
    fluss_kv_t *entries;
    FL_TRY(fl_json_str_map_read(parameters, "parameters", arena, &entries,
                                &column->agg_parameter_count, err));
    column->agg_parameters = entries;
    return 0;
}

static fluss_code_t read_column(const json_t *json, fl_arena *arena, fl_column *column,
                                fluss_error_t *err)
{
    *column = (fl_column){.id = -1};
    FL_TRY(fl_json_is_object(json, "column", err));
    FL_TRY(fl_json_get_str(json, "name", &column->name, err));
    if (column->name == NULL) {
        return fl_json_missing("name", err);
    }
    const json_t *type = json_object_get(json, "data_type");
    if (type == NULL) {
        return fl_json_missing("data_type", err);
    }
    const fluss_code_t rc = fl_type_read(type, arena, &column->type, err);
    if (rc != 0) {
        fl_error_prefix(err, "data_type: ");
        return rc;
    }
    FL_TRY(fl_json_get_str(json, "comment", &column->comment, err));
    FL_TRY(fl_json_get_int(json, "id", -1, &column->id, err));
    return read_agg_function(json, arena, column, err);
}

/* Number what has no id: columns by position, nested fields behind all columns. */
static fluss_code_t assign_positions(fl_type *type, int32_t *highest, fluss_error_t *err)
{
    for (size_t i = 0; i < type->field_count; i++) {
        if (type->root == FLUSS_ROW) {
            if (*highest == INT32_MAX) {
                return fl_error_argument(err, "field '%s': no id is left, the highest is %d",
                                         type->fields[i].name, INT32_MAX);
            }
            type->fields[i].id = ++*highest;
        }
        FL_TRY(assign_positions(&type->fields[i].type, highest, err));
    }
    return 0;
}

static bool has_unassigned(const fl_type *type)
{
    for (size_t i = 0; i < type->field_count; i++) {
        if ((type->root == FLUSS_ROW && type->fields[i].id < 0) ||
            has_unassigned(&type->fields[i].type)) {
            return true;
        }
    }
    return false;
}

static fluss_code_t settle_ids(fl_schema *schema, size_t with_id, fluss_error_t *err)
{
    if (with_id != 0 && with_id != schema->column_count) {
        return fl_error_argument(err, "%zu of %zu columns have an id, expected all or none",
                                 with_id, schema->column_count);
    }
    if (with_id == 0) {
        for (size_t i = 0; i < schema->column_count; i++) {
            schema->columns[i].id = (int32_t)i;
        }
        if ((int32_t)schema->column_count - 1 > schema->highest_field_id) {
            schema->highest_field_id = (int32_t)schema->column_count - 1;
        }
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        if (with_id == 0 || has_unassigned(&schema->columns[i].type)) {
            FL_TRY(assign_positions(&schema->columns[i].type, &schema->highest_field_id, err));
        }
    }
    return 0;
}

static fluss_code_t read_columns(const json_t *json, fl_schema *schema, fl_arena *scratch,
                                 fluss_error_t *err)
{
    const json_t *columns;
    FL_TRY(fl_json_get_array(json, "columns", &columns, err));
    if (columns == NULL) {
        return fl_json_missing("columns", err);
    }
    size_t with_id = 0;
    for (size_t i = 0; i < json_array_size(columns); i++) {
        fl_column column;
        fluss_code_t rc = read_column(json_array_get(columns, i), scratch, &column, err);
        if (rc != 0) {
            fl_error_prefix(err, "columns[%zu]: ", i);
            return rc;
        }
        with_id += column.id >= 0;
        FL_TRY(fl_schema_add_column(schema, &column, err));
    }
    return settle_ids(schema, with_id, err);
}

static fluss_code_t read_keys(const json_t *json, fl_schema *schema, fl_arena *scratch,
                              fluss_error_t *err)
{
    const json_t *array;
    const char **names;
    size_t count;
    FL_TRY(fl_json_get_array(json, "primary_key", &array, err));
    if (array != NULL) {
        FL_TRY(fl_json_str_list(array, "primary_key", scratch, &names, &count, err));
        FL_TRY(fl_schema_set_primary_key(schema, names, count, err));
    }
    FL_TRY(fl_json_get_array(json, "auto_increment_column", &array, err));
    if (array == NULL || json_array_size(array) == 0) {
        return 0;
    }
    FL_TRY(fl_json_str_list(array, "auto_increment_column", scratch, &names, &count, err));
    if (count != 1) {
        return fl_error_argument(err, "auto-increment: %zu columns are named, expected one", count);
    }
    return fl_schema_set_auto_increment(schema, names[0], err);
}

static fluss_code_t read_into(const json_t *json, fl_schema *schema, fl_arena *scratch,
                              fluss_error_t *err)
{
    FL_TRY(fl_json_is_object(json, "schema", err));
    FL_TRY(read_columns(json, schema, scratch, err));
    FL_TRY(read_keys(json, schema, scratch, err));
    int32_t highest;
    FL_TRY(fl_json_get_int(json, "highest_field_id", -1, &highest, err));
    if (highest > schema->highest_field_id) {
        schema->highest_field_id = highest;
    }
    return fl_schema_check_ids(schema, err);
}

fluss_code_t fl_schema_read(const json_t *json, fl_schema **schema, fluss_error_t *err)
{
    *schema = NULL;
    fl_schema *result = fl_schema_new();
    if (result == NULL) {
        return fl_error_nomem(err);
    }
    fl_arena scratch;
    fl_arena_init(&scratch);
    fluss_error_t local;
    local.kind = FLUSS_KIND_ARGUMENT;
    fluss_error_t *where = err != NULL ? err : &local;
    fluss_code_t rc = read_into(json, result, &scratch, where);
    fl_arena_deinit(&scratch);
    if (rc == 0) {
        *schema = result;
        return 0;
    }
    fl_schema_unref(result);
    /* Rules of fl_schema are argument errors; here they are faults of a table. */
    if (where->kind == FLUSS_KIND_ARGUMENT) {
        where->code = rc = FLUSS_E_INVALID_TABLE;
    }
    return rc;
}

fluss_code_t fl_schema_from_json(fl_slice json, fl_schema **schema, fluss_error_t *err)
{
    *schema = NULL;
    json_t *root;
    FL_TRY(fl_json_load(json, &root, err));
    const fluss_code_t rc = fl_schema_read(root, schema, err);
    json_decref(root);
    if (rc != 0) {
        fl_error_prefix(err, "schema: ");
    }
    return rc;
}

/* ---- writing ---- */

static fluss_code_t write_agg_function(const fl_column *column, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, ",\"agg_function\":{\"type\":\""));
    for (const char *at = column->agg_function; *at != '\0'; at++) {
        FL_TRY(fl_buf_append_byte(out, (uint8_t)tolower((unsigned char)*at), err));
    }
    FL_TRY(fl_buf_append_byte(out, '"', err));
    if (column->agg_parameter_count != 0) {
        FL_TRY(fl_buf_printf(out, err, ",\"parameters\":"));
        FL_TRY(fl_json_str_map(column->agg_parameters, column->agg_parameter_count, out, err));
    }
    return fl_buf_append_byte(out, '}', err);
}

static fluss_code_t write_column(const fl_column *column, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, "{\"name\":"));
    FL_TRY(fl_json_str(column->name, out, err));
    FL_TRY(fl_buf_printf(out, err, ",\"data_type\":"));
    FL_TRY(fl_type_to_json(&column->type, out, err));
    if (column->comment != NULL) {
        FL_TRY(fl_buf_printf(out, err, ",\"comment\":"));
        FL_TRY(fl_json_str(column->comment, out, err));
    }
    if (column->agg_function != NULL) {
        FL_TRY(write_agg_function(column, out, err));
    }
    return fl_buf_printf(out, err, ",\"id\":%d}", column->id);
}

fluss_code_t fl_schema_to_json(const fl_schema *schema, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, "{\"version\":%d,\"columns\":[", VERSION));
    for (size_t i = 0; i < schema->column_count; i++) {
        if (i != 0) {
            FL_TRY(fl_buf_append_byte(out, ',', err));
        }
        FL_TRY(write_column(&schema->columns[i], out, err));
    }
    FL_TRY(fl_buf_append_byte(out, ']', err));
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        FL_TRY(fl_buf_printf(out, err, "%s", i == 0 ? ",\"primary_key\":[" : ","));
        FL_TRY(fl_json_str(schema->columns[schema->primary_key[i]].name, out, err));
    }
    if (schema->primary_key_count != 0) {
        FL_TRY(fl_buf_append_byte(out, ']', err));
    }
    if (schema->auto_increment >= 0) {
        FL_TRY(fl_buf_printf(out, err, ",\"auto_increment_column\":"));
        FL_TRY(fl_json_str_array(&schema->columns[schema->auto_increment].name, 1, out, err));
    }
    return fl_buf_printf(out, err, ",\"highest_field_id\":%d}", schema->highest_field_id);
}
