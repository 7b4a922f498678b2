/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded server: a whole Fluss server in this process, with a directory of its own, that
 * other processes reach too. A program that only wants to keep data in a folder needs none of this:
 * "embedded:DIR" as bootstrap.servers starts such a server by itself.
 *
 *   embedded_server [DIR]    without DIR a temporary folder, removed at the end
 *
 * Link with -lfluss and -lfluss_server. */
#include <fluss/fluss_server.h>

#include "example.h"

int main(int argc, char **argv)
{
    fluss_error_t err;
    fluss_server_t *server, *second = NULL;
    const fluss_kv_t settings[] = {{"bind.listeners", "FLUSS://127.0.0.1:0"},
                                   {"log.flush", "os"},
                                   {"data.dir", argc > 1 ? argv[1] : NULL}};
    MUST(fluss_server_start(settings, argc > 1 ? 3 : 2, &server, &err));
    const char *address = fluss_server_endpoint(server);
    (void)printf("serving %s on %s\n", fluss_server_data_dir(server), address);

    /* A directory has one server; another start is refused and says who has it. */
    const fluss_kv_t same = {"data.dir", fluss_server_data_dir(server)};
    CHECK(fluss_server_start(&same, 1, &second, &err) != 0 && err.kind == FLUSS_KIND_STATE);
    (void)printf("a second one: %s\n", err.message);

    fluss_conn_t *conn = example_connect(2, (char *[]){argv[0], (char *)(size_t)address});
    int64_t exists = 0;
    MUST(fluss_await_i64(fluss_database_exists(conn, "fluss"), WAIT_MS, &exists, &err));
    CHECK(exists == 1);
    MUST(fluss_await(fluss_close(conn), WAIT_MS, &err));
    fluss_conn_free(conn);

    MUST(fluss_server_stop(server, 5000, &err));
    fluss_server_free(server);
    (void)printf("stopped\n");
    return 0;
}
