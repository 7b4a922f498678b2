/* SPDX-License-Identifier: Apache-2.0 */
/* A log table from C: create it, append rows, read them back, add them up.
 *
 *   quickstart HOST:PORT       any Fluss server
 *   quickstart embedded:DIR    a server inside this process, its data in DIR
 *
 * Every call either succeeds or fills `err`, so a chain of calls can end at the first failure. */
#include <fluss/fluss.h>
#include <inttypes.h>
#include <stdio.h>

enum { ROWS = 10000, WAIT_MS = 30000 };

static const fluss_path_t path = {.database = "fluss", .table = "quickstart_c"};
static const char *const devices[] = {"boiler", "cooler", "lathe", "oven"};

static int64_t energy_of(int64_t id)
{
    return 3 + id % 11;
}

static fluss_code_t connect_to(const char *servers, fluss_conn_t **conn, fluss_error_t *err)
{
    fluss_config_t *config = fluss_config_new();
    fluss_code_t rc = fluss_config_set(config, "bootstrap.servers", servers, err);
    if (rc == 0) {
        rc = fluss_await_conn(fluss_connect(config), WAIT_MS, conn, err);
    }
    fluss_config_free(config);
    return rc;
}

static fluss_code_t create(fluss_conn_t *conn, fluss_error_t *err)
{
    fluss_desc_t *desc = NULL;
    fluss_schema_t *schema = fluss_schema_new();
    const bool made = fluss_schema_add(schema, "id", "BIGINT NOT NULL", NULL, err) == 0 &&
                      fluss_schema_add(schema, "device", "STRING", NULL, err) == 0 &&
                      fluss_schema_add(schema, "energy_wh", "BIGINT", NULL, err) == 0 &&
                      fluss_desc_new(schema, NULL, &desc, err) == 0;
    fluss_code_t rc = made ? 0 : err->code;
    if (rc == 0) {
        rc = fluss_await(fluss_drop_table(conn, path, FLUSS_IF_EXISTS), WAIT_MS, err);
    }
    if (rc == 0) {
        rc = fluss_await(fluss_create_table(conn, path, desc, 0), WAIT_MS, err);
    }
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    return rc;
}

/* Rows are queued at once; the flush waits until all of them are on the server's disk. */
static fluss_code_t append(fluss_table_t *table, fluss_error_t *err)
{
    fluss_writer_t *writer = NULL;
    fluss_code_t rc = fluss_append_open(table, &writer, err);
    for (int64_t id = 0; id < ROWS && rc == 0; id++) {
        rc = fluss_append(
            writer,
            FLUSS_ROW(fluss_bigint(id), fluss_str(devices[id % 4]), fluss_bigint(energy_of(id))),
            NULL, err);
    }
    if (rc == 0) {
        rc = fluss_await(fluss_flush(writer), WAIT_MS, err);
    }
    fluss_writer_free(writer);
    return rc;
}

static fluss_code_t read_back(fluss_table_t *table, int64_t *rows, int64_t *energy,
                              fluss_error_t *err)
{
    fluss_scanner_t *scanner = NULL;
    fluss_code_t rc = fluss_scanner_open(&table, 1, NULL, &scanner, err);
    if (rc == 0) {
        rc = fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, err);
    }
    while (rc == 0 && *rows < ROWS) {
        fluss_records_t *records = NULL;
        rc = fluss_await_records(fluss_poll(scanner, WAIT_MS), -1, &records, err);
        for (size_t i = 0; i < fluss_records_count(records); i++) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            *energy += fluss_row_i64(record.row, "energy_wh", 0);
            ++*rows;
        }
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s HOST:PORT | embedded:DIR\n", argv[0]);
        return 2;
    }
    fluss_error_t err = {0};
    fluss_conn_t *conn = NULL;
    fluss_table_t *table = NULL;
    int64_t rows = 0, energy = 0, expected = 0;
    for (int64_t id = 0; id < ROWS; id++) {
        expected += energy_of(id);
    }
    const bool done = connect_to(argv[1], &conn, &err) == 0 && create(conn, &err) == 0 &&
                      fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err) == 0 &&
                      append(table, &err) == 0 && read_back(table, &rows, &energy, &err) == 0;
    if (done) {
        (void)printf("%" PRId64 " rows, %" PRId64 " Wh; %" PRId64 " Wh were written\n", rows,
                     energy, expected);
    } else {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    fluss_table_free(table);
    fluss_conn_free(conn);
    return done && energy == expected ? 0 : 1;
}
