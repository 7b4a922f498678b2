/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: whichever allocation fails, the call that needed it ends in an error or in success, nothing
 * crashes, hangs or leaks, and the next life of a client is as good as new.
 * Method: the library's memory comes from functions of this program (fluss_set_allocator). The
 * scenario runs with the n-th allocation failing, for n = 1, 2, … until none is reached any more.
 * FLUSS_TORTURE_STEP=1 takes every n, the default every 13th, a different remainder in each run.
 * Another round fails every allocation from the n-th on, as when memory is really gone. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

enum { LIFE_MS_MAX = 30000, LIVE_WAIT_MS = 20000, POOLED_MAX = 64 };

static struct {
    atomic_llong count, live;
    atomic_llong fail_from, fail_to; /* 1-based, both included; 0: none */
} heap;

static bool must_fail(void)
{
    const long long number = atomic_fetch_add(&heap.count, 1) + 1;
    const long long from = atomic_load(&heap.fail_from);
    return from != 0 && number >= from && number <= atomic_load(&heap.fail_to);
}

static void *take(size_t size)
{
    void *block = must_fail() ? NULL : malloc(size);
    if (block != NULL) {
        (void)atomic_fetch_add(&heap.live, 1);
    }
    return block;
}

static void *resize(void *block, size_t size)
{
    return must_fail() ? NULL : realloc(block, size);
}

static void give(void *block)
{
    (void)atomic_fetch_sub(&heap.live, 1);
    free(block);
}

/* Blocks of connections that end in the background go away by themselves. */
static int64_t settled_live(int64_t expected)
{
    const int64_t deadline = now_ms() + LIVE_WAIT_MS;
    while (atomic_load(&heap.live) > expected && now_ms() < deadline) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return atomic_load(&heap.live);
}

/* One life with allocations [from, to] failing; whether any of them was reached. */
static bool live_once(const char *servers, long long from, long long to, int64_t *failures)
{
    fluss_error_t err = {0};
    const int64_t started = now_ms();
    atomic_store(&heap.count, 0);
    atomic_store(&heap.fail_to, to);
    atomic_store(&heap.fail_from, from);
    const char *step = "";
    const fluss_code_t rc = scenario_run(servers, &step, &err);
    atomic_store(&heap.fail_from, 0);
    const bool is_reached = atomic_load(&heap.count) >= from;
    if (size_from("FLUSS_TORTURE_TRACE", 0) != 0) {
        (void)printf("%lld: %" PRId64 " ms, %" PRId64 " live, %s, code %d: %s\n", from,
                     now_ms() - started, (int64_t)atomic_load(&heap.live), step, rc, err.message);
    }
    if (now_ms() - started > LIFE_MS_MAX) {
        (void)fprintf(stderr, "allocation %lld: %" PRId64 " ms\n", from, now_ms() - started);
        exit(1);
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
    return is_reached;
}

static void check_clean(const char *servers, int64_t baseline)
{
    fluss_error_t err = {0};
    const char *reached;
    must(scenario_run(servers, &reached, &err));
    const int64_t live = settled_live(baseline);
    if (live > baseline) {
        (void)fprintf(stderr, "%" PRId64 " blocks live, %" PRId64 " before\n", live, baseline);
        exit(1);
    }
}

int main(void)
{
    const char *servers = server_start(NULL, 0);
    expect(fluss_set_allocator(take, NULL, give) != 0);
    expect(fluss_set_allocator(take, resize, give) == 0);
    scenario_prepare(servers);
    fluss_error_t err = {0};
    const char *reached;
    for (int i = 0; i < 5; i++) { /* fill the pools that the library keeps */
        must(scenario_run(servers, &reached, &err));
    }
    const int64_t baseline = atomic_load(&heap.live) + POOLED_MAX;
    const long long step = size_from("FLUSS_TORTURE_STEP", 13);
    long long n = 1 + (long long)time(NULL) % step;
    int64_t lives = 0, failures = 0;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)printf("first allocation: %lld, step %lld\n", n, step);
    while (live_once(servers, n, n, &failures)) {
        n += step;
        lives++;
    }
    check_clean(servers, baseline);
    const long long number = n;
    for (n = 1; n < number; n += step * 4) {
        (void)live_once(servers, n, INT64_MAX, &failures);
        lives++;
    }
    check_clean(servers, baseline);
    server_stop();
    (void)printf("%lld allocations, %" PRId64 " lives, %" PRId64 " of them with an error\n", number,
                 lives, failures);
    expect(failures > 0);
    return 0;
}
