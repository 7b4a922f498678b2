/* SPDX-License-Identifier: Apache-2.0 */
/* Days and milliseconds since 1970 as fields of the proleptic Gregorian calendar. Pure arithmetic,
 * no time zone. */
#ifndef FL_CALENDAR_H
#define FL_CALENDAR_H
#include <stdint.h>

enum { FL_MS_PER_DAY = 86400000 };

typedef struct fl_calendar {
    int64_t year;
    int month, day; /* 1..12, 1..31 */
    int hour, minute, second, ms;
} fl_calendar;

/** Fields of a day; the time of day is 0. Any 64-bit number of days is allowed. */
fl_calendar fl_calendar_from_days(int64_t days);
/** Fields of a moment. */
fl_calendar fl_calendar_from_ms(int64_t ms);
/** Days since 1970 of a date. @param month 1..12 @param day 1..31 */
int64_t fl_calendar_to_days(int64_t year, int month, int day);
/** a / b and a mod b, rounded towards minus infinity; b > 0. */
static inline int64_t fl_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
static inline int64_t fl_floor_mod(int64_t a, int64_t b)
{
    const int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}
#endif
