/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of scalars value by value: integers in a loop of their own; all others as values that
 * go through the same rules as those of rows (fl_datum_coerce), and are refused where the rules
 * would round or cut. Dictionaries are looked up. */
#include <stdio.h>

#include "format/arrow_convert.h"
#include "format/decimal.h"

enum { MS_PER_DAY = 86400000, NANOS_PER_MS = 1000000 };

/* ---- integers ---- */

static bool is_integer_kind(enum ArrowType type)
{
    switch (type) {
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        return true;
    default:
        return false;
    }
}

static bool is_integer_root(uint8_t root)
{
    return root >= FLUSS_TINYINT && root <= FLUSS_BIGINT;
}

static void store_integer(uint8_t *to, size_t width, int64_t value)
{
    memcpy(to, &value, width); /* little endian: the low bytes */
}

static fluss_code_t convert_integers(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                                     int64_t count, const fl_type *type, struct ArrowArray *out)
{
    const size_t width = fl_arrow_width(type);
    const int64_t max = INT64_MAX >> (64 - 8 * width);
    const bool is_u64 = from->kind.type == NANOARROW_TYPE_UINT64;
    FL_TRY(fl_convert_validity(walk, from->array, at, count, out));
    if (count == 0) {
        return 0;
    }
    uint8_t *to = fl_arrow_owner_room(walk->owner, (size_t)count * width);
    if (to == NULL) {
        return fl_error_nomem(walk->err);
    }
    out->buffers[1] = to;
    for (int64_t i = 0; i < count; i++) {
        int64_t value = ArrowArrayViewGetIntUnsafe(from->view, at + i);
        if (FL_UNLIKELY(value > max || value < -max - 1 || (is_u64 && value < 0))) {
            if (out->null_count == 0 || fl_bit_get(out->buffers[0], i)) {
                char text[32];
                (void)snprintf(text, sizeof(text), is_u64 ? "%llu" : "%lld", (long long)value);
                return fl_error_argument(walk->err,
                                         "row %lld: %s is out of range, the type holds "
                                         "%lld to %lld",
                                         (long long)i, text, (long long)(-max - 1), (long long)max);
            }
            value = 0; /* what lies under a null */
        }
        store_integer(to + (size_t)i * width, width, value);
    }
    return 0;
}

/* ---- values ---- */

/* Whether values of this kind can become values of the type at all. */
static bool is_convertible(const struct ArrowSchemaView *kind, const fl_type *type)
{
    switch (kind->type) {
    case NANOARROW_TYPE_BOOL:
        return type->root == FLUSS_BOOLEAN;
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        return type->root == FLUSS_FLOAT || type->root == FLUSS_DOUBLE;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_STRING_VIEW:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_BINARY_VIEW:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        return fl_arrow_is_text(type) || type->root == FLUSS_BINARY || type->root == FLUSS_BYTES;
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
        return type->root == FLUSS_DECIMAL && kind->decimal_scale >= 0;
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_DATE64:
        return type->root == FLUSS_DATE;
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        return type->root == FLUSS_TIME;
    case NANOARROW_TYPE_TIMESTAMP:
        return fl_convert_zone_fits(kind, type);
    default:
        return is_integer_kind(kind->type) &&
               (is_integer_root(type->root) || type->root == FLUSS_FLOAT ||
                type->root == FLUSS_DOUBLE);
    }
}

/* Bytes of a value; the views of a string view array are checked as offsets are. */
static fluss_code_t read_bytes(const fl_foreign *from, int64_t row, fluss_datum_t *value,
                               fluss_error_t *err)
{
    const struct ArrowArrayView *view = from->view;
    if (view->storage_type == NANOARROW_TYPE_STRING_VIEW ||
        view->storage_type == NANOARROW_TYPE_BINARY_VIEW) {
        const union ArrowBinaryView *entry =
            &view->buffer_views[1].data.as_binary_view[view->offset + row];
        const int32_t size = entry->inlined.size;
        if (size < 0 ||
            (size > NANOARROW_BINARY_VIEW_INLINE_SIZE &&
             (entry->ref.buffer_index < 0 || entry->ref.offset < 0 ||
              entry->ref.buffer_index >= view->n_variadic_buffers ||
              view->variadic_buffer_sizes[entry->ref.buffer_index] - size < entry->ref.offset))) {
            return fl_error_argument(err, "Arrow view of %d bytes lies outside its buffer", size);
        }
    } else if (view->storage_type != NANOARROW_TYPE_FIXED_SIZE_BINARY) {
        const bool is_large = view->storage_type == NANOARROW_TYPE_LARGE_STRING ||
                              view->storage_type == NANOARROW_TYPE_LARGE_BINARY;
        const int64_t at = view->offset + row;
        const struct ArrowBufferView *offsets = &view->buffer_views[1];
        const int64_t start = is_large ? offsets->data.as_int64[at] : offsets->data.as_int32[at];
        const int64_t end =
            is_large ? offsets->data.as_int64[at + 1] : offsets->data.as_int32[at + 1];
        if (start < 0 || end < start) {
            return fl_error_argument(err, "Arrow offsets go back");
        }
    }
    const struct ArrowBufferView bytes = ArrowArrayViewGetBytesUnsafe(view, row);
    value->v.s.ptr = bytes.data.data;
    value->v.s.len = (size_t)bytes.size_bytes;
    return 0;
}

static void read_decimal(const fl_foreign *from, int64_t row, fluss_datum_t *value)
{
    const int64_t at = from->view->offset + row;
    const uint8_t *bytes = from->view->buffer_views[1].data.as_uint8;
    fl_int128 unscaled;
    if (from->kind.type == NANOARROW_TYPE_DECIMAL32) {
        unscaled = fl_load_i32(bytes + at * 4);
    } else if (from->kind.type == NANOARROW_TYPE_DECIMAL64) {
        unscaled = fl_load_i64(bytes + at * 8);
    } else {
        memcpy(&unscaled, bytes + at * 16, sizeof(unscaled));
    }
    *value = fl_decimal_datum(unscaled, FL_DECIMAL_PRECISION_MAX, from->kind.decimal_scale);
}

/* Days, times and timestamps; false: no whole number of what the value counts in. */
static bool read_time(const struct ArrowSchemaView *kind, int64_t stored, fluss_datum_t *value)
{
    if (kind->type == NANOARROW_TYPE_DATE32) {
        value->v.i = stored;
        return true;
    }
    if (kind->type == NANOARROW_TYPE_DATE64) {
        value->v.i = stored / MS_PER_DAY;
        return stored % MS_PER_DAY == 0;
    }
    switch (kind->time_unit) {
    case NANOARROW_TIME_UNIT_SECOND:
        return !__builtin_mul_overflow(stored, 1000, &value->v.i);
    case NANOARROW_TIME_UNIT_MILLI:
        value->v.i = stored;
        return true;
    default:
        break;
    }
    const int64_t per_ms = kind->time_unit == NANOARROW_TIME_UNIT_MICRO ? 1000 : NANOS_PER_MS;
    int64_t rest = stored % per_ms;
    value->v.i = stored / per_ms - (rest < 0);
    rest += rest < 0 ? per_ms : 0;
    value->nanos = (int32_t)(rest * (NANOS_PER_MS / per_ms));
    return kind->type == NANOARROW_TYPE_TIMESTAMP || rest == 0;
}

static fluss_code_t read_value(const fl_foreign *from, int64_t row, const fl_type *type,
                               fluss_datum_t *value, fluss_error_t *err)
{
    *value = (fluss_datum_t){.type = type->root};
    switch (from->kind.type) {
    case NANOARROW_TYPE_BOOL:
        value->v.b = ArrowArrayViewGetIntUnsafe(from->view, row) != 0;
        return 0;
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        value->type = FLUSS_DOUBLE;
        value->v.f = ArrowArrayViewGetDoubleUnsafe(from->view, row);
        return 0;
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
        read_decimal(from, row, value);
        return 0;
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_DATE64:
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
    case NANOARROW_TYPE_TIMESTAMP: {
        const int64_t stored = ArrowArrayViewGetIntUnsafe(from->view, row);
        return read_time(&from->kind, stored, value)
                   ? 0
                   : fl_error_argument(err, "%lld would lose digits", (long long)stored);
    }
    default:
        if (!is_integer_kind(from->kind.type)) {
            return read_bytes(from, row, value, err);
        }
        value->type = FLUSS_BIGINT;
        value->v.i = ArrowArrayViewGetIntUnsafe(from->view, row);
        return from->kind.type != NANOARROW_TYPE_UINT64 || value->v.i >= 0
                   ? 0
                   : fl_error_argument(err, "%llu is out of range", (unsigned long long)value->v.i);
    }
}

/* Whether a coerced value says the same as before. */
static bool is_lossless(const fluss_datum_t *before, const fluss_datum_t *after,
                        const fl_type *type)
{
    switch (type->root) {
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return before->type != FLUSS_DOUBLE || before->v.f == after->v.f ||
               (before->v.f != before->v.f && after->v.f != after->v.f);
    case FLUSS_DECIMAL: {
        fl_int128 back;
        return fl_decimal_rescale(fl_decimal_unscaled(after), after->scale,
                                  FL_DECIMAL_PRECISION_MAX, before->scale, &back) &&
               back == fl_decimal_unscaled(before);
    }
    case FLUSS_TIME:
        return type->precision != 0 || before->v.i % 1000 == 0;
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return before->v.i == after->v.i && before->nanos == after->nanos;
    default:
        return true;
    }
}

/* The value of a row, through the dictionary if there is one; null where it is null. */
static fluss_code_t look_up(const fl_foreign *from, const fl_foreign *dictionary, int64_t row,
                            const fl_type *type, fluss_datum_t *value, fluss_error_t *err)
{
    *value = (fluss_datum_t){.type = FLUSS_NULL};
    if (ArrowArrayViewIsNull(from->view, row)) {
        return 0;
    }
    if (dictionary == NULL) {
        return read_value(from, row, type, value, err);
    }
    const int64_t index = ArrowArrayViewGetIntUnsafe(from->view, row);
    if (index < 0 || index >= dictionary->view->length) {
        return fl_error_argument(err, "index %lld into a dictionary of %lld", (long long)index,
                                 (long long)dictionary->view->length);
    }
    return ArrowArrayViewIsNull(dictionary->view, index)
               ? 0
               : read_value(dictionary, index, type, value, err);
}

static fluss_code_t append_rows(fl_convert_walk *walk, const fl_foreign *from,
                                const fl_foreign *dictionary, int64_t at, int64_t count,
                                fl_arrow_column *column)
{
    const fl_type *type = &column->type;
    fluss_error_t *err = walk->err;
    for (int64_t i = 0; i < count; i++) {
        fluss_datum_t value, fitted;
        fluss_code_t rc = look_up(from, dictionary, at + i, type, &value, err);
        fitted = value;
        if (rc == 0 && value.type != FLUSS_NULL) {
            fl_type nullable = *type;
            nullable.nullable = true;
            rc = fl_datum_coerce(&value, &nullable, NULL, NULL, &fitted, err);
            if (rc == 0 && !is_lossless(&value, &fitted, type)) {
                rc = fl_error_argument(err, "the value would lose digits");
            }
        }
        rc = rc != 0 ? rc : fl_arrow_column_append(column, &fitted, err);
        if (rc != 0) {
            fl_error_prefix(err, "row %lld: ", (long long)i);
            return rc;
        }
    }
    return 0;
}

static fluss_code_t open_dictionary(const fl_foreign *from, fl_foreign *dictionary,
                                    fluss_error_t *err)
{
    *dictionary = (fl_foreign){.schema = from->schema->dictionary,
                               .array = from->array->dictionary,
                               .view = from->view->dictionary};
    struct ArrowError why;
    if (dictionary->array == NULL || dictionary->view == NULL) {
        return fl_error_argument(err, "Arrow dictionary is missing");
    }
    if (ArrowSchemaViewInit(&dictionary->kind, dictionary->schema, &why) != NANOARROW_OK) {
        return fl_error_argument(err, "Arrow schema is not valid: %s", why.message);
    }
    return 0;
}

fluss_code_t fl_convert_values(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                               int64_t count, const fl_type *type, struct ArrowArray *out)
{
    fl_foreign dictionary;
    const bool has_dictionary = from->schema->dictionary != NULL;
    if (has_dictionary) {
        FL_TRY(open_dictionary(from, &dictionary, walk->err));
    } else if (is_integer_kind(from->kind.type) && is_integer_root(type->root)) {
        return convert_integers(walk, from, at, count, type, out);
    }
    if (!is_convertible(has_dictionary ? &dictionary.kind : &from->kind, type) ||
        (has_dictionary && dictionary.schema->dictionary != NULL)) {
        return fl_convert_refuse(from, type, walk->err);
    }
    fl_arrow_column column;
    size_t nodes = 0, buffers = 0;
    fl_arrow_count(type, &nodes, &buffers);
    fluss_code_t rc = fl_arrow_column_init(&column, type, walk->err);
    if (rc == 0) {
        column.length_hint = count;
        rc = append_rows(walk, from, has_dictionary ? &dictionary : NULL, at, count, &column);
    }
    if (rc == 0 && !fl_arrow_owner_reserve(walk->owner, buffers + 1)) {
        rc = fl_error_nomem(walk->err);
    }
    if (rc == 0) {
        fl_arrow_column_move(&column, walk->owner, out);
    }
    fl_arrow_column_deinit(&column);
    return rc;
}
