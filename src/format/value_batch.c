/* SPDX-License-Identifier: Apache-2.0 */
/* Value record batches.
 *
 * Position  Size  Field
 *        0     4  length: size of all that follows
 *        4     1  magic, 0
 *        5     4  record count
 *        9        records: i32 size of the rest, i16 schema id, row
 *
 * Source: DefaultValueRecordBatch, Fluss 1.0. */
#include "format/value_batch.h"

#include "format/row_batch.h"

enum { AT_LENGTH = 0, AT_MAGIC = 4, AT_COUNT = 5, LENGTH_SIZE = 4, RECORD_SIZE_MIN = 6 };
_Static_assert(AT_COUNT + sizeof(int32_t) == FL_VALUE_BATCH_HEADER_SIZE, "the count is the last");

fluss_code_t fl_value_batch_open(fl_slice bytes, fl_value_batch_iter *iter, fluss_error_t *err)
{
    int32_t count;
    *iter = (fl_value_batch_iter){0};
    FL_TRY(fl_row_batch_check_head(bytes, "value batch", AT_COUNT, RECORD_SIZE_MIN, &count, err));
    iter->left =
        fl_slice_sub(bytes, FL_VALUE_BATCH_HEADER_SIZE, bytes.size - FL_VALUE_BATCH_HEADER_SIZE);
    iter->count = count;
    return 0;
}

fluss_code_t fl_value_batch_next(fl_value_batch_iter *iter, int16_t *schema_id, fl_slice *row,
                                 bool *is_end, fluss_error_t *err)
{
    *row = fl_slice_of(NULL, 0);
    *schema_id = -1;
    *is_end = iter->index == iter->count;
    if (*is_end) {
        return iter->left.size == 0
                   ? 0
                   : fl_row_batch_corrupt("value batch", "size behind the last record",
                                          (int64_t)iter->left.size, 0, err);
    }
    size_t size = 0;
    const int32_t stored = iter->left.size < LENGTH_SIZE ? -1 : fl_load_i32(iter->left.data);
    if (!fl_size_from_i32(stored, &size) || size > iter->left.size - LENGTH_SIZE) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "value batch: record %d of %d: size %d does not fit the %zu bytes left",
                        iter->index, iter->count, stored, iter->left.size);
    }
    const fluss_code_t rc =
        fl_value_open(fl_slice_sub(iter->left, LENGTH_SIZE, size), schema_id, row, err);
    if (rc != 0) {
        fl_error_prefix(err, "value batch: record %d: ", iter->index);
        return rc;
    }
    const size_t used = LENGTH_SIZE + size;
    iter->left = fl_slice_sub(iter->left, used, iter->left.size - used);
    iter->index++;
    return 0;
}

fluss_code_t fl_value_builder_init(fl_value_builder *builder, fl_buf *out, fluss_error_t *err)
{
    *builder = (fl_value_builder){.out = out, .base = out->size};
    return fl_buf_append_zeros(out, FL_VALUE_BATCH_HEADER_SIZE, err);
}

fluss_code_t fl_value_builder_add(fl_value_builder *builder, fl_slice value, fluss_error_t *err)
{
    fl_buf *out = builder->out;
    if (value.size > INT32_MAX ||
        out->size - builder->base + LENGTH_SIZE + value.size > INT32_MAX) {
        return fl_error(err, FLUSS_E_RECORD_TOO_LARGE, FLUSS_KIND_ARGUMENT,
                        "value batch: a value of %zu bytes does not fit", value.size);
    }
    FL_TRY(fl_buf_reserve(out, LENGTH_SIZE + value.size, err));
    fl_store_i32(out->data + out->size, (int32_t)value.size);
    if (value.size != 0) {
        memcpy(out->data + out->size + LENGTH_SIZE, value.data, value.size);
    }
    out->size += LENGTH_SIZE + value.size;
    builder->record_count++;
    return 0;
}

void fl_value_builder_finish(const fl_value_builder *builder)
{
    uint8_t *bytes = builder->out->data + builder->base;
    const size_t size = builder->out->size - builder->base;
    FL_ASSERT(size >= FL_VALUE_BATCH_HEADER_SIZE && size <= INT32_MAX);
    fl_store_i32(bytes + AT_LENGTH, (int32_t)(size - LENGTH_SIZE));
    bytes[AT_MAGIC] = 0;
    fl_store_i32(bytes + AT_COUNT, builder->record_count);
}
