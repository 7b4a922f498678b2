/* SPDX-License-Identifier: Apache-2.0 */
/* The public schema and descriptor objects around the format's. */
#ifndef FL_CLIENT_SCHEMA_H
#define FL_CLIENT_SCHEMA_H
#include <fluss/fluss_schema.h>

#include "format/table_desc.h"

struct fluss_schema {
    fl_schema *schema; /* shares */
    char **types;      /* text of each column's type, made when the column changes */
    size_t type_count, type_capacity;
};

struct fluss_desc {
    fl_table_desc *desc;
    fl_slice json; /* what travels; owned */
};

/** "no column 'x'; the columns are a, b, c". */
fluss_code_t fl_error_column(fluss_error_t *err, const fl_schema *schema, const char *name);
/** A public schema around a finished one, which it shares. */
FLUSS_CHECKED fluss_code_t fl_client_schema_wrap(const fl_schema *schema, fluss_schema_t **out,
                                                 fluss_error_t *err);
#endif
