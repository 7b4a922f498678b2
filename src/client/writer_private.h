/* SPDX-License-Identifier: Apache-2.0 */
/* One row on its way to a bucket; shared by writer.c, writer_arrow.c and lookup.c. */
#ifndef FL_WRITER_PRIVATE_H
#define FL_WRITER_PRIVATE_H
#include "base/buf.h"
#include "client/sender_private.h"
#include "format/datum.h"

enum { FL_ROW_FEW = 24, FL_KEY_COLUMN_COUNT_MAX = 64 };

typedef struct fl_row {
    fl_arena arena; /* nested values */
    fl_buf key, bucket_key, partition;
    fluss_datum_t *values; /* all columns, converted */
    fluss_datum_t few[FL_ROW_FEW];
} fl_row;

void fl_row_init(fl_row *row);
void fl_row_deinit(fl_row *row);
/** Room for `count` values, all null. */
FLUSS_CHECKED fluss_code_t fl_row_room(fl_row *row, size_t count, fluss_error_t *err);
/** Encode the physical key, the bucket key, and the partition's name (terminated). */
FLUSS_CHECKED fluss_code_t fl_row_key(const fl_table *table, fl_row *row, fluss_error_t *err);
/** Encode the bucket key's columns as the beginning of a key, for a prefix lookup. */
FLUSS_CHECKED fluss_code_t fl_row_prefix(const fl_table *table, fl_row *row, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_row_bucket_key(const fl_table *table, fl_row *row,
                                             fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_row_partition(const fl_table *table, fl_row *row, fluss_error_t *err);
/** The bucket that the row belongs to. */
FLUSS_CHECKED fluss_code_t fl_row_route(fl_writer *writer, fl_row *row, fl_write_bucket **out,
                                        fluss_error_t *err);
#endif
