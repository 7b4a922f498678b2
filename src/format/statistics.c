/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics block of V1 and V2 batches, little endian:
 *
 *   Position  Size  Field
 *          0     1  version 1
 *          1     2  number of columns N
 *          3    2N  column indexes
 *     3 + 2N    4N  null counts
 *     3 + 6N     4  size of the row of smallest values, and that aligned row
 *        ...     4  size of the row of largest values, and that aligned row
 *
 * The rows are read and written as if every column were nullable: a column of nulls has no bounds.
 * Java gives CHAR no bounds either, so a missing bound says nothing about the rows.
 * Source: LogRecordBatchStatisticsWriter and its parser. */
#include "format/statistics.h"

#include "format/arrow_private.h"
#include "format/row_codec.h"

enum { VERSION = 1, HEAD_SIZE = 3, PER_COLUMN_SIZE = sizeof(int16_t) + sizeof(int32_t) };

bool fl_statistics_supports(const fl_type *type)
{
    switch (type->root) {
    case FLUSS_BINARY:
    case FLUSS_BYTES:
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        return false;
    default:
        return true;
    }
}

/* Rows with the smallest and largest value; -1: only nulls. */
typedef struct extremes {
    int64_t min, max;
} extremes;

/* Values [from, from + count) of an array, counted from the start of its buffers. */
typedef struct value_range {
    const uint8_t *validity; /* NULL: no nulls */
    const uint8_t *values;
    int64_t from, count;
} value_range;

#define DEFINE_SCAN(type)                                                             \
    static extremes scan_##type(value_range range)                                    \
    {                                                                                 \
        extremes found = {-1, -1};                                                    \
        type##_t min = 0, max = 0;                                                    \
        for (int64_t i = 0; i < range.count; i++) {                                   \
            const int64_t at = range.from + i;                                        \
            if (range.validity != NULL && !fl_bit_get(range.validity, at)) {          \
                continue;                                                             \
            }                                                                         \
            type##_t value;                                                           \
            memcpy(&value, range.values + (size_t)at * sizeof(value), sizeof(value)); \
            if (found.min < 0 || value < min) {                                       \
                min = value;                                                          \
                found.min = i;                                                        \
            }                                                                         \
            if (found.max < 0 || value > max) {                                       \
                max = value;                                                          \
                found.max = i;                                                        \
            }                                                                         \
        }                                                                             \
        return found;                                                                 \
    }
DEFINE_SCAN(int8)
DEFINE_SCAN(int16)
DEFINE_SCAN(int32)
DEFINE_SCAN(int64)

/* Any type, by its values. */
static fluss_code_t scan_values(const fl_arrow_rows *rows, size_t column, int64_t from,
                                int64_t count, extremes *found, fluss_error_t *err)
{
    fluss_datum_t min = {.type = FLUSS_NULL}, max = {.type = FLUSS_NULL};
    *found = (extremes){-1, -1};
    for (int64_t i = 0; i < count; i++) {
        fluss_datum_t value;
        FL_TRY(fl_arrow_rows_get(rows, from + i, column, NULL, &value, err));
        if (value.type == FLUSS_NULL) {
            continue;
        }
        if (found->min < 0 || fl_datum_compare(&value, &min) < 0) {
            min = value;
            found->min = i;
        }
        if (found->max < 0 || fl_datum_compare(&value, &max) > 0) {
            max = value;
            found->max = i;
        }
    }
    return 0;
}

typedef struct statistics_walk {
    const fl_schema *schema;
    const struct ArrowArray *array;
    const fl_arrow_rows *rows;
    int64_t row_from, row_count;
    fluss_error_t *err;
} statistics_walk;

/* Stored integers have the order of the values they stand for, whatever their unit. */
static fluss_code_t find_extremes(const statistics_walk *walk, size_t column, extremes *found)
{
    const fl_type *type = &walk->schema->columns[column].type;
    const struct ArrowArray *array = walk->array->children[column];
    const value_range range = {.validity = array->null_count != 0 ? array->buffers[0] : NULL,
                               .values = array->buffers[1],
                               .from = walk->array->offset + array->offset + walk->row_from,
                               .count = walk->row_count};
    switch (fl_arrow_cell_of(type)) {
    case FL_CELL_I8:
        *found = scan_int8(range);
        return 0;
    case FL_CELL_I16:
        *found = scan_int16(range);
        return 0;
    case FL_CELL_I32:
    case FL_CELL_TIME_S:
    case FL_CELL_TIME_MS:
        *found = scan_int32(range);
        return 0;
    case FL_CELL_I64:
    case FL_CELL_TIME_US:
    case FL_CELL_TIME_NS:
    case FL_CELL_TIMESTAMP_S:
    case FL_CELL_TIMESTAMP_MS:
    case FL_CELL_TIMESTAMP_US:
    case FL_CELL_TIMESTAMP_NS:
        *found = scan_int64(range);
        return 0;
    default:
        return scan_values(walk->rows, column, walk->row_from, walk->row_count, found, walk->err);
    }
}

static fluss_code_t get_bound(const statistics_walk *walk, size_t column, int64_t row,
                              fluss_datum_t *bound)
{
    if (row < 0) {
        *bound = (fluss_datum_t){.type = FLUSS_NULL};
        return 0;
    }
    return fl_arrow_rows_get(walk->rows, walk->row_from + row, column, NULL, bound, walk->err);
}

static fluss_code_t write_row(const fl_type *const *types, const fluss_datum_t *values,
                              size_t count, fl_buf *out, fluss_error_t *err)
{
    const size_t at = out->size;
    FL_TRY(fl_buf_append_zeros(out, sizeof(int32_t), err));
    FL_TRY(fl_row_encode(FL_ROW_ALIGNED, types, values, count, out, err));
    fl_store_i32(out->data + at, (int32_t)(out->size - at - sizeof(int32_t)));
    return 0;
}

/* The types of chosen columns, all nullable. */
static fluss_code_t nullable_types(const fl_schema *schema, const uint32_t *columns, size_t count,
                                   fl_arena *arena, const fl_type *const **types,
                                   fluss_error_t *err)
{
    fl_type *copies = fl_arena_array(arena, count, sizeof(*copies));
    const fl_type **pointers = fl_arena_array(arena, count, sizeof(*pointers));
    if (copies == NULL || pointers == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        copies[i] = schema->columns[columns[i]].type;
        copies[i].nullable = true;
        pointers[i] = &copies[i];
    }
    *types = pointers;
    return 0;
}

static fluss_code_t write_block(const statistics_walk *walk, const uint32_t *columns,
                                size_t column_count, fl_arena *arena, fl_buf *out)
{
    fluss_error_t *err = walk->err;
    const fl_type *const *types;
    FL_TRY(nullable_types(walk->schema, columns, column_count, arena, &types, err));
    fluss_datum_t *bounds = fl_arena_array(arena, 2 * column_count, sizeof(*bounds));
    if (bounds == NULL) {
        return fl_error_nomem(err);
    }
    const size_t start = out->size;
    FL_TRY(fl_buf_append_zeros(out, HEAD_SIZE + column_count * PER_COLUMN_SIZE, err));
    uint8_t *head = out->data + start;
    head[0] = VERSION;
    fl_store_i16(head + 1, (int16_t)column_count);
    uint8_t *nulls = head + HEAD_SIZE + column_count * sizeof(int16_t);
    for (size_t i = 0; i < column_count; i++) {
        const struct ArrowArray *array = walk->array->children[columns[i]];
        extremes found;
        FL_TRY(find_extremes(walk, columns[i], &found));
        FL_TRY(get_bound(walk, columns[i], found.min, &bounds[i]));
        FL_TRY(get_bound(walk, columns[i], found.max, &bounds[column_count + i]));
        fl_store_i16(head + HEAD_SIZE + i * sizeof(int16_t), (int16_t)columns[i]);
        fl_store_i32(nulls + i * sizeof(int32_t),
                     (int32_t)fl_arrow_null_count(array, walk->array->offset + walk->row_from,
                                                  walk->row_count));
    }
    FL_TRY(write_row(types, bounds, column_count, out, err));
    return write_row(types, bounds + column_count, column_count, out, err);
}

static fluss_code_t check_columns(const fl_schema *schema, const uint32_t *columns,
                                  size_t column_count, fluss_error_t *err)
{
    if (column_count == 0 || column_count > INT16_MAX) {
        return fl_error_argument(err, "statistics of %zu columns, possible are 1 to %d",
                                 column_count, INT16_MAX);
    }
    for (size_t i = 0; i < column_count; i++) {
        if (columns[i] >= schema->column_count || columns[i] > INT16_MAX ||
            !fl_statistics_supports(&schema->columns[columns[i]].type)) {
            return fl_error_argument(err, "column %u of %zu has no statistics", columns[i],
                                     schema->column_count);
        }
    }
    return 0;
}

fluss_code_t fl_statistics_write(const fl_schema *schema, const struct ArrowArray *array,
                                 int64_t row_from, int64_t row_count, const uint32_t *columns,
                                 size_t column_count, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(check_columns(schema, columns, column_count, err));
    if (row_from < 0 || row_count < 0 || row_count > FL_ARROW_ROWS_MAX ||
        row_from > array->length || row_count > array->length - row_from) {
        return fl_error_argument(err, "rows %lld and %lld following of an Arrow array of %lld",
                                 (long long)row_from, (long long)row_count,
                                 (long long)array->length);
    }
    fl_arrow_rows *rows;
    FL_TRY(fl_arrow_rows_new(schema, array, &rows, err));
    const statistics_walk walk = {.schema = schema,
                                  .array = array,
                                  .rows = rows,
                                  .row_from = row_from,
                                  .row_count = row_count,
                                  .err = err};
    fl_arena arena;
    fl_arena_init(&arena);
    const size_t start = out->size;
    const fluss_code_t rc = write_block(&walk, columns, column_count, &arena, out);
    if (rc != 0) {
        out->size = start;
    }
    fl_arena_deinit(&arena);
    fl_arrow_rows_free(rows);
    return rc;
}

/* ---- reading ---- */

static fluss_code_t broken(fluss_error_t *err, fl_slice block, const char *what, int64_t found)
{
    return fl_error_corrupt(err, "statistics of %zu bytes: %s is %lld", block.size, what,
                            (long long)found);
}

/* The row of bounds at `at`, which moves behind it. */
static fluss_code_t read_row(fl_slice block, const fl_type *const *types, size_t count,
                             fl_arena *arena, size_t *at, fluss_datum_t *bounds, fluss_error_t *err)
{
    if (block.size - *at < sizeof(int32_t)) {
        return broken(err, block, "room for the size of a row", (int64_t)(block.size - *at));
    }
    const int32_t claimed = fl_load_i32(block.data + *at);
    *at += sizeof(int32_t);
    size_t size;
    if (!fl_size_from_i32(claimed, &size) || size == 0 || size > block.size - *at) {
        return broken(err, block, "the size of a row", claimed);
    }
    const fl_slice row = fl_slice_sub(block, *at, size);
    *at += size;
    return fl_row_decode(FL_ROW_ALIGNED, types, row, count, arena, bounds, err);
}

static fluss_code_t read_indexes(fl_slice block, const fl_schema *schema, size_t count,
                                 uint32_t *indexes, fluss_error_t *err)
{
    for (size_t i = 0; i < count; i++) {
        const int16_t index = fl_load_i16(block.data + HEAD_SIZE + i * sizeof(int16_t));
        if (index < 0 || (size_t)index >= schema->column_count ||
            !fl_statistics_supports(&schema->columns[index].type)) {
            return broken(err, block, "a column index", index);
        }
        indexes[i] = (uint32_t)index;
    }
    return 0;
}

fluss_code_t fl_statistics_read(fl_slice block, const fl_schema *schema, fl_arena *arena,
                                fl_statistics_column **columns, size_t *count, fluss_error_t *err)
{
    *columns = NULL;
    *count = 0;
    if (block.size < HEAD_SIZE || block.data[0] != VERSION || fl_load_i16(block.data + 1) <= 0) {
        return 0;
    }
    const size_t wanted = (size_t)fl_load_i16(block.data + 1);
    size_t at = HEAD_SIZE + wanted * PER_COLUMN_SIZE;
    if (at > block.size) {
        return broken(err, block, "the number of columns", (int64_t)wanted);
    }
    uint32_t *indexes = fl_arena_array(arena, wanted, sizeof(*indexes));
    fluss_datum_t *bounds = fl_arena_array(arena, 2 * wanted, sizeof(*bounds));
    fl_statistics_column *found = fl_arena_array(arena, wanted, sizeof(*found));
    if (indexes == NULL || bounds == NULL || found == NULL) {
        return fl_error_nomem(err);
    }
    const fl_type *const *types;
    FL_TRY(read_indexes(block, schema, wanted, indexes, err));
    FL_TRY(nullable_types(schema, indexes, wanted, arena, &types, err));
    FL_TRY(read_row(block, types, wanted, arena, &at, bounds, err));
    FL_TRY(read_row(block, types, wanted, arena, &at, bounds + wanted, err));
    const uint8_t *nulls = block.data + HEAD_SIZE + wanted * sizeof(int16_t);
    for (size_t i = 0; i < wanted; i++) {
        found[i] = (fl_statistics_column){.column = indexes[i],
                                          .null_count = fl_load_i32(nulls + i * sizeof(int32_t)),
                                          .min = bounds[i],
                                          .max = bounds[wanted + i]};
        if (found[i].null_count < 0) {
            return broken(err, block, "a null count", found[i].null_count);
        }
    }
    *columns = found;
    *count = wanted;
    return 0;
}
