/* SPDX-License-Identifier: Apache-2.0 */
/* Records of log batches in the formats INDEXED and COMPACTED: one row after
 * the other, each with its change type. The batch's header is log_batch.h's. */
#ifndef FL_ROW_LOG_H
#define FL_ROW_LOG_H
#include "base/buf.h"
#include "format/log_batch.h"

/* ---- reading ---- */
typedef struct fl_row_log_iter {
    fl_slice left;
    int32_t index, count;
    int64_t base_offset;
} fl_row_log_iter;
typedef struct fl_row_log_record {
    int64_t log_offset;
    fluss_change_t change_type;
    fl_slice row; /* in the table's log format; views the batch */
} fl_row_log_record;
/** Begin with a batch opened by fl_log_batch_open(…, is_arrow false, …). */
void fl_row_log_iter_init(fl_row_log_iter *iter, const fl_log_batch *batch);
/** The next record. @param is_end true: there is none @return FLUSS_E_CORRUPT_RECORD */
FLUSS_CHECKED fluss_code_t fl_row_log_next(fl_row_log_iter *iter, fl_row_log_record *record,
                                           bool *is_end, fluss_error_t *err);

/* ---- writing ---- */
/** A batch of magic 0 under construction at the end of a caller's buffer. */
typedef struct fl_row_log_builder {
    fl_buf *out;
    size_t base;
    int32_t record_count;
} fl_row_log_builder;
FLUSS_CHECKED fluss_code_t fl_row_log_builder_init(fl_row_log_builder *builder, fl_buf *out,
                                                   fluss_error_t *err);
/** Append a record. All or nothing. */
FLUSS_CHECKED fluss_code_t fl_row_log_builder_add(fl_row_log_builder *builder,
                                                  fluss_change_t change_type, fl_slice row,
                                                  fluss_error_t *err);
/** Fill header and CRC; the batch is out[base .. end). Magic, record count and statistics of `spec`
 * are set here. */
void fl_row_log_builder_finish(const fl_row_log_builder *builder, const fl_log_batch_spec *spec);
#endif
