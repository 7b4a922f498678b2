/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas: an arena with columns in it, under a reference count. Ids follow Fluss: a column takes
 * the next id, then its nested ROW fields take the following ones depth first, ARRAY and MAP being
 * transparent. Source: Schema.Builder and ReassignFieldId, Fluss 1.0. */
#include "format/schema.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { COLUMN_COUNT_MAX = 32767, NAME_SIZE_MAX = 65535 };

fl_schema *fl_schema_new(void)
{
    fl_schema *schema = fl_calloc(1, sizeof(*schema));
    if (schema == NULL) {
        return NULL;
    }
    atomic_init(&schema->ref_count, 1);
    fl_arena_init(&schema->arena);
    schema->auto_increment = -1;
    schema->highest_field_id = -1;
    return schema;
}

fl_schema *fl_schema_ref(const fl_schema *schema)
{
    /* The count is the one field that sharers change. */
    fl_schema *shared = (fl_schema *)(uintptr_t)schema;
    atomic_fetch_add_explicit(&shared->ref_count, 1, memory_order_relaxed);
    return shared;
}

void fl_schema_unref(fl_schema *schema)
{
    if (schema != NULL &&
        atomic_fetch_sub_explicit(&schema->ref_count, 1, memory_order_acq_rel) == 1) {
        fl_arena_deinit(&schema->arena);
        fl_free(schema);
    }
}

static fluss_code_t check_name(const fl_schema *schema, const char *name, fluss_error_t *err)
{
    const size_t size = strlen(name);
    if (size == 0) {
        return fl_error_argument(err, "column %zu: the name is empty", schema->column_count);
    }
    if (size > NAME_SIZE_MAX || !fl_utf8_is_valid(name, size)) {
        return fl_error_argument(err, "column %zu: the name is not UTF-8 of at most %d bytes",
                                 schema->column_count, NAME_SIZE_MAX);
    }
    if (fl_schema_find(schema, name, size) >= 0) {
        return fl_error_argument(err, "column '%s' is there twice", name);
    }
    if (schema->column_count == COLUMN_COUNT_MAX) {
        return fl_error_argument(err, "column '%s': a table has at most %d columns", name,
                                 COLUMN_COUNT_MAX);
    }
    return 0;
}

static fluss_code_t copy_text(fl_schema *schema, const char *from, const char **to,
                              fluss_error_t *err)
{
    *to = from == NULL ? NULL : fl_arena_strdup(&schema->arena, from);
    return from == NULL || *to != NULL ? 0 : fl_error_nomem(err);
}

static fluss_code_t copy_parameters(fl_schema *schema, const fl_column *from, fl_column *to,
                                    fluss_error_t *err)
{
    to->agg_parameters = NULL;
    if (from->agg_parameter_count == 0) {
        return 0;
    }
    fluss_kv_t *parameters =
        fl_arena_array(&schema->arena, from->agg_parameter_count, sizeof(*parameters));
    if (parameters == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < from->agg_parameter_count; i++) {
        FL_TRY(copy_text(schema, from->agg_parameters[i].key, &parameters[i].key, err));
        FL_TRY(copy_text(schema, from->agg_parameters[i].value, &parameters[i].value, err));
    }
    to->agg_parameters = parameters;
    return 0;
}

/* Room for one more column; the array doubles inside the arena. */
static fluss_code_t make_room(fl_schema *schema, fluss_error_t *err)
{
    if (schema->column_count < schema->column_capacity) {
        return 0;
    }
    const size_t capacity = schema->column_capacity == 0 ? 8 : schema->column_capacity * 2;
    fl_column *grown = fl_arena_array(&schema->arena, capacity, sizeof(*grown));
    if (grown == NULL) {
        return fl_error_nomem(err);
    }
    if (schema->column_count != 0) {
        memcpy(grown, schema->columns, schema->column_count * sizeof(*grown));
    }
    schema->columns = grown;
    schema->column_capacity = capacity;
    return 0;
}

static int32_t largest_id(const fl_type *type)
{
    int32_t largest = -1;
    for (size_t i = 0; i < type->field_count; i++) {
        const int32_t below = largest_id(&type->fields[i].type);
        const int32_t own = type->root == FLUSS_ROW ? type->fields[i].id : -1;
        largest = own > largest ? own : largest;
        largest = below > largest ? below : largest;
    }
    return largest;
}

fluss_code_t fl_schema_add_column(fl_schema *schema, const fl_column *column, fluss_error_t *err)
{
    FL_TRY(check_name(schema, column->name, err));
    const fluss_code_t rc = fl_type_check(&column->type, err);
    if (rc != 0) {
        fl_error_prefix(err, "column '%s': ", column->name);
        return rc;
    }
    FL_TRY(make_room(schema, err));
    fl_column copy = *column;
    FL_TRY(copy_text(schema, column->name, &copy.name, err));
    FL_TRY(copy_text(schema, column->comment, &copy.comment, err));
    FL_TRY(copy_text(schema, column->agg_function, &copy.agg_function, err));
    FL_TRY(copy_parameters(schema, column, &copy, err));
    FL_TRY(fl_type_copy(&column->type, &schema->arena, &copy.type, err));
    size_t position; /* the name is new: it stands where the column does */
    FL_TRY(fl_name_index_add(&schema->names, &schema->arena, copy.name, &position, err));
    const int32_t below = largest_id(&copy.type);
    const int32_t largest = below > copy.id ? below : copy.id;
    if (largest > schema->highest_field_id) {
        schema->highest_field_id = largest;
    }
    schema->columns[schema->column_count++] = copy;
    return 0;
}

static size_t count_ids(const fl_type *type)
{
    size_t count = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        count += (type->root == FLUSS_ROW) + count_ids(&type->fields[i].type);
    }
    return count;
}

/* Whether a column of this type and its fields still get ids. */
static fluss_code_t check_ids_left(const fl_schema *schema, const char *name, const fl_type *type,
                                   fluss_error_t *err)
{
    const int32_t below = largest_id(type);
    const int64_t highest = below > schema->highest_field_id ? below : schema->highest_field_id;
    return 1 + count_ids(type) <= (size_t)(INT32_MAX - highest)
               ? 0
               : fl_error_argument(err, "column '%s': no id is left, the highest field id is %lld",
                                   name, (long long)highest);
}

static void assign_ids(fl_type *type, int32_t *highest)
{
    for (size_t i = 0; i < type->field_count; i++) {
        type->fields[i].id = type->root == FLUSS_ROW ? ++*highest : -1;
        assign_ids(&type->fields[i].type, highest);
    }
}

fluss_code_t fl_schema_add(fl_schema *schema, const char *name, const fl_type *type,
                           const char *comment, fluss_error_t *err)
{
    const fl_column column = {.name = name, .comment = comment, .id = -1, .type = *type};
    FL_TRY(check_ids_left(schema, name, type, err));
    FL_TRY(fl_schema_add_column(schema, &column, err));
    fl_column *added = &schema->columns[schema->column_count - 1];
    added->id = ++schema->highest_field_id;
    assign_ids(&added->type, &schema->highest_field_id);
    return 0;
}

/* ---- ids ---- */

static int32_t *collect_ids(const fl_type *type, int32_t *to)
{
    for (size_t i = 0; i < type->field_count; i++) {
        if (type->root == FLUSS_ROW) {
            *to++ = type->fields[i].id;
        }
        to = collect_ids(&type->fields[i].type, to);
    }
    return to;
}

static int compare_ids(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

fluss_code_t fl_schema_check_ids(const fl_schema *schema, fluss_error_t *err)
{
    size_t count = schema->column_count;
    for (size_t i = 0; i < schema->column_count; i++) {
        count += count_ids(&schema->columns[i].type);
    }
    int32_t *ids = fl_calloc(count, sizeof(*ids));
    if (ids == NULL) {
        return fl_error_nomem(err);
    }
    int32_t *end = ids;
    for (size_t i = 0; i < schema->column_count; i++) {
        *end++ = schema->columns[i].id;
        end = collect_ids(&schema->columns[i].type, end);
    }
    qsort(ids, count, sizeof(*ids), compare_ids);
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (ids[i] < 0) {
            rc = fl_error_argument(err, "schema: a column or field has id %d, expected 0 or more",
                                   ids[i]);
        } else if (i > 0 && ids[i] == ids[i - 1]) {
            rc = fl_error_argument(err, "schema: id %d belongs to two columns or fields", ids[i]);
        } else if (ids[i] > schema->highest_field_id) {
            rc = fl_error_argument(err, "schema: id %d is above the highest field id, %d", ids[i],
                                   schema->highest_field_id);
        }
    }
    fl_free(ids);
    return rc;
}

/* ---- keys ---- */

static fluss_code_t check_key_repeats(const fl_schema *schema, const uint32_t *key, size_t count,
                                      fluss_error_t *err)
{
    bool *is_key = fl_calloc(schema->column_count, sizeof(*is_key));
    if (is_key == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (is_key[key[i]]) {
            rc = fl_error_argument(err, "primary key: column '%s' is named twice",
                                   schema->columns[key[i]].name);
        }
        is_key[key[i]] = true;
    }
    fl_free(is_key);
    return rc;
}

fluss_code_t fl_schema_set_primary_key(fl_schema *schema, const char *const *names, size_t count,
                                       fluss_error_t *err)
{
    if (count == 0) {
        return fl_error_argument(err, "primary key: no column is named");
    }
    uint32_t *key = fl_arena_array(&schema->arena, count, sizeof(*key));
    if (key == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t index = fl_schema_find(schema, names[i], strlen(names[i]));
        if (index < 0) {
            return fl_error_argument(err, "primary key: there is no column '%s'", names[i]);
        }
        key[i] = (uint32_t)index;
    }
    FL_TRY(check_key_repeats(schema, key, count, err));
    for (size_t i = 0; i < count; i++) {
        schema->columns[key[i]].type.nullable = false;
    }
    schema->primary_key = key;
    schema->primary_key_count = count;
    return 0;
}

fluss_code_t fl_schema_set_auto_increment(fl_schema *schema, const char *name, fluss_error_t *err)
{
    const ptrdiff_t index = fl_schema_find(schema, name, strlen(name));
    if (index < 0) {
        return fl_error_argument(err, "auto-increment: there is no column '%s'", name);
    }
    if (schema->primary_key_count == 0) {
        return fl_error_argument(
            err, "auto-increment column '%s': only a primary-key table can have one", name);
    }
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        if (schema->primary_key[i] == (uint32_t)index) {
            return fl_error_argument(
                err, "auto-increment column '%s' can not be used as the primary key", name);
        }
    }
    const uint8_t root = schema->columns[index].type.root;
    if (root != FLUSS_INT && root != FLUSS_BIGINT) {
        return fl_error_argument(err, "auto-increment column '%s' is %s, it must be INT or BIGINT",
                                 name, fl_type_root_name(root));
    }
    schema->auto_increment = (int32_t)index;
    return 0;
}

ptrdiff_t fl_schema_find(const fl_schema *schema, const char *name, size_t name_size)
{
    return fl_name_index_find(&schema->names, name, name_size);
}

/* ---- columns of another schema ---- */

/* A column's id above its index, so that sorted places are sorted by id. */
static uint64_t place_of(int32_t id, size_t index)
{
    return (uint64_t)(uint32_t)id << 32 | index;
}

static int compare_places(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The first place of an id, else -1. */
static int32_t find_id(const uint64_t *sorted, size_t count, int32_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < place_of(id, 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && sorted[low] >> 32 == (uint32_t)id ? (int32_t)(uint32_t)sorted[low] : -1;
}

ptrdiff_t fl_schema_find_id(const fl_schema *schema, int32_t id)
{
    size_t low = 0, high = schema->column_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (schema->columns[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < schema->column_count && schema->columns[low].id == id) {
        return (ptrdiff_t)low;
    }
    for (size_t i = 0; i < schema->column_count; i++) { /* it is missing, or out of order */
        if (schema->columns[i].id == id) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

fluss_code_t fl_schema_match(const fl_schema *from, const fl_schema *to, int32_t *places,
                             fluss_error_t *err)
{
    uint64_t *sorted = fl_calloc(from->column_count, sizeof(*sorted));
    if (sorted == NULL) {
        return fl_error_nomem(err);
    }
    bool is_sorted = true; /* as a rule columns stand in the order of their ids */
    for (size_t i = 0; i < from->column_count; i++) {
        sorted[i] = place_of(from->columns[i].id, i);
        is_sorted = is_sorted && (i == 0 || sorted[i - 1] < sorted[i]);
    }
    if (!is_sorted) {
        qsort(sorted, from->column_count, sizeof(*sorted), compare_places);
    }
    for (size_t i = 0; i < to->column_count; i++) {
        places[i] = find_id(sorted, from->column_count, to->columns[i].id);
    }
    fl_free(sorted);
    return 0;
}

bool fl_schema_has_primary_key(const fl_schema *schema)
{
    return schema->primary_key_count != 0;
}

fluss_code_t fl_schema_project(const fl_schema *schema, const uint32_t *columns, size_t count,
                               fl_schema **projected, fluss_error_t *err)
{
    *projected = NULL;
    fl_schema *result = fl_schema_new();
    if (result == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = columns[i] < schema->column_count
                 ? fl_schema_add_column(result, &schema->columns[columns[i]], err)
                 : fl_error_argument(err, "projection: column index %u, the table has %zu columns",
                                     columns[i], schema->column_count);
    }
    if (rc != 0) {
        fl_schema_unref(result);
        return rc;
    }
    result->highest_field_id = schema->highest_field_id;
    *projected = result;
    return 0;
}
