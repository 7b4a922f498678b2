/* SPDX-License-Identifier: Apache-2.0 */
/* Parity, lookups and types: a test a row of docs/parity.md, named after it. */
#include <string.h>

#include "parity.h"

static fluss_lookup_t *open_lookup(fluss_table_t *table, const fluss_lookup_opts_t *opts)
{
    fluss_error_t err = {0};
    fluss_lookup_t *lookup;
    must(fluss_lookup_open(table, opts, &lookup, &err));
    return lookup;
}

/* (a, b) -> a table of 3 groups of 4 rows. */
static fluss_table_t *make_groups(fluss_conn_t *conn, const char *name)
{
    fluss_error_t err = {0};
    fluss_table_t *table =
        make_table(conn, name, "a INT, b INT, text STRING", "a, b",
                   FLUSS_OPTS(fluss_desc_opts_t, .buckets = 2, .n_bucket_keys = 1,
                              .bucket_keys = (const char *const[]){"a"}));
    fluss_writer_t *writer = open_writer(table);
    for (int32_t i = 0; i < 12; i++) {
        must(fluss_upsert(writer, FLUSS_ROW(fluss_int(i / 4), fluss_int(i % 4), fluss_str("x")),
                          NULL, &err));
    }
    flush(writer);
    fluss_writer_free(writer);
    return table;
}

static void parity_point_and_prefix_lookup(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_groups(conn, "groups");
    fluss_lookup_t *point = open_lookup(table, NULL);
    fluss_lookup_t *prefix = open_lookup(table, FLUSS_OPTS(fluss_lookup_opts_t, .n_prefix = 1,
                                                           .prefix = (const char *const[]){"a"}));
    const fluss_datum_t key[] = {fluss_int(2), fluss_int(3)};
    fluss_records_t *one = look_up(point, key, 2, 1), *group = look_up(prefix, key, 1, 1);
    expect(fluss_records_count(one) == 1 && fluss_records_count(group) == 4);
    fluss_records_free(one);
    fluss_records_free(group);
    fluss_lookup_free(point);
    fluss_lookup_free(prefix);
    fluss_table_free(table);
}

static void parity_many_keys_in_one_call(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "many_keys", "n INT, text STRING", "n", NULL);
    fill(table, 0, 500);
    fluss_lookup_t *lookup = open_lookup(table, NULL);
    fluss_datum_t keys[600];
    for (int32_t i = 0; i < 600; i++) {
        keys[i] = fluss_int(599 - i); /* the first hundred are not there */
    }
    fluss_records_t *found = look_up(lookup, keys, 1, 600);
    expect(fluss_records_count(found) == 500);
    for (size_t i = 0; i < 500; i++) {
        fluss_record_t record;
        fluss_records_get(found, i, &record);
        expect(record.offset == (int64_t)i + 100);
        expect(fluss_row_i64(record.row, "n", -1) == 599 - record.offset);
    }
    fluss_records_free(found);
    fluss_lookup_free(lookup);
    fluss_table_free(table);
}

static int64_t requests_of(fluss_conn_t *conn)
{
    fluss_error_t err = {0};
    fluss_result_t *metrics;
    int64_t count = -1;
    must(fluss_metrics(conn, &metrics, &err));
    for (size_t i = 0; i < fluss_result_rows(metrics); i++) {
        if (strcmp(fluss_result_str(metrics, i, "name"), "fluss_client_lookup_requests_total") ==
            0) {
            count = fluss_result_i64(metrics, i, "value", -1);
        }
    }
    fluss_result_free(metrics);
    return count;
}

static void parity_lookups_travel_together(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_future_t *futures[1000];
    fluss_table_t *table = make_table(conn, "together", "n INT, text STRING", "n", NULL);
    fill(table, 0, 1000);
    fluss_lookup_t *lookup = open_lookup(table, NULL);
    const int64_t before = requests_of(conn);
    for (int32_t i = 0; i < 1000; i++) {
        const fluss_datum_t key = fluss_int(i);
        futures[i] = fluss_lookup(lookup, &key, 1, 1);
    }
    for (size_t i = 0; i < 1000; i++) {
        fluss_records_t *found;
        must(fluss_await_records(futures[i], WAIT_MS, &found, &err));
        expect(fluss_records_count(found) == 1);
        fluss_records_free(found);
    }
    expect(requests_of(conn) - before < 500);
    fluss_lookup_free(lookup);
    fluss_table_free(table);
}

static void parity_lookup_result_as_arrow(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_table_t *table = make_table(conn, "as_arrow", "n INT, text STRING", "n", NULL);
    fill(table, 0, 3);
    fluss_lookup_t *lookup = open_lookup(table, NULL);
    const fluss_datum_t keys[] = {fluss_int(2), fluss_int(9), fluss_int(0)};
    fluss_records_t *found = look_up(lookup, keys, 1, 3);
    must(fluss_records_to_arrow(found, &schema, &array, &err));
    fluss_records_free(found); /* the arrays are independent */
    expect(array.length == 2 && schema.n_children == 2);
    expect(((const int32_t *)array.children[0]->buffers[1])[0] == 2);
    array.release(&array);
    schema.release(&schema);
    fluss_lookup_free(lookup);
    fluss_table_free(table);
}

static void parity_insert_if_absent(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "inserted", "n INT, text STRING", "n", NULL);
    fluss_lookup_t *inserting =
        open_lookup(table, FLUSS_OPTS(fluss_lookup_opts_t, .insert_if_absent = true));
    fluss_lookup_t *plain = open_lookup(table, NULL);
    const fluss_datum_t key = fluss_int(5);
    const size_t expected[] = {0, 1, 1};
    fluss_lookup_t *const order[] = {plain, inserting, plain};
    for (size_t i = 0; i < 3; i++) {
        fluss_records_t *found = look_up(order[i], &key, 1, 1);
        expect(fluss_records_count(found) == expected[i]);
        fluss_records_free(found);
    }
    fluss_lookup_free(inserting);
    fluss_lookup_free(plain);
    fluss_table_free(table);
}

/* ---- types ---- */

/* Write one row to a log table and read it back; the caller frees the records. */
static fluss_records_t *round_trip(fluss_table_t *table, const fluss_datum_t *row, size_t n,
                                   fluss_record_t *record)
{
    fluss_error_t err = {0};
    fluss_writer_t *writer = open_writer(table);
    must(fluss_append(writer, row, n, NULL, &err));
    flush(writer);
    fluss_writer_free(writer);
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    fluss_records_t *records = poll_some(scanner);
    expect(fluss_records_count(records) == 1);
    fluss_records_get(records, 0, record);
    fluss_scanner_free(scanner);
    return records;
}

static bool datum_equal(const fluss_datum_t *a, const fluss_datum_t *b)
{
    switch (b->type) {
    case FLUSS_BOOLEAN:
        return a->v.b == b->v.b;
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return memcmp(&a->v.f, &b->v.f, sizeof(double)) == 0;
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return a->v.s.len == b->v.s.len && memcmp(a->v.s.ptr, b->v.s.ptr, b->v.s.len) == 0;
    case FLUSS_DECIMAL:
        return a->v.dec.lo == b->v.dec.lo && a->v.dec.hi == b->v.dec.hi && a->scale == b->scale;
    default:
        return a->v.i == b->v.i && a->nanos == b->nanos;
    }
}

static void parity_scalar_types(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(
        conn, "scalars",
        "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h CHAR(3), "
        "i STRING, j BINARY(2), k BYTES, l DECIMAL(38,10), m DATE, o TIME(3), p TIMESTAMP(9), "
        "q TIMESTAMP_LTZ(9)",
        NULL, NULL);
    fluss_datum_t wide;
    must(fluss_decimal("-1234567890123456789012345678.0123456789", 38, 10, &wide, &err));
    const fluss_datum_t row[] = {fluss_bool(true),
                                 fluss_integer(FLUSS_TINYINT, -128),
                                 fluss_integer(FLUSS_SMALLINT, 32767),
                                 fluss_int(INT32_MIN),
                                 fluss_bigint(INT64_MAX),
                                 fluss_float(0.5F),
                                 fluss_double(-1e300),
                                 fluss_str("äb"),
                                 fluss_str(""),
                                 fluss_bytes("\0\1", 2),
                                 fluss_bytes("\xff", 1),
                                 wide,
                                 fluss_date(1969, 12, 31),
                                 fluss_time(86399999),
                                 fluss_timestamp(-1, 999999),
                                 fluss_timestamp_ltz(1780000000000, 1)};
    const size_t count = sizeof(row) / sizeof(row[0]);
    fluss_record_t record;
    fluss_records_t *records = round_trip(table, row, count, &record);
    for (size_t i = 0; i < count; i++) {
        fluss_datum_t value;
        must(fluss_row_get(record.row, i, &value));
        expect(value.type != FLUSS_NULL && datum_equal(&value, &row[i]));
    }
    fluss_records_free(records);
    fluss_table_free(table);
}

static void parity_nested_types(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(
        conn, "nested", "a ARRAY<INT>, m MAP<STRING, BIGINT>, r ROW<x INT, y ARRAY<STRING>>", NULL,
        NULL);
    const fluss_datum_t items[] = {fluss_int(1), fluss_null(), fluss_int(3)};
    const fluss_datum_t entries[] = {fluss_str("k"), fluss_bigint(5)};
    const fluss_datum_t texts[] = {fluss_str("t")};
    const fluss_datum_t fields[] = {fluss_int(9), fluss_list(texts, 1)};
    const fluss_datum_t row[] = {fluss_list(items, 3), fluss_nested(FLUSS_MAP, entries, 2),
                                 fluss_nested(FLUSS_ROW, fields, 2)};
    fluss_record_t record;
    fluss_datum_t array, map, nested;
    fluss_records_t *records = round_trip(table, row, 3, &record);
    must(fluss_row_get(record.row, 0, &array));
    must(fluss_row_get(record.row, 1, &map));
    must(fluss_row_get(record.row, 2, &nested));
    expect(array.v.list.len == 3 && array.v.list.items[1].type == FLUSS_NULL);
    expect(map.v.list.len == 2 && map.v.list.items[1].v.i == 5);
    expect(nested.v.list.items[0].v.i == 9 && nested.v.list.items[1].v.list.len == 1);
    fluss_records_free(records);
    fluss_table_free(table);
}

static void parity_nanoseconds(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table =
        make_table(conn, "nanos", "t TIMESTAMP(9), z TIMESTAMP_LTZ(9)", NULL, NULL);
    const fluss_datum_t row[] = {fluss_timestamp(1780000000123, 456789),
                                 fluss_timestamp_ltz(-5, 1)};
    fluss_record_t record;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    fluss_datum_t value;
    fluss_records_t *records = round_trip(table, row, 2, &record);
    must(fluss_row_get(record.row, 0, &value));
    expect(value.v.i == 1780000000123 && value.nanos == 456789);
    must(fluss_records_to_arrow(records, &schema, &batch, &err));
    expect(strncmp(schema.children[0]->format, "tsn:", 4) == 0);
    expect(((const int64_t *)batch.children[0]->buffers[1])[0] == 1780000000123456789);
    batch.release(&batch);
    schema.release(&schema);
    fluss_records_free(records);
    fluss_table_free(table);
}

static void parity_schema_from_and_to_arrow(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowSchema arrow;
    fluss_schema_t *back;
    fluss_table_t *table = make_table(
        conn, "arrow_schema", "a INT NOT NULL, b ARRAY<STRING>, c DECIMAL(10,2)", NULL, NULL);
    must(fluss_schema_to_arrow(fluss_table_info(table)->schema, &arrow, &err));
    must(fluss_schema_from_arrow(&arrow, &back, &err));
    for (size_t i = 0; i < 3; i++) {
        const char *name, *type, *other_name, *other_type;
        must(fluss_schema_column(fluss_table_info(table)->schema, i, &name, &type, NULL));
        must(fluss_schema_column(back, i, &other_name, &other_type, NULL));
        expect(strcmp(name, other_name) == 0 && strcmp(type, other_type) == 0);
    }
    arrow.release(&arrow);
    fluss_schema_free(back);
    fluss_table_free(table);
}

int main(int argc, char **argv)
{
    static const parity_test tests[] = {
        PARITY(point_and_prefix_lookup),
        PARITY(many_keys_in_one_call),
        PARITY(lookups_travel_together),
        PARITY(lookup_result_as_arrow),
        PARITY(insert_if_absent),
        PARITY(scalar_types),
        PARITY(nested_types),
        PARITY(nanoseconds),
        PARITY(schema_from_and_to_arrow),
    };
    return parity_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
