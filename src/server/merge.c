/* SPDX-License-Identifier: Apache-2.0 */
/* The engines as plain functions over two rows of values. The old row is looked at only where the
 * engine needs it. */
#include "server/merge.h"

#include "format/datum.h"

static bool is_key_column(const fl_schema *schema, size_t column)
{
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        if (schema->primary_key[i] == column) {
            return true;
        }
    }
    return false;
}

static fluss_code_t refuse(fluss_error_t *err, const char *rule, const char *column)
{
    return fl_error(err, FLUSS_E_INVALID_TARGET_COLUMN, FLUSS_KIND_SERVER,
                    "target columns: %s: '%s'", rule, column);
}

static fluss_code_t mark_targets(const fl_schema *schema, const int32_t *columns, size_t count,
                                 bool *is_target, fluss_error_t *err)
{
    memset(is_target, 0, schema->column_count * sizeof(*is_target));
    for (size_t i = 0; i < count; i++) {
        if (columns[i] < 0 || (size_t)columns[i] >= schema->column_count) {
            return fl_error(err, FLUSS_E_INVALID_TARGET_COLUMN, FLUSS_KIND_SERVER,
                            "target columns: index %d is out of range, the table has %zu columns",
                            (int)columns[i], schema->column_count);
        }
        if (is_target[columns[i]]) {
            return refuse(err, "a column is named twice", schema->columns[columns[i]].name);
        }
        is_target[columns[i]] = true;
    }
    return 0;
}

static fluss_code_t check_targets(const fl_schema *schema, const bool *is_target, bool may_replace,
                                  bool *covers_all, fluss_error_t *err)
{
    *covers_all = true;
    for (size_t i = 0; i < schema->column_count; i++) {
        const fl_column *column = &schema->columns[i];
        if (is_target[i] && schema->auto_increment == (int32_t)i) {
            return refuse(err, "the auto-increment column is filled by the server", column->name);
        }
        if (!is_target[i] && is_key_column(schema, i)) {
            return refuse(err, "a primary key column is missing", column->name);
        }
        *covers_all = *covers_all && is_target[i];
    }
    if (*covers_all && may_replace) {
        return 0;
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        const fl_column *column = &schema->columns[i];
        if (!column->type.nullable && !is_key_column(schema, i) &&
            schema->auto_increment != (int32_t)i) {
            return refuse(
                err, "a partial update needs every column outside the primary key to be nullable",
                column->name);
        }
    }
    return 0;
}

fluss_code_t fl_merge_set_targets(fl_merge *merge, const int32_t *columns, size_t count,
                                  bool *is_target, fluss_error_t *err)
{
    const fl_schema *schema = merge->schema;
    merge->is_target = NULL;
    if (count == 0 && schema->auto_increment < 0) {
        return 0;
    }
    if (count == 0) {
        return refuse(err, "a table with an auto-increment column needs target columns without it",
                      schema->columns[schema->auto_increment].name);
    }
    if (merge->engine == FL_MERGE_FIRST_ROW || merge->engine == FL_MERGE_VERSIONED) {
        return fl_error(err, FLUSS_E_INVALID_TARGET_COLUMN, FLUSS_KIND_SERVER,
                        "the %s merge engine takes whole rows, no target columns",
                        merge->engine == FL_MERGE_FIRST_ROW ? "first_row" : "versioned");
    }
    bool covers_all;
    FL_TRY(mark_targets(schema, columns, count, is_target, err));
    FL_TRY(check_targets(schema, is_target, merge->engine == FL_MERGE_NONE, &covers_all, err));
    if (!covers_all || merge->engine != FL_MERGE_NONE) {
        merge->is_target = is_target;
    }
    return 0;
}

static bool is_null(const fluss_datum_t *value)
{
    return value->type == FLUSS_NULL;
}

/* A null version is the smallest. */
static bool is_version_older(const fluss_datum_t *version, const fluss_datum_t *than)
{
    if (is_null(version) || is_null(than)) {
        return is_null(version) && !is_null(than);
    }
    return fl_datum_compare(version, than) < 0;
}

/* Targets of the new row over the old one. The key alone changes nothing of a row that is there. */
static fl_merged merge_targets(const fl_merge *merge, const fluss_datum_t *old,
                               const fluss_datum_t *row, fluss_datum_t *out)
{
    const fl_schema *schema = merge->schema;
    bool changes = old == NULL;
    for (size_t i = 0; i < schema->column_count; i++) {
        if (merge->is_target[i]) {
            out[i] = row[i];
            changes = changes || !is_key_column(schema, i);
        } else {
            out[i] = old != NULL ? old[i] : (fluss_datum_t){.type = FLUSS_NULL};
        }
    }
    return changes ? FL_MERGED_OUT : FL_MERGED_OLD;
}

static fluss_code_t merge_columns(const fl_merge *merge, const fluss_datum_t *old,
                                  const fluss_datum_t *row, fl_arena *arena, fluss_datum_t *out,
                                  fl_merged *merged, fluss_error_t *err)
{
    const fl_schema *schema = merge->schema;
    if (old == NULL) {
        *merged = merge->is_target != NULL ? merge_targets(merge, NULL, row, out) : FL_MERGED_NEW;
        return 0;
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        if (merge->is_target != NULL && !merge->is_target[i]) {
            out[i] = old[i];
        } else if (is_key_column(schema, i)) {
            out[i] = row[i];
        } else {
            FL_TRY(fl_aggregate(&merge->aggregators[i], &old[i], &row[i], arena, &out[i], err));
        }
    }
    *merged = FL_MERGED_OUT;
    return 0;
}

fluss_code_t fl_merge_upsert(const fl_merge *merge, const fluss_datum_t *old,
                             const fluss_datum_t *row, fl_arena *arena, fluss_datum_t *out,
                             fl_merged *merged, fluss_error_t *err)
{
    switch (merge->engine) {
    case FL_MERGE_NONE:
        *merged = merge->is_target != NULL ? merge_targets(merge, old, row, out) : FL_MERGED_NEW;
        return 0;
    case FL_MERGE_FIRST_ROW:
        *merged = old != NULL ? FL_MERGED_OLD : FL_MERGED_NEW;
        return 0;
    case FL_MERGE_VERSIONED: {
        const uint32_t column = merge->version_column;
        const bool is_stale = old != NULL && is_version_older(&row[column], &old[column]);
        *merged = is_stale ? FL_MERGED_OLD : FL_MERGED_NEW;
        return 0;
    }
    case FL_MERGE_AGGREGATION:
        break;
    }
    return merge_columns(merge, old, row, arena, out, merged, err);
}

/* The targets become null; a row of which only the key is left goes. */
static fl_merged delete_targets(const fl_merge *merge, const fluss_datum_t *old, fluss_datum_t *out)
{
    const fl_schema *schema = merge->schema;
    bool is_left = false;
    for (size_t i = 0; i < schema->column_count; i++) {
        const bool is_key = is_key_column(schema, i);
        out[i] = merge->is_target[i] && !is_key ? (fluss_datum_t){.type = FLUSS_NULL} : old[i];
        is_left = is_left || (!is_key && !is_null(&out[i]));
    }
    return is_left ? FL_MERGED_OUT : FL_MERGED_NONE;
}

fluss_code_t fl_merge_delete(const fl_merge *merge, const fluss_datum_t *old, fluss_datum_t *out,
                             fl_merged *merged, fluss_error_t *err)
{
    switch (merge->delete_behavior) {
    case FL_DELETE_IGNORE:
        *merged = FL_MERGED_OLD;
        return 0;
    case FL_DELETE_DISABLE:
        return fl_error(err, FLUSS_E_DELETION_DISABLED, FLUSS_KIND_SERVER,
                        "the table forbids deletes (table.delete.behavior = DISABLE)");
    case FL_DELETE_ALLOW:
        break;
    }
    *merged = merge->is_target != NULL ? delete_targets(merge, old, out) : FL_MERGED_NONE;
    return 0;
}

bool fl_merge_needs_old(const fl_merge *merge)
{
    return merge->engine != FL_MERGE_NONE || merge->is_target != NULL ||
           merge->schema->auto_increment >= 0;
}
