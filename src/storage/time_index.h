/* SPDX-License-Identifier: Apache-2.0 */
/* The time index of a segment: which log offset has a commit timestamp. */
#ifndef FL_TIME_INDEX_H
#define FL_TIME_INDEX_H
#include "storage/index_file.h"

typedef struct fl_time_index {
    fl_index_file entries;
    int64_t newest_timestamp_ms; /* of the last entry; -1: none, or not read yet */
} fl_time_index;

typedef struct fl_time_entry {
    int64_t timestamp_ms; /* largest commit timestamp up to here */
    int64_t offset;       /* base offset of the first batch that has it */
} fl_time_entry;

void fl_time_index_init(fl_time_index *index, fl_file_cache *cache, const char *dir,
                        int64_t base_offset);
/** The last entry with timestamp <= timestamp_ms; {-1, base_offset} when there is none. */
FLUSS_CHECKED fluss_code_t fl_time_index_find(fl_time_index *index, int64_t timestamp_ms,
                                              fl_time_entry *entry, fluss_error_t *err);
/** Add an entry if it is newer than the last one; room was reserved. */
void fl_time_index_append(fl_time_index *index, const fl_time_entry *entry);
/** Write those pending entries whose offset is below `offset`. */
FLUSS_CHECKED fluss_code_t fl_time_index_flush(fl_time_index *index, int64_t offset,
                                               fluss_error_t *err);
/** Read the newest timestamp; whether times and offsets of all entries rise. Cost: reads all. */
FLUSS_CHECKED fluss_code_t fl_time_index_check(fl_time_index *index, bool *is_good,
                                               fluss_error_t *err);
/** Read the newest timestamp only. */
FLUSS_CHECKED fluss_code_t fl_time_index_load_newest(fl_time_index *index, fluss_error_t *err);
#endif
