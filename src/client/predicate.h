/* SPDX-License-Identifier: Apache-2.0 */
/* Filters as the scanner sees them. */
#ifndef FL_PREDICATE_H
#define FL_PREDICATE_H
#include <fluss/fluss_scan.h>

#include "format/filter.h"
#include "protocol/messages.h"

/** Find the columns and convert copies of the literals to their types; all from the arena.
 * @return FLUSS_KIND_ARGUMENT naming the column: unknown, a literal of another kind or one that the
 * type holds only rounded */
FLUSS_CHECKED fluss_code_t fl_pred_bind(const fluss_pred_t *pred, const fl_schema *schema,
                                        fl_arena *arena, fl_filter *out, fluss_error_t *err);
/** The message of a bound filter. */
FLUSS_CHECKED fluss_code_t fl_pred_message(const fl_filter *filter, fl_arena *arena,
                                           fl_msg_pb_predicate *out, fluss_error_t *err);
#endif
