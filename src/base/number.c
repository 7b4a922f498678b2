/* SPDX-License-Identifier: Apache-2.0 */
/* A number is read under the C library's own "C" locale, which each thread may name at any time. */
#include "base/number.h"

#include <locale.h>
#include <stdlib.h>

double fl_strtod(const char *text, char **end)
{
    /* The C library has this locale ready: nothing is loaded. */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return strtod(text, end);
    }
    const double value = strtod_l(text, end, plain);
    freelocale(plain);
    return value;
}
