/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest digits are found by trial: the C library rounds correctly, so the first precision whose
 * text reads back as the number is the shortest, and among equally short texts it is the nearest.
 * Java wants at least two digits and, where two digits suffice for several texts, the nearest of
 * these, which the trial that begins with two digits gives (2.0E-3, 4.9E-324). Form: digits with a
 * point when 10^-3 <= |v| < 10^7, else one digit, point, digits, "E" and exponent. */
#include "format/java_float.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MIN = 2, DIGITS_MAX = 17, PLAIN_EXPONENT_MIN = -3, PLAIN_EXPONENT_MAX = 6 };

typedef struct shortest {
    char digits[DIGITS_MAX + 1]; /* first digit not 0, no trailing zeros but at least one digit */
    int count;
    int exponent; /* of the first digit */
} shortest;

static bool reads_back(const char *text, double value, bool is_single)
{
    return is_single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

/* @param value positive and finite */
static shortest find_shortest(double value, bool is_single)
{
    char text[40];
    for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
        (void)snprintf(text, sizeof(text), "%.*e", digits - 1, value);
        if (reads_back(text, value, is_single)) {
            break;
        }
    }
    shortest result = {0};
    const char *e = strchr(text, 'e');
    for (const char *at = text; at < e; at++) {
        if (*at >= '0' && *at <= '9') { /* not the locale's decimal sign */
            result.digits[result.count++] = *at;
        }
    }
    while (result.count > 1 && result.digits[result.count - 1] == '0') {
        result.count--;
    }
    result.digits[result.count] = '\0';
    result.exponent = (int)strtol(e + 1, NULL, 10);
    return result;
}

static size_t print_plain(const shortest *number, char *to)
{
    size_t size = 0;
    int exponent = number->exponent;
    if (exponent < 0) {
        to[size++] = '0';
        to[size++] = '.';
        for (int i = -1; i > exponent; i--) {
            to[size++] = '0';
        }
        memcpy(to + size, number->digits, (size_t)number->count);
        return size + (size_t)number->count;
    }
    for (int i = 0; i <= exponent || i < number->count; i++) {
        if (i == exponent + 1) {
            to[size++] = '.';
        }
        to[size++] = i < number->count ? number->digits[i] : '0';
    }
    if (number->count <= exponent + 1) {
        to[size++] = '.';
        to[size++] = '0';
    }
    return size;
}

static size_t print(double value, bool is_single, char text[FL_JAVA_FLOAT_SIZE])
{
    if (isnan(value)) {
        return (size_t)snprintf(text, FL_JAVA_FLOAT_SIZE, "NaN");
    }
    size_t size = 0;
    if (signbit(value)) {
        text[size++] = '-';
        value = -value;
    }
    if (isinf(value) || value == 0) {
        return size + (size_t)snprintf(text + size, FL_JAVA_FLOAT_SIZE - size, "%s",
                                       value == 0 ? "0.0" : "Infinity");
    }
    const shortest number = find_shortest(value, is_single);
    if (number.exponent >= PLAIN_EXPONENT_MIN && number.exponent <= PLAIN_EXPONENT_MAX) {
        size += print_plain(&number, text + size);
        text[size] = '\0';
        return size;
    }
    return size + (size_t)snprintf(text + size, FL_JAVA_FLOAT_SIZE - size, "%c.%sE%d",
                                   number.digits[0], number.count > 1 ? number.digits + 1 : "0",
                                   number.exponent);
}

size_t fl_java_float_print(float value, char text[FL_JAVA_FLOAT_SIZE])
{
    return print((double)value, true, text);
}

size_t fl_java_double_print(double value, char text[FL_JAVA_FLOAT_SIZE])
{
    return print(value, false, text);
}
