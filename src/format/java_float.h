/* SPDX-License-Identifier: Apache-2.0 */
/* Floating point numbers as Java's String.valueOf writes them (JDK 19 and later): the shortest
 * decimal that reads back as the same number, "1.0E10" outside 10^-3 .. 10^7. Older JDKs
 * write a digit more than needed for some numbers (about 6 % of random floats). */
#ifndef FL_JAVA_FLOAT_H
#define FL_JAVA_FLOAT_H
#include <stddef.h>

enum { FL_JAVA_FLOAT_SIZE = 32 };
/** Terminated text of a float or double ("NaN", "-Infinity" too); its size. */
size_t fl_java_float_print(float value, char text[FL_JAVA_FLOAT_SIZE]);
size_t fl_java_double_print(double value, char text[FL_JAVA_FLOAT_SIZE]);
#endif
