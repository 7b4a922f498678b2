/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss create-database`, `drop-database`: a name, a few options, one administrative call. */
#include "cmd.h"
#include "remote.h"

enum { OPT_COMMENT = 2000, OPT_IF_NOT_EXISTS, OPT_IF_EXISTS, OPT_CASCADE };

typedef struct arguments {
    const char *name, *comment;
    unsigned flags;
} arguments;

/* Read options and the name, and connect. @return -1: go on, else the status to end with */
static int begin(cli_remote *remote, int argc, char **argv, const struct option *options,
                 arguments *out)
{
    int option;
    while ((option = getopt_long(argc, argv, CLI_REMOTE_LETTERS, options, NULL)) != -1) {
        int status = -1;
        if (option == OPT_COMMENT) {
            out->comment = optarg;
        } else if (option == OPT_IF_NOT_EXISTS) {
            out->flags |= FLUSS_IF_NOT_EXISTS;
        } else if (option == OPT_IF_EXISTS) {
            out->flags |= FLUSS_IF_EXISTS;
        } else if (option == OPT_CASCADE) {
            out->flags |= FLUSS_CASCADE;
        } else {
            status = cli_option(remote, option);
        }
        if (status != -1) {
            return status;
        }
    }
    if (argc - optind != 1 || argv[optind][0] == '\0') {
        return cli_usage(remote, "one argument is wanted, the name of the database");
    }
    out->name = argv[optind];
    const int status = cli_connect(remote);
    return status == CLI_OK ? -1 : cli_end(remote, status);
}

int cmd_create_database(int argc, char **argv)
{
    static const struct option options[] = {{"comment", required_argument, NULL, OPT_COMMENT},
                                            {"if-not-exists", no_argument, NULL, OPT_IF_NOT_EXISTS},
                                            CLI_REMOTE_OPTIONS};
    cli_remote remote;
    arguments given = {0};
    cli_begin(&remote, argv,
              "usage: fluss create-database NAME [OPTION …]\n\nMake a database.\n\n"
              "      --comment TEXT\n"
              "      --if-not-exists    an existing database is no error\n" CLI_REMOTE_USAGE);
    const int status = begin(&remote, argc, argv, options, &given);
    return status != -1
               ? status
               : cli_finish(&remote, fluss_create_database(remote.conn, given.name, given.comment,
                                                           NULL, 0, given.flags));
}

int cmd_drop_database(int argc, char **argv)
{
    static const struct option options[] = {{"cascade", no_argument, NULL, OPT_CASCADE},
                                            {"if-exists", no_argument, NULL, OPT_IF_EXISTS},
                                            CLI_REMOTE_OPTIONS};
    cli_remote remote;
    arguments given = {0};
    cli_begin(&remote, argv,
              "usage: fluss drop-database NAME [OPTION …]\n\nDrop a database. One that has tables "
              "stays, unless --cascade drops them too, with\nall their rows.\n\n"
              "      --cascade          with its tables\n"
              "      --if-exists        a missing database is no error\n" CLI_REMOTE_USAGE);
    const int status = begin(&remote, argc, argv, options, &given);
    return status != -1
               ? status
               : cli_finish(&remote, fluss_drop_database(remote.conn, given.name, given.flags));
}
