/* SPDX-License-Identifier: Apache-2.0 */
/* The calendar repeats every 400 years of 146097 days; a year that begins in March puts the leap
 * day last, so months fall out of one linear formula. */
#include "format/calendar.h"

enum {
    DAYS_PER_ERA = 146097,
    YEARS_PER_ERA = 400,
    DAYS_FROM_MARCH_0 = 719468, /* from 0000-03-01 to 1970-01-01 */
    MS_PER_HOUR = 3600000,
    MS_PER_MINUTE = 60000,
    MS_PER_SECOND = 1000
};

fl_calendar fl_calendar_from_days(int64_t days)
{
    /* Cut into eras before the shift, so that no sum overflows. */
    int64_t era = fl_floor_div(days, DAYS_PER_ERA);
    int64_t day_of_era = fl_floor_mod(days, DAYS_PER_ERA) + DAYS_FROM_MARCH_0;
    era += day_of_era / DAYS_PER_ERA;
    day_of_era %= DAYS_PER_ERA;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month_from_march = (5 * day_of_year + 2) / 153;
    const int month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    return (fl_calendar){
        .year = era * YEARS_PER_ERA + year_of_era + (month <= 2),
        .month = month,
        .day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
    };
}

fl_calendar fl_calendar_from_ms(int64_t ms)
{
    fl_calendar fields = fl_calendar_from_days(fl_floor_div(ms, FL_MS_PER_DAY));
    const int64_t of_day = fl_floor_mod(ms, FL_MS_PER_DAY);
    fields.hour = (int)(of_day / MS_PER_HOUR);
    fields.minute = (int)(of_day % MS_PER_HOUR / MS_PER_MINUTE);
    fields.second = (int)(of_day % MS_PER_MINUTE / MS_PER_SECOND);
    fields.ms = (int)(of_day % MS_PER_SECOND);
    return fields;
}

int64_t fl_calendar_to_days(int64_t year, int month, int day)
{
    const int64_t from_march = month <= 2 ? year - 1 : year;
    const int64_t era = fl_floor_div(from_march, YEARS_PER_ERA);
    const int64_t year_of_era = from_march - era * YEARS_PER_ERA;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_FROM_MARCH_0;
}
