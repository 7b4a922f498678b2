/* SPDX-License-Identifier: Apache-2.0 */
/* JSON to values. Ranges of numbers, lengths and NOT NULL are the library's to check; here is only
 * what makes a JSON value one of the wanted type. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

enum { DECIMAL_TEXT_SIZE = 64 };

typedef struct pool_block {
    struct pool_block *next;
    _Alignas(16) unsigned char room[];
} pool_block;

struct cli_pool {
    pool_block *blocks;
};

cli_pool *cli_pool_new(void)
{
    return calloc(1, sizeof(cli_pool));
}

void cli_pool_reset(cli_pool *pool)
{
    while (pool->blocks != NULL) {
        pool_block *block = pool->blocks;
        pool->blocks = block->next;
        free(block);
    }
}

void cli_pool_free(cli_pool *pool)
{
    if (pool != NULL) {
        cli_pool_reset(pool);
        free(pool);
    }
}

static void *pool_alloc(cli_pool *pool, size_t size)
{
    pool_block *block = calloc(1, sizeof(*block) + size);
    if (block == NULL) {
        return NULL;
    }
    block->next = pool->blocks;
    pool->blocks = block;
    return block->room;
}

/* JSON text; a number in the fewest digits that mean it, which are those that were written. */
static char *text_of(const json_t *json)
{
    size_t digits = 15;
    char buffer[40];
    for (; json_is_real(json) && digits < 17; digits++) {
        (void)snprintf(buffer, sizeof(buffer), "%.*g", (int)digits, json_real_value(json));
        if (strtod(buffer, NULL) == json_real_value(json)) {
            break;
        }
    }
    return json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(digits));
}

static fluss_code_t refuse(const json_t *json, const char *expected, fluss_error_t *err)
{
    char *found = text_of(json);
    (void)snprintf(err->message, sizeof(err->message), "%.200s is not %s",
                   found != NULL ? found : "the value", expected);
    free(found);
    err->code = FLUSS_E_CLIENT;
    err->kind = FLUSS_KIND_ARGUMENT;
    return FLUSS_E_CLIENT;
}

static int sextet(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static fluss_code_t bytes_from(const json_t *json, cli_pool *pool, fluss_datum_t *out,
                               fluss_error_t *err)
{
    const char *text = json_string_value(json);
    size_t size = text != NULL ? json_string_length(json) : 1;
    uint8_t *bytes = size % 4 == 0 ? pool_alloc(pool, size / 4 * 3 + 1) : NULL;
    if (bytes == NULL) {
        return refuse(json, "bytes in base64", err);
    }
    while (size > 0 && text[size - 1] == '=') {
        size--;
    }
    uint32_t word = 0;
    size_t written = 0;
    for (size_t i = 0; i < size; i++) {
        const int digit = sextet(text[i]);
        if (digit < 0) {
            return refuse(json, "bytes in base64", err);
        }
        word = word << 6 | (uint32_t)digit;
        if (i % 4 != 0) {
            bytes[written++] = (uint8_t)(word >> (2 * (3 - i % 4)));
        }
    }
    *out = fluss_bytes(bytes, written);
    return 0;
}

static fluss_code_t real_from(const json_t *json, fluss_datum_t *out, fluss_error_t *err)
{
    if (json_is_number(json)) {
        *out = fluss_double(json_number_value(json));
        return 0;
    }
    const char *text = json_string_value(json);
    if (text != NULL && strcmp(text, "NaN") == 0) {
        *out = fluss_double(NAN);
    } else if (text != NULL && strcmp(text, "Infinity") == 0) {
        *out = fluss_double(INFINITY);
    } else if (text != NULL && strcmp(text, "-Infinity") == 0) {
        *out = fluss_double(-INFINITY);
    } else {
        return refuse(json, "a number", err);
    }
    return 0;
}

static fluss_code_t decimal_from(const json_t *json, const cli_type *type, fluss_datum_t *out,
                                 fluss_error_t *err)
{
    char number[DECIMAL_TEXT_SIZE];
    const char *text = json_string_value(json);
    if (json_is_integer(json)) {
        (void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(json));
        text = number;
    }
    if (text == NULL) {
        return refuse(json, "a decimal in a string, such as \"12.50\"", err);
    }
    return fluss_decimal(text, type->precision, type->scale, out, err);
}

/* "12:30:00" with up to nine digits behind the second. */
static bool parse_time(const char **text, int64_t *ms, int32_t *nanos)
{
    int hour, minute, second, used = 0;
    if (sscanf(*text, "%2d:%2d:%2d%n", &hour, &minute, &second, &used) != 3 || used != 8 ||
        hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    *text += used;
    int64_t fraction = 0;
    if (**text == '.') {
        int64_t unit = 100000000;
        for ((*text)++; **text >= '0' && **text <= '9' && unit > 0; (*text)++) {
            fraction += (**text - '0') * unit;
            unit /= 10;
        }
    }
    *ms = ((int64_t)hour * 60 + minute) * 60000 + (int64_t)second * 1000 + fraction / 1000000;
    *nanos = (int32_t)(fraction % 1000000);
    return true;
}

static bool parse_date(const char **text, int64_t *days)
{
    int year, month, day, used = 0;
    if (sscanf(*text, "%d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used < 10 || month < 1 ||
        month > 12 || day < 1 || day > 31) {
        return false;
    }
    *text += used;
    *days = fluss_date(year, month, day).v.i;
    return true;
}

static fluss_code_t moment_from(const json_t *json, const cli_type *type, fluss_datum_t *out,
                                fluss_error_t *err)
{
    const char *text = json_string_value(json);
    int64_t days = 0, ms = 0;
    int32_t nanos = 0;
    bool good = text != NULL;
    if (good && type->type != FLUSS_TIME) {
        good = parse_date(&text, &days);
    }
    if (good && type->type != FLUSS_TIME && type->type != FLUSS_DATE) {
        good = *text == 'T' || *text == ' ';
        text++;
    }
    if (good && type->type != FLUSS_DATE) {
        good = parse_time(&text, &ms, &nanos);
    }
    if (good && type->type == FLUSS_TIMESTAMP_LTZ) {
        good = *text++ == 'Z';
    }
    if (!good || *text != '\0') {
        return refuse(json,
                      type->type == FLUSS_DATE   ? "a date like \"2026-06-01\""
                      : type->type == FLUSS_TIME ? "a time like \"12:30:00.250\""
                      : type->type == FLUSS_TIMESTAMP
                          ? "a timestamp like \"2026-06-01T12:30:00\""
                          : "a point in time like \"2026-06-01T12:30:00Z\"",
                      err);
    }
    const bool is_stamp = type->type == FLUSS_TIMESTAMP || type->type == FLUSS_TIMESTAMP_LTZ;
    *out = fluss_integer(type->type, type->type == FLUSS_DATE ? days : days * 86400000 + ms);
    out->nanos = is_stamp ? nanos : 0;
    return 0;
}

/* The i-th field of a row, which is an array or an object; NULL: absent. */
static const json_t *field_of(const json_t *json, const cli_type *type, size_t i)
{
    return json_is_array(json) ? json_array_get(json, i) : json_object_get(json, type->names[i]);
}

static fluss_code_t nested_from(const json_t *json, const cli_type *type, cli_pool *pool,
                                fluss_datum_t *out, fluss_error_t *err)
{
    const bool is_row = type->type == FLUSS_ROW, is_map = type->type == FLUSS_MAP;
    if (!json_is_array(json) && !(is_row && json_is_object(json))) {
        return refuse(json, is_row ? "an object or array" : "an array", err);
    }
    const size_t length = is_row ? type->child_count : json_array_size(json);
    const size_t count = is_map ? 2 * length : length;
    fluss_datum_t *items = pool_alloc(pool, (count + 1) * sizeof(*items));
    if (items == NULL) {
        return refuse(json, "small enough for the memory", err);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = is_map ? json_array_get(json, i / 2) : NULL;
        if (is_map && json_array_size(pair) != 2) {
            return refuse(json, "an array of [key, value] pairs", err);
        }
        const json_t *item = is_map   ? json_array_get(pair, i % 2)
                             : is_row ? field_of(json, type, i)
                                      : json_array_get(json, i);
        const size_t child = is_map ? i % 2 : is_row ? i : 0;
        const fluss_code_t rc =
            cli_value_from_json(item, &type->children[child], pool, &items[i], err);
        if (rc != 0) {
            return rc;
        }
    }
    *out = fluss_nested(type->type, items, count);
    return 0;
}

fluss_code_t cli_value_from_json(const json_t *json, const cli_type *type, cli_pool *pool,
                                 fluss_datum_t *out, fluss_error_t *err)
{
    *out = fluss_null();
    if (json == NULL || json_is_null(json)) {
        return 0;
    }
    switch (type->type) {
    case FLUSS_BOOLEAN:
        *out = fluss_bool(json_is_true(json));
        return json_is_boolean(json) ? 0 : refuse(json, "true or false", err);
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        *out = fluss_bigint(json_integer_value(json));
        return json_is_integer(json) ? 0 : refuse(json, "a whole number of 64 bits", err);
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return real_from(json, out, err);
    case FLUSS_CHAR:
    case FLUSS_STRING:
        *out = fluss_string(json_string_value(json), json_string_length(json));
        out->type = (uint8_t)type->type;
        return json_is_string(json) ? 0 : refuse(json, "a string", err);
    case FLUSS_BINARY:
    case FLUSS_BYTES: {
        const fluss_code_t rc = bytes_from(json, pool, out, err);
        out->type = (uint8_t)type->type;
        return rc;
    }
    case FLUSS_DECIMAL:
        return decimal_from(json, type, out, err);
    case FLUSS_DATE:
    case FLUSS_TIME:
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return moment_from(json, type, out, err);
    default:
        return nested_from(json, type, pool, out, err);
    }
}
