/* SPDX-License-Identifier: Apache-2.0 */
/* Merge rules: what a write to a primary-key table makes of the row that is there. Pure functions
 * over values; nothing here knows keys, bytes or logs. */
#ifndef FL_MERGE_H
#define FL_MERGE_H
#include "format/table_rules.h"
#include "server/aggregate.h"

/** How the writes of one request merge. Borrowed parts live as long as the request.
 *
 *   FL_MERGE_NONE         the new row, or the targets of it over the old row
 *   FL_MERGE_FIRST_ROW    the old row, if there is one
 *   FL_MERGE_VERSIONED    the row with the higher version; the new one when they are equal
 *   FL_MERGE_AGGREGATION  column by column */
typedef struct fl_merge {
    const fl_schema *schema; /* the latest; rows have its columns */
    fl_merge_engine engine;
    fl_delete_behavior delete_behavior;
    uint32_t version_column;          /* FL_MERGE_VERSIONED */
    const fl_aggregator *aggregators; /* FL_MERGE_AGGREGATION: one for each column */
    const bool *is_target;            /* one for each column; NULL: whole rows */
} fl_merge;

/** What the key holds afterwards. */
typedef enum {
    FL_MERGED_OLD, /* what it held: nothing is stored, nothing is logged */
    FL_MERGED_NEW, /* the row as written, byte for byte */
    FL_MERGED_OUT, /* the values in `out` */
    FL_MERGED_NONE /* nothing */
} fl_merged;

/**
 * Set the target columns of a partial update.
 *
 * @param columns   column indexes as in the request; none: whole rows
 * @param is_target room for one flag a column; used by `merge` afterwards
 * @return FLUSS_E_INVALID_TARGET_COLUMN names the column and the rule: out of range or repeated, a
 * primary-key column missing, a NOT NULL column outside the key, an engine that takes whole rows
 * only, the auto-increment column
 */
FLUSS_CHECKED fluss_code_t fl_merge_set_targets(fl_merge *merge, const int32_t *columns,
                                                size_t count, bool *is_target, fluss_error_t *err);
/**
 * Merge an upsert.
 *
 * @param old  values of the stored row, missing columns as nulls; NULL: the key is new
 * @param row  values of the written row
 * @param out  room for one value a column; they view `old` and `row`, or come from the arena
 */
FLUSS_CHECKED fluss_code_t fl_merge_upsert(const fl_merge *merge, const fluss_datum_t *old,
                                           const fluss_datum_t *row, fl_arena *arena,
                                           fluss_datum_t *out, fl_merged *merged,
                                           fluss_error_t *err);
/** Merge a delete of an existing row. @return FLUSS_E_DELETION_DISABLED */
FLUSS_CHECKED fluss_code_t fl_merge_delete(const fl_merge *merge, const fluss_datum_t *old,
                                           fluss_datum_t *out, fl_merged *merged,
                                           fluss_error_t *err);
/** Whether an upsert's outcome depends on the old row; where not, a WAL changelog needs no read. */
bool fl_merge_needs_old(const fl_merge *merge);
#endif
