/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: keys of every width are taken, prefix lookups find whole groups of many keys at once, and
 * an insert-if-absent inserts once and then finds. Method: a table of (user, order) in 7 buckets by
 * user, on a server inside the process.
 *
 *   client_kv HOST:PORT | embedded:DIR */
#include <fluss/fluss.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAIT_MS = 30000, USERS = 300, ORDERS = 4 };

static const fluss_path_t path = {.database = "fluss", .table = "client_kv"};

static void must(fluss_code_t rc, const fluss_error_t *err)
{
    if (rc != 0) {
        (void)fprintf(stderr, "%s: %s\n", fluss_code_name(rc), err->message);
        exit(1);
    }
}

static void expect(bool is_so, const char *what)
{
    if (!is_so) {
        (void)fprintf(stderr, "FAILED: %s\n", what);
        exit(1);
    }
}

static fluss_conn_t *connect_to(const char *servers)
{
    fluss_error_t err;
    fluss_conn_t *conn;
    fluss_config_t *config = fluss_config_new();
    must(fluss_config_set(config, "bootstrap.servers", servers, &err), &err);
    must(fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, &err), &err);
    fluss_config_free(config);
    return conn;
}

static fluss_table_t *create(fluss_conn_t *conn)
{
    fluss_error_t err;
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "item", "STRING", NULL, &err), &err);
    must(fluss_schema_add(schema, "user", "INT", NULL, &err), &err);
    must(fluss_schema_add(schema, "order", "BIGINT", NULL, &err), &err);
    must(fluss_schema_primary_key(schema, (const char *const[]){"user", "order"}, 2, &err), &err);
    fluss_desc_t *desc;
    must(fluss_desc_new(schema,
                        FLUSS_OPTS(fluss_desc_opts_t, .buckets = 7, .n_bucket_keys = 1,
                                   .bucket_keys = (const char *const[]){"user"}),
                        &desc, &err),
         &err);
    must(fluss_await(fluss_drop_table(conn, path, FLUSS_IF_EXISTS), WAIT_MS, &err), &err);
    must(fluss_await(fluss_create_table(conn, path, desc, 0), WAIT_MS, &err), &err);
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    fluss_table_t *table;
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err), &err);
    return table;
}

static fluss_records_t *look_up(fluss_lookup_t *lookup, const fluss_datum_t *keys, size_t width,
                                size_t count)
{
    fluss_error_t err;
    fluss_records_t *found;
    must(fluss_await_records(fluss_lookup(lookup, keys, width, count), WAIT_MS, &found, &err),
         &err);
    return found;
}

static void fill(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    must(fluss_upsert_open(table, NULL, &writer, &err), &err);
    for (int32_t i = 0; i < USERS * ORDERS; i++) {
        must(fluss_upsert(
                 writer,
                 FLUSS_ROW(fluss_str("cup"), fluss_int(i / ORDERS), fluss_bigint(i % ORDERS)), NULL,
                 &err),
             &err);
    }
    must(fluss_await(fluss_flush(writer), WAIT_MS, &err), &err);
    fluss_writer_free(writer);
}

static void every_prefix_finds_its_group(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_lookup_t *lookup;
    must(fluss_lookup_open(table,
                           FLUSS_OPTS(fluss_lookup_opts_t, .n_prefix = 1,
                                      .prefix = (const char *const[]){"user"}),
                           &lookup, &err),
         &err);
    fluss_datum_t keys[USERS + 1];
    for (int32_t i = 0; i <= USERS; i++) {
        keys[i] = fluss_int(i); /* the last one has no rows */
    }
    fluss_records_t *found = look_up(lookup, keys, 1, USERS + 1);
    expect(fluss_records_count(found) == (size_t)USERS * ORDERS, "all rows of all prefixes");
    for (size_t i = 0; i < fluss_records_count(found); i++) {
        fluss_record_t record;
        fluss_records_get(found, i, &record);
        expect(fluss_row_i64(record.row, "user", -1) == record.offset, "offset names the key");
        expect(fluss_row_i64(record.row, "order", -1) == (int64_t)(i % ORDERS), "in key order");
    }
    fluss_records_free(found);
    fluss_lookup_free(lookup);
    const fluss_lookup_opts_t wrong = {
        .size = sizeof(wrong), .prefix = (const char *const[]){"order"}, .n_prefix = 1};
    expect(fluss_lookup_open(table, &wrong, &lookup, &err) != 0 && err.kind == FLUSS_KIND_ARGUMENT,
           "a column that is no prefix is refused");
}

static void keys_have_two_widths(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_lookup_t *lookup;
    fluss_writer_t *writer;
    must(fluss_lookup_open(table, NULL, &lookup, &err), &err);
    must(fluss_upsert_open(table, NULL, &writer, &err), &err);
    const fluss_datum_t narrow[] = {fluss_int(200), fluss_bigint(1)};
    const fluss_datum_t wide[] = {fluss_null(), fluss_int(200), fluss_bigint(2)};
    fluss_records_t *by_narrow = look_up(lookup, narrow, 2, 1);
    fluss_records_t *by_wide = look_up(lookup, wide, 3, 1);
    expect(fluss_records_count(by_narrow) == 1 && fluss_records_count(by_wide) == 1, "both found");
    fluss_records_free(by_narrow);
    fluss_records_free(by_wide);
    must(fluss_delete(writer, narrow, 2, NULL, &err), &err);
    must(fluss_delete(writer, wide, 3, NULL, &err), &err);
    must(fluss_await(fluss_flush(writer), WAIT_MS, &err), &err);
    by_narrow = look_up(lookup, narrow, 2, 1);
    by_wide = look_up(lookup, wide, 3, 1);
    expect(fluss_records_count(by_narrow) + fluss_records_count(by_wide) == 0, "both deleted");
    fluss_records_free(by_narrow);
    fluss_records_free(by_wide);
    expect(fluss_await(fluss_lookup(lookup, narrow, 1, 1), WAIT_MS, &err) != 0 &&
               err.kind == FLUSS_KIND_ARGUMENT,
           "a key of the wrong width is refused");
    fluss_writer_free(writer);
    fluss_lookup_free(lookup);
}

static void an_absent_key_is_inserted_once(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_lookup_t *inserting, *plain;
    must(fluss_lookup_open(table, FLUSS_OPTS(fluss_lookup_opts_t, .insert_if_absent = true),
                           &inserting, &err),
         &err);
    must(fluss_lookup_open(table, NULL, &plain, &err), &err);
    const fluss_datum_t key[] = {fluss_int(USERS + 5), fluss_bigint(9)};
    fluss_records_t *found = look_up(plain, key, 2, 1);
    expect(fluss_records_count(found) == 0, "a plain lookup inserts nothing");
    fluss_records_free(found);
    fluss_lookup_t *const order[] = {inserting, plain, inserting};
    for (size_t i = 0; i < 3; i++) {
        found = look_up(order[i], key, 2, 1);
        expect(fluss_records_count(found) == 1, "the row is there once");
        fluss_record_t record;
        fluss_records_get(found, 0, &record);
        expect(fluss_row_i64(record.row, "user", 0) == USERS + 5 &&
                   fluss_row_i64(record.row, "order", 0) == 9 &&
                   fluss_row_find(record.row, "item").type == FLUSS_NULL,
               "the key and nulls");
        fluss_records_free(found);
    }
    fluss_lookup_free(inserting);
    fluss_lookup_free(plain);
}

int main(int argc, char **argv)
{
    expect(argc == 2, "usage: client_kv HOST:PORT | embedded:DIR");
    fluss_conn_t *conn = connect_to(argv[1]);
    fluss_table_t *table = create(conn);
    fill(table);
    every_prefix_finds_its_group(table);
    keys_have_two_widths(table);
    an_absent_key_is_inserted_once(table);
    fluss_table_free(table);
    fluss_conn_free(conn);
    (void)printf("ok\n");
    return 0;
}
