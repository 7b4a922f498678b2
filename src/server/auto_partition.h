/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions by time: which there should be now, made with the table and at each check
 * (auto-partition.check.interval), dropped when they are too old. Thread: shard 0. */
#ifndef FL_AUTO_PARTITION_H
#define FL_AUTO_PARTITION_H
#include "server/catalog.h"

typedef struct fl_auto_partition_check fl_auto_partition_check;

/** The partitions that a new table gets at once: their records, and the objects, which the caller
 * owns. None when the table is not partitioned by time alone.
 * @param partitions in the arena */
FLUSS_CHECKED fluss_code_t fl_auto_partition_first(fl_catalog *catalog, const fl_table_info *info,
                                                   fl_arena *arena, fl_kv_write *write,
                                                   int64_t now_ms, fl_partition ***partitions,
                                                   size_t *count, fluss_error_t *err);
/** Whether a partition may be made by hand in a table partitioned by time: its value has the form
 * of the unit and is not older than what is kept. @return FLUSS_E_PARTITION_SPEC_INVALID */
FLUSS_CHECKED fluss_code_t fl_auto_partition_check_value(const fl_table_info *info,
                                                         const fl_slice *values, int64_t now_ms,
                                                         fluss_error_t *err);
/** Whether the time zone of a table is one that there is; a table that names none has that of this
 * machine. @return FLUSS_E_INVALID_CONFIG */
FLUSS_CHECKED fluss_code_t fl_auto_partition_check_zone(const fl_table_desc *desc,
                                                        fluss_error_t *err);
/** Check now and then. gives (fl_auto_partition_stop). */
FLUSS_CHECKED fluss_code_t fl_auto_partition_start(fl_server *server,
                                                   fl_auto_partition_check **check,
                                                   fluss_error_t *err);
/** Check now: a table was altered. */
void fl_auto_partition_check_now(fl_auto_partition_check *check);
void fl_auto_partition_stop(fl_auto_partition_check *check); /* NULL allowed */
#endif
