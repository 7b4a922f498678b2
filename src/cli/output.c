/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as a table (libsmartcols) or as JSON lines (jansson). */
#include "output.h"

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cli_output {
    bool json;
    struct libscols_table *table; /* NULL until the first row names the columns */
};

cli_output *cli_output_begin(bool json)
{
    cli_output *output = calloc(1, sizeof(*output));
    if (output != NULL) {
        output->json = json;
    }
    return output;
}

/* Numbers to the right, all else to the left. */
static bool make_columns(cli_output *output, json_t *row)
{
    output->table = scols_new_table();
    if (output->table == NULL) {
        return false;
    }
    const char *key;
    json_t *value;
    json_object_foreach(row, key, value)
    {
        const int flags = json_is_number(value) ? SCOLS_FL_RIGHT : 0;
        if (scols_table_new_column(output->table, key, 0, flags) == NULL) {
            return false;
        }
    }
    return true;
}

/* Text of one cell; gives (free). A null is an empty cell. */
static char *cell_text(const json_t *value)
{
    if (json_is_null(value)) {
        return strdup("");
    }
    if (json_is_string(value)) {
        return strdup(json_string_value(value));
    }
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

static bool add_line(cli_output *output, json_t *row)
{
    struct libscols_line *line = scols_table_new_line(output->table, NULL);
    size_t column = 0;
    const char *key;
    json_t *value;
    json_object_foreach(row, key, value)
    {
        char *text = line != NULL ? cell_text(value) : NULL;
        if (text == NULL || scols_line_refer_data(line, column++, text) != 0) {
            free(text);
            return false;
        }
    }
    return true;
}

bool cli_output_row(cli_output *output, json_t *row)
{
    bool done = row != NULL;
    if (done && output->json) {
        done = json_dumpf(row, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    } else if (done) {
        done = (output->table != NULL || make_columns(output, row)) && add_line(output, row);
    }
    json_decref(row);
    return done;
}

void cli_output_end(cli_output *output)
{
    if (output == NULL) {
        return;
    }
    if (output->table != NULL) {
        (void)scols_print_table(output->table);
        scols_unref_table(output->table);
    }
    free(output);
}

static json_t *result_row(const fluss_result_t *result, size_t row, const char *const *columns,
                          size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *name = columns != NULL ? columns[i] : fluss_result_column(result, i);
        const char *text = fluss_result_str(result, row, name);
        /* A number reads the same with two different fallbacks. */
        const int64_t number = fluss_result_i64(result, row, name, 0);
        const bool is_number = text != NULL && number == fluss_result_i64(result, row, name, 1);
        json_t *value = text == NULL ? json_null()
                        : is_number  ? json_integer(number)
                                     : json_string(text);
        if (json_object_set_new(object, name, value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

bool cli_output_result(bool json, const fluss_result_t *result, const char *const *columns,
                       size_t n)
{
    cli_output *output = cli_output_begin(json);
    bool done = output != NULL;
    n = columns != NULL ? n : fluss_result_columns(result);
    for (size_t row = 0; done && row < fluss_result_rows(result); row++) {
        done = cli_output_row(output, result_row(result, row, columns, n));
    }
    cli_output_end(output);
    return done;
}
