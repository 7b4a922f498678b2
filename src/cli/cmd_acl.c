/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss acl list | grant | revoke`: who may do what. An ACL is written as
 *
 *   USER OPERATION RESOURCE      alice READ table:sales.orders
 *
 * USER is NAME, TYPE:NAME, or '*' for everyone; RESOURCE is cluster, database:NAME or
 * table:DATABASE.NAME, where a name '*' stands for all. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "output.h"
#include "remote.h"

enum { OPT_HOST = 2000, ACLS_MAX = 16, TEXT_SIZE_MAX = 1024 };

static const char usage_text[] =
    "usage: fluss acl list [USER [OPERATION [RESOURCE]]] [OPTION …]\n"
    "       fluss acl grant USER OPERATION[,OPERATION …] RESOURCE [OPTION …]\n"
    "       fluss acl revoke USER OPERATION[,OPERATION …] RESOURCE [OPTION …]\n\n"
    "Show or change who may do what. USER is NAME, TYPE:NAME or '*' (everyone). OPERATION is "
    "ALL,\nREAD, WRITE, CREATE, DROP, ALTER or DESCRIBE. RESOURCE is cluster, database:NAME or\n"
    "table:DATABASE.NAME; a name '*' stands for all. In list and revoke, ANY fits all.\n\n"
    "      --host ADDRESS     where the user comes from; default '*': anywhere\n" CLI_REMOTE_USAGE;

typedef struct words {
    char type[TEXT_SIZE_MAX]; /* of the user */
    const char *operations[ACLS_MAX];
    size_t operation_count;
    fluss_acl_t acl; /* without an operation */
} words;

/* NAME, TYPE:NAME or '*'. */
static void read_user(const char *text, words *out)
{
    const char *colon = strchr(text, ':');
    if (strcmp(text, "ANY") == 0) {
        return;
    }
    if (strcmp(text, "*") == 0) {
        (void)snprintf(out->type, sizeof(out->type), "*");
        out->acl.principal = text;
    } else if (colon != NULL) {
        (void)snprintf(out->type, sizeof(out->type), "%.*s", (int)(colon - text), text);
        out->acl.principal = colon + 1;
    } else {
        (void)snprintf(out->type, sizeof(out->type), "User");
        out->acl.principal = text;
    }
    out->acl.principal_type = out->type;
}

/* False: no kind of resource. */
static bool read_resource(const char *text, words *out)
{
    if (strcmp(text, "ANY") == 0) {
        return true;
    }
    if (strcmp(text, "cluster") == 0) {
        out->acl.resource_type = "CLUSTER";
        out->acl.resource = "fluss-cluster";
    } else if (strncmp(text, "database:", 9) == 0 && text[9] != '\0') {
        out->acl.resource_type = "DATABASE";
        out->acl.resource = text + 9;
    } else if (strncmp(text, "table:", 6) == 0 &&
               (strchr(text, '.') != NULL || strcmp(text, "table:*") == 0)) {
        out->acl.resource_type = "TABLE";
        out->acl.resource = text + 6;
    } else {
        return false;
    }
    return true;
}

/* The words after the subcommand. @return -1: go on, else the status to end with */
static int read_words(cli_remote *remote, int count, char **text, bool is_whole, words *out)
{
    if (count > 3 || (is_whole && count != 3)) {
        return cli_usage(remote, "expected USER OPERATION RESOURCE, found %d words", count);
    }
    if (count > 0) {
        read_user(text[0], out);
    }
    if (count > 1) {
        out->operation_count = cli_split(text[1], out->operations, ACLS_MAX);
        if (out->operation_count == 0) {
            return cli_usage(remote, "no operations, or more than %d", (int)ACLS_MAX);
        }
    }
    if (count > 2 && !read_resource(text[2], out)) {
        return cli_usage(remote, "'%s' is not cluster, database:NAME or table:DATABASE.NAME",
                         text[2]);
    }
    return -1;
}

/* One ACL an operation; one with any operation when none was named. */
static size_t make_acls(const words *from, fluss_acl_t acls[ACLS_MAX])
{
    size_t count = 0;
    do {
        acls[count] = from->acl;
        acls[count].operation = count < from->operation_count ? from->operations[count] : NULL;
        count++;
    } while (count < from->operation_count);
    return count;
}

/* Print what was granted, found or revoked. */
static int finish(cli_remote *remote, fluss_future_t *future, bool is_revoke)
{
    static const char *const columns[] = {"principal_type", "principal", "operation",
                                          "resource_type",  "resource",  "host"};
    fluss_result_t *result = NULL;
    int status = CLI_OK;
    if (fluss_await_result(future, remote->timeout_ms, &result, &remote->err) != 0) {
        status = cli_fail(remote);
    } else if (is_revoke && fluss_result_rows(result) == 0) {
        (void)fprintf(stderr, "fluss acl: there is no such ACL\n");
        status = CLI_FAILED;
    } else if (!cli_output_result(remote->json, result, columns, 6)) {
        (void)fprintf(stderr, "fluss acl: the rows could not be printed\n");
        status = CLI_FAILED;
    }
    fluss_result_free(result);
    return cli_end(remote, status);
}

/* The options, with --host of this command. @return -1: go on */
static int read_options(cli_remote *remote, int argc, char **argv, words *out)
{
    static const struct option options[] = {{"host", required_argument, NULL, OPT_HOST},
                                            CLI_REMOTE_OPTIONS};
    int option;
    while ((option = getopt_long(argc, argv, CLI_REMOTE_LETTERS, options, NULL)) != -1) {
        if (option == OPT_HOST) {
            out->acl.host = optarg;
            continue;
        }
        const int status = cli_option(remote, option);
        if (status != -1) {
            return status;
        }
    }
    return argc > optind ? -1 : cli_usage(remote, "list, grant or revoke?");
}

int cmd_acl(int argc, char **argv)
{
    cli_remote remote;
    words said = {0};
    fluss_acl_t acls[ACLS_MAX];
    cli_begin(&remote, argv, usage_text);
    int status = read_options(&remote, argc, argv, &said);
    if (status != -1) {
        return status;
    }
    const char *what = argv[optind];
    const bool is_list = strcmp(what, "list") == 0, is_grant = strcmp(what, "grant") == 0;
    if (!is_list && !is_grant && strcmp(what, "revoke") != 0) {
        return cli_usage(&remote, "'%s' is not list, grant or revoke", what);
    }
    status = read_words(&remote, argc - optind - 1, argv + optind + 1, !is_list, &said);
    if (status != -1) {
        return status;
    }
    const size_t count = make_acls(&said, acls);
    if (is_list && count > 1) {
        return cli_usage(&remote, "list takes one operation");
    }
    status = cli_connect(&remote);
    if (status != CLI_OK) {
        return cli_end(&remote, status);
    }
    for (size_t i = 0; i < count && !is_grant; i++) {
        if (acls[i].operation != NULL && strcmp(acls[i].operation, "ANY") == 0) {
            acls[i].operation = NULL;
        }
    }
    return finish(&remote,
                  is_list    ? fluss_list_acls(remote.conn, acls)
                  : is_grant ? fluss_create_acls(remote.conn, acls, count)
                             : fluss_drop_acls(remote.conn, acls, count),
                  !is_list && !is_grant);
}
