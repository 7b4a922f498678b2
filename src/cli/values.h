/* SPDX-License-Identifier: Apache-2.0 */
/* Values of rows as JSON, both ways, by the same rules:
 *
 *   BOOLEAN, integers, FLOAT, DOUBLE   true, 5, 1.5; NaN and the infinities as "NaN", "Infinity"
 *   CHAR, STRING                       "text"
 *   BINARY, BYTES                      "base64"
 *   DECIMAL                            "12.50"; integers are read too
 *   DATE, TIME                         "2026-06-01", "12:30:00.250"
 *   TIMESTAMP, TIMESTAMP_LTZ           "2026-06-01T12:30:00.250", with a Z behind for LTZ
 *   ARRAY; MAP; ROW                    [a, b]; [[key, value], …]; {"name": value} or [value, …]
 *
 * So what `fluss scan --json` prints, `fluss append` reads. */
#ifndef FL_CLI_VALUES_H
#define FL_CLI_VALUES_H
#include <jansson.h>

#include "type_text.h"

/** A value as JSON; gives. @param type names the fields of rows; NULL: rows become arrays.
 * NULL: out of memory. */
json_t *cli_value_to_json(const fluss_datum_t *value, const cli_type *type);

/** Memory of the values made from one JSON row. */
typedef struct cli_pool cli_pool;
/** gives; NULL: out of memory. */
cli_pool *cli_pool_new(void);
/** Forget all values, keep the pool. */
void cli_pool_reset(cli_pool *pool);
void cli_pool_free(cli_pool *pool);

/** JSON as a value of a type. Texts are borrowed from `json`, the rest lies in the pool.
 * @return 0, or FLUSS_E_CLIENT with what was found and what was expected */
fluss_code_t cli_value_from_json(const json_t *json, const cli_type *type, cli_pool *pool,
                                 fluss_datum_t *out, fluss_error_t *err);
#endif
