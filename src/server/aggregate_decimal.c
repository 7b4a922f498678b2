/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products of DECIMAL columns. Values are unscaled 128-bit integers of one scale; a
 * product is taken in 256 bits, then rounded half up to the scale. What exceeds the precision
 * becomes null, as in Fluss; but Fluss does not look at a sum of at most 18 digits, whose changelog
 * then fails: that is refused. */
#include "server/aggregate_private.h"

typedef unsigned __int128 wide;
enum { LIMB_COUNT = 4, DIGITS_PER_LIMB = 19, COMPACT_PRECISION_MAX = 18 };

static __int128 value_of(const fluss_datum_t *decimal)
{
    return (__int128)(((wide)(uint64_t)decimal->v.dec.hi << 64) | decimal->v.dec.lo);
}

static fluss_datum_t decimal_of(__int128 value, const fl_type *type)
{
    fluss_datum_t out = {.type = FLUSS_DECIMAL, .precision = type->precision, .scale = type->scale};
    out.v.dec.lo = (uint64_t)(wide)value;
    out.v.dec.hi = (int64_t)((wide)value >> 64);
    return out;
}

static wide power_of_ten(unsigned exponent)
{
    wide power = 1;
    while (exponent-- != 0) {
        power *= 10;
    }
    return power;
}

static bool fits(wide magnitude, const fl_type *type)
{
    return magnitude < power_of_ten(type->precision);
}

static wide magnitude_of(__int128 value)
{
    return value < 0 ? -(wide)value : (wide)value;
}

fluss_code_t fl_aggregate_decimal_sum(const fl_column *column, const fluss_datum_t *a,
                                      const fluss_datum_t *b, fluss_datum_t *out,
                                      fluss_error_t *err)
{
    const fl_type *type = &column->type;
    __int128 sum;
    const bool overflows = __builtin_add_overflow(value_of(a), value_of(b), &sum);
    const bool is_whole = !overflows && fits(magnitude_of(sum), type);
    if (!is_whole && type->precision <= COMPACT_PRECISION_MAX) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "column '%s': a sum has more digits than DECIMAL(%d,%d)", column->name,
                        (int)type->precision, (int)type->scale);
    }
    *out = is_whole ? decimal_of(sum, type) : (fluss_datum_t){.type = FLUSS_NULL};
    return 0;
}

static void multiply(wide a, wide b, uint64_t limbs[LIMB_COUNT])
{
    const uint64_t parts[2][2] = {{(uint64_t)a, (uint64_t)(a >> 64)},
                                  {(uint64_t)b, (uint64_t)(b >> 64)}};
    memset(limbs, 0, LIMB_COUNT * sizeof(*limbs));
    for (size_t i = 0; i < 2; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j < 2; j++) {
            const wide sum = (wide)parts[0][i] * parts[1][j] + limbs[i + j] + carry;
            limbs[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        limbs[i + 2] = carry;
    }
}

static void add(uint64_t limbs[LIMB_COUNT], wide value)
{
    wide carry = value;
    for (size_t i = 0; i < LIMB_COUNT; i++) {
        const wide sum = (wide)limbs[i] + (uint64_t)carry;
        limbs[i] = (uint64_t)sum;
        carry = (carry >> 64) + (sum >> 64);
    }
}

static void divide(uint64_t limbs[LIMB_COUNT], uint64_t by)
{
    wide rest = 0;
    for (size_t i = LIMB_COUNT; i-- != 0;) {
        const wide part = (rest << 64) | limbs[i];
        limbs[i] = (uint64_t)(part / by);
        rest = part % by;
    }
}

fluss_datum_t fl_aggregate_decimal_product(const fl_type *type, const fluss_datum_t *a,
                                           const fluss_datum_t *b)
{
    const __int128 left = value_of(a), right = value_of(b);
    uint64_t limbs[LIMB_COUNT];
    multiply(magnitude_of(left), magnitude_of(right), limbs);
    if (type->scale != 0) {
        add(limbs,
            5 * power_of_ten(type->scale - 1u)); /* half a unit of the last digit that stays */
    }
    for (unsigned left_digits = type->scale; left_digits != 0;) {
        const unsigned digits = left_digits < DIGITS_PER_LIMB ? left_digits : DIGITS_PER_LIMB;
        divide(limbs, (uint64_t)power_of_ten(digits));
        left_digits -= digits;
    }
    const wide magnitude = ((wide)limbs[1] << 64) | limbs[0];
    if (limbs[2] != 0 || limbs[3] != 0 || !fits(magnitude, type)) {
        return (fluss_datum_t){.type = FLUSS_NULL};
    }
    const bool is_negative = (left < 0) != (right < 0);
    return decimal_of(is_negative ? -(__int128)magnitude : (__int128)magnitude, type);
}
