/* SPDX-License-Identifier: Apache-2.0 */
/* One leaf for each function; it sees two values that are not null. Integers wrap at the width of
 * their column. */
#include "server/aggregate.h"

#include "format/datum.h"
#include "format/roaring.h"
#include "server/aggregate_private.h"

fl_aggregator fl_aggregator_of(const fl_column *column)
{
    return (fl_aggregator){.column = column,
                           .function = fl_agg_function_of(column),
                           .delimiter = fl_slice_str(fl_agg_delimiter(column))};
}

/* ---- numbers ---- */

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

static fluss_datum_t sum(const fl_type *type, const fluss_datum_t *old, const fluss_datum_t *value)
{
    fluss_datum_t out = *value;
    switch (type->root) {
    case FLUSS_FLOAT:
        out.v.f = (double)((float)old->v.f + (float)value->v.f);
        break;
    case FLUSS_DOUBLE:
        out.v.f = old->v.f + value->v.f;
        break;
    default:
        out.v.i = wrap(type, (uint64_t)old->v.i + (uint64_t)value->v.i);
    }
    return out;
}

static fluss_datum_t product(const fl_type *type, const fluss_datum_t *old,
                             const fluss_datum_t *value)
{
    fluss_datum_t out = *value;
    switch (type->root) {
    case FLUSS_DECIMAL:
        return fl_aggregate_decimal_product(type, old, value);
    case FLUSS_FLOAT:
        out.v.f = (double)((float)old->v.f * (float)value->v.f);
        break;
    case FLUSS_DOUBLE:
        out.v.f = old->v.f * value->v.f;
        break;
    default:
        out.v.i = wrap(type, (uint64_t)old->v.i * (uint64_t)value->v.i);
    }
    return out;
}

/* ---- booleans ---- */

static fluss_datum_t boolean(const fluss_datum_t *like, bool value)
{
    fluss_datum_t out = *like;
    out.v.b = value;
    return out;
}

/* ---- bytes ---- */

static fl_slice bytes_of(const fluss_datum_t *value)
{
    return fl_slice_of(value->v.s.ptr, value->v.s.len);
}

static fluss_code_t list(fl_slice delimiter, const fluss_datum_t *old, const fluss_datum_t *value,
                         fl_arena *arena, fluss_datum_t *out, fluss_error_t *err)
{
    const fl_slice parts[] = {bytes_of(old), delimiter, bytes_of(value)};
    const size_t size = parts[0].size + parts[1].size + parts[2].size;
    uint8_t *text = fl_arena_alloc(arena, size);
    if (text == NULL) {
        return fl_error_nomem(err);
    }
    *out = *value;
    out->v.s.ptr = text;
    out->v.s.len = size;
    for (size_t i = 0; i < FL_COUNT_OF(parts); i++) {
        if (parts[i].size != 0) {
            memcpy(text, parts[i].data, parts[i].size);
        }
        text += parts[i].size;
    }
    return 0;
}

static fluss_code_t unite(const fl_aggregator *aggregator, const fluss_datum_t *old,
                          const fluss_datum_t *value, fl_arena *arena, fluss_datum_t *out,
                          fluss_error_t *err)
{
    fl_buf bitmap;
    fl_buf_init(&bitmap, INT32_MAX);
    fluss_code_t rc = aggregator->function == FL_AGG_RBM32
                          ? fl_roaring32_or(bytes_of(old), bytes_of(value), arena, &bitmap, err)
                          : fl_roaring64_or(bytes_of(old), bytes_of(value), arena, &bitmap, err);
    if (rc == FLUSS_E_CORRUPT_MESSAGE) {
        /* Not a code with which clients try again: the same bytes would come. */
        fl_error_prefix(err, "column '%s', %s: ", aggregator->column->name,
                        fl_agg_function_name(aggregator->function));
        rc = FLUSS_E_SERVER_UNKNOWN;
        if (err != NULL) {
            err->code = rc;
        }
    }
    if (rc == 0) {
        *out = *value;
        out->v.s.len = bitmap.size;
        out->v.s.ptr = fl_arena_strndup(arena, bitmap.data, bitmap.size);
        rc = out->v.s.ptr != NULL ? 0 : fl_error_nomem(err);
    }
    fl_buf_deinit(&bitmap);
    return rc;
}

fluss_code_t fl_aggregate(const fl_aggregator *aggregator, const fluss_datum_t *old,
                          const fluss_datum_t *value, fl_arena *arena, fluss_datum_t *out,
                          fluss_error_t *err)
{
    const fl_type *type = &aggregator->column->type;
    const bool is_old_null = old->type == FLUSS_NULL;
    if (aggregator->function != FL_AGG_LAST_VALUE && (is_old_null || value->type == FLUSS_NULL)) {
        *out = is_old_null ? *value : *old;
        return 0;
    }
    switch (aggregator->function) {
    case FL_AGG_LAST_VALUE:
    case FL_AGG_LAST_VALUE_IGNORE_NULLS:
        *out = *value;
        return 0;
    case FL_AGG_FIRST_VALUE:
    case FL_AGG_FIRST_VALUE_IGNORE_NULLS:
        *out = *old;
        return 0;
    case FL_AGG_SUM:
        if (type->root == FLUSS_DECIMAL) {
            return fl_aggregate_decimal_sum(aggregator->column, old, value, out, err);
        }
        *out = sum(type, old, value);
        return 0;
    case FL_AGG_PRODUCT:
        *out = product(type, old, value);
        return 0;
    case FL_AGG_MAX: /* of equal ones the old */
        *out = fl_datum_compare(old, value) < 0 ? *value : *old;
        return 0;
    case FL_AGG_MIN: /* of equal ones the new */
        *out = fl_datum_compare(old, value) < 0 ? *old : *value;
        return 0;
    case FL_AGG_BOOL_AND:
        *out = boolean(value, old->v.b && value->v.b);
        return 0;
    case FL_AGG_BOOL_OR:
        *out = boolean(value, old->v.b || value->v.b);
        return 0;
    case FL_AGG_LISTAGG:
    case FL_AGG_STRING_AGG:
        return list(aggregator->delimiter, old, value, arena, out, err);
    case FL_AGG_RBM32:
    case FL_AGG_RBM64:
        break;
    }
    return unite(aggregator, old, value, arena, out, err);
}
