/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between the Java client's and fluss-rs's bucket hash. They
 * differ only where the last bytes of a key are 0x80 and more, so a table of one bucket, or of a
 * lake format with a hash of its own, needs no choice.
 *
 * Otherwise, when a table is opened, a bounded number of rows of some of its buckets is read, and
 * each row whose bucket only one of the two explains votes for it. Without a vote more rows are
 * read, once. A table that is still without one, as an empty table is, follows Java, and a lookup
 * that finds nothing asks the other bucket as well: keys on which the two differ may be rare, or
 * come later. Rows of both kinds mean that two families of clients wrote: writing is refused,
 * lookups ask both buckets. A probe that fails decides nothing. */
#include "client/hash_choice.h"

#include <fluss/fluss_arrow.h>
#include <string.h>

#include "base/log.h"
#include "client/metadata.h"
#include "client/scan_private.h"
#include "client/writer_private.h"
#include "format/arrow.h"

enum {
    BUCKETS_MAX = 16,
    PARTITIONS_MAX = 4,
    ROWS_FIRST = 64,
    ROWS_AGAIN = 1024,
    SAMPLE_MS_MAX = 2000
};

typedef struct probing {
    fl_op *op;
    fl_value value;
    fl_table *table; /* of value; borrowed */
    fluss_bucket_t buckets[BUCKETS_MAX];
    size_t bucket_count, pending;
    int32_t row_limit; /* of each bucket */
    bool is_cut;       /* a bucket has more rows than were read */
    int java, rust;    /* votes */
    fl_msg_list_partition_infos_request request;
} probing;

bool fl_hash_needs_probe(const fl_table *table)
{
    const bool has_own_hash = table->settings.lake_format == FL_LAKE_PAIMON ||
                              table->settings.lake_format == FL_LAKE_ICEBERG ||
                              table->settings.lake_format == FL_LAKE_HUDI;
    return table->client->config->bucket_hash.number == FL_HASH_SETTING_AUTO &&
           table->bucket_count > 1 && table->desc->bucket_key_count > 0 && !has_own_hash;
}

static void sample(probing *p);

static void part_done(probing *p)
{
    if (--p->pending > 0) {
        return;
    }
    fl_table *table = p->table;
    const bool has_votes = p->java > 0 || p->rust > 0;
    if (!has_votes && p->is_cut && p->row_limit < ROWS_AGAIN) {
        p->row_limit = ROWS_AGAIN;
        sample(p);
        return;
    }
    table->hash = p->rust > p->java ? FL_HASH_RUST : FL_HASH_JAVA;
    table->is_hash_mixed = p->rust > 0 && p->java > 0;
    table->is_hash_unsure = !has_votes;
    if (table->is_hash_mixed) {
        fl_log(FL_LOG_WARNING, "table",
               "%s.%s: %d sampled rows lie where the Java client puts them, %d where fluss-rs does",
               table->database, table->name, p->java, p->rust);
    }
    fl_op_complete(p->op, p->value);
}

/* ---- votes ---- */

static fluss_code_t read_bucket_key(const fl_table *table, const fl_arrow_rows *rows, int64_t index,
                                    fl_row *row, fluss_error_t *err)
{
    FL_TRY(fl_row_room(row, table->schema->column_count, err));
    for (size_t i = 0; i < table->desc->bucket_key_count; i++) {
        const uint32_t column = table->bucket_key[i];
        FL_TRY(fl_arrow_rows_get(rows, index, column, &row->arena, &row->values[column], err));
    }
    return fl_row_bucket_key(table, row, err);
}

static fluss_code_t count_votes(probing *p, const struct ArrowArray *array, int32_t bucket,
                                fluss_error_t *err)
{
    const fl_table *table = p->table;
    fl_arrow_rows *rows;
    FL_TRY(fl_arrow_rows_new(table->schema, array, &rows, err));
    fl_row row;
    fl_row_init(&row);
    fluss_code_t rc = 0;
    for (int64_t i = 0; i < array->length && rc == 0; i++) {
        rc = read_bucket_key(table, rows, i, &row, err);
        if (rc == 0) {
            const fl_slice key = fl_buf_slice(&row.bucket_key);
            const int32_t java =
                fl_bucket_of(key, table->bucket_count, table->settings.lake_format, FL_HASH_JAVA);
            const int32_t rust =
                fl_bucket_of(key, table->bucket_count, table->settings.lake_format, FL_HASH_RUST);
            p->java += java != rust && java == bucket;
            p->rust += java != rust && rust == bucket;
        }
        fl_arena_reset(&row.arena);
    }
    fl_row_deinit(&row);
    fl_arrow_rows_free(rows);
    return rc;
}

static void on_rows(fluss_future_t *future, void *context)
{
    probing *p = context;
    fluss_batches_t *batches = NULL;
    fluss_error_t err;
    fluss_code_t rc = fluss_await_batches(future, 0, &batches, &err);
    for (size_t i = 0; i < fluss_batches_count(batches) && rc == 0; i++) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        fluss_position_t first;
        rc = fluss_batches_take(batches, i, &schema, &array, &first, NULL, &err);
        if (rc == 0) {
            p->is_cut |= array.length >= p->row_limit;
            rc = count_votes(p, &array, first.bucket.bucket, &err);
            schema.release(&schema);
            array.release(&array);
        }
    }
    if (rc != 0) {
        fl_log(FL_LOG_INFO, "table", "%s.%s: sampling rows: %.700s", p->table->database,
               p->table->name, err.message);
    }
    fluss_batches_free(batches);
    part_done(p);
}

static void add_buckets(probing *p, int64_t partition_id, int32_t bucket_max)
{
    for (int32_t i = 0;
         i < p->table->bucket_count && i < bucket_max && p->bucket_count < BUCKETS_MAX; i++) {
        p->buckets[p->bucket_count++] = (fluss_bucket_t){p->table->table_id, partition_id, i};
    }
}

static void sample(probing *p)
{
    const fluss_scan_opts_t opts = {.size = sizeof(opts), .limit = p->row_limit};
    p->pending = p->bucket_count + 1;
    for (size_t i = 0; i < p->bucket_count; i++) {
        fluss_future_on_ready(
            fl_scan_bucket_within(p->value.v.object, p->buckets[i], &opts, SAMPLE_MS_MAX), on_rows,
            p);
    }
    part_done(p);
}

/* ---- partitions ---- */

static void on_partitions(void *context, const fl_reply *reply, const fluss_error_t *failure,
                          bool was_sent)
{
    (void)failure;
    (void)was_sent;
    probing *p = ((fl_op *)context)->state;
    if (reply != NULL) {
        const fl_msg_list_partition_infos_response *response = reply->message;
        const size_t count = response->partitions_info_count;
        const size_t wanted = count < PARTITIONS_MAX ? count : PARTITIONS_MAX;
        for (size_t i = 0; i < wanted; i++) {
            add_buckets(p, response->partitions_info[i].partition_id, BUCKETS_MAX / PARTITIONS_MAX);
        }
    }
    sample(p);
}

void fl_hash_probe(fl_op *op, fl_value value)
{
    fluss_table_t *handle = value.v.object;
    fl_table *table = handle->table;
    probing *p = fl_arena_alloc(&op->arena, sizeof(*p));
    if (p == NULL) {
        fl_op_complete(op, value);
        return;
    }
    *p = (probing){.op = op, .value = value, .table = table, .row_limit = ROWS_FIRST};
    op->state = p;
    if (!fl_table_is_partitioned(table)) {
        add_buckets(p, FL_NO_PARTITION, BUCKETS_MAX);
        sample(p);
        return;
    }
    p->request.table_path.database_name = fl_slice_str(table->database);
    p->request.table_path.table_name = fl_slice_str(table->name);
    if (fl_op_call_coordinator(op, FL_API_LIST_PARTITION_INFOS, &p->request, on_partitions, NULL) !=
        0) {
        sample(p);
    }
}
