/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as JSON objects: lines of text to values by column name, and rows back to objects. */
#include "row_json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fluss_code_t refuse(fluss_error_t *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static fluss_code_t refuse(fluss_error_t *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    err->code = FLUSS_E_CLIENT;
    err->kind = FLUSS_KIND_ARGUMENT;
    return FLUSS_E_CLIENT;
}

static fluss_code_t open_column(cli_columns *columns, const fluss_schema_t *schema, size_t index,
                                fluss_error_t *err)
{
    const char **name = &columns->names[columns->count], *type;
    if (fluss_schema_column(schema, index, name, &type, NULL) != 0 ||
        !cli_type_parse(type, &columns->types[columns->count])) {
        return refuse(err, "column %zu has a type that this version does not know", index);
    }
    columns->count++;
    return 0;
}

/* The index of a column; the number of columns when there is none of that name. */
static size_t find_column(const fluss_schema_t *schema, const char *name)
{
    const size_t total = fluss_schema_columns(schema);
    size_t i = 0;
    const char *here;
    while (i < total &&
           (fluss_schema_column(schema, i, &here, NULL, NULL) != 0 || strcmp(here, name) != 0)) {
        i++;
    }
    return i;
}

fluss_code_t cli_columns_open(cli_columns *columns, const fluss_schema_t *schema,
                              const char *const *names, size_t n, fluss_error_t *err)
{
    const size_t total = fluss_schema_columns(schema), count = n != 0 ? n : total;
    *columns = (cli_columns){
        .owner = n != 0 ? "key" : "table",
        .names = calloc(count, sizeof(*columns->names)),
        .types = calloc(count, sizeof(*columns->types)),
        .row = calloc(count, sizeof(*columns->row)),
        .pool = cli_pool_new(),
    };
    if (columns->names == NULL || columns->types == NULL || columns->row == NULL ||
        columns->pool == NULL) {
        return refuse(err, "out of memory");
    }
    fluss_code_t rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const size_t index = n != 0 ? find_column(schema, names[i]) : i;
        rc = index < total ? open_column(columns, schema, index, err)
                           : refuse(err, "the table has no column '%.100s'", names[i]);
    }
    return rc;
}

void cli_columns_close(cli_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++) {
        cli_type_deinit(&columns->types[i]);
    }
    free(columns->names);
    free(columns->types);
    free(columns->row);
    cli_pool_free(columns->pool);
    *columns = (cli_columns){0};
}

/* Where the JSON string that begins before `at` ends. */
static const char *string_end(const char *at, const char *end)
{
    while (at < end && *at != '"') {
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    }
    return at < end ? at + 1 : end;
}

static bool is_beyond_int64(const char *digits, size_t size)
{
    char text[24];
    if (size >= sizeof(text)) {
        return true;
    }
    memcpy(text, digits, size);
    text[size] = '\0';
    errno = 0;
    (void)strtoll(text, NULL, 10);
    return errno == ERANGE;
}

/* The line with ".0" behind each integer that 64 bits don't hold, which makes it a real number of
 * the same value; gives (free). NULL: out of memory. */
static char *widen_integers(const char *line, size_t size, size_t *widened_size)
{
    static const char number[] = "+-.0123456789Ee", fraction[] = ".0";
    enum { DIGITS_MIN = 19, FRACTION_SIZE = sizeof(fraction) - 1 };
    char *widened = malloc(size + (size / DIGITS_MIN + 1) * FRACTION_SIZE), *out = widened;
    for (const char *at = line, *end = line + size; out != NULL && at < end;) {
        const char *from = at++;
        const bool is_number = *from == '-' || (*from >= '0' && *from <= '9');
        bool is_integer = is_number;
        if (*from == '"') {
            at = string_end(at, end);
        }
        for (; is_number && at < end && memchr(number, *at, sizeof(number) - 1) != NULL; at++) {
            is_integer = is_integer && *at >= '0' && *at <= '9';
        }
        const size_t length = (size_t)(at - from);
        memcpy(out, from, length);
        out += length;
        if (is_integer && length >= DIGITS_MIN && is_beyond_int64(from, length)) {
            memcpy(out, fraction, FRACTION_SIZE);
            out += FRACTION_SIZE;
        }
    }
    *widened_size = out != NULL ? (size_t)(out - widened) : 0;
    return widened;
}

static json_t *load(const char *line, size_t size, json_error_t *wrong)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_t *object = json_loadb(line, size, flags, wrong);
    if (object == NULL && json_error_code(wrong) == json_error_numeric_overflow) {
        json_error_t again;
        char *widened = widen_integers(line, size, &size);
        object = widened != NULL ? json_loadb(widened, size, flags, &again) : NULL;
        free(widened);
    }
    return object;
}

json_t *cli_row_parse(const char *line, size_t size, fluss_error_t *err)
{
    json_error_t wrong;
    if (memchr(line, '\0', size) != NULL) {
        (void)refuse(err, "no JSON object: a zero byte in the line");
        return NULL;
    }
    json_t *object = load(line, size, &wrong);
    if (!json_is_object(object)) {
        const bool is_number =
            object == NULL && json_error_code(&wrong) == json_error_numeric_overflow;
        (void)refuse(err, "%s: %s at column %d%s",
                     is_number ? "a number out of range" : "no JSON object",
                     object == NULL ? wrong.text : "an array", object == NULL ? wrong.column : 1,
                     is_number ? "; decimals may stand in quotes" : "");
        json_decref(object);
        return NULL;
    }
    return object;
}

/* A key that is no column is a mistake, and would be lost silently. */
static fluss_code_t check_keys(const cli_columns *columns, json_t *object, fluss_error_t *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (i < columns->count && strcmp(columns->names[i], key) != 0) {
            i++;
        }
        if (i == columns->count) {
            return refuse(err, "the %s has no column '%s'", columns->owner, key);
        }
    }
    return 0;
}

static void name_column(fluss_error_t *err, const char *name)
{
    const fluss_error_t inner = *err;
    (void)refuse(err, "column '%.100s': %.800s", name, inner.message);
}

fluss_code_t cli_row_read(cli_columns *columns, json_t *object, fluss_error_t *err)
{
    cli_pool_reset(columns->pool);
    fluss_code_t rc = check_keys(columns, object, err);
    for (size_t i = 0; rc == 0 && i < columns->count; i++) {
        rc = cli_value_from_json(json_object_get(object, columns->names[i]), &columns->types[i],
                                 columns->pool, &columns->row[i], err);
        if (rc != 0) {
            name_column(err, columns->names[i]);
        }
    }
    return rc;
}

bool cli_row_add(json_t *object, const fluss_row_t *row, const char *const *names,
                 const cli_type *types, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fluss_datum_t value;
        if (fluss_row_get(row, i, &value) != 0) {
            return false;
        }
        const cli_type *type = types[i].type != FLUSS_NULL ? &types[i] : NULL;
        if (json_object_set_new(object, names[i], cli_value_to_json(&value, type)) != 0) {
            return false;
        }
    }
    return true;
}
