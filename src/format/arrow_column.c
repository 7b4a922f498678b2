/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that grow value by value. Buffers are pooled frames that double, so a batch of the size
 * of the one before needs no allocation and no copy but that of the value. A bitmap of nulls exists
 * only from the first null on. Nested values go into child columns; a failure in the middle of a
 * value is undone by cutting all columns back to the rows that were whole. */
#include "base/alloc.h"
#include "format/arrow_private.h"

enum { CAPACITY_MIN = 64, SIZE_MIN = 1024 };

fluss_code_t fl_arrow_column_init(fl_arrow_column *column, const fl_type *type, fluss_error_t *err)
{
    *column = (fl_arrow_column){.type = *type,
                                .layout = fl_arrow_layout_of(type),
                                .cell = fl_arrow_cell_of(type),
                                .width = fl_arrow_width(type),
                                .child_count = fl_arrow_child_count(type)};
    if (column->child_count == 0) {
        return 0;
    }
    column->children = fl_calloc(column->child_count, sizeof(*column->children));
    if (column->children == NULL) {
        column->child_count = 0;
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < column->child_count; i++) {
        const fl_type child = fl_arrow_child_type(type, i);
        FL_TRY(fl_arrow_column_init(&column->children[i], &child, err));
    }
    return 0;
}

/* Start anew; keeps what this batch teaches about the next one's size. */
static void reset_buffers(fl_arrow_column *column)
{
    column->length_hint = column->length;
    column->size_hint = column->size;
    column->length = column->capacity = column->null_count = 0;
    column->size = column->size_capacity = 0;
    column->validity = column->values = NULL;
    column->offsets = NULL;
    column->validity_frame = column->values_frame = column->offsets_frame = NULL;
}

void fl_arrow_column_deinit(fl_arrow_column *column)
{
    fl_frame_unref(column->validity_frame);
    fl_frame_unref(column->values_frame);
    fl_frame_unref(column->offsets_frame);
    reset_buffers(column);
    for (size_t i = 0; i < column->child_count; i++) {
        fl_arrow_column_deinit(&column->children[i]);
    }
    fl_free(column->children);
    column->children = NULL;
    column->child_count = 0;
}

/* Replace a frame by one of at least `size` bytes that begins with the `used` bytes of the old. */
static bool grow_frame(fl_frame **frame, size_t used, size_t size)
{
    fl_frame *larger = fl_frame_new(size);
    if (larger == NULL) {
        return false;
    }
    if (used != 0) {
        memcpy(larger->data, (*frame)->data, used);
    }
    fl_frame_unref(*frame);
    *frame = larger;
    return true;
}

static bool grow_validity(fl_arrow_column *column, int64_t capacity)
{
    const size_t used = column->validity != NULL ? fl_bits_size(column->length) : 0;
    const size_t size = fl_bits_size(capacity);
    if (!grow_frame(&column->validity_frame, used, size)) {
        return false;
    }
    column->validity = column->validity_frame->data;
    memset(column->validity + used, 0, size - used);
    return true;
}

/* Values that a frame has room for. */
static int64_t frame_rows(const fl_arrow_column *column)
{
    const fl_frame *frame =
        column->offsets_frame != NULL ? column->offsets_frame : column->values_frame;
    size_t rows = frame->capacity * 8;
    if (column->offsets_frame != NULL) {
        rows = frame->capacity / sizeof(int32_t) - 1;
    } else if (column->width != 0) {
        rows = frame->capacity / column->width;
    }
    return rows < FL_ARROW_ROWS_MAX ? (int64_t)rows : FL_ARROW_ROWS_MAX;
}

static fluss_code_t grow(fl_arrow_column *column, fluss_error_t *err)
{
    if (column->capacity == FL_ARROW_ROWS_MAX) {
        return fl_error_argument(err, "more than %d values in a column", FL_ARROW_ROWS_MAX);
    }
    int64_t capacity = column->capacity == 0 ? column->length_hint : column->capacity * 2;
    capacity = capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
    const size_t length = (size_t)column->length;
    bool done = true;
    if (column->layout == FL_LAYOUT_BITS) {
        done =
            grow_frame(&column->values_frame, fl_bits_size(column->length), fl_bits_size(capacity));
    } else if (column->layout == FL_LAYOUT_FIXED) {
        /* One wide value is enough to start with: BINARY(n) can be megabytes. */
        const int64_t rows = column->capacity == 0 && column->width > SIZE_MIN ? 1 : capacity;
        size_t size;
        done = fl_mul_size((size_t)rows, column->width, &size) &&
               grow_frame(&column->values_frame, length * column->width, size);
    } else if (column->layout != FL_LAYOUT_STRUCT) {
        const size_t used = column->offsets != NULL ? (length + 1) * sizeof(int32_t) : 0;
        done = grow_frame(&column->offsets_frame, used, ((size_t)capacity + 1) * sizeof(int32_t));
    }
    if (!done) {
        return fl_error_nomem(err);
    }
    if (column->layout != FL_LAYOUT_STRUCT) {
        capacity = frame_rows(column);
    }
    if (column->offsets_frame != NULL) {
        column->offsets = (int32_t *)(void *)column->offsets_frame->data;
        column->offsets[0] = 0;
    } else if (column->values_frame != NULL) {
        column->values = column->values_frame->data;
    }
    if (column->validity != NULL && !grow_validity(column, capacity)) {
        return fl_error_nomem(err);
    }
    column->capacity = capacity;
    return 0;
}

static fluss_code_t reserve_bytes(fl_arrow_column *column, size_t size, fluss_error_t *err)
{
    if (size > INT32_MAX || column->size + size > INT32_MAX) {
        return fl_error_argument(err, "%zu more bytes for a column of %zu, possible are %d", size,
                                 column->size, INT32_MAX);
    }
    size_t wanted = column->size_capacity == 0 ? column->size_hint : column->size_capacity * 2;
    wanted = wanted < SIZE_MIN ? SIZE_MIN : wanted;
    wanted = wanted < column->size + size ? column->size + size : wanted;
    if (!grow_frame(&column->values_frame, column->size, wanted)) {
        return fl_error_nomem(err);
    }
    column->values = column->values_frame->data;
    column->size_capacity = column->values_frame->capacity;
    return 0;
}

/* A null, or what stands below the null of a struct, whose fields may be NOT NULL. */
static fluss_code_t append_null(fl_arrow_column *column, fluss_error_t *err)
{
    if (column->length == column->capacity) {
        FL_TRY(grow(column, err));
    }
    const int64_t row = column->length;
    if (column->validity == NULL) {
        if (!grow_validity(column, column->capacity)) {
            return fl_error_nomem(err);
        }
        memset(column->validity, 0xff, (size_t)(row / 8));
        for (int64_t i = row & ~(int64_t)7; i < row; i++) {
            fl_bit_set(column->validity, i);
        }
    }
    for (size_t i = 0; column->layout == FL_LAYOUT_STRUCT && i < column->child_count; i++) {
        FL_TRY(append_null(&column->children[i], err));
    }
    fl_bit_clear(column->validity, row);
    if (column->layout == FL_LAYOUT_BITS) {
        fl_bit_clear(column->values, row);
    } else if (column->layout == FL_LAYOUT_FIXED) {
        memset(column->values + (size_t)row * column->width, 0, column->width);
    } else if (column->offsets != NULL) {
        column->offsets[row + 1] = column->offsets[row];
    }
    column->null_count++;
    column->length++;
    return 0;
}

static fluss_code_t wrong_value(const fl_arrow_column *column, const fluss_datum_t *value,
                                fluss_error_t *err)
{
    return fl_error_argument(err, "a value of kind %u in a column of kind %u", value->type,
                             column->type.root);
}

static fluss_code_t append_bytes(fl_arrow_column *column, const fluss_datum_t *value,
                                 fluss_error_t *err)
{
    const size_t size = value->v.s.len;
    if (size > column->size_capacity - column->size) {
        FL_TRY(reserve_bytes(column, size, err));
    }
    if (size != 0) {
        memcpy(column->values + column->size, value->v.s.ptr, size);
    }
    column->size += size;
    column->offsets[column->length + 1] = (int32_t)column->size;
    return 0;
}

static fluss_code_t append_list(fl_arrow_column *column, const fluss_datum_t *value,
                                fluss_error_t *err)
{
    fl_arrow_column *child = &column->children[0];
    const size_t step = column->cell == FL_CELL_MAP ? 2 : 1;
    for (size_t i = 0; i + step <= value->v.list.len; i += step) {
        if (step == 1) {
            FL_TRY(fl_arrow_column_append(child, &value->v.list.items[i], err));
            continue;
        }
        const fluss_datum_t entry = {.type = FLUSS_ROW,
                                     .v.list = {.items = &value->v.list.items[i], .len = 2}};
        FL_TRY(fl_arrow_column_append(child, &entry, err));
    }
    column->offsets[column->length + 1] = (int32_t)child->length;
    return 0;
}

static fluss_code_t append_struct(fl_arrow_column *column, const fluss_datum_t *value,
                                  fluss_error_t *err)
{
    if (value->v.list.len != column->child_count) {
        return fl_error_argument(err, "a row of %zu values for %zu fields", value->v.list.len,
                                 column->child_count);
    }
    for (size_t i = 0; i < column->child_count; i++) {
        FL_TRY(fl_arrow_column_append(&column->children[i], &value->v.list.items[i], err));
    }
    return 0;
}

/* Milliseconds and nanoseconds of the millisecond in the column's unit. */
static fluss_code_t append_timestamp(const fl_arrow_column *column, const fluss_datum_t *value,
                                     uint8_t *to, fluss_error_t *err)
{
    int64_t stored = value->v.i;
    bool overflows = false;
    if (column->cell == FL_CELL_TIMESTAMP_S) {
        stored /= 1000;
    } else if (column->cell == FL_CELL_TIMESTAMP_US) {
        overflows = __builtin_mul_overflow(stored, 1000, &stored) ||
                    __builtin_add_overflow(stored, value->nanos / 1000, &stored);
    } else if (column->cell == FL_CELL_TIMESTAMP_NS) {
        /* Just before the smallest int64, only the sum fits, not the product. */
        const __int128 exact = (__int128)stored * 1000000 + value->nanos;
        stored = (int64_t)exact;
        overflows = stored != exact;
    }
    if (overflows) {
        return fl_error_argument(err, "a timestamp of %lld ms does not fit precision %u in Arrow",
                                 (long long)value->v.i, column->type.precision);
    }
    fl_store_i64(to, stored);
    return 0;
}

static fluss_code_t append_scalar(fl_arrow_column *column, const fluss_datum_t *value,
                                  fluss_error_t *err)
{
    uint8_t *to = column->values + (size_t)column->length * column->width;
    switch (column->cell) {
    case FL_CELL_BOOL:
        (value->v.b ? fl_bit_set : fl_bit_clear)(column->values, column->length);
        return 0;
    case FL_CELL_I8:
        *to = (uint8_t)value->v.i;
        return 0;
    case FL_CELL_I16:
        fl_store_i16(to, (int16_t)value->v.i);
        return 0;
    case FL_CELL_I32:
    case FL_CELL_TIME_MS:
        fl_store_i32(to, (int32_t)value->v.i);
        return 0;
    case FL_CELL_I64:
        fl_store_i64(to, value->v.i);
        return 0;
    case FL_CELL_F32: {
        const float narrow = (float)value->v.f;
        memcpy(to, &narrow, sizeof(narrow));
        return 0;
    }
    case FL_CELL_F64:
        memcpy(to, &value->v.f, sizeof(value->v.f));
        return 0;
    case FL_CELL_DECIMAL:
        fl_store_u64(to, value->v.dec.lo);
        fl_store_i64(to + sizeof(uint64_t), value->v.dec.hi);
        return 0;
    case FL_CELL_TIME_S:
        fl_store_i32(to, (int32_t)(value->v.i / 1000));
        return 0;
    case FL_CELL_TIME_US:
        fl_store_i64(to, (int64_t)((int32_t)value->v.i) * 1000);
        return 0;
    case FL_CELL_TIME_NS:
        fl_store_i64(to, (int64_t)((int32_t)value->v.i) * 1000000);
        return 0;
    case FL_CELL_BINARY:
        if (value->v.s.len != column->width) {
            return fl_error_argument(err, "%zu bytes for BINARY(%zu)", value->v.s.len,
                                     column->width);
        }
        memcpy(to, value->v.s.ptr, column->width);
        return 0;
    default:
        return append_timestamp(column, value, to, err);
    }
}

/* CHAR and STRING, BINARY and BYTES hold the same kind of value. */
static bool is_same_family(uint8_t column, uint8_t value)
{
    const bool text = (column == FLUSS_CHAR || column == FLUSS_STRING) &&
                      (value == FLUSS_CHAR || value == FLUSS_STRING);
    const bool bytes = (column == FLUSS_BINARY || column == FLUSS_BYTES) &&
                       (value == FLUSS_BINARY || value == FLUSS_BYTES);
    return text || bytes;
}

fluss_code_t fl_arrow_column_append(fl_arrow_column *column, const fluss_datum_t *value,
                                    fluss_error_t *err)
{
    if (FL_UNLIKELY(value->type != column->type.root)) {
        if (value->type == FLUSS_NULL) {
            return column->type.nullable ? append_null(column, err)
                                         : fl_error_argument(err, "null in a NOT NULL field");
        }
        if (!is_same_family(column->type.root, value->type)) {
            return wrong_value(column, value, err);
        }
    }
    if (FL_UNLIKELY(column->length == column->capacity)) {
        FL_TRY(grow(column, err));
    }
    switch (column->cell) {
    case FL_CELL_VAR:
        FL_TRY(append_bytes(column, value, err));
        break;
    case FL_CELL_LIST:
    case FL_CELL_MAP:
        FL_TRY(append_list(column, value, err));
        break;
    case FL_CELL_STRUCT:
        FL_TRY(append_struct(column, value, err));
        break;
    default:
        FL_TRY(append_scalar(column, value, err));
    }
    if (column->validity != NULL) {
        fl_bit_set(column->validity, column->length);
    }
    column->length++;
    return 0;
}

void fl_arrow_column_truncate(fl_arrow_column *column, int64_t length)
{
    if (length < column->length) {
        if (column->validity != NULL) {
            const int64_t cut = column->length - length;
            column->null_count -= cut - fl_bits_count(column->validity, length, cut);
        }
        column->length = length;
    }
    /* Children may be ahead of this column even when it is not: a value failed half way. */
    const int32_t last = column->offsets != NULL ? column->offsets[length] : 0;
    if (column->layout == FL_LAYOUT_VAR) {
        column->size = (size_t)last;
    } else if (column->layout == FL_LAYOUT_LIST) {
        fl_arrow_column_truncate(&column->children[0], last);
    } else {
        for (size_t i = 0; i < column->child_count; i++) {
            fl_arrow_column_truncate(&column->children[i], length);
        }
    }
}

size_t fl_arrow_column_bytes(const fl_arrow_column *column)
{
    const size_t rows = (size_t)column->length;
    size_t size = column->validity != NULL ? fl_bits_size(column->length) : 0;
    if (column->layout == FL_LAYOUT_BITS) {
        size += fl_bits_size(column->length);
    } else if (column->layout == FL_LAYOUT_FIXED) {
        size += rows * column->width;
    } else if (column->layout != FL_LAYOUT_STRUCT) {
        size += (rows + 1) * sizeof(int32_t) + column->size;
    }
    for (size_t i = 0; i < column->child_count; i++) {
        size += fl_arrow_column_bytes(&column->children[i]);
    }
    return size;
}

static void move_frame(fl_arrow_owner *owner, fl_frame *frame)
{
    if (frame != NULL) {
        const bool kept = fl_arrow_owner_keep(owner, frame);
        FL_ASSERT(kept);
    }
}

void fl_arrow_column_move(fl_arrow_column *column, fl_arrow_owner *owner, struct ArrowArray *array)
{
    for (size_t i = 0; i < column->child_count; i++) {
        fl_arrow_column_move(&column->children[i], owner, array->children[i]);
    }
    move_frame(owner, column->validity_frame);
    move_frame(owner, column->values_frame);
    move_frame(owner, column->offsets_frame);
    array->length = column->length;
    array->null_count = column->null_count;
    array->buffers[0] = column->null_count != 0 ? column->validity : NULL;
    size_t next = 1;
    if (column->offsets != NULL) {
        array->buffers[next++] = column->offsets;
    } else if (column->layout == FL_LAYOUT_VAR || column->layout == FL_LAYOUT_LIST) {
        next++; /* no values: the offsets are fl_arrow_nothing */
    }
    if (column->values != NULL) {
        array->buffers[next] = column->values;
    }
    reset_buffers(column);
}
