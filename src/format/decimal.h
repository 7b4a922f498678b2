/* SPDX-License-Identifier: Apache-2.0 */
/* 128-bit arithmetic of DECIMAL: an unscaled integer below 10^38, and a scale. */
#ifndef FL_DECIMAL_H
#define FL_DECIMAL_H
#include "format/datum.h"

typedef __int128 fl_int128;

static inline fl_int128 fl_decimal_unscaled(const fluss_datum_t *decimal)
{
    return (fl_int128)(((unsigned __int128)(uint64_t)decimal->v.dec.hi << 64) | decimal->v.dec.lo);
}
/** A DECIMAL datum. */
static inline fluss_datum_t fl_decimal_datum(fl_int128 unscaled, int precision, int scale)
{
    fluss_datum_t datum = {.type = FLUSS_DECIMAL};
    datum.precision = (uint8_t)precision;
    datum.scale = (uint8_t)scale;
    datum.v.dec.lo = (uint64_t)(unsigned __int128)unscaled;
    datum.v.dec.hi = (int64_t)(unscaled >> 64);
    return datum;
}
/** Whether |unscaled| has at most `precision` digits. */
bool fl_decimal_fits(fl_int128 unscaled, int precision);
/** Bring to another scale, rounding HALF_UP (ties away from zero); false: more than `precision`
 * digits. */
bool fl_decimal_rescale(fl_int128 unscaled, int scale, int to_precision, int to_scale,
                        fl_int128 *result);
/** Room for any decimal as text: sign, "0.", 38 digits, zeros up to a scale of 255. */
enum { FL_DECIMAL_TEXT_SIZE = 300 };
/** Plain text ("-0.050"), terminated; its size. */
size_t fl_decimal_print(fl_int128 unscaled, int scale, char text[FL_DECIMAL_TEXT_SIZE]);
#endif
