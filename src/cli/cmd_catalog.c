/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss databases`, `tables`, `describe`, `offsets`, `drop-table`: one administrative call each,
 * and its answer as a table. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "output.h"
#include "remote.h"

/* Read the options of a command that has none of its own, and its single argument, which may be
 * missing only where `is_optional`. @return -1: go on, else the status to end with */
static int read_arguments(cli_remote *remote, int argc, char **argv, bool is_optional,
                          char **argument)
{
    const int status = cli_read_options(remote, argc, argv);
    if (status != -1) {
        return status;
    }
    const int left = argc - optind;
    if (left > 1 || (left == 0 && !is_optional)) {
        return cli_usage(remote, left > 1 ? "too many arguments" : "an argument is missing");
    }
    *argument = left == 1 ? argv[optind] : NULL;
    return -1;
}

/* Wait for a result, print it, end the command. */
static int print_result(cli_remote *remote, fluss_future_t *future, const char *const *columns,
                        size_t n)
{
    fluss_result_t *result = NULL;
    int status = CLI_OK;
    if (fluss_await_result(future, remote->timeout_ms, &result, &remote->err) != 0) {
        status = cli_fail(remote);
    } else if (!cli_output_result(remote->json, result, columns, n)) {
        (void)fprintf(stderr, "fluss %s: the rows could not be printed\n", remote->command);
        status = CLI_FAILED;
    }
    fluss_result_free(result);
    return cli_end(remote, status);
}

int cmd_databases(int argc, char **argv)
{
    cli_remote remote;
    char *argument;
    cli_begin(&remote, argv,
              "usage: fluss databases [OPTION …]\n\n"
              "List the databases of a server.\n\n" CLI_REMOTE_USAGE);
    int status = read_arguments(&remote, argc, argv, true, &argument);
    if (status == -1 && argument != NULL) {
        status = cli_usage(&remote, "it takes no argument, such as '%s'", argument);
    }
    if (status == -1) {
        status = cli_connect(&remote);
        status = status == CLI_OK
                     ? print_result(&remote, fluss_list_databases(remote.conn), NULL, 0)
                     : cli_end(&remote, status);
    }
    return status;
}

int cmd_tables(int argc, char **argv)
{
    cli_remote remote;
    char *database;
    cli_begin(&remote, argv,
              "usage: fluss tables [DATABASE] [OPTION …]\n\nList the tables of a database, "
              "default `fluss`.\n\n" CLI_REMOTE_USAGE);
    int status = read_arguments(&remote, argc, argv, true, &database);
    if (status == -1) {
        const char *name = database != NULL ? database : "fluss";
        status = cli_connect(&remote);
        status = status == CLI_OK
                     ? print_result(&remote, fluss_list_tables(remote.conn, name), NULL, 0)
                     : cli_end(&remote, status);
    }
    return status;
}

/* Read arguments whose one argument is DATABASE.TABLE, and connect. @return -1: go on */
static int open_path(cli_remote *remote, int argc, char **argv, fluss_path_t *path)
{
    char *argument = NULL;
    int status = read_arguments(remote, argc, argv, false, &argument);
    if (status != -1) {
        return status;
    }
    if (!cli_parse_path(argument, path)) {
        return cli_usage(remote, "'%s' is not DATABASE.TABLE", argument);
    }
    status = cli_connect(remote);
    return status == CLI_OK ? -1 : cli_end(remote, status);
}

int cmd_offsets(int argc, char **argv)
{
    cli_remote remote;
    fluss_path_t path;
    cli_begin(&remote, argv,
              "usage: fluss offsets DATABASE.TABLE [OPTION …]\n\nThe next offset of each bucket: "
              "how many rows its log has had.\n\n" CLI_REMOTE_USAGE);
    const int status = open_path(&remote, argc, argv, &path);
    if (status != -1) {
        return status;
    }
    fluss_future_t *future = fluss_list_offsets(remote.conn, path, NULL, NULL, 0, FLUSS_LATEST);
    return print_result(&remote, future, NULL, 0);
}

int cmd_drop_table(int argc, char **argv)
{
    cli_remote remote;
    fluss_path_t path;
    cli_begin(&remote, argv,
              "usage: fluss drop-table DATABASE.TABLE [OPTION …]\n\nDrop a table with all its "
              "rows.\n\n" CLI_REMOTE_USAGE);
    const int status = open_path(&remote, argc, argv, &path);
    return status != -1 ? status : cli_finish(&remote, fluss_drop_table(remote.conn, path, 0));
}

static json_t *names_of(const char *const *names, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(array, json_string(names[i]));
    }
    return array;
}

static json_t *pairs_of(const fluss_kv_t *pairs, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        (void)json_object_set_new(object, pairs[i].key, json_string(pairs[i].value));
    }
    return object;
}

static json_t *columns_of(const fluss_schema_t *schema)
{
    json_t *array = json_array();
    for (size_t i = 0; i < fluss_schema_columns(schema); i++) {
        const char *name, *type, *comment;
        if (fluss_schema_column(schema, i, &name, &type, &comment) != 0) {
            break;
        }
        json_t *column = json_pack("{s:s, s:s}", "name", name, "type", type);
        if (comment != NULL) {
            (void)json_object_set_new(column, "comment", json_string(comment));
        }
        (void)json_array_append_new(array, column);
    }
    return array;
}

static bool describe_json(const fluss_table_info_t *info)
{
    json_t *all = json_pack(
        "{s:s, s:s, s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "database", info->path.database,
        "table", info->path.table, "table_id", (json_int_t)info->table_id, "schema_id",
        (int)info->schema_id, "buckets", (int)info->buckets, "columns", columns_of(info->schema),
        "primary_keys", names_of(info->primary_keys, info->n_primary_keys), "bucket_keys",
        names_of(info->bucket_keys, info->n_bucket_keys), "partition_keys",
        names_of(info->partition_keys, info->n_partition_keys), "properties",
        pairs_of(info->properties, info->n_properties), "custom",
        pairs_of(info->custom, info->n_custom));
    if (all != NULL && info->comment != NULL) {
        (void)json_object_set_new(all, "comment", json_string(info->comment));
    }
    const bool done = all != NULL && json_dumpf(all, stdout, JSON_COMPACT) == 0;
    (void)putchar('\n');
    json_decref(all);
    return done;
}

static void print_names(const char *title, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)printf("%s%s", i == 0 ? title : ", ", names[i]);
    }
    if (n != 0) {
        (void)putchar('\n');
    }
}

static bool describe_text(const fluss_table_info_t *info)
{
    (void)printf("%s.%s, table id %lld, schema id %d, buckets %d\n", info->path.database,
                 info->path.table, (long long)info->table_id, info->schema_id, info->buckets);
    if (info->comment != NULL) {
        (void)printf("comment:        %s\n", info->comment);
    }
    print_names("primary key:    ", info->primary_keys, info->n_primary_keys);
    print_names("bucket key:     ", info->bucket_keys, info->n_bucket_keys);
    print_names("partitioned by: ", info->partition_keys, info->n_partition_keys);
    for (size_t i = 0; i < info->n_properties; i++) {
        (void)printf("property:       %s = %s\n", info->properties[i].key,
                     info->properties[i].value);
    }
    for (size_t i = 0; i < info->n_custom; i++) {
        (void)printf("custom:         %s = %s\n", info->custom[i].key, info->custom[i].value);
    }
    (void)putchar('\n');
    cli_output *output = cli_output_begin(false);
    json_t *columns = columns_of(info->schema);
    bool done = output != NULL;
    for (size_t i = 0; done && i < json_array_size(columns); i++) {
        done = cli_output_row(output, json_incref(json_array_get(columns, i)));
    }
    json_decref(columns);
    cli_output_end(output);
    return done;
}

int cmd_describe(int argc, char **argv)
{
    cli_remote remote;
    fluss_path_t path;
    cli_begin(&remote, argv,
              "usage: fluss describe DATABASE.TABLE [OPTION …]\n\nColumns, keys, buckets and "
              "properties of a table.\n\n" CLI_REMOTE_USAGE);
    int status = open_path(&remote, argc, argv, &path);
    if (status != -1) {
        return status;
    }
    status = CLI_OK;
    fluss_table_t *table = NULL;
    if (fluss_await_table(fluss_open_table(remote.conn, path), remote.timeout_ms, &table,
                          &remote.err) != 0) {
        status = cli_fail(&remote);
    } else {
        const fluss_table_info_t *info = fluss_table_info(table);
        if (!(remote.json ? describe_json(info) : describe_text(info))) {
            status = CLI_FAILED;
        }
    }
    fluss_table_free(table);
    return cli_end(&remote, status);
}
