/* SPDX-License-Identifier: Apache-2.0 */
/* Reading settings: one row of a static table for each key says its kind and where its value goes.
 * Sizes and times are numbers with a unit, as in the official configuration ("64mb", "10 min");
 * a bare number is bytes or milliseconds. */
#include "server/settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/edit_distance.h"
#include "base/number.h"
#include "format/table_property.h"

typedef enum { KIND_TEXT, KIND_INT, KIND_SIZE, KIND_TIME, KIND_BOOL, KIND_RATIO } kind;

typedef struct setting {
    const char *key, *fallback, *meaning;
    kind kind;
    size_t position; /* in fl_settings */
} setting;

static const setting settings_table[] = {
#define FL_SETTING(field, name, type, value, text) \
    {.key = (name),                                \
     .fallback = (value),                          \
     .meaning = (text),                            \
     .kind = KIND_##type,                          \
     .position = offsetof(fl_settings, field)},
#include "server/settings.def"
#undef FL_SETTING
};

static fluss_code_t refuse(const setting *which, const char *value, const char *wanted,
                           fluss_error_t *err)
{
    return fl_error_argument(err, "setting '%s' = '%.100s': expected %s", which->key, value,
                             wanted);
}

static fluss_code_t store_text(const char *value, fl_arena *arena, void *to, fluss_error_t *err)
{
    const char *copy = fl_arena_strdup(arena, value);
    if (copy == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(to, &copy, sizeof(copy));
    return 0;
}

static fluss_code_t store_int(const setting *which, const char *value, void *to, fluss_error_t *err)
{
    int64_t number = 0;
    if (!fl_text_to_i64(value, 0, INT32_MAX, &number)) {
        return refuse(which, value, "a whole number, 0 to 2147483647", err);
    }
    const int32_t narrow = (int32_t)number;
    memcpy(to, &narrow, sizeof(narrow));
    return 0;
}

static fluss_code_t store_bool(const setting *which, const char *value, void *to,
                               fluss_error_t *err)
{
    bool yes;
    if (!fl_text_to_bool(value, &yes)) {
        return refuse(which, value, "true or false", err);
    }
    memcpy(to, &yes, sizeof(yes));
    return 0;
}

static fluss_code_t store_ratio(const setting *which, const char *value, void *to,
                                fluss_error_t *err)
{
    char *end = NULL;
    const double ratio = fl_strtod(value, &end);
    if (end == value || *end != '\0' || !(ratio >= 0.0 && ratio <= 1.0)) {
        return refuse(which, value, "a share, 0 to 1", err);
    }
    memcpy(to, &ratio, sizeof(ratio));
    return 0;
}

static fluss_code_t store(const setting *which, const char *value, fl_settings *settings,
                          fluss_error_t *err)
{
    void *to = (char *)settings + which->position;
    int64_t number = 0;
    switch (which->kind) {
    case KIND_TEXT:
        return store_text(value, &settings->arena, to, err);
    case KIND_INT:
        return store_int(which, value, to, err);
    case KIND_SIZE:
        if (!fl_text_to_size_bytes(value, &number)) {
            return refuse(which, value, "a size such as 65536, 64kb, 10mb or 1gb", err);
        }
        memcpy(to, &number, sizeof(number));
        return 0;
    case KIND_TIME:
        if (!fl_text_to_duration_ms(value, &number)) {
            return refuse(which, value, "a time such as 500ms, 30s, 10 min, 2h or 7 d", err);
        }
        memcpy(to, &number, sizeof(number));
        return 0;
    case KIND_BOOL:
        return store_bool(which, value, to, err);
    case KIND_RATIO:
        return store_ratio(which, value, to, err);
    }
    return 0;
}
_Static_assert(sizeof(size_t) == sizeof(int64_t), "sizes are stored from 64-bit numbers");

static fluss_code_t refuse_unknown(const char *key, fluss_error_t *err)
{
    const char *nearest = settings_table[0].key;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < FL_COUNT_OF(settings_table); i++) {
        const size_t distance = fl_edit_distance(key, settings_table[i].key);
        if (distance < least) {
            least = distance;
            nearest = settings_table[i].key;
        }
    }
    return fl_error_argument(err, "unknown setting '%.100s'; the nearest known one is '%s'", key,
                             nearest);
}

static const setting *find(const char *key)
{
    for (size_t i = 0; i < FL_COUNT_OF(settings_table); i++) {
        if (strcmp(settings_table[i].key, key) == 0) {
            return &settings_table[i];
        }
    }
    return NULL;
}

fluss_code_t fl_settings_set(fl_settings *settings, const char *key, const char *value,
                             fluss_error_t *err)
{
    const setting *which = find(key);
    return which != NULL ? store(which, value, settings, err) : refuse_unknown(key, err);
}

/* Timers that start themselves again must not do it at once. */
static fluss_code_t check_interval(const char *key, int64_t interval_ms, fluss_error_t *err)
{
    return interval_ms > 0
               ? 0
               : fl_error_argument(err, "setting '%s' = %lld ms: expected a time above 0", key,
                                   (long long)interval_ms);
}

fluss_code_t fl_settings_check(const fl_settings *settings, fluss_error_t *err)
{
    if (settings->disk_recover > settings->disk_limit) {
        return fl_error_argument(err,
                                 "setting 'server.data-disk.write-recover-ratio' = %g is above "
                                 "'server.data-disk.write-limit-ratio' = %g",
                                 settings->disk_recover, settings->disk_limit);
    }
    if (settings->min_in_sync_replicas != 1) {
        return fl_error_argument(err,
                                 "setting 'log.replica.min-in-sync-replicas-number' = %d: this "
                                 "server is one node, so every log has 1 replica",
                                 (int)settings->min_in_sync_replicas);
    }

    if (strcmp(settings->log_flush, "ack") != 0 && strcmp(settings->log_flush, "os") != 0) {
        return refuse(find("log.flush"), settings->log_flush, "ack or os", err);
    }
    if (settings->shards > 64) {
        return fl_error_argument(err, "setting 'server.shards' = %d: at most 64",
                                 (int)settings->shards);
    }
    if (settings->request_size_max < 1024 || settings->request_size_max > INT32_MAX) {
        return fl_error_argument(err,
                                 "setting 'netty.server.max-request-size' = %zu: expected 1kb "
                                 "to 2gb - 1",
                                 settings->request_size_max);
    }
    if (settings->bucket_number < 1 || settings->bucket_max < 1 || settings->connections_max < 1 ||
        settings->connection_requests_max < 1 || settings->replication_factor < 1) {
        return fl_error_argument(err, "settings 'default.bucket.number', 'max.bucket.num', "
                                      "'default.replication.factor', 'server.max-connections' and "
                                      "'server.connection.max-requests' must be at least 1");
    }
    if (settings->segment_size < 4096 || settings->segment_size > (1U << 30)) {
        return fl_error_argument(err, "setting 'log.segment.file-size' = %zu: expected 4kb to 1gb",
                                 settings->segment_size);
    }
    FL_TRY(check_interval("log.retention.check-interval", settings->retention_interval, err));
    return check_interval("auto-partition.check.interval", settings->auto_partition_interval, err);
}

/* Remember what was set, for those who ask the server: the last value of a key. */
static fluss_code_t note_given(fl_settings *settings, const setting *which, const char *value,
                               fluss_error_t *err)
{
    size_t at = 0;
    while (at < settings->given_count && settings->given[at].key != which->key) {
        at++;
    }
    settings->given[at].key = which->key;
    FL_TRY(store_text(value, &settings->arena, &settings->given[at].value, err));
    settings->given_count += at == settings->given_count ? 1 : 0;
    return 0;
}

fluss_code_t fl_settings_read(const fluss_kv_t *pairs, size_t count, fl_settings *settings,
                              fluss_error_t *err)
{
    *settings = (fl_settings){0};
    fl_arena_init(&settings->arena);
    for (size_t i = 0; i < FL_COUNT_OF(settings_table); i++) {
        FL_TRY(store(&settings_table[i], settings_table[i].fallback, settings, err));
    }
    settings->given = fl_arena_array(&settings->arena, count, sizeof(settings->given[0]));
    if (settings->given == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].key == NULL || pairs[i].value == NULL) {
            return fl_error_argument(err, "setting %zu of %zu has no key or no value", i + 1,
                                     count);
        }
        const setting *which = find(pairs[i].key);
        if (which == NULL) {
            return refuse_unknown(pairs[i].key, err);
        }
        FL_TRY(store(which, pairs[i].value, settings, err));
        FL_TRY(note_given(settings, which, pairs[i].value, err));
    }
    return fl_settings_check(settings, err);
}

void fl_settings_deinit(fl_settings *settings)
{
    fl_arena_deinit(&settings->arena);
}

void fl_settings_describe(void (*line)(const char *row, void *user), void *user)
{
    char row[512];
    for (size_t i = 0; i < FL_COUNT_OF(settings_table); i++) {
        const setting *each = &settings_table[i];
        (void)snprintf(row, sizeof(row), "| `%s` | %s%s%s | %s |", each->key,
                       each->fallback[0] != '\0' ? "`" : "", each->fallback,
                       each->fallback[0] != '\0' ? "`" : "", each->meaning);
        line(row, user);
    }
}
