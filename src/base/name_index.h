/* SPDX-License-Identifier: Apache-2.0 */
/* Where names stand: the columns of a table, the fields of a row, the children of an Arrow struct.
 * A name is found at the same cost however many there are. */
#ifndef FL_NAME_INDEX_H
#define FL_NAME_INDEX_H
#include "base/arena.h"

typedef struct fl_name_slot fl_name_slot;

/** Empty when all zero. It lives in the arena that its names were added with, and ends with it. */
typedef struct fl_name_index {
    fl_name_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t name_count;
} fl_name_index;

/** Add the next name, which stands behind all that were added before.
 * @param name      terminated; views (until the arena ends)
 * @param position  where the name stands; of a repeated name, where it stood first
 * @return no memory: the index is as before */
FLUSS_CHECKED fluss_code_t fl_name_index_add(fl_name_index *index, fl_arena *arena,
                                             const char *name, size_t *position,
                                             fluss_error_t *err);
/** Where a name of `size` bytes stands (first); -1: nowhere. */
ptrdiff_t fl_name_index_find(const fl_name_index *index, const char *name, size_t size);
#endif
