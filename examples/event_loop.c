/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop of your own: one thread, epoll, no callback on a thread of the library. Futures go
 * into a completion queue; its descriptor is one more that the loop waits for. Here a timer of the
 * loop appends rows while a poll of the same table is always under way.
 *
 *   event_loop HOST:PORT | embedded:DIR */
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "example.h"

enum { ROWS = 20, EVERY_MS = 5 };

static const fluss_path_t path = {"fluss", "example_loop"};

typedef struct app {
    fluss_queue_t *queue;
    fluss_writer_t *writer;
    fluss_scanner_t *scanner;
    int32_t written, acknowledged, read;
} app;

static char a_poll, an_ack; /* their addresses tell the completions apart */

static void start_poll(app *a)
{
    fluss_future_to_queue(fluss_poll(a->scanner, WAIT_MS), a->queue, &a_poll);
}

static void on_timer(app *a, int timer)
{
    fluss_error_t err;
    uint64_t ticks;
    CHECK(read(timer, &ticks, sizeof(ticks)) == sizeof(ticks));
    if (a->written < ROWS) {
        fluss_future_t *ack;
        MUST(fluss_append(a->writer, FLUSS_ROW(fluss_int(a->written)), &ack, &err));
        fluss_future_to_queue(ack, a->queue, &an_ack);
        a->written++;
    }
}

/* Everything that is ready; the await calls do not wait any more, they take the results. */
static void on_completions(app *a)
{
    fluss_error_t err;
    fluss_future_t *future;
    void *tag;
    while (fluss_queue_next(a->queue, 0, &future, &tag)) {
        if (tag == &an_ack) {
            MUST(fluss_await_ack(future, 0, NULL, &err));
            a->acknowledged++;
            continue;
        }
        fluss_records_t *records;
        MUST(fluss_await_records(future, 0, &records, &err));
        a->read += (int32_t)fluss_records_count(records);
        fluss_records_free(records);
        if (a->read < ROWS) {
            start_poll(a);
        }
    }
}

static void run(app *a)
{
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct itimerspec every = {{0, EVERY_MS * 1000000}, {0, EVERY_MS * 1000000}};
    const int completions = fluss_queue_fd(a->queue);
    CHECK(loop >= 0 && timer >= 0 && timerfd_settime(timer, 0, &every, NULL) == 0);
    const int descriptors[] = {timer, completions};
    for (size_t i = 0; i < 2; i++) {
        struct epoll_event wanted = {.events = EPOLLIN, .data.fd = descriptors[i]};
        CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, descriptors[i], &wanted) == 0);
    }
    start_poll(a);
    while (a->acknowledged < ROWS || a->read < ROWS) {
        struct epoll_event event;
        CHECK(epoll_wait(loop, &event, 1, WAIT_MS) == 1);
        if (event.data.fd == timer) {
            on_timer(a, timer);
        } else {
            on_completions(a);
        }
    }
    (void)close(timer);
    (void)close(loop);
}

int main(int argc, char **argv)
{
    fluss_error_t err;
    app a = {.queue = fluss_queue_new()};
    fluss_conn_t *conn = example_connect(argc, argv);
    fluss_table_t *table =
        example_table(conn, path, (const char *const[]){"n INT", NULL}, NULL, NULL);
    CHECK(a.queue != NULL);
    MUST(fluss_append_open(table, &a.writer, &err));
    MUST(fluss_scanner_open(&table, 1, NULL, &a.scanner, &err));
    MUST(fluss_await(fluss_subscribe_all(a.scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    run(&a);
    (void)printf("%d rows written, acknowledged and read by one thread\n", a.read);
    fluss_scanner_free(a.scanner);
    fluss_writer_free(a.writer);
    fluss_table_free(table);
    fluss_conn_free(conn);
    fluss_queue_free(a.queue);
    return 0;
}
