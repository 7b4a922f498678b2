/* SPDX-License-Identifier: Apache-2.0 */
/* Values as fluss_datum_t: check and convert against a type, compare, print. */
#ifndef FL_DATUM_H
#define FL_DATUM_H
#include "format/schema.h"

/**
 * Check a value against a column's type and bring it into the type's own form: an integer of any
 * width that fits; int to float where exact; DECIMAL rescaled HALF_UP to the type's scale, refused
 * above its precision; TIMESTAMP cut to the unit its precision is stored in
 * (s, ms, us, ns); TIME as is; BINARY(n) exactly n bytes;
 * CHAR/STRING UTF-8; nested values through their element types.
 *
 * @param name  column, for the message ("Field 'x': …"); NULL for a nullable type: none
 * @param arena takes converted nested values; strings and bytes stay views of `in`
 * @param out   may be `in`
 * @return FLUSS_KIND_ARGUMENT: names the field, what was found and what the type wants; a null in a
 * NOT NULL field
 */
FLUSS_CHECKED fluss_code_t fl_datum_coerce(const fluss_datum_t *in, const fl_type *type,
                                           const char *name, fl_arena *arena, fluss_datum_t *out,
                                           fluss_error_t *err);
/** Equal values of one type; NaN equals NaN, NULL equals NULL. */
bool fl_datum_equal(const fluss_datum_t *a, const fluss_datum_t *b);
/** Order of two non-null values of one scalar type: < 0, 0, > 0. Strings and bytes by unsigned
 * bytes, floats as Java's Float.compare. */
int fl_datum_compare(const fluss_datum_t *a, const fluss_datum_t *b);
/** 128-bit helpers of DECIMAL: from text ("-12.340", "1E+3"; no digit may be lost); big-endian
 * minimal two's complement both ways (1..16 bytes). */
FLUSS_CHECKED fluss_code_t fl_decimal_parse(const char *text, int precision, int scale,
                                            fluss_datum_t *out, fluss_error_t *err);
size_t fl_decimal_to_bytes(const fluss_datum_t *decimal, uint8_t bytes[16]);
bool fl_decimal_from_bytes(fl_slice bytes, fluss_datum_t *decimal);
#endif
