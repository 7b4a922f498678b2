/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of table properties (table_property.def) and the readers of their text values, in
 * Fluss's own spellings: durations "7d", "1 h", "500ms", a bare number in milliseconds; sizes
 * "64mb", "1 KiB", a bare number in bytes; booleans and enums in any case. Pure functions. */
#ifndef FL_TABLE_PROPERTY_H
#define FL_TABLE_PROPERTY_H
#include "base/error.h"
#include "base/slice.h"

typedef enum {
    FL_PROPERTY_TEXT,
    FL_PROPERTY_INT,
    FL_PROPERTY_LONG,
    FL_PROPERTY_BOOL,
    FL_PROPERTY_DURATION,
    FL_PROPERTY_ENUM
} fl_property_kind;

typedef struct fl_property {
    const char *key; /* "table.log.ttl" */
    fl_property_kind kind;
    const char *fallback; /* default as text; NULL: none, or set by the server */
    bool is_alterable;    /* by ALTER_TABLE */
    const char *choices;  /* ENUM: the canonical spellings, "ARROW|INDEXED|COMPACTED" */
    int64_t min, max;     /* INT and LONG */
} fl_property;

/** NULL: unknown. */
const fl_property *fl_property_find(const char *key);
/** An unknown key. @return FLUSS_E_INVALID_CONFIG, names the nearest known one */
fluss_code_t fl_property_unknown(const char *key, fluss_error_t *err);
/** Check a value. @return FLUSS_E_INVALID_CONFIG naming key, value and what is possible */
FLUSS_CHECKED fluss_code_t fl_property_check(const fl_property *property, const char *value,
                                             fluss_error_t *err);
/** Index of a value in the choices of an ENUM, in any case; -1: none. */
int fl_property_choice(const fl_property *property, const char *value);
/** The canonical spelling of an ENUM's value, static; NULL: none. `size` without terminator. */
const char *fl_property_canonical(const fl_property *property, const char *value, size_t *size);

/* Readers of one value; false: unreadable or out of range. */
bool fl_text_to_i64(const char *text, int64_t min, int64_t max, int64_t *value);
bool fl_text_to_bool(const char *text, bool *value);
bool fl_text_to_duration_ms(const char *text, int64_t *ms);
bool fl_text_to_size_bytes(const char *text, int64_t *bytes);
#endif
