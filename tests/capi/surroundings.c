/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a client works, or says why not, in processes that are short of something: under a hail of
 * signals, without standard streams, with few descriptors, on small stacks; and a child of a fork
 * that happens in the middle of everything takes nothing with it.
 * Method: the scenario of the torture programs, in such a process; the server is another one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

/* A failed test in a child shows by its exit status, also without standard error. */
static void in_child(void (*test)(const char *servers), const char *servers)
{
    int status = -1;
    const pid_t child = fork();
    expect(child >= 0);
    if (child == 0) {
        test(servers);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    expect(status == 0);
}

static void live_well(const char *servers)
{
    fluss_error_t err = {0};
    const char *reached;
    must(scenario_run(servers, &reached, &err));
}

/* ---- signals ---- */

static atomic_int signals;

static void on_alarm(int number)
{
    (void)number;
    (void)atomic_fetch_add(&signals, 1);
}

static void signals_interrupt_nothing(const char *servers)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    const struct sigaction action = {.sa_handler = on_alarm}; /* calls are not restarted */
    expect(sigaction(SIGALRM, &action, NULL) == 0);
    expect(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 3 || atomic_load(&signals) < 20; i++) {
        live_well(servers);
    }
    expect(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

/* ---- descriptors ---- */

static void without_standard_streams(const char *servers)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        (void)close(fd);
    }
    live_well(servers);
}

/* How many descriptors are open: the next one is the lowest that is free. */
static int count_open(void)
{
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    expect(next >= 0);
    (void)close(next);
    return next;
}

static void with_few_descriptors(const char *servers)
{
    struct rlimit limit;
    int failures = 0;
    expect(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlim_t before = limit.rlim_cur, open_now = (rlim_t)count_open();
    for (rlim_t more = 0; more < 12; more++) {
        fluss_error_t err = {0};
        const char *reached;
        limit.rlim_cur = open_now + more;
        expect(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        const fluss_code_t rc = scenario_run(servers, &reached, &err);
        expect(rc == 0 || (err.code == rc && err.message[0] != '\0'));
        failures += rc != 0;
        expect(more > 0 || (rc != 0 && fluss_queue_new() == NULL));
    }
    expect(failures > 0);
    limit.rlim_cur = before;
    expect(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    live_well(servers);
    /* None leaked; what was not closed is ended in the background. */
    const int64_t deadline = now_ms() + WAIT_MS;
    while ((rlim_t)count_open() != open_now) {
        expect(now_ms() < deadline);
    }
}

/* ---- stacks ---- */

static void *live_on_thread(void *servers)
{
    live_well(servers);
    return NULL;
}

static void on_a_small_stack(const char *servers)
{
    enum { STACK_SIZE = 64 << 10 };
    pthread_attr_t attr;
    pthread_t thread;
    expect(pthread_attr_init(&attr) == 0);
    const size_t least = (size_t)PTHREAD_STACK_MIN;
    expect(pthread_attr_setstacksize(&attr, least < STACK_SIZE ? STACK_SIZE : least) == 0);
    expect(pthread_create(&thread, &attr, live_on_thread, (void *)(uintptr_t)servers) == 0);
    expect(pthread_join(thread, NULL) == 0);
    (void)pthread_attr_destroy(&attr);
}

/* ---- forks ---- */

static atomic_bool is_over;

static void *live_on_and_on(void *servers)
{
    while (!atomic_load(&is_over)) {
        live_well(servers);
    }
    return NULL;
}

/* Children are born while threads are anywhere in the library, and end by exit. */
static void forks_in_the_middle(const char *servers)
{
    enum { FORKS = 20 };
    pthread_t thread;
    int status;
    expect(pthread_create(&thread, NULL, live_on_and_on, (void *)(uintptr_t)servers) == 0);
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        expect(child >= 0);
        if (child == 0) {
            (void)alarm(WAIT_MS / 1000);
            exit(0);
        }
        expect(waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&is_over, true);
    expect(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    void (*const tests[])(const char *) = {
        signals_interrupt_nothing, without_standard_streams, with_few_descriptors,
        on_a_small_stack,          forks_in_the_middle,
    };
    static const fluss_kv_t settings[] = {{"log.flush", "os"}};
    const size_t count = sizeof(tests) / sizeof(tests[0]);
    const char *servers = server_start(settings, 1);
    in_child(scenario_prepare, servers);
    for (size_t i = 0; i < count; i++) {
        in_child(tests[i], servers);
    }
    server_stop();
    (void)printf("[  PASSED  ] %zu test(s).\n", count);
    return 0;
}
