/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: writers, scanners and lookups of many threads share a connection without loss, duplicate or
 * deadlock, and fluss_close ends all of them wherever they are.
 * Method: 4 threads append to a log table while 2 scanners read it to the end; each row has a
 * number of its own, and the sums must agree. Then the same threads run again and the connection is
 * closed under them: every call ends, with success or FLUSS_KIND_CLOSED.
 *
 *   client_stress HOST:PORT | embedded:DIR     (also for builds with sanitizers) */
#include <fluss/fluss.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WRITERS = 4, SCANNERS = 2, ROWS = 5000, WAIT_MS = 60000, ACK_EVERY = 50 };

typedef struct shared {
    fluss_conn_t *conn;
    fluss_table_t *table;
    atomic_bool is_closing;
    atomic_int failures;
} shared;

typedef struct worker {
    shared *shared;
    int64_t first; /* number of its first row */
    int64_t rows, sum;
} worker;

static void complain(shared *s, const char *what, const fluss_error_t *err)
{
    (void)fprintf(stderr, "%s: code %d, kind %d: %s\n", what, err->code, err->kind, err->message);
    atomic_fetch_add(&s->failures, 1);
}

/* An error that ends a worker: fine only while the connection is closed. */
static bool is_over(shared *s, const char *what, const fluss_error_t *err)
{
    if (!atomic_load(&s->is_closing) || err->kind != FLUSS_KIND_CLOSED) {
        complain(s, what, err);
    }
    return true;
}

static void *run_writer(void *context)
{
    worker *w = context;
    fluss_error_t err = {0};
    fluss_writer_t *writer = NULL;
    if (fluss_append_open(w->shared->table, &writer, &err) != 0) {
        (void)is_over(w->shared, "append_open", &err);
        return NULL;
    }
    for (int64_t i = 0; i < ROWS; i++) {
        fluss_future_t *ack = NULL;
        const int64_t number = w->first + i;
        const bool wants_ack = i % ACK_EVERY == 0;
        if (fluss_append(writer, FLUSS_ROW(fluss_bigint(number), fluss_str("stress")),
                         wants_ack ? &ack : NULL, &err) != 0 ||
            (wants_ack && fluss_await_ack(ack, WAIT_MS, NULL, &err) != 0)) {
            (void)is_over(w->shared, "append", &err);
            break;
        }
        w->rows++;
        w->sum += number;
    }
    if (fluss_await(fluss_flush(writer), WAIT_MS, &err) != 0) {
        (void)is_over(w->shared, "flush", &err);
    }
    fluss_writer_free(writer);
    return NULL;
}

static void *run_scanner(void *context)
{
    worker *w = context;
    fluss_error_t err = {0};
    fluss_scanner_t *scanner = NULL;
    if (fluss_scanner_open(&w->shared->table, 1, NULL, &scanner, &err) != 0 ||
        fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err) != 0) {
        (void)is_over(w->shared, "subscribe", &err);
        fluss_scanner_free(scanner);
        return NULL;
    }
    while (w->rows < (int64_t)WRITERS * ROWS || atomic_load(&w->shared->is_closing)) {
        fluss_records_t *records = NULL;
        if (fluss_await_records(fluss_poll(scanner, 1000), WAIT_MS, &records, &err) != 0) {
            (void)is_over(w->shared, "poll", &err);
            break;
        }
        for (size_t i = 0; i < fluss_records_count(records); i++) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            w->sum += fluss_row_i64(record.row, "n", -1);
            w->rows++;
        }
        /* Every now and then a poll is dropped; nothing is lost by it. */
        fluss_future_free(fluss_poll(scanner, 0));
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
    return NULL;
}

static void run_all(shared *s, worker workers[WRITERS + SCANNERS],
                    pthread_t threads[WRITERS + SCANNERS])
{
    for (int i = 0; i < WRITERS + SCANNERS; i++) {
        workers[i] = (worker){.shared = s, .first = (int64_t)i * ROWS};
        if (pthread_create(&threads[i], NULL, i < WRITERS ? run_writer : run_scanner,
                           &workers[i]) != 0) {
            abort();
        }
    }
}

static void join_all(pthread_t threads[WRITERS + SCANNERS])
{
    for (int i = 0; i < WRITERS + SCANNERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static fluss_code_t prepare(const char *servers, shared *s, fluss_error_t *err)
{
    const fluss_path_t path = {"fluss", "client_stress"};
    fluss_desc_opts_t opts = {.size = sizeof(opts), .buckets = 3};
    fluss_desc_t *desc = NULL;
    fluss_config_t *config = fluss_config_new();
    fluss_schema_t *schema = fluss_schema_new();
    fluss_code_t rc = fluss_config_set(config, "bootstrap.servers", servers, err);
    rc = rc != 0 ? rc : fluss_schema_add(schema, "n", "BIGINT NOT NULL", NULL, err);
    rc = rc != 0 ? rc : fluss_schema_add(schema, "text", "STRING", NULL, err);
    rc = rc != 0 ? rc : fluss_desc_new(schema, &opts, &desc, err);
    rc = rc != 0 ? rc : fluss_await_conn(fluss_connect(config), WAIT_MS, &s->conn, err);
    rc = rc != 0 ? rc : fluss_await(fluss_drop_table(s->conn, path, FLUSS_IF_EXISTS), WAIT_MS, err);
    rc = rc != 0 ? rc : fluss_await(fluss_create_table(s->conn, path, desc, 0), WAIT_MS, err);
    rc = rc != 0 ? rc : fluss_await_table(fluss_open_table(s->conn, path), WAIT_MS, &s->table, err);
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    fluss_config_free(config);
    return rc;
}

static void check_sums(shared *s, const worker workers[WRITERS + SCANNERS])
{
    const int64_t rows = (int64_t)WRITERS * ROWS, sum = rows * (rows - 1) / 2;
    for (int i = WRITERS; i < WRITERS + SCANNERS; i++) {
        if (workers[i].rows != rows || workers[i].sum != sum) {
            (void)fprintf(stderr,
                          "scanner %d read %" PRId64 " rows of sum %" PRId64 ", expected %" PRId64
                          " of sum %" PRId64 "\n",
                          i - WRITERS, workers[i].rows, workers[i].sum, rows, sum);
            atomic_fetch_add(&s->failures, 1);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s HOST:PORT | embedded:DIR\n", argv[0]);
        return 2;
    }
    shared s = {0};
    fluss_error_t err = {0};
    worker workers[WRITERS + SCANNERS];
    pthread_t threads[WRITERS + SCANNERS];
    if (prepare(argv[1], &s, &err) != 0) {
        complain(&s, "prepare", &err);
        return 1;
    }
    run_all(&s, workers, threads);
    join_all(threads);
    check_sums(&s, workers);
    run_all(&s, workers, threads);
    atomic_store(&s.is_closing, true);
    if (fluss_await(fluss_close(s.conn), WAIT_MS, &err) != 0) {
        complain(&s, "close", &err);
    }
    join_all(threads);
    fluss_table_free(s.table);
    fluss_conn_free(s.conn);
    (void)printf("%s\n", atomic_load(&s.failures) == 0 ? "passed" : "FAILED");
    return atomic_load(&s.failures) == 0 ? 0 : 1;
}
