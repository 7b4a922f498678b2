/* SPDX-License-Identifier: Apache-2.0 */
/* From files to a log that can be appended to:
 *  1. list the directory: segments by name; left-overs of interrupted work are removed;
 *  2. sealed segments: they were synced whole before the next one began, so a look at the file
 * sizes and, after an unclean stop, at the last heads suffices; an index that does not fit is
 * rebuilt;
 *  3. newest segment: good up to the checkpoint if there is one; from there every batch is read and
 *     checksummed, offsets must follow without a gap, and the file is cut after the last good one;
 *  4. writers: the snapshot as of the checkpoint, or the newest one at the start of a segment, plus
 *     the heads of the batches after it. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "format/log_batch.h"
#include "storage/file.h"
#include "storage/log_private.h"

enum { NAME_DIGITS = 20 };

typedef struct recovery {
    int64_t now_ms;
    int64_t *snapshots; /* offsets that have one, rising */
    size_t snapshot_count, snapshot_capacity;
    bool has_checkpoint;
    fl_log_checkpoint checkpoint;
    int64_t writers_offset; /* the writers' state is as of here */
} recovery;

/* Step 1. */

/** The offset in a name of 20 digits and this suffix; false: another name. */
static bool parse_name(const char *name, const char *suffix, int64_t *offset)
{
    *offset = 0;
    for (int i = 0; i < NAME_DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9' || __builtin_mul_overflow(*offset, 10, offset) ||
            __builtin_add_overflow(*offset, name[i] - '0', offset)) {
            return false;
        }
    }
    return strcmp(name + NAME_DIGITS, suffix) == 0;
}

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t size = strlen(name), suffix_size = strlen(suffix);
    return size >= suffix_size && strcmp(name + size - suffix_size, suffix) == 0;
}

static fluss_code_t note_snapshot(recovery *state, int64_t offset, fluss_error_t *err)
{
    int64_t *snapshots = fl_grow(state->snapshots, &state->snapshot_capacity, state->snapshot_count,
                                 sizeof(*snapshots));
    if (snapshots == NULL) {
        return fl_error_nomem(err);
    }
    state->snapshots = snapshots;
    state->snapshots[state->snapshot_count++] = offset;
    return 0;
}

static fluss_code_t take_entry(fl_log_store *store, recovery *state, const char *name,
                               fluss_error_t *err)
{
    int64_t offset;
    if (parse_name(name, ".log", &offset)) {
        return fl_log_add_segment(store, offset, err);
    }
    if (parse_name(name, ".writer_snapshot", &offset)) {
        return note_snapshot(state, offset, err);
    }
    if ((has_suffix(name, ".tmp") || has_suffix(name, ".deleted")) &&
        strlen(name) < FL_FILE_NAME_SIZE) {
        fl_file file;
        fl_file_init(&file, store->opts.files, store->dir, name);
        return fl_file_remove(&file, err);
    }
    return 0;
}

static int by_base(const void *a, const void *b)
{
    const fl_segment *left = *(fl_segment *const *)a, *right = *(fl_segment *const *)b;
    return (left->base_offset > right->base_offset) - (left->base_offset < right->base_offset);
}

static int by_value(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static fluss_code_t list_directory(fl_log_store *store, recovery *state, fluss_error_t *err)
{
    DIR *entries;
    FL_TRY(fl_dir_open(store->opts.files, store->dir, &entries, err));
    fluss_code_t rc = 0;
    const struct dirent *entry;
    while (rc == 0 && (entry = readdir(entries)) != NULL) {
        rc = take_entry(store, state, entry->d_name, err);
    }
    closedir(entries);
    if (store->segment_count > 1) {
        qsort(store->segments, store->segment_count, sizeof(*store->segments), by_base);
    }
    if (state->snapshot_count > 1) {
        qsort(state->snapshots, state->snapshot_count, sizeof(*state->snapshots), by_value);
    }
    return rc;
}

/* Step 2. */

static fluss_code_t load_size(fl_segment *segment, fluss_error_t *err)
{
    bool exists;
    FL_TRY(fl_file_stat(&segment->log, &exists, &segment->size, err));
    if (segment->size > FL_SEGMENT_SIZE_MAX) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "%s/%s has %llu bytes, at most %d", segment->log.dir, segment->log.name,
                        (unsigned long long)segment->size, FL_SEGMENT_SIZE_MAX);
    }
    return 0;
}

/** Whether the index files can be those of the segment, judged by sizes and last entries. */
static fluss_code_t indexes_fit(fl_segment *segment, bool *fits, fluss_error_t *err)
{
    bool offsets_whole, times_whole;
    FL_TRY(fl_index_file_load(&segment->offsets.entries, &offsets_whole, err));
    FL_TRY(fl_index_file_load(&segment->times.entries, &times_whole, err));
    const uint64_t count = fl_index_file_count(&segment->offsets.entries);
    const uint64_t time_count = fl_index_file_count(&segment->times.entries);
    /* Both exist; each append has one entry at most. */
    *fits = offsets_whole && times_whole && time_count <= count &&
            count <= segment->size / FL_BATCH_SIZE_MIN;
    if (*fits && count > 0) {
        uint8_t last[FL_INDEX_ENTRY_SIZE_MAX];
        FL_TRY(fl_index_file_entry(&segment->offsets.entries, count - 1, last, err));
        const uint64_t position = fl_load_be32(last + 4);
        *fits = position > 0 && position < segment->size;
        FL_TRY(fl_time_index_load_newest(&segment->times, err));
    }
    return 0;
}

static fluss_code_t clear_indexes(fl_segment *segment, fluss_error_t *err)
{
    segment->unindexed_size = 0;
    segment->times.newest_timestamp_ms = -1;
    FL_TRY(fl_index_file_cut(&segment->offsets.entries, 0, err));
    return fl_index_file_cut(&segment->times.entries, 0, err);
}

/** Index the batch that the cursor found last. */
static fluss_code_t index_found(fl_segment *segment, const fl_segment_cursor *cursor,
                                size_t interval, fluss_error_t *err)
{
    FL_TRY(fl_segment_reserve(segment, err));
    fl_segment_index(segment, cursor->batch_position, cursor->head.size, cursor->head.base_offset,
                     &cursor->head, interval);
    return 0;
}

static fluss_code_t rebuild_sealed(fl_log_store *store, fl_segment *segment, fluss_error_t *err)
{
    FL_TRY(clear_indexes(segment, err));
    const uint64_t size = segment->size;
    fl_segment_cursor cursor;
    bool found = true;
    fluss_code_t rc = 0;
    fl_segment_cursor_init(&cursor, segment, 0, size, true);
    while (rc == 0 && found) {
        rc = fl_segment_cursor_next(&cursor, &found, err);
        if (rc == 0 && found) {
            rc = index_found(segment, &cursor, store->opts.index_interval_size, err);
        }
    }
    fl_segment_cursor_deinit(&cursor);
    segment->size = size;
    return rc != 0 ? rc : fl_segment_flush_indexes(segment, UINT64_MAX, INT64_MAX, err);
}

static fluss_code_t check_sealed(fl_log_store *store, size_t i, bool is_clean, fluss_error_t *err)
{
    fl_segment *segment = store->segments[i];
    const int64_t next_base = store->segments[i + 1]->base_offset;
    bool fits;
    FL_TRY(load_size(segment, err));
    FL_TRY(indexes_fit(segment, &fits, err));
    if (!fits) {
        FL_TRY(rebuild_sealed(store, segment, err));
    }
    if (fits && is_clean) {
        return 0;
    }
    int64_t next_offset = segment->base_offset;
    if (segment->size > 0) {
        FL_TRY(fl_segment_read_tail(segment, &next_offset, err));
    }
    if (next_offset != next_base) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "%s/%s ends at offset %lld, the next segment starts at %lld", store->dir,
                        segment->log.name, (long long)next_offset, (long long)next_base);
    }
    return 0;
}

/* Steps 3 and 4. */

static void note_writer(fl_log_store *store, const fl_batch_head *head)
{
    const fl_writer_batch batch = {.sequence = head->batch_sequence,
                                   .offset_delta =
                                       (int32_t)(head->next_offset - 1 - head->base_offset),
                                   .last_offset = head->next_offset - 1,
                                   .timestamp_ms = head->commit_timestamp_ms};
    fl_writers_record(&store->writers, head->writer_id, &batch);
}

static fluss_code_t replay_writer(fl_log_store *store, const recovery *state,
                                  const fl_batch_head *head, fluss_error_t *err)
{
    if (head->writer_id == FL_NO_WRITER_ID || head->base_offset < state->writers_offset) {
        return 0;
    }
    FL_TRY(fl_writers_reserve(&store->writers, 1, state->now_ms, store->opts.writer_expiration_ms,
                              err));
    note_writer(store, head);
    return 0;
}

/** Load the newest snapshot that the log up to `limit` can complete. */
static fluss_code_t load_writers(fl_log_store *store, recovery *state, int64_t limit,
                                 fluss_error_t *err)
{
    for (size_t i = state->snapshot_count; i-- > 0;) {
        const int64_t offset = state->snapshots[i];
        if (offset > limit) {
            continue;
        }
        bool found;
        FL_TRY(fl_log_read_snapshot(store, offset, &found, err));
        if (found) {
            fl_writers_expire(&store->writers, state->now_ms, store->opts.writer_expiration_ms);
            state->writers_offset = offset;
            return 0;
        }
    }
    state->writers_offset = store->start_offset;
    return 0;
}

/** Read the heads of the sealed segments from the snapshot on. */
static fluss_code_t replay_sealed(fl_log_store *store, const recovery *state, fluss_error_t *err)
{
    fluss_code_t rc = 0;
    for (size_t i = fl_log_segment_at(store, state->writers_offset);
         rc == 0 && i + 1 < store->segment_count; i++) {
        fl_segment_cursor cursor;
        bool found = true;
        fl_segment_cursor_init(&cursor, store->segments[i], 0, store->segments[i]->size, false);
        while (rc == 0 && found) {
            rc = fl_segment_cursor_next(&cursor, &found, err);
            if (rc == 0 && found) {
                rc = replay_writer(store, state, &cursor.head, err);
            }
        }
        fl_segment_cursor_deinit(&cursor);
    }
    return rc;
}

/** Read and index batches until the end or the first that is not good.
 * @param why filled for the latter */
static fluss_code_t scan_batches(fl_log_store *store, const recovery *state,
                                 fl_segment_cursor *cursor, fluss_error_t *why, fluss_error_t *err)
{
    for (;;) {
        bool found;
        const fluss_code_t rc = fl_segment_cursor_next(cursor, &found, why);
        if (rc != 0 && rc != FLUSS_E_CORRUPT_RECORD) {
            if (err != NULL) {
                *err = *why;
            }
            return rc;
        }
        if (rc != 0 || !found) {
            return 0;
        }
        if (cursor->head.base_offset != store->end_offset) {
            (void)fl_error(why, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                           "base offset is %lld, expected %lld",
                           (long long)cursor->head.base_offset, (long long)store->end_offset);
            return 0;
        }
        FL_TRY(index_found(cursor->segment, cursor, store->opts.index_interval_size, err));
        FL_TRY(replay_writer(store, state, &cursor->head, err));
        store->end_offset = cursor->head.next_offset;
        store->newest_timestamp_ms = cursor->segment->newest_timestamp_ms;
    }
}

/** Scan the newest segment from a position on and cut it after the last good batch. */
static fluss_code_t scan_newest(fl_log_store *store, const recovery *state, uint64_t from,
                                fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    const uint64_t file_size = newest->size;
    fl_segment_cursor cursor;
    fluss_error_t why = {0};
    newest->size = from;
    fl_segment_cursor_init(&cursor, newest, from, file_size, true);
    const fluss_code_t rc = scan_batches(store, state, &cursor, &why, err);
    fl_segment_cursor_deinit(&cursor);
    FL_TRY(rc);
    if (newest->size < file_size) {
        fl_log(FL_LOG_WARNING, "log", "%s/%s: cut from %llu to %llu bytes, end offset %lld: %s",
               store->dir, newest->log.name, (unsigned long long)file_size,
               (unsigned long long)newest->size, (long long)store->end_offset, why.message);
        FL_TRY(fl_file_truncate(&newest->log, newest->size, err));
    }
    if (file_size > from) {
        FL_TRY(fl_file_sync(&newest->log, err));
    }
    return 0;
}

/** Whether the indexes of the newest segment can be kept up to the checkpoint; cuts them there. */
static fluss_code_t keep_indexes(fl_log_store *store, const recovery *state, bool *kept,
                                 fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    const fl_log_checkpoint *checkpoint = &state->checkpoint;
    const bool is_clean = checkpoint->position == newest->size;
    bool offsets_whole, times_whole;
    FL_TRY(fl_index_file_load(&newest->offsets.entries, &offsets_whole, err));
    FL_TRY(fl_index_file_load(&newest->times.entries, &times_whole, err));
    const uint64_t count = newest->offsets.entries.flushed_count;
    const uint64_t time_count = newest->times.entries.flushed_count;
    *kept = (offsets_whole || checkpoint->offset_entries == 0) &&
            (times_whole || checkpoint->time_entries == 0) && count >= checkpoint->offset_entries &&
            time_count >= checkpoint->time_entries;
    if (*kept && count > checkpoint->offset_entries) {
        FL_TRY(fl_index_file_cut(&newest->offsets.entries, checkpoint->offset_entries, err));
    }
    if (*kept && time_count > checkpoint->time_entries) {
        FL_TRY(fl_index_file_cut(&newest->times.entries, checkpoint->time_entries, err));
    }
    bool offsets_good = true, times_good = true;
    if (*kept && !is_clean) {
        FL_TRY(fl_offset_index_check(&newest->offsets, checkpoint->position, &offsets_good, err));
        FL_TRY(fl_time_index_check(&newest->times, &times_good, err));
    } else if (*kept) {
        FL_TRY(fl_time_index_load_newest(&newest->times, err));
    }
    *kept = *kept && offsets_good && times_good;
    return 0;
}

/** Use the checkpoint: its snapshot must be there and the indexes must fit. */
static fluss_code_t start_from_checkpoint(fl_log_store *store, recovery *state, uint64_t *from,
                                          fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    const fl_log_checkpoint *checkpoint = &state->checkpoint;
    bool kept, found;
    FL_TRY(fl_log_read_snapshot(store, checkpoint->end_offset, &found, err));
    FL_TRY(keep_indexes(store, state, &kept, err));
    if (!found || !kept) {
        state->has_checkpoint = false;
        return 0;
    }
    fl_writers_expire(&store->writers, state->now_ms, store->opts.writer_expiration_ms);
    state->writers_offset = checkpoint->end_offset;
    newest->newest_timestamp_ms = checkpoint->newest_timestamp_ms;
    store->newest_timestamp_ms = checkpoint->newest_timestamp_ms;
    store->end_offset = checkpoint->end_offset;
    store->checkpoint_position = checkpoint->position;
    /* An index entry more or less: where the last one is does not matter. */
    newest->unindexed_size = store->opts.index_interval_size + 1;
    *from = checkpoint->position;
    return 0;
}

static fluss_code_t recover_newest(fl_log_store *store, recovery *state, fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    uint64_t from = 0;
    store->end_offset = newest->base_offset;
    if (state->has_checkpoint) {
        FL_TRY(start_from_checkpoint(store, state, &from, err));
    }
    if (!state->has_checkpoint) {
        FL_TRY(load_writers(store, state, newest->base_offset, err));
        FL_TRY(replay_sealed(store, state, err));
        FL_TRY(clear_indexes(newest, err));
    }
    FL_TRY(scan_newest(store, state, from, err));
    const bool is_clean = state->has_checkpoint && newest->size == state->checkpoint.position;
    store->checkpoint_offset = is_clean ? store->end_offset : -1;
    if (newest->size == 0 && store->segment_count > 1) {
        int64_t next_offset;
        fl_segment *sealed = store->segments[store->segment_count - 2];
        FL_TRY(fl_segment_read_tail(sealed, &next_offset, err));
        store->newest_timestamp_ms = sealed->newest_timestamp_ms;
    }
    store->durable_position = store->writeback_position = newest->size;
    return fl_segment_flush_indexes(newest, UINT64_MAX, INT64_MAX, err);
}

/** Snapshots that belong to no segment and not to the checkpoint. */
static void drop_stray_snapshots(fl_log_store *store, const recovery *state)
{
    const int64_t kept = state->has_checkpoint ? state->checkpoint.end_offset : -1;
    for (size_t i = 0; i < state->snapshot_count; i++) {
        if (state->snapshots[i] != kept) {
            fl_log_drop_snapshot(store, state->snapshots[i]);
        }
    }
}

/* What a checkpoint covers was on disk: only damage from outside can have taken it away. */
static void warn_of_loss(const fl_log_store *store, const recovery *state)
{
    if (store->end_offset < state->checkpoint.end_offset) {
        fl_log(
            FL_LOG_ERROR, "log",
            "%s: the log ends at offset %lld, but up to %lld it was on disk: files are missing or "
            "damaged, and those rows are lost",
            store->dir, (long long)store->end_offset, (long long)state->checkpoint.end_offset);
    }
}

static fluss_code_t recover(fl_log_store *store, recovery *state, fluss_error_t *err)
{
    FL_TRY(list_directory(store, state, err));
    store->newest_timestamp_ms = -1;
    fl_segment *newest = fl_log_newest(store);
    if (newest != NULL) {
        FL_TRY(load_size(newest, err));
    }
    FL_TRY(fl_log_read_checkpoint(store, &state->checkpoint, &state->has_checkpoint, err));
    if (newest == NULL) {
        warn_of_loss(store, state);
        return 0;
    }
    store->start_offset = store->segments[0]->base_offset;
    const bool is_clean = state->has_checkpoint && state->checkpoint.position == newest->size;
    for (size_t i = 0; i + 1 < store->segment_count; i++) {
        FL_TRY(check_sealed(store, i, is_clean, err));
    }
    FL_TRY(recover_newest(store, state, err));
    store->durable_offset = store->end_offset;
    warn_of_loss(store, state);
    drop_stray_snapshots(store, state);
    return 0;
}

fluss_code_t fl_log_recover(fl_log_store *store, int64_t now_ms, fluss_error_t *err)
{
    recovery state = {.now_ms = now_ms};
    const fluss_code_t rc = recover(store, &state, err);
    fl_free(state.snapshots);
    return rc;
}
