/* SPDX-License-Identifier: Apache-2.0 */
/* The shared half of the programs of tests/capi; see world.h. The server runs in a child process:
 * its memory, sockets and threads stay apart from those of the client under test. */
#include "world.h"

#include <fluss/fluss_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void must_at(fluss_code_t rc, const fluss_error_t *err, const char *what, const char *file,
             int line)
{
    if (rc != 0) {
        (void)fprintf(stderr, "%s:%d: FAILED: %s: %s, kind %d: %s\n", file, line, what,
                      fluss_code_name(rc), err->kind, err->message);
        exit(1);
    }
}

void must_be_at(fluss_kind_t kind, fluss_code_t rc, const fluss_error_t *err, const char *what,
                const char *file, int line)
{
    if (rc != FLUSS_E_CLIENT || err->code != rc || err->kind != kind || err->message[0] == '\0') {
        (void)fprintf(stderr, "%s:%d: FAILED: %s: code %d, kind %d, expected kind %d: %s\n", file,
                      line, what, rc, err->kind, kind, err->message);
        exit(1);
    }
}

void expect_at(bool is_so, const char *what, const char *file, int line)
{
    if (!is_so) {
        (void)fprintf(stderr, "%s:%d: FAILED: %s\n", file, line, what);
        exit(1);
    }
}

/* ---- the server ---- */

static struct {
    pid_t pid;
    int control; /* the child stops when this end is closed */
    char endpoint[128];
} child;

static void serve(const fluss_kv_t *settings, size_t n, int control, int report)
{
    fluss_error_t err = {0};
    fluss_server_t *server = NULL;
    if (fluss_server_start(settings, n, &server, &err) != 0) {
        (void)fprintf(stderr, "server: %s\n", err.message);
        _exit(1);
    }
    const char *endpoint = fluss_server_endpoint(server);
    char byte;
    bool is_told = write(report, endpoint, strlen(endpoint) + 1) > 0;
    while (is_told && read(control, &byte, 1) > 0) {
    }
    fluss_server_free(server);
    _exit(0);
}

const char *server_start(const fluss_kv_t *settings, size_t n)
{
    int control[2], report[2];
    expect(pipe(control) == 0 && pipe(report) == 0);
    child.pid = fork();
    expect(child.pid >= 0);
    if (child.pid == 0) {
        (void)close(control[1]);
        (void)close(report[0]);
        serve(settings, n, control[0], report[1]);
    }
    (void)close(control[0]);
    (void)close(report[1]);
    child.control = control[1];
    size_t size = 0;
    do {
        const ssize_t got = read(report[0], child.endpoint + size, sizeof(child.endpoint) - size);
        expect(got > 0);
        size += (size_t)got;
    } while (child.endpoint[size - 1] != '\0');
    (void)close(report[0]);
    return child.endpoint;
}

void server_stop(void)
{
    int status = 0;
    (void)close(child.control);
    expect(waitpid(child.pid, &status, 0) == child.pid && status == 0);
}

/* ---- handles ---- */

fluss_conn_t *connect_with(const char *servers, const fluss_kv_t *settings, size_t n)
{
    fluss_error_t err = {0};
    fluss_conn_t *conn;
    fluss_config_t *config = fluss_config_new();
    must(fluss_config_set(config, "bootstrap.servers", servers, &err));
    for (size_t i = 0; i < n; i++) {
        must(fluss_config_set(config, settings[i].key, settings[i].value, &err));
    }
    must(fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, &err));
    fluss_config_free(config);
    return conn;
}

fluss_conn_t *connect_to(const char *servers)
{
    return connect_with(servers, NULL, 0);
}

/* The parts of "a INT, b ARRAY<INT>" one by one: name and type. `text` is used up. */
static char *next_part(char **text, char separator)
{
    char *part = *text;
    int depth = 0;
    if (part == NULL) {
        return NULL;
    }
    while (*part == ' ') {
        part++;
    }
    for (char *at = part;; at++) {
        depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
        if (*at == '\0') {
            *text = NULL;
            return part;
        }
        if (*at == separator && depth == 0) {
            *at = '\0';
            *text = at + 1;
            return part;
        }
    }
}

fluss_table_t *make_table(fluss_conn_t *conn, const char *name, const char *columns,
                          const char *keys, const fluss_desc_opts_t *opts)
{
    fluss_error_t err = {0};
    fluss_schema_t *schema = fluss_schema_new();
    char *text = strdup(columns), *at = text;
    for (char *part = next_part(&at, ','); part != NULL; part = next_part(&at, ',')) {
        char *type = part;
        const char *column = next_part(&type, ' ');
        must(fluss_schema_add(schema, column, type, NULL, &err));
    }
    if (keys != NULL) {
        const char *names[8];
        size_t count = 0;
        char *copy = strdup(keys), *rest = copy;
        for (char *key = next_part(&rest, ','); key != NULL; key = next_part(&rest, ',')) {
            names[count++] = key;
        }
        must(fluss_schema_primary_key(schema, names, count, &err));
        free(copy);
    }
    free(text);
    fluss_desc_t *desc;
    fluss_table_t *table;
    const fluss_path_t path = {"fluss", name};
    must(fluss_desc_new(schema, opts, &desc, &err));
    must(fluss_await(fluss_drop_table(conn, path, FLUSS_IF_EXISTS), WAIT_MS, &err));
    must(fluss_await(fluss_create_table(conn, path, desc, 0), WAIT_MS, &err));
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err));
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    return table;
}

fluss_writer_t *open_writer(fluss_table_t *table)
{
    fluss_error_t err = {0};
    fluss_writer_t *writer;
    if (fluss_table_info(table)->n_primary_keys > 0) {
        must(fluss_upsert_open(table, NULL, &writer, &err));
    } else {
        must(fluss_append_open(table, &writer, &err));
    }
    return writer;
}

fluss_scanner_t *open_scanner(fluss_table_t *table, const fluss_scan_opts_t *opts, int64_t from)
{
    fluss_error_t err = {0};
    fluss_scanner_t *scanner;
    must(fluss_scanner_open(&table, 1, opts, &scanner, &err));
    must(fluss_await(fluss_subscribe_all(scanner, from), WAIT_MS, &err));
    return scanner;
}

fluss_records_t *poll_some(fluss_scanner_t *scanner)
{
    fluss_error_t err = {0};
    fluss_records_t *records;
    must(fluss_await_records(fluss_poll(scanner, WAIT_MS), WAIT_MS, &records, &err));
    return records;
}

fluss_records_t *look_up(fluss_lookup_t *lookup, const fluss_datum_t *keys, size_t width,
                         size_t count)
{
    fluss_error_t err = {0};
    fluss_records_t *records;
    must(fluss_await_records(fluss_lookup(lookup, keys, width, count), WAIT_MS, &records, &err));
    return records;
}

void flush(fluss_writer_t *writer)
{
    fluss_error_t err = {0};
    must(fluss_await(fluss_flush(writer), WAIT_MS, &err));
}

/* ---- answers ---- */

fluss_result_t *answer_of(fluss_future_t *future)
{
    fluss_error_t err = {0};
    fluss_result_t *result;
    must(fluss_await_result(future, WAIT_MS, &result, &err));
    return result;
}

size_t count_rows(const fluss_result_t *result, const char *column, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < fluss_result_rows(result); i++) {
        const char *found = fluss_result_str(result, i, column);
        count += found != NULL && strcmp(found, text) == 0;
    }
    return count;
}

bool text_is(const fluss_row_t *row, const char *column, const char *expected)
{
    size_t len;
    const char *text = fluss_row_text(row, column, &len);
    return text != NULL && len == strlen(expected) && memcmp(text, expected, len) == 0;
}

int64_t drain_batches(fluss_batches_t *batches)
{
    int64_t rows = 0;
    for (size_t i = 0; i < fluss_batches_count(batches); i++) {
        fluss_error_t err = {0};
        struct ArrowSchema schema;
        struct ArrowArray array;
        must(fluss_batches_take(batches, i, &schema, &array, NULL, NULL, &err));
        rows += array.length;
        array.release(&array);
        schema.release(&schema);
    }
    fluss_batches_free(batches);
    return rows;
}

int64_t drain_stream(struct ArrowArrayStream *stream)
{
    int64_t rows = 0;
    struct ArrowArray array = {0};
    while (stream->get_next(stream, &array) == 0 && array.release != NULL) {
        rows += array.length;
        array.release(&array);
    }
    const char *text = stream->get_last_error(stream);
    if (text != NULL) {
        (void)fprintf(stderr, "stream: %s\n", text);
        rows = -1;
    }
    stream->release(stream);
    return rows;
}

fluss_bucket_t bucket_of(const fluss_table_t *table, int32_t bucket)
{
    return (fluss_bucket_t){fluss_table_info(table)->table_id, -1, bucket};
}

int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t size_from(const char *variable, int64_t fallback)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? strtoll(text, NULL, 10) : fallback;
}
