/* SPDX-License-Identifier: Apache-2.0 */
/* Primary-key tables from C: upsert, delete, partial update, lookup, changelog, prefix lookup,
 * limit scan. The steps S1.1 to S1.9 are those of the guide "Primary Key Tables" of the Rust
 * client, in its order, a function each; S1.p is the prefix lookup that the guide points to.
 *
 *   pk_guide                   a server inside this process, its data in ./pk_guide_data
 *   pk_guide embedded:DIR      the same, its data in DIR
 *   pk_guide HOST:PORT         any Fluss server
 *
 * Every result is compared with what the guide promises; the status is 0 when all are so. */
#include <fluss/fluss.h>
#include <fluss/fluss_arrow.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 30000, POLL_MS = 1000, IDS = 5 };

static const fluss_path_t users = {.database = "fluss", .table = "users"};
static const fluss_path_t orders = {.database = "fluss", .table = "orders"};

/* End the program when a call failed. `err` says why. */
static void must(fluss_code_t rc, const fluss_error_t *err)
{
    if (rc != 0) {
        (void)fprintf(stderr, "%s: %s\n", fluss_code_name(rc), err->message);
        exit(1);
    }
}

/* End the program when something is not as the guide says. */
static void expect(bool is_so, const char *what)
{
    if (!is_so) {
        (void)fprintf(stderr, "not as the guide says: %s\n", what);
        exit(1);
    }
}

static bool text_is(const fluss_row_t *row, const char *column, const char *expected)
{
    size_t len;
    const char *text = fluss_row_text(row, column, &len);
    return text != NULL && len == strlen(expected) && memcmp(text, expected, len) == 0;
}

static void flush(fluss_writer_t *writer)
{
    fluss_error_t err;
    must(fluss_await(fluss_flush(writer), WAIT_MS, &err), &err);
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

/* S1.1: schema, descriptor, table. What an earlier run left is dropped first. */
static fluss_table_t *create_users(fluss_conn_t *conn)
{
    fluss_error_t err;
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "id", "INT", NULL, &err), &err);
    must(fluss_schema_add(schema, "name", "STRING", NULL, &err), &err);
    must(fluss_schema_add(schema, "age", "BIGINT", NULL, &err), &err);
    must(fluss_schema_primary_key(schema, (const char *const[]){"id"}, 1, &err), &err);

    fluss_desc_t *desc;
    must(fluss_desc_new(schema, NULL, &desc, &err), &err);
    must(fluss_await(fluss_drop_table(conn, users, FLUSS_IF_EXISTS), WAIT_MS, &err), &err);
    must(fluss_await(fluss_create_table(conn, users, desc, FLUSS_IF_NOT_EXISTS), WAIT_MS, &err),
         &err);
    fluss_desc_free(desc);
    fluss_schema_free(schema);

    fluss_table_t *table;
    must(fluss_await_table(fluss_open_table(conn, users), WAIT_MS, &table, &err), &err);
    return table;
}

/* S1.2: rows are queued at once; the flush waits until the server has acknowledged them. */
static void upsert(fluss_writer_t *writer)
{
    static const struct {
        int32_t id;
        const char *name;
        int64_t age;
    } people[] = {{1, "Alice", 25}, {2, "Bob", 30}, {3, "Charlie", 35}, {4, "Dora", 40}};
    fluss_error_t err;
    for (size_t i = 0; i < sizeof(people) / sizeof(people[0]); i++) {
        must(fluss_upsert(writer,
                          FLUSS_ROW(fluss_int(people[i].id), fluss_str(people[i].name),
                                    fluss_bigint(people[i].age)),
                          NULL, &err),
             &err);
    }
    flush(writer);
}

/* S1.3: an upsert of a key that is there replaces its row. */
static void update(fluss_writer_t *writer)
{
    fluss_error_t err;
    must(fluss_upsert(writer, FLUSS_ROW(fluss_int(1), fluss_str("Alice"), fluss_bigint(26)), NULL,
                      &err),
         &err);
    flush(writer);
}

/* S1.4: the key alone is enough; of a row of all columns only the key is used. */
static void delete(fluss_writer_t *writer)
{
    fluss_error_t err;
    must(fluss_delete(writer, FLUSS_ROW(fluss_int(2)), NULL, &err), &err);
    must(fluss_delete(writer, FLUSS_ROW(fluss_int(4), fluss_null(), fluss_null()), NULL, &err),
         &err);
    flush(writer);
}

/* S1.5: a writer of some columns, by index or by name, leaves the others as they are. Its rows hold
 * those columns, or all of them with nulls in between. */
static void update_some_columns(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_writer_t *by_index, *by_name;
    must(fluss_upsert_open(
             table, FLUSS_OPTS(fluss_upsert_opts_t, .columns = (const int32_t[]){0, 2}, .n = 2),
             &by_index, &err),
         &err);
    must(fluss_upsert(by_index, FLUSS_ROW(fluss_int(1), fluss_bigint(27)), NULL, &err), &err);
    flush(by_index);

    must(fluss_upsert_open(
             table,
             FLUSS_OPTS(fluss_upsert_opts_t, .names = (const char *const[]){"id", "age"}, .n = 2),
             &by_name, &err),
         &err);
    must(fluss_upsert(by_name, FLUSS_ROW(fluss_int(3), fluss_null(), fluss_bigint(36)), NULL, &err),
         &err);
    flush(by_name);
    fluss_writer_free(by_index);
    fluss_writer_free(by_name);
}

static fluss_records_t *look_up(fluss_lookup_t *lookup, fluss_datum_t key)
{
    fluss_error_t err;
    fluss_records_t *found;
    must(fluss_await_records(fluss_lookup(lookup, &key, 1, 1), WAIT_MS, &found, &err), &err);
    return found;
}

static void print_person(const fluss_records_t *found)
{
    if (fluss_records_count(found) == 0) {
        (void)printf("Record not found\n");
        return;
    }
    fluss_record_t record;
    fluss_records_get(found, 0, &record);
    size_t len;
    const char *name = fluss_row_text(record.row, "name", &len);
    (void)printf("Found: id=%" PRId64 ", name=%.*s, age=%" PRId64 "\n",
                 fluss_row_i64(record.row, "id", 0), (int)len, name,
                 fluss_row_i64(record.row, "age", 0));
}

/* S1.6: a key has one row or none. S1.7: the same rows as an Arrow batch. */
static void look_up_users(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_lookup_t *lookup;
    must(fluss_lookup_open(table, NULL, &lookup, &err), &err);
    fluss_records_t *alice = look_up(lookup, fluss_int(1));
    fluss_records_t *bob = look_up(lookup, fluss_int(2));
    print_person(alice);
    print_person(bob);
    expect(fluss_records_count(bob) == 0, "a deleted record is not found");
    expect(fluss_records_count(alice) == 1, "a lookup finds the row of its key");
    fluss_record_t record;
    fluss_records_get(alice, 0, &record);
    expect(fluss_row_i64(record.row, "id", 0) == 1 && text_is(record.row, "name", "Alice"),
           "name remains unchanged");
    expect(fluss_row_i64(record.row, "age", 0) == 27, "age is updated");

    struct ArrowSchema schema;
    struct ArrowArray array;
    must(fluss_records_to_arrow(alice, &schema, &array, &err), &err);
    (void)printf("Rows: %" PRId64 "\n", array.length);
    expect(array.length == 1 && schema.n_children == 3, "the batch has one row of three columns");
    schema.release(&schema);
    array.release(&array);
    fluss_records_free(alice);
    fluss_records_free(bob);
    fluss_lookup_free(lookup);
}

/* What the changelog holds of each id, in the order of the steps above. */
static const char *const changes_of[IDS] = {
    [1] = " +I -U +U -U +U",
    [2] = " +I -D",
    [3] = " +I -U +U",
    [4] = " +I -D",
};

static size_t changes_expected(void)
{
    size_t count = 0;
    for (size_t id = 1; id < IDS; id++) {
        count += strlen(changes_of[id]) / strlen(" +I");
    }
    return count;
}

static void print_change(const fluss_record_t *record, char seen[IDS][64])
{
    const int64_t id = fluss_row_i64(record->row, "id", 0);
    const char *change = fluss_change_string(record->change);
    size_t len;
    const char *name = fluss_row_text(record->row, "name", &len);
    (void)printf("%s id=%" PRId64 " name=%.*s\n", change, id, (int)len, name);
    expect(id > 0 && id < IDS, "the changelog holds the ids that were written");
    expect(id != 2 || text_is(record->row, "name", "Bob"), "a -D record carries the old row");
    const size_t used = strlen(seen[id]);
    (void)snprintf(seen[id] + used, sizeof(seen[id]) - used, " %s", change);
}

/* S1.8: a scanner that starts at the earliest offset of every bucket sees each change. The guide
 * polls for ever; this program ends after the changes that it made itself. */
static void read_changelog(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_scanner_t *scanner;
    must(fluss_scanner_open(&table, 1, NULL, &scanner, &err), &err);
    const fluss_table_info_t *info = fluss_table_info(table);
    for (int32_t bucket = 0; bucket < info->buckets; bucket++) {
        const fluss_position_t start = {{info->table_id, -1, bucket}, FLUSS_EARLIEST};
        must(fluss_await(fluss_subscribe(scanner, &start, 1), WAIT_MS, &err), &err);
    }
    char seen[IDS][64] = {{0}};
    size_t count = 0;
    for (int polls = 0; count < changes_expected() && polls < WAIT_MS / POLL_MS; polls++) {
        fluss_records_t *records;
        must(fluss_await_records(fluss_poll(scanner, POLL_MS), -1, &records, &err), &err);
        for (size_t i = 0; i < fluss_records_count(records); i++) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            print_change(&record, seen);
            count++;
        }
        fluss_records_free(records);
    }
    for (size_t id = 1; id < IDS; id++) {
        expect(strcmp(seen[id], changes_of[id]) == 0, "insert +I, update -U and +U, delete -D");
    }
    fluss_scanner_free(scanner);
}

/* S1.p: rows that share the first columns of the key lie in one bucket, when those columns are the
 * bucket key; one lookup finds them all. */
static fluss_table_t *create_orders(fluss_conn_t *conn)
{
    fluss_error_t err;
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "user_id", "INT", NULL, &err), &err);
    must(fluss_schema_add(schema, "order_id", "BIGINT", NULL, &err), &err);
    must(fluss_schema_add(schema, "item", "STRING", NULL, &err), &err);
    must(fluss_schema_primary_key(schema, (const char *const[]){"user_id", "order_id"}, 2, &err),
         &err);
    fluss_desc_t *desc;
    must(fluss_desc_new(schema,
                        FLUSS_OPTS(fluss_desc_opts_t, .buckets = 3, .n_bucket_keys = 1,
                                   .bucket_keys = (const char *const[]){"user_id"}),
                        &desc, &err),
         &err);
    must(fluss_await(fluss_drop_table(conn, orders, FLUSS_IF_EXISTS), WAIT_MS, &err), &err);
    must(fluss_await(fluss_create_table(conn, orders, desc, 0), WAIT_MS, &err), &err);
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    fluss_table_t *table;
    must(fluss_await_table(fluss_open_table(conn, orders), WAIT_MS, &table, &err), &err);
    return table;
}

static void look_up_by_prefix(fluss_conn_t *conn)
{
    fluss_error_t err;
    fluss_table_t *table = create_orders(conn);
    fluss_writer_t *writer;
    must(fluss_upsert_open(table, NULL, &writer, &err), &err);
    for (int32_t i = 0; i < 6; i++) {
        must(fluss_upsert(writer,
                          FLUSS_ROW(fluss_int(1 + i % 2), fluss_bigint(100 + i), fluss_str("cup")),
                          NULL, &err),
             &err);
    }
    flush(writer);

    fluss_lookup_t *lookup;
    must(fluss_lookup_open(table,
                           FLUSS_OPTS(fluss_lookup_opts_t, .n_prefix = 1,
                                      .prefix = (const char *const[]){"user_id"}),
                           &lookup, &err),
         &err);
    fluss_records_t *found = look_up(lookup, fluss_int(2));
    (void)printf("Orders of user 2:");
    for (size_t i = 0; i < fluss_records_count(found); i++) {
        fluss_record_t record;
        fluss_records_get(found, i, &record);
        const int64_t order = fluss_row_i64(record.row, "order_id", 0);
        (void)printf(" %" PRId64, order);
        expect(order == 101 + 2 * (int64_t)i, "the orders of user 2, in the order of their keys");
        expect(fluss_row_i64(record.row, "user_id", 0) == 2, "only rows with the prefix");
    }
    (void)printf("\n");
    expect(fluss_records_count(found) == 3, "user 2 has three orders");
    fluss_records_free(found);
    fluss_lookup_free(lookup);
    fluss_writer_free(writer);
    fluss_table_free(table);
}

/* S1.9: up to ten of the rows that a bucket holds now, as Arrow batches; no keys needed. */
static void scan_with_limit(fluss_table_t *table)
{
    fluss_error_t err;
    const fluss_table_info_t *info = fluss_table_info(table);
    int64_t rows = 0;
    for (int32_t i = 0; i < info->buckets; i++) {
        const fluss_bucket_t bucket = {info->table_id, -1, i};
        fluss_batches_t *batches;
        must(fluss_await_batches(
                 fluss_scan_bucket(table, bucket, FLUSS_OPTS(fluss_scan_opts_t, .limit = 10)),
                 WAIT_MS, &batches, &err),
             &err);
        for (size_t j = 0; j < fluss_batches_count(batches); j++) {
            struct ArrowSchema schema;
            struct ArrowArray array;
            must(fluss_batches_take(batches, j, &schema, &array, NULL, NULL, &err), &err);
            (void)printf("rows: %" PRId64 "\n", array.length);
            rows += array.length;
            schema.release(&schema);
            array.release(&array);
        }
        fluss_batches_free(batches);
    }
    expect(rows == 2, "two rows are left, each once");
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        (void)fprintf(stderr, "usage: %s [HOST:PORT | embedded:DIR]\n", argv[0]);
        return 2;
    }
    fluss_error_t err;
    fluss_conn_t *conn = connect_to(argc == 2 ? argv[1] : "embedded:pk_guide_data");
    fluss_table_t *table = create_users(conn);
    fluss_writer_t *writer;
    must(fluss_upsert_open(table, NULL, &writer, &err), &err);
    upsert(writer);
    update(writer);
    delete(writer);
    update_some_columns(table);
    look_up_users(table);
    read_changelog(table);
    look_up_by_prefix(conn);
    scan_with_limit(table);
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_conn_free(conn);
    return 0;
}
