/* SPDX-License-Identifier: Apache-2.0 */
/* Directories as trees: removing them, and what a crash left of dropped tables. */
#ifndef FL_TREE_H
#define FL_TREE_H
#include "base/error.h"

/** Remove a directory and all in it; a missing one is no error. Does not follow links.
 * @return FLUSS_E_STORAGE_EXCEPTION with path and reason. Thread: any. */
FLUSS_CHECKED fluss_code_t fl_tree_remove(const char *dir, fluss_error_t *err);
/** Remove the parents of `dir` as far as they are empty, below `root`, which is a prefix of it.
 * fl_dir_make, at the same time, makes them anew. Thread: any. */
void fl_tree_remove_empty_parents(const char *dir, const char *root);

typedef enum { FL_TREE_EXISTS, FL_TREE_DROPPED, FL_TREE_NEVER_MADE } fl_tree_fate;
/** What became of the owner of a directory. partition_id -1: a table. */
typedef fl_tree_fate (*fl_tree_fate_of)(void *context, int64_t table_id, int64_t partition_id);
/**
 * Remove the directories of tables and partitions that were dropped. What has another form of name
 * is left alone. Thread: any, before the server answers.
 *
 * @return FLUSS_E_STORAGE_EXCEPTION, nothing removed: there is a directory of a table or partition
 * that was never made, so it is not the directories that are wrong but who says so
 */
FLUSS_CHECKED fluss_code_t fl_tree_sweep(const char *data_dir, fl_tree_fate_of fate_of,
                                         void *context, fluss_error_t *err);
#endif
