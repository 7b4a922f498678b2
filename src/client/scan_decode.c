/* SPDX-License-Identifier: Apache-2.0 */
/* From the bytes of a log batch to columns: checksum, Arrow message or records, the change types,
 * rows before the wanted offset cut off, columns arranged as the user wants them. */
#include <string.h>

#include "base/alloc.h"
#include "client/scan_private.h"
#include "format/arrow.h"
#include "format/row_log.h"

fl_chunk *fl_chunk_ref(fl_chunk *chunk)
{
    (void)atomic_fetch_add_explicit(&chunk->refs, 1, memory_order_relaxed);
    return chunk;
}

void fl_chunk_unref(fl_chunk *chunk)
{
    if (chunk == NULL || atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    fl_arrow_rows_free(chunk->rows);
    if (chunk->array.release != NULL) {
        chunk->array.release(&chunk->array);
    }
    fl_schema_unref(chunk->schema);
    fl_free(chunk->owned_types);
    fl_free(chunk->offsets);
    fl_frame_unref(chunk->frame);
    fl_free(chunk);
}

fluss_code_t fl_chunk_new(const fluss_bucket_t *bucket, fl_schema *schema, struct ArrowArray *array,
                          bool with_rows, fl_chunk **out, fluss_error_t *err)
{
    fl_chunk *chunk = fl_calloc(1, sizeof(*chunk));
    if (chunk == NULL) {
        return fl_error_nomem(err);
    }
    atomic_init(&chunk->refs, 1);
    chunk->bucket = *bucket;
    chunk->row_count = array->length;
    chunk->schema = fl_schema_ref(schema);
    chunk->array = *array;
    array->release = NULL;
    if (with_rows) {
        const fluss_code_t rc = fl_arrow_rows_new(schema, &chunk->array, &chunk->rows, err);
        if (rc != 0) {
            fl_chunk_unref(chunk);
            return rc;
        }
    }
    *out = chunk;
    return 0;
}

/* The columns of a batch as they are on the wire. Of columns that were added after it was written
 * the server makes nulls. */
static fluss_code_t wire_schema(const fl_scan_plan *plan, const fl_schema *written,
                                bool is_projected, fl_schema **out, fluss_error_t *err)
{
    if (!is_projected) {
        *out = fl_schema_ref(written);
        return 0;
    }
    const uint32_t *columns = (const uint32_t *)plan->wire_columns;
    const fl_schema *newest =
        written->column_count > plan->table->schema->column_count ? written : plan->table->schema;
    return fl_schema_project(newest, columns, plan->wire_column_count, out, err);
}

/* Those of the wanted columns that a batch has, in the user's order: ids tell which they are. */
static fluss_code_t as_written(const fl_schema *from, const fl_schema *wanted, fl_schema **out,
                               fluss_error_t *err)
{
    int32_t *places = fl_calloc(wanted->column_count, sizeof(*places));
    uint32_t *order = fl_calloc(wanted->column_count, sizeof(*order));
    fluss_code_t rc = places == NULL || order == NULL ? fl_error_nomem(err)
                                                      : fl_schema_match(from, wanted, places, err);
    size_t count = 0;
    for (size_t i = 0; rc == 0 && i < wanted->column_count; i++) {
        if (places[i] >= 0) {
            order[count++] = (uint32_t)places[i];
        }
    }
    rc = rc != 0 ? rc : fl_schema_project(from, order, count, out, err);
    fl_free(places);
    fl_free(order);
    return rc;
}

/* Arrange columns of a batch written under `from` as the plan wants. */
static fluss_code_t arrange(const fl_scan_plan *plan, const fl_schema *from,
                            struct ArrowArray *array, fl_schema **schema, fluss_error_t *err)
{
    fl_schema *to = NULL;
    if (!plan->is_write_time) {
        to = fl_schema_ref(plan->output);
    } else if (plan->columns == NULL) {
        to = fl_schema_ref(from);
    } else {
        FL_TRY(as_written(from, plan->output, &to, err));
    }
    bool is_same = to->column_count == from->column_count;
    for (size_t i = 0; is_same && i < to->column_count; i++) {
        is_same = to->columns[i].id == from->columns[i].id &&
                  fl_type_equal(&to->columns[i].type, &from->columns[i].type);
    }
    if (!is_same) {
        struct ArrowArray arranged = {0};
        const fluss_code_t rc = fl_arrow_realign(from, array, to, &arranged, err);
        if (rc != 0) {
            fl_schema_unref(to);
            return rc;
        }
        *array = arranged;
    }
    *schema = to;
    return 0;
}

/* Records one after the other into columns; their change types go to `types`. */
static fluss_code_t read_rows(const fl_scan_plan *plan, const fl_schema *written,
                              const fl_log_batch *batch, uint8_t *types, struct ArrowArray *array,
                              fluss_error_t *err)
{
    const fl_row_format format = plan->table->settings.log_format == FL_LOG_FORMAT_INDEXED
                                     ? FL_ROW_INDEXED
                                     : FL_ROW_COMPACTED;
    const size_t count = written->column_count;
    fl_arena arena;
    fl_arena_init(&arena);
    fl_arrow_builder *builder = NULL;
    fl_row_log_iter iter;
    fluss_code_t rc = 0;
    bool is_end = false;
    const fl_type **column_types = fl_calloc(count, sizeof(*column_types));
    fluss_datum_t *values = fl_calloc(count, sizeof(*values));
    if (column_types == NULL || values == NULL) {
        rc = fl_error_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        column_types[i] = &written->columns[i].type;
    }
    FL_TRY_OUT(fl_arrow_builder_new(written, &builder, err));
    fl_row_log_iter_init(&iter, batch);
    for (int32_t i = 0; i <= batch->record_count && !is_end; i++) {
        fl_row_log_record record;
        FL_TRY_OUT(fl_row_log_next(&iter, &record, &is_end, err));
        if (!is_end) {
            FL_TRY_OUT(fl_row_decode(format, column_types, record.row, count, &arena, values, err));
            FL_TRY_OUT(fl_arrow_builder_append(builder, values, err));
            types[i] = (uint8_t)record.change_type;
            fl_arena_reset(&arena);
        }
    }
    rc = fl_arrow_builder_finish(builder, array, err);
out:
    fl_arrow_builder_free(builder);
    fl_free((void *)column_types);
    fl_free(values);
    fl_arena_deinit(&arena);
    return rc;
}

/* The batch's columns, in the schema it was written with. */
static fluss_code_t read_batch(const fl_scan_plan *plan, const fl_schema *written,
                               const fl_wire_batch *from, fl_chunk *chunk, fl_schema **schema,
                               fluss_error_t *err)
{
    const fl_log_batch *batch = &from->batch;
    if (plan->table->settings.log_format != FL_LOG_FORMAT_ARROW) {
        chunk->owned_types = fl_calloc((size_t)batch->record_count + 1, 1);
        if (chunk->owned_types == NULL) {
            return fl_error_nomem(err);
        }
        chunk->change_types = batch->is_append_only ? NULL : chunk->owned_types;
        *schema = fl_schema_ref(written);
        return read_rows(plan, written, batch, chunk->owned_types, &chunk->array, err);
    }
    fl_schema *wire;
    FL_TRY(wire_schema(plan, written, from->is_projected, &wire, err));
    const fluss_code_t rc = fl_arrow_read(wire, batch->payload, from->frame, &chunk->array, err);
    if (rc != 0) {
        fl_schema_unref(wire);
        return rc;
    }
    if (!batch->is_append_only) {
        chunk->change_types = batch->change_types.data;
        chunk->frame = fl_frame_ref(from->frame);
    }
    *schema = wire;
    return 0;
}

static fluss_code_t cut_front(fl_chunk *chunk, int64_t rows, fluss_error_t *err)
{
    if (rows == 0) {
        return 0;
    }
    struct ArrowArray rest = {0};
    FL_TRY(fl_arrow_slice(&chunk->array, rows, chunk->array.length - rows, &rest, err));
    chunk->array = rest;
    chunk->first_offset += rows;
    chunk->row_count -= rows;
    if (chunk->change_types != NULL) {
        chunk->change_types += rows;
    }
    return 0;
}

/* The rows that pass, by index; *count of them. */
static fluss_code_t find_passing(const fl_scan_plan *plan, const fl_schema *schema,
                                 const fl_chunk *chunk, int64_t *indexes, size_t *count,
                                 fluss_error_t *err)
{
    fl_arrow_rows *rows;
    FL_TRY(fl_arrow_rows_new(schema, &chunk->array, &rows, err));
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_code_t rc = 0;
    for (int64_t row = 0; row < chunk->row_count && rc == 0; row++) {
        bool passes = false;
        rc = fl_filter_test_row(plan->filter, schema, rows, row, &arena, &passes, err);
        if (passes) {
            indexes[(*count)++] = row;
        }
        fl_arena_reset(&arena);
    }
    fl_arena_deinit(&arena);
    fl_arrow_rows_free(rows);
    return rc;
}

/* Keep the rows that pass the filter, with their offsets and change types. */
static fluss_code_t keep_passing(fl_chunk *chunk, const fl_schema *schema, const int64_t *indexes,
                                 size_t count, fluss_error_t *err)
{
    struct ArrowArray kept = {0};
    int64_t *offsets = fl_calloc(count + 1, sizeof(*offsets));
    uint8_t *types = fl_calloc(count + 1, 1);
    const fluss_code_t rc = offsets == NULL || types == NULL
                                ? fl_error_nomem(err)
                                : fl_arrow_take(schema, &chunk->array, indexes, count, &kept, err);
    if (rc != 0) {
        fl_free(offsets);
        fl_free(types);
        return rc;
    }
    for (size_t i = 0; i < count; i++) {
        offsets[i] = chunk->first_offset + indexes[i];
        types[i] = chunk->change_types != NULL ? chunk->change_types[indexes[i]] : 0;
    }
    chunk->array.release(&chunk->array);
    chunk->array = kept;
    chunk->change_types = chunk->change_types != NULL ? types : NULL;
    fl_free(chunk->owned_types);
    chunk->owned_types = types;
    chunk->offsets = offsets;
    chunk->first_offset = count > 0 ? offsets[0] : chunk->first_offset;
    chunk->row_count = (int64_t)count;
    return 0;
}

static fluss_code_t filter_chunk(fl_chunk *chunk, const fl_scan_plan *plan, const fl_schema *schema,
                                 fluss_error_t *err)
{
    size_t count = 0;
    int64_t *indexes = fl_calloc((size_t)chunk->row_count + 1, sizeof(*indexes));
    if (indexes == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = find_passing(plan, schema, chunk, indexes, &count, err);
    if (rc == 0 && count < (size_t)chunk->row_count) {
        rc = keep_passing(chunk, schema, indexes, count, err);
    }
    fl_free(indexes);
    return rc;
}

static fluss_code_t fill_chunk(fl_chunk *chunk, const fl_scan_plan *plan, const fl_schema *written,
                               const fl_wire_batch *wire, int64_t from, fluss_error_t *err)
{
    const fl_log_batch *batch = &wire->batch;
    fl_schema *schema = NULL;
    FL_TRY(read_batch(plan, written, wire, chunk, &schema, err));
    fluss_code_t rc = 0;
    if (chunk->array.length != batch->record_count) {
        rc = fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                      "the batch holds %lld rows, its header says %d",
                      (long long)chunk->array.length, batch->record_count);
    }
    chunk->first_offset = batch->base_offset;
    chunk->timestamp_ms = batch->commit_timestamp_ms;
    chunk->row_count = batch->record_count;
    chunk->bytes = batch->bytes.size;
    if (rc == 0) {
        rc = cut_front(chunk, from > batch->base_offset ? from - batch->base_offset : 0, err);
    }
    if (rc == 0 && plan->is_exact) {
        rc = filter_chunk(chunk, plan, schema, err);
    }
    if (rc == 0) {
        rc = arrange(plan, schema, &chunk->array, &chunk->schema, err);
    }
    fl_schema_unref(schema);
    FL_TRY(rc);
    return plan->is_batches ? 0
                            : fl_arrow_rows_new(chunk->schema, &chunk->array, &chunk->rows, err);
}

static void prefix_place(const fl_scan_plan *plan, const fluss_bucket_t *bucket,
                         const fl_log_batch *batch, fluss_error_t *err)
{
    fl_error_prefix(err, "table %s.%s, bucket %d, offset %lld: ", plan->table->database,
                    plan->table->name, bucket->bucket, (long long)batch->base_offset);
}

fluss_code_t fl_scan_decode(const fl_scan_plan *plan, const fluss_bucket_t *bucket,
                            const fl_wire_batch *wire, int64_t from, fl_chunk **out,
                            fluss_error_t *err)
{
    const fl_log_batch *batch = &wire->batch;
    *out = NULL;
    if (plan->check_crc && !wire->is_projected) {
        const fluss_code_t checked = fl_log_batch_check_crc(batch, err);
        if (checked != 0) {
            prefix_place(plan, bucket, batch, err);
            return checked;
        }
    }
    if (batch->record_count == 0 || from >= batch->base_offset + batch->record_count) {
        return 0;
    }
    fl_schema *written = fl_table_find_schema(plan->table, batch->schema_id);
    if (written == NULL) {
        return fl_error(err, FLUSS_E_SCHEMA_NOT_EXIST, FLUSS_KIND_CORRUPT,
                        "the batch's schema %d is not known", batch->schema_id);
    }
    fl_chunk *chunk = fl_calloc(1, sizeof(*chunk));
    fluss_code_t rc = chunk != NULL ? 0 : fl_error_nomem(err);
    if (rc == 0) {
        atomic_init(&chunk->refs, 1);
        chunk->bucket = *bucket;
        rc = fill_chunk(chunk, plan, written, wire, from, err);
    }
    fl_schema_unref(written);
    if (rc != 0) {
        prefix_place(plan, bucket, batch, err);
        fl_chunk_unref(chunk);
        return rc;
    }
    if (chunk->row_count == 0) {
        fl_chunk_unref(chunk);
        chunk = NULL;
    }
    *out = chunk;
    return 0;
}

bool fl_scan_batch_may_match(const fl_scan_plan *plan, const fl_log_batch *batch)
{
    fl_schema *written = fl_table_find_schema(plan->table, batch->schema_id);
    if (written == NULL || batch->statistics.size == 0) {
        fl_schema_unref(written);
        return true;
    }
    fl_arena arena;
    fl_arena_init(&arena);
    fl_statistics_column *columns;
    size_t count;
    const bool is_known =
        fl_statistics_read(batch->statistics, written, &arena, &columns, &count, NULL) == 0 &&
        count > 0;
    const bool may_match = !is_known || fl_filter_may_match(plan->filter, written,
                                                            batch->record_count, columns, count);
    fl_arena_deinit(&arena);
    fl_schema_unref(written);
    return may_match;
}

bool fl_scan_lacks_columns(const fl_scan_plan *plan, int32_t schema_id)
{
    fl_schema *written = fl_table_find_schema(plan->table, schema_id);
    const bool lacks =
        written != NULL && plan->wire_columns != NULL &&
        (size_t)plan->wire_columns[plan->wire_column_count - 1] >= written->column_count;
    fl_schema_unref(written);
    return lacks;
}
