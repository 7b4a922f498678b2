/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned rows: rows of statistics and, being Paimon's BinaryRow, Paimon keys.
 *
 *   null region   ((count + 63 + 8) / 64) * 8 bytes: a header byte 0, then bit 8 + i: field i is
 * null slots         8 bytes a field (row_slot.c); a null's is 0 variable part
 *
 * Source: AlignedRow and AlignedRowWriter, Fluss 1.0. */
#include "format/row_private.h"

enum { HEADER_BITS = 8 };

static size_t region_size(size_t count)
{
    return (count + 63 + HEADER_BITS) / 64 * FL_SLOT_SIZE;
}

fluss_code_t fl_aligned_encode(const fl_row_types *types, const fluss_datum_t *values, fl_buf *out,
                               fluss_error_t *err)
{
    const size_t base = out->size;
    const size_t slots_at = base + region_size(types->count);
    FL_TRY(fl_buf_append_zeros(out, slots_at - base + types->count * FL_SLOT_SIZE, err));
    for (size_t i = 0; i < types->count; i++) {
        const fl_type *type = fl_row_type_at(types, i);
        if (values[i].type != FLUSS_NULL) {
            FL_TRY(fl_slot_store(FL_ROW_ALIGNED, type, &values[i], out, base,
                                 slots_at + i * FL_SLOT_SIZE, err));
            continue;
        }
        FL_TRY(fl_row_check_null(type, i, err));
        const size_t bit = HEADER_BITS + i;
        uint8_t *byte = &out->data[base + bit / 8];
        *byte = (uint8_t)(*byte | (1u << (bit % 8)));
    }
    return 0;
}

fluss_code_t fl_aligned_decode(fl_row_decoder *decoder, const fl_row_types *types, fl_slice row,
                               fluss_datum_t *values)
{
    const size_t slots_at = region_size(types->count);
    const size_t fixed_size = slots_at + types->count * FL_SLOT_SIZE;
    if (row.size < fixed_size) {
        return fl_error_corrupt(decoder->err,
                                "aligned row of %zu bytes: %zu fields need at least %zu", row.size,
                                types->count, fixed_size);
    }
    for (size_t i = 0; i < types->count; i++) {
        const fl_type *type = fl_row_type_at(types, i);
        const size_t bit = HEADER_BITS + i;
        if (type->nullable && ((row.data[bit / 8] >> (bit % 8)) & 1) != 0) {
            values[i] = (fluss_datum_t){.type = FLUSS_NULL};
            continue;
        }
        FL_TRY(fl_slot_load(decoder, FL_ROW_ALIGNED, type, row, slots_at + i * FL_SLOT_SIZE,
                            &values[i]));
    }
    return 0;
}
