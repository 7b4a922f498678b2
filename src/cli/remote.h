/* SPDX-License-Identifier: Apache-2.0 */
/* What every command that talks to a server shares: its options, the connection, error lines. */
#ifndef FL_CLI_REMOTE_H
#define FL_CLI_REMOTE_H
#include <getopt.h>

#include <fluss/fluss.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum { CLI_TROUBLE_SIZE = 512 };
typedef struct cli_trouble cli_trouble;

typedef struct cli_remote {
    const char *command; /* its name, for error lines */
    char program[64];    /* the same behind "fluss", for those of getopt */
    const char *usage;   /* printed for --help */
    const char *servers, *user;
    bool json;
    int64_t timeout_ms;
    fluss_conn_t *conn;
    cli_trouble *trouble; /* what the library said last */
    fluss_error_t err;
} cli_remote;

/* Options that every command takes, for its table of long options. Values above those of
 * characters, so that a command's own letters are free. */
enum {
    CLI_OPT_SERVER = 's',
    CLI_OPT_JSON = 'j',
    CLI_OPT_HELP = 'h',
    CLI_OPT_USER = 1000,
    CLI_OPT_TIMEOUT
};
#define CLI_REMOTE_LETTERS "s:jh"
#define CLI_REMOTE_OPTIONS                                     \
    {"server", required_argument, NULL, CLI_OPT_SERVER},       \
        {"json", no_argument, NULL, CLI_OPT_JSON},             \
        {"user", required_argument, NULL, CLI_OPT_USER},       \
        {"timeout", required_argument, NULL, CLI_OPT_TIMEOUT}, \
        {"help", no_argument, NULL, CLI_OPT_HELP}, {NULL, 0, NULL, 0}

/** The lines about these options, for a usage text. */
#define CLI_REMOTE_USAGE                                                          \
    "  -s, --server ADDRESS   HOST:PORT, several with commas, or embedded:DIR;\n" \
    "                         default $FLUSS_SERVER, else 127.0.0.1:9123\n"       \
    "      --user NAME:PASSWORD   sign in by SASL/PLAIN\n"                        \
    "      --timeout SECONDS  of each call; default 30\n"                         \
    "  -j, --json             one JSON object a line instead of a table\n"

/** Start a command: defaults, and argv[0] as its name. @param usage static */
void cli_begin(cli_remote *remote, char **argv, const char *usage);
/** Take one of the shared options. @return -1: taken; else the status to end with: --help was asked
 * for, the option is unknown or its value wrong, which was said */
int cli_option(cli_remote *remote, int option);
/** Take all options of a command that has none of its own. @return as cli_option */
int cli_read_options(cli_remote *remote, int argc, char **argv);
/** Say that the command line is wrong. @return CLI_USAGE */
int cli_usage(const cli_remote *remote, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Connect. @return CLI_OK, or CLI_FAILED, which was said */
int cli_connect(cli_remote *remote);
/** Say remote->err; when a time ran out, also why the library had to try again. @return CLI_FAILED
 */
int cli_fail(const cli_remote *remote);
/** What the library said last of why it has to try again; "": nothing. */
void cli_trouble_text(const cli_remote *remote, char text[CLI_TROUBLE_SIZE]);
/** Close and free the connection; the status to end with, which turns to CLI_FAILED when closing
 * fails. */
int cli_end(cli_remote *remote, int status);
/** Wait for a call that has no result, and end. takes `future` */
int cli_finish(cli_remote *remote, fluss_future_t *future);

/** Split "database.table", in place. False: it is not of that form. */
bool cli_parse_path(char *text, fluss_path_t *path);
/** A whole number of a range. False: it is none. */
bool cli_parse_number(const char *text, int64_t min, int64_t max, int64_t *out);
/** Split at commas, in place. @return how many; 0: more than `max`, or an empty one */
size_t cli_split(char *text, const char **parts, size_t max);
#endif
