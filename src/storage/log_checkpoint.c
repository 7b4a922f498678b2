/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.checkpoint, little endian: up to here the newest segment is good and durable.
 * Position  Size  Field
 *        0     8  "FLLOGCP1"
 *        8     8  base offset of the segment
 *       16     8  position: bytes of the segment that are good
 *       24     8  end offset there; the writers' state as of it is NNNN.writer_snapshot
 *       32     8  newest commit timestamp, milliseconds
 *       40     8  entries in the offset index
 *       48     8  entries in the time index
 *       56     4  CRC-32C of the last 4096 (or all) bytes below position
 *       60     4  CRC-32C of bytes 0..60
 * Written on a clean close and every 64 MiB of durable log. It never has to be removed: the log
 * only grows, so what it says stays true, and a size equal to `position` means that nothing was
 * written since. The official server neither writes nor minds it. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "storage/file.h"
#include "storage/log_private.h"

enum { CHECKPOINT_SIZE = 64, CRC_AT = 60, TAIL_SIZE = 4096 };
static const char CHECKPOINT_NAME[] = "recovery.checkpoint";
static const char CHECKPOINT_MAGIC[8] = {'F', 'L', 'L', 'O', 'G', 'C', 'P', '1'};
enum { SNAPSHOT_SIZE_MAX = 64 << 20 };

/* Name of the snapshot as of an offset. */
static void snapshot_name(int64_t offset, char name[static FL_FILE_NAME_SIZE])
{
    (void)snprintf(name, FL_FILE_NAME_SIZE, "%020lld.writer_snapshot", (long long)offset);
}

fluss_code_t fl_log_write_snapshot(fl_log_store *store, bool durable, fluss_error_t *err)
{
    fl_file file;
    char name[FL_FILE_NAME_SIZE];
    snapshot_name(store->end_offset, name);
    fl_file_init(&file, store->opts.files, store->dir, name);
    fl_buf json;
    fl_buf_init(&json, SNAPSHOT_SIZE_MAX);
    fluss_code_t rc = fl_writers_to_json(&store->writers, &json, err);
    if (rc == 0) {
        rc = fl_file_replace(&file, fl_buf_slice(&json), durable, err);
    }
    fl_buf_deinit(&json);
    return rc;
}

fluss_code_t fl_log_read_snapshot(fl_log_store *store, int64_t offset, bool *found,
                                  fluss_error_t *err)
{
    fl_file file;
    char name[FL_FILE_NAME_SIZE];
    snapshot_name(offset, name);
    fl_file_init(&file, store->opts.files, store->dir, name);
    uint8_t *data;
    size_t size;
    *found = false;
    FL_TRY(fl_file_load(&file, SNAPSHOT_SIZE_MAX, &data, &size, err));
    if (data == NULL) {
        return 0;
    }
    fl_writers_reset(&store->writers);
    fluss_code_t rc = fl_writers_from_json(&store->writers, fl_slice_of(data, size), err);
    fl_free(data);
    *found = rc == 0;
    if (rc == FLUSS_E_CORRUPT_RECORD) {
        fl_writers_reset(&store->writers);
        rc = 0; /* an older one, or the log itself, tells the same */
    }
    return rc;
}

void fl_log_drop_snapshot(fl_log_store *store, int64_t offset)
{
    fl_file file;
    char name[FL_FILE_NAME_SIZE];
    for (size_t i = 0; i < store->segment_count; i++) {
        if (store->segments[i]->base_offset == offset) {
            return;
        }
    }
    snapshot_name(offset, name);
    fl_file_init(&file, store->opts.files, store->dir, name);
    const fluss_code_t rc = fl_file_remove(&file, NULL); /* else the next open drops it */
    (void)rc;
}

static fluss_code_t crc_of_tail(fl_segment *segment, uint64_t position, uint32_t *crc,
                                fluss_error_t *err)
{
    uint8_t tail[TAIL_SIZE];
    const size_t size = position < TAIL_SIZE ? (size_t)position : TAIL_SIZE;
    size_t got = 0;
    if (size > 0) {
        FL_TRY(fl_file_read(&segment->log, position - size, tail, size, &got, err));
    }
    *crc = fl_crc32c(fl_slice_of(tail, got));
    return 0;
}

static void encode(const fl_log_checkpoint *checkpoint, uint8_t bytes[static CHECKPOINT_SIZE])
{
    memcpy(bytes, CHECKPOINT_MAGIC, sizeof(CHECKPOINT_MAGIC));
    fl_store_i64(bytes + 8, checkpoint->base_offset);
    fl_store_u64(bytes + 16, checkpoint->position);
    fl_store_i64(bytes + 24, checkpoint->end_offset);
    fl_store_i64(bytes + 32, checkpoint->newest_timestamp_ms);
    fl_store_u64(bytes + 40, checkpoint->offset_entries);
    fl_store_u64(bytes + 48, checkpoint->time_entries);
    fl_store_u32(bytes + 56, checkpoint->tail_crc);
    fl_store_u32(bytes + CRC_AT, fl_crc32c(fl_slice_of(bytes, CRC_AT)));
}

fluss_code_t fl_log_write_checkpoint(fl_log_store *store, fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    FL_ASSERT(store->durable_offset == store->end_offset);
    FL_TRY(fl_segment_flush_indexes(newest, UINT64_MAX, INT64_MAX, err));
    FL_TRY(fl_log_write_snapshot(store, false, err));
    fl_log_checkpoint checkpoint = {
        .base_offset = newest->base_offset,
        .position = newest->size,
        .end_offset = store->end_offset,
        .newest_timestamp_ms = store->newest_timestamp_ms,
        .offset_entries = newest->offsets.entries.flushed_count,
        .time_entries = newest->times.entries.flushed_count,
    };
    FL_TRY(crc_of_tail(newest, newest->size, &checkpoint.tail_crc, err));
    uint8_t bytes[CHECKPOINT_SIZE];
    encode(&checkpoint, bytes);
    fl_file file;
    fl_file_init(&file, store->opts.files, store->dir, CHECKPOINT_NAME);
    FL_TRY(fl_file_replace(&file, fl_slice_of(bytes, sizeof(bytes)), false, err));
    const int64_t old_offset = store->checkpoint_offset;
    store->checkpoint_offset = store->end_offset;
    store->checkpoint_position = newest->size;
    if (old_offset >= 0 && old_offset != store->end_offset) {
        fl_log_drop_snapshot(store, old_offset);
    }
    return 0;
}

static bool decode(fl_slice bytes, fl_log_checkpoint *checkpoint)
{
    if (bytes.size != CHECKPOINT_SIZE ||
        memcmp(bytes.data, CHECKPOINT_MAGIC, sizeof(CHECKPOINT_MAGIC)) != 0 ||
        fl_crc32c(fl_slice_of(bytes.data, CRC_AT)) != fl_load_u32(bytes.data + CRC_AT)) {
        return false;
    }
    *checkpoint = (fl_log_checkpoint){
        .base_offset = fl_load_i64(bytes.data + 8),
        .position = fl_load_u64(bytes.data + 16),
        .end_offset = fl_load_i64(bytes.data + 24),
        .newest_timestamp_ms = fl_load_i64(bytes.data + 32),
        .offset_entries = fl_load_u64(bytes.data + 40),
        .time_entries = fl_load_u64(bytes.data + 48),
        .tail_crc = fl_load_u32(bytes.data + 56),
    };
    return true;
}

fluss_code_t fl_log_read_checkpoint(fl_log_store *store, fl_log_checkpoint *checkpoint, bool *found,
                                    fluss_error_t *err)
{
    fl_file file;
    uint8_t *data;
    size_t size;
    *found = false;
    fl_file_init(&file, store->opts.files, store->dir, CHECKPOINT_NAME);
    FL_TRY(fl_file_load(&file, TAIL_SIZE, &data, &size, err));
    const bool is_good = data != NULL && decode(fl_slice_of(data, size), checkpoint);
    fl_free(data);
    fl_segment *newest = fl_log_newest(store);
    if (!is_good || newest == NULL || checkpoint->base_offset != newest->base_offset ||
        checkpoint->position > newest->size || checkpoint->end_offset < newest->base_offset) {
        return 0;
    }
    uint32_t crc;
    FL_TRY(crc_of_tail(newest, checkpoint->position, &crc, err));
    *found = crc == checkpoint->tail_crc;
    return 0;
}
