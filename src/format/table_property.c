/* SPDX-License-Identifier: Apache-2.0 */
/* Table properties: one static table, and the readers of text values. Units are matched in any
 * case and with space in front, as Fluss does. Source: TimeUtils and MemorySize, Fluss 1.0. */
#include "format/table_property.h"

#include <ctype.h>
#include <strings.h>

#include "base/edit_distance.h"

enum { DIGITS_MAX = 19, VALUE_SHOWN_MAX = 100 };

static const fl_property properties[] = {
#define FL_PROPERTY(name, type, value, alterable, texts, least, most) \
    {.key = (name),                                                   \
     .kind = FL_PROPERTY_##type,                                      \
     .fallback = (value),                                             \
     .is_alterable = (alterable),                                     \
     .choices = (texts),                                              \
     .min = (least),                                                  \
     .max = (most)},
#include "format/table_property.def"
#undef FL_PROPERTY
};

const fl_property *fl_property_find(const char *key)
{
    for (size_t i = 0; i < FL_COUNT_OF(properties); i++) {
        if (strcmp(properties[i].key, key) == 0) {
            return &properties[i];
        }
    }
    return NULL;
}

/* The known key that is most like `key`; NULL when none is near. */
static const char *nearest_key(const char *key)
{
    const size_t size = strlen(key);
    if (size > FL_EDIT_SIZE_MAX) {
        return NULL;
    }
    const char *nearest = NULL;
    size_t best = size / 2 < 10 ? size / 2 : 10;
    for (size_t i = 0; i < FL_COUNT_OF(properties); i++) {
        const size_t found = fl_edit_distance(key, properties[i].key);
        if (found < best) {
            best = found;
            nearest = properties[i].key;
        }
    }
    return nearest;
}

fluss_code_t fl_property_unknown(const char *key, fluss_error_t *err)
{
    const char *nearest = nearest_key(key);
    if (strncmp(key, "table.", 6) != 0 && nearest == NULL) {
        return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                        "'%.100s' is no table property; a property of your own is a custom "
                        "property",
                        key);
    }
    return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                    nearest == NULL ? "'%.100s' is no table property that this server knows%s%s"
                                    : "'%.100s' is no table property; did you mean '%s'?%s",
                    key, nearest == NULL ? "" : nearest, "");
}

/* ---- values ---- */

static bool equal_any_case(const char *a, size_t a_size, const char *b, size_t b_size)
{
    return a_size == b_size && strncasecmp(a, b, a_size) == 0;
}

/* Walk the choices; index and spelling of the one that equals `value`. */
static int find_choice(const char *choices, const char *value, const char **spelling, size_t *size)
{
    const char *at = choices;
    for (int index = 0; at != NULL; index++) {
        const char *end = strchr(at, '|');
        const size_t choice_size = end == NULL ? strlen(at) : (size_t)(end - at);
        if (equal_any_case(value, strlen(value), at, choice_size)) {
            *spelling = at;
            *size = choice_size;
            return index;
        }
        at = end == NULL ? NULL : end + 1;
    }
    return -1;
}

int fl_property_choice(const fl_property *property, const char *value)
{
    const char *spelling;
    size_t size;
    return find_choice(property->choices, value, &spelling, &size);
}

const char *fl_property_canonical(const fl_property *property, const char *value, size_t *size)
{
    const char *spelling = NULL;
    *size = 0;
    (void)find_choice(property->choices, value, &spelling, size);
    return spelling;
}

static const char *skip_space(const char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    return text;
}

/* Digits at the start of text; false: none, or too many for 64 bits. */
static bool read_digits(const char **at, int64_t *value)
{
    *value = 0;
    const char *from = *at;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, **at - '0', value)) {
            return false;
        }
    }
    return *at > from;
}

bool fl_text_to_i64(const char *text, int64_t min, int64_t max, int64_t *value)
{
    const char *at = skip_space(text);
    const bool is_negative = *at == '-';
    at += is_negative || *at == '+';
    int64_t number;
    if (!read_digits(&at, &number) || *skip_space(at) != '\0') {
        return false;
    }
    *value = is_negative ? -number : number;
    return *value >= min && *value <= max;
}

bool fl_text_to_bool(const char *text, bool *value)
{
    *value = strcasecmp(text, "true") == 0;
    return *value || strcasecmp(text, "false") == 0;
}

typedef struct unit {
    const char *names; /* separated by '|' */
    int64_t factor, divisor;
} unit;

/* A number, space, and a unit or nothing. */
static bool read_with_unit(const char *text, const unit *units, size_t unit_count, int64_t *value)
{
    const char *at = skip_space(text);
    int64_t number;
    if (!read_digits(&at, &number)) {
        return false;
    }
    char name[24];
    size_t size = 0;
    for (at = skip_space(at); *at != '\0' && !isspace((unsigned char)*at); at++) {
        if (size == sizeof(name) - 1) {
            return false;
        }
        name[size++] = *at;
    }
    name[size] = '\0';
    if (*skip_space(at) != '\0') {
        return false;
    }
    const char *spelling;
    for (size_t i = 0; i < unit_count; i++) {
        if (size == 0 || find_choice(units[i].names, name, &spelling, &size) >= 0) {
            *value = number / units[i].divisor;
            return !__builtin_mul_overflow(*value, units[i].factor, value);
        }
    }
    return false;
}

bool fl_text_to_duration_ms(const char *text, int64_t *ms)
{
    static const unit units[] = {
        {"ms|milli|millis|millisecond|milliseconds", 1, 1},
        {"s|sec|secs|second|seconds", 1000, 1},
        {"m|min|minute|minutes", 60000, 1},
        {"h|hour|hours", 3600000, 1},
        {"d|day|days", 86400000, 1},
        {"us|µs|micro|micros|microsecond|microseconds", 1, 1000},
        {"ns|nano|nanos|nanosecond|nanoseconds", 1, 1000000},
    };
    return read_with_unit(text, units, FL_COUNT_OF(units), ms);
}

bool fl_text_to_size_bytes(const char *text, int64_t *bytes)
{
    static const unit units[] = {
        {"b|bytes", 1, 1},
        {"k|kb|kib|kibibytes", 1 << 10, 1},
        {"m|mb|mib|mebibytes", 1 << 20, 1},
        {"g|gb|gib|gibibytes", 1 << 30, 1},
        {"t|tb|tib|tebibytes", 1LL << 40, 1},
    };
    return read_with_unit(text, units, FL_COUNT_OF(units), bytes);
}

static fluss_code_t refuse(const fl_property *property, const char *value, const char *wanted,
                           fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT, "'%s' is '%.*s', expected %s",
                    property->key, VALUE_SHOWN_MAX, value, wanted);
}

fluss_code_t fl_property_check(const fl_property *property, const char *value, fluss_error_t *err)
{
    int64_t number;
    bool flag;
    switch (property->kind) {
    case FL_PROPERTY_TEXT:
        return 0;
    case FL_PROPERTY_BOOL:
        return fl_text_to_bool(value, &flag) ? 0 : refuse(property, value, "true or false", err);
    case FL_PROPERTY_DURATION:
        return fl_text_to_duration_ms(value, &number)
                   ? 0
                   : refuse(property, value, "a duration such as 7d, 12 h or 500ms", err);
    case FL_PROPERTY_ENUM:
        return fl_property_choice(property, value) >= 0
                   ? 0
                   : refuse(property, value, property->choices, err);
    case FL_PROPERTY_INT:
    case FL_PROPERTY_LONG:
        break;
    }
    if (fl_text_to_i64(value, property->min, property->max, &number)) {
        return 0;
    }
    return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                    "'%s' is '%.*s', expected a whole number from %lld to %lld", property->key,
                    VALUE_SHOWN_MAX, value, (long long)property->min, (long long)property->max);
}
