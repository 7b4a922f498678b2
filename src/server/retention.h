/* SPDX-License-Identifier: Apache-2.0 */
/* Old log segments of a shard's tablets go, from time to time (table.log.ttl). Thread: the shard's
 * loop. */
#ifndef FL_RETENTION_H
#define FL_RETENTION_H
#include "server/server.h"

typedef struct fl_retention fl_retention;

/** gives (fl_retention_stop). */
FLUSS_CHECKED fluss_code_t fl_retention_start(fl_shard *shard, fl_retention **retention,
                                              fluss_error_t *err);
/** What blocks at this moment ends before the server does. NULL allowed. */
void fl_retention_stop(fl_retention *retention);
#endif
