/* SPDX-License-Identifier: Apache-2.0 */
/* Binary rows: compacted, indexed, aligned; arrays and maps inside them. */
#ifndef FL_ROW_CODEC_H
#define FL_ROW_CODEC_H
#include "format/datum.h"

typedef enum { FL_ROW_COMPACTED, FL_ROW_INDEXED, FL_ROW_ALIGNED } fl_row_format;

/** Append a row. @param values coerced (fl_datum_coerce), one for each type */
FLUSS_CHECKED fluss_code_t fl_row_encode(fl_row_format format, const fl_type *const *types,
                                         const fluss_datum_t *values, size_t count, fl_buf *out,
                                         fluss_error_t *err);
/** Read a whole row. @param values strings and bytes view `row`; nested values come from the arena
 * @return FLUSS_E_CORRUPT_MESSAGE, for any bytes */
FLUSS_CHECKED fluss_code_t fl_row_decode(fl_row_format format, const fl_type *const *types,
                                         fl_slice row, size_t count, fl_arena *arena,
                                         fluss_datum_t *values, fluss_error_t *err);

typedef enum { FL_KEY_COMPACTED, FL_KEY_PAIMON, FL_KEY_ICEBERG, FL_KEY_HUDI } fl_key_format;
/** Append an encoded key. @return FLUSS_KIND_ARGUMENT: a null, a type the format has no encoding
 * for; names the index */
FLUSS_CHECKED fluss_code_t fl_key_encode(fl_key_format format, const fl_type *const *types,
                                         const fluss_datum_t *values, size_t count, fl_buf *out,
                                         fluss_error_t *err);
/** Text of a partition value; Java's form. */
FLUSS_CHECKED fluss_code_t fl_partition_value_print(const fl_type *type, const fluss_datum_t *value,
                                                    fl_buf *out, fluss_error_t *err);
/** The value of a partition's text, in any form that an official client writes. @param arena takes
 * strings
 * @return FLUSS_KIND_ARGUMENT quotes the text */
FLUSS_CHECKED fluss_code_t fl_partition_value_parse(const fl_type *type, fl_slice text,
                                                    fl_arena *arena, fluss_datum_t *value,
                                                    fluss_error_t *err);
#endif
