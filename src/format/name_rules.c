/* SPDX-License-Identifier: Apache-2.0 */
/* Names of databases and tables, and values of partitions: 1 to 200 characters of
 * A-Z a-z 0-9 _ -, not "." or "..", and "__" in front is reserved. */
#include "base/utf8.h"
#include "format/table_rules.h"

static bool is_allowed(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

/* Size of the character at `at`, for a message. */
static size_t character_size(fl_slice name, size_t at)
{
    for (size_t size = 1; size <= 4 && at + size <= name.size; size++) {
        if (fl_utf8_is_valid(name.data + at, size)) {
            return size;
        }
    }
    return 0;
}

static fluss_code_t check_name(fl_slice name, const char *what, bool is_reserved_refused,
                               fluss_code_t code, fluss_error_t *err)
{
    if (name.size == 0) {
        return fl_error(err, code, FLUSS_KIND_ARGUMENT, "%s is empty", what);
    }
    if (name.size > FL_NAME_SIZE_MAX) {
        return fl_error(err, code, FLUSS_KIND_ARGUMENT, "%s has %zu bytes, at most %d are allowed",
                        what, name.size, FL_NAME_SIZE_MAX);
    }
    if (fl_slice_equal_str(name, ".") || fl_slice_equal_str(name, "..")) {
        return fl_error(err, code, FLUSS_KIND_ARGUMENT, "%s can't be '.' or '..'", what);
    }
    for (size_t i = 0; i < name.size; i++) {
        if (is_allowed(name.data[i])) {
            continue;
        }
        const size_t size = character_size(name, i);
        const bool is_shown = size > 0 && name.data[i] >= 0x20 && name.data[i] != 0x7F &&
                              fl_utf8_is_valid(name.data, name.size);
        if (!is_shown) {
            return fl_error(err, code, FLUSS_KIND_ARGUMENT,
                            "%s has byte 0x%02x at position %zu, allowed are A-Z a-z 0-9 _ -", what,
                            name.data[i], i + 1);
        }
        return fl_error(err, code, FLUSS_KIND_ARGUMENT,
                        "%s '%.*s' has '%.*s' at position %zu, allowed are A-Z a-z 0-9 _ -", what,
                        (int)name.size, (const char *)name.data, (int)size,
                        (const char *)name.data + i, i + 1);
    }
    if (is_reserved_refused && name.size >= 2 && memcmp(name.data, "__", 2) == 0) {
        return fl_error(err, code, FLUSS_KIND_ARGUMENT,
                        "%s '%.*s' begins with '__', which is reserved", what, (int)name.size,
                        (const char *)name.data);
    }
    return 0;
}

fluss_code_t fl_rules_check_database_name(fl_slice name, fluss_error_t *err)
{
    return check_name(name, "database name", true, FLUSS_E_INVALID_DATABASE, err);
}

fluss_code_t fl_rules_check_table_name(fl_slice name, fluss_error_t *err)
{
    return check_name(name, "table name", true, FLUSS_E_INVALID_TABLE, err);
}

fluss_code_t fl_rules_check_partition_value(fl_slice value, bool is_create, fluss_error_t *err)
{
    return check_name(value, "partition value", is_create, FLUSS_E_PARTITION_SPEC_INVALID, err);
}

bool fl_rules_is_system_column(const char *name)
{
    static const char *const names[] = {"__offset",     "__timestamp", "__bucket",
                                        "_change_type", "_log_offset", "_commit_timestamp"};
    for (size_t i = 0; i < FL_COUNT_OF(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}
