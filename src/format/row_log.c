/* SPDX-License-Identifier: Apache-2.0 */
/* Row records of log batches: i32 size of the rest, i8 change type, row. The whole attribute byte
 * is the change type; an append-only batch has 0 there.
 * Source: IndexedLogRecord, CompactedLogRecord, MemoryLogRecordsRowBuilder, Fluss 1.0. */
#include "format/row_log.h"

enum { LENGTH_SIZE = 4, CHANGE_TYPE_SIZE = 1 };

void fl_row_log_iter_init(fl_row_log_iter *iter, const fl_log_batch *batch)
{
    *iter = (fl_row_log_iter){
        .left = batch->payload, .count = batch->record_count, .base_offset = batch->base_offset};
}

fluss_code_t fl_row_log_next(fl_row_log_iter *iter, fl_row_log_record *record, bool *is_end,
                             fluss_error_t *err)
{
    *record = (fl_row_log_record){0};
    *is_end = iter->index == iter->count;
    if (*is_end) {
        return iter->left.size == 0 ? 0
                                    : fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                                               "log batch: %zu bytes behind the last of %d records",
                                               iter->left.size, iter->count);
    }
    size_t size = 0;
    const int32_t stored = iter->left.size < LENGTH_SIZE ? -1 : fl_load_i32(iter->left.data);
    if (!fl_size_from_i32(stored, &size) || size <= CHANGE_TYPE_SIZE ||
        size > iter->left.size - LENGTH_SIZE) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "log batch: record %d of %d: size %d does not fit the %zu bytes left",
                        iter->index, iter->count, stored, iter->left.size);
    }
    const uint8_t change_type = iter->left.data[LENGTH_SIZE];
    if (change_type > FLUSS_DELETE) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "log batch: record %d of %d: change type is %u, expected 0 to %d",
                        iter->index, iter->count, change_type, FLUSS_DELETE);
    }
    record->log_offset = iter->base_offset + iter->index;
    record->change_type = (fluss_change_t)change_type;
    record->row = fl_slice_sub(iter->left, LENGTH_SIZE + CHANGE_TYPE_SIZE, size - CHANGE_TYPE_SIZE);
    const size_t used = LENGTH_SIZE + size;
    iter->left = fl_slice_sub(iter->left, used, iter->left.size - used);
    iter->index++;
    return 0;
}

fluss_code_t fl_row_log_builder_init(fl_row_log_builder *builder, fl_buf *out, fluss_error_t *err)
{
    *builder = (fl_row_log_builder){.out = out, .base = out->size};
    return fl_buf_append_zeros(out, fl_log_batch_header_size(0, 0), err);
}

static size_t record_size(size_t row_size)
{
    return LENGTH_SIZE + CHANGE_TYPE_SIZE + row_size;
}

fluss_code_t fl_row_log_builder_add(fl_row_log_builder *builder, fluss_change_t change_type,
                                    fl_slice row, fluss_error_t *err)
{
    FL_ASSERT(row.size != 0 && change_type <= FLUSS_DELETE);
    fl_buf *out = builder->out;
    const size_t size = record_size(row.size);
    if (row.size > INT32_MAX || out->size - builder->base + size > INT32_MAX) {
        return fl_error(err, FLUSS_E_RECORD_TOO_LARGE, FLUSS_KIND_ARGUMENT,
                        "log batch: a row of %zu bytes does not fit", row.size);
    }
    FL_TRY(fl_buf_reserve(out, size, err));
    uint8_t *at = out->data + out->size;
    fl_store_i32(at, (int32_t)(size - LENGTH_SIZE));
    at[LENGTH_SIZE] = (uint8_t)change_type;
    memcpy(at + LENGTH_SIZE + CHANGE_TYPE_SIZE, row.data, row.size);
    out->size += size;
    builder->record_count++;
    return 0;
}

void fl_row_log_builder_finish(const fl_row_log_builder *builder, const fl_log_batch_spec *spec)
{
    fl_log_batch_spec filled = *spec;
    filled.magic = 0;
    filled.record_count = builder->record_count;
    filled.statistics = fl_slice_of(NULL, 0);
    fl_log_batch_finish(builder->out->data + builder->base, builder->out->size - builder->base,
                        &filled);
}
