/* SPDX-License-Identifier: Apache-2.0 */
/* What a server does by itself from time to time: old log segments go (each shard), the free disk
 * is looked at and partitions by time are made and dropped (shard 0). Thread: the shard's loop. */
#ifndef FL_HOUSEKEEPING_H
#define FL_HOUSEKEEPING_H
#include "server/server.h"

typedef struct fl_housekeeping fl_housekeeping;

FLUSS_CHECKED fluss_code_t fl_housekeeping_start(fl_shard *shard, fluss_error_t *err);
void fl_housekeeping_stop(fl_shard *shard);
/** Look at the partitions by time at once: a table was altered. Thread: shard 0. */
void fl_housekeeping_check_partitions(fl_shard *shard);
#endif
