/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the two bucket hashes of Fluss's clients a table's rows follow. */
#ifndef FL_HASH_CHOICE_H
#define FL_HASH_CHOICE_H
#include "client/table.h"

/** Decide by the setting client.bucket-hash. Thread: any but the loop. */
FLUSS_CHECKED fluss_code_t fl_hash_choice(fluss_table_t *table, fl_hash_variant *hash,
                                          fluss_error_t *err);
/** "no column 'x'; the columns are a, b, c". */
fluss_code_t fl_error_column(fluss_error_t *err, const fl_schema *schema, const char *name);
#endif
