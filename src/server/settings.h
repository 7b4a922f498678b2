/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a server, read from key and value pairs against one table (settings.def). */
#ifndef FL_SETTINGS_H
#define FL_SETTINGS_H
#include "base/arena.h"

typedef const char *fl_setting_TEXT;
typedef int32_t fl_setting_INT;
typedef size_t fl_setting_SIZE;
typedef int64_t fl_setting_TIME; /* milliseconds */
typedef bool fl_setting_BOOL;
typedef double fl_setting_RATIO;

typedef struct fl_settings {
    fl_arena arena;    /* texts */
    fluss_kv_t *given; /* the pairs that were set, passwords too */
    size_t given_count;
#define FL_SETTING(field, key, kind, fallback, meaning) fl_setting_##kind field;
#include "server/settings.def"
#undef FL_SETTING
} fl_settings;

/**
 * Defaults, then the pairs in order.
 *
 * @param settings overwritten; ended by fl_settings_deinit, also after a failure
 * @return FLUSS_KIND_ARGUMENT: an unknown key (names the nearest), or a value that is not of the
 * key's kind or out of its range (names key, value and what is wanted). Thread: any.
 */
FLUSS_CHECKED fluss_code_t fl_settings_read(const fluss_kv_t *pairs, size_t count,
                                            fl_settings *settings, fluss_error_t *err);
/** Set one more. @return as fl_settings_read; the settings are as before. Thread: owner. */
FLUSS_CHECKED fluss_code_t fl_settings_set(fl_settings *settings, const char *key,
                                           const char *value, fluss_error_t *err);
/** Whether the values fit together; fl_settings_read has checked it. */
FLUSS_CHECKED fluss_code_t fl_settings_check(const fl_settings *settings, fluss_error_t *err);
void fl_settings_deinit(fl_settings *settings);
/** A Markdown row for each setting. */
void fl_settings_describe(void (*line)(const char *row, void *user), void *user);
#endif
