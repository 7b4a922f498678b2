/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: handles may be released in every order with work under way; futures that nobody takes leave
 * nothing behind; a scanner refuses a second consumer; the child of a fork is told so by every
 * handle, and may connect anew.
 * Method: all 120 orders of five handles; FLUSS_DROPPED futures (default 20,000) dropped while the
 * blocks of the library are counted through fluss_set_allocator; two threads; fork. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

enum { HANDLES = 5, SETTLE_MS = 30000 };

static atomic_llong live_blocks;

static void *take(size_t size)
{
    (void)atomic_fetch_add(&live_blocks, 1);
    return malloc(size);
}

static void *resize(void *block, size_t size)
{
    return realloc(block, size);
}

static void give(void *block)
{
    (void)atomic_fetch_sub(&live_blocks, 1);
    free(block);
}

/* ---- orders ---- */

typedef struct handles {
    fluss_conn_t *conn;
    fluss_table_t *table;
    fluss_writer_t *writer;
    fluss_lookup_t *lookup;
    fluss_scanner_t *scanner;
} handles;

static void open_handles(const char *servers, handles *h)
{
    fluss_error_t err = {0};
    h->conn = connect_to(servers);
    must(fluss_await_table(fluss_open_table(h->conn, (fluss_path_t){"fluss", "ordered"}), WAIT_MS,
                           &h->table, &err));
    h->writer = open_writer(h->table);
    must(fluss_lookup_open(h->table, NULL, &h->lookup, &err));
    h->scanner = open_scanner(h->table, NULL, FLUSS_LATEST);
}

static void release(handles *h, int which)
{
    switch (which) {
    case 0:
        fluss_conn_free(h->conn);
        break;
    case 1:
        fluss_table_free(h->table);
        break;
    case 2:
        fluss_writer_free(h->writer);
        break;
    case 3:
        fluss_lookup_free(h->lookup);
        break;
    default:
        fluss_scanner_free(h->scanner);
    }
}

/* The n-th order of five things. */
static void nth_order(int n, int order[HANDLES])
{
    int left[HANDLES] = {0, 1, 2, 3, 4};
    for (int i = 0, count = HANDLES; i < HANDLES; i++, count--) {
        const int pick = n % count;
        n /= count;
        order[i] = left[pick];
        left[pick] = left[count - 1];
    }
}

static void releases_in_every_order(const char *servers)
{
    fluss_error_t err = {0};
    fluss_conn_t *conn = connect_to(servers);
    fluss_table_free(make_table(conn, "ordered", "n INT, text STRING", "n", NULL));
    const fluss_datum_t key = fluss_int(1);
    for (int n = 0; n < 120; n++) {
        handles h;
        int order[HANDLES];
        open_handles(servers, &h);
        must(fluss_upsert(h.writer, FLUSS_ROW(fluss_int(n), fluss_null()), NULL, &err));
        fluss_future_t *found = fluss_lookup(h.lookup, &key, 1, 1);
        fluss_future_t *poll = fluss_poll(h.scanner, -1);
        nth_order(n, order);
        for (int i = 0; i < HANDLES; i++) {
            release(&h, order[i]);
        }
        (void)fluss_await(poll, WAIT_MS, &err);
        (void)fluss_await(found, WAIT_MS, &err);
    }
    fluss_table_t *table;
    must(fluss_await_table(fluss_open_table(conn, (fluss_path_t){"fluss", "ordered"}), WAIT_MS,
                           &table, &err));
    /* Every row that was queued is written, though nobody closed anything. */
    const int64_t deadline = now_ms() + SETTLE_MS;
    int64_t rows;
    do {
        fluss_batches_t *batches;
        must(fluss_await_batches(fluss_scan_bucket(table, bucket_of(table, 0),
                                                   FLUSS_OPTS(fluss_scan_opts_t, .limit = 1000)),
                                 WAIT_MS, &batches, &err));
        rows = drain_batches(batches);
    } while (rows < 120 && now_ms() < deadline);
    expect(rows == 120);
    fluss_table_free(table);
    fluss_conn_free(conn);
}

/* ---- dropped futures ---- */

static void drop_some(fluss_conn_t *conn, handles *h, int64_t count)
{
    fluss_error_t err = {0};
    const fluss_datum_t key = fluss_int(1);
    for (int64_t i = 0; i < count; i++) {
        fluss_future_t *ack = NULL;
        must(fluss_upsert(h->writer, FLUSS_ROW(fluss_int((int32_t)i), fluss_null()), &ack, &err));
        fluss_future_free(ack);
        fluss_future_free(fluss_lookup(h->lookup, &key, 1, 1));
        if (i % 10 == 0) {
            fluss_future_free(fluss_poll(h->scanner, 0));
            fluss_future_free(fluss_database_exists(conn, "fluss"));
        }
        if (i % 1000 == 0) {
            flush(h->writer);
        }
    }
    flush(h->writer);
}

/* The blocks once nothing has been allocated or freed for a while. */
static int64_t settled(void)
{
    const int64_t deadline = now_ms() + SETTLE_MS;
    int64_t last = -1;
    for (int calm = 0; calm < 20 && now_ms() < deadline; calm++) {
        const int64_t live = atomic_load(&live_blocks);
        calm = live == last ? calm : 0;
        last = live;
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return last;
}

static void dropped_futures_leave_nothing(const char *servers)
{
    enum { SPARE = 4000 }; /* frames that are pooled, rows that a scanner fetched ahead */
    const int64_t count = size_from("FLUSS_DROPPED", 20000) / 2;
    handles h;
    open_handles(servers, &h);
    drop_some(h.conn, &h, 2000);
    const int64_t before = settled();
    drop_some(h.conn, &h, count);
    const int64_t after = settled();
    (void)printf("%" PRId64 " futures dropped: %" PRId64 " blocks, then %" PRId64 "\n", count * 2,
                 before, after);
    expect(after <= before + SPARE);
    for (int i = 0; i < HANDLES; i++) {
        release(&h, i);
    }
}

/* ---- a second consumer ---- */

static void *poll_once(void *scanner)
{
    fluss_error_t *err = calloc(1, sizeof(*err));
    (void)fluss_await(fluss_poll(scanner, 5000), WAIT_MS, err);
    return err;
}

static void a_second_consumer_is_refused(const char *servers)
{
    fluss_error_t err = {0};
    struct ArrowArrayStream stream;
    handles h;
    pthread_t thread;
    void *seen;
    open_handles(servers, &h);
    fluss_future_t *first = fluss_poll(h.scanner, -1);
    expect(pthread_create(&thread, NULL, poll_once, h.scanner) == 0);
    expect(pthread_join(thread, &seen) == 0);
    expect(((fluss_error_t *)seen)->kind == FLUSS_KIND_STATE);
    free(seen);
    fluss_scanner_t *batches;
    must(fluss_scanner_open(&h.table, 1, FLUSS_OPTS(fluss_scan_opts_t, .batches = true), &batches,
                            &err));
    must_be(FLUSS_KIND_STATE, fluss_read(batches, NULL, 0, &stream, &err)); /* no subscription */
    fluss_scanner_free(batches);
    fluss_scanner_wakeup(h.scanner); /* what another thread may do */
    fluss_records_t *records;
    must(fluss_await_records(first, WAIT_MS, &records, &err));
    fluss_records_free(records);
    for (int i = HANDLES - 1; i >= 0; i--) {
        release(&h, i);
    }
}

/* ---- fork ---- */

static void use_handles_in_child(const char *servers, handles *h, fluss_future_t *waiting)
{
    fluss_error_t err = {0};
    fluss_result_t *metrics;
    const fluss_datum_t row[] = {fluss_int(1), fluss_null()};
    const fluss_path_t path = {"fluss", "ordered"};
    must_be(FLUSS_KIND_STATE, fluss_upsert(h->writer, row, 2, NULL, &err));
    must_be(FLUSS_KIND_STATE, fluss_await(fluss_flush(h->writer), WAIT_MS, &err));
    must_be(FLUSS_KIND_STATE, fluss_await(fluss_lookup(h->lookup, row, 1, 1), WAIT_MS, &err));
    must_be(FLUSS_KIND_STATE, fluss_await(fluss_poll(h->scanner, -1), WAIT_MS, &err));
    must_be(FLUSS_KIND_STATE,
            fluss_await(fluss_subscribe_all(h->scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    must_be(FLUSS_KIND_STATE, fluss_await(fluss_open_table(h->conn, path), WAIT_MS, &err));
    must_be(FLUSS_KIND_STATE, fluss_await(fluss_list_databases(h->conn), WAIT_MS, &err));
    must_be(FLUSS_KIND_STATE, fluss_await(fluss_close(h->conn), WAIT_MS, &err));
    (void)fluss_metrics(h->conn, &metrics, &err);
    fluss_future_free(waiting);
    fluss_conn_t *anew = connect_to(servers);
    fluss_result_free(answer_of(fluss_list_databases(anew)));
    must(fluss_await(fluss_close(anew), WAIT_MS, &err));
    fluss_conn_free(anew);
    for (int i = 0; i < HANDLES; i++) {
        release(h, i);
    }
}

static void the_child_of_a_fork_is_told(const char *servers)
{
    fluss_error_t err = {0};
    handles h;
    int status = -1;
    open_handles(servers, &h);
    fluss_future_t *waiting = fluss_poll(h.scanner, -1);
    const pid_t child = fork();
    expect(child >= 0);
    if (child == 0) {
        use_handles_in_child(servers, &h, waiting);
        exit(0);
    }
    expect(waitpid(child, &status, 0) == child && status == 0);
    /* The parent goes on as if nothing had happened. */
    must(fluss_upsert(h.writer, FLUSS_ROW(fluss_int(-1), fluss_null()), NULL, &err));
    flush(h.writer);
    fluss_records_t *records;
    must(fluss_await_records(waiting, WAIT_MS, &records, &err));
    expect(fluss_records_count(records) > 0);
    fluss_records_free(records);
    for (int i = 0; i < HANDLES; i++) {
        release(&h, i);
    }
}

int main(void)
{
    void (*const tests[])(const char *) = {releases_in_every_order, dropped_futures_leave_nothing,
                                           a_second_consumer_is_refused,
                                           the_child_of_a_fork_is_told};
    static const fluss_kv_t settings[] = {{"log.flush", "os"}};
    const size_t count = sizeof(tests) / sizeof(tests[0]);
    const char *servers = server_start(settings, 1);
    expect(fluss_set_allocator(take, resize, give) == 0);
    for (size_t i = 0; i < count; i++) {
        tests[i](servers);
    }
    server_stop();
    (void)printf("[  PASSED  ] %zu test(s).\n", count);
    return 0;
}
