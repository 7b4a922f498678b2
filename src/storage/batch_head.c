/* SPDX-License-Identifier: Apache-2.0 */
/* Position in magic 0, 1   in 2   Size  Field (little endian)
 *                    0        0      8  base offset
 *                    8        8      4  size of all that follows
 *                   12       12      1  magic
 *                   13       13      8  commit timestamp
 *                    -       21      4  leader epoch
 *                   21       25      4  CRC-32C of all that follows it
 *                   28       32      4  last offset - base offset
 *                   32       36      8  writer id, -1: none
 *                   40       44      4  batch sequence
 * The full format, with payload, is src/format/log_batch.h. Source: LogRecordBatchFormat,
 * Fluss 1.0. */
#include "batch_head.h"

#include "base/crc32c.h"

enum { LENGTH_AT = 8, MAGIC_AT = 12, TIMESTAMP_AT = 13, CRC_AT = 21 };
enum { DELTA_FROM_CRC = 7, WRITER_FROM_CRC = 11, SEQUENCE_FROM_CRC = 19 };

static fluss_code_t corrupt(fluss_error_t *err, const char *what, long long found,
                            const char *expected)
{
    return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                    "record batch: %s is %lld, expected %s", what, found, expected);
}

fluss_code_t fl_batch_head_read(fl_slice bytes, fl_batch_head *head, fluss_error_t *err)
{
    static const uint8_t head_sizes[] = {48, 52, 56};
    FL_ASSERT(bytes.size >= FL_BATCH_SIZE_MIN);
    const uint8_t *data = bytes.data;
    const uint8_t magic = data[MAGIC_AT];
    if (magic >= FL_COUNT_OF(head_sizes)) {
        return corrupt(err, "magic", magic, "0, 1 or 2");
    }
    const int32_t length = fl_load_i32(data + LENGTH_AT);
    if (length < head_sizes[magic] - (LENGTH_AT + 4)) {
        return corrupt(err, "length", length, "at least the rest of its header");
    }
    const uint32_t crc_at = magic == 2 ? CRC_AT + 4 : CRC_AT;
    const int64_t base_offset = fl_load_i64(data);
    const int32_t delta = fl_load_i32(data + crc_at + DELTA_FROM_CRC);
    if (base_offset < 0 || delta < 0 || base_offset > INT64_MAX - delta - 1) {
        return corrupt(err, "last offset delta", delta,
                       "0 or more, with a base offset of 0 or more");
    }
    *head = (fl_batch_head){.size = (size_t)length + LENGTH_AT + 4,
                            .base_offset = base_offset,
                            .next_offset = base_offset + delta + 1,
                            .commit_timestamp_ms = fl_load_i64(data + TIMESTAMP_AT),
                            .writer_id = fl_load_i64(data + crc_at + WRITER_FROM_CRC),
                            .batch_sequence = fl_load_i32(data + crc_at + SEQUENCE_FROM_CRC),
                            .crc = fl_load_u32(data + crc_at),
                            .crc_from = crc_at + 4};
    return 0;
}

fluss_code_t fl_batch_head_check_crc(const fl_batch_head *head, fl_slice batch, fluss_error_t *err)
{
    FL_ASSERT(batch.size == head->size);
    const uint32_t crc =
        fl_crc32c(fl_slice_of(batch.data + head->crc_from, batch.size - head->crc_from));
    if (crc != head->crc) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "record batch of %zu bytes: checksum is %08x, header says %08x", batch.size,
                        crc, head->crc);
    }
    return 0;
}
