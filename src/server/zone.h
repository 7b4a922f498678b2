/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones by name, from the system's zone files, without the C library's process-wide state. */
#ifndef FL_ZONE_H
#define FL_ZONE_H
#include "base/error.h"
#include "base/slice.h"
#include "server/zone_rule.h"

typedef struct fl_zone {
    int32_t first_offset_s; /* before the first transition */
    size_t count;
    int64_t *transitions_s; /* rising, since 1970, UTC */
    int32_t *offsets_s;     /* from each transition on, added to UTC */
    bool has_rule;          /* else the last offset stays */
    fl_zone_rule rule;      /* from the last transition on */
} fl_zone;

/**
 * Load "Europe/Berlin", "UTC", "GMT+08:00" or "+05:30"; NULL: the zone of this machine.
 *
 * @param zone ended by fl_zone_deinit
 * @return FLUSS_E_INVALID_CONFIG: no such zone. Thread: any. Reads a file.
 */
FLUSS_CHECKED fluss_code_t fl_zone_load(const char *name, fl_zone *zone, fluss_error_t *err);
void fl_zone_deinit(fl_zone *zone);
/** A moment as the clock on the wall of the zone shows it, in ms since 1970. */
int64_t fl_zone_local_ms(const fl_zone *zone, int64_t utc_ms);
/** Read the content of a zone file (TZif, version 2 or later). */
FLUSS_CHECKED fluss_code_t fl_zone_parse(fl_slice file, fl_zone *zone, fluss_error_t *err);
#endif
