/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FL_AGGREGATE_PRIVATE_H
#define FL_AGGREGATE_PRIVATE_H
#include "server/aggregate.h"

/** Sum and product of two DECIMAL values of a type; null where the precision is exceeded, but for
 * a sum of at most 18 digits. @return FLUSS_E_SERVER_UNKNOWN: such a sum has too many digits */
FLUSS_CHECKED fluss_code_t fl_aggregate_decimal_sum(const fl_column *column, const fluss_datum_t *a,
                                                    const fluss_datum_t *b, fluss_datum_t *out,
                                                    fluss_error_t *err);
fluss_datum_t fl_aggregate_decimal_product(const fl_type *type, const fluss_datum_t *a,
                                           const fluss_datum_t *b);
#endif
