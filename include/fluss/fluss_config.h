/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_config.h - settings of a connection: text keys and values. The keys, their defaults and
 * ranges are listed in docs/configuration.md. */
#ifndef FLUSS_CONFIG_H
#define FLUSS_CONFIG_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings with their defaults. gives (fluss_config_free). NULL: out of memory. */
FLUSS_API fluss_config_t *fluss_config_new(void);

/**
 * Set one setting.
 *
 * @param key   an official key ("writer.acks"), also with the prefix "client.", or an older
 * spelling
 * @param value text; sizes may say "2mb", durations "500ms"; NULL restores the default
 * @return FLUSS_KIND_ARGUMENT: unknown key (the message names the nearest one) or a bad value
 */
FLUSS_API fluss_code_t fluss_config_set(fluss_config_t *config, const char *key, const char *value,
                                        fluss_error_t *err);

/** The value in effect, in canonical form; secrets are masked. NULL: unknown key, or no value.
 * Borrowed until the next fluss_config_set. */
FLUSS_API const char *fluss_config_get(const fluss_config_t *config, const char *key);

/** The name of the i-th setting in alphabetical order; NULL past the last. Static. */
FLUSS_API const char *fluss_config_key(size_t i);

/** NULL allowed. */
FLUSS_API void fluss_config_free(fluss_config_t *config);

#ifdef __cplusplus
}
#endif
#endif
