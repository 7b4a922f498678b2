/* SPDX-License-Identifier: Apache-2.0 */
/* Keys. Compacted: the values one after the other, as in compacted rows, no
 * null bits. Paimon: an aligned row. Iceberg: the raw bytes of one value, whole numbers widened to
 * 64 bits and times to microseconds. Hudi: key_hudi.c. Source: row/encode/, Fluss 1.0. */
#include "format/key_private.h"
#include "format/row_private.h"

enum { US_PER_MS = 1000, NANOS_PER_US = 1000 };

static fluss_code_t unsupported(const char *format, const fl_type *type, size_t index,
                                fluss_error_t *err)
{
    return fl_error_argument(err, "key value %zu: %s keys have no encoding for %s", index, format,
                             fl_type_root_name(type->root));
}

static fluss_code_t encode_compacted(const fl_type *const *types, const fluss_datum_t *values,
                                     size_t count, fl_buf *out, fluss_error_t *err)
{
    for (size_t i = 0; i < count; i++) {
        if (fl_type_root_is_nested(types[i]->root) && types[i]->root != FLUSS_ARRAY) {
            return unsupported("compacted", types[i], i, err);
        }
        FL_TRY(fl_compacted_encode_value(types[i], &values[i], out, err));
    }
    return 0;
}

static fluss_code_t append_i64(fl_buf *out, int64_t value, fluss_error_t *err)
{
    uint8_t bytes[sizeof(value)];
    fl_store_i64(bytes, value);
    return fl_buf_append(out, bytes, sizeof(bytes), err);
}

static fluss_code_t append_us(fl_buf *out, int64_t ms, int32_t nanos, fluss_error_t *err)
{
    int64_t us;
    if (__builtin_mul_overflow(ms, US_PER_MS, &us) ||
        __builtin_add_overflow(us, nanos / NANOS_PER_US, &us)) {
        return fl_error_argument(err, "key: %lld milliseconds are out of range in microseconds",
                                 (long long)ms);
    }
    return append_i64(out, us, err);
}

static fluss_code_t encode_iceberg(const fl_type *type, const fluss_datum_t *value, fl_buf *out,
                                   fluss_error_t *err)
{
    switch ((fluss_type_t)type->root) {
    case FLUSS_INT:
    case FLUSS_BIGINT:
    case FLUSS_DATE:
        return append_i64(out, value->v.i, err);
    case FLUSS_TIME:
    case FLUSS_TIMESTAMP:
        return append_us(out, value->v.i, type->root == FLUSS_TIME ? 0 : value->nanos, err);
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return fl_compacted_encode_value(type, value, out, err);
    case FLUSS_DECIMAL: {
        uint8_t bytes[16];
        const size_t size = fl_decimal_to_bytes(value, bytes);
        return fl_buf_append(out, bytes, size, err);
    }
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return value->v.s.len == 0
                   ? fl_error_argument(err, "key: an empty value has no Iceberg bucket")
                   : fl_buf_append(out, value->v.s.ptr, value->v.s.len, err);
    default:
        return unsupported("Iceberg", type, 0, err);
    }
}

static fluss_code_t encode(fl_key_format format, const fl_type *const *types,
                           const fluss_datum_t *values, size_t count, fl_buf *out,
                           fluss_error_t *err)
{
    switch (format) {
    case FL_KEY_COMPACTED:
        return encode_compacted(types, values, count, out, err);
    case FL_KEY_PAIMON: {
        const fl_row_types all = {.list = types, .count = count};
        return fl_aligned_encode(&all, values, out, err);
    }
    case FL_KEY_ICEBERG:
        return count == 1 ? encode_iceberg(types[0], &values[0], out, err)
                          : fl_error_argument(err, "an Iceberg key has one column, not %zu", count);
    case FL_KEY_HUDI:
        break;
    }
    return fl_key_encode_hudi(types, values, count, out, err);
}

fluss_code_t fl_key_encode(fl_key_format format, const fl_type *const *types,
                           const fluss_datum_t *values, size_t count, fl_buf *out,
                           fluss_error_t *err)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i].type == FLUSS_NULL && format != FL_KEY_HUDI) {
            return fl_error_argument(err, "key value %zu is null", i);
        }
    }
    const size_t size = out->size;
    const fluss_code_t rc = encode(format, types, values, count, out, err);
    if (rc != 0) {
        out->size = size;
    }
    return rc;
}
