/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks: a function for each acknowledgement, and a scan in which the callback of each poll
 * starts the next one. Callbacks run on a thread of the library: they are short and never wait.
 *
 *   callbacks HOST:PORT | embedded:DIR */
#include <pthread.h>

#include "example.h"

enum { ROWS = 500 };

static const fluss_path_t path = {"fluss", "example_callbacks"};

typedef struct progress {
    pthread_mutex_t lock; /* guards: acknowledged, read, failed */
    pthread_cond_t changed;
    int acknowledged, read;
    bool failed;
    fluss_scanner_t *scanner;
} progress;

static void note(progress *p, int acknowledged, int read, const fluss_error_t *failure)
{
    (void)pthread_mutex_lock(&p->lock);
    p->acknowledged += acknowledged;
    p->read += read;
    if (failure != NULL) {
        (void)fprintf(stderr, "%s\n", failure->message);
        p->failed = true;
    }
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

/* The future is ready, so this await takes its result and frees it without waiting. */
static void on_ack(fluss_future_t *future, void *user)
{
    fluss_error_t err;
    fluss_ack_t where;
    const bool is_written = fluss_await_ack(future, 0, &where, &err) == 0;
    note(user, is_written, 0, is_written ? NULL : &err);
}

static void on_records(fluss_future_t *future, void *user)
{
    progress *p = user;
    fluss_error_t err;
    fluss_records_t *records;
    if (fluss_await_records(future, 0, &records, &err) != 0) {
        note(p, 0, 0, &err);
        return;
    }
    const int count = (int)fluss_records_count(records);
    fluss_records_free(records);
    (void)pthread_mutex_lock(&p->lock);
    const bool is_last = p->read + count >= ROWS;
    (void)pthread_mutex_unlock(&p->lock);
    if (!is_last) {
        fluss_future_on_ready(fluss_poll(p->scanner, WAIT_MS), on_records, p);
    }
    note(p, 0, count, NULL);
}

int main(int argc, char **argv)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    progress p = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    fluss_conn_t *conn = example_connect(argc, argv);
    fluss_table_t *table =
        example_table(conn, path, (const char *const[]){"n INT", NULL}, NULL, NULL);
    MUST(fluss_append_open(table, &writer, &err));
    MUST(fluss_scanner_open(&table, 1, NULL, &p.scanner, &err));
    MUST(fluss_await(fluss_subscribe_all(p.scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    fluss_future_on_ready(fluss_poll(p.scanner, WAIT_MS), on_records, &p);
    for (int32_t i = 0; i < ROWS; i++) {
        fluss_future_t *ack;
        MUST(fluss_append(writer, FLUSS_ROW(fluss_int(i)), &ack, &err));
        fluss_future_on_ready(ack, on_ack, &p);
    }
    (void)pthread_mutex_lock(&p.lock);
    while ((p.acknowledged < ROWS || p.read < ROWS) && !p.failed) {
        (void)pthread_cond_wait(&p.changed, &p.lock);
    }
    (void)pthread_mutex_unlock(&p.lock);
    CHECK(!p.failed && p.acknowledged == ROWS && p.read == ROWS);
    fluss_scanner_free(p.scanner);
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_conn_free(conn);
    (void)printf("%d rows, each with a callback\n", ROWS);
    return 0;
}
