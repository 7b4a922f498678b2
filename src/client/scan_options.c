/* SPDX-License-Identifier: Apache-2.0 */
/* Scan options: read, check, and turn into a plan for each table. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "client/hash_choice.h"
#include "client/scan_private.h"

fluss_code_t fl_scan_opts_read(const fluss_scan_opts_t *in, fluss_scan_opts_t *out,
                               fluss_error_t *err)
{
    *out = (fluss_scan_opts_t){0};
    if (in == NULL) {
        return 0;
    }
    if (in->size < sizeof(in->size)) {
        return fl_error_argument(err, "fluss_scan_opts_t: set size to sizeof");
    }
    memcpy(out, in, in->size < sizeof(*out) ? in->size : sizeof(*out));
    if (out->n_columns > 0 && (out->columns != NULL) == (out->names != NULL)) {
        return fl_error_argument(err, "give the projection by index or by name");
    }
    if (out->n_columns == 0 && (out->columns != NULL || out->names != NULL)) {
        return fl_error_argument(err, "the projection names no column");
    }
    return 0;
}

static fluss_code_t find_column(const fl_schema *schema, const fluss_scan_opts_t *opts, size_t i,
                                uint32_t *column, fluss_error_t *err)
{
    if (opts->columns != NULL) {
        if (opts->columns[i] < 0 || (size_t)opts->columns[i] >= schema->column_count) {
            return fl_error_argument(err, "column %d: the table has %zu columns", opts->columns[i],
                                     schema->column_count);
        }
        *column = (uint32_t)opts->columns[i];
        return 0;
    }
    const char *name = opts->names[i] != NULL ? opts->names[i] : "";
    const ptrdiff_t found = fl_schema_find(schema, name, strlen(name));
    if (found < 0) {
        return fl_error_column(err, schema, name);
    }
    *column = (uint32_t)found;
    return 0;
}

static int compare_columns(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static fluss_code_t read_columns(fl_scan_plan *plan, const fluss_scan_opts_t *opts,
                                 fluss_error_t *err)
{
    const fl_schema *schema = plan->table->schema;
    const size_t count = opts->n_columns;
    plan->columns = fl_calloc(count, sizeof(*plan->columns));
    plan->wire_columns = fl_calloc(count, sizeof(*plan->wire_columns));
    plan->column_count = count;
    if (plan->columns == NULL || plan->wire_columns == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        FL_TRY(find_column(schema, opts, i, &plan->columns[i], err));
        plan->wire_columns[i] = (int32_t)plan->columns[i];
    }
    qsort(plan->wire_columns, count, sizeof(*plan->wire_columns), compare_columns);
    for (size_t i = 1; i < count; i++) {
        if (plan->wire_columns[i] == plan->wire_columns[i - 1]) {
            return fl_error_argument(err, "column '%s' is in the projection twice",
                                     schema->columns[plan->wire_columns[i]].name);
        }
    }
    if (plan->table->settings.log_format != FL_LOG_FORMAT_ARROW || plan->is_exact) {
        /* The server projects columns only, and an exact filter may want others. */
        fl_free(plan->wire_columns);
        plan->wire_columns = NULL;
    }
    return fl_schema_project(schema, plan->columns, count, &plan->output, err);
}

fluss_code_t fl_scan_plan_init(fl_scan_plan *plan, fl_table *table, const fluss_scan_opts_t *opts,
                               fluss_error_t *err)
{
    *plan = (fl_scan_plan){
        .table = fl_table_ref(table),
        .is_batches = opts->batches,
        .is_write_time = opts->write_time_schema,
        .check_crc = table->client->config->scan_check_crc.number != 0,
        .is_exact = opts->exact_filter && opts->filter != NULL,
    };
    fluss_code_t rc = 0;
    if (opts->n_columns == 0) {
        plan->output = fl_schema_ref(table->schema);
    } else {
        rc = read_columns(plan, opts, err);
    }
    if (rc != 0) {
        fl_error_prefix(err, "table %s.%s: ", table->database, table->name);
        fl_scan_plan_deinit(plan);
    }
    return rc;
}

void fl_scan_plan_deinit(fl_scan_plan *plan)
{
    fl_schema_unref(plan->output);
    fl_free(plan->columns);
    fl_free(plan->wire_columns);
    fl_table_unref(plan->table);
    *plan = (fl_scan_plan){0};
}
