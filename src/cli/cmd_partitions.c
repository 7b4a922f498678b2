/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss partitions`, `create-partition`, `drop-partition`: DATABASE.TABLE and COLUMN=VALUE pairs,
 * one administrative call each. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "output.h"
#include "remote.h"

enum { PAIRS_MAX = 64 };

typedef struct arguments {
    fluss_path_t path;
    fluss_kv_t pairs[PAIRS_MAX];
    size_t pair_count;
} arguments;

/* Cut COLUMN=VALUE at its first '='. */
static bool read_pair(char *text, fluss_kv_t *pair)
{
    char *mark = strchr(text, '=');
    if (mark == NULL || mark == text) {
        return false;
    }
    *mark = '\0';
    *pair = (fluss_kv_t){.key = text, .value = mark + 1};
    return true;
}

/* Read the command line and connect. @return -1: go on, else the status to end with */
static int begin(cli_remote *remote, int argc, char **argv, bool needs_pairs, arguments *out)
{
    int status = cli_read_options(remote, argc, argv);
    if (status != -1) {
        return status;
    }
    if (optind == argc) {
        return cli_usage(remote, "an argument is missing");
    }
    char *path = argv[optind++];
    if (!cli_parse_path(path, &out->path)) {
        return cli_usage(remote, "'%s' is not DATABASE.TABLE", path);
    }
    for (out->pair_count = 0; optind < argc; optind++) {
        if (out->pair_count == PAIRS_MAX) {
            return cli_usage(remote, "more than %d columns", (int)PAIRS_MAX);
        }
        if (!read_pair(argv[optind], &out->pairs[out->pair_count++])) {
            return cli_usage(remote, "'%s' is not COLUMN=VALUE", argv[optind]);
        }
    }
    if (needs_pairs && out->pair_count == 0) {
        return cli_usage(remote, "COLUMN=VALUE is missing");
    }
    status = cli_connect(remote);
    return status == CLI_OK ? -1 : cli_end(remote, status);
}

/* One row a partition; the result has one for each of its columns. */
static bool print_partitions(bool json, const fluss_result_t *result)
{
    cli_output *output = cli_output_begin(json);
    int64_t last = -1;
    bool is_done = output != NULL;
    for (size_t i = 0; is_done && i < fluss_result_rows(result); i++) {
        const int64_t id = fluss_result_i64(result, i, "partition_id", -1);
        if (id != last) {
            is_done =
                cli_output_row(output, json_pack("{s:I, s:s}", "partition_id", (json_int_t)id,
                                                 "name", fluss_result_str(result, i, "name")));
        }
        last = id;
    }
    cli_output_end(output);
    return is_done;
}

int cmd_partitions(int argc, char **argv)
{
    cli_remote remote;
    arguments given;
    cli_begin(&remote, argv,
              "usage: fluss partitions DATABASE.TABLE [COLUMN=VALUE …] [OPTION …]\n\nList the "
              "partitions of a table: all, or those with these values.\n\n" CLI_REMOTE_USAGE);
    int status = begin(&remote, argc, argv, false, &given);
    if (status != -1) {
        return status;
    }
    fluss_result_t *result = NULL;
    fluss_future_t *future =
        fluss_list_partitions(remote.conn, given.path, given.pairs, given.pair_count);
    status = CLI_OK;
    if (fluss_await_result(future, remote.timeout_ms, &result, &remote.err) != 0) {
        status = cli_fail(&remote);
    } else if (!print_partitions(remote.json, result)) {
        (void)fprintf(stderr, "fluss %s: the rows could not be printed\n", remote.command);
        status = CLI_FAILED;
    }
    fluss_result_free(result);
    return cli_end(&remote, status);
}

int cmd_create_partition(int argc, char **argv)
{
    cli_remote remote;
    arguments given;
    cli_begin(&remote, argv,
              "usage: fluss create-partition DATABASE.TABLE COLUMN=VALUE … [OPTION …]\n\nMake a "
              "partition; every partition column has its value.\n\n" CLI_REMOTE_USAGE);
    const int status = begin(&remote, argc, argv, true, &given);
    return status != -1
               ? status
               : cli_finish(&remote, fluss_create_partition(remote.conn, given.path, given.pairs,
                                                            given.pair_count, 0));
}

int cmd_drop_partition(int argc, char **argv)
{
    cli_remote remote;
    arguments given;
    cli_begin(
        &remote, argv,
        "usage: fluss drop-partition DATABASE.TABLE COLUMN=VALUE … [OPTION …]\n\nDrop a "
        "partition with all its rows; every partition column has its value.\n\n" CLI_REMOTE_USAGE);
    const int status = begin(&remote, argc, argv, true, &given);
    return status != -1
               ? status
               : cli_finish(&remote, fluss_drop_partition(remote.conn, given.path, given.pairs,
                                                          given.pair_count, 0));
}
