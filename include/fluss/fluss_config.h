/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_config.h - settings of a connection: text keys and values. The keys, their defaults and
 * ranges are listed in docs/configuration.md. */
#ifndef FLUSS_CONFIG_H
#define FLUSS_CONFIG_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ---- */

/**
 * All settings with their defaults.
 *
 * @return gives (fluss_config_free); NULL: out of memory
 * Thread: any. Source: Configuration.
 */
FLUSS_API fluss_config_t *fluss_config_new(void);

/**
 * Set one setting.
 *
 * @param key    an official key ("writer.acks"), also with the prefix "client.", or an older
 *               spelling; copied
 * @param value  text, copied; sizes may say "2mb", durations "500ms"; NULL restores the default
 * @return 0; FLUSS_KIND_ARGUMENT: unknown key (the message names the nearest one) or a bad value,
 *         nothing changed
 * Thread: one while it is built. Source: Configuration.setString.
 */
FLUSS_API fluss_code_t fluss_config_set(fluss_config_t *config, const char *key, const char *value,
                                        fluss_error_t *err);

/**
 * The value in effect, in canonical form; secrets are masked.
 *
 * @param key  as in fluss_config_set
 * @return borrowed until the next fluss_config_set; NULL: unknown key, or no value
 * Thread: one while it is built. Source: Configuration.getString.
 */
FLUSS_API const char *fluss_config_get(const fluss_config_t *config, const char *key);

/**
 * Name of a setting, for programs that list them.
 *
 * @param i  0-based, in alphabetical order
 * @return static; NULL past the last
 * Thread: any. Source: ours.
 */
FLUSS_API const char *fluss_config_key(size_t i);

/**
 * Release settings; connections made with them keep their copy.
 *
 * @param config  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_config_free(fluss_config_t *config);

#ifdef __cplusplus
}
#endif
#endif
