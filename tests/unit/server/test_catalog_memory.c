/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a change of the catalog that runs out of memory has its whole effect or none, in memory and
 * on disk. Method: a client and a server in this process; each allocation of a request fails in
 * turn, the request is made again, and what is there is counted, also after a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fluss/fluss.h>
#include <fluss/fluss_server.h>

#include "base/alloc.h"

enum { WAIT_MS = 30000, FAILURES = 100 };

typedef struct world {
    char dir[64];
    fluss_server_t *server;
    fluss_conn_t *conn;
    fluss_desc_t *desc;
} world;

static void must(fluss_code_t rc, const fluss_error_t *err)
{
    if (rc != 0) {
        fail_msg("%s: %s", fluss_code_name(rc), err->message);
    }
}

static void start(world *w)
{
    fluss_error_t err;
    const fluss_kv_t settings[] = {{"server.shards", "2"}, {"data.dir", w->dir}};
    must(fluss_server_start(settings, 2, &w->server, &err), &err);
    fluss_config_t *config = fluss_config_new();
    must(fluss_config_set(config, "bootstrap.servers", fluss_server_endpoint(w->server), &err),
         &err);
    must(fluss_await_conn(fluss_connect(config), WAIT_MS, &w->conn, &err), &err);
    fluss_config_free(config);
}

static void stop(world *w)
{
    fluss_conn_free(w->conn);
    fluss_server_free(w->server);
}

static int begin(void **state)
{
    static world w = {.dir = "/tmp/fluss-catalog-XXXXXX"};
    const char *partition = "region";
    fluss_error_t err;
    assert_non_null(mkdtemp(w.dir));
    start(&w);
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "region", "STRING", NULL, &err), &err);
    must(fluss_desc_new(schema,
                        FLUSS_OPTS(fluss_desc_opts_t, .buckets = 1, .partition_keys = &partition,
                                   .n_partition_keys = 1),
                        &w.desc, &err),
         &err);
    fluss_schema_free(schema);
    *state = &w;
    return 0;
}

static int end(void **state)
{
    world *w = *state;
    char command[128];
    stop(w);
    fluss_desc_free(w->desc);
    (void)snprintf(command, sizeof(command), "rm -r %s", w->dir);
    return system(command);
}

/* The first table of a database and the first partition of a table, for their hashes take memory.
 */
static fluss_path_t path_of(int number, char name[16])
{
    (void)snprintf(name, 16, "d%d", number);
    return (fluss_path_t){.database = name, .table = "t"};
}

static fluss_future_t *make_table(const world *w, fluss_path_t path, unsigned flags)
{
    return fluss_create_table(w->conn, path, w->desc, flags);
}

static fluss_future_t *make_partition(const world *w, fluss_path_t path, unsigned flags)
{
    return fluss_create_partition(w->conn, path, &(fluss_kv_t){"region", "p"}, 1, flags);
}

/* Make it with too little memory, then with enough. */
static void make_twice(const world *w, int number,
                       fluss_future_t *(*make)(const world *, fluss_path_t, unsigned))
{
    char name[16];
    fluss_error_t err;
    const fluss_path_t path = path_of(number, name);
    fl_alloc_fail_at((uint64_t)number);
    (void)fluss_await(make(w, path, 0), WAIT_MS, &err);
    fl_alloc_fail_at(0);
    must(fluss_await(make(w, path, FLUSS_IF_NOT_EXISTS), WAIT_MS, &err), &err);
}

static size_t rows_of(fluss_future_t *future)
{
    fluss_error_t err;
    fluss_result_t *result = NULL;
    must(fluss_await_result(future, WAIT_MS, &result, &err), &err);
    const size_t count = fluss_result_rows(result);
    fluss_result_free(result);
    return count;
}

static void what_is_made_without_memory_is_there_once(void **state)
{
    world *w = *state;
    char name[16];
    for (int i = 1; i <= FAILURES; i++) {
        fluss_error_t err;
        (void)path_of(i, name);
        must(fluss_await(fluss_create_database(w->conn, name, NULL, NULL, 0, 0), WAIT_MS, &err),
             &err);
        make_twice(w, i, make_table);
        make_twice(w, i, make_partition);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i <= FAILURES; i++) {
            const fluss_path_t path = path_of(i, name);
            assert_int_equal(rows_of(fluss_list_tables(w->conn, path.database)), 1);
            assert_int_equal(rows_of(fluss_list_partitions(w->conn, path, NULL, 0)), 1);
        }
        stop(w);
        start(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_made_without_memory_is_there_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
