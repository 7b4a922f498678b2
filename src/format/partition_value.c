/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a partition value, in the Java client's form: only letters,
 * digits, '_' and '-' can occur, but for text, which is taken as it is.
 * Source: PartitionUtils.convertValueOfType and PartitionNameConverters, Fluss 1.0. */
#include <math.h>

#include "format/calendar.h"
#include "format/java_float.h"
#include "format/row_codec.h"

enum { NANOS_PER_MS = 1000000, FRACTION_DIGITS = 9 };

static fluss_code_t print_float(const fl_type *type, double value, fl_buf *out, fluss_error_t *err)
{
    if (!isfinite(value)) {
        return fl_buf_printf(out, err, "%s", isnan(value) ? "NaN" : value > 0 ? "Inf" : "-Inf");
    }
    char text[FL_JAVA_FLOAT_SIZE];
    const size_t size = type->root == FLUSS_FLOAT ? fl_java_float_print((float)value, text)
                                                  : fl_java_double_print(value, text);
    char *point = memchr(text, '.', size);
    if (point != NULL) {
        *point = '_';
    }
    return fl_buf_append(out, text, size, err);
}

static fluss_code_t print_bytes(const fluss_datum_t *value, fl_buf *out, fluss_error_t *err)
{
    const uint8_t *bytes = value->v.s.ptr;
    for (size_t i = 0; i < value->v.s.len; i++) {
        FL_TRY(fl_buf_printf(out, err, "%02x", bytes[i]));
    }
    return 0;
}

/* "yyyy-MM-dd-HH-mm-ss_" and the fraction without its trailing zeros. */
static fluss_code_t print_timestamp(const fluss_datum_t *value, fl_buf *out, fluss_error_t *err)
{
    const fl_calendar at = fl_calendar_from_ms(value->v.i);
    FL_TRY(fl_buf_printf(out, err, "%04lld-%02d-%02d-%02d-%02d-%02d_", (long long)at.year, at.month,
                         at.day, at.hour, at.minute, at.second));
    int64_t fraction = (int64_t)at.ms * NANOS_PER_MS + value->nanos;
    int digits = fraction == 0 ? 0 : FRACTION_DIGITS;
    for (; digits > 0 && fraction % 10 == 0; digits--) {
        fraction /= 10;
    }
    return digits == 0 ? 0 : fl_buf_printf(out, err, "%0*lld", digits, (long long)fraction);
}

fluss_code_t fl_partition_value_print(const fl_type *type, const fluss_datum_t *value, fl_buf *out,
                                      fluss_error_t *err)
{
    if (value->type == FLUSS_NULL) {
        return fl_error_argument(err, "a partition value is null");
    }
    switch ((fluss_type_t)type->root) {
    case FLUSS_CHAR:
    case FLUSS_STRING:
        return value->v.s.len == 0 ? 0 : fl_buf_append(out, value->v.s.ptr, value->v.s.len, err);
    case FLUSS_BOOLEAN:
        return fl_buf_printf(out, err, value->v.b ? "true" : "false");
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        return fl_buf_printf(out, err, "%lld", (long long)value->v.i);
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return print_float(type, value->v.f, out, err);
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return print_bytes(value, out, err);
    case FLUSS_DATE: {
        const fl_calendar at = fl_calendar_from_days(value->v.i);
        return fl_buf_printf(out, err, "%04lld-%02d-%02d", (long long)at.year, at.month, at.day);
    }
    case FLUSS_TIME: {
        const fl_calendar at = fl_calendar_from_ms(value->v.i);
        return fl_buf_printf(out, err, "%02d-%02d-%02d_%03d", at.hour, at.minute, at.second, at.ms);
    }
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return print_timestamp(value, out, err);
    case FLUSS_NULL:
    case FLUSS_DECIMAL:
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        break;
    }
    return fl_error_argument(err, "%s can't be a partition key", fl_type_root_name(type->root));
}
