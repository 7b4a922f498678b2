/* SPDX-License-Identifier: Apache-2.0 */
/* Data types in memory: names, checks, equality, copies. A type is a small tree; every tree that
 * comes from outside passes fl_type_check or is built by a reader with the same depth limit, so
 * recursion over types is bounded by FL_TYPE_DEPTH_MAX. */
#include "format/types.h"

#include "base/name_index.h"
#include "base/utf8.h"

enum { FIELD_COUNT_MAX = 65536 };

static const char *const root_names[] = {
    [FLUSS_NULL] = "NULL",
    [FLUSS_BOOLEAN] = "BOOLEAN",
    [FLUSS_TINYINT] = "TINYINT",
    [FLUSS_SMALLINT] = "SMALLINT",
    [FLUSS_INT] = "INT",
    [FLUSS_BIGINT] = "BIGINT",
    [FLUSS_FLOAT] = "FLOAT",
    [FLUSS_DOUBLE] = "DOUBLE",
    [FLUSS_CHAR] = "CHAR",
    [FLUSS_STRING] = "STRING",
    [FLUSS_BINARY] = "BINARY",
    [FLUSS_BYTES] = "BYTES",
    [FLUSS_DECIMAL] = "DECIMAL",
    [FLUSS_DATE] = "DATE",
    [FLUSS_TIME] = "TIME",
    [FLUSS_TIMESTAMP] = "TIMESTAMP",
    [FLUSS_TIMESTAMP_LTZ] = "TIMESTAMP_LTZ",
    [FLUSS_ARRAY] = "ARRAY",
    [FLUSS_MAP] = "MAP",
    [FLUSS_ROW] = "ROW",
};

const char *fl_type_root_name(uint8_t root)
{
    return root < FL_COUNT_OF(root_names) ? root_names[root] : "UNKNOWN";
}

bool fl_type_root_has_precision(uint8_t root)
{
    return root == FLUSS_DECIMAL || root == FLUSS_TIME || root == FLUSS_TIMESTAMP ||
           root == FLUSS_TIMESTAMP_LTZ;
}

bool fl_type_root_has_length(uint8_t root)
{
    return root == FLUSS_CHAR || root == FLUSS_BINARY;
}

bool fl_type_root_is_nested(uint8_t root)
{
    return root == FLUSS_ARRAY || root == FLUSS_MAP || root == FLUSS_ROW;
}

static fluss_code_t check_parameters(const fl_type *type, fluss_error_t *err)
{
    if (fl_type_root_has_length(type->root) && type->length < 1) {
        return fl_error_argument(err, "%s: length is %d, expected 1 to 2147483647",
                                 fl_type_root_name(type->root), type->length);
    }
    if (type->root == FLUSS_DECIMAL) {
        if (type->precision < 1 || type->precision > FL_DECIMAL_PRECISION_MAX) {
            return fl_error_argument(err, "DECIMAL: precision is %u, expected 1 to %d",
                                     type->precision, FL_DECIMAL_PRECISION_MAX);
        }
        if (type->scale > type->precision) {
            return fl_error_argument(err, "DECIMAL: scale is %u, expected 0 to the precision, %u",
                                     type->scale, type->precision);
        }
    } else if (fl_type_root_has_precision(type->root) && type->precision > FL_TIME_PRECISION_MAX) {
        return fl_error_argument(err, "%s: precision is %u, expected 0 to %d",
                                 fl_type_root_name(type->root), type->precision,
                                 FL_TIME_PRECISION_MAX);
    }
    return 0;
}

static fluss_code_t check_field_names(const fl_type *type, fl_arena *arena, fluss_error_t *err)
{
    fl_name_index names = {0};
    for (size_t i = 0; i < type->field_count; i++) {
        const char *name = type->fields[i].name;
        if (name == NULL || name[0] == '\0' || !fl_utf8_is_valid(name, strlen(name))) {
            return fl_error_argument(err, "ROW: name of field %zu is empty or not UTF-8", i);
        }
        size_t position;
        FL_TRY(fl_name_index_add(&names, arena, name, &position, err));
        if (position != i) {
            return fl_error_argument(err, "ROW: field '%s' is there twice", name);
        }
    }
    return 0;
}

static fluss_code_t check_at(const fl_type *type, int depth, fl_arena *arena, fluss_error_t *err)
{
    if (depth > FL_TYPE_DEPTH_MAX) {
        return fl_error_argument(err, "type is nested deeper than %d levels", FL_TYPE_DEPTH_MAX);
    }
    if (type->root == FLUSS_NULL || type->root > FLUSS_ROW) {
        return fl_error_argument(err, "unknown type number %u", type->root);
    }
    FL_TRY(check_parameters(type, err));
    const size_t wanted = type->root == FLUSS_ARRAY ? 1 : type->root == FLUSS_MAP ? 2 : 0;
    if (type->root == FLUSS_ROW) {
        if (type->field_count == 0 || type->field_count > FIELD_COUNT_MAX) {
            return fl_error_argument(err, "ROW: %zu fields, expected 1 to %d", type->field_count,
                                     FIELD_COUNT_MAX);
        }
        FL_TRY(check_field_names(type, arena, err));
    } else if (type->field_count != wanted) {
        return fl_error_argument(err, "%s: %zu inner types, expected %zu",
                                 fl_type_root_name(type->root), type->field_count, wanted);
    }
    for (size_t i = 0; i < type->field_count; i++) {
        FL_TRY(check_at(&type->fields[i].type, depth + 1, arena, err));
    }
    return 0;
}

fluss_code_t fl_type_check(const fl_type *type, fluss_error_t *err)
{
    fl_arena arena;
    fl_arena_init(&arena);
    const fluss_code_t rc = check_at(type, 1, &arena, err);
    fl_arena_deinit(&arena);
    return rc;
}

bool fl_type_equal(const fl_type *a, const fl_type *b)
{
    if (a->root != b->root || a->nullable != b->nullable || a->field_count != b->field_count) {
        return false;
    }
    if (fl_type_root_has_precision(a->root) && a->precision != b->precision) {
        return false;
    }
    if ((a->root == FLUSS_DECIMAL && a->scale != b->scale) ||
        (fl_type_root_has_length(a->root) && a->length != b->length)) {
        return false;
    }
    for (size_t i = 0; i < a->field_count; i++) {
        if (a->root == FLUSS_ROW && strcmp(a->fields[i].name, b->fields[i].name) != 0) {
            return false;
        }
        if (!fl_type_equal(&a->fields[i].type, &b->fields[i].type)) {
            return false;
        }
    }
    return true;
}

fluss_code_t fl_type_copy(const fl_type *from, fl_arena *arena, fl_type *to, fluss_error_t *err)
{
    fl_type copy = *from;
    if (from->field_count != 0) {
        copy.fields = fl_arena_array(arena, from->field_count, sizeof(fl_field));
        if (copy.fields == NULL) {
            return fl_error_nomem(err);
        }
    }
    for (size_t i = 0; i < from->field_count; i++) {
        const fl_field *field = &from->fields[i];
        copy.fields[i].id = field->id;
        copy.fields[i].name = fl_arena_strdup(arena, field->name);
        if (copy.fields[i].name == NULL) {
            return fl_error_nomem(err);
        }
        if (field->description != NULL) {
            copy.fields[i].description = fl_arena_strdup(arena, field->description);
            if (copy.fields[i].description == NULL) {
                return fl_error_nomem(err);
            }
        }
        FL_TRY(fl_type_copy(&field->type, arena, &copy.fields[i].type, err));
    }
    *to = copy;
    return 0;
}
