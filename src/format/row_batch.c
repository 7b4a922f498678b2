/* SPDX-License-Identifier: Apache-2.0 */
/* The checks with which a reader of KV batches or value batches begins; the number of records is
 * the last field of both headers. */
#include "format/row_batch.h"

enum { AT_LENGTH = 0, AT_MAGIC = 4, FIELD_SIZE = 4 };

fluss_code_t fl_row_batch_corrupt(const char *kind, const char *what, int64_t found, int64_t wanted,
                                  fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                    "%s: %s is %lld, expected %lld", kind, what, (long long)found,
                    (long long)wanted);
}

fluss_code_t fl_row_batch_check_head(fl_slice bytes, const char *kind, size_t count_position,
                                     size_t record_size_min, int32_t *count, fluss_error_t *err)
{
    const size_t header_size = count_position + FIELD_SIZE;
    if (bytes.size < header_size) {
        return fl_row_batch_corrupt(kind, "size", (int64_t)bytes.size, (int64_t)header_size, err);
    }
    const int32_t length = fl_load_i32(bytes.data + AT_LENGTH);
    if (length < 0 || (size_t)length != bytes.size - FIELD_SIZE) {
        return fl_row_batch_corrupt(kind, "length", length, (int64_t)bytes.size - FIELD_SIZE, err);
    }
    if (bytes.data[AT_MAGIC] != 0) {
        return fl_row_batch_corrupt(kind, "magic", bytes.data[AT_MAGIC], 0, err);
    }
    const size_t left = bytes.size - header_size;
    *count = fl_load_i32(bytes.data + count_position);
    if (*count < 0 || (size_t)*count > left / record_size_min) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "%s: record count is %d, %zu bytes hold at most %zu", kind, *count, left,
                        left / record_size_min);
    }
    return 0;
}
