/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_schema.h - schemas and table descriptors. Built by one thread, then immutable. */
#ifndef FLUSS_SCHEMA_H
#define FLUSS_SCHEMA_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- schemas ---- */

/**
 * An empty schema.
 *
 * @return gives (fluss_schema_free); NULL: out of memory
 * Thread: any. Source: Schema.newBuilder.
 */
FLUSS_API fluss_schema_t *fluss_schema_new(void);

/**
 * Append a column.
 *
 * @param name     copied
 * @param type     "INT", "STRING NOT NULL", "ARRAY<DECIMAL(10,2)>", "ROW<a INT, b STRING>"; any
 *                 case; copied
 * @param comment  copied; may be NULL
 * @return 0; FLUSS_KIND_ARGUMENT: empty or repeated name, unreadable type (the message shows the
 *         place); the schema is unchanged then
 * Thread: one while it is built. Source: Schema.Builder.column.
 */
FLUSS_API fluss_code_t fluss_schema_add(fluss_schema_t *schema, const char *name, const char *type,
                                        const char *comment, fluss_error_t *err);

/**
 * Set the primary key; its columns become NOT NULL.
 *
 * @param names  n column names, in key order; copied
 * @return 0; FLUSS_KIND_ARGUMENT: unknown or repeated name, no name
 * Thread: one while it is built. Source: Schema.Builder.primaryKey.
 */
FLUSS_API fluss_code_t fluss_schema_primary_key(fluss_schema_t *schema, const char *const *names,
                                                size_t n, fluss_error_t *err);

/**
 * Let the server number a column.
 *
 * @param name  of the column
 * @return 0; FLUSS_KIND_ARGUMENT: unknown, part of the key, not INT or BIGINT, no primary key yet
 * Thread: one while it is built. Source: Schema.Builder.enableAutoIncrement.
 */
FLUSS_API fluss_code_t fluss_schema_auto_increment(fluss_schema_t *schema, const char *name,
                                                   fluss_error_t *err);

/**
 * Columns from an Arrow struct schema, without keys.
 *
 * @param in   borrowed
 * @param out  gives (fluss_schema_free); NULL on failure
 * @return 0; FLUSS_KIND_ARGUMENT names the field whose type Fluss has not
 * Thread: any. Source: ours.
 */
FLUSS_API fluss_code_t fluss_schema_from_arrow(const struct ArrowSchema *in, fluss_schema_t **out,
                                               fluss_error_t *err);

/**
 * The columns as an Arrow struct schema.
 *
 * @param out  gives (out->release); release is NULL on failure
 * @return 0, FLUSS_KIND_ARGUMENT or FLUSS_KIND_NOMEM
 * Thread: any. Source: ours; types as ArrowUtils.
 */
FLUSS_API fluss_code_t fluss_schema_to_arrow(const fluss_schema_t *schema, struct ArrowSchema *out,
                                             fluss_error_t *err);

/**
 * Number of columns.
 *
 * @return 0 when `schema` is NULL
 * Thread: any. Source: Schema.getColumns.
 */
FLUSS_API size_t fluss_schema_columns(const fluss_schema_t *schema);

/**
 * Read one column.
 *
 * @param i        0-based
 * @param name     borrowed from the schema; may be NULL
 * @param type     its text in canonical form, borrowed; may be NULL
 * @param comment  borrowed, NULL for none; may be NULL
 * @return 0; FLUSS_KIND_ARGUMENT's code: i is not below the number of columns
 * Thread: any. Source: Schema.getColumns.
 */
FLUSS_API fluss_code_t fluss_schema_column(const fluss_schema_t *schema, size_t i,
                                           const char **name, const char **type,
                                           const char **comment);

/**
 * Name of a column of the primary key.
 *
 * @param i  0-based, in key order
 * @return borrowed; NULL past the last
 * Thread: any. Source: Schema.getPrimaryKey.
 */
FLUSS_API const char *fluss_schema_key(const fluss_schema_t *schema, size_t i);

/**
 * Name of the column that the server numbers.
 *
 * @return borrowed; NULL: none
 * Thread: any. Source: Schema.getAutoIncrementColumnNames.
 */
FLUSS_API const char *fluss_schema_auto_increment_column(const fluss_schema_t *schema);

/**
 * Release a schema that a function gave; those borrowed from a table are the table's.
 *
 * @param schema  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_schema_free(fluss_schema_t *schema);

/* ---- table descriptors ---- */

/** What a table is besides its schema; everything may be left out. */
typedef struct {
    size_t size; /* sizeof(fluss_desc_opts_t) */
    const char *const *partition_keys;
    size_t n_partition_keys;
    const char *const *bucket_keys;
    size_t n_bucket_keys;
    int32_t buckets; /* 0: the server's default */
    const char *comment;
    const char *log_format, *kv_format; /* "arrow", "indexed", "compacted"; NULL: default */
    const fluss_kv_t *properties;       /* table.* */
    size_t n_properties;
    const fluss_kv_t *custom; /* the user's own */
    size_t n_custom;
} fluss_desc_opts_t;

/**
 * A table descriptor, for fluss_create_table.
 *
 * @param schema  copied
 * @param opts    copied; NULL: nothing but the schema
 * @param out     gives (fluss_desc_free); NULL on failure
 * @return 0; FLUSS_KIND_ARGUMENT or FLUSS_E_INVALID_TABLE, naming the column or key
 * Thread: any. Source: TableDescriptor.Builder.build.
 */
FLUSS_API fluss_code_t fluss_desc_new(const fluss_schema_t *schema, const fluss_desc_opts_t *opts,
                                      fluss_desc_t **out, fluss_error_t *err);

/**
 * Release a descriptor.
 *
 * @param desc  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_desc_free(fluss_desc_t *desc);

/** Everything known of an open table. Borrowed from the table. */
typedef struct {
    size_t size; /* of the library's struct */
    fluss_path_t path;
    int64_t table_id, created_ms, modified_ms; /* ms since 1970 */
    int32_t schema_id, buckets;
    const fluss_schema_t *schema;
    const char *comment; /* NULL: none */
    const char *const *primary_keys, *const *bucket_keys, *const *partition_keys;
    size_t n_primary_keys, n_bucket_keys, n_partition_keys;
    const fluss_kv_t *properties, *custom;
    size_t n_properties, n_custom;
} fluss_table_info_t;

#ifdef __cplusplus
}
#endif
#endif
