/* SPDX-License-Identifier: Apache-2.0 */
/* What KV batches and value batches have in common: they begin with an i32, the size of all that
 * follows, and a magic byte 0; later comes an i32 with the number of records. */
#ifndef FL_ROW_BATCH_H
#define FL_ROW_BATCH_H
#include "base/error.h"
#include "base/slice.h"

/** Say that a field of a batch is not what it must be. @param kind "KV batch"
 * @return FLUSS_E_CORRUPT_RECORD */
fluss_code_t fl_row_batch_corrupt(const char *kind, const char *what, int64_t found, int64_t wanted,
                                  fluss_error_t *err);
/** Check the size, the magic, and that as many records as `count_position` says can fit.
 * @param record_size_min  bytes of the smallest record
 * @param count  filled */
FLUSS_CHECKED fluss_code_t fl_row_batch_check_head(fl_slice bytes, const char *kind,
                                                   size_t count_position, size_t record_size_min,
                                                   int32_t *count, fluss_error_t *err);
#endif
