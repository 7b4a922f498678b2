/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of a fetch: batches in which no row can match are left out. */
#ifndef FL_FETCH_FILTER_H
#define FL_FETCH_FILTER_H
#include "format/filter.h"
#include "protocol/messages.h"
#include "server/table_info.h"

/** What a fetch asked for, read against one table. */
typedef struct fl_fetch_filter {
    const fl_table_info *info; /* borrowed */
    fl_filter filter;
    fl_arena arena;   /* of the filter */
    fl_arena scratch; /* of one batch */
} fl_fetch_filter;

/**
 * Read the filter of a request.
 *
 * @param filter gives on success (fl_fetch_filter_deinit)
 * @return false: there is none that can be used, so nothing is left out. As the official server, a
 *         filter that names an unknown schema or column, or a literal of another type, is none.
 */
bool fl_fetch_filter_init(fl_fetch_filter *filter, const fl_table_info *info,
                          const fl_msg_pb_fetch_log_req_for_table *table);
void fl_fetch_filter_deinit(fl_fetch_filter *filter);
/** Whether a batch may hold a row that matches; true when its statistics do not tell. */
bool fl_fetch_filter_keeps(fl_fetch_filter *filter, const fl_log_batch *batch);
#endif
