/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples share: ending the program when a call fails, a connection, a table.
 *
 * A program of yours will rather return the error; every call here is one that can. */
#ifndef FLUSS_EXAMPLE_H
#define FLUSS_EXAMPLE_H
#include <fluss/fluss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 30000 };

/** End the program with the reason when a call fails; it fills a variable `err`. */
#define MUST(call)                                                                 \
    do {                                                                           \
        if ((call) != 0) {                                                         \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, err.message); \
            exit(1);                                                               \
        }                                                                          \
    } while (0)
/** End the program when a figure is not as expected. */
#define CHECK(is_so)                                                                  \
    do {                                                                              \
        if (!(is_so)) {                                                               \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #is_so); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/** Connect to the first argument, HOST:PORT or embedded:DIR. */
static inline fluss_conn_t *example_connect(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s HOST:PORT | embedded:DIR\n", argv[0]);
        exit(2);
    }
    fluss_error_t err;
    fluss_conn_t *conn;
    fluss_config_t *config = fluss_config_new();
    MUST(fluss_config_set(config, "bootstrap.servers", argv[1], &err));
    MUST(fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, &err));
    fluss_config_free(config);
    return conn;
}

/** Make a table anew and open it. @param columns "name TYPE", ended by NULL @param key name of the
 * primary key, or NULL for a log table @param opts may be NULL */
static inline fluss_table_t *example_table(fluss_conn_t *conn, fluss_path_t path,
                                           const char *const *columns, const char *key,
                                           const fluss_desc_opts_t *opts)
{
    fluss_error_t err;
    fluss_desc_t *desc;
    fluss_table_t *table;
    fluss_schema_t *schema = fluss_schema_new();
    for (; *columns != NULL; columns++) {
        char name[64];
        const char *type = strchr(*columns, ' ');
        (void)snprintf(name, sizeof(name), "%.*s", (int)(type - *columns), *columns);
        MUST(fluss_schema_add(schema, name, type + 1, NULL, &err));
    }
    if (key != NULL) {
        MUST(fluss_schema_primary_key(schema, &key, 1, &err));
    }
    MUST(fluss_desc_new(schema, opts, &desc, &err));
    MUST(fluss_await(fluss_drop_table(conn, path, FLUSS_IF_EXISTS), WAIT_MS, &err));
    MUST(fluss_await(fluss_create_table(conn, path, desc, 0), WAIT_MS, &err));
    MUST(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err));
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    return table;
}
#endif
