/* SPDX-License-Identifier: Apache-2.0 */
/* Values out of a struct array. All that is needed to find a value (pointers, offsets, how it is
 * stored) is gathered once per column, so that reading a scalar is a test of a bit, a load and a
 * switch. */
#include "base/alloc.h"
#include "format/arrow_private.h"

typedef struct row_column {
    const uint8_t *validity; /* NULL: no nulls */
    const uint8_t *values;
    const int32_t *offsets;
    int64_t offset; /* of the array */
    fl_arrow_cell cell;
    uint8_t root, precision, scale;
    size_t width;
    struct row_column *children; /* LIST: element; MAP: key, value; ROW: fields */
    size_t child_count;
} row_column;

struct fl_arrow_rows {
    fl_arena arena;
    size_t column_count;
    row_column *columns;
};

static fluss_code_t bind_column(fl_arena *arena, const fl_type *type,
                                const struct ArrowArray *array, int64_t offset, row_column *column,
                                fluss_error_t *err)
{
    *column =
        (row_column){.cell = fl_arrow_cell_of(type),
                     .root = type->root,
                     .precision = type->precision,
                     .scale = type->scale,
                     .width = fl_arrow_width(type),
                     .offset = offset + array->offset,
                     .values = fl_arrow_nothing, /* never NULL, so that adding to it is fine */
                     .child_count = type->field_count};
    const fl_arrow_layout layout = fl_arrow_layout_of(type);
    if (array->null_count != 0) {
        column->validity = array->buffers[0];
    }
    if (layout == FL_LAYOUT_VAR || layout == FL_LAYOUT_LIST) {
        column->offsets = array->buffers[1];
    }
    const int64_t last = array->n_buffers - 1;
    if (layout != FL_LAYOUT_LIST && last > 0 && array->buffers[last] != NULL) {
        column->values = array->buffers[last];
    }
    if (type->field_count == 0) {
        return 0;
    }
    column->children = fl_arena_array(arena, type->field_count, sizeof(*column->children));
    if (column->children == NULL) {
        return fl_error_nomem(err);
    }
    const struct ArrowArray *parent = column->cell == FL_CELL_MAP ? array->children[0] : array;
    int64_t below = 0; /* a struct's own offset holds for its fields too */
    if (column->cell == FL_CELL_MAP) {
        below = parent->offset;
    }
    for (size_t i = 0; i < type->field_count; i++) {
        FL_TRY(bind_column(arena, &type->fields[i].type, parent->children[i], below,
                           &column->children[i], err));
    }
    return 0;
}

fluss_code_t fl_arrow_rows_new(const fl_schema *schema, const struct ArrowArray *array,
                               fl_arrow_rows **rows, fluss_error_t *err)
{
    *rows = NULL;
    if ((size_t)array->n_children != schema->column_count) {
        return fl_error_argument(err, "Arrow array of %lld columns for a schema of %zu",
                                 (long long)array->n_children, schema->column_count);
    }
    fl_arrow_rows *made = fl_alloc(sizeof(*made));
    if (made == NULL) {
        return fl_error_nomem(err);
    }
    fl_arena_init(&made->arena);
    made->column_count = schema->column_count;
    made->columns = fl_arena_array(&made->arena, schema->column_count, sizeof(*made->columns));
    fluss_code_t rc = made->columns != NULL ? 0 : fl_error_nomem(err);
    for (size_t i = 0; rc == 0 && i < schema->column_count; i++) {
        rc = bind_column(&made->arena, &schema->columns[i].type, array->children[i], array->offset,
                         &made->columns[i], err);
    }
    if (rc != 0) {
        fl_arrow_rows_free(made);
        return rc;
    }
    *rows = made;
    return 0;
}

void fl_arrow_rows_free(fl_arrow_rows *rows)
{
    if (rows != NULL) {
        fl_arena_deinit(&rows->arena);
        fl_free(rows);
    }
}

static fluss_code_t get_value(const row_column *column, int64_t row, fl_arena *arena,
                              fluss_datum_t *out, fluss_error_t *err);

/* Floor division: the rest counts forward from the millisecond, before 1970 too. Called with
 * constants, so that no division is left. */
static inline void split_timestamp(int64_t stored, int64_t per_ms, fluss_datum_t *out)
{
    int64_t ms = stored / per_ms;
    int64_t rest = stored - ms * per_ms;
    if (rest < 0) {
        ms--;
        rest += per_ms;
    }
    out->v.i = ms;
    out->nanos = (int32_t)(rest * (1000000 / per_ms));
}

static fluss_code_t get_timestamp(const row_column *column, const uint8_t *at, fluss_datum_t *out,
                                  fluss_error_t *err)
{
    const int64_t stored = fl_load_i64(at);
    if (column->cell == FL_CELL_TIMESTAMP_MS) {
        out->v.i = stored;
        return 0;
    }
    if (column->cell == FL_CELL_TIMESTAMP_S) {
        if (__builtin_mul_overflow(stored, 1000, &out->v.i)) {
            return fl_error_corrupt(err, "a timestamp of %lld s is out of range",
                                    (long long)stored);
        }
        return 0;
    }
    if (column->cell == FL_CELL_TIMESTAMP_US) {
        split_timestamp(stored, 1000, out);
    } else {
        split_timestamp(stored, 1000000, out);
    }
    return 0;
}

/* Out of line, as get_struct: their variables would make every scalar pay for room on the stack. */
__attribute__((noinline)) static fluss_code_t get_list(const row_column *column, int64_t index,
                                                       fl_arena *arena, fluss_datum_t *out,
                                                       fluss_error_t *err)
{
    const int64_t from = column->offsets[index];
    const size_t length = (size_t)(column->offsets[index + 1] - from);
    const size_t step = column->child_count;
    fluss_datum_t *items = fl_arena_array(arena, length * step, sizeof(*items));
    if (items == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < length; i++) {
        for (size_t part = 0; part < step; part++) {
            FL_TRY(get_value(&column->children[part], from + (int64_t)i, arena,
                             &items[i * step + part], err));
        }
    }
    out->v.list.items = items;
    out->v.list.len = length * step;
    return 0;
}

__attribute__((noinline)) static fluss_code_t get_struct(const row_column *column, int64_t index,
                                                         fl_arena *arena, fluss_datum_t *out,
                                                         fluss_error_t *err)
{
    fluss_datum_t *items = fl_arena_array(arena, column->child_count, sizeof(*items));
    if (items == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < column->child_count; i++) {
        FL_TRY(get_value(&column->children[i], index, arena, &items[i], err));
    }
    out->v.list.items = items;
    out->v.list.len = column->child_count;
    return 0;
}

static fluss_code_t get_value(const row_column *column, int64_t row, fl_arena *arena,
                              fluss_datum_t *out, fluss_error_t *err)
{
    const int64_t index = column->offset + row;
    *out = (fluss_datum_t){.type = column->root};
    if (column->validity != NULL && !fl_bit_get(column->validity, index)) {
        out->type = FLUSS_NULL;
        return 0;
    }
    const uint8_t *at = column->values + (size_t)index * column->width;
    switch (column->cell) {
    case FL_CELL_BOOL:
        out->v.b = fl_bit_get(column->values, index);
        return 0;
    case FL_CELL_I8:
        out->v.i = (int8_t)*at;
        return 0;
    case FL_CELL_I16:
        out->v.i = fl_load_i16(at);
        return 0;
    case FL_CELL_I32:
    case FL_CELL_TIME_MS:
        out->v.i = fl_load_i32(at);
        return 0;
    case FL_CELL_I64:
        out->v.i = fl_load_i64(at);
        return 0;
    case FL_CELL_F32: {
        float narrow;
        memcpy(&narrow, at, sizeof(narrow));
        out->v.f = narrow;
        return 0;
    }
    case FL_CELL_F64:
        memcpy(&out->v.f, at, sizeof(out->v.f));
        return 0;
    case FL_CELL_DECIMAL:
        out->precision = column->precision;
        out->scale = column->scale;
        out->v.dec.lo = fl_load_u64(at);
        out->v.dec.hi = fl_load_i64(at + sizeof(uint64_t));
        return 0;
    case FL_CELL_TIME_S:
        out->v.i = (int64_t)fl_load_i32(at) * 1000;
        return 0;
    case FL_CELL_TIME_US:
        out->v.i = fl_load_i64(at) / 1000;
        return 0;
    case FL_CELL_TIME_NS:
        out->v.i = fl_load_i64(at) / 1000000;
        return 0;
    case FL_CELL_BINARY:
        out->v.s.ptr = at;
        out->v.s.len = column->width;
        return 0;
    case FL_CELL_VAR:
        out->v.s.ptr = column->values + column->offsets[index];
        out->v.s.len = (size_t)(column->offsets[index + 1] - column->offsets[index]);
        return 0;
    case FL_CELL_LIST:
    case FL_CELL_MAP:
        return get_list(column, index, arena, out, err);
    case FL_CELL_STRUCT:
        return get_struct(column, index, arena, out, err);
    default:
        return get_timestamp(column, at, out, err);
    }
}

fluss_code_t fl_arrow_rows_get(const fl_arrow_rows *rows, int64_t row, size_t column,
                               fl_arena *arena, fluss_datum_t *out, fluss_error_t *err)
{
    FL_DEBUG_ASSERT(column < rows->column_count);
    return get_value(&rows->columns[column], row, arena, out, err);
}
