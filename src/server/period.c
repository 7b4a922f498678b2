/* SPDX-License-Identifier: Apache-2.0 */
/* Names of periods. A walk over the pattern writes a name; another reads one. */
#include "server/period.h"

#include <ctype.h>
#include <stdio.h>

#include "format/calendar.h"

static const char *const formats[] = {[FL_TIME_UNIT_YEAR] = "yyyy",
                                      [FL_TIME_UNIT_QUARTER] = "yyyyQ",
                                      [FL_TIME_UNIT_MONTH] = "yyyyMM",
                                      [FL_TIME_UNIT_DAY] = "yyyyMMdd",
                                      [FL_TIME_UNIT_HOUR] = "yyyyMMddHH"};

int64_t fl_period_of(fl_time_unit unit, int64_t local_ms)
{
    const fl_calendar at = fl_calendar_from_ms(local_ms);
    switch (unit) {
    case FL_TIME_UNIT_YEAR:
        return at.year;
    case FL_TIME_UNIT_QUARTER:
        return at.year * 4 + (at.month - 1) / 3;
    case FL_TIME_UNIT_MONTH:
        return at.year * 12 + at.month - 1;
    case FL_TIME_UNIT_DAY:
        return fl_floor_div(local_ms, FL_MS_PER_DAY);
    case FL_TIME_UNIT_HOUR:
        return fl_floor_div(local_ms, FL_MS_PER_DAY / 24);
    }
    return 0;
}

/* The fields of the first moment of a period. */
static fl_calendar first_moment(fl_time_unit unit, int64_t period)
{
    fl_calendar at = {.month = 1, .day = 1};
    switch (unit) {
    case FL_TIME_UNIT_YEAR:
        at.year = period;
        break;
    case FL_TIME_UNIT_QUARTER:
        at.year = fl_floor_div(period, 4);
        at.month = (int)fl_floor_mod(period, 4) * 3 + 1;
        break;
    case FL_TIME_UNIT_MONTH:
        at.year = fl_floor_div(period, 12);
        at.month = (int)fl_floor_mod(period, 12) + 1;
        break;
    case FL_TIME_UNIT_DAY:
        at = fl_calendar_from_days(period);
        break;
    case FL_TIME_UNIT_HOUR:
        at = fl_calendar_from_days(fl_floor_div(period, 24));
        at.hour = (int)fl_floor_mod(period, 24);
        break;
    }
    return at;
}

static size_t field_width(const char *at)
{
    size_t width = 1;
    while (at[width] == at[0]) {
        width++;
    }
    return width;
}

static int64_t field_value(char letter, const fl_calendar *at)
{
    switch (letter) {
    case 'y':
    case 'u':
        return at->year;
    case 'Q':
    case 'q':
        return (at->month - 1) / 3 + 1;
    case 'M':
    case 'L':
        return at->month;
    case 'd':
        return at->day;
    default:
        return at->hour;
    }
}

void fl_period_name(fl_time_unit unit, const char *format, int64_t period, char *name)
{
    const fl_calendar moment = first_moment(unit, period);
    bool is_quoted = false;
    size_t size = 0;
    for (const char *at = format != NULL ? format : formats[unit];
         *at != '\0' && size + 24 < FL_PERIOD_NAME_SIZE;) {
        if (*at == '\'') {
            is_quoted = !is_quoted;
            at++;
        } else if (!is_quoted && isalpha((unsigned char)*at)) {
            const size_t width = field_width(at);
            size += (size_t)snprintf(name + size, FL_PERIOD_NAME_SIZE - size, "%0*lld",
                                     (int)(width < 10 ? width : 10),
                                     (long long)field_value(*at, &moment));
            at += width;
        } else {
            name[size++] = *at++;
        }
    }
    name[size] = '\0';
}

/* Read the digits of a field. @return how many there are, or 0: not all are digits */
static size_t read_field(fl_slice text, size_t at, size_t width, int64_t *value)
{
    *value = 0;
    if (text.size - at < width) {
        return 0;
    }
    for (size_t i = 0; i < width; i++) {
        if (!isdigit(text.data[at + i])) {
            return 0;
        }
        *value = *value * 10 + (text.data[at + i] - '0');
    }
    return width;
}

static void set_field(char letter, int64_t value, fl_calendar *at)
{
    switch (letter) {
    case 'y':
    case 'u':
        at->year = value;
        break;
    case 'Q':
    case 'q':
        at->month = value >= 1 && value <= 4 ? (int)value * 3 - 2 : 0;
        break;
    case 'M':
    case 'L':
        at->month = (int)value;
        break;
    case 'd':
        at->day = (int)value;
        break;
    default:
        at->hour = (int)value;
    }
}

static bool is_date(const fl_calendar *at)
{
    if (at->year < 1 || at->month < 1 || at->month > 12 || at->day < 1 || at->hour > 23) {
        return false;
    }
    const fl_calendar same =
        fl_calendar_from_days(fl_calendar_to_days(at->year, at->month, at->day));
    return same.month == at->month && same.day == at->day;
}

bool fl_period_matches(fl_time_unit unit, const char *format, fl_slice text)
{
    fl_calendar found = {.month = 1, .day = 1};
    bool is_quoted = false;
    size_t position = 0;
    for (const char *at = format != NULL ? format : formats[unit]; *at != '\0';) {
        if (*at == '\'') {
            is_quoted = !is_quoted;
            at++;
        } else if (!is_quoted && isalpha((unsigned char)*at)) {
            int64_t value;
            const size_t width = field_width(at);
            if (width > 10 || read_field(text, position, width, &value) == 0) {
                return false;
            }
            set_field(*at, value, &found);
            position += width;
            at += width;
        } else {
            if (position == text.size || text.data[position++] != (uint8_t)*at++) {
                return false;
            }
        }
    }
    return position == text.size && is_date(&found);
}
