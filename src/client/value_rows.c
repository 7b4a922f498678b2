/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of primary-key tables arrive one by one, each under the schema it was written with. They are
 * read with that schema, mapped by column id to the columns that are wanted (those added later are
 * null), and gathered into columns. */
#include "client/value_rows.h"

#include "base/alloc.h"
#include "format/arrow.h"
#include "format/kv_batch.h"
#include "format/value_batch.h"

struct fl_value_rows {
    const fl_scan_plan *plan;
    fl_arrow_builder *builder;
    fl_arena arena;
    fluss_datum_t *wanted;
    int64_t *offsets;
    size_t count, capacity;
    /* the schema of the last row */
    int32_t schema_id;
    fl_schema *schema; /* shares */
    const fl_type **types;
    fluss_datum_t *values;
    int32_t *from; /* column of `values` for each wanted one; -1: null */
};

static void drop_schema(fl_value_rows *rows)
{
    fl_schema_unref(rows->schema);
    fl_free((void *)rows->types);
    fl_free(rows->values);
    rows->schema = NULL;
    rows->types = NULL;
    rows->values = NULL;
    rows->schema_id = -1;
}

fluss_code_t fl_value_rows_new(const fl_scan_plan *plan, fl_value_rows **out, fluss_error_t *err)
{
    fl_value_rows *rows = fl_calloc(1, sizeof(*rows));
    if (rows == NULL) {
        return fl_error_nomem(err);
    }
    const size_t count = plan->output->column_count;
    rows->plan = plan;
    rows->schema_id = -1;
    fl_arena_init(&rows->arena);
    rows->wanted = fl_calloc(count + 1, sizeof(*rows->wanted));
    rows->from = fl_calloc(count + 1, sizeof(*rows->from));
    fluss_code_t rc = rows->wanted != NULL && rows->from != NULL ? 0 : fl_error_nomem(err);
    if (rc == 0) {
        rc = fl_arrow_builder_new(plan->output, &rows->builder, err);
    }
    if (rc != 0) {
        fl_value_rows_free(rows);
        return rc;
    }
    *out = rows;
    return 0;
}

void fl_value_rows_free(fl_value_rows *rows)
{
    if (rows != NULL) {
        drop_schema(rows);
        fl_arrow_builder_free(rows->builder);
        fl_arena_deinit(&rows->arena);
        fl_free(rows->wanted);
        fl_free(rows->offsets);
        fl_free(rows->from);
        fl_free(rows);
    }
}

static fluss_code_t use_schema(fl_value_rows *rows, int32_t schema_id, fluss_error_t *err)
{
    if (rows->schema_id == schema_id) {
        return 0;
    }
    drop_schema(rows);
    fl_schema *schema = fl_table_find_schema(rows->plan->table, schema_id);
    if (schema == NULL) {
        return fl_error(err, FLUSS_E_SCHEMA_NOT_EXIST, FLUSS_KIND_CORRUPT,
                        "schema %d of a row is not known", schema_id);
    }
    rows->schema = schema;
    rows->types = fl_calloc(schema->column_count, sizeof(*rows->types));
    rows->values = fl_calloc(schema->column_count, sizeof(*rows->values));
    if (rows->types == NULL || rows->values == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        rows->types[i] = &schema->columns[i].type;
    }
    FL_TRY(fl_schema_match(schema, rows->plan->output, rows->from, err));
    rows->schema_id = schema_id;
    return 0;
}

fluss_code_t fl_value_rows_add(fl_value_rows *rows, int16_t schema_id, fl_slice row, int64_t offset,
                               fluss_error_t *err)
{
    FL_TRY(use_schema(rows, schema_id, err));
    int64_t *offsets = fl_grow(rows->offsets, &rows->capacity, rows->count, sizeof(*offsets));
    if (offsets == NULL) {
        return fl_error_nomem(err);
    }
    rows->offsets = offsets;
    fl_arena_reset(&rows->arena);
    FL_TRY(fl_row_decode(rows->plan->table->settings.kv_format, rows->types, row,
                         rows->schema->column_count, &rows->arena, rows->values, err));
    for (size_t i = 0; i < rows->plan->output->column_count; i++) {
        rows->wanted[i] =
            rows->from[i] >= 0 ? rows->values[rows->from[i]] : (fluss_datum_t){.type = FLUSS_NULL};
    }
    FL_TRY(fl_arrow_builder_append(rows->builder, rows->wanted, err));
    rows->offsets[rows->count++] = offset;
    return 0;
}

fluss_code_t fl_value_rows_finish(fl_value_rows *rows, const fluss_bucket_t *bucket,
                                  fl_chunk **chunk, fluss_error_t *err)
{
    *chunk = NULL;
    struct ArrowArray array = {0};
    FL_TRY(fl_arrow_builder_finish(rows->builder, &array, err));
    const fluss_code_t rc =
        fl_chunk_new(bucket, rows->plan->output, &array, !rows->plan->is_batches, chunk, err);
    if (rc != 0) {
        if (array.release != NULL) {
            array.release(&array);
        }
        return rc;
    }
    (*chunk)->offsets = rows->offsets;
    rows->offsets = NULL;
    return 0;
}

int32_t fl_values_unknown_schema(fl_table *table, fl_slice records)
{
    fl_value_batch_iter iter;
    bool is_end = records.size == 0 || fl_value_batch_open(records, &iter, NULL) != 0;
    while (!is_end) {
        int16_t schema_id;
        fl_slice row;
        if (fl_value_batch_next(&iter, &schema_id, &row, &is_end, NULL) != 0 || is_end) {
            break;
        }
        fl_schema *schema = fl_table_find_schema(table, schema_id);
        if (schema == NULL) {
            return schema_id;
        }
        fl_schema_unref(schema);
    }
    return -1;
}

fluss_code_t fl_values_decode(const fl_scan_plan *plan, const fluss_bucket_t *bucket,
                              fl_slice records, fl_chunk **chunk, fluss_error_t *err)
{
    *chunk = NULL;
    if (records.size == 0) {
        return 0;
    }
    fl_value_batch_iter iter;
    FL_TRY(fl_value_batch_open(records, &iter, err));
    fl_value_rows *rows;
    FL_TRY(fl_value_rows_new(plan, &rows, err));
    fluss_code_t rc = 0;
    bool is_end = false;
    for (int64_t i = 0; rc == 0 && !is_end; i++) {
        int16_t schema_id;
        fl_slice row;
        rc = fl_value_batch_next(&iter, &schema_id, &row, &is_end, err);
        if (rc == 0 && !is_end) {
            rc = fl_value_rows_add(rows, schema_id, row, i, err);
        }
    }
    if (rc == 0 && rows->count > 0) {
        rc = fl_value_rows_finish(rows, bucket, chunk, err);
    }
    fl_value_rows_free(rows);
    return rc;
}
