/* SPDX-License-Identifier: Apache-2.0 */
/* Data types: 16 scalars, ARRAY, MAP, ROW. Immutable after building; memory belongs to an arena. */
#ifndef FL_TYPES_H
#define FL_TYPES_H
#include "base/arena.h"
#include "base/buf.h"

enum { FL_TYPE_DEPTH_MAX = 32, FL_DECIMAL_PRECISION_MAX = 38, FL_TIME_PRECISION_MAX = 9 };

typedef struct fl_type fl_type;
typedef struct fl_field fl_field;

struct fl_type {
    uint8_t root; /* fluss_type_t, never FLUSS_NULL */
    bool nullable;
    uint8_t precision; /* DECIMAL 1..38, TIME and TIMESTAMP* 0..9 */
    uint8_t scale;     /* DECIMAL 0..precision */
    int32_t length;    /* CHAR, BINARY: 1..2^31-1 */
    size_t field_count;
    fl_field *fields; /* ARRAY: 1 (element); MAP: 2 (key, value); ROW: its fields */
};

struct fl_field {
    const char *name;        /* ROW; else "element", "key", "value" */
    const char *description; /* ROW; may be NULL */
    int32_t id;              /* ROW: unique in the schema; -1: not assigned */
    fl_type type;
};

/** "INT", "TIMESTAMP_LTZ"; any fluss_type_t. */
const char *fl_type_root_name(uint8_t root);
/** DECIMAL, TIME and TIMESTAMP* have a precision; CHAR and BINARY a length. */
bool fl_type_root_has_precision(uint8_t root);
bool fl_type_root_has_length(uint8_t root);
/** ARRAY, MAP, ROW. */
bool fl_type_root_is_nested(uint8_t root);
/** Check ranges, depth and field names of a type that code or a peer made.
 * @return FLUSS_KIND_ARGUMENT: says what is out of range */
FLUSS_CHECKED fluss_code_t fl_type_check(const fl_type *type, fluss_error_t *err);
/** Equal in everything but field ids and descriptions. */
bool fl_type_equal(const fl_type *a, const fl_type *b);
/** Deep copy into an arena. */
FLUSS_CHECKED fluss_code_t fl_type_copy(const fl_type *from, fl_arena *arena, fl_type *to,
                                        fluss_error_t *err);
/**
 * Read a type from text: "INT", "DECIMAL(10,2) NOT NULL", "ARRAY<ROW<a INT, b STRING NOT NULL>>",
 * any case. Aliases as in Fluss and SQL: INTEGER, TIMESTAMP_NTZ, "ROW<a: INT>".
 * @return FLUSS_KIND_ARGUMENT; the message quotes the text and the place
 */
FLUSS_CHECKED fluss_code_t fl_type_parse(const char *text, fl_arena *arena, fl_type *type,
                                         fluss_error_t *err);
/** Append the canonical text: upper case, as fl_type_parse reads; " NOT NULL" where it is so. */
FLUSS_CHECKED fluss_code_t fl_type_print(const fl_type *type, fl_buf *out, fluss_error_t *err);
#endif
