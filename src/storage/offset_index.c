/* SPDX-License-Identifier: Apache-2.0 */
/* NNNNNNNNNNNNNNNNNNNN.index, big endian, sorted:
 * Position  Size  Field
 *        0     4  last offset of an append, relative to the segment's base offset
 *        4     4  byte position in the segment where that append starts
 * An entry follows each index interval of log bytes. A running official server preallocates the
 * file with zeros and cuts it on a clean stop.
 * Valid when the size is a multiple of 8, both fields rise, and positions lie inside the segment.
 * Source: OffsetIndex, AbstractIndex, LogSegment.append, Fluss 1.0. */
#include "offset_index.h"

#include <stdio.h>

enum { ENTRY_SIZE = 8 };

void fl_offset_index_init(fl_offset_index *index, fl_file_cache *cache, const char *dir,
                          int64_t base_offset)
{
    char name[FL_FILE_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%020lld.index", (long long)base_offset);
    fl_index_file_init(&index->entries, cache, dir, name, base_offset, ENTRY_SIZE);
}

static int64_t offset_of(const fl_index_file *index, const uint8_t *entry)
{
    return index->base_offset + (int32_t)fl_load_be32(entry);
}

static int64_t position_of(const fl_index_file *index, const uint8_t *entry)
{
    (void)index;
    return (int64_t)fl_load_be32(entry + 4);
}

static fluss_code_t find(fl_offset_index *index, fl_index_key_fn *key, int64_t target,
                         int64_t *slot, fl_offset_entry *entry, fluss_error_t *err)
{
    uint8_t bytes[ENTRY_SIZE];
    *entry = (fl_offset_entry){.last_offset = index->entries.base_offset};
    FL_TRY(fl_index_file_search(&index->entries, key, target, slot, bytes, err));
    if (*slot >= 0) {
        entry->last_offset = offset_of(&index->entries, bytes);
        entry->position = (uint64_t)position_of(&index->entries, bytes);
    }
    return 0;
}

fluss_code_t fl_offset_index_find(fl_offset_index *index, int64_t offset, fl_offset_entry *entry,
                                  fluss_error_t *err)
{
    int64_t slot;
    return find(index, offset_of, offset, &slot, entry, err);
}

fluss_code_t fl_offset_index_find_position(fl_offset_index *index, uint64_t position, int64_t *slot,
                                           fl_offset_entry *entry, fluss_error_t *err)
{
    return find(index, position_of, (int64_t)position, slot, entry, err);
}

void fl_offset_index_append(fl_offset_index *index, const fl_offset_entry *entry)
{
    uint8_t bytes[ENTRY_SIZE];
    fl_store_be32(bytes, (uint32_t)(entry->last_offset - index->entries.base_offset));
    fl_store_be32(bytes + 4, (uint32_t)entry->position);
    fl_index_file_append(&index->entries, bytes);
}

fluss_code_t fl_offset_index_flush(fl_offset_index *index, uint64_t position, fluss_error_t *err)
{
    const int64_t limit = position < INT64_MAX ? (int64_t)position : INT64_MAX;
    return fl_index_file_flush(&index->entries, position_of, limit, err);
}

static bool follows(const fl_index_file *index, const uint8_t *before, const uint8_t *entry)
{
    const int32_t offset = before != NULL ? (int32_t)fl_load_be32(before) : -1;
    const int64_t position = before != NULL ? position_of(index, before) : -1;
    return (int32_t)fl_load_be32(entry) > offset && position_of(index, entry) > position;
}

fluss_code_t fl_offset_index_check(fl_offset_index *index, uint64_t size, bool *is_good,
                                   fluss_error_t *err)
{
    uint8_t last[ENTRY_SIZE] = {0};
    FL_TRY(fl_index_file_check(&index->entries, follows, is_good, last, err));
    if (index->entries.flushed_count > 0) {
        *is_good = *is_good && (uint64_t)position_of(&index->entries, last) < size;
    }
    return 0;
}
