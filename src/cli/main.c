/* SPDX-License-Identifier: Apache-2.0 */
/* The command `fluss`: finds the subcommand and runs it. */
#include <fcntl.h>
#include <fluss/fluss.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "interrupt.h"
#include "output.h"

static const cmd commands[] = {
    {"acl", "show, grant or revoke rights", cmd_acl},
    {"append", "append or upsert rows given as JSON lines", cmd_append},
    {"create-database", "make a database", cmd_create_database},
    {"create-partition", "make a partition of a table", cmd_create_partition},
    {"create-table", "make a table from a list of columns", cmd_create_table},
    {"databases", "list the databases of a server", cmd_databases},
    {"describe", "show columns, keys and properties of a table", cmd_describe},
    {"drop-database", "drop a database, perhaps with its tables", cmd_drop_database},
    {"drop-partition", "drop a partition with its rows", cmd_drop_partition},
    {"drop-table", "drop a table with its rows", cmd_drop_table},
    {"lookup", "print the rows that have a key", cmd_lookup},
    {"offsets", "show how far each bucket's log reaches", cmd_offsets},
    {"partitions", "list the partitions of a table", cmd_partitions},
    {"scan", "print rows, or a changelog", cmd_scan},
    {"server", "run a Fluss server in this process", cmd_server},
    {"tables", "list the tables of a database", cmd_tables},
};

static int usage(FILE *to)
{
    (void)fputs("usage: fluss COMMAND [ARGUMENT …]\n\ncommands:\n", to);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        (void)fprintf(to, "  %-17s %s\n", commands[i].name, commands[i].summary);
    }
    (void)fputs("\n`fluss COMMAND --help` tells more, `fluss --version` the version.\n", to);
    return to == stdout ? 0 : 2;
}

/* A standard stream that is closed gets a file that cannot be read, or written, so that no socket
 * takes its number. */
static void fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        const int access = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", access) != fd) {
            return;
        }
    }
}

static int run(int argc, char **argv)
{
    static char help[] = "--help";
    if (argc > 2 && strcmp(argv[1], "help") == 0) {
        char *asked[] = {argv[0], argv[2], help, NULL};
        return run(3, asked);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        return usage(stdout);
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)puts(fluss_version_string());
        return 0;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    (void)fprintf(stderr, "fluss: there is no command '%s'\ntry `fluss --help`\n", argv[1]);
    return 2;
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    /* Tables are UTF-8 like JSON, wherever it runs: without this, what is not ASCII is escaped. */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    if (argc < 2) {
        return usage(stderr);
    }
    const char *command = argv[1]; /* getopt moves arguments */
    int status = run(argc, argv);
    if (fflush(stdout) != 0 && status == 0) {
        status = cli_output_failed(command);
    }
    cli_interrupt_end();
    return status;
}
