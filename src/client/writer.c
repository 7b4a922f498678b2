/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_write.h: writers. A row is checked and converted as a whole, finds its partition and
 * bucket, and goes into that bucket's open batch. */
#include <fluss/fluss_write.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "client/options.h"
#include "client/writer_private.h"

enum { KEY_SIZE_MAX = 64 << 20, NAME_SIZE_MAX = 4096 };

fl_writer *fl_writer_ref(fl_writer *writer)
{
    (void)atomic_fetch_add_explicit(&writer->refs, 1, memory_order_relaxed);
    return writer;
}

void fl_writer_unref(fl_writer *writer)
{
    if (writer != NULL && atomic_fetch_sub_explicit(&writer->refs, 1, memory_order_acq_rel) == 1) {
        fl_table_unref(writer->table);
        fl_free(writer->targets);
        fl_free(writer->given);
        fl_free(writer);
    }
}

/* ---- opening ---- */

static fluss_code_t new_writer(fluss_table_t *table, bool is_keyed, fl_writer **out,
                               fluss_error_t *err)
{
    fl_writer *writer = fl_calloc(1, sizeof(*writer));
    if (writer == NULL) {
        return fl_error_nomem(err);
    }
    atomic_init(&writer->refs, 1);
    writer->client = table->client;
    writer->table = fl_table_ref(table->table);
    writer->stream = (fl_stream){.table = writer->table, .is_keyed = is_keyed};
    const fluss_code_t rc =
        fl_sender_table(table->client->sender, writer->table, &writer->target, err);
    if (rc != 0) {
        fl_writer_unref(writer);
        return rc;
    }
    *out = writer;
    return 0;
}

static fluss_code_t check_open(const fluss_table_t *table, fluss_writer_t **out, bool is_keyed,
                               fluss_error_t *err)
{
    if (table == NULL || out == NULL) {
        return fl_error_argument(err, "table and out must not be NULL");
    }
    *out = NULL;
    FL_TRY(fl_client_check(table->client, err));
    if (fl_table_is_keyed(table->table) != is_keyed) {
        return fl_error_argument(err, "table %s.%s has %s primary key: use fluss_%s_open",
                                 table->table->database, table->table->name, is_keyed ? "no" : "a",
                                 is_keyed ? "append" : "upsert");
    }
    if (table->table->is_hash_mixed) {
        return fl_error(
            err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
            "table %s.%s holds rows placed by the Java client's bucket hash and by that "
            "of fluss-rs and pyfluss; set client.bucket-hash to java or rust to write",
            table->table->database, table->table->name);
    }
    if (table->table->schema_id > INT16_MAX) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                        "schema id %d does not fit a batch", table->table->schema_id);
    }
    return 0;
}

static fluss_code_t finish_open(fluss_table_t *table, fl_writer *writer, fluss_writer_t **out,
                                fluss_error_t *err)
{
    fluss_writer_t *handle = fl_calloc(1, sizeof(*handle));
    if (handle == NULL) {
        fl_writer_unref(writer);
        return fl_error_nomem(err);
    }
    writer->hash = table->table->hash;
    handle->writer = writer;
    handle->client = fl_client_ref(table->client);
    *out = handle;
    return 0;
}

fluss_code_t fluss_append_open(fluss_table_t *table, fluss_writer_t **out, fluss_error_t *err)
{
    FL_TRY(check_open(table, out, false, err));
    fl_writer *writer = NULL;
    FL_TRY(new_writer(table, false, &writer, err));
    return finish_open(table, writer, out, err);
}

static int compare_columns(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

/* The target columns as indexes, in the user's order. */
static fluss_code_t read_targets(fl_writer *writer, const fluss_upsert_opts_t *o,
                                 fluss_error_t *err)
{
    const fl_schema *schema = writer->table->schema;
    if ((o->columns != NULL) == (o->names != NULL)) {
        return fl_error_argument(err, "give the target columns by index or by name");
    }
    writer->given = fl_calloc(o->n, sizeof(*writer->given));
    writer->targets = fl_calloc(o->n, sizeof(*writer->targets));
    if (writer->given == NULL || writer->targets == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < o->n; i++) {
        ptrdiff_t column;
        if (o->columns != NULL) {
            column = o->columns[i];
            if (column < 0 || (size_t)column >= schema->column_count) {
                return fl_error_argument(err, "target column %d: the table has %zu columns",
                                         o->columns[i], schema->column_count);
            }
        } else {
            const char *name = o->names[i] != NULL ? o->names[i] : "";
            column = fl_schema_find(schema, name, strlen(name));
            if (column < 0) {
                return fl_error_column(err, schema, name);
            }
        }
        writer->given[i] = (uint32_t)column;
        writer->targets[i] = (int32_t)column;
    }
    writer->given_count = o->n;
    qsort(writer->targets, o->n, sizeof(*writer->targets), compare_columns);
    for (size_t i = 1; i < o->n; i++) {
        if (writer->targets[i] == writer->targets[i - 1]) {
            return fl_error_argument(err, "target column '%s' is given twice",
                                     schema->columns[writer->targets[i]].name);
        }
    }
    return 0;
}

static bool is_target(const fl_writer *writer, size_t column)
{
    for (size_t i = 0; i < writer->given_count; i++) {
        if (writer->given[i] == column) {
            return true;
        }
    }
    return false;
}

static bool is_key(const fl_schema *schema, size_t column)
{
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        if (schema->primary_key[i] == column) {
            return true;
        }
    }
    return false;
}

static fluss_code_t check_targets(const fl_writer *writer, fluss_error_t *err)
{
    const fl_schema *schema = writer->table->schema;
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        if (!is_target(writer, schema->primary_key[i])) {
            return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT,
                            "the target columns lack the key column '%s'",
                            schema->columns[schema->primary_key[i]].name);
        }
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        const bool is_numbered = schema->auto_increment == (int32_t)i;
        if (!schema->columns[i].type.nullable && !is_numbered && !is_key(schema, i)) {
            return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT,
                            "a partial update needs every column outside the primary key to be "
                            "nullable; '%s' is NOT NULL",
                            schema->columns[i].name);
        }
    }
    const fl_merge_engine engine = writer->table->settings.merge_engine;
    if (engine == FL_MERGE_FIRST_ROW || engine == FL_MERGE_VERSIONED) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT,
                        "the %s merge engine takes whole rows, no partial updates",
                        engine == FL_MERGE_FIRST_ROW ? "first_row" : "versioned");
    }
    if (schema->auto_increment >= 0 && is_target(writer, (size_t)schema->auto_increment)) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT,
                        "column '%s' is numbered by the server and can't be a target",
                        schema->columns[schema->auto_increment].name);
    }
    return 0;
}

/* A table with a column that the server numbers is written without that column. */
static fluss_code_t leave_out_auto_increment(fl_writer *writer, fluss_error_t *err)
{
    const fl_schema *schema = writer->table->schema;
    const size_t count = schema->column_count - 1;
    writer->given = fl_calloc(count, sizeof(*writer->given));
    writer->targets = fl_calloc(count, sizeof(*writer->targets));
    if (writer->given == NULL || writer->targets == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0, n = 0; i < schema->column_count; i++) {
        if ((int32_t)i != schema->auto_increment) {
            writer->given[n] = (uint32_t)i;
            writer->targets[n++] = (int32_t)i;
        }
    }
    writer->given_count = count;
    return 0;
}

fluss_code_t fluss_upsert_open(fluss_table_t *table, const fluss_upsert_opts_t *opts,
                               fluss_writer_t **out, fluss_error_t *err)
{
    FL_TRY(check_open(table, out, true, err));
    fluss_upsert_opts_t o;
    FL_TRY(fl_opts_read(opts, &o, sizeof(o), "fluss_upsert_opts_t", err));
    fl_writer *writer = NULL;
    FL_TRY(new_writer(table, true, &writer, err));
    fluss_code_t rc = 0;
    if (o.n > 0) {
        rc = read_targets(writer, &o, err);
        if (rc == 0) {
            rc = check_targets(writer, err);
        }
    } else if (table->table->schema->auto_increment >= 0) {
        rc = leave_out_auto_increment(writer, err);
    }
    if (rc != 0) {
        fl_error_prefix(err, "table %s.%s: ", table->table->database, table->table->name);
        fl_writer_unref(writer);
        return rc;
    }
    writer->stream.overwrite = o.overwrite;
    writer->stream.targets = writer->targets;
    writer->stream.target_count = writer->given_count;
    return finish_open(table, writer, out, err);
}

void fluss_writer_free(fluss_writer_t *writer)
{
    if (writer != NULL) {
        fl_client *client = writer->client;
        fl_writer_unref(writer->writer);
        fl_free(writer);
        fl_client_unref(client);
    }
}

/* ---- rows ---- */

void fl_row_init(fl_row *row)
{
    memset(row, 0, offsetof(fl_row, few));
    fl_arena_init(&row->arena);
    fl_buf_init(&row->key, KEY_SIZE_MAX);
    fl_buf_init(&row->bucket_key, KEY_SIZE_MAX);
    fl_buf_init(&row->partition, NAME_SIZE_MAX);
}

void fl_row_deinit(fl_row *row)
{
    fl_arena_deinit(&row->arena);
    fl_buf_deinit(&row->key);
    fl_buf_deinit(&row->bucket_key);
    fl_buf_deinit(&row->partition);
}

fluss_code_t fl_row_room(fl_row *row, size_t count, fluss_error_t *err)
{
    row->values = row->few;
    if (count > FL_ROW_FEW) {
        row->values = fl_arena_array(&row->arena, count, sizeof(*row->values));
        return row->values != NULL ? 0 : fl_error_nomem(err);
    }
    memset(row->few, 0, count * sizeof(*row->few));
    return 0;
}

static fluss_code_t coerce_column(const fl_table *table, const fluss_datum_t *in, size_t column,
                                  fl_row *row, fluss_error_t *err)
{
    const fl_column *c = &table->schema->columns[column];
    return fl_datum_coerce(in, &c->type, c->name, &row->arena, &row->values[column], err);
}

/* All columns, or those that the writer's rows give. */
static fluss_code_t read_row(const fl_writer *writer, const fluss_datum_t *in, size_t n,
                             fl_row *row, fluss_error_t *err)
{
    const fl_table *table = writer->table;
    const size_t column_count = table->schema->column_count;
    FL_TRY(fl_row_room(row, column_count, err));
    const size_t given_count = writer->given != NULL ? writer->given_count : column_count;
    if (n != given_count && n != column_count) {
        return fl_error_argument(err, "the row has %zu values; the table wants %zu", n,
                                 given_count);
    }
    for (size_t i = 0; i < given_count; i++) {
        const size_t column = writer->given != NULL ? writer->given[i] : i;
        FL_TRY(coerce_column(table, &in[n == given_count ? i : column], column, row, err));
    }
    return 0;
}

/* The key columns in key order, or all columns, of which the key is used. */
static fluss_code_t read_key(const fl_writer *writer, const fluss_datum_t *in, size_t n,
                             fl_row *row, fluss_error_t *err)
{
    const fl_table *table = writer->table;
    const fl_schema *schema = table->schema;
    FL_TRY(fl_row_room(row, schema->column_count, err));
    if (n != schema->primary_key_count && n != schema->column_count &&
        (writer->given == NULL || n != writer->given_count)) {
        return fl_error_argument(err, "the key has %zu values; the primary key has %zu columns", n,
                                 schema->primary_key_count);
    }
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        const size_t column = schema->primary_key[i];
        size_t from = n == schema->primary_key_count ? i : column;
        if (n != schema->primary_key_count && n != schema->column_count) {
            for (from = 0; writer->given[from] != column; from++) {
            }
        }
        FL_TRY(coerce_column(table, &in[from], column, row, err));
    }
    return 0;
}

static fluss_code_t encode_columns(const fl_table *table, const fl_row *row, fl_key_format format,
                                   const uint32_t *columns, size_t count, fl_buf *out,
                                   fluss_error_t *err)
{
    const fl_type *types[FL_KEY_COLUMN_COUNT_MAX];
    fluss_datum_t values[FL_KEY_COLUMN_COUNT_MAX];
    if (count > FL_KEY_COLUMN_COUNT_MAX) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                        "a key of %zu columns; at most %d", count, FL_KEY_COLUMN_COUNT_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        types[i] = table->types[columns[i]];
        values[i] = row->values[columns[i]];
        if (values[i].type == FLUSS_NULL) {
            return fl_error_argument(err, "key column '%s' must not be null",
                                     table->schema->columns[columns[i]].name);
        }
    }
    return fl_key_encode(format, types, values, count, out, err);
}

fluss_code_t fl_row_key(const fl_table *table, fl_row *row, fluss_error_t *err)
{
    fl_buf_reset(&row->key);
    return encode_columns(table, row, table->settings.key_format, table->physical_key,
                          table->physical_key_count, &row->key, err);
}

fluss_code_t fl_row_prefix(const fl_table *table, fl_row *row, fluss_error_t *err)
{
    fl_buf_reset(&row->key);
    return encode_columns(table, row, table->settings.key_format, table->bucket_key,
                          table->desc->bucket_key_count, &row->key, err);
}

fluss_code_t fl_row_bucket_key(const fl_table *table, fl_row *row, fluss_error_t *err)
{
    fl_buf_reset(&row->bucket_key);
    FL_TRY(encode_columns(table, row, table->settings.bucket_key_format, table->bucket_key,
                          table->desc->bucket_key_count, &row->bucket_key, err));
    return row->bucket_key.size > 0 ? 0 : fl_error_argument(err, "the bucket key is empty");
}

fluss_code_t fl_row_partition(const fl_table *table, fl_row *row, fluss_error_t *err)
{
    fl_buf_reset(&row->partition);
    for (size_t i = 0; i < table->desc->partition_key_count; i++) {
        const uint32_t column = table->partition_key[i];
        if (row->values[column].type == FLUSS_NULL) {
            return fl_error_argument(err, "partition column '%s' must not be null",
                                     table->schema->columns[column].name);
        }
        if (i > 0) {
            FL_TRY(fl_buf_append_byte(&row->partition, '$', err));
        }
        const size_t start = row->partition.size;
        FL_TRY(fl_partition_value_print(table->types[column], &row->values[column], &row->partition,
                                        err));
        const fl_slice value =
            fl_slice_of(row->partition.data + start, row->partition.size - start);
        FL_TRY(fl_rules_check_partition_value(value, false, err));
    }
    return fl_buf_append_byte(&row->partition, 0, err);
}

fluss_code_t fl_row_route(fl_writer *writer, fl_row *row, fl_write_bucket **out, fluss_error_t *err)
{
    const fl_table *table = writer->table;
    const char *name = NULL;
    if (fl_table_is_partitioned(table)) {
        FL_TRY(fl_row_partition(table, row, err));
        name = (const char *)row->partition.data;
    }
    fl_write_partition *partition;
    FL_TRY(fl_write_table_partition(writer->target, name, &partition, err));
    int32_t bucket = 0;
    if (table->desc->bucket_key_count > 0) {
        FL_TRY(fl_row_bucket_key(table, row, err));
        bucket = fl_bucket_of(fl_buf_slice(&row->bucket_key), table->bucket_count,
                              table->settings.lake_format, writer->hash);
    } else {
        bucket = fl_write_partition_next_bucket(partition);
    }
    *out = &partition->buckets[bucket];
    return 0;
}

static fluss_code_t check_writer(const fluss_writer_t *writer, const fluss_datum_t *row,
                                 bool is_keyed, fluss_error_t *err)
{
    if (writer == NULL || row == NULL) {
        return fl_error_argument(err, "writer and row must not be NULL");
    }
    if (writer->writer->stream.is_keyed != is_keyed) {
        return fl_error_argument(err, "the writer is one of fluss_%s_open",
                                 is_keyed ? "append" : "upsert");
    }
    return fl_client_check(writer->client, err);
}

/* @param is_delete the values are a key */
static fluss_code_t write_row(fl_writer *writer, const fluss_datum_t *in, size_t n, bool is_delete,
                              fluss_future_t **ack, fluss_error_t *err)
{
    fl_row row;
    fl_row_init(&row);
    fl_write_bucket *bucket = NULL;
    fl_ack waiting = {0};
    fluss_code_t rc;
    FL_TRY_OUT(is_delete ? read_key(writer, in, n, &row, err) : read_row(writer, in, n, &row, err));
    FL_TRY_OUT(fl_row_route(writer, &row, &bucket, err));
    if (writer->stream.is_keyed) {
        FL_TRY_OUT(fl_row_key(writer->table, &row, err));
    }
    waiting.future = ack != NULL ? fl_future_new() : NULL;
    rc = fl_accumulate_row(writer, bucket, is_delete ? NULL : row.values, fl_buf_slice(&row.key),
                           waiting, err);
    if (rc == 0 && ack != NULL) {
        *ack = waiting.future;
    } else if (waiting.future != NULL) {
        fluss_error_t refused;
        (void)fl_error_argument(&refused, "the row was refused");
        fl_future_fail(waiting.future, &refused);
        fluss_future_free(waiting.future);
    }
out:
    fl_row_deinit(&row);
    return rc;
}

fluss_code_t fluss_append(fluss_writer_t *writer, const fluss_datum_t *row, size_t n,
                          fluss_future_t **ack, fluss_error_t *err)
{
    if (ack != NULL) {
        *ack = NULL;
    }
    FL_TRY(check_writer(writer, row, false, err));
    return write_row(writer->writer, row, n, false, ack, err);
}

fluss_code_t fluss_upsert(fluss_writer_t *writer, const fluss_datum_t *row, size_t n,
                          fluss_future_t **ack, fluss_error_t *err)
{
    if (ack != NULL) {
        *ack = NULL;
    }
    FL_TRY(check_writer(writer, row, true, err));
    return write_row(writer->writer, row, n, false, ack, err);
}

fluss_code_t fluss_delete(fluss_writer_t *writer, const fluss_datum_t *key, size_t n,
                          fluss_future_t **ack, fluss_error_t *err)
{
    if (ack != NULL) {
        *ack = NULL;
    }
    FL_TRY(check_writer(writer, key, true, err));
    return write_row(writer->writer, key, n, true, ack, err);
}
