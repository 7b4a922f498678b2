/* SPDX-License-Identifier: Apache-2.0 */
/* How alike two names are, for "did you mean". */
#ifndef FL_EDIT_DISTANCE_H
#define FL_EDIT_DISTANCE_H
#include <stddef.h>

enum { FL_EDIT_SIZE_MAX = 100 };

/** How many bytes must be put in, taken out or replaced to make one text of the other
 * (Levenshtein). Only the first FL_EDIT_SIZE_MAX bytes of each count. */
size_t fl_edit_distance(const char *a, const char *b);
#endif
