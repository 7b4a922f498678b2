/* SPDX-License-Identifier: Apache-2.0 */
/* Tablets whose rows the key-value store does not take now: it has stopped until the disk has taken
 * in what it holds. Their writes go on waiting, everything else of the shard goes on, and the rows
 * are offered again and again. Thread: the shard's loop. */
#ifndef FL_KV_STALLS_H
#define FL_KV_STALLS_H
#include "server/tablet.h"

typedef struct fl_kv_stalls fl_kv_stalls;

/** Make shard->kv_stalls. */
FLUSS_CHECKED fluss_code_t fl_kv_stalls_start(fl_shard *shard, fluss_error_t *err);
/** End the waits of all; none are taken any more. */
void fl_kv_stalls_stop(fl_shard *shard);
/** Offer the rows of a tablet again later: the store did not take them. */
void fl_kv_stalls_add(fl_tablet *tablet);
/** The store has taken the rows of a tablet: it may take those of the others too. */
void fl_kv_stalls_taken(fl_tablet *tablet);
/** The tablet is dropped, or its rows were not offered after all. Nothing when it does not wait. */
void fl_kv_stalls_forget(fl_tablet *tablet);
#endif
