/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a connection: one table (settings.def), texts in, checked numbers out. */
#ifndef FL_CLIENT_CONFIG_H
#define FL_CLIENT_CONFIG_H
#include <fluss/fluss_config.h>

#include "base/error.h"

enum { FL_HASH_SETTING_AUTO, FL_HASH_SETTING_JAVA, FL_HASH_SETTING_RUST };
enum { FL_SECURITY_PLAINTEXT, FL_SECURITY_SASL };
enum { FL_ASSIGN_STICKY, FL_ASSIGN_ROUND_ROBIN };

typedef struct fl_setting_value {
    char *text;     /* canonical; owned; NULL: default */
    int64_t number; /* of every kind but TEXT and SECRET */
} fl_setting_value;

enum {
    FL_SETTING_COUNT = 0
#define FL_SETTING(field, kind, key, preset, min, max, text) +1
#include "client/settings.def"
#undef FL_SETTING
};

struct fluss_config {
    union {
        fl_setting_value all[FL_SETTING_COUNT];
        struct {
#define FL_SETTING(field, kind, key, preset, min, max, text) fl_setting_value field;
#include "client/settings.def"
#undef FL_SETTING
        };
    };
};

/** A deep copy. NULL: out of memory. */
fluss_config_t *fl_config_copy(const fluss_config_t *config) FLUSS_CHECKED;
/** Rules between settings (batch size against request size and so on).
 * @return FLUSS_KIND_ARGUMENT naming the key */
FLUSS_CHECKED fluss_code_t fl_config_check(const fluss_config_t *config, fluss_error_t *err);
/** Text of a TEXT or SECRET setting, never NULL. */
const char *fl_config_text(const fl_setting_value *value, const fluss_config_t *config);
/** Call `line` with each row of a Markdown table of all settings. */
void fl_config_describe(void (*line)(const char *row, void *user), void *user);
#endif
