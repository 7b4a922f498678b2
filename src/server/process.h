/* SPDX-License-Identifier: Apache-2.0 */
/* What a fork means for servers: they stay with the process that started them. */
#ifndef FL_SERVER_PROCESS_H
#define FL_SERVER_PROCESS_H
#include "base/error.h"

/** Note that a server starts in this process.
 * @return FLUSS_KIND_UNSUPPORTED: a process that this one was forked from had a server */
FLUSS_CHECKED fluss_code_t fl_process_enter(fluss_error_t *err);
#endif
