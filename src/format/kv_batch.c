/* SPDX-License-Identifier: Apache-2.0 */
/* KV record batches.
 *
 * Position  Size  Field
 *        0     4  length: size of all that follows
 *        4     1  magic, 0
 *        5     4  CRC-32C of schema id..end
 *        9     2  schema id
 *       11     1  attributes, 0
 *       12     8  writer id, -1: none
 *       20     4  batch sequence, -1: none
 *       24     4  record count
 *       28        records: i32 size of the rest, LEB128 key size, key, row; no row: delete
 *
 * Valid when the length equals the size at hand and the records fill the batch exactly.
 * Source: DefaultKvRecordBatch and DefaultKvRecord, Fluss 1.0. */
#include "format/kv_batch.h"

#include "base/crc32c.h"
#include "base/varint.h"
#include "format/row_batch.h"

enum {
    AT_LENGTH = 0,
    AT_MAGIC = 4,
    AT_CRC = 5,
    AT_SCHEMA_ID = 9,
    AT_ATTRIBUTES = 11,
    AT_WRITER_ID = 12,
    AT_SEQUENCE = 20,
    AT_COUNT = 24,
    LENGTH_SIZE = 4,
    RECORD_SIZE_MIN = 5 /* size, key size */
};

_Static_assert(AT_COUNT + sizeof(int32_t) == FL_KV_BATCH_HEADER_SIZE, "the count is the last");

static uint32_t crc_of(fl_slice bytes)
{
    return fl_crc32c(fl_slice_sub(bytes, AT_SCHEMA_ID, bytes.size - AT_SCHEMA_ID));
}

fluss_code_t fl_kv_batch_open(fl_slice bytes, fl_kv_batch *batch, fluss_error_t *err)
{
    int32_t count;
    *batch = (fl_kv_batch){0};
    FL_TRY(fl_row_batch_check_head(bytes, "KV batch", AT_COUNT, RECORD_SIZE_MIN, &count, err));
    *batch = (fl_kv_batch){
        .bytes = bytes,
        .schema_id = fl_load_i16(bytes.data + AT_SCHEMA_ID),
        .batch_sequence = fl_load_i32(bytes.data + AT_SEQUENCE),
        .record_count = count,
        .writer_id = fl_load_i64(bytes.data + AT_WRITER_ID),
        .records =
            fl_slice_sub(bytes, FL_KV_BATCH_HEADER_SIZE, bytes.size - FL_KV_BATCH_HEADER_SIZE),
    };
    return 0;
}

fluss_code_t fl_kv_batch_check_crc(const fl_kv_batch *batch, fluss_error_t *err)
{
    const uint32_t stored = fl_load_u32(batch->bytes.data + AT_CRC);
    const uint32_t computed = crc_of(batch->bytes);
    return stored == computed ? 0
                              : fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                                         "KV batch of %zu bytes: CRC is %08x, the header says %08x",
                                         batch->bytes.size, computed, stored);
}

void fl_kv_batch_iter_init(fl_kv_batch_iter *iter, const fl_kv_batch *batch)
{
    *iter = (fl_kv_batch_iter){.left = batch->records, .count = batch->record_count};
}

static fluss_code_t record_fault(const fl_kv_batch_iter *iter, const char *what, int64_t size,
                                 fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                    "KV batch: record %d of %d: %s %lld does not fit the %zu bytes left",
                    iter->index, iter->count, what, (long long)size, iter->left.size);
}

fluss_code_t fl_kv_batch_next(fl_kv_batch_iter *iter, fl_kv_record *record, bool *is_end,
                              fluss_error_t *err)
{
    *record = (fl_kv_record){0};
    *is_end = iter->index == iter->count;
    if (*is_end) {
        return iter->left.size == 0
                   ? 0
                   : fl_row_batch_corrupt("KV batch", "size behind the last record",
                                          (int64_t)iter->left.size, 0, err);
    }
    size_t size = 0;
    const int32_t stored = iter->left.size < LENGTH_SIZE ? -1 : fl_load_i32(iter->left.data);
    if (!fl_size_from_i32(stored, &size) || size > iter->left.size - LENGTH_SIZE) {
        return record_fault(iter, "size", stored, err);
    }
    const fl_slice bytes = fl_slice_sub(iter->left, LENGTH_SIZE, size);
    uint32_t key_size = 0;
    const size_t prefix_size = fl_varint32_load(bytes.data, bytes.size, &key_size);
    if (prefix_size == 0 || key_size > bytes.size - prefix_size) {
        return record_fault(iter, "key size", prefix_size == 0 ? -1 : (int64_t)key_size, err);
    }
    record->key = fl_slice_sub(bytes, prefix_size, key_size);
    const size_t row_at = prefix_size + key_size;
    record->row = fl_slice_sub(bytes, row_at, bytes.size - row_at);
    record->is_delete = record->row.size == 0;
    const size_t used = LENGTH_SIZE + size;
    iter->left = fl_slice_sub(iter->left, used, iter->left.size - used);
    iter->index++;
    return 0;
}

/* ---- writing ---- */

fluss_code_t fl_kv_builder_init(fl_kv_builder *builder, fl_buf *out, fluss_error_t *err)
{
    *builder = (fl_kv_builder){.out = out, .base = out->size};
    return fl_buf_append_zeros(out, FL_KV_BATCH_HEADER_SIZE, err);
}

size_t fl_kv_record_size(size_t key_size, size_t row_size)
{
    return LENGTH_SIZE + fl_varint_size(key_size) + key_size + row_size;
}

static fluss_code_t append_record(fl_kv_builder *builder, fl_slice key, fl_slice row,
                                  fluss_error_t *err)
{
    fl_buf *out = builder->out;
    const size_t size = fl_kv_record_size(key.size, row.size);
    if (key.size > INT32_MAX || row.size > INT32_MAX ||
        out->size - builder->base + size > INT32_MAX || builder->record_count == INT32_MAX) {
        return fl_error(err, FLUSS_E_RECORD_TOO_LARGE, FLUSS_KIND_ARGUMENT,
                        "KV batch: a record of %zu bytes does not fit", size);
    }
    FL_TRY(fl_buf_reserve(out, size, err));
    uint8_t *at = out->data + out->size;
    fl_store_i32(at, (int32_t)(size - LENGTH_SIZE));
    at += LENGTH_SIZE;
    at += fl_varint_store(at, key.size);
    if (key.size != 0) {
        memcpy(at, key.data, key.size);
    }
    if (row.size != 0) {
        memcpy(at + key.size, row.data, row.size);
    }
    out->size += size;
    builder->record_count++;
    return 0;
}

fluss_code_t fl_kv_builder_upsert(fl_kv_builder *builder, fl_slice key, fl_slice row,
                                  fluss_error_t *err)
{
    FL_ASSERT(row.size != 0);
    return append_record(builder, key, row, err);
}

fluss_code_t fl_kv_builder_delete(fl_kv_builder *builder, fl_slice key, fluss_error_t *err)
{
    return append_record(builder, key, fl_slice_of(NULL, 0), err);
}

void fl_kv_builder_finish(const fl_kv_builder *builder, int16_t schema_id, int64_t writer_id,
                          int32_t batch_sequence)
{
    uint8_t *bytes = builder->out->data + builder->base;
    const size_t size = builder->out->size - builder->base;
    FL_ASSERT(size >= FL_KV_BATCH_HEADER_SIZE);
    fl_store_i32(bytes + AT_LENGTH, (int32_t)(size - LENGTH_SIZE));
    bytes[AT_MAGIC] = 0;
    fl_store_i16(bytes + AT_SCHEMA_ID, schema_id);
    bytes[AT_ATTRIBUTES] = 0;
    fl_store_i32(bytes + AT_COUNT, builder->record_count);
    fl_kv_batch_set_writer(bytes, size, writer_id, batch_sequence);
}

void fl_kv_batch_set_writer(uint8_t *bytes, size_t size, int64_t writer_id, int32_t batch_sequence)
{
    FL_ASSERT(size >= FL_KV_BATCH_HEADER_SIZE);
    fl_store_i64(bytes + AT_WRITER_ID, writer_id);
    fl_store_i32(bytes + AT_SEQUENCE, batch_sequence);
    fl_store_u32(bytes + AT_CRC, crc_of(fl_slice_of(bytes, size)));
}

/* ---- values ---- */

fluss_code_t fl_value_encode(int16_t schema_id, fl_slice row, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_reserve(out, FL_VALUE_HEADER_SIZE + row.size, err));
    fl_store_i16(out->data + out->size, schema_id);
    out->size += FL_VALUE_HEADER_SIZE;
    return row.size == 0 ? 0 : fl_buf_append_slice(out, row, err);
}

fluss_code_t fl_value_open(fl_slice value, int16_t *schema_id, fl_slice *row, fluss_error_t *err)
{
    *row = fl_slice_of(NULL, 0);
    *schema_id = value.size < FL_VALUE_HEADER_SIZE ? -1 : fl_load_i16(value.data);
    if (value.size <= FL_VALUE_HEADER_SIZE || *schema_id < 0) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "value of %zu bytes with schema id %d: no schema id and row", value.size,
                        *schema_id);
    }
    *row = fl_slice_sub(value, FL_VALUE_HEADER_SIZE, value.size - FL_VALUE_HEADER_SIZE);
    return 0;
}
