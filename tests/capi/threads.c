/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: 8 writers, 8 lookups and 4 scanners of one connection run side by side without loss, and a
 * close in the middle ends all of them with FLUSS_KIND_CLOSED and nothing else. The program is
 * meant for ThreadSanitizer too.
 * Method: half of the writers append, half upsert; each row has a number of its own. FLUSS_ROWS
 * (default 2,000) rows a writer; then the same again, with fluss_close while they run. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

enum { WRITERS = 8, LOOKUPS = 8, SCANNERS = 4, THREADS = WRITERS + LOOKUPS + SCANNERS };

typedef struct shared {
    fluss_conn_t *conn;
    fluss_table_t *log, *keyed;
    int64_t rows; /* a writer */
    atomic_bool is_closing;
    atomic_int failures;
    atomic_llong found, read;
} shared;

typedef struct worker {
    shared *shared;
    int number;
} worker;

/* Whether a failure is the close; anything else fails the test. */
static void note(shared *s, const char *what, const fluss_error_t *err)
{
    if (!atomic_load(&s->is_closing) || err->kind != FLUSS_KIND_CLOSED) {
        (void)fprintf(stderr, "%s: code %d, kind %d: %s\n", what, err->code, err->kind,
                      err->message);
        (void)atomic_fetch_add(&s->failures, 1);
    }
}

static void *write_rows(worker *w)
{
    shared *s = w->shared;
    fluss_error_t err = {0};
    fluss_writer_t *writer = NULL;
    const bool keyed = w->number % 2 == 1;
    fluss_code_t rc = keyed ? fluss_upsert_open(s->keyed, NULL, &writer, &err)
                            : fluss_append_open(s->log, &writer, &err);
    for (int64_t i = 0; i < s->rows && rc == 0; i++) {
        const fluss_datum_t row[] = {fluss_int((int32_t)(w->number * s->rows + i)),
                                     fluss_str("row")};
        fluss_future_t *ack = NULL;
        fluss_future_t **wanted = i % 100 == 0 ? &ack : NULL;
        rc = keyed ? fluss_upsert(writer, row, 2, wanted, &err)
                   : fluss_append(writer, row, 2, wanted, &err);
        if (rc == 0 && ack != NULL) {
            rc = fluss_await_ack(ack, WAIT_MS, NULL, &err);
        }
    }
    rc = rc != 0 ? rc : fluss_await(fluss_flush(writer), WAIT_MS, &err);
    if (rc != 0) {
        note(s, "write", &err);
    }
    fluss_writer_free(writer);
    return NULL;
}

static void *look_up_rows(worker *w)
{
    shared *s = w->shared;
    fluss_error_t err = {0};
    fluss_lookup_t *lookup = NULL;
    fluss_code_t rc = fluss_lookup_open(s->keyed, NULL, &lookup, &err);
    for (int64_t i = 0; i < s->rows / 4 && rc == 0; i++) {
        fluss_records_t *records = NULL;
        const fluss_datum_t key = fluss_int((int32_t)(i * 17 % (WRITERS * s->rows)));
        rc = fluss_await_records(fluss_lookup(lookup, &key, 1, 1), WAIT_MS, &records, &err);
        (void)atomic_fetch_add(&s->found, (long long)fluss_records_count(records));
        fluss_records_free(records);
    }
    if (rc != 0) {
        note(s, "lookup", &err);
    }
    fluss_lookup_free(lookup);
    return NULL;
}

static void *scan_rows(worker *w)
{
    shared *s = w->shared;
    fluss_error_t err = {0};
    fluss_scanner_t *scanner = NULL;
    const int64_t expected = s->rows * WRITERS / 2;
    int64_t rows = 0;
    fluss_code_t rc =
        fluss_scanner_open(w->number % 2 == 0 ? &s->log : &s->keyed, 1, NULL, &scanner, &err);
    rc = rc != 0 ? rc : fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err);
    while (rc == 0 && (rows < expected || atomic_load(&s->is_closing))) {
        fluss_records_t *records = NULL;
        rc = fluss_await_records(fluss_poll(scanner, 1000), WAIT_MS, &records, &err);
        rows += (int64_t)fluss_records_count(records);
        fluss_records_free(records);
    }
    if (rc != 0) {
        note(s, "scan", &err);
    }
    (void)atomic_fetch_add(&s->read, rows);
    fluss_scanner_free(scanner);
    return NULL;
}

static void *run(void *context)
{
    worker *w = context;
    if (w->number < WRITERS) {
        return write_rows(w);
    }
    return w->number < WRITERS + LOOKUPS ? look_up_rows(w) : scan_rows(w);
}

static void run_all(shared *s, bool closes)
{
    worker workers[THREADS];
    pthread_t threads[THREADS];
    fluss_error_t err = {0};
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){s, i};
        expect(pthread_create(&threads[i], NULL, run, &workers[i]) == 0);
    }
    if (closes) {
        /* In the middle: once the lookups have found something. */
        const long long before = atomic_load(&s->found);
        const int64_t deadline = now_ms() + WAIT_MS;
        while (atomic_load(&s->found) < before + 50 && now_ms() < deadline) {
        }
        atomic_store(&s->is_closing, true);
        must(fluss_await(fluss_close(s->conn), WAIT_MS, &err));
    }
    for (int i = 0; i < THREADS; i++) {
        expect(pthread_join(threads[i], NULL) == 0);
    }
}

int main(void)
{
    static const fluss_kv_t settings[] = {{"log.flush", "os"}};
    const char *servers = server_start(settings, 1);
    shared s = {.rows = size_from("FLUSS_ROWS", 2000)};
    s.conn = connect_to(servers);
    s.log = make_table(s.conn, "threads_log", "n INT, text STRING", NULL,
                       FLUSS_OPTS(fluss_desc_opts_t, .buckets = 2));
    s.keyed = make_table(s.conn, "threads_keyed", "n INT, text STRING", "n",
                         FLUSS_OPTS(fluss_desc_opts_t, .buckets = 2));
    run_all(&s, false);
    expect(atomic_load(&s.failures) == 0);
    expect(atomic_load(&s.read) >= s.rows * WRITERS / 2 * SCANNERS);
    run_all(&s, true);
    expect(atomic_load(&s.failures) == 0);
    fluss_table_free(s.log);
    fluss_table_free(s.keyed);
    fluss_conn_free(s.conn);
    server_stop();
    (void)printf("%" PRId64 " rows a writer, %lld found, %lld read\n", s.rows,
                 atomic_load(&s.found), atomic_load(&s.read));
    return 0;
}
