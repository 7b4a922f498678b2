/* SPDX-License-Identifier: Apache-2.0 */
/* Results of administrative calls: an array of cells, row by row, over one arena. Numbers are kept
 * as numbers and as text, so that reading never allocates. */
#include "client/result.h"

#include <fluss/fluss_arrow.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "format/arrow.h"
#include "format/schema.h"

enum { CELL_COUNT_MAX = 1 << 26 };

typedef struct cell {
    const char *text; /* NULL: null */
    int64_t number;
} cell;

struct fluss_result {
    fl_arena arena;
    const fl_result_column *columns;
    size_t column_count, row_count, capacity; /* of rows */
    cell *cells;
};

fluss_result_t *fl_result_new(const fl_result_column *columns, size_t count)
{
    fluss_result_t *result = fl_calloc(1, sizeof(*result));
    if (result != NULL) {
        fl_arena_init(&result->arena);
        result->columns = columns;
        result->column_count = count;
    }
    return result;
}

/* Start a row of nulls. */
static fluss_code_t add_row(fluss_result_t *result, fluss_error_t *err)
{
    if (result->row_count == result->capacity) {
        const size_t capacity = result->capacity == 0 ? 8 : result->capacity * 2;
        cell *cells = NULL;
        if (capacity * result->column_count <= CELL_COUNT_MAX) {
            cells = fl_realloc(result->cells, capacity * result->column_count * sizeof(*cells));
        }
        if (cells == NULL) {
            return fl_error_nomem(err);
        }
        result->cells = cells;
        result->capacity = capacity;
    }
    memset(result->cells + result->row_count * result->column_count, 0,
           result->column_count * sizeof(cell));
    result->row_count++;
    return 0;
}

static fluss_code_t set_cell(fl_arena *arena, const fl_cell *from, cell *to, fluss_error_t *err)
{
    char number[24];
    fl_slice text = from->text;
    if (from->kind == FL_CELL_NULL) {
        return 0;
    }
    if (from->kind == FL_CELL_NUMBER) {
        (void)snprintf(number, sizeof(number), "%" PRId64, from->number);
        text = fl_slice_str(number);
        to->number = from->number;
    }
    to->text = fl_arena_strndup(arena, text.data, text.size);
    return to->text != NULL ? 0 : fl_error_nomem(err);
}

fluss_code_t fl_result_append(fluss_result_t *result, const fl_cell *cells, fluss_error_t *err)
{
    FL_TRY(add_row(result, err));
    cell *row = result->cells + (result->row_count - 1) * result->column_count;
    for (size_t i = 0; i < result->column_count; i++) {
        FL_TRY(set_cell(&result->arena, &cells[i], &row[i], err));
    }
    return 0;
}

/* ---- public ---- */

size_t fluss_result_rows(const fluss_result_t *result)
{
    return result != NULL ? result->row_count : 0;
}

size_t fluss_result_columns(const fluss_result_t *result)
{
    return result != NULL ? result->column_count : 0;
}

const char *fluss_result_column(const fluss_result_t *result, size_t i)
{
    return result != NULL && i < result->column_count ? result->columns[i].name : NULL;
}

static const cell *find_cell(const fluss_result_t *result, size_t row, const char *column,
                             bool *is_number)
{
    if (result == NULL || column == NULL || row >= result->row_count) {
        return NULL;
    }
    for (size_t i = 0; i < result->column_count; i++) {
        if (strcmp(result->columns[i].name, column) == 0) {
            *is_number = result->columns[i].is_number;
            return &result->cells[row * result->column_count + i];
        }
    }
    return NULL;
}

const char *fluss_result_str(const fluss_result_t *result, size_t row, const char *column)
{
    bool is_number;
    const cell *found = find_cell(result, row, column, &is_number);
    return found != NULL ? found->text : NULL;
}

int64_t fluss_result_i64(const fluss_result_t *result, size_t row, const char *column,
                         int64_t fallback)
{
    bool is_number = false;
    const cell *found = find_cell(result, row, column, &is_number);
    return found != NULL && is_number && found->text != NULL ? found->number : fallback;
}

static fluss_code_t make_schema(const fluss_result_t *result, fl_schema **out, fluss_error_t *err)
{
    fl_schema *schema = fl_schema_new();
    if (schema == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = 0;
    for (size_t i = 0; i < result->column_count && rc == 0; i++) {
        const fl_type type = {
            .root = result->columns[i].is_number ? FLUSS_BIGINT : FLUSS_STRING,
            .nullable = true,
        };
        rc = fl_schema_add(schema, result->columns[i].name, &type, NULL, err);
    }
    if (rc != 0) {
        fl_schema_unref(schema);
        return rc;
    }
    *out = schema;
    return 0;
}

static fluss_code_t append_row(const fluss_result_t *result, size_t row, fl_arrow_builder *builder,
                               fluss_datum_t *values, fluss_error_t *err)
{
    for (size_t i = 0; i < result->column_count; i++) {
        const cell *from = &result->cells[row * result->column_count + i];
        values[i] = (fluss_datum_t){.type = FLUSS_NULL};
        if (from->text != NULL && result->columns[i].is_number) {
            values[i] = (fluss_datum_t){.type = FLUSS_BIGINT, .v.i = from->number};
        } else if (from->text != NULL) {
            values[i] =
                (fluss_datum_t){.type = FLUSS_STRING, .v.s = {from->text, strlen(from->text)}};
        }
    }
    return fl_arrow_builder_append(builder, values, err);
}

fluss_code_t fluss_result_to_arrow(const fluss_result_t *result, struct ArrowSchema *schema,
                                   struct ArrowArray *array, fluss_error_t *err)
{
    if (result == NULL || schema == NULL || array == NULL) {
        return fl_error_argument(err, "result, schema and array must not be NULL");
    }
    memset(schema, 0, sizeof(*schema));
    memset(array, 0, sizeof(*array));
    fl_schema *columns = NULL;
    fl_arrow_builder *builder = NULL;
    fluss_datum_t *values = fl_calloc(result->column_count + 1, sizeof(*values));
    fluss_code_t rc = values == NULL ? fl_error_nomem(err) : make_schema(result, &columns, err);
    if (rc != 0) {
        fl_free(values);
        return rc;
    }
    FL_TRY_OUT(fl_arrow_builder_new(columns, &builder, err));
    for (size_t row = 0; row < result->row_count; row++) {
        FL_TRY_OUT(append_row(result, row, builder, values, err));
    }
    FL_TRY_OUT(fl_arrow_builder_finish(builder, array, err));
    rc = fl_arrow_schema_from(columns, schema, err);
    if (rc != 0) {
        array->release(array);
        memset(array, 0, sizeof(*array));
    }
out:
    fl_arrow_builder_free(builder);
    fl_schema_unref(columns);
    fl_free(values);
    return rc;
}

void fluss_result_free(fluss_result_t *result)
{
    if (result != NULL) {
        fl_arena_deinit(&result->arena);
        fl_free(result->cells);
        fl_free(result);
    }
}
