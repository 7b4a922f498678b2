/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_schema.h: schemas and descriptors. Type texts are made when a column is added, so that
 * reading a finished schema needs no memory and no lock. */
#include "client/schema.h"

#include <fluss/fluss_arrow.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "client/options.h"
#include "format/arrow.h"

enum { TYPE_TEXT_SIZE_MAX = 1 << 20, JSON_SIZE_MAX = 64 << 20 };

fluss_schema_t *fluss_schema_new(void)
{
    fluss_schema_t *schema = fl_calloc(1, sizeof(*schema));
    if (schema == NULL) {
        return NULL;
    }
    schema->schema = fl_schema_new();
    if (schema->schema == NULL) {
        fl_free(schema);
        return NULL;
    }
    return schema;
}

void fluss_schema_free(fluss_schema_t *schema)
{
    if (schema == NULL) {
        return;
    }
    for (size_t i = 0; i < schema->type_count; i++) {
        fl_free(schema->types[i]);
    }
    fl_free(schema->types);
    fl_schema_unref(schema->schema);
    fl_free(schema);
}

/* Make the text of column i anew. */
static fluss_code_t print_type(fluss_schema_t *schema, size_t i, fluss_error_t *err)
{
    fl_buf text;
    fl_buf_init(&text, TYPE_TEXT_SIZE_MAX);
    fluss_code_t rc = fl_type_print(&schema->schema->columns[i].type, &text, err);
    if (rc == 0) {
        rc = fl_buf_append_byte(&text, 0, err);
    }
    if (rc == 0) {
        size_t size;
        fl_free(schema->types[i]);
        schema->types[i] = (char *)fl_buf_take(&text, &size);
    }
    fl_buf_deinit(&text);
    return rc;
}

/* Room for the texts of all columns, and those of the new ones. */
static fluss_code_t print_new_types(fluss_schema_t *schema, fluss_error_t *err)
{
    const size_t count = schema->schema->column_count;
    while (schema->type_count < count) {
        char **types =
            fl_grow(schema->types, &schema->type_capacity, schema->type_count, sizeof(*types));
        if (types == NULL) {
            return fl_error_nomem(err);
        }
        schema->types = types;
        types[schema->type_count++] = NULL;
        FL_TRY(print_type(schema, schema->type_count - 1, err));
    }
    return 0;
}

fluss_code_t fl_client_schema_wrap(const fl_schema *from, fluss_schema_t **out, fluss_error_t *err)
{
    fluss_schema_t *schema = fl_calloc(1, sizeof(*schema));
    if (schema == NULL) {
        return fl_error_nomem(err);
    }
    schema->schema = fl_schema_ref(from);
    const fluss_code_t rc = print_new_types(schema, err);
    if (rc != 0) {
        fluss_schema_free(schema);
        return rc;
    }
    *out = schema;
    return 0;
}

fluss_code_t fl_error_column(fluss_error_t *err, const fl_schema *schema, const char *name)
{
    char known[600] = "";
    size_t used = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        const size_t size = strlen(schema->columns[i].name);
        if (used + size + 8 > sizeof(known)) {
            memcpy(known + used, ", …", sizeof(", …"));
            break;
        }
        if (i > 0) {
            memcpy(known + used, ", ", 2);
            used += 2;
        }
        memcpy(known + used, schema->columns[i].name, size + 1);
        used += size;
    }
    return fl_error_argument(err, "no column '%.100s'; the columns are %s", name, known);
}

fluss_code_t fluss_schema_add(fluss_schema_t *schema, const char *name, const char *type,
                              const char *comment, fluss_error_t *err)
{
    if (schema == NULL || name == NULL || type == NULL) {
        return fl_error_argument(err, "schema, name and type must not be NULL");
    }
    fl_arena arena;
    fl_arena_init(&arena);
    fl_type parsed;
    fluss_code_t rc = fl_type_parse(type, &arena, &parsed, err);
    if (rc != 0) {
        fl_error_prefix(err, "column '%.100s': ", name);
    } else {
        rc = fl_schema_add(schema->schema, name, &parsed, comment, err);
    }
    fl_arena_deinit(&arena);
    return rc == 0 ? print_new_types(schema, err) : rc;
}

fluss_code_t fluss_schema_primary_key(fluss_schema_t *schema, const char *const *names, size_t n,
                                      fluss_error_t *err)
{
    if (schema == NULL || names == NULL || n == 0) {
        return fl_error_argument(err, "schema and names must not be NULL, and n not 0");
    }
    for (size_t i = 0; i < n; i++) {
        if (names[i] == NULL) {
            return fl_error_argument(err, "the name of key column %zu is NULL", i);
        }
    }
    FL_TRY(fl_schema_set_primary_key(schema->schema, names, n, err));
    for (size_t i = 0; i < schema->schema->primary_key_count; i++) {
        FL_TRY(print_type(schema, schema->schema->primary_key[i], err));
    }
    return 0;
}

fluss_code_t fluss_schema_auto_increment(fluss_schema_t *schema, const char *name,
                                         fluss_error_t *err)
{
    if (schema == NULL || name == NULL) {
        return fl_error_argument(err, "schema and name must not be NULL");
    }
    return fl_schema_set_auto_increment(schema->schema, name, err);
}

fluss_code_t fluss_schema_from_arrow(const struct ArrowSchema *in, fluss_schema_t **out,
                                     fluss_error_t *err)
{
    if (in == NULL || out == NULL) {
        return fl_error_argument(err, "in and out must not be NULL");
    }
    *out = NULL;
    fl_schema *schema;
    FL_TRY(fl_arrow_schema_to(in, &schema, err));
    const fluss_code_t rc = fl_client_schema_wrap(schema, out, err);
    fl_schema_unref(schema);
    return rc;
}

fluss_code_t fluss_schema_to_arrow(const fluss_schema_t *schema, struct ArrowSchema *out,
                                   fluss_error_t *err)
{
    if (schema == NULL || out == NULL) {
        return fl_error_argument(err, "schema and out must not be NULL");
    }
    memset(out, 0, sizeof(*out));
    return fl_arrow_schema_from(schema->schema, out, err);
}

size_t fluss_schema_columns(const fluss_schema_t *schema)
{
    return schema != NULL ? schema->schema->column_count : 0;
}

fluss_code_t fluss_schema_column(const fluss_schema_t *schema, size_t i, const char **name,
                                 const char **type, const char **comment)
{
    const bool exists = i < fluss_schema_columns(schema);
    if (name != NULL) {
        *name = exists ? schema->schema->columns[i].name : NULL;
    }
    if (type != NULL) {
        *type = exists ? schema->types[i] : NULL;
    }
    if (comment != NULL) {
        *comment = exists ? schema->schema->columns[i].comment : NULL;
    }
    return exists ? 0 : FLUSS_E_CLIENT;
}

const char *fluss_schema_key(const fluss_schema_t *schema, size_t i)
{
    if (schema == NULL || i >= schema->schema->primary_key_count) {
        return NULL;
    }
    return schema->schema->columns[schema->schema->primary_key[i]].name;
}

const char *fluss_schema_auto_increment_column(const fluss_schema_t *schema)
{
    if (schema == NULL || schema->schema->auto_increment < 0) {
        return NULL;
    }
    return schema->schema->columns[schema->schema->auto_increment].name;
}

/* ---- descriptors ---- */

static fluss_code_t copy_names(fl_arena *arena, const char *const *names, size_t n,
                               const char ***out, const char *what, fluss_error_t *err)
{
    if (n > 0 && names == NULL) {
        return fl_error_argument(err, "%s must not be NULL", what);
    }
    const char **copies = fl_arena_array(arena, n, sizeof(*copies));
    for (size_t i = 0; i < n && copies != NULL; i++) {
        if (names[i] == NULL) {
            return fl_error_argument(err, "%s: name %zu is NULL", what, i);
        }
        copies[i] = fl_arena_strdup(arena, names[i]);
        if (copies[i] == NULL) {
            return fl_error_nomem(err);
        }
    }
    *out = copies;
    return copies != NULL ? 0 : fl_error_nomem(err);
}

static fluss_code_t copy_pairs(fl_arena *arena, const fluss_kv_t *pairs, size_t n, fluss_kv_t **out,
                               const char *what, fluss_error_t *err)
{
    if (n > 0 && pairs == NULL) {
        return fl_error_argument(err, "%s must not be NULL", what);
    }
    fluss_kv_t *copies = fl_arena_array(arena, n, sizeof(*copies));
    for (size_t i = 0; i < n && copies != NULL; i++) {
        if (pairs[i].key == NULL || pairs[i].value == NULL) {
            return fl_error_argument(err, "%s: key or value %zu is NULL", what, i);
        }
        copies[i].key = fl_arena_strdup(arena, pairs[i].key);
        copies[i].value = fl_arena_strdup(arena, pairs[i].value);
        if (copies[i].key == NULL || copies[i].value == NULL) {
            return fl_error_nomem(err);
        }
    }
    *out = copies;
    return copies != NULL ? 0 : fl_error_nomem(err);
}

static fluss_code_t fill_desc(fl_table_desc *desc, const fluss_desc_opts_t *o, fluss_error_t *err)
{
    fl_arena *arena = &desc->arena;
    if (o->buckets < 0) {
        return fl_error_argument(err, "the number of buckets is %d", o->buckets);
    }
    FL_TRY(copy_names(arena, o->partition_keys, o->n_partition_keys, &desc->partition_keys,
                      "partition_keys", err));
    desc->partition_key_count = o->n_partition_keys;
    FL_TRY(copy_names(arena, o->bucket_keys, o->n_bucket_keys, &desc->bucket_keys, "bucket_keys",
                      err));
    desc->bucket_key_count = o->n_bucket_keys;
    desc->bucket_count = o->buckets;
    if (o->comment != NULL) {
        desc->comment = fl_arena_strdup(arena, o->comment);
        if (desc->comment == NULL) {
            return fl_error_nomem(err);
        }
    }
    FL_TRY(copy_pairs(arena, o->custom, o->n_custom, &desc->custom, "custom", err));
    desc->custom_count = o->n_custom;
    for (size_t i = 0; i < o->n_properties; i++) {
        const fluss_kv_t *pair = o->properties != NULL ? &o->properties[i] : NULL;
        if (pair == NULL || pair->key == NULL || pair->value == NULL) {
            return fl_error_argument(err, "property %zu has no key or no value", i);
        }
        FL_TRY(fl_table_desc_set_property(desc, pair->key, pair->value, err));
    }
    if (o->log_format != NULL) {
        FL_TRY(fl_table_desc_set_property(desc, "table.log.format", o->log_format, err));
    }
    if (o->kv_format != NULL) {
        FL_TRY(fl_table_desc_set_property(desc, "table.kv.format", o->kv_format, err));
    }
    return 0;
}

fluss_code_t fluss_desc_new(const fluss_schema_t *schema, const fluss_desc_opts_t *opts,
                            fluss_desc_t **out, fluss_error_t *err)
{
    if (schema == NULL || out == NULL) {
        return fl_error_argument(err, "schema and out must not be NULL");
    }
    *out = NULL;
    fluss_desc_opts_t o;
    FL_TRY(fl_opts_read(opts, &o, sizeof(o), "fluss_desc_opts_t", err));
    fl_buf json;
    fl_buf_init(&json, JSON_SIZE_MAX);
    fluss_code_t rc = 0;
    fluss_desc_t *desc = fl_calloc(1, sizeof(*desc));
    if (desc == NULL) {
        return fl_error_nomem(err);
    }
    desc->desc = fl_table_desc_new(schema->schema);
    if (desc->desc == NULL) {
        fl_free(desc);
        return fl_error_nomem(err);
    }
    FL_TRY_OUT(fill_desc(desc->desc, &o, err));
    FL_TRY_OUT(fl_table_desc_check(desc->desc, err));
    FL_TRY_OUT(fl_table_desc_to_json(desc->desc, &json, err));
    desc->json.data = fl_buf_take(&json, &desc->json.size);
    *out = desc;
    desc = NULL;
out:
    fl_buf_deinit(&json);
    fluss_desc_free(desc);
    return rc;
}

void fluss_desc_free(fluss_desc_t *desc)
{
    if (desc != NULL) {
        fl_table_desc_free(desc->desc);
        fl_free((void *)(uintptr_t)desc->json.data);
        fl_free(desc);
    }
}
