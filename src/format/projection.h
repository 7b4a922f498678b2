/* SPDX-License-Identifier: Apache-2.0 */
/* Server-side projection of Arrow log batches: selected buffers are copied,
 * never decompressed. */
#ifndef FL_PROJECTION_H
#define FL_PROJECTION_H
#include "format/log_batch.h"
#include "format/schema.h"

typedef struct fl_projection {
    const fl_schema *written; /* of the batch's schema id */
    const fl_schema *newest;  /* of the table: `written` with columns added at its end, or itself */
    const uint32_t *columns;  /* indexes in newest, strictly ascending, at least one */
    size_t count;
} fl_projection;

/** Append the projection of one batch; columns that it was written without are null.
 * @return FLUSS_E_INVALID_COLUMN_PROJECTION, FLUSS_E_CORRUPT_RECORD */
FLUSS_CHECKED fluss_code_t fl_log_batch_project(const fl_log_batch *batch,
                                                const fl_projection *projection, fl_buf *out,
                                                fluss_error_t *err);
/** Check the columns against the schema. @return FLUSS_E_INVALID_COLUMN_PROJECTION naming the index
 * and the rule */
FLUSS_CHECKED fluss_code_t fl_projection_check(const fl_schema *schema, const int32_t *columns,
                                               size_t count, fluss_error_t *err);
#endif
