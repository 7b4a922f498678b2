/* SPDX-License-Identifier: Apache-2.0 */
/* The process's log hook (fluss_set_log). Without a hook, nothing is printed: the CLI and the
 * server install one that writes to standard error. */
#ifndef FL_LOG_H
#define FL_LOG_H
#include "base/attrs.h"

/* Levels are syslog's. */
typedef enum {
    FL_LOG_ERROR = 3,
    FL_LOG_WARNING = 4,
    FL_LOG_INFO = 6,
    FL_LOG_DEBUG = 7
} fl_log_level;

typedef void (*fl_log_fn)(int level, const char *component, const char *text, void *user);

/** Install the hook; before other threads log. fn NULL: silent. */
void fl_log_set(fl_log_fn fn, int level_max, void *user);
/** The highest level that the hook takes; -1 without one. Thread: any. */
int fl_log_level_max(void);
/** Write a line: at most 1 KiB, no newline. No secrets, no payload bytes. Thread: any. */
void fl_log(fl_log_level level, const char *component, const char *format, ...) FL_PRINTF(3, 4);
#endif
