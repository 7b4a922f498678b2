/* SPDX-License-Identifier: Apache-2.0 */
/* The changelog of a primary-key table on standard output, one JSON object a line:
 *
 *   {"change":"+I","bucket":0,"offset":0,"row":{"id":1,"name":"Alice"}}
 *
 *   changelog_json HOST:PORT | embedded:DIR
 *
 * It fills a table of its own and ends with the last change; a tool would go on polling. Of the
 * types, numbers, truth values and texts are printed; others as null. */
#include <inttypes.h>

#include "example.h"

static const fluss_path_t path = {"fluss", "example_changelog"};

static void print_text(const char *text, size_t len)
{
    (void)putchar('"');
    for (size_t i = 0; i < len; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            (void)printf("\\u%04x", byte);
        } else {
            (void)putchar(byte);
        }
    }
    (void)putchar('"');
}

static void print_value(const fluss_datum_t *value)
{
    switch (value->type) {
    case FLUSS_BOOLEAN:
        (void)printf(value->v.b ? "true" : "false");
        break;
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        (void)printf("%" PRId64, value->v.i);
        break;
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        (void)printf("%.17g", value->v.f);
        break;
    case FLUSS_CHAR:
    case FLUSS_STRING:
        print_text(value->v.s.ptr, value->v.s.len);
        break;
    default:
        (void)printf("null");
    }
}

static void print_record(const fluss_record_t *record, const fluss_schema_t *schema)
{
    (void)printf("{\"change\":\"%s\",\"bucket\":%d,\"offset\":%" PRId64 ",\"row\":{",
                 fluss_change_string(record->change), record->bucket.bucket, record->offset);
    for (size_t i = 0; i < fluss_row_width(record->row); i++) {
        const char *name = "";
        fluss_datum_t value;
        (void)fluss_schema_column(schema, i, &name, NULL, NULL);
        (void)fluss_row_get(record->row, i, &value);
        (void)printf(i > 0 ? "," : "");
        print_text(name, strlen(name));
        (void)putchar(':');
        print_value(&value);
    }
    (void)printf("}}\n");
}

static void fill(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    MUST(fluss_upsert_open(table, NULL, &writer, &err));
    MUST(fluss_upsert(writer, FLUSS_ROW(fluss_int(1), fluss_str("Alice")), NULL, &err));
    MUST(fluss_upsert(writer, FLUSS_ROW(fluss_int(2), fluss_str("Bob \"the builder\"")), NULL,
                      &err));
    MUST(fluss_upsert(writer, FLUSS_ROW(fluss_int(1), fluss_str("Alicia")), NULL, &err));
    MUST(fluss_delete(writer, FLUSS_ROW(fluss_int(2)), NULL, &err));
    MUST(fluss_await(fluss_flush(writer), WAIT_MS, &err));
    fluss_writer_free(writer);
}

int main(int argc, char **argv)
{
    static const char *const expected[] = {"+I", "+I", "-U", "+U", "-D"};
    fluss_error_t err;
    fluss_scanner_t *scanner;
    fluss_conn_t *conn = example_connect(argc, argv);
    fluss_table_t *table =
        example_table(conn, path, (const char *const[]){"id INT", "name STRING", NULL}, "id",
                      FLUSS_OPTS(fluss_desc_opts_t, .buckets = 1));
    fill(table);
    MUST(fluss_scanner_open(&table, 1, NULL, &scanner, &err));
    MUST(fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    for (size_t seen = 0; seen < 5;) {
        fluss_records_t *records;
        MUST(fluss_await_records(fluss_poll(scanner, WAIT_MS), -1, &records, &err));
        for (size_t i = 0; i < fluss_records_count(records); i++, seen++) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            print_record(&record, fluss_table_info(table)->schema);
            CHECK(strcmp(fluss_change_string(record.change), expected[seen]) == 0);
        }
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
    fluss_table_free(table);
    fluss_conn_free(conn);
    return 0;
}
