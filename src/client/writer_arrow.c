/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow batches: checked as a whole, then queued; what stays when the buffer is full is queued by
 * the next call. A table without keys takes the columns as they are, as batches of their own. A
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

/* ---- a batch on its way ---- */

/* A checked batch, and how far it has been queued. A batch of several buckets is cut into parts,
 * one after the other, so that at most one is held twice. */
struct fluss_prepared {
    fl_writer *writer;         /* shares */
    fl_client *client;         /* shares */
    struct ArrowArray columns; /* in the table's layout */
    bool deletes;
    fl_ack_group *group;       /* NULL: nobody wants the acknowledgement */
    fl_write_bucket **buckets; /* of each row; NULL: it is queued, or all rows go to one */
    int64_t *indexes;
    int64_t next;           /* first row that may not be queued */
    struct ArrowArray part; /* of one bucket; released: none */
    fl_write_bucket *bucket;
    int64_t step, queued; /* rows a batch; rows of the part that are queued */
};

static fl_ack ack_of(fluss_prepared_t *batch)
{
    if (batch->group != NULL) {
        (void)atomic_fetch_add(&batch->group->pending, 1);
    }
    return (fl_ack){.group = batch->group};
}

static void ack_withdraw(fluss_prepared_t *batch)
{
    if (batch->group != NULL) {
        (void)atomic_fetch_sub(&batch->group->pending, 1);
    }
}

/* Begin a part: batches of at most the batch size. Takes the array. */
static void begin_part(fluss_prepared_t *batch, struct ArrowArray *array, fl_write_bucket *bucket)
{
    const fl_writer *writer = batch->writer;
    const int64_t size_max = writer->client->config->writer_batch_size.number;
    const int64_t total = array->length;
    const int64_t bytes = rows_bytes(writer->table->schema, array, 0, total);
    const int64_t step = bytes <= size_max ? total : total * size_max / bytes;
    batch->step = step < 1 ? 1 : step > INT32_MAX ? INT32_MAX : step;
    batch->part = *array;
    array->release = NULL;
    batch->bucket = bucket;
    batch->queued = 0;
}

static fluss_code_t queue_part(fluss_prepared_t *batch, fluss_error_t *err)
{
    while (batch->queued < batch->part.length) {
        const int64_t left = batch->part.length - batch->queued;
        const int64_t count = batch->step < left ? batch->step : left;
        const fluss_code_t rc = fl_accumulate_array(batch->writer, batch->bucket, &batch->part,
                                                    batch->queued, count, ack_of(batch), err);
        if (rc != 0) {
            ack_withdraw(batch);
            return rc;
        }
        batch->queued += count;
    }
    batch->part.release(&batch->part);
    return 0;
}

/* ---- many buckets ---- */

static fluss_code_t read_columns(const fl_arrow_rows *rows, int64_t row_index,
                                 const uint32_t *columns, size_t count, fl_row *row,
                                 fluss_error_t *err)
{
    for (size_t i = 0; i < count; i++) {
        FL_TRY(fl_arrow_rows_get(rows, row_index, columns[i], &row->arena, &row->values[columns[i]],
                                 err));
    }
    return 0;
}

static fluss_code_t read_routed(fl_writer *writer, const fl_arrow_rows *rows, int64_t row_index,
                                fl_row *row, fl_write_bucket **bucket, fluss_error_t *err)
{
    const fl_table *table = writer->table;
    FL_TRY(fl_row_room(row, table->schema->column_count, err));
    FL_TRY(
        read_columns(rows, row_index, table->bucket_key, table->desc->bucket_key_count, row, err));
    FL_TRY(read_columns(rows, row_index, table->partition_key, table->desc->partition_key_count,
                        row, err));
    /* Refuse a value that names no partition before any partition is asked for. */
    return bucket != NULL                   ? fl_row_route(writer, row, bucket, err)
           : fl_table_is_partitioned(table) ? fl_row_partition(table, row, err)
                                            : 0;
}

/* Check the partition of each row, or find its bucket. @param buckets NULL: check only */
static fluss_code_t route_rows(fl_writer *writer, const struct ArrowArray *array,
                               fl_write_bucket **buckets, fluss_error_t *err)
{
    fl_arrow_rows *rows;
    FL_TRY(fl_arrow_rows_new(writer->table->schema, array, &rows, err));
    fl_row row;
    fl_row_init(&row);
    fluss_code_t rc = 0;
    for (int64_t i = 0; i < array->length && rc == 0; i++) {
        rc = read_routed(writer, rows, i, &row, buckets != NULL ? &buckets[i] : NULL, err);
        if (rc != 0) {
            fl_error_prefix(err, "row %lld: ", (long long)i);
        }
        fl_arena_reset(&row.arena);
    }
    fl_row_deinit(&row);
    fl_arrow_rows_free(rows);
    return rc;
}

static fluss_code_t route_batch(fluss_prepared_t *batch, fluss_error_t *err)
{
    const size_t count = (size_t)batch->columns.length;
    batch->indexes = fl_calloc(count + 1, sizeof(*batch->indexes));
    fl_write_bucket **buckets = fl_calloc(count + 1, sizeof(fl_write_bucket *));
    if (batch->indexes == NULL || buckets == NULL) {
        fl_free(buckets);
        return fl_error_nomem(err);
    }
    const fluss_code_t rc = route_rows(batch->writer, &batch->columns, buckets, err);
    if (rc != 0) {
        fl_free(buckets);
        return rc;
    }
    batch->buckets = buckets;
    return 0;
}

/* Take the rows of the next bucket, in the order in which buckets appear. */
static fluss_code_t next_part(fluss_prepared_t *batch, fluss_error_t *err)
{
    const int64_t total = batch->columns.length;
    while (batch->next < total && batch->buckets[batch->next] == NULL) {
        batch->next++;
    }
    if (batch->next == total) {
        return 0;
    }
    fl_write_bucket *bucket = batch->buckets[batch->next];
    size_t count = 0;
    for (int64_t i = batch->next; i < total; i++) {
        if (batch->buckets[i] == bucket) {
            batch->indexes[count++] = i;
        }
    }
    struct ArrowArray part = {0};
    FL_TRY(fl_arrow_take(batch->writer->table->schema, &batch->columns, batch->indexes, count,
                         &part, err));
    for (size_t i = 0; i < count; i++) {
        batch->buckets[batch->indexes[i]] = NULL;
    }
    begin_part(batch, &part, bucket);
    return 0;
}

static fluss_code_t queue_split(fluss_prepared_t *batch, fluss_error_t *err)
{
    if (batch->buckets == NULL) {
        FL_TRY(route_batch(batch, err));
    }
    do {
        if (batch->part.release != NULL) {
            FL_TRY(queue_part(batch, err));
        }
        FL_TRY(next_part(batch, err));
    } while (batch->part.release != NULL);
    return 0;
}

/* ---- one bucket ---- */

static fluss_code_t queue_whole(fluss_prepared_t *batch, fluss_error_t *err)
{
    if (batch->next == 0) {
        fl_write_table *target = batch->writer->target;
        fl_write_partition *partition;
        FL_TRY(fl_write_table_partition(target, NULL, &partition, err));
        begin_part(batch, &batch->columns,
                   &partition->buckets[fl_write_partition_next_bucket(partition)]);
        batch->next = batch->part.length;
    }
    return batch->part.release != NULL ? queue_part(batch, err) : 0;
}

/* ---- rows of primary-key tables ---- */

static fluss_code_t queue_row(fluss_prepared_t *batch, const fl_arrow_rows *rows, fl_row *row,
                              fluss_error_t *err)
{
    fl_writer *writer = batch->writer;
    const fl_schema *schema = writer->table->schema;
    FL_TRY(fl_row_room(row, schema->column_count, err));
    for (size_t i = 0; i < schema->column_count; i++) {
        FL_TRY(fl_arrow_rows_get(rows, batch->next, i, &row->arena, &row->values[i], err));
    }
    fl_write_bucket *bucket;
    FL_TRY(fl_row_route(writer, row, &bucket, err));
    if (writer->stream.is_keyed) {
        FL_TRY(fl_row_key(writer->table, row, err));
    }
    const fluss_code_t rc = fl_accumulate_row(writer, bucket, batch->deletes ? NULL : row->values,
                                              fl_buf_slice(&row->key), ack_of(batch), err);
    if (rc != 0) {
        ack_withdraw(batch);
    }
    return rc;
}

static fluss_code_t queue_rows(fluss_prepared_t *batch, fluss_error_t *err)
{
    fl_arrow_rows *rows = NULL;
    FL_TRY(fl_arrow_rows_new(batch->writer->table->schema, &batch->columns, &rows, err));
    fl_row row;
    fl_row_init(&row);
    fluss_code_t rc = 0;
    while (batch->next < batch->columns.length && rc == 0) {
        rc = queue_row(batch, rows, &row, err);
        batch->next += rc == 0;
        fl_arena_reset(&row.arena);
    }
    fl_row_deinit(&row);
    fl_arrow_rows_free(rows);
    return rc;
}

/* ---- public ---- */

/* The columns that a batch must give: all, the targets, or the key of deletes, which may also come
 * as whole rows. */
static fluss_code_t wanted_schema(const fl_writer *writer, const struct ArrowSchema *given,
                                  bool deletes, fl_schema **out, fluss_error_t *err)
{
    const fl_table *table = writer->table;
    if (deletes && given->n_children != (int64_t)table->schema->column_count) {
        return fl_schema_project(table->schema, table->schema->primary_key,
                                 table->schema->primary_key_count, out, err);
    }
    if (!deletes && writer->given != NULL) {
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
    FL_TRY(wanted_schema(writer, schema, deletes, &wanted, err));
    struct ArrowArray given = {0};
    fluss_code_t rc = fl_arrow_convert(schema, array, wanted, &given, err);
    if (rc == 0 && (deletes ? wanted->column_count < writer->table->schema->column_count
                            : writer->given != NULL)) {
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

static fluss_code_t queue_batch(fluss_prepared_t *batch, fluss_error_t *err)
{
    const fl_table *table = batch->writer->table;
    if (batch->writer->stream.is_keyed || table->settings.log_format != FL_LOG_FORMAT_ARROW) {
        return queue_rows(batch, err);
    }
    const bool has_parts = table->desc->bucket_key_count > 0 || fl_table_is_partitioned(table);
    return has_parts ? queue_split(batch, err) : queue_whole(batch, err);
}

fluss_code_t fluss_prepare_arrow(fluss_writer_t *writer, struct ArrowSchema *schema,
                                 struct ArrowArray *array, bool deletes, fluss_prepared_t **out,
                                 fluss_error_t *err)
{
    if (out == NULL) {
        return fl_error_argument(err, "out must not be NULL");
    }
    *out = NULL;
    FL_TRY(check_arguments(writer, schema, array, deletes, err));
    fluss_prepared_t *batch = fl_calloc(1, sizeof(*batch));
    if (batch == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = convert(writer->writer, schema, array, deletes, &batch->columns, err);
    if (rc == 0) {
        schema->release(schema);
        batch->writer = fl_writer_ref(writer->writer);
        batch->client = fl_client_ref(writer->client);
        batch->deletes = deletes;
        if (fl_table_is_partitioned(writer->writer->table)) {
            rc = route_rows(writer->writer, &batch->columns, NULL, err);
        }
    }
    if (rc != 0) {
        fluss_prepared_free(batch);
        return rc;
    }
    *out = batch;
    return 0;
}

/* The acknowledgement of all parts; the first call decides whether anybody wants it. */
static fluss_code_t give_ack(fluss_prepared_t *batch, fluss_future_t **ack, fluss_error_t *err)
{
    const bool is_begun = batch->next > 0 || batch->buckets != NULL;
    if (ack != NULL && batch->group == NULL && !is_begun) {
        batch->group = new_group();
        if (batch->group == NULL) {
            return fl_error_nomem(err);
        }
    }
    return 0;
}

fluss_code_t fluss_write_prepared(fluss_prepared_t *batch, fluss_future_t **ack, fluss_error_t *err)
{
    if (ack != NULL) {
        *ack = NULL;
    }
    if (batch == NULL) {
        return fl_error_argument(err, "the prepared batch must not be NULL");
    }
    FL_TRY(fl_client_check(batch->client, err));
    FL_TRY(give_ack(batch, ack, err));
    FL_TRY(queue_batch(batch, err));
    fl_ack_group *group = batch->group;
    batch->group = NULL;
    if (group != NULL) {
        fluss_future_t *future = group->future;
        fl_ack_group_part_done(group, NULL, NULL);
        if (ack != NULL) {
            *ack = future;
        } else {
            fluss_future_free(future);
        }
    }
    return 0;
}

void fluss_prepared_free(fluss_prepared_t *batch)
{
    if (batch == NULL) {
        return;
    }
    if (batch->group != NULL) {
        fluss_future_t *future = batch->group->future;
        fluss_error_t unfinished;
        (void)fl_error_argument(&unfinished, "the batch was not queued to its end");
        fl_ack_group_part_done(batch->group, NULL, &unfinished);
        fluss_future_free(future);
    }
    if (batch->part.release != NULL) {
        batch->part.release(&batch->part);
    }
    if (batch->columns.release != NULL) {
        batch->columns.release(&batch->columns);
    }
    fl_free(batch->buckets);
    fl_free(batch->indexes);
    fl_writer_unref(batch->writer);
    fl_client_unref(batch->client);
    fl_free(batch);
}

fluss_code_t fluss_write_arrow(fluss_writer_t *writer, struct ArrowSchema *schema,
                               struct ArrowArray *array, bool deletes, fluss_future_t **ack,
                               fluss_error_t *err)
{
    if (ack != NULL) {
        *ack = NULL;
    }
    fluss_prepared_t *batch;
    FL_TRY(fluss_prepare_arrow(writer, schema, array, deletes, &batch, err));
    const fluss_code_t rc = fluss_write_prepared(batch, ack, err);
    fluss_prepared_free(batch);
    return rc;
}
