/* SPDX-License-Identifier: Apache-2.0 */
/* The rule in the last line of a zone file: how the zone goes on after its last transition, such as
 * "CET-1CEST,M3.5.0,M10.5.0/3" (POSIX TZ, RFC 8536 3.3). Pure functions. */
#ifndef FL_ZONE_RULE_H
#define FL_ZONE_RULE_H
#include "base/slice.h"

/** When summer time begins or ends in a year, on the clock of the time before. */
typedef struct fl_zone_date {
    enum {
        FL_ZONE_DAY_OF_YEAR,      /* day 0..365 */
        FL_ZONE_DAY_WITHOUT_LEAP, /* day 1..365, 29 February is not counted */
        FL_ZONE_WEEKDAY           /* day 0 = Sunday of week 1..5 (5: the last) of a month */
    } kind;
    int month, week, day;
    int32_t time_s; /* after midnight; may be negative, or more than a day */
} fl_zone_date;

typedef struct fl_zone_rule {
    int32_t offset_s, summer_offset_s; /* added to UTC */
    bool has_summer;
    fl_zone_date begin, end; /* of summer time */
} fl_zone_rule;

/** Read a rule. false: it is none. */
bool fl_zone_rule_parse(fl_slice text, fl_zone_rule *rule);
/** What is added to UTC at a moment, seconds since 1970. */
int32_t fl_zone_rule_offset(const fl_zone_rule *rule, int64_t utc_s);
#endif
