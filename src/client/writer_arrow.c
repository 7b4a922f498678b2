/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_write_arrow. A table without keys takes the columns as they are, as batches of their own. A
 * table whose rows have a bucket or a partition is split by them first. Rows of a primary-key table
 * are read out of the columns one by one, since its batches hold rows. */
#include <fluss/fluss_arrow.h>
#include <string.h>

#include "base/alloc.h"
#include "client/writer_private.h"
#include "format/arrow.h"

/* ---- sizes ---- */

/* About how many bytes rows [from, from + count) of a column occupy. */
static int64_t column_bytes(const fl_type *type, const struct ArrowArray *column, int64_t from,
                            int64_t count)
{
    const int64_t start = column->offset + from;
    switch (type->root) {
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BYTES: {
        const int32_t *offsets = column->buffers[1];
        return offsets == NULL || count == 0 ? 0
                                             : offsets[start + count] - offsets[start] + 4 * count;
    }
    case FLUSS_BINARY:
        return count * type->length;
    case FLUSS_DECIMAL:
        return count * 16;
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        return count * 64;
    default:
        return count * 8;
    }
}

static int64_t rows_bytes(const fl_schema *schema, const struct ArrowArray *array, int64_t from,
                          int64_t count)
{
    int64_t bytes = 1;
    for (size_t i = 0; i < schema->column_count; i++) {
        bytes +=
            column_bytes(&schema->columns[i].type, array->children[i], array->offset + from, count);
    }
    return bytes;
}

/* ---- one bucket ---- */

/* Cut into batches of at most the batch size. */
static fluss_code_t write_pieces(fl_writer *writer, fl_write_bucket *bucket,
                                 const struct ArrowArray *array, fl_ack_group *group,
                                 fluss_error_t *err)
{
    const int64_t size_max = writer->client->config->writer_batch_size.number;
    const int64_t total = array->length;
    const int64_t bytes = rows_bytes(writer->table->schema, array, 0, total);
    int64_t step = bytes <= size_max ? total : total * size_max / bytes;
    step = step < 1 ? 1 : step > INT32_MAX ? INT32_MAX : step;
    for (int64_t from = 0; from < total; from += step) {
        const int64_t count = step < total - from ? step : total - from;
        const fl_ack ack = {.group = group};
        if (group != NULL) {
            (void)atomic_fetch_add(&group->pending, 1);
        }
        const fluss_code_t rc = fl_accumulate_array(writer, bucket, array, from, count, ack, err);
        if (rc != 0) {
            if (group != NULL) {
                (void)atomic_fetch_sub(&group->pending, 1);
            }
            return rc;
        }
    }
    return 0;
}

/* ---- many buckets ---- */

typedef struct split {
    fl_write_bucket **buckets; /* of each row */
    int64_t *indexes;
    int64_t count;
} split;

static fluss_code_t read_routed(fl_writer *writer, const fl_arrow_rows *rows, int64_t row_index,
                                fl_row *row, fl_write_bucket **bucket, fluss_error_t *err)
{
    const fl_table *table = writer->table;
    FL_TRY(fl_row_room(row, table->schema->column_count, err));
    for (size_t i = 0; i < table->desc->bucket_key_count; i++) {
        const uint32_t column = table->bucket_key[i];
        FL_TRY(fl_arrow_rows_get(rows, row_index, column, &row->arena, &row->values[column], err));
    }
    for (size_t i = 0; i < table->desc->partition_key_count; i++) {
        const uint32_t column = table->partition_key[i];
        FL_TRY(fl_arrow_rows_get(rows, row_index, column, &row->arena, &row->values[column], err));
    }
    return fl_row_route(writer, row, bucket, err);
}

static fluss_code_t route_rows(fl_writer *writer, const struct ArrowArray *array, split *s,
                               fluss_error_t *err)
{
    fl_arrow_rows *rows;
    FL_TRY(fl_arrow_rows_new(writer->table->schema, array, &rows, err));
    fl_row row;
    fl_row_init(&row);
    fluss_code_t rc = 0;
    for (int64_t i = 0; i < s->count && rc == 0; i++) {
        rc = read_routed(writer, rows, i, &row, &s->buckets[i], err);
        fl_arena_reset(&row.arena);
    }
    fl_row_deinit(&row);
    fl_arrow_rows_free(rows);
    return rc;
}

/* Write the rows of each bucket, in the order in which buckets appear. */
static fluss_code_t write_groups(fl_writer *writer, const struct ArrowArray *array, split *s,
                                 fl_ack_group *group, fluss_error_t *err)
{
    for (int64_t i = 0; i < s->count; i++) {
        fl_write_bucket *bucket = s->buckets[i];
        if (bucket == NULL) {
            continue;
        }
        size_t count = 0;
        for (int64_t j = i; j < s->count; j++) {
            if (s->buckets[j] == bucket) {
                s->indexes[count++] = j;
                s->buckets[j] = NULL;
            }
        }
        struct ArrowArray part = {0};
        FL_TRY(fl_arrow_take(writer->table->schema, array, s->indexes, count, &part, err));
        const fluss_code_t rc = write_pieces(writer, bucket, &part, group, err);
        part.release(&part);
        FL_TRY(rc);
    }
    return 0;
}

static fluss_code_t write_split(fl_writer *writer, const struct ArrowArray *array,
                                fl_ack_group *group, fluss_error_t *err)
{
    split s = {.count = array->length};
    s.buckets = fl_calloc((size_t)s.count + 1, sizeof(fl_write_bucket *));
    s.indexes = fl_calloc((size_t)s.count + 1, sizeof(*s.indexes));
    fluss_code_t rc = s.buckets != NULL && s.indexes != NULL ? 0 : fl_error_nomem(err);
    if (rc == 0) {
        rc = route_rows(writer, array, &s, err);
    }
    if (rc == 0) {
        rc = write_groups(writer, array, &s, group, err);
    }
    fl_free(s.buckets);
    fl_free(s.indexes);
    return rc;
}

/* ---- rows of primary-key tables ---- */

static fluss_code_t write_keyed_row(fl_writer *writer, const fl_arrow_rows *rows, int64_t index,
                                    bool deletes, fl_row *row, fl_ack_group *group,
                                    fluss_error_t *err)
{
    const fl_schema *schema = writer->table->schema;
    FL_TRY(fl_row_room(row, schema->column_count, err));
    for (size_t i = 0; i < schema->column_count; i++) {
        FL_TRY(fl_arrow_rows_get(rows, index, i, &row->arena, &row->values[i], err));
    }
    fl_write_bucket *bucket;
    FL_TRY(fl_row_route(writer, row, &bucket, err));
    if (writer->stream.is_keyed) {
        FL_TRY(fl_row_key(writer->table, row, err));
    }
    const fl_ack ack = {.group = group};
    if (group != NULL) {
        (void)atomic_fetch_add(&group->pending, 1);
    }
    const fluss_code_t rc = fl_accumulate_row(writer, bucket, deletes ? NULL : row->values,
                                              fl_buf_slice(&row->key), ack, err);
    if (rc != 0 && group != NULL) {
        (void)atomic_fetch_sub(&group->pending, 1);
    }
    return rc;
}

static fluss_code_t write_keyed(fl_writer *writer, const struct ArrowArray *array, bool deletes,
                                fl_ack_group *group, fluss_error_t *err)
{
    fl_arrow_rows *rows = NULL;
    fluss_code_t rc = fl_arrow_rows_new(writer->table->schema, array, &rows, err);
    fl_row row;
    fl_row_init(&row);
    for (int64_t i = 0; i < array->length && rc == 0; i++) {
        rc = write_keyed_row(writer, rows, i, deletes, &row, group, err);
        fl_arena_reset(&row.arena);
    }
    fl_row_deinit(&row);
    fl_arrow_rows_free(rows);
    return rc;
}

/* ---- public ---- */

/* The columns that a batch must give: all, the targets, or at least the key of deletes. */
static fluss_code_t wanted_schema(const fl_writer *writer, bool deletes, fl_schema **out,
                                  fluss_error_t *err)
{
    const fl_table *table = writer->table;
    if (deletes) {
        return fl_schema_project(table->schema, table->schema->primary_key,
                                 table->schema->primary_key_count, out, err);
    }
    if (writer->given != NULL) {
        return fl_schema_project(table->schema, writer->given, writer->given_count, out, err);
    }
    *out = fl_schema_ref(table->schema);
    return 0;
}

/* Bring the user's array into the table's columns; what is not given is null. */
static fluss_code_t convert(const fl_writer *writer, const struct ArrowSchema *schema,
                            struct ArrowArray *array, bool deletes, struct ArrowArray *out,
                            fluss_error_t *err)
{
    fl_schema *wanted = NULL;
    FL_TRY(wanted_schema(writer, deletes, &wanted, err));
    struct ArrowArray given = {0};
    fluss_code_t rc = fl_arrow_convert(schema, array, wanted, &given, err);
    if (rc == 0 && (deletes || writer->given != NULL)) {
        rc = fl_arrow_realign(wanted, &given, writer->table->schema, out, err);
        if (rc != 0 && given.release != NULL) {
            given.release(&given);
        }
    } else if (rc == 0) {
        *out = given;
    }
    fl_schema_unref(wanted);
    return rc;
}

static fl_ack_group *new_group(void)
{
    fl_ack_group *group = fl_calloc(1, sizeof(*group));
    if (group != NULL) {
        atomic_init(&group->pending, 1);
        (void)pthread_mutex_init(&group->lock, NULL);
        group->future = fl_future_new();
        group->last.log_end_offset = -1;
    }
    return group;
}

static fluss_code_t check_arguments(const fluss_writer_t *writer, const struct ArrowSchema *schema,
                                    const struct ArrowArray *array, bool deletes,
                                    fluss_error_t *err)
{
    if (writer == NULL || schema == NULL || array == NULL) {
        return fl_error_argument(err, "writer, schema and array must not be NULL");
    }
    if (schema->release == NULL || array->release == NULL) {
        return fl_error_argument(err, "schema or array was released already");
    }
    if (deletes && !writer->writer->stream.is_keyed) {
        return fl_error_argument(err, "a log table has no deletes");
    }
    return fl_client_check(writer->client, err);
}

static fluss_code_t write_columns(fl_writer *writer, const struct ArrowArray *columns, bool deletes,
                                  fl_ack_group *group, fluss_error_t *err)
{
    const fl_table *table = writer->table;
    if (writer->stream.is_keyed || table->settings.log_format != FL_LOG_FORMAT_ARROW) {
        return write_keyed(writer, columns, deletes, group, err);
    }
    if (table->desc->bucket_key_count > 0 || fl_table_is_partitioned(table)) {
        return write_split(writer, columns, group, err);
    }
    fl_write_partition *partition;
    FL_TRY(fl_write_table_partition(writer->target, NULL, &partition, err));
    const int32_t bucket = fl_write_table_next_bucket(writer->target);
    return write_pieces(writer, &partition->buckets[bucket], columns, group, err);
}

fluss_code_t fluss_write_arrow(fluss_writer_t *writer, struct ArrowSchema *schema,
                               struct ArrowArray *array, bool deletes, fluss_future_t **ack,
                               fluss_error_t *err)
{
    if (ack != NULL) {
        *ack = NULL;
    }
    FL_TRY(check_arguments(writer, schema, array, deletes, err));
    fl_ack_group *group = ack != NULL ? new_group() : NULL;
    if (ack != NULL && group == NULL) {
        return fl_error_nomem(err);
    }
    struct ArrowArray columns = {0};
    fluss_error_t failure = {0};
    fluss_code_t rc = convert(writer->writer, schema, array, deletes, &columns, &failure);
    if (rc == 0) {
        rc = write_columns(writer->writer, &columns, deletes, group, &failure);
        columns.release(&columns);
        schema->release(schema);
    }
    if (rc != 0 && err != NULL) {
        *err = failure;
    }
    if (group != NULL) {
        fluss_future_t *future = group->future;
        fl_ack_group_part_done(group, NULL, rc != 0 ? &failure : NULL);
        if (rc != 0) {
            fluss_future_free(future);
        } else {
            *ack = future;
        }
    }
    return rc;
}
