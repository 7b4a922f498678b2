/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the finer promises of the headers: closes of one connection end together; lost rows are
 * told to whoever lost them; callbacks may start calls and release everything, and never wait;
 * structs of options may be of another version; limits of time may be any number; a wait survives
 * the cancellation of its thread.
 * Method: one promise a function, on a server of its own process. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "world.h"

static const fluss_path_t lost_path = {"fluss", "lost"};

static void wait_for(sem_t *event)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    expect(sem_timedwait(event, &until) == 0);
}

/* ---- closing ---- */

static int64_t rows_of(const char *servers, fluss_path_t path)
{
    fluss_error_t err = {0};
    fluss_conn_t *conn = connect_to(servers);
    fluss_table_t *table;
    struct ArrowArrayStream stream;
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err));
    fluss_scanner_t *scanner =
        open_scanner(table, FLUSS_OPTS(fluss_scan_opts_t, .batches = true), FLUSS_EARLIEST);
    must(fluss_read(scanner, NULL, 0, &stream, &err));
    const int64_t rows = drain_stream(&stream);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
    fluss_conn_free(conn);
    return rows;
}

/* The first close waits for the rows; the others must not cut it short. */
static void closes_end_together(const char *servers)
{
    enum { ROWS = 20000, CLOSES = 4 };
    fluss_error_t err = {0};
    fluss_future_t *closes[CLOSES];
    fluss_conn_t *conn = connect_to(servers);
    fluss_table_t *table = make_table(conn, "closed", "n INT, text STRING", NULL, NULL);
    fluss_writer_t *writer = open_writer(table);
    for (int32_t i = 0; i < ROWS; i++) {
        must(fluss_append(writer, FLUSS_ROW(fluss_int(i), fluss_str("row")), NULL, &err));
    }
    for (int i = 0; i < CLOSES; i++) {
        closes[i] = fluss_close(conn);
    }
    fluss_future_free(closes[0]); /* nobody waits for the first */
    for (int i = 1; i < CLOSES; i++) {
        must(fluss_await(closes[i], WAIT_MS, &err));
    }
    must(fluss_await(fluss_close(conn), WAIT_MS, &err));
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_conn_free(conn);
    expect(rows_of(servers, (fluss_path_t){"fluss", "closed"}) == ROWS);
}

/* ---- lost rows ---- */

/* Three writers share batches that are given up: one flushes, one closes, one waited for all. */
static void lost_rows_are_told_to_their_writer(const char *servers)
{
    enum { HEARD = 3 };
    fluss_error_t err = {0};
    fluss_conn_t *conn = connect_to(servers), *other = connect_to(servers);
    fluss_table_t *table = make_table(conn, lost_path.table, "n INT", NULL, NULL);
    fluss_writer_t *flushes = open_writer(table), *closes = open_writer(table),
                   *hears = open_writer(table);
    fluss_future_t *acks[HEARD];
    fluss_table_free(make_table(other, lost_path.table, "n INT", NULL, NULL)); /* another table */
    for (int i = 0; i < HEARD; i++) {
        must(fluss_append(flushes, FLUSS_ROW(fluss_int(i)), NULL, &err));
        must(fluss_append(closes, FLUSS_ROW(fluss_int(i)), NULL, &err));
        must(fluss_append(closes, FLUSS_ROW(fluss_int(i)), NULL, &err));
        must(fluss_append(hears, FLUSS_ROW(fluss_int(i)), &acks[i], &err));
    }
    for (int i = 0; i < HEARD; i++) {
        expect(fluss_await_ack(acks[i], WAIT_MS, NULL, &err) == FLUSS_E_TABLE_NOT_EXIST);
    }
    must(fluss_await(fluss_flush(hears), WAIT_MS, &err));
    expect(fluss_await(fluss_flush(flushes), WAIT_MS, &err) == FLUSS_E_TABLE_NOT_EXIST);
    must(fluss_await(fluss_flush(flushes), WAIT_MS, &err));
    /* Who gave up waiting is not told; the next one is. */
    fluss_future_t *abandoned = fluss_close(conn), *told = fluss_close(conn);
    fluss_future_free(abandoned);
    expect(fluss_await(told, WAIT_MS, &err) == FLUSS_E_TABLE_NOT_EXIST);
    expect(strstr(err.message, "6 rows of fluss.lost were not acknowledged") != NULL);
    must(fluss_await(fluss_close(conn), WAIT_MS, &err));
    fluss_writer_free(flushes);
    fluss_writer_free(closes);
    fluss_writer_free(hears);
    fluss_table_free(table);
    fluss_conn_free(conn);
    fluss_conn_free(other);
}

/* ---- callbacks ---- */

typedef struct called {
    fluss_conn_t *conn;
    fluss_table_t *table;
    fluss_writer_t *writer;
    fluss_scanner_t *scanner;
    fluss_lookup_t *lookup;
    fluss_queue_t *queue;
    sem_t done;
    const char *wrong; /* NULL: nothing */
} called;

static void open_called(called *c, const char *servers, const fluss_kv_t *settings, size_t n)
{
    fluss_error_t err = {0};
    *c = (called){.conn = connect_with(servers, settings, n), .queue = fluss_queue_new()};
    c->table = make_table(c->conn, "called", "n INT, text STRING", "n", NULL);
    c->writer = open_writer(c->table);
    must(fluss_lookup_open(c->table, NULL, &c->lookup, &err));
    c->scanner =
        open_scanner(c->table, FLUSS_OPTS(fluss_scan_opts_t, .batches = true), FLUSS_EARLIEST);
    expect(sem_init(&c->done, 0, 0) == 0);
}

static void close_called(called *c)
{
    fluss_queue_free(c->queue);
    fluss_scanner_free(c->scanner);
    fluss_lookup_free(c->lookup);
    fluss_writer_free(c->writer);
    fluss_table_free(c->table);
    fluss_conn_free(c->conn);
    expect(sem_destroy(&c->done) == 0);
}

/* Run a callback on a library thread, wait until it is over, and see what it found. */
static void call_back(called *c, fluss_ready_fn fn)
{
    fluss_future_on_ready(fluss_open_table(c->conn, (fluss_path_t){"fluss", "called"}), fn, c);
    wait_for(&c->done);
    if (c->wrong != NULL) {
        (void)fprintf(stderr, "in a callback: %s\n", c->wrong);
        exit(1);
    }
}

static bool is_kind(fluss_code_t rc, const fluss_error_t *err, fluss_kind_t kind)
{
    return rc == FLUSS_E_CLIENT && err->kind == kind && err->message[0] != '\0';
}

static void wait_in_callback(fluss_future_t *future, void *user)
{
    called *c = user;
    fluss_error_t err = {0};
    struct ArrowArrayStream stream;
    const fluss_datum_t key = fluss_int(1);
    fluss_future_t *waiting = fluss_poll(c->scanner, -1);
    if (!is_kind(fluss_future_wait(waiting, -1, &err), &err, FLUSS_KIND_STATE)) {
        c->wrong = "fluss_future_wait waits";
    }
    if (!is_kind(fluss_await(waiting, -1, &err), &err, FLUSS_KIND_STATE)) {
        c->wrong = "fluss_await waits";
    }
    if (!is_kind(fluss_await(fluss_lookup(c->lookup, &key, 1, 1), -1, &err), &err,
                 FLUSS_KIND_STATE)) {
        c->wrong = "a lookup is waited for";
    }
    if (!is_kind(fluss_read(c->scanner, NULL, 0, &stream, &err), &err, FLUSS_KIND_STATE)) {
        c->wrong = "fluss_read waits";
    }
    if (fluss_queue_next(c->queue, -1, NULL, NULL)) {
        c->wrong = "fluss_queue_next found something";
    }
    /* What is ready needs no waiting. */
    fluss_table_t *table = NULL;
    if (fluss_await_table(future, -1, &table, &err) != 0) {
        c->wrong = "the result is not to be had";
    }
    fluss_table_free(table);
    (void)sem_post(&c->done);
}

static void callbacks_do_not_wait(const char *servers)
{
    called c;
    open_called(&c, servers, NULL, 0);
    call_back(&c, wait_in_callback);
    close_called(&c);
}

static void fill_in_callback(fluss_future_t *future, void *user)
{
    static char text[64 << 10];
    called *c = user;
    fluss_error_t err = {0};
    const fluss_datum_t row[] = {fluss_int(1), fluss_string(text, sizeof(text))};
    const int64_t from_ms = now_ms();
    fluss_code_t rc = 0;
    for (int i = 0; i < 10000 && rc == 0; i++) {
        rc = fluss_upsert(c->writer, row, 2, NULL, &err);
    }
    if (!is_kind(rc, &err, FLUSS_KIND_TIMEOUT)) {
        c->wrong = "a full buffer takes rows";
    }
    if (now_ms() - from_ms > WAIT_MS / 2) {
        c->wrong = "a write waits for room";
    }
    fluss_future_free(future);
    (void)sem_post(&c->done);
}

static void callbacks_find_a_full_buffer(const char *servers)
{
    static const fluss_kv_t settings[] = {{"writer.buffer.memory-size", "4mb"},
                                          {"writer.buffer.wait-timeout-ms", "60000"}};
    called c;
    open_called(&c, servers, settings, 2);
    call_back(&c, fill_in_callback);
    flush(c.writer);
    close_called(&c);
}

static void release_all(fluss_future_t *future, void *user)
{
    called *c = user;
    fluss_future_free(future);
    fluss_conn_free(c->conn); /* the last handle, on the connection's own thread */
    (void)sem_post(&c->done);
}

static void start_in_callback(fluss_future_t *future, void *user)
{
    called *c = user;
    fluss_error_t err = {0};
    fluss_result_t *metrics = NULL;
    fluss_future_t *ack = NULL;
    fluss_future_free(future);
    if (fluss_upsert(c->writer, FLUSS_ROW(fluss_int(1), fluss_null()), &ack, &err) != 0 ||
        fluss_metrics(c->conn, &metrics, &err) != 0) {
        c->wrong = "a call fails";
    }
    fluss_future_to_queue(ack, c->queue, NULL);
    fluss_result_free(metrics);
    fluss_future_free(fluss_list_databases(c->conn));
    fluss_future_t *poll = fluss_poll(c->scanner, -1);
    (void)fluss_future_cancel(poll);
    fluss_future_free(poll);
    fluss_scanner_free(c->scanner);
    fluss_lookup_free(c->lookup);
    fluss_writer_free(c->writer);
    fluss_table_free(c->table);
    fluss_future_on_ready(fluss_close(c->conn), release_all, c);
}

static void callbacks_start_and_release(const char *servers)
{
    called c;
    fluss_future_t *ack;
    open_called(&c, servers, NULL, 0);
    call_back(&c, start_in_callback);
    expect(fluss_queue_next(c.queue, WAIT_MS, &ack, NULL));
    fluss_future_free(ack);
    fluss_queue_free(c.queue);
    expect(sem_destroy(&c.done) == 0);
    expect(rows_of(servers, (fluss_path_t){"fluss", "called"}) == 1);
}

/* ---- options ---- */

static void options_may_be_of_another_version(const char *servers)
{
    static const size_t wrong[] = {0, 1, sizeof(size_t) - 1, sizeof(size_t) + 1, 20};
    static const size_t good[] = {sizeof(size_t), 1000 * sizeof(size_t)};
    fluss_error_t err = {0};
    fluss_conn_t *conn = connect_to(servers);
    fluss_table_t *table = make_table(conn, "sized", "n INT", "n", NULL);
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "n", "INT", NULL, &err));
    for (size_t i = 0; i < 7; i++) {
        const bool is_wrong = i < 5;
        const size_t size = is_wrong ? wrong[i] : good[i - 5];
        const fluss_upsert_opts_t upsert = {.size = size};
        const fluss_lookup_opts_t lookup = {.size = size};
        const fluss_scan_opts_t scan = {.size = size};
        const fluss_desc_opts_t desc = {.size = size};
        fluss_writer_t *writer;
        fluss_lookup_t *looker;
        fluss_scanner_t *scanner;
        fluss_desc_t *made;
        const fluss_code_t codes[] = {fluss_upsert_open(table, &upsert, &writer, &err),
                                      fluss_lookup_open(table, &lookup, &looker, &err),
                                      fluss_scanner_open(&table, 1, &scan, &scanner, &err),
                                      fluss_desc_new(schema, &desc, &made, &err)};
        for (size_t k = 0; k < sizeof(codes) / sizeof(codes[0]); k++) {
            expect(is_wrong ? is_kind(codes[k], &err, FLUSS_KIND_ARGUMENT) : codes[k] == 0);
        }
        expect(is_wrong == (writer == NULL && looker == NULL && scanner == NULL && made == NULL));
        fluss_writer_free(writer);
        fluss_lookup_free(looker);
        fluss_scanner_free(scanner);
        fluss_desc_free(made);
    }
    fluss_schema_free(schema);
    fluss_table_free(table);
    fluss_conn_free(conn);
}

/* ---- limits of time ---- */

static void waits_take_any_number(const char *servers)
{
    static const int64_t numbers[] = {INT64_MIN, -2, INT64_MAX, INT64_MAX / 1000,
                                      INT64_MAX / 1000000};
    called c;
    open_called(&c, servers, NULL, 0);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        fluss_error_t err = {0};
        fluss_batches_t *batches;
        fluss_future_t *poll = fluss_poll(c.scanner, numbers[i]), *ready;
        expect(!fluss_future_ready(poll)); /* nothing comes by itself */
        fluss_future_to_queue(poll, c.queue, NULL);
        fluss_scanner_wakeup(c.scanner);
        expect(fluss_queue_next(c.queue, numbers[i], &ready, NULL) && ready == poll);
        must(fluss_await_batches(poll, numbers[i], &batches, &err));
        fluss_batches_free(batches);
    }
    close_called(&c);
}

/* ---- cancelled threads ---- */

/* No variable of it has an address: AddressSanitizer does not see that a cancelled thread's stack
 * is free again. */
static void *wait_for_rows(void *user)
{
    called *c = user;
    fluss_future_t *poll = fluss_poll(c->scanner, 100); /* nothing comes */
    (void)pthread_cancel(pthread_self());               /* takes effect where it can */
    (void)fluss_future_wait(poll, WAIT_MS, NULL);
    fluss_future_free(poll);
    pthread_testcancel();
    c->wrong = "the thread goes on";
    return NULL;
}

/* The thread ends when the wait is over; nothing that it held stays locked. */
static void a_cancelled_thread_leaves_nothing_locked(const char *servers)
{
    called c;
    pthread_t thread;
    void *result;
    open_called(&c, servers, NULL, 0);
    expect(pthread_create(&thread, NULL, wait_for_rows, &c) == 0);
    expect(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    expect(c.wrong == NULL);
    fluss_error_t err = {0};
    fluss_batches_t *batches;
    must(fluss_await_batches(fluss_poll(c.scanner, 300), WAIT_MS, &batches, &err));
    expect(drain_batches(batches) == 0);
    close_called(&c);
}

int main(void)
{
    void (*const tests[])(const char *) = {
        closes_end_together,         lost_rows_are_told_to_their_writer,
        callbacks_do_not_wait,       callbacks_find_a_full_buffer,
        callbacks_start_and_release, options_may_be_of_another_version,
        waits_take_any_number,       a_cancelled_thread_leaves_nothing_locked,
    };
    static const fluss_kv_t settings[] = {{"log.flush", "os"}};
    const size_t count = sizeof(tests) / sizeof(tests[0]);
    const char *servers = server_start(settings, 1);
    for (size_t i = 0; i < count; i++) {
        tests[i](servers);
    }
    server_stop();
    (void)printf("[  PASSED  ] %zu test(s).\n", count);
    return 0;
}
