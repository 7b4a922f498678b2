/* SPDX-License-Identifier: Apache-2.0 */
/* DECIMAL values: text, bytes and scale. The compiler's 128-bit integer holds 10^38 - 1 with a bit
 * to spare, so only products need a check. */
#include "format/decimal.h"

#include <ctype.h>

enum { BYTES_MAX = 16, EXPONENT_MAX = 1000, SCALE_MAX = 255 };

/* 10^exponent, exponent 0..38. */
static fl_int128 power_of_ten(int exponent)
{
    FL_ASSERT(exponent >= 0 && exponent <= FL_DECIMAL_PRECISION_MAX);
    fl_int128 power = 1;
    for (int i = 0; i < exponent; i++) {
        power *= 10;
    }
    return power;
}

bool fl_decimal_fits(fl_int128 unscaled, int precision)
{
    const fl_int128 bound = power_of_ten(precision);
    return unscaled < bound && unscaled > -bound;
}

bool fl_decimal_rescale(fl_int128 unscaled, int scale, int to_precision, int to_scale,
                        fl_int128 *result)
{
    fl_int128 value = unscaled;
    for (; scale < to_scale && value != 0; scale++) {
        if (!fl_decimal_fits(value, FL_DECIMAL_PRECISION_MAX - 1)) {
            return false;
        }
        value *= 10;
    }
    if (scale > to_scale) {
        /* Only the first lost digit decides; those behind it are cut first. */
        for (; scale > to_scale + 1 && value != 0; scale--) {
            value /= 10;
        }
        const int last = (int)(value % 10);
        value = value / 10 + (last >= 5) - (last <= -5);
    }
    *result = value;
    return fl_decimal_fits(value, to_precision);
}

/* What a decimal's text says, before it is brought to a scale. */
typedef struct spelled {
    fl_int128 unscaled;
    int scale; /* may be negative */
} spelled;

/* Read digits with at most one point; false: none, or more than 38 that count. */
static bool read_digits(const char **at, spelled *number)
{
    bool has_digit = false;
    bool has_point = false;
    int zeros = 0; /* seen, not yet multiplied in: trailing ones cost no precision */
    for (; isdigit((unsigned char)**at) || (**at == '.' && !has_point); (*at)++) {
        if (**at == '.') {
            has_point = true;
            continue;
        }
        has_digit = true;
        if (number->scale == SCALE_MAX) {
            return false;
        }
        number->scale += has_point;
        if (**at == '0') {
            zeros += number->unscaled != 0;
            continue;
        }
        for (int i = 0; i <= zeros; i++) {
            if (!fl_decimal_fits(number->unscaled, FL_DECIMAL_PRECISION_MAX - 1)) {
                return false;
            }
            number->unscaled *= 10;
        }
        zeros = 0;
        number->unscaled += **at - '0';
    }
    number->scale -= zeros;
    return has_digit;
}

static bool read_exponent(const char **at, int *scale)
{
    if (**at != 'e' && **at != 'E') {
        return true;
    }
    (*at)++;
    const bool is_negative = **at == '-';
    *at += is_negative || **at == '+';
    int exponent = 0;
    const char *from = *at;
    for (; isdigit((unsigned char)**at) && exponent < EXPONENT_MAX; (*at)++) {
        exponent = exponent * 10 + (**at - '0');
    }
    *scale += is_negative ? exponent : -exponent;
    return *at > from;
}

fluss_code_t fl_decimal_parse(const char *text, int precision, int scale, fluss_datum_t *out,
                              fluss_error_t *err)
{
    if (precision < 1 || precision > FL_DECIMAL_PRECISION_MAX || scale < 0 || scale > precision) {
        return fl_error_argument(err,
                                 "DECIMAL(%d,%d): precision 1 to 38 and scale 0 to precision "
                                 "are possible",
                                 precision, scale);
    }
    const char *at = text;
    const bool is_negative = *at == '-';
    at += is_negative || *at == '+';
    spelled number = {0};
    if (!read_digits(&at, &number) || !read_exponent(&at, &number.scale) || *at != '\0') {
        return fl_error_argument(err, "\"%.60s\" is no decimal number of at most %d digits", text,
                                 FL_DECIMAL_PRECISION_MAX);
    }
    fl_int128 value = number.unscaled;
    for (; number.scale > scale && value % 10 == 0 && value != 0; number.scale--) {
        value /= 10;
    }
    if (number.scale > scale && value != 0) {
        return fl_error_argument(err, "\"%.60s\" has more than %d digits behind the point", text,
                                 scale);
    }
    if (!fl_decimal_rescale(value, number.scale > scale ? scale : number.scale, precision, scale,
                            &value)) {
        return fl_error_argument(err, "\"%.60s\" does not fit DECIMAL(%d,%d)", text, precision,
                                 scale);
    }
    *out = fl_decimal_datum(is_negative ? -value : value, precision, scale);
    return 0;
}

size_t fl_decimal_to_bytes(const fluss_datum_t *decimal, uint8_t bytes[16])
{
    const fl_int128 value = fl_decimal_unscaled(decimal);
    size_t size = BYTES_MAX;
    /* A leading byte is redundant when the rest, sign included, is the same number. */
    while (size > 1) {
        const fl_int128 rest = value >> ((size - 1) * 8 - 1);
        if (rest != 0 && rest != -1) {
            break;
        }
        size--;
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    }
    return size;
}

bool fl_decimal_from_bytes(fl_slice bytes, fluss_datum_t *decimal)
{
    if (bytes.size == 0 || bytes.size > BYTES_MAX) {
        return false;
    }
    unsigned __int128 value = (bytes.data[0] & 0x80) != 0 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < bytes.size; i++) {
        value = (value << 8) | bytes.data[i];
    }
    decimal->v.dec.lo = (uint64_t)value;
    decimal->v.dec.hi = (int64_t)(uint64_t)(value >> 64);
    return true;
}

size_t fl_decimal_print(fl_int128 unscaled, int scale, char text[FL_DECIMAL_TEXT_SIZE])
{
    FL_ASSERT(scale >= 0 && scale <= SCALE_MAX);
    char digits[FL_DECIMAL_TEXT_SIZE];
    int count = 0;
    unsigned __int128 left =
        unscaled < 0 ? -(unsigned __int128)unscaled : (unsigned __int128)unscaled;
    while (left != 0 || count <= scale) {
        digits[count++] = (char)('0' + (int)(left % 10));
        left /= 10;
    }
    size_t size = 0;
    if (unscaled < 0) {
        text[size++] = '-';
    }
    while (count > 0) {
        text[size++] = digits[--count];
        if (count == scale && scale != 0) {
            text[size++] = '.';
        }
    }
    text[size] = '\0';
    return size;
}
