/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: find a key under any of its spellings, read its value, keep text and number.
 *
 * A key is compared in a normal form: lower case, '_' and '.' and '-' are one, without the prefix
 * "client." and the ending "-ms". So `client.writer.batch-timeout`, `writer_batch_timeout_ms` and
 * `writer.batch-timeout-ms` are the same setting. An unknown key is answered with the nearest known
 * one by edit distance. */
#include "client/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/edit_distance.h"
#include "base/utf8.h"

enum { KEY_SIZE_MAX = 96, VALUE_SIZE_MAX = 65536 };

typedef enum {
    KIND_TEXT,
    KIND_SECRET,
    KIND_BOOL,
    KIND_COUNT,
    KIND_SIZE,
    KIND_TIME,
    KIND_ENUM_HASH,
    KIND_ENUM_SECURITY,
    KIND_ENUM_MECHANISM,
    KIND_ENUM_ACKS,
    KIND_ENUM_ASSIGNER
} setting_kind;

typedef struct setting {
    const char *key, *preset, *text;
    setting_kind kind;
    int64_t min, max;
} setting;

static const setting settings[] = {
#define FL_SETTING(field, kind, key, preset, min, max, text) \
    {(key), (preset), (text), KIND_##kind, (min), (max)},
#include "client/settings.def"
#undef FL_SETTING
};
enum { SETTING_COUNT = FL_SETTING_COUNT };
_Static_assert(sizeof(struct fluss_config) == SETTING_COUNT * sizeof(fl_setting_value),
               "one value for each row of the table");

/* Further names of settings, in normal form. */
static const struct {
    const char *alias, *key;
} aliases[] = {
    {"request.max.size", "writer.request-max-size"},
    {"bootstrap.server", "bootstrap.servers"},
};

typedef struct enum_name {
    setting_kind kind;
    const char *name, *canonical;
    int64_t number;
} enum_name;

static const enum_name enum_names[] = {
    {KIND_ENUM_HASH, "auto", "auto", FL_HASH_SETTING_AUTO},
    {KIND_ENUM_HASH, "java", "java", FL_HASH_SETTING_JAVA},
    {KIND_ENUM_HASH, "rust", "rust", FL_HASH_SETTING_RUST},
    {KIND_ENUM_SECURITY, "plaintext", "PLAINTEXT", FL_SECURITY_PLAINTEXT},
    {KIND_ENUM_SECURITY, "sasl", "SASL", FL_SECURITY_SASL},
    {KIND_ENUM_MECHANISM, "plain", "PLAIN", 0},
    {KIND_ENUM_ACKS, "all", "all", -1},
    {KIND_ENUM_ACKS, "-1", "all", -1},
    {KIND_ENUM_ACKS, "1", "1", 1},
    {KIND_ENUM_ACKS, "0", "0", 0},
    {KIND_ENUM_ASSIGNER, "sticky", "sticky", FL_ASSIGN_STICKY},
    {KIND_ENUM_ASSIGNER, "round_robin", "round_robin", FL_ASSIGN_ROUND_ROBIN},
};

/* ---- keys ---- */

static void drop_ending(char *text, const char *ending)
{
    const size_t size = strlen(text), cut = strlen(ending);
    if (size > cut && strcmp(text + size - cut, ending) == 0) {
        text[size - cut] = '\0';
    }
}

static void normalize(const char *key, char out[KEY_SIZE_MAX])
{
    if (strncasecmp(key, "client.", 7) == 0 || strncasecmp(key, "client_", 7) == 0) {
        key += 7;
    }
    size_t size = 0;
    for (; *key != '\0' && size < KEY_SIZE_MAX - 1; key++) {
        const bool is_mark = *key == '_' || *key == '-';
        out[size++] = is_mark ? '.' : (char)tolower((unsigned char)*key);
    }
    out[size] = '\0';
    drop_ending(out, ".ms");
}

static int find_setting(const char *key)
{
    char wanted[KEY_SIZE_MAX], known[KEY_SIZE_MAX];
    normalize(key, wanted);
    for (size_t i = 0; i < FL_COUNT_OF(aliases); i++) {
        if (strcmp(aliases[i].alias, wanted) == 0) {
            normalize(aliases[i].key, wanted);
            break;
        }
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        normalize(settings[i].key, known);
        if (strcmp(known, wanted) == 0) {
            return i;
        }
    }
    return -1;
}

static const char *nearest_key(const char *key)
{
    char wanted[KEY_SIZE_MAX], known[KEY_SIZE_MAX];
    normalize(key, wanted);
    const char *best = settings[0].key;
    size_t best_distance = SIZE_MAX;
    for (int i = 0; i < SETTING_COUNT; i++) {
        normalize(settings[i].key, known);
        const size_t distance = fl_edit_distance(wanted, known);
        if (distance < best_distance) {
            best_distance = distance;
            best = settings[i].key;
        }
    }
    return best;
}

/* ---- values ---- */

/* A whole number with a unit at its end: `factors` gives the units. The largest unsigned number
 * stands for "without limit" and becomes INT64_MAX. */
static bool parse_number(const char *text, setting_kind kind, int64_t *out)
{
    static const struct {
        setting_kind kind;
        const char *unit;
        int64_t factor;
    } units[] = {
        {KIND_SIZE, "b", 1},
        {KIND_SIZE, "bytes", 1},
        {KIND_SIZE, "k", 1024},
        {KIND_SIZE, "kb", 1024},
        {KIND_SIZE, "m", 1024 * 1024},
        {KIND_SIZE, "mb", 1024 * 1024},
        {KIND_SIZE, "g", 1024 * 1024 * 1024},
        {KIND_SIZE, "gb", 1024 * 1024 * 1024},
        {KIND_TIME, "ms", 1},
        {KIND_TIME, "s", 1000},
        {KIND_TIME, "sec", 1000},
        {KIND_TIME, "min", 60 * 1000},
        {KIND_TIME, "m", 60 * 1000},
        {KIND_TIME, "h", 60 * 60 * 1000},
        {KIND_TIME, "d", 24 * 60 * 60 * 1000},
    };
    char *end = NULL;
    errno = 0;
    const bool is_negative = text[0] == '-';
    const unsigned long long magnitude = strtoull(is_negative ? text + 1 : text, &end, 10);
    if (!isdigit((unsigned char)text[is_negative]) || errno != 0) {
        return false;
    }
    int64_t number = magnitude > INT64_MAX ? INT64_MAX : (int64_t)magnitude;
    while (*end == ' ') {
        end++;
    }
    if (*end != '\0') {
        int64_t factor = 0;
        for (size_t i = 0; i < FL_COUNT_OF(units); i++) {
            if (units[i].kind == kind && strcasecmp(end, units[i].unit) == 0) {
                factor = units[i].factor;
            }
        }
        if (factor == 0 || __builtin_mul_overflow(number, factor, &number)) {
            return false;
        }
    }
    *out = is_negative ? -number : number;
    return true;
}

static const enum_name *find_enum(setting_kind kind, const char *text)
{
    for (size_t i = 0; i < FL_COUNT_OF(enum_names); i++) {
        if (enum_names[i].kind == kind && strcasecmp(enum_names[i].name, text) == 0) {
            return &enum_names[i];
        }
    }
    return NULL;
}

static fluss_code_t parse_enum(const setting *s, const char *text, const char **canonical,
                               int64_t *number, fluss_error_t *err)
{
    const enum_name *name = find_enum(s->kind, text);
    if (name == NULL) {
        char known[128] = "";
        bool is_only = true;
        for (size_t i = 0; i < FL_COUNT_OF(enum_names); i++) {
            if (enum_names[i].kind == s->kind) {
                const size_t used = strlen(known);
                is_only = used == 0;
                (void)snprintf(known + used, sizeof(known) - used, "%s%s", used > 0 ? ", " : "",
                               enum_names[i].name);
            }
        }
        if (is_only) {
            return fl_error_argument(err,
                                     "setting %s: '%.100s' is not known; only %s is, the default",
                                     s->key, text, s->preset);
        }
        return fl_error_argument(err, "setting %s: '%.100s' is not one of %s", s->key, text, known);
    }
    *canonical = name->canonical;
    *number = name->number;
    return 0;
}

static fluss_code_t parse_bool(const setting *s, const char *text, int64_t *number,
                               fluss_error_t *err)
{
    if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0) {
        return fl_error_argument(err, "setting %s: '%.100s' is neither true nor false", s->key,
                                 text);
    }
    *number = tolower((unsigned char)text[0]) == 't';
    return 0;
}

/* Read `text` for a setting. *canonical is a static text, `buffer`, or `text` itself. */
static fluss_code_t parse_value(const setting *s, const char *text, char buffer[32],
                                const char **canonical, int64_t *number, fluss_error_t *err)
{
    *canonical = text;
    *number = 0;
    switch (s->kind) {
    case KIND_TEXT:
    case KIND_SECRET:
        if (strlen(text) > VALUE_SIZE_MAX || !fl_utf8_is_valid(text, strlen(text))) {
            return fl_error_argument(err, "setting %s: not UTF-8 text of at most %d bytes", s->key,
                                     VALUE_SIZE_MAX);
        }
        return 0;
    case KIND_BOOL:
        FL_TRY(parse_bool(s, text, number, err));
        *canonical = *number != 0 ? "true" : "false";
        return 0;
    case KIND_COUNT:
    case KIND_SIZE:
    case KIND_TIME:
        if (!parse_number(text, s->kind, number)) {
            return fl_error_argument(
                err, "setting %s: '%.100s' is not a whole number%s", s->key, text,
                s->kind == KIND_SIZE   ? " of bytes, or one with a unit such as 2mb"
                : s->kind == KIND_TIME ? " of milliseconds, or one with a unit such as 500ms"
                                       : "");
        }
        if (*number < s->min || *number > s->max) {
            return fl_error_argument(err,
                                     "setting %s: %.100s is not between %" PRId64 " and %" PRId64,
                                     s->key, text, s->min, s->max);
        }
        (void)snprintf(buffer, 32, "%" PRId64, *number);
        *canonical = *number == INT64_MAX ? s->preset : buffer;
        return 0;
    default:
        return parse_enum(s, text, canonical, number, err);
    }
}

static void preset_number(int index, fl_setting_value *value)
{
    char buffer[32];
    const char *canonical;
    const fluss_code_t rc = parse_value(&settings[index], settings[index].preset, buffer,
                                        &canonical, &value->number, NULL);
    FL_ASSERT(rc == 0);
}

/* ---- public ---- */

fluss_config_t *fluss_config_new(void)
{
    fluss_config_t *config = fl_calloc(1, sizeof(*config));
    if (config != NULL) {
        for (int i = 0; i < SETTING_COUNT; i++) {
            preset_number(i, &config->all[i]);
        }
    }
    return config;
}

fluss_code_t fluss_config_set(fluss_config_t *config, const char *key, const char *value,
                              fluss_error_t *err)
{
    if (config == NULL || key == NULL) {
        return fl_error_argument(err, "config and key must not be NULL");
    }
    const int index = find_setting(key);
    if (index < 0) {
        return fl_error_argument(err, "unknown setting '%.100s'; the nearest known one is '%s'",
                                 key, nearest_key(key));
    }
    fl_setting_value *slot = &config->all[index];
    fl_setting_value fresh = {0};
    if (value != NULL) {
        char buffer[32];
        const char *canonical;
        FL_TRY(parse_value(&settings[index], value, buffer, &canonical, &fresh.number, err));
        fresh.text = fl_strdup(canonical);
        if (fresh.text == NULL) {
            return fl_error_nomem(err);
        }
    } else {
        preset_number(index, &fresh);
    }
    fl_free(slot->text);
    *slot = fresh;
    return 0;
}

const char *fluss_config_get(const fluss_config_t *config, const char *key)
{
    const int index = config == NULL || key == NULL ? -1 : find_setting(key);
    if (index < 0) {
        return NULL;
    }
    const char *text =
        config->all[index].text != NULL ? config->all[index].text : settings[index].preset;
    return settings[index].kind == KIND_SECRET && text[0] != '\0' ? "********" : text;
}

const char *fluss_config_key(size_t i)
{
    if (i >= SETTING_COUNT) {
        return NULL;
    }
    /* The i-th in order: the one with exactly i smaller ones. */
    for (int candidate = 0; candidate < SETTING_COUNT; candidate++) {
        size_t smaller = 0;
        for (int other = 0; other < SETTING_COUNT; other++) {
            smaller += strcmp(settings[other].key, settings[candidate].key) < 0;
        }
        if (smaller == i) {
            return settings[candidate].key;
        }
    }
    return NULL;
}

void fluss_config_free(fluss_config_t *config)
{
    if (config == NULL) {
        return;
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        fl_setting_value *value = &config->all[i];
        if (value->text != NULL && settings[i].kind == KIND_SECRET) {
            explicit_bzero(value->text, strlen(value->text));
        }
        fl_free(value->text);
    }
    fl_free(config);
}

/* ---- for the rest of the client ---- */

fluss_config_t *fl_config_copy(const fluss_config_t *config)
{
    fluss_config_t *copy = fl_calloc(1, sizeof(*copy));
    if (copy == NULL) {
        return NULL;
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        copy->all[i].number = config->all[i].number;
        if (config->all[i].text != NULL) {
            copy->all[i].text = fl_strdup(config->all[i].text);
            if (copy->all[i].text == NULL) {
                fluss_config_free(copy);
                return NULL;
            }
        }
    }
    return copy;
}

const char *fl_config_text(const fl_setting_value *value, const fluss_config_t *config)
{
    return value->text != NULL ? value->text : settings[value - config->all].preset;
}

static fluss_code_t check_writer(const fluss_config_t *c, fluss_error_t *err)
{
    if (c->writer_batch_size.number > c->writer_request_size_max.number) {
        return fl_error_argument(
            err, "writer.batch-size (%" PRId64 ") is above writer.request-max-size (%" PRId64 ")",
            c->writer_batch_size.number, c->writer_request_size_max.number);
    }
    if (c->writer_batch_size.number > c->writer_buffer_size.number) {
        return fl_error_argument(
            err, "writer.batch-size (%" PRId64 ") is above writer.buffer.memory-size (%" PRId64 ")",
            c->writer_batch_size.number, c->writer_buffer_size.number);
    }
    if (c->writer_batch_dynamic.number != 0 &&
        c->writer_batch_size_min.number > c->writer_batch_size.number) {
        return fl_error_argument(err,
                                 "writer.dynamic-batch-size-min (%" PRId64
                                 ") is above writer.batch-size (%" PRId64 ")",
                                 c->writer_batch_size_min.number, c->writer_batch_size.number);
    }
    if (c->writer_idempotent.number == 0) {
        return 0;
    }
    if (c->writer_acks.number != -1) {
        return fl_error_argument(err, "writer.enable-idempotence needs writer.acks=all, not %s",
                                 fl_config_text(&c->writer_acks, c));
    }
    if (c->writer_retries.number == 0) {
        return fl_error_argument(err, "writer.enable-idempotence needs writer.retries above 0");
    }
    if (c->writer_in_flight_max.number > 5) {
        return fl_error_argument(
            err,
            "writer.enable-idempotence needs "
            "writer.max-inflight-requests-per-bucket of at most 5, not %" PRId64,
            c->writer_in_flight_max.number);
    }
    return 0;
}

fluss_code_t fl_config_check(const fluss_config_t *c, fluss_error_t *err)
{
    FL_TRY(check_writer(c, err));
    if (c->fetch_size_min.number > c->fetch_size_max.number) {
        return fl_error_argument(err,
                                 "scanner.log.fetch.min-bytes (%" PRId64
                                 ") is above scanner.log.fetch.max-bytes (%" PRId64 ")",
                                 c->fetch_size_min.number, c->fetch_size_max.number);
    }
    if (c->fetch_bucket_size_max.number > c->fetch_size_max.number) {
        return fl_error_argument(err,
                                 "scanner.log.fetch.max-bytes-for-bucket (%" PRId64
                                 ") is above scanner.log.fetch.max-bytes (%" PRId64 ")",
                                 c->fetch_bucket_size_max.number, c->fetch_size_max.number);
    }
    if (c->security_protocol.number == FL_SECURITY_SASL &&
        (fl_config_text(&c->sasl_username, c)[0] == '\0' ||
         fl_config_text(&c->sasl_password, c)[0] == '\0')) {
        return fl_error_argument(err, "security.protocol=SASL needs security.sasl.username and "
                                      "security.sasl.password");
    }
    if (fl_config_text(&c->bootstrap_servers, c)[0] == '\0') {
        return fl_error_argument(err, "bootstrap.servers is empty");
    }
    return 0;
}

void fl_config_describe(void (*line)(const char *row, void *user), void *user)
{
    line("| key | default | meaning |", user);
    line("| --- | --- | --- |", user);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const setting *s = &settings[find_setting(fluss_config_key(i))];
        const char *preset = s->max == INT64_MAX && s->kind == KIND_TIME ? "no limit" : s->preset;
        char row[1024];
        (void)snprintf(row, sizeof(row), "| `%s` | %s%s%s | %s |", s->key,
                       preset[0] != '\0' ? "`" : "", preset, preset[0] != '\0' ? "`" : "", s->text);
        line(row, user);
    }
}
