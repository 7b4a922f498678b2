/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the public functions do what fluss_server.h says, also with wrong arguments, several
 * servers, a taken directory, and when memory runs out at any point. Method: servers in this
 * process, on sockets and ports of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <fluss/fluss_server.h>

#include "base/alloc.h"
#include "base/frame.h"

static fluss_code_t start(const char *dir, const char *listeners, fluss_server_t **server,
                          fluss_error_t *err)
{
    const fluss_kv_t settings[] = {
        {"server.shards", "2"}, {"bind.listeners", listeners}, {"data.dir", dir}};
    return fluss_server_start(settings, dir != NULL ? 3 : 2, server, err);
}

static void a_server_without_settings_has_its_own_directory_and_removes_it(void **state)
{
    (void)state;
    fluss_server_t *server = NULL;
    fluss_error_t err;
    char dir[4096];
    assert_int_equal(fluss_server_start(NULL, 0, &server, &err), 0);
    assert_non_null(strstr(fluss_server_endpoint(server), "127.0.0.1:"));
    assert_null(fluss_server_sasl_endpoint(server));
    (void)snprintf(dir, sizeof(dir), "%s", fluss_server_data_dir(server));
    assert_int_equal(access(dir, F_OK), 0);
    assert_int_equal(fluss_server_stop(server, -1, &err), 0);
    assert_int_equal(fluss_server_stop(server, -1, &err), 0);
    fluss_server_wait(server);
    fluss_server_free(server);
    assert_int_equal(access(dir, F_OK), -1);
}

static void a_taken_directory_is_told_apart(void **state)
{
    (void)state;
    char dir[] = "/tmp/fluss-embedded-XXXXXX", listener[64];
    fluss_server_t *first = NULL, *second = NULL;
    fluss_error_t err;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(listener, sizeof(listener), "LOCAL://unix:%s/fluss.sock", dir);
    assert_int_equal(start(dir, listener, &first, &err), 0);
    assert_string_equal(fluss_server_endpoint(first), listener + strlen("LOCAL://"));
    assert_int_equal(start(dir, listener, &second, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_STATE);
    assert_null(second);
    fluss_server_free(first);
    assert_int_equal(start(dir, listener, &second, &err), 0);
    fluss_server_free(second);
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    fluss_server_t *server = NULL;
    fluss_error_t err;
    const fluss_kv_t unknown = {"log.flusch", "ack"};
    assert_int_equal(fluss_server_start(NULL, 1, &server, &err), FLUSS_E_CLIENT);
    assert_int_equal(fluss_server_start(NULL, 0, NULL, &err), FLUSS_E_CLIENT);
    assert_int_equal(fluss_server_start(&unknown, 1, &server, NULL), FLUSS_E_CLIENT);
    assert_int_equal(start(NULL, "A://127.0.0.1:0,A://127.0.0.1:0", &server, &err), FLUSS_E_CLIENT);
    assert_int_equal(start(NULL, "A://nowhere", &server, &err), FLUSS_E_CLIENT);
    assert_null(server);
    assert_null(fluss_server_endpoint(NULL));
    assert_null(fluss_server_data_dir(NULL));
    assert_int_equal(fluss_server_stop(NULL, 0, &err), FLUSS_E_CLIENT);
    fluss_server_wait(NULL);
    fluss_server_free(NULL);
}

/* The names are longer than a block of an arena, so that each takes memory of its own: a listener
 * that is to ask for SASL asks for it, or there is no server. */
static void a_start_that_runs_out_of_memory_fails_cleanly(void **state)
{
    (void)state;
    enum { NAME_SIZE = 300000 };
    static char listener[NAME_SIZE + 32], protocol[NAME_SIZE + 32], name[NAME_SIZE + 1];
    fluss_error_t err;
    memset(name, 'L', NAME_SIZE);
    (void)snprintf(listener, sizeof(listener), "%s://127.0.0.1:0", name);
    (void)snprintf(protocol, sizeof(protocol), "%s:SASL", name);
    const fluss_kv_t settings[] = {{"server.shards", "2"},
                                   {"bind.listeners", listener},
                                   {"security.protocol.map", protocol},
                                   {"security.sasl.plain.credentials", "u:p"}};
    fluss_server_t *server = NULL;
    fl_frame_pool_drain();
    const int64_t before = fl_alloc_live_count();
    for (uint64_t n = 1; n < 2000 && server == NULL; n++) {
        fl_alloc_fail_at(n);
        (void)fluss_server_start(settings, 4, &server, &err);
    }
    fl_alloc_fail_at(0);
    assert_non_null(server);
    assert_non_null(fluss_server_sasl_endpoint(server));
    fluss_server_free(server);
    fl_frame_pool_drain();
    assert_int_equal(fl_alloc_live_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_without_settings_has_its_own_directory_and_removes_it),
        cmocka_unit_test(a_taken_directory_is_told_apart),
        cmocka_unit_test(wrong_arguments_are_errors),
        cmocka_unit_test(a_start_that_runs_out_of_memory_fails_cleanly),
    };
    return cmocka_run_group_tests_name("server_embedded", tests, NULL, NULL);
}
