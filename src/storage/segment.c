/* SPDX-License-Identifier: Apache-2.0 */
/* NNNNNNNNNNNNNNNNNNNN.log: the record batches of the offsets from the number in its name on, back
 * to back, exactly as they travel. A batch is found by the largest index entry before it and a walk
 * over the heads from there; an index that leads astray costs a walk from the start, never a wrong
 * answer. Source: LogSegment, FlussPaths, Fluss 1.0. */
#include "segment.h"

#include <stdio.h>

#include "base/alloc.h"

fl_segment *fl_segment_new(fl_file_cache *cache, const char *dir, int64_t base_offset)
{
    fl_segment *segment = fl_calloc(1, sizeof(*segment));
    if (segment == NULL) {
        return NULL;
    }
    char name[FL_FILE_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%020lld.log", (long long)base_offset);
    segment->base_offset = base_offset;
    segment->newest_timestamp_ms = segment->newest_time_offset = -1;
    fl_file_init(&segment->log, cache, dir, name);
    fl_offset_index_init(&segment->offsets, cache, dir, base_offset);
    fl_time_index_init(&segment->times, cache, dir, base_offset);
    return segment;
}

void fl_segment_free(fl_segment *segment)
{
    if (segment == NULL) {
        return;
    }
    fl_file_close(&segment->log);
    fl_index_file_deinit(&segment->offsets.entries);
    fl_index_file_deinit(&segment->times.entries);
    fl_free(segment);
}

fluss_code_t fl_segment_remove(fl_segment *segment, fluss_error_t *err)
{
    FL_TRY(fl_file_remove(&segment->log, err));
    FL_TRY(fl_file_remove(&segment->offsets.entries.file, err));
    return fl_file_remove(&segment->times.entries.file, err);
}

fluss_code_t fl_segment_reserve(fl_segment *segment, fluss_error_t *err)
{
    FL_TRY(fl_index_file_reserve(&segment->offsets.entries, err));
    return fl_index_file_reserve(&segment->times.entries, err);
}

void fl_segment_index(fl_segment *segment, uint64_t position, size_t size, int64_t base_offset,
                      const fl_batch_head *head, size_t interval)
{
    if (head->commit_timestamp_ms > segment->newest_timestamp_ms) {
        segment->newest_timestamp_ms = head->commit_timestamp_ms;
        segment->newest_time_offset = base_offset;
    }
    if (segment->unindexed_size > interval) {
        fl_offset_index_append(
            &segment->offsets,
            &(fl_offset_entry){.last_offset = head->next_offset - 1, .position = position});
        if (segment->newest_time_offset >= 0) {
            fl_time_index_append(&segment->times,
                                 &(fl_time_entry){.timestamp_ms = segment->newest_timestamp_ms,
                                                  .offset = segment->newest_time_offset});
        }
        segment->unindexed_size = 0;
    }
    segment->unindexed_size += size;
    segment->size = position + size;
}

fluss_code_t fl_segment_flush_indexes(fl_segment *segment, uint64_t position, int64_t offset,
                                      fluss_error_t *err)
{
    FL_TRY(fl_offset_index_flush(&segment->offsets, position, err));
    return fl_time_index_flush(&segment->times, offset, err);
}

static fluss_code_t seal_index(fl_index_file *index, fluss_error_t *err)
{
    /* A file without entries has to be made. */
    return index->flushed_count == 0 ? fl_index_file_cut(index, 0, err) : 0;
}

fluss_code_t fl_segment_seal(fl_segment *segment, fluss_error_t *err)
{
    FL_TRY(fl_segment_flush_indexes(segment, UINT64_MAX, INT64_MAX, err));
    FL_TRY(seal_index(&segment->offsets.entries, err));
    return seal_index(&segment->times.entries, err);
}

/** Walk heads from `from` to the batch that contains `offset`. */
static fluss_code_t walk_to(fl_segment *segment, uint64_t from, int64_t offset, uint64_t *position,
                            fluss_error_t *err)
{
    fl_segment_cursor cursor;
    fl_segment_cursor_init(&cursor, segment, from, segment->size, false);
    bool found;
    fluss_code_t rc = fl_segment_cursor_next(&cursor, &found, err);
    while (rc == 0 && found && cursor.head.next_offset <= offset) {
        rc = fl_segment_cursor_next(&cursor, &found, err);
    }
    if (rc == 0 && (!found || cursor.head.base_offset > offset)) {
        rc = fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                      "%s/%s holds no batch with offset %lld", segment->log.dir, segment->log.name,
                      (long long)offset);
    }
    *position = cursor.batch_position;
    fl_segment_cursor_deinit(&cursor);
    return rc;
}

fluss_code_t fl_segment_find(fl_segment *segment, int64_t offset, uint64_t *position,
                             fluss_error_t *err)
{
    fl_offset_entry entry;
    FL_TRY(fl_offset_index_find(&segment->offsets, offset, &entry, err));
    if (entry.position < segment->size) {
        const fluss_code_t rc = walk_to(segment, entry.position, offset, position, err);
        if (rc != FLUSS_E_CORRUPT_RECORD || entry.position == 0) {
            return rc;
        }
    }
    return walk_to(segment, 0, offset, position, err);
}

fluss_code_t fl_segment_find_time(fl_segment *segment, int64_t timestamp_ms, int64_t *offset,
                                  fluss_error_t *err)
{
    *offset = -1;
    if (segment->size == 0 || timestamp_ms == INT64_MIN) {
        *offset = segment->size == 0 ? -1 : segment->base_offset;
        return 0;
    }
    fl_time_entry entry;
    uint64_t position = 0;
    /* From a batch that is older for sure, to the first that is not. */
    FL_TRY(fl_time_index_find(&segment->times, timestamp_ms - 1, &entry, err));
    if (entry.timestamp_ms >= 0) {
        FL_TRY(fl_segment_find(segment, entry.offset, &position, err));
    }
    fl_segment_cursor cursor;
    fl_segment_cursor_init(&cursor, segment, position, segment->size, false);
    bool found;
    fluss_code_t rc = fl_segment_cursor_next(&cursor, &found, err);
    while (rc == 0 && found && cursor.head.commit_timestamp_ms < timestamp_ms) {
        rc = fl_segment_cursor_next(&cursor, &found, err);
    }
    if (rc == 0 && found) {
        *offset = cursor.head.base_offset;
    }
    fl_segment_cursor_deinit(&cursor);
    return rc;
}

fluss_code_t fl_segment_first_timestamp(fl_segment *segment, int64_t *timestamp_ms,
                                        fluss_error_t *err)
{
    fl_segment_cursor cursor;
    bool found;
    fl_segment_cursor_init(&cursor, segment, 0, segment->size, false);
    const fluss_code_t rc = fl_segment_cursor_next(&cursor, &found, err);
    *timestamp_ms = found ? cursor.head.commit_timestamp_ms : -1;
    fl_segment_cursor_deinit(&cursor);
    return rc;
}

static fluss_code_t read_tail_from(fl_segment *segment, uint64_t from, int64_t *next_offset,
                                   fluss_error_t *err)
{
    fl_segment_cursor cursor;
    bool found;
    fl_segment_cursor_init(&cursor, segment, from, segment->size, false);
    fluss_code_t rc = fl_segment_cursor_next(&cursor, &found, err);
    while (rc == 0 && found) {
        *next_offset = cursor.head.next_offset;
        segment->newest_timestamp_ms = cursor.head.commit_timestamp_ms;
        rc = fl_segment_cursor_next(&cursor, &found, err);
    }
    fl_segment_cursor_deinit(&cursor);
    return rc;
}

fluss_code_t fl_segment_read_tail(fl_segment *segment, int64_t *next_offset, fluss_error_t *err)
{
    fl_offset_entry entry;
    int64_t slot;
    *next_offset = segment->base_offset;
    FL_TRY(fl_offset_index_find_position(&segment->offsets, segment->size, &slot, &entry, err));
    if (entry.position > 0 && entry.position < segment->size &&
        read_tail_from(segment, entry.position, next_offset, NULL) == 0) {
        return 0;
    }
    *next_offset = segment->base_offset;
    return read_tail_from(segment, 0, next_offset, err);
}
