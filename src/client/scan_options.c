/* SPDX-License-Identifier: Apache-2.0 */
/* Scan options: read, check, and turn into a plan for each table. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "client/options.h"
#include "client/predicate.h"
#include "client/scan_private.h"

fluss_code_t fl_scan_opts_read(const fluss_scan_opts_t *in, fluss_scan_opts_t *out,
                               fluss_error_t *err)
{
    FL_TRY(fl_opts_read(in, out, sizeof(*out), "fluss_scan_opts_t", err));
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

static fluss_code_t check_repeats(const fl_scan_plan *plan, fluss_error_t *err)
{
    for (size_t i = 1; i < plan->wire_column_count; i++) {
        if (plan->wire_columns[i] == plan->wire_columns[i - 1]) {
            return fl_error_argument(err, "column '%s' is in the projection twice",
                                     plan->table->schema->columns[plan->wire_columns[i]].name);
        }
    }
    return 0;
}

/* Columns that an exact filter tests are needed too. */
static void add_filter_columns(fl_scan_plan *plan, const fl_filter *filter)
{
    if (filter->op == FL_FILTER_ALL || filter->op == FL_FILTER_ANY) {
        for (size_t i = 0; i < filter->count; i++) {
            add_filter_columns(plan, &filter->children[i]);
        }
        return;
    }
    const fl_schema *schema = plan->table->schema;
    for (size_t i = 0; i < schema->column_count; i++) {
        bool is_new = schema->columns[i].id == filter->column_id;
        for (size_t j = 0; j < plan->wire_column_count && is_new; j++) {
            is_new = plan->wire_columns[j] != (int32_t)i;
        }
        if (is_new) {
            plan->wire_columns[plan->wire_column_count++] = (int32_t)i;
        }
    }
}

static fluss_code_t read_columns(fl_scan_plan *plan, const fluss_scan_opts_t *opts,
                                 fluss_error_t *err)
{
    const fl_schema *schema = plan->table->schema;
    const size_t count = opts->n_columns;
    plan->columns = fl_calloc(count, sizeof(*plan->columns));
    plan->wire_columns = fl_calloc(count + schema->column_count, sizeof(*plan->wire_columns));
    plan->column_count = plan->wire_column_count = count;
    if (plan->columns == NULL || plan->wire_columns == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        FL_TRY(find_column(schema, opts, i, &plan->columns[i], err));
        plan->wire_columns[i] = (int32_t)plan->columns[i];
    }
    qsort(plan->wire_columns, count, sizeof(*plan->wire_columns), compare_columns);
    FL_TRY(check_repeats(plan, err));
    if (plan->is_exact) {
        add_filter_columns(plan, plan->filter);
        qsort(plan->wire_columns, plan->wire_column_count, sizeof(*plan->wire_columns),
              compare_columns);
    }
    if (plan->table->settings.log_format != FL_LOG_FORMAT_ARROW) {
        fl_free(plan->wire_columns); /* the server projects columns only */
        plan->wire_columns = NULL;
    }
    return fl_schema_project(schema, plan->columns, count, &plan->output, err);
}

static fluss_code_t read_filter(fl_scan_plan *plan, const fluss_scan_opts_t *opts,
                                fluss_error_t *err)
{
    plan->filter = fl_arena_alloc(&plan->arena, sizeof(*plan->filter));
    if (plan->filter == NULL) {
        return fl_error_nomem(err);
    }
    return fl_pred_bind(opts->filter, plan->table->schema, &plan->arena, plan->filter, err);
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
    fl_arena_init(&plan->arena);
    fluss_code_t rc = opts->filter != NULL ? read_filter(plan, opts, err) : 0;
    if (rc == 0 && opts->n_columns == 0) {
        plan->output = fl_schema_ref(table->schema);
    } else if (rc == 0) {
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
    fl_arena_deinit(&plan->arena);
    *plan = (fl_scan_plan){0};
}
