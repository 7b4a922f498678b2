/* SPDX-License-Identifier: Apache-2.0 */
/* ValueRecordBatch, what LIMIT_SCAN of a primary-key table and SCAN_KV answer
 *: values without keys. */
#ifndef FL_VALUE_BATCH_H
#define FL_VALUE_BATCH_H
#include "format/kv_batch.h"

enum { FL_VALUE_BATCH_HEADER_SIZE = 9 };

/* ---- reading ---- */
typedef struct fl_value_batch_iter {
    fl_slice left;
    int32_t index, count;
} fl_value_batch_iter;
/** Begin with a batch that `bytes` holds exactly; views. @return FLUSS_E_CORRUPT_RECORD */
FLUSS_CHECKED fluss_code_t fl_value_batch_open(fl_slice bytes, fl_value_batch_iter *iter,
                                               fluss_error_t *err);
/** The next value, split. @param is_end true: there is none */
FLUSS_CHECKED fluss_code_t fl_value_batch_next(fl_value_batch_iter *iter, int16_t *schema_id,
                                               fl_slice *row, bool *is_end, fluss_error_t *err);

/* ---- writing ---- */
/** A batch under construction at the end of a caller's buffer. */
typedef struct fl_value_builder {
    fl_buf *out;
    size_t base;
    int32_t record_count;
} fl_value_builder;
FLUSS_CHECKED fluss_code_t fl_value_builder_init(fl_value_builder *builder, fl_buf *out,
                                                 fluss_error_t *err);
/** Append a stored value (schema id and row). All or nothing. */
FLUSS_CHECKED fluss_code_t fl_value_builder_add(fl_value_builder *builder, fl_slice value,
                                                fluss_error_t *err);
/** Fill the header; the batch is out[base .. end). */
void fl_value_builder_finish(const fl_value_builder *builder);
#endif
