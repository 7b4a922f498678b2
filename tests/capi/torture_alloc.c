/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: whichever allocation fails, the call that needed it ends in an error or in success, soon,
 * nothing crashes, hangs or leaks, and the next life of a client is as good as new.
 * Method: the library's memory comes from functions of this program (fluss_set_allocator). The
 * scenario runs with the n-th allocation failing, for n = 1, 2, … until none is reached any more.
 * Another round fails every allocation from the n-th on, as when memory is really gone: what is
 * tried again then must end as well.
 * FLUSS_TORTURE_STEP=k takes every k-th n, FLUSS_TORTURE_FIRST=n begins there. */
#include <execinfo.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

/* A life takes some 10 ms. The shortest wait for something that never comes is the poll's, 3 s. */
enum { LIFE_MS_MAX = 2000, LIVES_SLOW_MAX = 3, LIVE_WAIT_MS = 10000, WAKE_MS_MAX = 10000 };
/* The library keeps frames for reuse, blocks of a power of two from 4 KiB on: a few for each life's
 * peak. Everything else is given back. A leaked frame is for AddressSanitizer to find. */
enum { FRAME_SIZE_MIN = 4096, FRAMES_MAX = 24 };

typedef struct block {
    _Alignas(max_align_t) size_t size;
} block;

static struct {
    atomic_llong count;
    atomic_llong live, frames;       /* blocks: all but frames, frames */
    atomic_llong fail_from, fail_to; /* 1-based, both included; 0: none */
} heap;

/* Who was refused the first block of this life. */
static struct {
    void *frames[24];
    int count;
} refused;

static bool must_fail(void)
{
    const long long number = atomic_fetch_add(&heap.count, 1) + 1;
    const long long from = atomic_load(&heap.fail_from);
    if (number == from) {
        refused.count = backtrace(refused.frames, 24);
    }
    return from != 0 && number >= from && number <= atomic_load(&heap.fail_to);
}

static atomic_llong *counter_of(size_t size)
{
    const bool is_frame = size >= FRAME_SIZE_MIN && (size & (size - 1)) == 0;
    return is_frame ? &heap.frames : &heap.live;
}

/* A fresh or a grown block of the C library's begins to count. */
static void *begin_block(block *of, size_t size)
{
    if (of == NULL) {
        return NULL;
    }
    of->size = size;
    (void)atomic_fetch_add(counter_of(size), 1);
    return of + 1;
}

static void *take(size_t size)
{
    return must_fail() ? NULL : begin_block(malloc(sizeof(block) + size), size);
}

static void *resize(void *old, size_t size)
{
    block *of = (block *)old - 1;
    if (must_fail()) {
        return NULL;
    }
    (void)atomic_fetch_sub(counter_of(of->size), 1);
    return begin_block(realloc(of, sizeof(block) + size), size);
}

static void give(void *old)
{
    if (old != NULL) {
        block *of = (block *)old - 1;
        (void)atomic_fetch_sub(counter_of(of->size), 1);
        free(of);
    }
}

/* Blocks of connections that end in the background go away by themselves. */
static void check_all_given_back(void)
{
    const int64_t deadline = now_ms() + LIVE_WAIT_MS;
    while (atomic_load(&heap.live) > 0 && now_ms() < deadline) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    const long long live = atomic_load(&heap.live), frames = atomic_load(&heap.frames);
    if (live != 0 || frames > FRAMES_MAX) {
        (void)fprintf(stderr, "%lld blocks live, expected 0; %lld frames, at most %d\n", live,
                      frames, FRAMES_MAX);
        exit(1);
    }
}

static void trace(long long from, int64_t took_ms, const char *step, const fluss_error_t *err)
{
    (void)printf("%lld: %" PRId64 " ms, %lld live, %s, code %d: %s\n", from, took_ms,
                 (long long)atomic_load(&heap.live), step, err->code, err->message);
    if (took_ms > LIFE_MS_MAX) {
        backtrace_symbols_fd(refused.frames, refused.count, STDOUT_FILENO);
    }
}

/* One life with allocations [from, to] failing. @return how long it took, in ms */
static int64_t live_once(const char *servers, long long from, long long to, int64_t *failures)
{
    fluss_error_t err = {0};
    const int64_t started = now_ms();
    atomic_store(&heap.count, 0);
    atomic_store(&heap.fail_to, to);
    atomic_store(&heap.fail_from, from);
    const char *step = "";
    const fluss_code_t rc = scenario_run(servers, &step, &err);
    atomic_store(&heap.fail_from, 0);
    const int64_t took_ms = now_ms() - started;
    if (size_from("FLUSS_TORTURE_TRACE", 0) != 0) {
        trace(from, took_ms, step, &err);
    }
    if (rc != 0) {
        ++*failures;
        /* A wrong answer is never the way out. */
        if (err.code != rc || err.message[0] == '\0' || err.kind == FLUSS_KIND_CORRUPT) {
            (void)fprintf(stderr, "allocation %lld: code %d, kind %d: %s\n", from, rc, err.kind,
                          err.message);
            exit(1);
        }
    }
    return took_ms;
}

/* The same, again while it is slow: a busy machine is so now and then, a call that waits for
 * nothing each time. @return whether any of the allocations was reached */
static bool live(const char *servers, long long from, long long to, int64_t *failures)
{
    for (int slow = 0; live_once(servers, from, to, failures) > LIFE_MS_MAX;) {
        if (++slow == LIVES_SLOW_MAX) {
            (void)fprintf(stderr, "allocation %lld: more than %d ms, each time\n", from,
                          LIFE_MS_MAX);
            exit(1);
        }
    }
    return atomic_load(&heap.count) >= from;
}

static void live_well(const char *servers)
{
    fluss_error_t err = {0};
    const char *reached;
    must(scenario_run(servers, &reached, &err));
    check_all_given_back();
}

/* A poll that waits without limit, for a fetch that the server holds for longer than this test
 * lasts, ends when it is woken up, also when there is no memory for anything. */
static void wake_without_memory(const char *servers)
{
    static const fluss_kv_t settings[] = {{"scanner.log.fetch.wait-max-time-ms", "20000"}};
    fluss_error_t err = {0};
    fluss_conn_t *conn = connect_with(servers, settings, 1);
    fluss_table_t *table = make_table(conn, "wake", "id INT", NULL, NULL);
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_LATEST);
    fluss_records_t *none;
    must(fluss_await_records(fluss_poll(scanner, 100), WAIT_MS, &none, &err));
    fluss_records_free(none);
    fluss_future_t *poll = fluss_poll(scanner, -1);
    expect(fluss_future_wait(poll, 100, &err) != 0 && err.kind == FLUSS_KIND_TIMEOUT);
    atomic_store(&heap.count, 0);
    atomic_store(&heap.fail_to, INT64_MAX);
    atomic_store(&heap.fail_from, 1);
    fluss_scanner_wakeup(scanner);
    expect(fluss_future_wait(poll, WAKE_MS_MAX, &err) != 0 && err.kind == FLUSS_KIND_NOMEM);
    atomic_store(&heap.fail_from, 0);
    fluss_future_free(poll);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
    must(fluss_await(fluss_close(conn), WAIT_MS, &err));
    fluss_conn_free(conn);
    check_all_given_back();
}

int main(void)
{
    const char *servers = server_start(NULL, 0);
    expect(fluss_set_allocator(take, NULL, give) != 0);
    expect(fluss_set_allocator(take, resize, give) == 0);
    scenario_prepare(servers);
    live_well(servers);
    wake_without_memory(servers);
    const long long step = size_from("FLUSS_TORTURE_STEP", 1);
    const long long first = size_from("FLUSS_TORTURE_FIRST", 1);
    long long n = first;
    int64_t lives = 0, failures = 0;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (; live(servers, n, n, &failures); n += step) {
        lives++;
    }
    live_well(servers);
    const long long count = n;
    for (n = first; n < count; n += step) {
        (void)live(servers, n, INT64_MAX, &failures);
        lives++;
    }
    live_well(servers);
    scenario_check_rows(servers);
    server_stop();
    (void)printf("%lld allocations, %" PRId64 " lives, %" PRId64 " of them with an error\n", count,
                 lives, failures);
    expect(failures > 0);
    return 0;
}
