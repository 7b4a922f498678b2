/* SPDX-License-Identifier: Apache-2.0 */
/* A table's descriptor: schema, keys, buckets, properties; and a database's. Their JSON is what
 * travels. */
#ifndef FL_TABLE_DESC_H
#define FL_TABLE_DESC_H
#include "format/schema.h"

typedef struct fl_table_desc {
    fl_arena arena;
    fl_schema *schema;   /* shares */
    const char *comment; /* may be NULL */
    const char **partition_keys;
    size_t partition_key_count;
    const char **bucket_keys;
    size_t bucket_key_count;
    int32_t bucket_count;   /* 0: not given */
    fluss_kv_t *properties; /* table.* */
    size_t property_count;
    fluss_kv_t *custom; /* anything else */
    size_t custom_count;
} fl_table_desc;

typedef struct fl_database_desc {
    fl_arena arena;
    const char *comment;
    fluss_kv_t *custom;
    size_t custom_count;
} fl_database_desc;

/** Empty, except for the schema (shared). gives. NULL: out of memory. */
fl_table_desc *fl_table_desc_new(const fl_schema *schema) FLUSS_CHECKED;
void fl_table_desc_free(fl_table_desc *desc);
/** Set or replace a property (value NULL: remove), kept sorted by key. */
FLUSS_CHECKED fluss_code_t fl_table_desc_set_property(fl_table_desc *desc, const char *key,
                                                      const char *value, fluss_error_t *err);
/** The same for the user's own properties. */
FLUSS_CHECKED fluss_code_t fl_table_desc_set_custom(fl_table_desc *desc, const char *key,
                                                    const char *value, fluss_error_t *err);
/** Replace the rest; all is copied. @param comment NULL: none */
FLUSS_CHECKED fluss_code_t fl_table_desc_set_comment(fl_table_desc *desc, const char *comment,
                                                     fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_table_desc_set_partition_keys(fl_table_desc *desc,
                                                            const char *const *names, size_t count,
                                                            fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_table_desc_set_bucket_keys(fl_table_desc *desc,
                                                         const char *const *names, size_t count,
                                                         fluss_error_t *err);
/** Value of a table.* property; NULL: not set. */
const char *fl_table_desc_property(const fl_table_desc *desc, const char *key);

/** The rules that hold for every descriptor, whoever made it: keys exist, no repeats, partition
 * keys inside the primary key and not equal to it, bucket keys inside primary key minus partition
 * keys. Fills the default bucket keys of a primary-key table.
 * @return FLUSS_E_INVALID_TABLE naming the column */
FLUSS_CHECKED fluss_code_t fl_table_desc_check(fl_table_desc *desc, fluss_error_t *err);

/* JSON. Readers ignore unknown keys and give FLUSS_E_INVALID_TABLE with place and reason; writers
 * are compact, in Java's key order. */
FLUSS_CHECKED fluss_code_t fl_type_from_json(fl_slice json, fl_arena *arena, fl_type *type,
                                             fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_type_to_json(const fl_type *type, fl_buf *out, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_schema_from_json(fl_slice json, fl_schema **schema,
                                               fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_schema_to_json(const fl_schema *schema, fl_buf *out,
                                             fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_table_desc_from_json(fl_slice json, fl_table_desc **desc,
                                                   fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_table_desc_to_json(const fl_table_desc *desc, fl_buf *out,
                                                 fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_database_desc_from_json(fl_slice json, fl_database_desc **desc,
                                                      fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_database_desc_to_json(const fl_database_desc *desc, fl_buf *out,
                                                    fluss_error_t *err);
/** Set or replace a custom property (value NULL: remove), kept sorted by key. */
FLUSS_CHECKED fluss_code_t fl_database_desc_set_custom(fl_database_desc *desc, const char *key,
                                                       const char *value, fluss_error_t *err);
void fl_database_desc_free(fl_database_desc *desc);
#endif
