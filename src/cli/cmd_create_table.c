/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss create-table db.t "id INT, name STRING"`: columns as text, the rest as options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "remote.h"

enum { KEYS_MAX = 64, PROPERTIES_MAX = 256, BUCKETS_MAX = 100000 };
enum { OPT_KEY = 2000, OPT_BUCKETS, OPT_BUCKET_KEY, OPT_PARTITIONED, OPT_COMMENT, OPT_IF_NOT };

static const char usage[] =
    "usage: fluss create-table DATABASE.TABLE COLUMNS [OPTION …]\n"
    "\n"
    "Make a table. COLUMNS is one argument, such as \"id INT, name STRING, price DECIMAL(10,2)\".\n"
    "\n"
    "      --key A,B           primary key; without it the table is a log table\n"
    "      --buckets N         default: the server's\n"
    "      --bucket-key A,B    columns whose hash chooses the bucket\n"
    "      --partitioned-by A,B   partition keys\n"
    "  -p, --property KEY=VALUE   a property; can be repeated\n"
    "      --comment TEXT\n"
    "      --if-not-exists     an existing table is no error\n"
    "\n" CLI_REMOTE_USAGE;

static const struct option options[] = {
    {"key", required_argument, NULL, OPT_KEY},
    {"buckets", required_argument, NULL, OPT_BUCKETS},
    {"bucket-key", required_argument, NULL, OPT_BUCKET_KEY},
    {"partitioned-by", required_argument, NULL, OPT_PARTITIONED},
    {"property", required_argument, NULL, 'p'},
    {"comment", required_argument, NULL, OPT_COMMENT},
    {"if-not-exists", no_argument, NULL, OPT_IF_NOT},
    CLI_REMOTE_OPTIONS,
};

typedef struct table_request {
    cli_remote remote;
    const char *keys[KEYS_MAX], *bucket_keys[KEYS_MAX], *partition_keys[KEYS_MAX];
    size_t n_keys;
    fluss_kv_t properties[PROPERTIES_MAX], custom[PROPERTIES_MAX];
    fluss_desc_opts_t desc;
    unsigned flags;
} table_request;

static int add_property(table_request *request, char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return cli_usage(&request->remote, "--property takes KEY=VALUE, not '%s'", text);
    }
    *equals = '\0';
    /* What the server does not know belongs to the user. */
    const bool own = strncmp(text, "table.", strlen("table.")) != 0;
    fluss_kv_t *pairs = own ? request->custom : request->properties;
    size_t *count = own ? &request->desc.n_custom : &request->desc.n_properties;
    if (*count == PROPERTIES_MAX) {
        return cli_usage(&request->remote, "more than %d properties", PROPERTIES_MAX);
    }
    pairs[(*count)++] = (fluss_kv_t){.key = text, .value = equals + 1};
    return -1;
}

static int take_names(table_request *request, const char *option, const char **names, size_t *count)
{
    *count = cli_split(optarg, names, KEYS_MAX);
    return *count != 0 ? -1
                       : cli_usage(&request->remote, "%s takes 1 to %d names with commas", option,
                                   KEYS_MAX);
}

static int take_option(table_request *request, int option)
{
    fluss_desc_opts_t *desc = &request->desc;
    int64_t buckets;
    switch (option) {
    case OPT_KEY:
        return take_names(request, "--key", request->keys, &request->n_keys);
    case OPT_BUCKET_KEY:
        return take_names(request, "--bucket-key", request->bucket_keys, &desc->n_bucket_keys);
    case OPT_PARTITIONED:
        return take_names(request, "--partitioned-by", request->partition_keys,
                          &desc->n_partition_keys);
    case OPT_BUCKETS:
        if (!cli_parse_number(optarg, 1, BUCKETS_MAX, &buckets)) {
            return cli_usage(&request->remote, "--buckets takes 1 to %d, not '%s'", BUCKETS_MAX,
                             optarg);
        }
        desc->buckets = (int32_t)buckets;
        return -1;
    case 'p':
        return add_property(request, optarg);
    case OPT_COMMENT:
        desc->comment = optarg;
        return -1;
    case OPT_IF_NOT:
        request->flags = FLUSS_IF_NOT_EXISTS;
        return -1;
    default:
        return cli_option(&request->remote, option);
    }
}

/* The end of a column's text: the next comma outside brackets and quotes, or the end. */
static char *end_of_column(char *at)
{
    int depth = 0;
    char quote = '\0';
    for (; *at != '\0' && (*at != ',' || depth > 0 || quote != '\0'); at++) {
        if (quote != '\0') {
            quote = *at == quote ? '\0' : quote;
        } else if (*at == '`' || *at == '\'') {
            quote = *at;
        } else {
            depth += (*at == '(' || *at == '<') - (*at == ')' || *at == '>');
        }
    }
    return at;
}

/* One column: a name, perhaps in backquotes, and a type. */
static fluss_code_t add_column(fluss_schema_t *schema, char *text, fluss_error_t *err)
{
    text += strspn(text, " \t\n");
    const bool quoted = *text == '`';
    if (!quoted && strcasestr(text, "PRIMARY KEY") != NULL) {
        (void)snprintf(
            err->message, sizeof(err->message),
            "'%s': the primary key is no part of the columns; the option --key A,B names "
            "it",
            text);
        return FLUSS_E_CLIENT;
    }
    char *name = text + quoted;
    char *end = name + strcspn(name, quoted ? "`" : " \t\n");
    if (*end == '\0') {
        (void)snprintf(err->message, sizeof(err->message),
                       "column '%s' has no type; columns look like \"id INT, name STRING\"", name);
        return FLUSS_E_CLIENT;
    }
    *end = '\0';
    return fluss_schema_add(schema, name, end + 1, NULL, err);
}

static fluss_code_t make_schema(const table_request *request, char *columns, fluss_schema_t *schema,
                                fluss_error_t *err)
{
    fluss_code_t rc = 0;
    for (char *at = columns; rc == 0 && at != NULL;) {
        char *end = end_of_column(at);
        char *next = *end == ',' ? end + 1 : NULL;
        *end = '\0';
        rc = add_column(schema, at, err);
        at = next;
    }
    if (rc == 0 && request->n_keys != 0) {
        rc = fluss_schema_primary_key(schema, request->keys, request->n_keys, err);
    }
    return rc;
}

static int create(table_request *request, fluss_path_t path, char *columns)
{
    cli_remote *remote = &request->remote;
    fluss_desc_t *desc = NULL;
    fluss_schema_t *schema = fluss_schema_new();
    fluss_code_t rc =
        schema != NULL ? make_schema(request, columns, schema, &remote->err) : FLUSS_E_CLIENT;
    if (rc == 0) {
        rc = fluss_desc_new(schema, &request->desc, &desc, &remote->err);
    }
    int status = rc == 0 ? cli_connect(remote) : cli_fail(remote);
    if (status == CLI_OK &&
        fluss_await(fluss_create_table(remote->conn, path, desc, request->flags),
                    remote->timeout_ms, &remote->err) != 0) {
        status = cli_fail(remote);
    }
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    return cli_end(remote, status);
}

static int parse_and_create(table_request *request, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, CLI_REMOTE_LETTERS "p:", options, NULL)) != -1) {
        const int status = take_option(request, option);
        if (status != -1) {
            return status;
        }
    }
    if (argc - optind != 2) {
        return cli_usage(&request->remote, "two arguments are wanted, DATABASE.TABLE and COLUMNS");
    }
    fluss_path_t path;
    if (!cli_parse_path(argv[optind], &path)) {
        return cli_usage(&request->remote, "'%s' is not DATABASE.TABLE", argv[optind]);
    }
    return create(request, path, argv[optind + 1]);
}

int cmd_create_table(int argc, char **argv)
{
    table_request *request = calloc(1, sizeof(*request));
    if (request == NULL) {
        return CLI_FAILED;
    }
    cli_begin(&request->remote, argv, usage);
    request->desc = (fluss_desc_opts_t){
        .size = sizeof(fluss_desc_opts_t),
        .bucket_keys = request->bucket_keys,
        .partition_keys = request->partition_keys,
        .properties = request->properties,
        .custom = request->custom,
    };
    const int status = parse_and_create(request, argc, argv);
    free(request);
    return status;
}
