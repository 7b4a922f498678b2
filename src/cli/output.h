/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on standard output: an aligned table for people, or a JSON object a line for programs. */
#ifndef FL_CLI_OUTPUT_H
#define FL_CLI_OUTPUT_H
#include <jansson.h>
#include <stdbool.h>

#include <fluss/fluss.h>

typedef struct cli_output cli_output;

/** Start. JSON lines go out at once; a table is kept until the end, since its widths are those of
 * all its rows. gives (cli_output_end). NULL: out of memory. */
cli_output *cli_output_begin(bool json);
/** Print an object; its keys in order are the columns. takes `row`, in every case; NULL counts as
 * out of memory. @return false: out of memory */
bool cli_output_row(cli_output *output, json_t *row);
/** Print what is kept and free. NULL allowed. */
void cli_output_end(cli_output *output);
/** Print each row of a result, all columns, or those whose names are given. False: no memory. */
bool cli_output_result(bool json, const fluss_result_t *result, const char *const *columns,
                       size_t n);
#endif
