/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the two bucket hashes of Fluss's clients a table's rows follow (docs/guide-c.md, setting
 * client.bucket-hash). */
#ifndef FL_HASH_CHOICE_H
#define FL_HASH_CHOICE_H
#include "client/op.h"
#include "client/table.h"

/** Whether the choice matters and is left to the rows in the table. */
bool fl_hash_needs_probe(const fl_table *table);
/** Look at rows of the table, settle table->hash, then complete the op with the value, a handle of
 * the table. Thread: loop. */
void fl_hash_probe(fl_op *op, fl_value value);
#endif
