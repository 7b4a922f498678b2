/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of zones.
 *
 *   rule   = name offset [name [offset] [, date, date]]
 *   name   = letters, or < anything >
 *   offset = [+-] hours [: minutes [: seconds]], west of Greenwich is positive
 *   date   = (Jn | n | Mm.w.d) [/ time], time as an offset, up to 167 hours */
#include "server/zone_rule.h"

#include <ctype.h>

#include "format/calendar.h"

enum { HOUR_S = 3600, DAY_S = 86400, HOURS_MAX = 167, NAME_SIZE_MIN = 3 };

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static bool skip(reader *from, char wanted)
{
    if (from->at == from->end || *from->at != (uint8_t)wanted) {
        return false;
    }
    from->at++;
    return true;
}

static bool read_number(reader *from, int max, int *number)
{
    const uint8_t *start = from->at;
    *number = 0;
    while (from->at < from->end && isdigit(*from->at) && *number <= max) {
        *number = *number * 10 + (*from->at++ - '0');
    }
    return from->at > start && *number <= max;
}

static bool read_name(reader *from)
{
    const uint8_t *start = from->at;
    if (skip(from, '<')) {
        while (from->at < from->end && *from->at != '>') {
            from->at++;
        }
        return skip(from, '>');
    }
    while (from->at < from->end && isalpha(*from->at)) {
        from->at++;
    }
    return from->at - start >= NAME_SIZE_MIN;
}

static bool read_time(reader *from, int32_t *seconds)
{
    int hour, minute = 0, second = 0;
    const bool is_negative = skip(from, '-');
    if ((!is_negative && skip(from, '+') && from->at == from->end) ||
        !read_number(from, HOURS_MAX, &hour) ||
        (skip(from, ':') && (!read_number(from, 59, &minute) ||
                             (skip(from, ':') && !read_number(from, 59, &second))))) {
        return false;
    }
    *seconds = (hour * HOUR_S + minute * 60 + second) * (is_negative ? -1 : 1);
    return true;
}

static bool read_offset(reader *from, int32_t *offset_s)
{
    int32_t west_s;
    if (!read_time(from, &west_s)) {
        return false;
    }
    *offset_s = -west_s;
    return west_s >= -DAY_S && west_s <= DAY_S;
}

static bool read_date(reader *from, fl_zone_date *date)
{
    *date = (fl_zone_date){.time_s = 2 * HOUR_S};
    if (skip(from, 'M')) {
        date->kind = FL_ZONE_WEEKDAY;
        if (!read_number(from, 12, &date->month) || !skip(from, '.') ||
            !read_number(from, 5, &date->week) || !skip(from, '.') ||
            !read_number(from, 6, &date->day) || date->month == 0 || date->week == 0) {
            return false;
        }
    } else {
        date->kind = skip(from, 'J') ? FL_ZONE_DAY_WITHOUT_LEAP : FL_ZONE_DAY_OF_YEAR;
        if (!read_number(from, 365, &date->day) ||
            (date->kind == FL_ZONE_DAY_WITHOUT_LEAP && date->day == 0)) {
            return false;
        }
    }
    return !skip(from, '/') || read_time(from, &date->time_s);
}

bool fl_zone_rule_parse(fl_slice text, fl_zone_rule *rule)
{
    reader from = {text.data, text.data + text.size};
    *rule = (fl_zone_rule){0};
    if (!read_name(&from) || !read_offset(&from, &rule->offset_s)) {
        return false;
    }
    if (from.at == from.end) {
        return true;
    }
    rule->has_summer = true;
    rule->summer_offset_s = rule->offset_s + HOUR_S;
    if (!read_name(&from) ||
        (from.at < from.end && *from.at != ',' && !read_offset(&from, &rule->summer_offset_s))) {
        return false;
    }
    return skip(&from, ',') && read_date(&from, &rule->begin) && skip(&from, ',') &&
           read_date(&from, &rule->end) && from.at == from.end;
}

/* The day, since 1970, of a date in a year. */
static int64_t day_of(const fl_zone_date *date, int64_t year)
{
    const int64_t first = fl_calendar_to_days(year, 1, 1);
    if (date->kind == FL_ZONE_DAY_OF_YEAR) {
        return first + date->day;
    }
    if (date->kind == FL_ZONE_DAY_WITHOUT_LEAP) {
        const bool is_leap = fl_calendar_to_days(year + 1, 1, 1) - first == 366;
        return first + date->day - 1 + (is_leap && date->day >= 60);
    }
    const int64_t month = fl_calendar_to_days(year, date->month, 1);
    const int64_t next = date->month == 12 ? fl_calendar_to_days(year + 1, 1, 1)
                                           : fl_calendar_to_days(year, date->month + 1, 1);
    const int64_t weekday = fl_floor_mod(month + 4, 7); /* 1 January 1970 was a Thursday */
    int64_t day = month + fl_floor_mod(date->day - weekday, 7) + (date->week - 1) * 7;
    while (day >= next) {
        day -= 7;
    }
    return day;
}

int32_t fl_zone_rule_offset(const fl_zone_rule *rule, int64_t utc_s)
{
    if (!rule->has_summer) {
        return rule->offset_s;
    }
    const int64_t day = fl_floor_div(utc_s + rule->offset_s, DAY_S);
    const int64_t year = fl_calendar_from_days(day).year;
    const int64_t begin_s =
        day_of(&rule->begin, year) * DAY_S + rule->begin.time_s - rule->offset_s;
    const int64_t end_s =
        day_of(&rule->end, year) * DAY_S + rule->end.time_s - rule->summer_offset_s;
    const bool is_summer =
        begin_s < end_s ? utc_s >= begin_s && utc_s < end_s : utc_s >= begin_s || utc_s < end_s;
    return is_summer ? rule->summer_offset_s : rule->offset_s;
}
