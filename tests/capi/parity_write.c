/* SPDX-License-Identifier: Apache-2.0 */
/* Parity, writing and lookups: a test a row of docs/parity.md, named after it. */
#include <string.h>

#include "parity.h"

static const char columns[] = "n INT, text STRING";

/* All rows of a table as one batch of records, then as Arrow. */
static void to_arrow(fluss_table_t *table, struct ArrowSchema *schema, struct ArrowArray *array)
{
    fluss_error_t err = {0};
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    fluss_records_t *records = poll_some(scanner);
    must(fluss_records_to_arrow(records, schema, array, &err));
    fluss_records_free(records);
    fluss_scanner_free(scanner);
}

static int64_t sum_of(fluss_table_t *table, int64_t count)
{
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    const int64_t sum = read_sum(scanner, count);
    fluss_scanner_free(scanner);
    return sum;
}

/* The column `text` of the row with this key; "" where there is no row. */
static void expect_text(fluss_table_t *table, int32_t key, const char *expected)
{
    fluss_error_t err = {0};
    fluss_lookup_t *lookup;
    const fluss_datum_t value = fluss_int(key);
    must(fluss_lookup_open(table, NULL, &lookup, &err));
    fluss_records_t *found = look_up(lookup, &value, 1, 1);
    expect(fluss_records_count(found) == (expected != NULL));
    if (expected != NULL) {
        fluss_record_t record;
        fluss_records_get(found, 0, &record);
        expect(text_is(record.row, "text", expected));
    }
    fluss_records_free(found);
    fluss_lookup_free(lookup);
}

static void parity_append_and_flush(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_future_t *ack;
    fluss_table_t *table = make_table(conn, "appended", columns, NULL, NULL);
    fluss_writer_t *writer = open_writer(table);
    must(fluss_append(writer, FLUSS_ROW(fluss_int(1), fluss_null()), NULL, &err));
    must(fluss_append(writer, FLUSS_ROW(fluss_int(2), fluss_null()), &ack, &err));
    must(fluss_await_ack(ack, WAIT_MS, NULL, &err));
    must(fluss_append(writer, FLUSS_ROW(fluss_int(3), fluss_null()), NULL, &err));
    flush(writer);
    must_be(FLUSS_KIND_ARGUMENT, fluss_append(writer, FLUSS_ROW(fluss_int(4)), NULL, &err));
    expect(sum_of(table, 3) == 6);
    fluss_writer_free(writer);
    fluss_table_free(table);
}

static void parity_append_arrow(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_table_t *table = make_table(conn, "arrowed", columns, NULL, NULL);
    fill(table, 1, 3);
    to_arrow(table, &schema, &array);
    fluss_writer_t *writer = open_writer(table);
    must(fluss_write_arrow(writer, &schema, &array, false, NULL, &err));
    expect(schema.release == NULL && array.release == NULL);
    flush(writer);
    expect(sum_of(table, 6) == 12);
    fluss_writer_free(writer);
    fluss_table_free(table);
}

static void parity_arrow_by_name_and_lossless(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_table_t *narrow = make_table(conn, "narrow", columns, NULL, NULL);
    fluss_table_t *other = make_table(conn, "other_order", "text STRING, n BIGINT", NULL, NULL);
    fill(narrow, 5, 2);
    to_arrow(narrow, &schema, &array);
    fluss_writer_t *writer = open_writer(other);
    must(fluss_write_arrow(writer, &schema, &array, false, NULL, &err));
    flush(writer);
    expect(sum_of(other, 2) == 11);
    fluss_writer_free(writer);
    /* A column that is not there is refused, and the batch stays the caller's. */
    fluss_table_t *foreign = make_table(conn, "foreign_names", "other INT NOT NULL", NULL, NULL);
    to_arrow(narrow, &schema, &array);
    writer = open_writer(foreign);
    must_be(FLUSS_KIND_ARGUMENT, fluss_write_arrow(writer, &schema, &array, false, NULL, &err));
    expect(schema.release != NULL && array.release != NULL);
    schema.release(&schema);
    array.release(&array);
    fluss_writer_free(writer);
    fluss_table_free(foreign);
    fluss_table_free(other);
    fluss_table_free(narrow);
}

static void parity_append_arrow_stream(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *from = make_table(conn, "stream_from", columns, NULL, NULL);
    fluss_table_t *to = make_table(conn, "stream_to", columns, NULL, NULL);
    for (int32_t i = 0; i < 3; i++) {
        fill(from, i * 10, 10);
    }
    fluss_scanner_t *scanner =
        open_scanner(from, FLUSS_OPTS(fluss_scan_opts_t, .batches = true), FLUSS_EARLIEST);
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    fluss_writer_t *writer = open_writer(to);
    must(fluss_read(scanner, NULL, 0, &stream, &err));
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
        struct ArrowSchema schema;
        expect(stream.get_schema(&stream, &schema) == 0);
        must(fluss_write_arrow(writer, &schema, &array, false, NULL, &err));
    }
    stream.release(&stream);
    flush(writer);
    expect(sum_of(to, 30) == 29 * 30 / 2);
    fluss_writer_free(writer);
    fluss_scanner_free(scanner);
    fluss_table_free(from);
    fluss_table_free(to);
}

static void parity_upsert_and_delete(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "upserted", columns, "n", NULL);
    fluss_writer_t *writer = open_writer(table);
    must(fluss_upsert(writer, FLUSS_ROW(fluss_int(1), fluss_str("a")), NULL, &err));
    must(fluss_upsert(writer, FLUSS_ROW(fluss_int(1), fluss_str("b")), NULL, &err));
    must(fluss_upsert(writer, FLUSS_ROW(fluss_int(2), fluss_str("c")), NULL, &err));
    must(fluss_delete(writer, FLUSS_ROW(fluss_int(2)), NULL, &err));
    flush(writer);
    expect_text(table, 1, "b");
    expect_text(table, 2, NULL);
    fluss_writer_free(writer);
    fluss_table_free(table);
}

static void parity_partial_update(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_writer_t *by_name, *by_index;
    fluss_table_t *table = make_table(conn, "partial", "n INT, text STRING, m BIGINT", "n", NULL);
    must(fluss_upsert_open(
        table, FLUSS_OPTS(fluss_upsert_opts_t, .n = 2, .names = (const char *const[]){"n", "text"}),
        &by_name, &err));
    must(fluss_upsert_open(
        table, FLUSS_OPTS(fluss_upsert_opts_t, .n = 2, .columns = (const int32_t[]){0, 2}),
        &by_index, &err));
    must(fluss_upsert(by_name, FLUSS_ROW(fluss_int(1), fluss_str("kept")), NULL, &err));
    flush(by_name);
    must(fluss_upsert(by_index, FLUSS_ROW(fluss_int(1), fluss_bigint(7)), NULL, &err));
    flush(by_index);
    expect_text(table, 1, "kept");
    fluss_writer_free(by_name);
    fluss_writer_free(by_index);
    fluss_table_free(table);
}

static void parity_merge_mode_overwrite(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const fluss_kv_t engine = {"table.merge-engine", "versioned"};
    const fluss_kv_t version = {"table.merge-engine.versioned.ver-column", "v"};
    const fluss_kv_t properties[] = {engine, version};
    fluss_table_t *table =
        make_table(conn, "versioned", "n INT, text STRING, v BIGINT", "n",
                   FLUSS_OPTS(fluss_desc_opts_t, .properties = properties, .n_properties = 2));
    fluss_writer_t *merging = open_writer(table), *overwriting;
    must(fluss_upsert_open(table, FLUSS_OPTS(fluss_upsert_opts_t, .overwrite = true), &overwriting,
                           &err));
    must(fluss_upsert(merging, FLUSS_ROW(fluss_int(1), fluss_str("new"), fluss_bigint(9)), NULL,
                      &err));
    must(fluss_upsert(merging, FLUSS_ROW(fluss_int(1), fluss_str("late"), fluss_bigint(1)), NULL,
                      &err));
    flush(merging);
    expect_text(table, 1, "new");
    must(fluss_upsert(overwriting, FLUSS_ROW(fluss_int(1), fluss_str("forced"), fluss_bigint(1)),
                      NULL, &err));
    flush(overwriting);
    expect_text(table, 1, "forced");
    fluss_writer_free(merging);
    fluss_writer_free(overwriting);
    fluss_table_free(table);
}

static void parity_upsert_and_delete_from_arrow(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_table_t *from = make_table(conn, "pk_from", columns, NULL, NULL);
    fluss_table_t *table = make_table(conn, "pk_arrow", columns, "n", NULL);
    fill(from, 1, 3);
    fluss_writer_t *writer = open_writer(table);
    for (int pass = 0; pass < 2; pass++) {
        to_arrow(from, &schema, &array);
        must(fluss_write_arrow(writer, &schema, &array, pass == 1, NULL, &err));
        flush(writer);
        expect_text(table, 2, pass == 0 ? "r2" : NULL);
    }
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_table_free(from);
}

static void parity_ack_with_bucket_and_end_offset(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const char *const names[] = {"acked_log", "acked_pk"};
    for (int keyed = 0; keyed < 2; keyed++) {
        fluss_ack_t where;
        fluss_future_t *ack;
        fluss_table_t *table = make_table(conn, names[keyed], columns, keyed ? "n" : NULL, NULL);
        fluss_writer_t *writer = open_writer(table);
        const fluss_datum_t row[] = {fluss_int(1), fluss_null()};
        must(keyed ? fluss_upsert(writer, row, 2, &ack, &err)
                   : fluss_append(writer, row, 2, &ack, &err));
        must(fluss_await_ack(ack, WAIT_MS, &where, &err));
        expect(where.bucket.table_id == fluss_table_info(table)->table_id);
        expect(where.bucket.bucket == 0 && where.log_end_offset == 1);
        fluss_writer_free(writer);
        fluss_table_free(table);
    }
}

static void parity_idempotence_acks_backpressure(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    static const fluss_kv_t settings[] = {{"writer.acks", "1"},
                                          {"writer.enable-idempotence", "false"},
                                          {"writer.batch-size", "64kb"},
                                          {"writer.dynamic-batch-size-min", "64kb"},
                                          {"writer.buffer.memory-size", "256kb"}};
    fluss_conn_t *other = connect_with(servers, settings, 5);
    fluss_table_t *table = make_table(other, "pressed", columns, NULL, NULL);
    fill(table, 0, 50000); /* more than the buffer holds */
    expect(sum_of(table, 50000) == (int64_t)50000 * 49999 / 2);
    fluss_table_free(table);
    fluss_conn_free(other);
}

static size_t buckets_used(fluss_conn_t *conn, const fluss_table_t *table)
{
    size_t used = 0;
    fluss_result_t *found = answer_of(
        fluss_list_offsets(conn, fluss_table_info(table)->path, NULL, NULL, 0, FLUSS_LATEST));
    for (size_t i = 0; i < fluss_result_rows(found); i++) {
        used += fluss_result_i64(found, i, "offset", 0) > 0;
    }
    fluss_result_free(found);
    return used;
}

static void parity_bucket_choice(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    const fluss_kv_t turn = {"writer.bucket.no-key-assigner", "round_robin"};
    fluss_conn_t *other = connect_with(servers, &turn, 1);
    fluss_table_t *table =
        make_table(other, "in_turn", columns, NULL, FLUSS_OPTS(fluss_desc_opts_t, .buckets = 4));
    fill(table, 0, 4);
    expect(buckets_used(other, table) == 4);
    fluss_table_t *hashed =
        make_table(other, "hashed", columns, NULL,
                   FLUSS_OPTS(fluss_desc_opts_t, .buckets = 4, .n_bucket_keys = 1,
                              .bucket_keys = (const char *const[]){"n"}));
    for (int i = 0; i < 3; i++) {
        fill(hashed, 5, 1); /* one key, one bucket */
    }
    expect(buckets_used(other, hashed) == 1);
    fluss_table_free(hashed);
    fluss_table_free(table);
    fluss_conn_free(other);
}

static fluss_table_t *make_parted(fluss_conn_t *conn, const char *name)
{
    return make_table(conn, name, columns, NULL,
                      FLUSS_OPTS(fluss_desc_opts_t, .n_partition_keys = 1,
                                 .partition_keys = (const char *const[]){"text"}));
}

static void parity_partition_made_while_writing(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    const fluss_kv_t on = {"writer.dynamic-create-partition.enabled", "true"};
    fluss_conn_t *other = connect_with(servers, &on, 1);
    fluss_table_t *table = make_parted(other, "grown");
    fill(table, 0, 3); /* three texts, three partitions */
    fluss_result_t *found =
        answer_of(fluss_list_partitions(other, fluss_table_info(table)->path, NULL, 0));
    expect(fluss_result_rows(found) == 3);
    fluss_result_free(found);
    fluss_table_free(table);
    fluss_conn_free(other);
}

static void parity_limit_on_missing_partition(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    fluss_error_t err = {0};
    const fluss_kv_t limit = {"writer.partition-wait-timeout-ms", "100"};
    fluss_conn_t *other = connect_with(servers, &limit, 1);
    fluss_table_t *table = make_parted(other, "ungrown");
    fluss_writer_t *writer = open_writer(table);
    const int64_t started = now_ms();
    fluss_code_t rc = fluss_append(writer, FLUSS_ROW(fluss_int(1), fluss_str("x")), NULL, &err);
    rc = rc != 0 ? rc : fluss_await(fluss_flush(writer), WAIT_MS, &err);
    expect(rc != 0 && now_ms() - started < 20000 && strstr(err.message, "partition") != NULL);
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_conn_free(other);
}

static void parity_compression_and_statistics(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    const char *const kinds[] = {"NONE", "LZ4_FRAME", "ZSTD"};
    for (size_t i = 0; i < 3; i++) {
        const fluss_kv_t properties[] = {{"table.log.arrow.compression.type", kinds[i]}};
        fluss_table_t *table =
            make_table(conn, "packed", columns, NULL,
                       FLUSS_OPTS(fluss_desc_opts_t, .properties = properties, .n_properties = 1));
        fill(table, 0, 2000);
        expect(sum_of(table, 2000) == 1999 * 2000 / 2);
        fluss_table_free(table);
    }
}

static void parity_log_formats(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    const char *const formats[] = {"arrow", "indexed", "compacted"};
    for (size_t i = 0; i < 3; i++) {
        const bool keyed = i == 2;
        fluss_table_t *table = make_table(conn, "log_format", columns, keyed ? "n" : NULL,
                                          FLUSS_OPTS(fluss_desc_opts_t, .log_format = formats[i]));
        fill(table, 0, 10);
        expect(sum_of(table, 10) == 45);
        fluss_table_free(table);
    }
}

static void parity_kv_format_indexed(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "kv_format", columns, "n",
                                      FLUSS_OPTS(fluss_desc_opts_t, .kv_format = "indexed"));
    fill(table, 0, 10);
    expect_text(table, 7, "r7");
    fluss_table_free(table);
}

static void parity_many_tables_one_sender(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const char *const names[] = {"many_a", "many_b", "many_c"};
    fluss_table_t *tables[3];
    fluss_writer_t *writers[3];
    for (size_t i = 0; i < 3; i++) {
        tables[i] = make_table(conn, names[i], columns, NULL, NULL);
        writers[i] = open_writer(tables[i]);
    }
    for (int32_t n = 0; n < 300; n++) {
        must(fluss_append(writers[n % 3], FLUSS_ROW(fluss_int(n), fluss_null()), NULL, &err));
    }
    for (size_t i = 0; i < 3; i++) {
        flush(writers[i]);
        fluss_writer_free(writers[i]);
        expect(sum_of(tables[i], 100) == 3 * 4950 + 100 * (int64_t)i);
        fluss_table_free(tables[i]);
    }
}

int main(int argc, char **argv)
{
    static const parity_test tests[] = {
        PARITY(append_and_flush),
        PARITY(append_arrow),
        PARITY(arrow_by_name_and_lossless),
        PARITY(append_arrow_stream),
        PARITY(upsert_and_delete),
        PARITY(partial_update),
        PARITY(merge_mode_overwrite),
        PARITY(upsert_and_delete_from_arrow),
        PARITY(ack_with_bucket_and_end_offset),
        PARITY(idempotence_acks_backpressure),
        PARITY(bucket_choice),
        PARITY(partition_made_while_writing),
        PARITY(limit_on_missing_partition),
        PARITY(compression_and_statistics),
        PARITY(log_formats),
        PARITY(kv_format_indexed),
        PARITY(many_tables_one_sender),
    };
    return parity_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
