/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern of an auto-partition table's time column: the fields of its unit, each once, in the
 * order yyyy [Q | MM [dd [HH]]], with literal characters between them that a partition's name may
 * have; letters are literal only between quotes. Source: PartitionUtils.validateTimeFormat. */
#include <ctype.h>

#include "format/table_rules.h"

enum { NAME_SIZE_MAX = 100 };

static const struct {
    char letter;
    size_t width;
} fields[] = {{'y', 4}, {'Q', 1}, {'M', 2}, {'d', 2}, {'H', 2}};

static const char *const fields_of_unit[] = {
    [FL_TIME_UNIT_YEAR] = "y",  [FL_TIME_UNIT_QUARTER] = "yQ", [FL_TIME_UNIT_MONTH] = "yM",
    [FL_TIME_UNIT_DAY] = "yMd", [FL_TIME_UNIT_HOUR] = "yMdH",
};

static fluss_code_t refuse(const char *format, const char *why, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                    "'table.auto-partition.time-format' is '%.100s': %s", format, why);
}

/* A field has up to two letters, which mean the same here. */
static char canonical(char letter)
{
    switch (letter) {
    case 'u':
        return 'y';
    case 'q':
        return 'Q';
    case 'L':
        return 'M';
    default:
        return letter;
    }
}

/* One field of the pattern: the next wanted letter, in its width. */
static const char *field_fault(const char *at, char wanted, size_t *width)
{
    *width = 1;
    while (at[*width] == at[0]) {
        (*width)++;
    }
    if (canonical(at[0]) != wanted) {
        return "the fields must be those of the time unit, in the order yyyy Q MM dd HH";
    }
    for (size_t i = 0; i < FL_COUNT_OF(fields); i++) {
        if (fields[i].letter == wanted && fields[i].width != *width) {
            return "the fields must be yyyy, Q, MM, dd, HH, with exactly as many letters";
        }
    }
    return NULL;
}

fluss_code_t fl_rules_check_time_format(const char *format, fl_time_unit unit, fluss_error_t *err)
{
    const char *wanted = fields_of_unit[unit];
    bool is_quoted = false;
    size_t size = 0, underscores = 0; /* of the name so far */
    for (const char *at = format; *at != '\0';) {
        if (*at == '\'') {
            if (at[1] == '\'') {
                return refuse(format, "a quote can't be part of a partition's name", err);
            }
            is_quoted = !is_quoted;
            at++;
        } else if (!is_quoted && isalpha((unsigned char)*at)) {
            size_t width;
            const char *fault = field_fault(at, *wanted, &width);
            if (fault != NULL) {
                return refuse(format, fault, err);
            }
            wanted++;
            at += width;
            size += width;
        } else {
            if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-') {
                return refuse(format, "literal characters must be A-Z a-z 0-9 _ -", err);
            }
            underscores += size < 2 && *at == '_';
            size++;
            at++;
        }
    }
    if (underscores == 2) {
        return refuse(format, "names that begin with '__' are reserved", err);
    }
    if (is_quoted) {
        return refuse(format, "a quote is not closed", err);
    }
    if (size > NAME_SIZE_MAX) {
        return refuse(format, "the names of partitions can have at most 100 characters", err);
    }
    return *wanted == '\0' ? 0 : refuse(format, "a field of the time unit is missing", err);
}
