/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss scan db.t`: rows of a log table, or the changelog of a table with primary key, from an
 * offset up to the end that the table has now, or for ever with --follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fluss/fluss_arrow.h>

#include "away.h"
#include "cmd.h"
#include "interrupt.h"
#include "output.h"
#include "remote.h"
#include "row_json.h"

enum { OPT_FROM = 2000, OPT_META, OPT_FOLLOW, COLUMNS_MAX = 1024 };
enum { LIMIT_DEFAULT = 100, POLL_MS = 500, POSITIONS_MAX = 65536 };

static const char usage[] =
    "usage: fluss scan DATABASE.TABLE [OPTION …]\n"
    "\n"
    "Print rows up to the end that the table has now. A table with primary key gives its\n"
    "changelog.\n"
    "\n"
    "      --from earliest|latest|OFFSET   where to start in each bucket; default earliest\n"
    "  -n, --limit N          at most N rows; 0: all; default 100 in a table,\n"
    "                         all with --json\n"
    "  -c, --columns A,B      only these columns, in this order\n"
    "      --meta             also bucket, offset, time and kind of change\n"
    "      --follow           go on with rows to come, without limit; implies --json\n"
    "\n" CLI_REMOTE_USAGE;

static const struct option options[] = {
    {"from", required_argument, NULL, OPT_FROM}, {"limit", required_argument, NULL, 'n'},
    {"columns", required_argument, NULL, 'c'},   {"meta", no_argument, NULL, OPT_META},
    {"follow", no_argument, NULL, OPT_FOLLOW},   CLI_REMOTE_OPTIONS,
};

typedef struct table_scan {
    cli_remote remote;
    int64_t from, limit, printed;
    size_t left;           /* rows that the last poll gave beyond those printed */
    bool is_default_limit; /* of a table that people read; it is said when it cuts */
    bool has_meta, follows;
    cli_away away;
    const char *columns[COLUMNS_MAX];
    size_t n_columns;
    fluss_table_t *table;
    fluss_scanner_t *scanner;
    fluss_position_t *ends; /* where each bucket ends now */
    size_t end_count;
    fluss_position_t *now;          /* room for the positions of all buckets */
    const char *names[COLUMNS_MAX]; /* of the printed columns */
    cli_type types[COLUMNS_MAX];
    size_t width;
    cli_output *output;
} table_scan;

static int take_option(table_scan *scan, int option)
{
    switch (option) {
    case OPT_FROM:
        scan->from = FLUSS_EARLIEST;
        if (strcmp(optarg, "latest") == 0) {
            scan->from = FLUSS_LATEST;
        } else if (strcmp(optarg, "earliest") != 0 &&
                   !cli_parse_number(optarg, 0, INT64_MAX, &scan->from)) {
            return cli_usage(&scan->remote, "--from takes earliest, latest or an offset, not '%s'",
                             optarg);
        }
        return -1;
    case 'n':
        scan->is_default_limit = false;
        return cli_parse_number(optarg, 0, INT64_MAX, &scan->limit)
                   ? -1
                   : cli_usage(&scan->remote, "--limit takes a number of rows, not '%s'", optarg);
    case 'c':
        scan->n_columns = cli_split(optarg, scan->columns, COLUMNS_MAX);
        return scan->n_columns != 0
                   ? -1
                   : cli_usage(&scan->remote, "--columns takes 1 to %d names", COLUMNS_MAX);
    case OPT_META:
        scan->has_meta = true;
        return -1;
    case OPT_FOLLOW:
        scan->follows = scan->remote.json = true;
        return -1;
    default:
        return cli_option(&scan->remote, option);
    }
}

/* Name and type of each column to print. */
static fluss_code_t open_columns(table_scan *scan)
{
    const fluss_schema_t *schema = fluss_table_info(scan->table)->schema;
    const size_t total = fluss_schema_columns(schema);
    const size_t count = scan->n_columns != 0 ? scan->n_columns : total;
    for (size_t i = 0; i < count && scan->width < COLUMNS_MAX; i++) {
        for (size_t k = 0; k < total; k++) {
            const char *name, *type;
            (void)fluss_schema_column(schema, k, &name, &type, NULL);
            if (scan->n_columns == 0 ? i != k : strcmp(name, scan->columns[i]) != 0) {
                continue;
            }
            scan->names[scan->width] = name;
            /* A type of a later version still prints, without the names of its fields. */
            (void)cli_type_parse(type, &scan->types[scan->width++]);
        }
    }
    return 0;
}

/* Where each bucket begins or ends now. */
static fluss_code_t find_bounds(table_scan *scan, int64_t which, fluss_position_t *bounds,
                                size_t *count)
{
    const fluss_scan_opts_t opts = {.size = sizeof(opts), .batches = true};
    fluss_error_t *err = &scan->remote.err;
    struct ArrowArrayStream stream = {0};
    fluss_scanner_t *probe = NULL;
    fluss_code_t rc = fluss_scanner_open(&scan->table, 1, &opts, &probe, err);
    if (rc == 0) {
        rc = fluss_await(fluss_subscribe_all(probe, which), scan->remote.timeout_ms, err);
    }
    if (rc == 0 && which == FLUSS_EARLIEST && fluss_positions(probe, NULL, 0) != 0) {
        /* A stream, though nobody pulls it, settles where it begins. */
        rc = fluss_read(probe, NULL, 0, &stream, err);
    }
    if (rc == 0) {
        *count = fluss_positions(probe, bounds, POSITIONS_MAX);
        *count = *count < POSITIONS_MAX ? *count : POSITIONS_MAX;
    }
    if (stream.release != NULL) {
        stream.release(&stream);
    }
    fluss_scanner_free(probe);
    return rc;
}

static fluss_code_t open_ends(table_scan *scan)
{
    scan->ends = calloc(POSITIONS_MAX, sizeof(*scan->ends));
    scan->now = calloc(POSITIONS_MAX, sizeof(*scan->now));
    if (scan->ends == NULL || scan->now == NULL) {
        return FLUSS_E_CLIENT;
    }
    return find_bounds(scan, FLUSS_LATEST, scan->ends, &scan->end_count);
}

static fluss_code_t open_scanner(table_scan *scan, fluss_path_t path)
{
    fluss_error_t *err = &scan->remote.err;
    const fluss_scan_opts_t opts = {.size = sizeof(opts),
                                    .names = scan->n_columns != 0 ? scan->columns : NULL,
                                    .n_columns = scan->n_columns};
    fluss_code_t rc = fluss_await_table(fluss_open_table(scan->remote.conn, path),
                                        scan->remote.timeout_ms, &scan->table, err);
    if (rc == 0) {
        rc = open_columns(scan);
    }
    if (rc == 0 && !scan->follows) {
        rc = open_ends(scan);
    }
    if (rc == 0) {
        rc = fluss_scanner_open(&scan->table, 1, &opts, &scan->scanner, err);
    }
    if (rc == 0) {
        rc = fluss_await(fluss_subscribe_all(scan->scanner, scan->from), scan->remote.timeout_ms,
                         err);
    }
    return rc;
}

static json_t *json_of(const table_scan *scan, const fluss_record_t *record)
{
    json_t *object = json_object();
    int failed = 0;
    if (scan->has_meta) {
        failed |= json_object_set_new(object, "_bucket", json_integer(record->bucket.bucket));
        failed |= json_object_set_new(object, "_offset", json_integer(record->offset));
        failed |= json_object_set_new(object, "_timestamp_ms", json_integer(record->timestamp_ms));
        failed |= json_object_set_new(object, "_change",
                                      json_string(fluss_change_string(record->change)));
    }
    if (failed != 0 || !cli_row_add(object, record->row, scan->names, scan->types, scan->width)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static bool is_same_bucket(const fluss_bucket_t *a, const fluss_bucket_t *b)
{
    return a->table_id == b->table_id && a->partition_id == b->partition_id &&
           a->bucket == b->bucket;
}

/* Whether every bucket has been read to the end that it had at the start. */
static bool is_at_end(table_scan *scan)
{
    const fluss_position_t *now = scan->now;
    const size_t count = fluss_positions(scan->scanner, scan->now, POSITIONS_MAX);
    bool at_end = true;
    for (size_t i = 0; i < scan->end_count && at_end; i++) {
        size_t k = 0;
        while (k < count && k < POSITIONS_MAX &&
               !is_same_bucket(&now[k].bucket, &scan->ends[i].bucket)) {
            k++;
        }
        /* An empty bucket stays at "earliest": no fetch says where that is. */
        at_end = k == count || scan->ends[i].offset == 0 || now[k].offset >= scan->ends[i].offset;
    }
    return at_end;
}

/* Of a bucket whose rows have all expired nothing is read, so it never leaves "earliest": it counts
 * as one that ends at 0. */
static fluss_code_t end_expired(table_scan *scan)
{
    size_t count = 0;
    const fluss_code_t rc = find_bounds(scan, FLUSS_EARLIEST, scan->now, &count);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < scan->end_count; k++) {
            if (is_same_bucket(&scan->now[i].bucket, &scan->ends[k].bucket) &&
                scan->now[i].offset >= scan->ends[k].offset) {
                scan->ends[k].offset = 0;
            }
        }
    }
    return rc;
}

static bool is_before_end(const table_scan *scan, const fluss_record_t *record)
{
    for (size_t i = 0; i < scan->end_count; i++) {
        if (is_same_bucket(&record->bucket, &scan->ends[i].bucket)) {
            return record->offset < scan->ends[i].offset;
        }
    }
    return scan->follows;
}

static bool is_full(const table_scan *scan)
{
    return !scan->follows && scan->limit != 0 && scan->printed >= scan->limit;
}

static int print_records(table_scan *scan, const fluss_records_t *records)
{
    const size_t count = fluss_records_count(records);
    for (size_t i = 0; i < count && !is_full(scan) && !cli_interrupted(); i++) {
        fluss_record_t record;
        fluss_records_get(records, i, &record);
        if (!is_before_end(scan, &record)) {
            continue;
        }
        scan->left = count - i - 1;
        if (!cli_output_row(scan->output, json_of(scan, &record))) {
            if (ferror(stdout) != 0) {
                return cli_output_failed("scan");
            }
            (void)fprintf(stderr, "fluss scan: offset %lld could not be printed\n",
                          (long long)record.offset);
            return CLI_FAILED;
        }
        scan->printed++;
    }
    return CLI_OK;
}

static int print_next(table_scan *scan)
{
    fluss_records_t *records = NULL;
    fluss_error_t *err = &scan->remote.err;
    fluss_code_t rc = fluss_await_records(fluss_poll(scan->scanner, POLL_MS), -1, &records, err);
    if (scan->follows) {
        cli_away_look(&scan->away, &scan->remote);
    } else if (rc == 0 && fluss_records_count(records) == 0) {
        rc = end_expired(scan);
    }
    int status = rc == 0 ? print_records(scan, records) : cli_fail(&scan->remote);
    fluss_records_free(records);
    return status == CLI_OK && fflush(stdout) != 0 ? cli_output_failed("scan") : status;
}

static int print_all(table_scan *scan)
{
    int status = CLI_OK;
    scan->output = cli_output_begin(scan->remote.json);
    if (scan->output == NULL) {
        return CLI_FAILED;
    }
    cli_interrupt_catch();
    while (status == CLI_OK && !is_full(scan) && !cli_interrupted() &&
           (scan->follows || !is_at_end(scan))) {
        status = print_next(scan);
    }
    cli_output_end(scan->output);
    if (status == CLI_OK && scan->is_default_limit && is_full(scan) &&
        (scan->left > 0 || !is_at_end(scan))) {
        (void)fprintf(stderr, "the first %lld rows; --limit 0 prints all\n",
                      (long long)scan->limit);
    }
    return status;
}

static int parse_and_scan(table_scan *scan, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, CLI_REMOTE_LETTERS "n:c:", options, NULL)) != -1) {
        const int status = take_option(scan, option);
        if (status != -1) {
            return status;
        }
    }
    if (scan->is_default_limit && scan->remote.json) {
        scan->limit = 0;
    }
    fluss_path_t path;
    if (argc - optind != 1 || !cli_parse_path(argv[optind], &path)) {
        return cli_usage(&scan->remote, "one argument is wanted, DATABASE.TABLE");
    }
    int status = cli_connect(&scan->remote);
    if (status == CLI_OK) {
        status = open_scanner(scan, path) == 0 ? print_all(scan) : cli_fail(&scan->remote);
    }
    fluss_scanner_free(scan->scanner);
    fluss_table_free(scan->table);
    return cli_end(&scan->remote, status);
}

int cmd_scan(int argc, char **argv)
{
    table_scan *scan = calloc(1, sizeof(*scan));
    if (scan == NULL) {
        return CLI_FAILED;
    }
    cli_begin(&scan->remote, argv, usage);
    scan->from = FLUSS_EARLIEST;
    scan->limit = LIMIT_DEFAULT;
    scan->is_default_limit = true;
    const int status = parse_and_scan(scan, argc, argv);
    for (size_t i = 0; i < scan->width; i++) {
        cli_type_deinit(&scan->types[i]);
    }
    free(scan->ends);
    free(scan->now);
    free(scan);
    return status;
}
