/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of canonical type texts: NAME, NAME(n), NAME(n,m), ARRAY<T>, MAP<K, V>,
 * ROW<name T, `a b` T>, each with " NOT NULL" behind where it holds, and 'text' behind a field. */
#include "type_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32, CHILDREN_MAX = 4096 };

static const struct {
    const char *name;
    fluss_type_t type;
} type_names[] = {
    {"BOOLEAN", FLUSS_BOOLEAN},
    {"TINYINT", FLUSS_TINYINT},
    {"SMALLINT", FLUSS_SMALLINT},
    {"INT", FLUSS_INT},
    {"BIGINT", FLUSS_BIGINT},
    {"FLOAT", FLUSS_FLOAT},
    {"DOUBLE", FLUSS_DOUBLE},
    {"CHAR", FLUSS_CHAR},
    {"STRING", FLUSS_STRING},
    {"BINARY", FLUSS_BINARY},
    {"BYTES", FLUSS_BYTES},
    {"DECIMAL", FLUSS_DECIMAL},
    {"DATE", FLUSS_DATE},
    {"TIME", FLUSS_TIME},
    {"TIMESTAMP", FLUSS_TIMESTAMP},
    {"TIMESTAMP_LTZ", FLUSS_TIMESTAMP_LTZ},
    {"ARRAY", FLUSS_ARRAY},
    {"MAP", FLUSS_MAP},
    {"ROW", FLUSS_ROW},
};

static bool parse(const char **at, int depth, cli_type *out);

static void skip_spaces(const char **at)
{
    while (**at == ' ') {
        (*at)++;
    }
}

static bool accept(const char **at, const char *word)
{
    skip_spaces(at);
    const size_t size = strlen(word);
    if (strncmp(*at, word, size) != 0) {
        return false;
    }
    *at += size;
    return true;
}

/* Skip what stands between two quotes of a kind; a doubled quote is part of it. */
static const char *end_of_quoted(const char *at, char quote)
{
    for (at++; *at != '\0'; at++) {
        if (*at == quote && at[1] != quote) {
            return at + 1;
        }
        at += *at == quote;
    }
    return NULL;
}

static char *parse_name(const char **at)
{
    skip_spaces(at);
    const char *start = *at;
    if (*start != '`') {
        *at += strcspn(start, " :<>(),");
        return strndup(start, (size_t)(*at - start));
    }
    const char *end = end_of_quoted(start, '`');
    if (end == NULL) {
        return NULL;
    }
    *at = end;
    char *name = strndup(start + 1, (size_t)(end - start) - 2);
    char *to = name;
    for (const char *from = name; name != NULL && *from != '\0'; from++) {
        *to++ = *from;
        from += *from == '`';
    }
    if (name != NULL) {
        *to = '\0';
    }
    return name;
}

static bool parse_parameters(const char **at, cli_type *out)
{
    if (!accept(at, "(")) {
        return true;
    }
    char *end;
    out->precision = (int)strtol(*at, &end, 10);
    *at = end;
    if (accept(at, ",")) {
        out->scale = (int)strtol(*at, &end, 10);
        *at = end;
    }
    return accept(at, ")");
}

static bool add_child(const char **at, int depth, cli_type *out)
{
    cli_type *children = realloc(out->children, (out->child_count + 1) * sizeof(*out->children));
    if (children == NULL) {
        return false;
    }
    out->children = children;
    if (out->type == FLUSS_ROW) {
        char **names = realloc(out->names, (out->child_count + 1) * sizeof(*out->names));
        char *name = names != NULL ? parse_name(at) : NULL;
        out->names = names != NULL ? names : out->names;
        if (name == NULL) {
            return false;
        }
        out->names[out->child_count] = name;
        (void)accept(at, ":");
    }
    out->children[out->child_count] = (cli_type){0};
    cli_type *child = &out->children[out->child_count++];
    if (!parse(at, depth + 1, child)) {
        return false;
    }
    skip_spaces(at);
    if (**at == '\'') {
        *at = end_of_quoted(*at, '\'');
    }
    return *at != NULL;
}

static bool parse_children(const char **at, int depth, cli_type *out)
{
    if (!accept(at, "<")) {
        return false;
    }
    do {
        if (out->child_count == CHILDREN_MAX || !add_child(at, depth, out)) {
            return false;
        }
    } while (accept(at, ","));
    const size_t wanted = out->type == FLUSS_ARRAY ? 1 : out->type == FLUSS_MAP ? 2 : 0;
    return (wanted == 0 || wanted == out->child_count) && accept(at, ">");
}

static bool parse(const char **at, int depth, cli_type *out)
{
    *out = (cli_type){0};
    skip_spaces(at);
    size_t size = 0;
    while (isalpha((unsigned char)(*at)[size]) || (*at)[size] == '_') {
        size++;
    }
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (strlen(type_names[i].name) == size && strncmp(type_names[i].name, *at, size) == 0) {
            out->type = type_names[i].type;
        }
    }
    if (out->type == FLUSS_NULL || depth > DEPTH_MAX) {
        return false;
    }
    *at += size;
    const bool nested = out->type >= FLUSS_ARRAY;
    if (nested ? !parse_children(at, depth, out) : !parse_parameters(at, out)) {
        return false;
    }
    (void)accept(at, "NOT NULL");
    return true;
}

bool cli_type_parse(const char *text, cli_type *out)
{
    const char *at = text;
    const bool done = parse(&at, 0, out) && *at == '\0';
    if (!done) {
        cli_type_deinit(out);
    }
    return done;
}

void cli_type_deinit(cli_type *type)
{
    for (size_t i = 0; i < type->child_count; i++) {
        cli_type_deinit(&type->children[i]);
        if (type->names != NULL) {
            free(type->names[i]);
        }
    }
    free(type->children);
    free(type->names);
    *type = (cli_type){0};
}
