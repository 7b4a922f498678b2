/* SPDX-License-Identifier: Apache-2.0 */
/* Zone files (RFC 8536). A file is two blocks, each a header of 44 bytes and data; the second has
 * 64-bit times and is the one that is read.
 *
 *   "TZif" version[1] zero[15] · counts, u32 BE: isut, isstd, leap, time, type, char
 *   data: transition times i64 BE[time] · types u8[time] · {offset i32 BE, isdst u8, name u8}[type]
 *         · names · leap seconds · flags
 *   LF rule LF: how the zone goes on (zone_rule.h), or nothing between the line feeds */
#include "server/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/alloc.h"

enum { HEADER_SIZE = 44, FILE_SIZE_MAX = 1 << 20, TYPE_SIZE = 6, MINUTES_MAX = 18 * 60 };

typedef struct header {
    size_t isut, isstd, leap, time, type, character;
} header;

static bool read_header(fl_slice file, size_t position, header *out)
{
    if (file.size < position + HEADER_SIZE || memcmp(file.data + position, "TZif", 4) != 0) {
        return false;
    }
    const uint8_t *at = file.data + position + 20;
    *out = (header){.isut = fl_load_be32(at),
                    .isstd = fl_load_be32(at + 4),
                    .leap = fl_load_be32(at + 8),
                    .time = fl_load_be32(at + 12),
                    .type = fl_load_be32(at + 16),
                    .character = fl_load_be32(at + 20)};
    return true;
}

/* Bytes of a block's data. Counts have 32 bits, so nothing overflows. */
static size_t data_size(const header *counts, size_t time_size)
{
    return counts->time * (time_size + 1) + counts->type * TYPE_SIZE + counts->character +
           counts->leap * (time_size + 4) + counts->isstd + counts->isut;
}

static fluss_code_t broken(fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_CORRUPT, "not a zone file");
}

/* The rule behind the second block; the last offset stays when there is none. */
static void read_rule(fl_slice file, size_t position, fl_zone *zone)
{
    if (position >= file.size || file.data[position] != '\n') {
        return;
    }
    const fl_slice rest = fl_slice_sub(file, position + 1, file.size - position - 1);
    const uint8_t *end = memchr(rest.data, '\n', rest.size);
    if (end != NULL) {
        const fl_slice text = fl_slice_sub(rest, 0, (size_t)(end - rest.data));
        zone->has_rule = fl_zone_rule_parse(text, &zone->rule);
    }
}

fluss_code_t fl_zone_parse(fl_slice file, fl_zone *zone, fluss_error_t *err)
{
    header first, counts;
    *zone = (fl_zone){0};
    if (!read_header(file, 0, &first) || file.data[4] < '2') {
        return broken(err);
    }
    const size_t second = HEADER_SIZE + data_size(&first, 4);
    if (!read_header(file, second, &counts) || counts.type == 0 ||
        file.size - second - HEADER_SIZE < data_size(&counts, 8)) {
        return broken(err);
    }
    const uint8_t *times = file.data + second + HEADER_SIZE;
    const uint8_t *type_indexes = times + counts.time * 8;
    const uint8_t *types = type_indexes + counts.time;
    zone->transitions_s = fl_calloc(counts.time, sizeof(int64_t));
    zone->offsets_s = fl_calloc(counts.time, sizeof(int32_t));
    if (zone->transitions_s == NULL || zone->offsets_s == NULL) {
        fl_zone_deinit(zone);
        return fl_error_nomem(err);
    }
    zone->first_offset_s = (int32_t)fl_load_be32(types);
    for (size_t i = 0; i < counts.time; i++) {
        if (type_indexes[i] >= counts.type) {
            fl_zone_deinit(zone);
            return broken(err);
        }
        zone->transitions_s[i] = (int64_t)fl_load_be64(times + i * 8);
        zone->offsets_s[i] = (int32_t)fl_load_be32(types + (size_t)type_indexes[i] * TYPE_SIZE);
        zone->count++;
    }
    read_rule(file, second + HEADER_SIZE + data_size(&counts, 8), zone);
    return 0;
}

/* "UTC", "Z", "GMT+8", "+05:30", "UTC-0330" … as seconds. */
static bool parse_fixed(const char *name, int32_t *offset_s)
{
    int hours = 0, minutes = 0, used = 0;
    *offset_s = 0;
    if (strcasecmp(name, "Z") == 0) {
        return true;
    }
    if (strncasecmp(name, "UTC", 3) == 0 || strncasecmp(name, "GMT", 3) == 0) {
        name += 3;
        if (*name == '\0') {
            return true;
        }
    }
    if (*name != '+' && *name != '-') {
        return false;
    }
    const int sign = *name++ == '-' ? -1 : 1;
    if ((sscanf(name, "%2d:%2d%n", &hours, &minutes, &used) != 2 || name[used] != '\0') &&
        (used = 0, sscanf(name, "%2d%2d%n", &hours, &minutes, &used) != 2 || name[used] != '\0') &&
        (used = 0, minutes = 0, sscanf(name, "%2d%n", &hours, &used) != 1 || name[used] != '\0')) {
        return false;
    }
    *offset_s = sign * (hours * 60 + minutes) * 60;
    return minutes < 60 && hours * 60 + minutes <= MINUTES_MAX && hours >= 0 && minutes >= 0;
}

static fluss_code_t load_file(const char *path, fl_zone *zone, fluss_error_t *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                        "there is no such time zone: no file %s", path);
    }
    fluss_code_t rc;
    uint8_t *content = fl_alloc(FILE_SIZE_MAX);
    if (content == NULL) {
        rc = fl_error_nomem(err);
    } else {
        const size_t size = fread(content, 1, FILE_SIZE_MAX, file);
        rc = fl_zone_parse(fl_slice_of(content, size), zone, err);
    }
    fl_free(content);
    (void)fclose(file);
    return rc;
}

static bool is_zone_name(const char *name)
{
    const size_t size =
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                     "_+-/");
    return name[0] != '\0' && name[0] != '/' && name[size] == '\0' && size < 100;
}

fluss_code_t fl_zone_load(const char *name, fl_zone *zone, fluss_error_t *err)
{
    char path[160];
    *zone = (fl_zone){0};
    if (name == NULL) {
        const char *configured = getenv("TZ");
        if (configured == NULL || configured[0] == '\0') {
            fluss_error_t why; /* no file: UTC, as the C library does */
            return load_file("/etc/localtime", zone, &why) != 0 && why.kind == FLUSS_KIND_NOMEM
                       ? fl_error_nomem(err)
                       : 0;
        }
        name = configured[0] == ':' ? configured + 1 : configured;
    }
    if (parse_fixed(name, &zone->first_offset_s)) {
        return 0;
    }
    zone->first_offset_s = 0;
    if (!is_zone_name(name)) {
        return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                        "'%.100s' is not the name of a time zone", name);
    }
    (void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    return load_file(path, zone, err);
}

void fl_zone_deinit(fl_zone *zone)
{
    fl_free(zone->transitions_s);
    fl_free(zone->offsets_s);
    *zone = (fl_zone){0};
}

int64_t fl_zone_local_ms(const fl_zone *zone, int64_t utc_ms)
{
    const int64_t utc_s = utc_ms >= 0 ? utc_ms / 1000 : -((-utc_ms + 999) / 1000);
    size_t from = 0, to = zone->count; /* the number of transitions at or before the moment */
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (zone->transitions_s[middle] <= utc_s) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    int32_t offset_s = from == 0 ? zone->first_offset_s : zone->offsets_s[from - 1];
    if (from == zone->count && zone->has_rule) {
        offset_s = fl_zone_rule_offset(&zone->rule, utc_s);
    }
    return utc_ms + (int64_t)offset_s * 1000;
}
