/* SPDX-License-Identifier: Apache-2.0 */
/* The next values of auto-increment columns, one counter a table, shared by the tablets of all
 * shards. Tablets take blocks, so this is a rare call; what was given once is never given again,
 * whatever happens. */
#ifndef FL_ID_BLOCKS_H
#define FL_ID_BLOCKS_H
#include "storage/kv_store.h"

typedef struct fl_id_blocks fl_id_blocks;

/** gives (fl_id_blocks_free). @param store outlives it. NULL: out of memory. */
fl_id_blocks *fl_id_blocks_new(fl_kv_store *store) FLUSS_CHECKED;
void fl_id_blocks_free(fl_id_blocks *blocks);
/** Take `count` ids, from `first` on; the first of a table is 1. Durable before it returns.
 * Thread: any. Locks: lock (taken). */
FLUSS_CHECKED fluss_code_t fl_id_blocks_take(fl_id_blocks *blocks, int64_t table_id, int64_t count,
                                             int64_t *first, fluss_error_t *err);
#endif
