/* SPDX-License-Identifier: Apache-2.0 */
/* Filters as the scanner sees them. */
#ifndef FL_PREDICATE_H
#define FL_PREDICATE_H
#include <fluss/fluss_scan.h>

#include "format/schema.h"
#include "protocol/messages.h"

/** A deep copy. gives (fluss_pred_free). */
FLUSS_CHECKED fluss_code_t fl_pred_copy(const fluss_pred_t *pred, fluss_pred_t **out,
                                        fluss_error_t *err);
/** Find columns and convert literals to their types. @return FLUSS_KIND_ARGUMENT naming the column
 */
FLUSS_CHECKED fluss_code_t fl_pred_bind(fluss_pred_t *pred, const fl_schema *schema,
                                        fluss_error_t *err);
/** The message of a bound filter. */
FLUSS_CHECKED fluss_code_t fl_pred_message(const fluss_pred_t *pred, const fl_schema *schema,
                                           fl_arena *arena, fl_msg_pb_predicate *out,
                                           fluss_error_t *err);
/** Whether a row passes; SQL's rules: a comparison with a null does not.
 * @param value reads a column by name */
typedef fluss_code_t (*fl_pred_value_fn)(void *context, const char *column, fluss_datum_t *out);
FLUSS_CHECKED fluss_code_t fl_pred_test(const fluss_pred_t *pred, fl_pred_value_fn value,
                                        void *context, bool *passes);
#endif
