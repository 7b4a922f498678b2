/* SPDX-License-Identifier: Apache-2.0 */
/* Types as text, both ways.
 *
 *   type  = name [ "(" number [ "," number ] ")" ] [ "NOT" "NULL" | "NULL" ]
 *         | "ARRAY" "<" type ">" | "MAP" "<" type "," type ">"
 *         | "ROW" "<" field { "," field } ">"         each with [ "NOT" "NULL" ] behind
 *   field = ( identifier | "`" name "`" ) [ ":" ] type [ "'" description "'" ]
 *
 * A backquote inside a quoted name and a quote inside a description are doubled. ROW also takes
 * round brackets. Defaults are those of Fluss: CHAR(1), BINARY(1), DECIMAL(10,0), TIME(0),
 * TIMESTAMP(6). */
#include <ctype.h>
#include <strings.h>

#include "base/utf8.h"
#include "format/types.h"

enum { FIELD_COUNT_MAX = 4096, TEXT_SIZE_MAX = 1 << 20 };

typedef struct parser {
    const char *text; /* whole, for messages */
    const char *at;
    fl_arena *arena;
    fluss_error_t *err;
} parser;

static const struct {
    const char *name;
    uint8_t root, precision, scale;
} names[] = {
    {"BOOLEAN", FLUSS_BOOLEAN, 0, 0},
    {"BOOL", FLUSS_BOOLEAN, 0, 0},
    {"TINYINT", FLUSS_TINYINT, 0, 0},
    {"SMALLINT", FLUSS_SMALLINT, 0, 0},
    {"INT", FLUSS_INT, 0, 0},
    {"INTEGER", FLUSS_INT, 0, 0},
    {"BIGINT", FLUSS_BIGINT, 0, 0},
    {"FLOAT", FLUSS_FLOAT, 0, 0},
    {"DOUBLE", FLUSS_DOUBLE, 0, 0},
    {"CHAR", FLUSS_CHAR, 0, 0},
    {"STRING", FLUSS_STRING, 0, 0},
    {"BINARY", FLUSS_BINARY, 0, 0},
    {"BYTES", FLUSS_BYTES, 0, 0},
    {"DECIMAL", FLUSS_DECIMAL, 10, 0},
    {"DEC", FLUSS_DECIMAL, 10, 0},
    {"NUMERIC", FLUSS_DECIMAL, 10, 0},
    {"DATE", FLUSS_DATE, 0, 0},
    {"TIME", FLUSS_TIME, 0, 0},
    {"TIMESTAMP", FLUSS_TIMESTAMP, 6, 0},
    {"TIMESTAMP_NTZ", FLUSS_TIMESTAMP, 6, 0},
    {"TIMESTAMP_LTZ", FLUSS_TIMESTAMP_LTZ, 6, 0},
    {"ARRAY", FLUSS_ARRAY, 0, 0},
    {"MAP", FLUSS_MAP, 0, 0},
    {"ROW", FLUSS_ROW, 0, 0},
};

static void skip_space(parser *p)
{
    while (isspace((unsigned char)*p->at)) {
        p->at++;
    }
}

static fluss_code_t fail(parser *p, const char *wanted)
{
    enum { SHOWN_MAX = 200 };
    skip_space(p);
    const size_t left = strlen(p->at);
    const size_t shown = left > 20 ? fl_utf8_cut(p->at, 20) : left;
    const size_t whole = strlen(p->text);
    const int quoted = (int)(whole > SHOWN_MAX ? fl_utf8_cut(p->text, SHOWN_MAX) : whole);
    return left == 0
               ? fl_error_argument(p->err, "type \"%.*s\": expected %s at the end", quoted, p->text,
                                   wanted)
               : fl_error_argument(p->err, "type \"%.*s\": expected %s at character %td: \"%.*s\"",
                                   quoted, p->text, wanted, p->at - p->text + 1, (int)shown, p->at);
}

static bool accept(parser *p, char wanted)
{
    skip_space(p);
    if (*p->at != wanted) {
        return false;
    }
    p->at++;
    return true;
}

/* An identifier: letters, digits, '_', '$' and everything that is not ASCII. */
static size_t word_size(const char *at)
{
    size_t size = 0;
    while (isalnum((unsigned char)at[size]) || at[size] == '_' || at[size] == '$' ||
           (unsigned char)at[size] >= 0x80) {
        size++;
    }
    return size;
}

static bool accept_word(parser *p, const char *word)
{
    skip_space(p);
    const size_t size = word_size(p->at);
    if (size != strlen(word) || strncasecmp(p->at, word, size) != 0) {
        return false;
    }
    p->at += size;
    return true;
}

static fluss_code_t parse_number(parser *p, int64_t min, int64_t max, const char *what,
                                 int64_t *number)
{
    skip_space(p);
    int64_t value = 0;
    size_t digits = 0;
    while (isdigit((unsigned char)p->at[digits]) && digits < 11) {
        value = value * 10 + (p->at[digits++] - '0');
    }
    if (digits == 0 || value < min || value > max) {
        return fail(p, what);
    }
    p->at += digits;
    *number = value;
    return 0;
}

static fluss_code_t parse_parameters(parser *p, fl_type *type)
{
    if (!accept(p, '(')) {
        return 0;
    }
    int64_t number;
    if (fl_type_root_has_length(type->root)) {
        FL_TRY(parse_number(p, 1, INT32_MAX, "a length of 1 to 2147483647", &number));
        type->length = (int32_t)number;
    } else if (type->root == FLUSS_DECIMAL) {
        FL_TRY(parse_number(p, 1, FL_DECIMAL_PRECISION_MAX, "a precision of 1 to 38", &number));
        type->precision = (uint8_t)number;
        if (accept(p, ',')) {
            FL_TRY(parse_number(p, 0, type->precision, "a scale of 0 to the precision", &number));
            type->scale = (uint8_t)number;
        }
    } else if (fl_type_root_has_precision(type->root)) {
        FL_TRY(parse_number(p, 0, FL_TIME_PRECISION_MAX, "a precision of 0 to 9", &number));
        type->precision = (uint8_t)number;
    } else {
        return fail(p, "no parameters of this type");
    }
    return accept(p, ')') ? 0 : fail(p, "')'");
}

/* Text between two `quote` characters, which are doubled inside. */
static fluss_code_t parse_quoted(parser *p, char quote, const char **text)
{
    const char *from = ++p->at;
    size_t size = 0;
    while (from[size] != '\0' && (from[size] != quote || from[size + 1] == quote)) {
        size += from[size] == quote ? 2 : 1;
    }
    if (from[size] == '\0') {
        p->at = from + size;
        return fail(p, quote == '`' ? "'`'" : "\"'\"");
    }
    char *copy = fl_arena_strndup(p->arena, from, size);
    if (copy == NULL) {
        return fl_error_nomem(p->err);
    }
    size_t written = 0;
    for (size_t i = 0; i < size; i++) {
        copy[written++] = from[i];
        i += from[i] == quote;
    }
    copy[written] = '\0';
    p->at = from + size + 1;
    *text = copy;
    return 0;
}

static fluss_code_t parse_type(parser *p, int depth, fl_type *type);

static fluss_code_t parse_field(parser *p, int depth, fl_field *field)
{
    *field = (fl_field){.id = -1};
    skip_space(p);
    if (*p->at == '`') {
        FL_TRY(parse_quoted(p, '`', &field->name));
    } else {
        const size_t size = word_size(p->at);
        if (size == 0) {
            return fail(p, "the name of a field");
        }
        field->name = fl_arena_strndup(p->arena, p->at, size);
        if (field->name == NULL) {
            return fl_error_nomem(p->err);
        }
        p->at += size;
    }
    (void)accept(p, ':');
    FL_TRY(parse_type(p, depth, &field->type));
    skip_space(p);
    return *p->at == '\'' ? parse_quoted(p, '\'', &field->description) : 0;
}

static fluss_code_t parse_row(parser *p, int depth, fl_type *type)
{
    const bool is_round = accept(p, '(');
    if (!is_round && !accept(p, '<')) {
        return fail(p, "'<'");
    }
    size_t capacity = 0;
    do {
        if (type->field_count == capacity) {
            capacity = capacity == 0 ? 8 : capacity * 2;
            if (capacity > FIELD_COUNT_MAX) {
                return fail(p, "at most 4096 fields");
            }
            fl_field *grown = fl_arena_array(p->arena, capacity, sizeof(fl_field));
            if (grown == NULL) {
                return fl_error_nomem(p->err);
            }
            if (type->field_count != 0) {
                memcpy(grown, type->fields, type->field_count * sizeof(fl_field));
            }
            type->fields = grown;
        }
        FL_TRY(parse_field(p, depth + 1, &type->fields[type->field_count]));
        type->field_count++;
    } while (accept(p, ','));
    return accept(p, is_round ? ')' : '>') ? 0 : fail(p, is_round ? "',' or ')'" : "',' or '>'");
}

static fluss_code_t parse_collection(parser *p, int depth, fl_type *type)
{
    const bool is_map = type->root == FLUSS_MAP;
    type->field_count = is_map ? 2 : 1;
    type->fields = fl_arena_array(p->arena, type->field_count, sizeof(fl_field));
    if (type->fields == NULL) {
        return fl_error_nomem(p->err);
    }
    if (!accept(p, '<')) {
        return fail(p, "'<'");
    }
    type->fields[0] = (fl_field){.name = is_map ? "key" : "element", .id = -1};
    FL_TRY(parse_type(p, depth + 1, &type->fields[0].type));
    if (is_map) {
        if (!accept(p, ',')) {
            return fail(p, "','");
        }
        type->fields[0].type.nullable = false;
        type->fields[1] = (fl_field){.name = "value", .id = -1};
        FL_TRY(parse_type(p, depth + 1, &type->fields[1].type));
    }
    return accept(p, '>') ? 0 : fail(p, "'>'");
}

static fluss_code_t parse_type(parser *p, int depth, fl_type *type)
{
    if (depth > FL_TYPE_DEPTH_MAX) {
        return fail(p, "at most 32 levels of nesting");
    }
    skip_space(p);
    const size_t size = word_size(p->at);
    size_t i = 0;
    while (i < FL_COUNT_OF(names) &&
           (strlen(names[i].name) != size || strncasecmp(names[i].name, p->at, size) != 0)) {
        i++;
    }
    if (i == FL_COUNT_OF(names)) {
        return fail(p, "a type, such as INT or STRING,");
    }
    p->at += size;
    *type = (fl_type){.root = names[i].root,
                      .nullable = true,
                      .precision = names[i].precision,
                      .scale = names[i].scale,
                      .length = fl_type_root_has_length(names[i].root) ? 1 : 0};
    if (type->root == FLUSS_ROW) {
        FL_TRY(parse_row(p, depth, type));
    } else if (fl_type_root_is_nested(type->root)) {
        FL_TRY(parse_collection(p, depth, type));
    } else {
        FL_TRY(parse_parameters(p, type));
    }
    if (accept_word(p, "NOT")) {
        if (!accept_word(p, "NULL")) {
            return fail(p, "NULL behind NOT");
        }
        type->nullable = false;
    } else {
        (void)accept_word(p, "NULL");
    }
    return 0;
}

fluss_code_t fl_type_parse(const char *text, fl_arena *arena, fl_type *type, fluss_error_t *err)
{
    const size_t size = strlen(text);
    if (size > TEXT_SIZE_MAX || !fl_utf8_is_valid(text, size)) {
        return fl_error_argument(err, "type of %zu bytes is longer than %d or not UTF-8", size,
                                 TEXT_SIZE_MAX);
    }
    parser p = {.text = text, .at = text, .arena = arena, .err = err};
    FL_TRY(parse_type(&p, 1, type));
    skip_space(&p);
    if (*p.at != '\0') {
        return fail(&p, "nothing more");
    }
    return fl_type_check(type, err);
}

/* ---- printing ---- */

static fluss_code_t print_quoted(const char *text, char quote, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_append_byte(out, (uint8_t)quote, err));
    for (; *text != '\0'; text++) {
        if (*text == quote) {
            FL_TRY(fl_buf_append_byte(out, (uint8_t)quote, err));
        }
        FL_TRY(fl_buf_append_byte(out, (uint8_t)*text, err));
    }
    return fl_buf_append_byte(out, (uint8_t)quote, err);
}

static fluss_code_t print_row(const fl_type *type, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_printf(out, err, "ROW<"));
    for (size_t i = 0; i < type->field_count; i++) {
        const fl_field *field = &type->fields[i];
        const size_t size = strlen(field->name);
        if (i != 0) {
            FL_TRY(fl_buf_printf(out, err, ", "));
        }
        if (word_size(field->name) == size) {
            FL_TRY(fl_buf_append(out, field->name, size, err));
        } else {
            FL_TRY(print_quoted(field->name, '`', out, err));
        }
        FL_TRY(fl_buf_append_byte(out, ' ', err));
        FL_TRY(fl_type_print(&field->type, out, err));
        if (field->description != NULL) {
            FL_TRY(fl_buf_append_byte(out, ' ', err));
            FL_TRY(print_quoted(field->description, '\'', out, err));
        }
    }
    return fl_buf_append_byte(out, '>', err);
}

fluss_code_t fl_type_print(const fl_type *type, fl_buf *out, fluss_error_t *err)
{
    const char *name = fl_type_root_name(type->root);
    if (type->root == FLUSS_ROW) {
        FL_TRY(print_row(type, out, err));
    } else if (fl_type_root_is_nested(type->root)) {
        FL_TRY(fl_buf_printf(out, err, "%s<", name));
        for (size_t i = 0; i < type->field_count; i++) {
            if (i != 0) {
                FL_TRY(fl_buf_append_byte(out, ',', err));
            }
            FL_TRY(fl_type_print(&type->fields[i].type, out, err));
        }
        FL_TRY(fl_buf_append_byte(out, '>', err));
    } else if (type->root == FLUSS_DECIMAL) {
        FL_TRY(fl_buf_printf(out, err, "%s(%u,%u)", name, type->precision, type->scale));
    } else if (fl_type_root_has_precision(type->root)) {
        FL_TRY(fl_buf_printf(out, err, "%s(%u)", name, type->precision));
    } else if (fl_type_root_has_length(type->root)) {
        FL_TRY(fl_buf_printf(out, err, "%s(%d)", name, type->length));
    } else {
        FL_TRY(fl_buf_printf(out, err, "%s", name));
    }
    return type->nullable ? 0 : fl_buf_printf(out, err, " NOT NULL");
}
