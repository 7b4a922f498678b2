/* SPDX-License-Identifier: Apache-2.0 */
/* One table of functions, by name and kind of type; each is a leaf that sees two values that are
 * not null. Integers wrap at the width of their column. */
#include "server/aggregate.h"

#include "format/datum.h"
#include "server/aggregate_private.h"

typedef fluss_code_t (*aggregate_fn)(const fl_column *column, const fluss_datum_t *old,
                                     const fluss_datum_t *new_value, fl_arena *arena,
                                     fluss_datum_t *out, fluss_error_t *err);

/* Kinds of types, as bits. */
enum {
    NUMBERS = 1u << 0,
    TEXT = 1u << 1,
    TIMES = 1u << 2,
    BOOLEANS = 1u << 3,
    BINARY = 1u << 4,
    NESTED = 1u << 5,
    ANY = ~0u
};

static unsigned kind_of(const fl_type *type)
{
    switch (type->root) {
    case FLUSS_BOOLEAN:
        return BOOLEANS;
    case FLUSS_CHAR:
    case FLUSS_STRING:
        return TEXT;
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return BINARY;
    case FLUSS_DATE:
    case FLUSS_TIME:
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return TIMES;
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        return NESTED;
    default:
        return NUMBERS;
    }
}

/* Integer arithmetic wraps at the width of the column. */
static int64_t wrap(const fl_type *type, uint64_t value)
{
    switch (type->root) {
    case FLUSS_TINYINT:
        return (int8_t)value;
    case FLUSS_SMALLINT:
        return (int16_t)value;
    case FLUSS_INT:
        return (int32_t)value;
    default:
        return (int64_t)value;
    }
}

static fluss_code_t sum(const fl_column *column, const fluss_datum_t *old,
                        const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                        fluss_error_t *err)
{
    (void)arena;
    (void)err;
    const fl_type *type = &column->type;
    *out = *new_value;
    if (type->root == FLUSS_DECIMAL) {
        *out = fl_aggregate_decimal_sum(type, old, new_value);
    } else if (type->root == FLUSS_FLOAT) {
        out->v.f = (double)((float)old->v.f + (float)new_value->v.f);
    } else if (type->root == FLUSS_DOUBLE) {
        out->v.f = old->v.f + new_value->v.f;
    } else {
        out->v.i = wrap(type, (uint64_t)old->v.i + (uint64_t)new_value->v.i);
    }
    return 0;
}

static fluss_code_t product(const fl_column *column, const fluss_datum_t *old,
                            const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                            fluss_error_t *err)
{
    (void)arena;
    (void)err;
    const fl_type *type = &column->type;
    *out = *new_value;
    if (type->root == FLUSS_DECIMAL) {
        *out = fl_aggregate_decimal_product(type, old, new_value);
    } else if (type->root == FLUSS_FLOAT) {
        out->v.f = (double)((float)old->v.f * (float)new_value->v.f);
    } else if (type->root == FLUSS_DOUBLE) {
        out->v.f = old->v.f * new_value->v.f;
    } else {
        out->v.i = wrap(type, (uint64_t)old->v.i * (uint64_t)new_value->v.i);
    }
    return 0;
}

static fluss_code_t max(const fl_column *column, const fluss_datum_t *old,
                        const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                        fluss_error_t *err)
{
    (void)column;
    (void)arena;
    (void)err;
    *out = fl_datum_compare(new_value, old) > 0 ? *new_value : *old;
    return 0;
}

static fluss_code_t min(const fl_column *column, const fluss_datum_t *old,
                        const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                        fluss_error_t *err)
{
    (void)column;
    (void)arena;
    (void)err;
    *out = fl_datum_compare(old, new_value) < 0 ? *old : *new_value;
    return 0;
}

static fluss_code_t take_old(const fl_column *column, const fluss_datum_t *old,
                             const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                             fluss_error_t *err)
{
    (void)column;
    (void)new_value;
    (void)arena;
    (void)err;
    *out = *old;
    return 0;
}

static fluss_code_t take_new(const fl_column *column, const fluss_datum_t *old,
                             const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                             fluss_error_t *err)
{
    (void)column;
    (void)old;
    (void)arena;
    (void)err;
    *out = *new_value;
    return 0;
}

static const char *delimiter_of(const fl_column *column)
{
    for (size_t i = 0; i < column->agg_parameter_count; i++) {
        if (strcmp(column->agg_parameters[i].key, "delimiter") == 0) {
            return column->agg_parameters[i].value;
        }
    }
    return ",";
}

static fluss_code_t list(const fl_column *column, const fluss_datum_t *old,
                         const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                         fluss_error_t *err)
{
    const fl_slice delimiter = fl_slice_str(delimiter_of(column));
    const size_t size = old->v.s.len + delimiter.size + new_value->v.s.len;
    uint8_t *text = fl_arena_alloc(arena, size);
    if (text == NULL) {
        return fl_error_nomem(err);
    }
    const fl_slice parts[] = {fl_slice_of(old->v.s.ptr, old->v.s.len), delimiter,
                              fl_slice_of(new_value->v.s.ptr, new_value->v.s.len)};
    size_t at = 0;
    for (size_t i = 0; i < FL_COUNT_OF(parts); i++) {
        if (parts[i].size != 0) {
            memcpy(text + at, parts[i].data, parts[i].size);
        }
        at += parts[i].size;
    }
    *out = *new_value;
    out->v.s.ptr = text;
    out->v.s.len = size;
    return 0;
}

static fluss_code_t bool_and(const fl_column *column, const fluss_datum_t *old,
                             const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                             fluss_error_t *err)
{
    (void)column;
    (void)arena;
    (void)err;
    *out = *new_value;
    out->v.b = old->v.b && new_value->v.b;
    return 0;
}

static fluss_code_t bool_or(const fl_column *column, const fluss_datum_t *old,
                            const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                            fluss_error_t *err)
{
    (void)column;
    (void)arena;
    (void)err;
    *out = *new_value;
    out->v.b = old->v.b || new_value->v.b;
    return 0;
}

typedef struct aggregate_facts {
    const char *name;
    aggregate_fn fn;
    unsigned kinds;
    const char *types; /* for messages */
    bool takes_nulls, has_delimiter;
} aggregate_facts;

static const aggregate_facts functions[] = {
    {"SUM", sum, NUMBERS, "numbers", false, false},
    {"PRODUCT", product, NUMBERS, "numbers", false, false},
    {"MAX", max, NUMBERS | TEXT | TIMES, "numbers, strings, dates and times", false, false},
    {"MIN", min, NUMBERS | TEXT | TIMES, "numbers, strings, dates and times", false, false},
    {"LAST_VALUE", take_new, ANY, "any type", true, false},
    {"LAST_VALUE_IGNORE_NULLS", take_new, ANY, "any type", false, false},
    {"FIRST_VALUE", take_old, ANY, "any type", false, false},
    {"FIRST_VALUE_IGNORE_NULLS", take_old, ANY, "any type", false, false},
    {"LISTAGG", list, TEXT, "strings", false, true},
    {"STRING_AGG", list, TEXT, "strings", false, true},
    {"BOOL_AND", bool_and, BOOLEANS, "booleans", false, false},
    {"BOOL_OR", bool_or, BOOLEANS, "booleans", false, false},
};

static const aggregate_facts *find(const char *name)
{
    for (size_t i = 0; i < FL_COUNT_OF(functions); i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return &functions[i];
        }
    }
    return NULL;
}

static fluss_code_t refuse(fluss_error_t *err, const fl_column *column, const char *what,
                           const char *detail)
{
    return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_SERVER,
                    "column '%s', aggregation function %s: %s%s", column->name,
                    column->agg_function, what, detail);
}

fluss_code_t fl_aggregate_check(const fl_column *column, fluss_error_t *err)
{
    if (column->agg_function == NULL) {
        return 0;
    }
    const aggregate_facts *facts = find(column->agg_function);
    if (facts == NULL) {
        return refuse(err, column, "no such function", "");
    }
    if ((facts->kinds & kind_of(&column->type)) == 0) {
        return refuse(err, column, "the column's type does not fit, it takes ", facts->types);
    }
    for (size_t i = 0; i < column->agg_parameter_count; i++) {
        const fluss_kv_t *parameter = &column->agg_parameters[i];
        if (!facts->has_delimiter || strcmp(parameter->key, "delimiter") != 0) {
            return refuse(err, column, "unknown parameter ", parameter->key);
        }
        if (parameter->value[0] == '\0') {
            return refuse(err, column, "the delimiter is empty", "");
        }
    }
    return 0;
}

fluss_code_t fl_aggregate(const fl_column *column, const fluss_datum_t *old,
                          const fluss_datum_t *new_value, fl_arena *arena, fluss_datum_t *out,
                          fluss_error_t *err)
{
    const aggregate_facts *facts =
        find(column->agg_function != NULL ? column->agg_function : "LAST_VALUE_IGNORE_NULLS");
    if (facts == NULL) { /* a function that CREATE_TABLE lets through and this server lacks */
        return refuse(err, column, "this server does not have it", "");
    }
    if (!facts->takes_nulls && (old->type == FLUSS_NULL || new_value->type == FLUSS_NULL)) {
        *out = old->type == FLUSS_NULL ? *new_value : *old;
        return 0;
    }
    return facts->fn(column, old, new_value, arena, out, err);
}
