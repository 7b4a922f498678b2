/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of fl_arrow_convert: columns of a user's array to those of a table. */
#ifndef FL_ARROW_CONVERT_H
#define FL_ARROW_CONVERT_H
#include "format/arrow_private.h"

/** A column of somebody else: what its schema says, and its array. */
typedef struct fl_foreign {
    const struct ArrowSchema *schema;
    struct ArrowSchemaView kind;
    const struct ArrowArray *array;
    const struct ArrowArrayView *view;
} fl_foreign;

typedef struct fl_convert_walk {
    fl_arrow_owner *owner;
    fl_name_index columns; /* the children of the root */
    fl_arena names;        /* the memory of indexes, for as long as the walk */
    fluss_error_t *err;
} fl_convert_walk;

/** Child `index` of a column. */
FLUSS_CHECKED fluss_code_t fl_foreign_child(const fl_foreign *parent, size_t index,
                                            fl_foreign *child, fluss_error_t *err);
/** Whether a timestamp with this zone, or none, can be one of the type: a wall clock time has none;
 * an instant may have any, and is in UTC without one. */
bool fl_convert_zone_fits(const struct ArrowSchemaView *kind, const fl_type *type);
/** "Arrow type int64 can't become INT". */
fluss_code_t fl_convert_refuse(const fl_foreign *from, const fl_type *type, fluss_error_t *err);

/** Fresh bitmap of values [from, from + count). */
FLUSS_CHECKED fluss_code_t fl_convert_validity(fl_convert_walk *walk, const struct ArrowArray *in,
                                               int64_t from, int64_t count, struct ArrowArray *out);
/** A column, whatever it is, as one of the type. @param at, count values of it, after its offset
 * @param out an empty node of the type */
FLUSS_CHECKED fluss_code_t fl_convert_column(fl_convert_walk *walk, const fl_foreign *from,
                                             int64_t at, int64_t count, const fl_type *type,
                                             struct ArrowArray *out);
/** Runs, written out. */
FLUSS_CHECKED fluss_code_t fl_convert_runs(fl_convert_walk *walk, const fl_foreign *from,
                                           int64_t at, int64_t count, const fl_type *type,
                                           struct ArrowArray *out);
/** Lists of one size as an ARRAY. */
FLUSS_CHECKED fluss_code_t fl_convert_fixed_list(fl_convert_walk *walk, const fl_foreign *from,
                                                 int64_t at, int64_t count, const fl_type *type,
                                                 struct ArrowArray *out);
/** Value by value: whatever is not shared and not nested. */
FLUSS_CHECKED fluss_code_t fl_convert_values(fl_convert_walk *walk, const fl_foreign *from,
                                             int64_t at, int64_t count, const fl_type *type,
                                             struct ArrowArray *out);
#endif
