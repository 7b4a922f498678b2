/* SPDX-License-Identifier: Apache-2.0 */
/* Parity, connections and runtime: a test a row of docs/parity.md, named after it. */
#include <fluss/fluss_server.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "parity.h"

static void parity_bootstrap_list(const char *servers, fluss_conn_t *conn)
{
    char list[256];
    (void)conn;
    (void)snprintf(list, sizeof(list), "127.0.0.1:1, %s", servers);
    fluss_conn_t *other = connect_to(list); /* the first address has nobody */
    fluss_result_free(answer_of(fluss_list_databases(other)));
    fluss_conn_free(other);
    fluss_error_t err = {0};
    fluss_config_t *config = fluss_config_new();
    must(fluss_config_set(config, "bootstrap.servers", "127.0.0.1:1", &err));
    must(fluss_config_set(config, "connect-timeout", "500", &err));
    expect(fluss_await(fluss_connect(config), WAIT_MS, &err) != 0);
    expect(err.kind == FLUSS_KIND_NETWORK && strstr(err.message, "127.0.0.1:1") != NULL);
    fluss_config_free(config);
}

static void parity_close_with_limit(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    fluss_error_t err = {0};
    fluss_conn_t *other = connect_to(servers);
    fluss_table_t *table = make_table(other, "closing", "n INT, text STRING", NULL, NULL);
    fluss_writer_t *writer = open_writer(table);
    must(fluss_append(writer, FLUSS_ROW(fluss_int(1), fluss_null()), NULL, &err));
    const int64_t started = now_ms();
    must(fluss_await(fluss_close(other), 10000, &err)); /* sends the row first */
    expect(now_ms() - started < 10000);
    must(fluss_await(fluss_close(other), 10000, &err));
    must_be(FLUSS_KIND_CLOSED,
            fluss_append(writer, FLUSS_ROW(fluss_int(2), fluss_null()), NULL, &err));
    must_be(FLUSS_KIND_CLOSED, fluss_await(fluss_list_databases(other), WAIT_MS, &err));
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_conn_free(other);
    fluss_conn_t *again = connect_to(servers);
    must(fluss_await_table(fluss_open_table(again, (fluss_path_t){"fluss", "closing"}), WAIT_MS,
                           &table, &err));
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    expect(read_sum(scanner, 1) == 1);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
    fluss_conn_free(again);
}

static fluss_code_t log_in(const char *servers, const char *user, const char *password,
                           fluss_error_t *err)
{
    const fluss_kv_t settings[] = {{"bootstrap.servers", servers},
                                   {"client.security.protocol", "sasl"},
                                   {"client.security.sasl.mechanism", "PLAIN"},
                                   {"client.security.sasl.username", user},
                                   {"client.security.sasl.password", password}};
    fluss_config_t *config = fluss_config_new();
    fluss_code_t rc = 0;
    for (size_t i = 0; i < 5 && rc == 0; i++) {
        rc = fluss_config_set(config, settings[i].key, settings[i].value, err);
    }
    fluss_conn_t *conn = NULL;
    rc = rc != 0 ? rc : fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, err);
    expect(strstr(fluss_config_get(config, "client.security.sasl.password"), "secret") == NULL);
    fluss_conn_free(conn);
    fluss_config_free(config);
    return rc;
}

static void parity_sasl_plain(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    (void)conn;
    fluss_error_t err = {0};
    fluss_server_t *server;
    const fluss_kv_t settings[] = {{"bind.listeners", "CLIENT://127.0.0.1:0"},
                                   {"security.protocol.map", "CLIENT:sasl"},
                                   {"security.sasl.plain.credentials", "alice:alice-secret"}};
    must(fluss_server_start(settings, 3, &server, &err));
    const char *address = fluss_server_sasl_endpoint(server);
    must(log_in(address, "alice", "alice-secret", &err));
    expect(log_in(address, "alice", "wrong-secret", &err) == FLUSS_E_AUTHENTICATE_EXCEPTION);
    expect(strstr(err.message, "wrong-secret") == NULL);
    fluss_server_free(server);
}

static void parity_lookup_settings(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    static const fluss_kv_t settings[] = {{"client.lookup.queue-size", "100"},
                                          {"client.lookup.max-batch-size", "2"},
                                          {"client.lookup.batch-timeout", "5ms"},
                                          {"client.lookup.max-inflight-requests", "1"},
                                          {"client.lookup.max-retries", "3"}};
    fluss_conn_t *other = connect_with(servers, settings, 5);
    fluss_table_t *table = make_table(other, "lookup_set", "n INT, text STRING", "n", NULL);
    fill(table, 0, 20);
    fluss_error_t err = {0};
    fluss_lookup_t *lookup;
    must(fluss_lookup_open(table, NULL, &lookup, &err));
    fluss_datum_t keys[20];
    for (int32_t i = 0; i < 20; i++) {
        keys[i] = fluss_int(i);
    }
    fluss_records_t *found = look_up(lookup, keys, 1, 20);
    expect(fluss_records_count(found) == 20);
    fluss_records_free(found);
    fluss_lookup_free(lookup);
    fluss_table_free(table);
    fluss_conn_free(other);
}

static void parity_limit_and_cancel(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "limits", "n INT, text STRING", NULL, NULL);
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    const int64_t started = now_ms();
    must_be(FLUSS_KIND_TIMEOUT, fluss_await(fluss_poll(scanner, -1), 50, &err));
    expect(now_ms() - started < 5000);
    fluss_future_t *poll = fluss_poll(scanner, -1);
    expect(fluss_future_cancel(poll) && !fluss_future_cancel(poll));
    must_be(FLUSS_KIND_CANCELLED, fluss_await(poll, WAIT_MS, &err));
    fill(table, 5, 1);
    expect(read_sum(scanner, 1) == 5);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_metrics(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_result_t *before, *after;
    fluss_table_t *table = make_table(conn, "metered", "n INT, text STRING", NULL, NULL);
    must(fluss_metrics(conn, &before, &err));
    fill(table, 0, 7);
    must(fluss_metrics(conn, &after, &err));
    bool is_counted = false;
    for (size_t i = 0; i < fluss_result_rows(after); i++) {
        if (strcmp(fluss_result_str(after, i, "name"), "fluss_client_writer_records_total") == 0) {
            is_counted = fluss_result_i64(after, i, "value", 0) ==
                         fluss_result_i64(before, i, "value", 0) + 7;
        }
        expect(fluss_result_str(after, i, "type") != NULL);
    }
    expect(is_counted);
    fluss_result_free(before);
    fluss_result_free(after);
    fluss_table_free(table);
}

typedef struct lines {
    atomic_int count;
    atomic_bool is_wrong;
} lines;

static void on_line(int level, const char *component, const char *text, void *user)
{
    lines *l = user;
    (void)atomic_fetch_add(&l->count, 1);
    if (level > 7 || component[0] == '\0' || strstr(text, "top-secret") != NULL) {
        atomic_store(&l->is_wrong, true);
    }
}

static void parity_log_hook(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    lines seen = {0};
    fluss_error_t err = {0};
    fluss_set_log(on_line, 7, &seen);
    expect(log_in("127.0.0.1:1", "alice", "top-secret", &err) != 0);
    fluss_conn_free(connect_to(servers));
    fluss_set_log(NULL, 0, NULL);
    expect(atomic_load(&seen.count) > 0 && !atomic_load(&seen.is_wrong));
}

/* ---- runtime ---- */

static void parity_blocking_calls(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    int64_t exists = -1;
    must(fluss_await_i64(fluss_database_exists(conn, "fluss"), WAIT_MS, &exists, &err));
    expect(exists == 1);
    must(fluss_await_i64(fluss_database_exists(conn, "absent"), WAIT_MS, &exists, &err));
    expect(exists == 0);
}

static void count_call(fluss_future_t *future, void *user)
{
    fluss_error_t err;
    (void)fluss_await_i64(future, 0, NULL, &err);
    (void)atomic_fetch_add((atomic_int *)user, 1);
}

static void parity_asynchronous_calls(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    atomic_int calls = 0;
    fluss_future_t *future = fluss_database_exists(conn, "fluss");
    must(fluss_future_wait(future, WAIT_MS, &err));
    expect(fluss_future_ready(future));
    fluss_future_on_ready(future, count_call, &calls);
    expect(atomic_load(&calls) == 1);

    char tag;
    void *found_tag;
    fluss_queue_t *queue = fluss_queue_new();
    fluss_future_to_queue(fluss_database_exists(conn, "fluss"), queue, &tag);
    struct pollfd descriptor = {.fd = fluss_queue_fd(queue), .events = POLLIN};
    expect(poll(&descriptor, 1, WAIT_MS) == 1);
    expect(fluss_queue_next(queue, 0, &future, &found_tag) && found_tag == &tag);
    must(fluss_await_i64(future, 0, NULL, &err));
    expect(poll(&descriptor, 1, 0) == 0);
    fluss_queue_free(queue);
}

static void parity_plain_c_abi(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    (void)conn;
    expect(fluss_version() == FLUSS_VERSION && fluss_version_string()[0] != '\0');
    expect(strcmp(fluss_code_name(FLUSS_E_TABLE_NOT_EXIST), "TABLE_NOT_EXIST") == 0);
    expect(sizeof(fluss_error_t) == 1024);
}

static void parity_server_in_the_process(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    (void)conn;
    fluss_error_t err = {0};
    fluss_server_t *server;
    must(fluss_server_start(NULL, 0, &server, &err));
    fluss_conn_t *inside = connect_to(fluss_server_endpoint(server));
    fluss_result_t *databases = answer_of(fluss_list_databases(inside));
    expect(count_rows(databases, "name", "fluss") == 1);
    fluss_result_free(databases);
    fluss_conn_free(inside);
    must(fluss_server_stop(server, 10000, &err));
    fluss_server_free(server);
}

int main(int argc, char **argv)
{
    static const parity_test tests[] = {
        PARITY(bootstrap_list),  PARITY(close_with_limit),      PARITY(sasl_plain),
        PARITY(lookup_settings), PARITY(limit_and_cancel),      PARITY(metrics),
        PARITY(log_hook),        PARITY(blocking_calls),        PARITY(asynchronous_calls),
        PARITY(plain_c_abi),     PARITY(server_in_the_process),
    };
    return parity_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
