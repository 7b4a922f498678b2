/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on standard output: an aligned table for people, or a JSON object a line for programs. */
#ifndef FL_CLI_OUTPUT_H
#define FL_CLI_OUTPUT_H
#include <jansson.h>
#include <stdbool.h>

#include <fluss/fluss.h>

typedef struct cli_output cli_output;

/** Start. JSON lines go out at once; of a table 10,000 rows are kept, since its widths are those of
 * its rows; further ones make a table of their own, and a value of more than 1,000 bytes is cut,
 * with a "…". gives (cli_output_end). NULL: out of memory. */
cli_output *cli_output_begin(bool json);
/** Print an object; its keys in order are the columns. takes `row`, in every case; NULL counts as
 * out of memory. @return false: out of memory */
bool cli_output_row(cli_output *output, json_t *row);
/** Say that standard output can't be written, by errno. @return the status of a failure */
int cli_output_failed(const char *command);
/** Print what is kept and free. NULL allowed. */
void cli_output_end(cli_output *output);
/** Print each row of a result, all columns, or those whose names are given. False: no memory. */
bool cli_output_result(bool json, const fluss_result_t *result, const char *const *columns,
                       size_t n);
#endif
