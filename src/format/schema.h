/* SPDX-License-Identifier: Apache-2.0 */
/* A table's schema: columns with ids, primary key. Built once, then immutable and shared. */
#ifndef FL_SCHEMA_H
#define FL_SCHEMA_H
#include <stdatomic.h>

#include "base/name_index.h"
#include "format/types.h"

typedef struct fl_column {
    const char *name;
    const char *comment;      /* may be NULL */
    const char *agg_function; /* canonical upper case name, or NULL */
    const fluss_kv_t *agg_parameters;
    size_t agg_parameter_count;
    int32_t id; /* unique over columns and nested ROW fields */
    fl_type type;
} fl_column;

typedef struct fl_schema {
    atomic_int ref_count;
    fl_arena arena;
    fl_column *columns;
    size_t column_count, column_capacity;
    fl_name_index names;   /* of the columns, by index */
    uint32_t *primary_key; /* column indexes in key order; empty: log table */
    size_t primary_key_count;
    int32_t auto_increment; /* column index, -1: none */
    int32_t highest_field_id;
} fl_schema;

/** Grows by fl_schema_add until someone else sees it. gives (fl_schema_unref). NULL: out of memory.
 */
fl_schema *fl_schema_new(void) FLUSS_CHECKED;
/** shares. Thread: any. */
fl_schema *fl_schema_ref(const fl_schema *schema);
void fl_schema_unref(fl_schema *schema); /* NULL allowed */

/** Append a column; its id, and those of nested fields, continue from highest_field_id (Fluss's
 * rule). `type` is copied.
 * @return FLUSS_KIND_ARGUMENT: empty, repeated or not UTF-8 name, no ids left */
FLUSS_CHECKED fluss_code_t fl_schema_add(fl_schema *schema, const char *name, const fl_type *type,
                                         const char *comment, fluss_error_t *err);
/** Append a column as it is, ids included (columns read from JSON, or of an older schema). The
 * column is copied; highest_field_id rises to its largest id. */
FLUSS_CHECKED fluss_code_t fl_schema_add_column(fl_schema *schema, const fl_column *column,
                                                fluss_error_t *err);
/** Check that all ids, of columns and nested fields, are different and at most highest_field_id. */
FLUSS_CHECKED fluss_code_t fl_schema_check_ids(const fl_schema *schema, fluss_error_t *err);
/** Set the primary key by names, in key order; its columns become NOT NULL. @return unknown or
 * repeated name */
FLUSS_CHECKED fluss_code_t fl_schema_set_primary_key(fl_schema *schema, const char *const *names,
                                                     size_t count, fluss_error_t *err);
/** @return unknown column, a key column, not INT or BIGINT, or no primary key */
FLUSS_CHECKED fluss_code_t fl_schema_set_auto_increment(fl_schema *schema, const char *name,
                                                        fluss_error_t *err);
/** Index of a column; -1: none. Cost: the same for any number of columns. */
ptrdiff_t fl_schema_find(const fl_schema *schema, const char *name, size_t name_size);
/** Index of the column of an id; -1: none. Cost: small while columns stand in the order of their
 * ids. */
ptrdiff_t fl_schema_find_id(const fl_schema *schema, int32_t id);
/** Where the columns of `to` stand in another schema, by id; -1: nowhere.
 * @param places to->column_count of them */
FLUSS_CHECKED fluss_code_t fl_schema_match(const fl_schema *from, const fl_schema *to,
                                           int32_t *places, fluss_error_t *err);
bool fl_schema_has_primary_key(const fl_schema *schema);
/** The chosen columns (indexes in any order, each at most once) as a schema of their own, ids kept,
 * without keys. */
FLUSS_CHECKED fluss_code_t fl_schema_project(const fl_schema *schema, const uint32_t *columns,
                                             size_t count, fl_schema **projected,
                                             fluss_error_t *err);
#endif
