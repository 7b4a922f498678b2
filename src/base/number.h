/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in text. */
#ifndef FL_NUMBER_H
#define FL_NUMBER_H

/** strtod with a point as the decimal sign, whatever locale the program has set. Thread: any. */
double fl_strtod(const char *text, char **end);
#endif
