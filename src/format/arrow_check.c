/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of arrays that others made: offsets, text, nulls where the table allows none. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "format/arrow_private.h"

/* Offsets never go back, and all are >= 0: the sign bit of each and of each difference is clear. */
bool fl_arrow_offsets_ascend(const int32_t *offsets, int64_t count)
{
    uint32_t signs = (uint32_t)offsets[0];
    for (int64_t i = 0; i < count; i++) {
        const uint32_t next = (uint32_t)offsets[i + 1];
        signs |= next | (next - (uint32_t)offsets[i]);
    }
    return (signs >> 31) == 0;
}

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Text is valid when all of it is and no value begins inside a character. Bytes that belong to no
 * value can fail that, so each value is looked at before the verdict. */
bool fl_arrow_text_is_valid(const struct ArrowArray *array)
{
    const int64_t count = array->length;
    if (count == 0) {
        return true;
    }
    const int32_t *offsets = (const int32_t *)array->buffers[1] + array->offset;
    const uint8_t *bytes = array->buffers[2];
    const int32_t first = offsets[0], last = offsets[count];
    bool valid = first == last || fl_utf8_is_valid(bytes + first, (size_t)(last - first));
    for (int64_t i = 0; valid && i < count; i++) {
        valid = offsets[i] == last || !is_continuation(bytes[offsets[i]]);
    }
    for (int64_t i = 0; !valid && i < count; i++) {
        const bool is_null =
            array->buffers[0] != NULL && !fl_bit_get(array->buffers[0], array->offset + i);
        if (!is_null &&
            !fl_utf8_is_valid(bytes + offsets[i], (size_t)(offsets[i + 1] - offsets[i]))) {
            return false;
        }
    }
    return true;
}

/* Values [from, from + count) of a column, and which of them lie under a null of a struct. */
typedef struct check_range {
    int64_t from, count;
    const uint8_t *above; /* bit clear: under a null. NULL: none is */
} check_range;

static fluss_code_t check_nulls(const fl_type *type, const struct ArrowArray *array,
                                check_range range, fluss_error_t *err)
{
    if (type->nullable || fl_arrow_null_count(array, range.from, range.count) == 0) {
        return 0;
    }
    for (int64_t i = 0; i < range.count; i++) {
        const bool is_null = !fl_bit_get(array->buffers[0], array->offset + range.from + i);
        if (is_null && (range.above == NULL || fl_bit_get(range.above, i))) {
            return fl_error_argument(err, "row %lld is null, the type is NOT NULL",
                                     (long long)(range.from + i));
        }
    }
    return 0;
}

static fluss_code_t check_column(const fl_type *type, const struct ArrowArray *array,
                                 check_range range, fluss_error_t *err);

static fluss_code_t check_fields(const fl_type *type, const struct ArrowArray *array,
                                 check_range range, fluss_error_t *err)
{
    const int64_t start = array->offset + range.from;
    check_range below = {.from = start, .count = range.count, .above = range.above};
    uint8_t *bits = NULL;
    if (fl_arrow_null_count(array, range.from, range.count) != 0) {
        const size_t size = fl_bits_size(range.count);
        bits = fl_alloc(size);
        if (bits == NULL) {
            return fl_error_nomem(err);
        }
        fl_bits_copy(bits, array->buffers[0], start, range.count);
        for (size_t i = 0; range.above != NULL && i < size; i++) {
            bits[i] = bits[i] & range.above[i];
        }
        below.above = bits;
    }
    fluss_code_t rc = 0;
    for (size_t i = 0; rc == 0 && i < type->field_count; i++) {
        rc = check_column(&type->fields[i].type, array->children[i], below, err);
        if (rc != 0) {
            fl_error_prefix(
                err, "field '%s': ", type->fields[i].name != NULL ? type->fields[i].name : "");
        }
    }
    fl_free(bits);
    return rc;
}

static fluss_code_t check_column(const fl_type *type, const struct ArrowArray *array,
                                 check_range range, fluss_error_t *err)
{
    if (range.from + range.count > array->length) {
        return fl_error_argument(err, "%lld values, %lld wanted", (long long)array->length,
                                 (long long)(range.from + range.count));
    }
    FL_TRY(check_nulls(type, array, range, err));
    const fl_arrow_layout layout = fl_arrow_layout_of(type);
    if (layout == FL_LAYOUT_STRUCT) {
        return check_fields(type, array, range, err);
    }
    if (range.count == 0) {
        return 0;
    }
    if (array->buffers[1] == NULL || array->buffers[1] == fl_arrow_nothing) {
        return fl_error_argument(err, "an Arrow buffer is missing");
    }
    if (layout != FL_LAYOUT_VAR && layout != FL_LAYOUT_LIST) {
        return 0;
    }
    const int32_t *offsets = (const int32_t *)array->buffers[1] + array->offset + range.from;
    if (!fl_arrow_offsets_ascend(offsets, range.count)) {
        return fl_error_argument(err, "Arrow offsets are negative or go back");
    }
    if (layout == FL_LAYOUT_LIST) {
        const fl_type child = fl_arrow_child_type(type, 0);
        const check_range below = {.from = offsets[0],
                                   .count = (int64_t)offsets[range.count] - offsets[0]};
        return check_column(&child, array->children[0], below, err);
    }
    if (array->buffers[2] == NULL && offsets[range.count] != offsets[0]) {
        return fl_error_argument(err, "an Arrow buffer is missing");
    }
    struct ArrowArray part = *array;
    part.offset += range.from;
    part.length = range.count;
    return !fl_arrow_is_text(type) || fl_arrow_text_is_valid(&part)
               ? 0
               : fl_error_argument(err, "text is not UTF-8");
}

fluss_code_t fl_arrow_check_column(const fl_type *type, const struct ArrowArray *array,
                                   fluss_error_t *err)
{
    return check_column(type, array, (check_range){.from = 0, .count = array->length}, err);
}

fluss_code_t fl_arrow_check(const fl_schema *schema, const struct ArrowArray *array,
                            fluss_error_t *err)
{
    for (size_t i = 0; i < schema->column_count; i++) {
        const check_range range = {.from = array->offset, .count = array->length};
        const fluss_code_t rc =
            check_column(&schema->columns[i].type, array->children[i], range, err);
        if (rc != 0) {
            fl_error_prefix(err, "Field '%s': ", schema->columns[i].name);
            return rc;
        }
    }
    return 0;
}
