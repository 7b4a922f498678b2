/* SPDX-License-Identifier: Apache-2.0 */
/* Header of a log record batch, little endian:
 *
 *   V0  V1  V2  Size  Field
 *    0   0   0     8  base offset; the server sets it
 *    8   8   8     4  length: bytes after this field
 *   12  12  12     1  magic
 *   13  13  13     8  commit timestamp, ms since 1970; the server sets it
 *    -   -  21     4  leader epoch
 *   21  21  25     4  CRC-32C of all bytes from the schema id on
 *   25  25  29     2  schema id
 *   27  27  31     1  attributes: bit 0 = append-only
 *   28  28  32     4  last offset delta
 *   32  32  36     8  writer id
 *   40  40  44     4  batch sequence
 *   44  44  48     4  record count
 *    -  48  52     4  statistics length S
 *    -  52  56     S  statistics
 *
 * Then, when there are records: one change type a record (changelog of Arrow batches only), and the
 * payload. A batch without records consumes one offset and has no payload.
 * Source: LogRecordBatchFormat, DefaultLogRecordBatch. */
#include "format/log_batch.h"

#include "base/crc32c.h"

enum {
    AT_BASE_OFFSET = 0,
    AT_LENGTH = 8,
    AT_MAGIC = 12,
    AT_TIMESTAMP = 13,
    AT_LEADER_EPOCH_V2 = 21,
    LENGTH_END = 12,
    SIZE_KNOWN = 13, /* bytes that tell length and magic */
    MAGIC_MAX = 2,
    NO_LEADER_EPOCH = -1,
    APPEND_ONLY_BIT = 1,
    CHANGE_TYPE_MAX = FLUSS_DELETE
};

/* Positions from the CRC on, relative to it: equal in all versions. */
enum {
    FROM_CRC_SCHEMA_ID = 4,
    FROM_CRC_ATTRIBUTES = 6,
    FROM_CRC_DELTA = 7,
    FROM_CRC_WRITER_ID = 11,
    FROM_CRC_SEQUENCE = 19,
    FROM_CRC_COUNT = 23,
    FROM_CRC_STATISTICS = 27
};

static size_t crc_position(uint8_t magic)
{
    return magic == 2 ? 25 : 21;
}

size_t fl_log_batch_header_size(uint8_t magic, size_t statistics_size)
{
    const size_t to_count_end = crc_position(magic) + FROM_CRC_STATISTICS;
    return magic == 0 ? to_count_end : to_count_end + sizeof(int32_t) + statistics_size;
}

static fluss_code_t corrupt(fluss_error_t *err, const char *what, int64_t found, int64_t wanted)
{
    return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                    "log batch: %s is %lld, expected %lld", what, (long long)found,
                    (long long)wanted);
}

fluss_code_t fl_log_batch_claimed_size(fl_slice bytes, size_t *size, fluss_error_t *err)
{
    *size = 0;
    if (bytes.size < SIZE_KNOWN) {
        return 0;
    }
    const uint8_t magic = bytes.data[AT_MAGIC];
    const int32_t length = fl_load_i32(bytes.data + AT_LENGTH);
    if (magic > MAGIC_MAX) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "log batch: magic at position %d is %u, known are 0 to %d", AT_MAGIC, magic,
                        MAGIC_MAX);
    }
    const size_t header_size = fl_log_batch_header_size(magic, 0);
    if (length < 0 || (size_t)length + LENGTH_END < header_size) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "log batch: length at position %d is %d, a header of magic %u needs %zu",
                        AT_LENGTH, length, magic, header_size - LENGTH_END);
    }
    *size = (size_t)length + LENGTH_END;
    return 0;
}

fluss_code_t fl_log_batch_size(fl_slice bytes, size_t *size, fluss_error_t *err)
{
    FL_TRY(fl_log_batch_claimed_size(bytes, size, err));
    if (*size > bytes.size) {
        *size = 0;
    }
    return 0;
}

/* Split what follows the header into statistics, change types and payload. */
static fluss_code_t open_body(fl_log_batch *batch, bool is_arrow, fluss_error_t *err)
{
    const fl_slice bytes = batch->bytes;
    size_t at = fl_log_batch_header_size(batch->magic, 0);
    if (batch->magic > 0) {
        const int32_t claimed = fl_load_i32(bytes.data + at - sizeof(int32_t));
        size_t size;
        if (!fl_size_from_i32(claimed, &size) || size > bytes.size - at) {
            return corrupt(err, "statistics length", claimed, (int64_t)(bytes.size - at));
        }
        batch->statistics = fl_slice_sub(bytes, at, size);
        at += size;
    }
    fl_slice rest = fl_slice_sub(bytes, at, bytes.size - at);
    if (batch->record_count == 0) {
        return rest.size == 0 ? 0
                              : corrupt(err, "payload size without records", (int64_t)rest.size, 0);
    }
    if (is_arrow && !batch->is_append_only) {
        const size_t count = (size_t)batch->record_count;
        if (count > rest.size) {
            return corrupt(err, "room for change types", (int64_t)rest.size, (int64_t)count);
        }
        batch->change_types = fl_slice_sub(rest, 0, count);
        uint8_t largest = 0;
        for (size_t i = 0; i < count; i++) {
            largest = rest.data[i] > largest ? rest.data[i] : largest;
        }
        if (largest > CHANGE_TYPE_MAX) {
            return corrupt(err, "largest change type", largest, CHANGE_TYPE_MAX);
        }
        rest = fl_slice_sub(rest, count, rest.size - count);
    }
    if (rest.size == 0) {
        return corrupt(err, "payload size with records", 0, batch->record_count);
    }
    batch->payload = rest;
    return 0;
}

fluss_code_t fl_log_batch_open(fl_slice bytes, bool is_arrow, fl_log_batch *batch,
                               fluss_error_t *err)
{
    *batch = (fl_log_batch){0};
    size_t size;
    FL_TRY(fl_log_batch_size(bytes, &size, err));
    if (size == 0) {
        const int64_t claimed = bytes.size < SIZE_KNOWN
                                    ? FL_LOG_BATCH_HEADER_SIZE_MIN
                                    : (int64_t)fl_load_i32(bytes.data + AT_LENGTH) + LENGTH_END;
        return corrupt(err, "available size", (int64_t)bytes.size, claimed);
    }
    const uint8_t magic = bytes.data[AT_MAGIC];
    const uint8_t *crc_at = bytes.data + crc_position(magic);
    *batch = (fl_log_batch){
        .bytes = fl_slice_sub(bytes, 0, size),
        .magic = magic,
        .is_append_only = (crc_at[FROM_CRC_ATTRIBUTES] & APPEND_ONLY_BIT) != 0,
        .schema_id = fl_load_i16(crc_at + FROM_CRC_SCHEMA_ID),
        .last_offset_delta = fl_load_i32(crc_at + FROM_CRC_DELTA),
        .batch_sequence = fl_load_i32(crc_at + FROM_CRC_SEQUENCE),
        .record_count = fl_load_i32(crc_at + FROM_CRC_COUNT),
        .base_offset = fl_load_i64(bytes.data + AT_BASE_OFFSET),
        .commit_timestamp_ms = fl_load_i64(bytes.data + AT_TIMESTAMP),
        .writer_id = fl_load_i64(crc_at + FROM_CRC_WRITER_ID),
    };
    if (batch->record_count < 0) {
        return corrupt(err, "record count", batch->record_count, 0);
    }
    if (batch->last_offset_delta < 0) {
        return corrupt(err, "last offset delta", batch->last_offset_delta, 0);
    }
    if (batch->base_offset < 0 || batch->base_offset > INT64_MAX - INT32_MAX - 1) {
        return corrupt(err, "base offset", batch->base_offset, 0);
    }
    return open_body(batch, is_arrow, err);
}

static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
    const size_t from = crc_position(bytes[AT_MAGIC]) + sizeof(uint32_t);
    return fl_crc32c(fl_slice_of(bytes + from, size - from));
}

fluss_code_t fl_log_batch_check_crc(const fl_log_batch *batch, fluss_error_t *err)
{
    const uint32_t stored = fl_load_u32(batch->bytes.data + crc_position(batch->magic));
    const uint32_t computed = crc_of(batch->bytes.data, batch->bytes.size);
    if (stored == computed) {
        return 0;
    }
    return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                    "log batch at offset %lld, %zu bytes: CRC is %08x, the header says %08x",
                    (long long)batch->base_offset, batch->bytes.size, computed, stored);
}

void fl_log_batch_stamp(uint8_t *bytes, int64_t base_offset, int64_t commit_timestamp_ms)
{
    fl_store_i64(bytes + AT_BASE_OFFSET, base_offset);
    fl_store_i64(bytes + AT_TIMESTAMP, commit_timestamp_ms);
}

void fl_log_batch_set_writer(uint8_t *bytes, size_t size, int64_t writer_id, int32_t batch_sequence)
{
    FL_ASSERT(size >= fl_log_batch_header_size(bytes[AT_MAGIC], 0));
    uint8_t *crc_at = bytes + crc_position(bytes[AT_MAGIC]);
    fl_store_i64(crc_at + FROM_CRC_WRITER_ID, writer_id);
    fl_store_i32(crc_at + FROM_CRC_SEQUENCE, batch_sequence);
    fl_store_u32(crc_at, crc_of(bytes, size));
}

void fl_log_batch_finish(uint8_t *bytes, size_t size, const fl_log_batch_spec *spec)
{
    const size_t header_size = fl_log_batch_header_size(spec->magic, spec->statistics.size);
    FL_ASSERT(spec->magic <= MAGIC_MAX && size >= header_size && size - LENGTH_END <= INT32_MAX);
    FL_ASSERT(spec->magic > 0 || spec->statistics.size == 0);
    fl_log_batch_stamp(bytes, 0, 0);
    fl_store_i32(bytes + AT_LENGTH, (int32_t)(size - LENGTH_END));
    bytes[AT_MAGIC] = spec->magic;
    if (spec->magic == 2) {
        fl_store_i32(bytes + AT_LEADER_EPOCH_V2, NO_LEADER_EPOCH);
    }
    uint8_t *crc_at = bytes + crc_position(spec->magic);
    fl_store_i16(crc_at + FROM_CRC_SCHEMA_ID, spec->schema_id);
    crc_at[FROM_CRC_ATTRIBUTES] = spec->is_append_only ? APPEND_ONLY_BIT : 0;
    fl_store_i32(crc_at + FROM_CRC_DELTA, spec->record_count > 0 ? spec->record_count - 1 : 0);
    fl_store_i64(crc_at + FROM_CRC_WRITER_ID, spec->writer_id);
    fl_store_i32(crc_at + FROM_CRC_SEQUENCE, spec->batch_sequence);
    fl_store_i32(crc_at + FROM_CRC_COUNT, spec->record_count);
    if (spec->magic > 0) {
        fl_store_i32(crc_at + FROM_CRC_STATISTICS, (int32_t)spec->statistics.size);
        if (spec->statistics.size != 0) {
            memcpy(crc_at + FROM_CRC_STATISTICS + sizeof(int32_t), spec->statistics.data,
                   spec->statistics.size);
        }
    }
    fl_store_u32(crc_at, crc_of(bytes, size));
}
