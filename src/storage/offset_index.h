/* SPDX-License-Identifier: Apache-2.0 */
/* The offset index of a segment: which byte position holds a log offset. */
#ifndef FL_OFFSET_INDEX_H
#define FL_OFFSET_INDEX_H
#include "storage/index_file.h"

typedef struct fl_offset_index {
    fl_index_file entries;
} fl_offset_index;

typedef struct fl_offset_entry {
    int64_t last_offset; /* of the batch, or of the batches that were appended together */
    uint64_t position;   /* where that (first) batch starts */
} fl_offset_entry;

void fl_offset_index_init(fl_offset_index *index, fl_file_cache *cache, const char *dir,
                          int64_t base_offset);
/** The last entry with last_offset <= offset; {base_offset, 0} when there is none. */
FLUSS_CHECKED fluss_code_t fl_offset_index_find(fl_offset_index *index, int64_t offset,
                                                fl_offset_entry *entry, fluss_error_t *err);
/** The last entry with position <= position. @param slot -1: there is none, entry {base_offset, 0}
 */
FLUSS_CHECKED fluss_code_t fl_offset_index_find_position(fl_offset_index *index, uint64_t position,
                                                         int64_t *slot, fl_offset_entry *entry,
                                                         fluss_error_t *err);
/** Room was reserved (fl_index_file_reserve). */
void fl_offset_index_append(fl_offset_index *index, const fl_offset_entry *entry);
/** Write those pending entries that point below `position`. */
FLUSS_CHECKED fluss_code_t fl_offset_index_flush(fl_offset_index *index, uint64_t position,
                                                 fluss_error_t *err);
/** Whether offsets and positions of all entries rise and stay below `size`. Cost: reads all. */
FLUSS_CHECKED fluss_code_t fl_offset_index_check(fl_offset_index *index, uint64_t size,
                                                 bool *is_good, fluss_error_t *err);
#endif
