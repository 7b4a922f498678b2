/* SPDX-License-Identifier: Apache-2.0 */
/* Periods of time that partitions stand for: years, quarters, months, days, hours, counted from the
 * year 0, and their names. Pure functions. */
#ifndef FL_PERIOD_H
#define FL_PERIOD_H
#include "format/table_rules.h"

enum { FL_PERIOD_NAME_SIZE = 128 };

/** The period that a local time lies in. @param local_ms ms since 1970 of the wall clock */
int64_t fl_period_of(fl_time_unit unit, int64_t local_ms);
/** Name a period. @param format pattern of the fields yyyy Q MM dd HH (also u, q, L for y, Q, M),
 * with text in quotes or between; NULL: by unit. @param name room of FL_PERIOD_NAME_SIZE bytes */
void fl_period_name(fl_time_unit unit, const char *format, int64_t period, char *name);
/** Whether a text is a name after the pattern, of a date that the calendar has. */
bool fl_period_matches(fl_time_unit unit, const char *format, fl_slice text);
#endif
