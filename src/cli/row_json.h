/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table as JSON objects with the column names as keys, both ways. */
#ifndef FL_CLI_ROW_JSON_H
#define FL_CLI_ROW_JSON_H
#include "values.h"

/** Some columns of a table, and room for a row of them. */
typedef struct cli_columns {
    const char *owner; /* of the columns, in errors: "table", or "key" when they were named */
    size_t count;
    const char **names; /* borrowed from the schema */
    cli_type *types;
    fluss_datum_t *row; /* what cli_row_read made last */
    cli_pool *pool;     /* memory of that row */
} cli_columns;

/** Take the named columns in their order, or all when n is 0. Names that the table lacks are an
 * error. gives (cli_columns_close), also on failure. */
fluss_code_t cli_columns_open(cli_columns *columns, const fluss_schema_t *schema,
                              const char *const *names, size_t n, fluss_error_t *err);
void cli_columns_close(cli_columns *columns);

/** A JSON object of a line of text; gives (json_decref). NULL: it is none, err says why. */
json_t *cli_row_parse(const char *line, size_t size, fluss_error_t *err);
/** An object as columns->row, which holds until the next call and while the object lives. A key
 * that is no column is an error, a column that is left out is null. */
fluss_code_t cli_row_read(cli_columns *columns, json_t *object, fluss_error_t *err);

/** Put the values of a row of these columns into an object. False: no memory, or a bad row. */
bool cli_row_add(json_t *object, const fluss_row_t *row, const char *const *names,
                 const cli_type *types, size_t n);
#endif
