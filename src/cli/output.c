/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as a table (libsmartcols) or as JSON lines (jansson). */
#include "output.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_ROWS_MAX = 10000, CELL_SIZE_MAX = 1000 };

struct cli_output {
    bool json;
    struct libscols_table *table; /* NULL until a row names the columns */
    size_t row_count;             /* of the table */
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

/* Text of a value; gives (free). A null is empty; text that holds a zero byte is shown as JSON, for
 * it would end there. */
static char *whole_text(const json_t *value)
{
    if (json_is_null(value)) {
        return strdup("");
    }
    if (json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value)) {
        return strdup(json_string_value(value));
    }
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* Text of one cell; gives (free). All lines of a table are as long as the longest one, so a long
 * value is cut. */
static char *cell_text(const json_t *value)
{
    static const char mark[] = "…";
    char *text = whole_text(value);
    size_t size = text != NULL ? strlen(text) : 0;
    if (size > CELL_SIZE_MAX) {
        size = CELL_SIZE_MAX - sizeof(mark);
        while (((unsigned char)text[size] & 0xC0) == 0x80) { /* in the middle of a character */
            size--;
        }
        memcpy(text + size, mark, sizeof(mark));
    }
    return text;
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

static void print_table(cli_output *output)
{
    (void)scols_print_table(output->table);
    scols_unref_table(output->table);
    output->table = NULL;
    output->row_count = 0;
}

bool cli_output_row(cli_output *output, json_t *row)
{
    bool done = row != NULL;
    if (done && output->json) {
        done = json_dumpf(row, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    } else if (done) {
        done = (output->table != NULL || make_columns(output, row)) && add_line(output, row);
        if (done && ++output->row_count == TABLE_ROWS_MAX) {
            print_table(output);
        }
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
        print_table(output);
    }
    free(output);
}

int cli_output_failed(const char *command)
{
    (void)fprintf(stderr, "fluss %s: standard output: %s\n", command, strerror(errno));
    return 1;
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
