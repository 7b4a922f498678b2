/* SPDX-License-Identifier: Apache-2.0 */
/* Stored values (schema id and row) of primary-key tables as columns. */
#ifndef FL_VALUE_ROWS_H
#define FL_VALUE_ROWS_H
#include "client/scan_private.h"

/** Columns under construction from values one by one. */
typedef struct fl_value_rows fl_value_rows;
FLUSS_CHECKED fluss_code_t fl_value_rows_new(const fl_scan_plan *plan, fl_value_rows **out,
                                             fluss_error_t *err);
void fl_value_rows_free(fl_value_rows *rows);
/** Append a value, without its schema id. @return FLUSS_E_SCHEMA_NOT_EXIST: the schema is not known
 */
FLUSS_CHECKED fluss_code_t fl_value_rows_add(fl_value_rows *rows, int16_t schema_id, fl_slice row,
                                             int64_t offset, fluss_error_t *err);
/** Close the columns, which may have no rows. */
FLUSS_CHECKED fluss_code_t fl_value_rows_finish(fl_value_rows *rows, const fluss_bucket_t *bucket,
                                                fl_chunk **chunk, fluss_error_t *err);

/** First schema id of a value batch that is not known; -1: none. */
int32_t fl_values_unknown_schema(fl_table *table, fl_slice records);
/** A value batch as a chunk; NULL when it has no rows. */
FLUSS_CHECKED fluss_code_t fl_values_decode(const fl_scan_plan *plan, const fluss_bucket_t *bucket,
                                            fl_slice records, fl_chunk **chunk, fluss_error_t *err);
#endif
