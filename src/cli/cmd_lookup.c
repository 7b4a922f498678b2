/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss lookup db.t 5`: the rows of a table with primary key that have the given keys, or keys
 * that begin so. Keys are values of the key columns, JSON objects, or JSON objects in lines of
 * standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "interrupt.h"
#include "lines.h"
#include "output.h"
#include "remote.h"
#include "row_json.h"

static const char usage[] =
    "usage: fluss lookup DATABASE.TABLE VALUE … [OPTION …]\n"
    "       fluss lookup DATABASE.TABLE '{\"COLUMN\": VALUE}' … [OPTION …]\n"
    "       fluss lookup DATABASE.TABLE [OPTION …] < KEYS\n"
    "\n"
    "Print the rows of a table with primary key that have a key: one value for each column of the\n"
    "key, in its order; or any number of keys as JSON objects, as arguments or one a line. A key\n"
    "without a row is said, and the status is 1. `--` goes before a negative number.\n"
    "\n"
    "      --prefix           keys are given by their first columns: the partition keys, if any,\n"
    "                         and the bucket key, which must begin the primary key\n"
    "\n" CLI_REMOTE_USAGE;

typedef struct finder {
    cli_remote remote;
    fluss_table_t *table;
    fluss_lookup_t *lookup;
    cli_columns key, row;
    cli_output *output;
    bool by_prefix;
    bool has_gap; /* some key had no row */
} finder;

/* The columns that a key consists of, or its prefix. gives (free); NULL: out of memory */
static const char **key_columns(const finder *self, size_t *count)
{
    const fluss_table_info_t *info = fluss_table_info(self->table);
    const size_t partitions = self->by_prefix ? info->n_partition_keys : 0;
    const size_t rest = self->by_prefix ? info->n_bucket_keys : info->n_primary_keys;
    const char *const *keys = self->by_prefix ? info->bucket_keys : info->primary_keys;
    const char **names = calloc(partitions + rest + 1, sizeof(*names));
    *count = partitions + rest;
    for (size_t i = 0; names != NULL && i < *count; i++) {
        names[i] = i < partitions ? info->partition_keys[i] : keys[i - partitions];
    }
    return names;
}

static fluss_code_t open_lookup(finder *self, fluss_path_t path)
{
    cli_remote *remote = &self->remote;
    fluss_code_t rc = fluss_await_table(fluss_open_table(remote->conn, path), remote->timeout_ms,
                                        &self->table, &remote->err);
    if (rc != 0) {
        return rc;
    }
    size_t count = 0;
    const char **names = key_columns(self, &count);
    if (names == NULL) {
        (void)snprintf(remote->err.message, sizeof(remote->err.message), "out of memory");
        return FLUSS_E_CLIENT;
    }
    const fluss_schema_t *schema = fluss_table_info(self->table)->schema;
    fluss_lookup_opts_t opts = {.size = sizeof(opts)};
    if (self->by_prefix) {
        opts.prefix = names;
        opts.n_prefix = count;
    }
    rc = fluss_lookup_open(self->table, &opts, &self->lookup, &remote->err);
    if (rc == 0) {
        rc = cli_columns_open(&self->row, schema, NULL, 0, &remote->err);
    }
    if (rc == 0) {
        rc = cli_columns_open(&self->key, schema, names, count, &remote->err);
    }
    free(names);
    return rc;
}

static bool print_rows(finder *self, const fluss_records_t *records)
{
    bool done = true;
    for (size_t i = 0; done && i < fluss_records_count(records); i++) {
        fluss_record_t record;
        fluss_records_get(records, i, &record);
        json_t *object = json_object();
        done = object != NULL &&
               cli_row_add(object, record.row, self->row.names, self->row.types, self->row.count);
        if (!done) {
            json_decref(object);
            object = NULL;
        }
        done = cli_output_row(self->output, object) && done;
    }
    return done;
}

/* takes `key`. @return CLI_OK, also when there is no row, or CLI_FAILED with remote.err */
static int find(finder *self, json_t *key)
{
    fluss_error_t *err = &self->remote.err;
    fluss_records_t *records = NULL;
    fluss_code_t rc = cli_row_read(&self->key, key, err);
    if (rc == 0) {
        rc = fluss_await_records(fluss_lookup(self->lookup, self->key.row, self->key.count, 1),
                                 self->remote.timeout_ms, &records, err);
    }
    if (rc == 0 && fluss_records_count(records) == 0) {
        char *text = json_dumps(key, JSON_COMPACT);
        (void)fprintf(stderr, "fluss lookup: no row has %s %s\n",
                      self->by_prefix ? "a key that begins with" : "the key",
                      text != NULL ? text : "");
        free(text);
        self->has_gap = true;
    } else if (rc == 0 && !print_rows(self, records)) {
        (void)snprintf(err->message, sizeof(err->message), "a row could not be printed");
        rc = FLUSS_E_CLIENT;
    }
    json_decref(key);
    fluss_records_free(records);
    return rc == 0 ? CLI_OK : CLI_FAILED;
}

/* A value as it is typed: text for what JSON writes in quotes, JSON for the rest. */
static json_t *value_of(const char *text, fluss_type_t type)
{
    const bool is_plain = type == FLUSS_BOOLEAN || type == FLUSS_TINYINT ||
                          type == FLUSS_SMALLINT || type == FLUSS_INT || type == FLUSS_BIGINT ||
                          type == FLUSS_FLOAT || type == FLUSS_DOUBLE;
    json_t *value = is_plain ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    return value != NULL ? value : json_string(text);
}

static int find_values(finder *self, char **values, size_t count)
{
    fluss_error_t *err = &self->remote.err;
    json_t *key = json_object();
    if (count != self->key.count) {
        int used = snprintf(err->message, sizeof(err->message),
                            "%zu values for a %s of %zu columns:", count,
                            self->by_prefix ? "prefix" : "key", self->key.count);
        for (size_t i = 0; i < self->key.count && used < (int)sizeof(err->message) - 1; i++) {
            used += snprintf(err->message + used, sizeof(err->message) - (size_t)used, "%s %.100s",
                             i == 0 ? "" : ",", self->key.names[i]);
        }
        json_decref(key);
        return CLI_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        (void)json_object_set_new(key, self->key.names[i],
                                  value_of(values[i], self->key.types[i].type));
    }
    return find(self, key);
}

static int find_objects(finder *self, char **texts, size_t count)
{
    int status = CLI_OK;
    for (size_t i = 0; status == CLI_OK && i < count; i++) {
        json_t *key = cli_row_parse(texts[i], strlen(texts[i]), &self->remote.err);
        status = key != NULL ? find(self, key) : CLI_FAILED;
    }
    return status;
}

static int find_lines(finder *self)
{
    cli_lines lines = {0};
    fluss_error_t *err = &self->remote.err;
    int status = CLI_OK;
    cli_interrupt_catch();
    while (status == CLI_OK && cli_lines_next(&lines, err)) {
        json_t *key = cli_row_parse(lines.text, lines.size, err);
        status = key != NULL ? find(self, key) : CLI_FAILED;
        if (status != CLI_OK) {
            cli_lines_blame(&lines, err);
        }
    }
    cli_lines_close(&lines);
    return status == CLI_OK && err->code != 0 ? CLI_FAILED : status;
}

static int find_all(finder *self, char **arguments, size_t count)
{
    self->output = cli_output_begin(self->remote.json);
    if (self->output == NULL) {
        return CLI_FAILED;
    }
    const int status = count == 0               ? find_lines(self)
                       : arguments[0][0] == '{' ? find_objects(self, arguments, count)
                                                : find_values(self, arguments, count);
    cli_output_end(self->output);
    return status != CLI_OK ? cli_fail(&self->remote) : self->has_gap ? CLI_FAILED : CLI_OK;
}

/* @return as cli_option */
static int read_options(finder *self, int argc, char **argv)
{
    enum { OPT_PREFIX = 2000 };
    static const struct option options[] = {{"prefix", no_argument, NULL, OPT_PREFIX},
                                            CLI_REMOTE_OPTIONS};
    int option, status = -1;
    while (status == -1 &&
           (option = getopt_long(argc, argv, CLI_REMOTE_LETTERS, options, NULL)) != -1) {
        if (option == OPT_PREFIX) {
            self->by_prefix = true;
        } else {
            status = cli_option(&self->remote, option);
        }
    }
    return status;
}

int cmd_lookup(int argc, char **argv)
{
    finder self = {0};
    cli_begin(&self.remote, argv, usage);
    int status = read_options(&self, argc, argv);
    if (status != -1) {
        return status;
    }
    fluss_path_t path;
    if (optind == argc || !cli_parse_path(argv[optind], &path)) {
        return cli_usage(&self.remote, "the first argument is DATABASE.TABLE");
    }
    status = cli_connect(&self.remote);
    if (status == CLI_OK) {
        status = open_lookup(&self, path) == 0
                     ? find_all(&self, argv + optind + 1, (size_t)(argc - optind - 1))
                     : cli_fail(&self.remote);
    }
    fluss_lookup_free(self.lookup);
    cli_columns_close(&self.key);
    cli_columns_close(&self.row);
    fluss_table_free(self.table);
    return cli_end(&self.remote, status);
}
