/* SPDX-License-Identifier: Apache-2.0 */
/* NNNNNNNNNNNNNNNNNNNN.timeindex, big endian, sorted:
 * Position  Size  Field
 *        0     8  largest commit timestamp so far, milliseconds since 1970
 *        8     4  base offset of the first batch with it, relative to the segment's base offset
 * An entry comes with an entry of the offset index, when its timestamp is newer than the last one.
 * Valid when the size is a multiple of 12 and both fields rise.
 * Source: TimeIndex, LogSegment.append, Fluss 1.0. */
#include "time_index.h"

#include <stdio.h>

enum { ENTRY_SIZE = 12 };

void fl_time_index_init(fl_time_index *index, fl_file_cache *cache, const char *dir,
                        int64_t base_offset)
{
    char name[FL_FILE_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%020lld.timeindex", (long long)base_offset);
    fl_index_file_init(&index->entries, cache, dir, name, base_offset, ENTRY_SIZE);
    index->newest_timestamp_ms = -1;
}

static int64_t timestamp_of(const fl_index_file *index, const uint8_t *entry)
{
    (void)index;
    return (int64_t)fl_load_be64(entry);
}

static int64_t offset_of(const fl_index_file *index, const uint8_t *entry)
{
    return index->base_offset + (int32_t)fl_load_be32(entry + 8);
}

fluss_code_t fl_time_index_find(fl_time_index *index, int64_t timestamp_ms, fl_time_entry *entry,
                                fluss_error_t *err)
{
    uint8_t bytes[ENTRY_SIZE];
    int64_t slot;
    *entry = (fl_time_entry){.timestamp_ms = -1, .offset = index->entries.base_offset};
    FL_TRY(fl_index_file_search(&index->entries, timestamp_of, timestamp_ms, &slot, bytes, err));
    if (slot >= 0) {
        entry->timestamp_ms = timestamp_of(&index->entries, bytes);
        entry->offset = offset_of(&index->entries, bytes);
    }
    return 0;
}

void fl_time_index_append(fl_time_index *index, const fl_time_entry *entry)
{
    if (entry->timestamp_ms <= index->newest_timestamp_ms) {
        return;
    }
    uint8_t bytes[ENTRY_SIZE];
    fl_store_be64(bytes, (uint64_t)entry->timestamp_ms);
    fl_store_be32(bytes + 8, (uint32_t)(entry->offset - index->entries.base_offset));
    fl_index_file_append(&index->entries, bytes);
    index->newest_timestamp_ms = entry->timestamp_ms;
}

fluss_code_t fl_time_index_flush(fl_time_index *index, int64_t offset, fluss_error_t *err)
{
    return fl_index_file_flush(&index->entries, offset_of, offset, err);
}

fluss_code_t fl_time_index_load_newest(fl_time_index *index, fluss_error_t *err)
{
    const uint64_t count = fl_index_file_count(&index->entries);
    index->newest_timestamp_ms = -1;
    if (count > 0) {
        uint8_t bytes[ENTRY_SIZE];
        FL_TRY(fl_index_file_entry(&index->entries, count - 1, bytes, err));
        index->newest_timestamp_ms = timestamp_of(&index->entries, bytes);
    }
    return 0;
}

static bool follows(const fl_index_file *index, const uint8_t *before, const uint8_t *entry)
{
    const int64_t timestamp_ms = before != NULL ? timestamp_of(index, before) : -1;
    const int32_t offset = before != NULL ? (int32_t)fl_load_be32(before + 8) : -1;
    return timestamp_of(index, entry) > timestamp_ms && (int32_t)fl_load_be32(entry + 8) > offset;
}

fluss_code_t fl_time_index_check(fl_time_index *index, bool *is_good, fluss_error_t *err)
{
    uint8_t last[ENTRY_SIZE];
    index->newest_timestamp_ms = -1;
    FL_TRY(fl_index_file_check(&index->entries, follows, is_good, last, err));
    if (*is_good && index->entries.flushed_count > 0) {
        index->newest_timestamp_ms = timestamp_of(&index->entries, last);
    }
    return 0;
}
