/* SPDX-License-Identifier: Apache-2.0 */
/* Levenshtein's distance, with one row of the table: before a round, row[j] says how far the part
 * of `a` seen so far is from the first j bytes of `b`. */
#include "base/edit_distance.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t fl_edit_distance(const char *a, const char *b)
{
    size_t row[FL_EDIT_SIZE_MAX + 1];
    const size_t a_size = strnlen(a, FL_EDIT_SIZE_MAX), b_size = strnlen(b, FL_EDIT_SIZE_MAX);
    for (size_t j = 0; j <= b_size; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_size; j++) {
            const size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[b_size];
}
