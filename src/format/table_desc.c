/* SPDX-License-Identifier: Apache-2.0 */
/* Table descriptors in memory, and the rules that hold for every one of them. Replaced texts stay
 * in the arena until the descriptor goes: a descriptor is edited a few times and then kept. */
#include "format/table_desc.h"

#include "base/alloc.h"
#include "base/utf8.h"

fl_table_desc *fl_table_desc_new(const fl_schema *schema)
{
    fl_table_desc *desc = fl_calloc(1, sizeof(*desc));
    if (desc != NULL) {
        fl_arena_init(&desc->arena);
        desc->schema = fl_schema_ref(schema);
    }
    return desc;
}

void fl_table_desc_free(fl_table_desc *desc)
{
    if (desc != NULL) {
        fl_schema_unref(desc->schema);
        fl_arena_deinit(&desc->arena);
        fl_free(desc);
    }
}

void fl_database_desc_free(fl_database_desc *desc)
{
    if (desc != NULL) {
        fl_arena_deinit(&desc->arena);
        fl_free(desc);
    }
}

static fluss_code_t check_text(const char *what, const char *text, fluss_error_t *err)
{
    return fl_utf8_is_valid(text, strlen(text)) ? 0
                                                : fl_error_argument(err, "%s is not UTF-8", what);
}

/* Position of a key among sorted entries, or where it would stand. */
static size_t find_entry(const fluss_kv_t *entries, size_t count, const char *key, bool *found)
{
    size_t at = 0;
    while (at < count && strcmp(entries[at].key, key) < 0) {
        at++;
    }
    *found = at < count && strcmp(entries[at].key, key) == 0;
    return at;
}

static fluss_code_t set_entry(fl_arena *arena, fluss_kv_t **entries, size_t *count, const char *key,
                              const char *value, fluss_error_t *err)
{
    bool found;
    const size_t at = find_entry(*entries, *count, key, &found);
    if (value == NULL) {
        if (found) {
            (*count)--;
            memmove(*entries + at, *entries + at + 1, (*count - at) * sizeof(**entries));
        }
        return 0;
    }
    FL_TRY(check_text("a property's key", key, err));
    FL_TRY(check_text("a property's value", value, err));
    const char *value_copy = fl_arena_strdup(arena, value);
    if (value_copy == NULL) {
        return fl_error_nomem(err);
    }
    if (found) {
        (*entries)[at].value = value_copy;
        return 0;
    }
    const char *key_copy = fl_arena_strdup(arena, key);
    fluss_kv_t *grown = fl_arena_array(arena, *count + 1, sizeof(*grown));
    if (key_copy == NULL || grown == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < *count; i++) {
        grown[i < at ? i : i + 1] = (*entries)[i];
    }
    grown[at] = (fluss_kv_t){key_copy, value_copy};
    *entries = grown;
    (*count)++;
    return 0;
}

fluss_code_t fl_table_desc_set_property(fl_table_desc *desc, const char *key, const char *value,
                                        fluss_error_t *err)
{
    return set_entry(&desc->arena, &desc->properties, &desc->property_count, key, value, err);
}

fluss_code_t fl_table_desc_set_custom(fl_table_desc *desc, const char *key, const char *value,
                                      fluss_error_t *err)
{
    return set_entry(&desc->arena, &desc->custom, &desc->custom_count, key, value, err);
}

fluss_code_t fl_database_desc_set_custom(fl_database_desc *desc, const char *key, const char *value,
                                         fluss_error_t *err)
{
    return set_entry(&desc->arena, &desc->custom, &desc->custom_count, key, value, err);
}

const char *fl_table_desc_property(const fl_table_desc *desc, const char *key)
{
    bool found;
    const size_t at = find_entry(desc->properties, desc->property_count, key, &found);
    return found ? desc->properties[at].value : NULL;
}

fluss_code_t fl_table_desc_set_comment(fl_table_desc *desc, const char *comment, fluss_error_t *err)
{
    const char *copy = NULL;
    if (comment != NULL) {
        FL_TRY(check_text("the comment", comment, err));
        copy = fl_arena_strdup(&desc->arena, comment);
        if (copy == NULL) {
            return fl_error_nomem(err);
        }
    }
    desc->comment = copy;
    return 0;
}

static fluss_code_t copy_names(fl_arena *arena, const char *const *names, size_t count,
                               const char ***copies, size_t *copy_count, fluss_error_t *err)
{
    const char **list = fl_arena_array(arena, count, sizeof(*list));
    if (list == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = fl_arena_strdup(arena, names[i]);
        if (list[i] == NULL) {
            return fl_error_nomem(err);
        }
    }
    *copies = list;
    *copy_count = count;
    return 0;
}

fluss_code_t fl_table_desc_set_partition_keys(fl_table_desc *desc, const char *const *names,
                                              size_t count, fluss_error_t *err)
{
    return copy_names(&desc->arena, names, count, &desc->partition_keys, &desc->partition_key_count,
                      err);
}

fluss_code_t fl_table_desc_set_bucket_keys(fl_table_desc *desc, const char *const *names,
                                           size_t count, fluss_error_t *err)
{
    return copy_names(&desc->arena, names, count, &desc->bucket_keys, &desc->bucket_key_count, err);
}

/* ---- rules ---- */

static fluss_code_t invalid(fluss_error_t *err, const char *what, const char *name,
                            const char *rule)
{
    return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT, "%s '%s' %s", what, name,
                    rule);
}

static bool contains(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_primary_key(const fl_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        if (strcmp(schema->columns[schema->primary_key[i]].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Every name is a column, none stands twice. */
static fluss_code_t check_names(const fl_schema *schema, const char *what, const char *const *names,
                                size_t count, fluss_error_t *err)
{
    for (size_t i = 0; i < count; i++) {
        if (fl_schema_find(schema, names[i], strlen(names[i])) < 0) {
            return invalid(err, what, names[i], "is no column of the table");
        }
        if (contains(names, i, names[i])) {
            return invalid(err, what, names[i], "is named twice");
        }
    }
    return 0;
}

static fluss_code_t check_partition_keys(const fl_table_desc *desc, fluss_error_t *err)
{
    const fl_schema *schema = desc->schema;
    FL_TRY(
        check_names(schema, "partition key", desc->partition_keys, desc->partition_key_count, err));
    if (!fl_schema_has_primary_key(schema)) {
        return 0;
    }
    for (size_t i = 0; i < desc->partition_key_count; i++) {
        if (!is_primary_key(schema, desc->partition_keys[i])) {
            return invalid(err, "partition key", desc->partition_keys[i],
                           "is not part of the primary key");
        }
    }
    /* Inside the primary key, without repeats and as many: the same columns. */
    if (desc->partition_key_count == schema->primary_key_count) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "the primary key has no column besides the partition keys");
    }
    return 0;
}

static fluss_code_t check_bucket_keys(const fl_table_desc *desc, fluss_error_t *err)
{
    FL_TRY(check_names(desc->schema, "bucket key", desc->bucket_keys, desc->bucket_key_count, err));
    for (size_t i = 0; i < desc->bucket_key_count; i++) {
        const char *name = desc->bucket_keys[i];
        if (contains(desc->partition_keys, desc->partition_key_count, name)) {
            return invalid(err, "bucket key", name, "is a partition key");
        }
        if (fl_schema_has_primary_key(desc->schema) && !is_primary_key(desc->schema, name)) {
            return invalid(err, "bucket key", name, "is not part of the primary key");
        }
    }
    return 0;
}

static fluss_code_t default_bucket_keys(fl_table_desc *desc, fluss_error_t *err)
{
    const fl_schema *schema = desc->schema;
    const char **names = fl_arena_array(&desc->arena, schema->primary_key_count, sizeof(*names));
    if (names == NULL) {
        return fl_error_nomem(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        const char *name = schema->columns[schema->primary_key[i]].name;
        if (!contains(desc->partition_keys, desc->partition_key_count, name)) {
            names[count++] = name; /* the schema lives as long as the descriptor */
        }
    }
    desc->bucket_keys = names;
    desc->bucket_key_count = count;
    return 0;
}

fluss_code_t fl_table_desc_check(fl_table_desc *desc, fluss_error_t *err)
{
    if (desc->schema->column_count == 0) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT, "the table has no column");
    }
    FL_TRY(check_partition_keys(desc, err));
    FL_TRY(check_bucket_keys(desc, err));
    if (desc->bucket_key_count == 0 && fl_schema_has_primary_key(desc->schema)) {
        return default_bucket_keys(desc, err);
    }
    return 0;
}
