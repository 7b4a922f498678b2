/* SPDX-License-Identifier: Apache-2.0 */
/* The API keys, from api_keys.def: FL_API(key, NAME, name, version_min, version_max, public,
 * request, response). */
#ifndef FL_API_H
#define FL_API_H
#include "protocol/message.h"

typedef enum fl_api_key {
#define FL_API(key, upper, lower, version_min, version_max, is_public, request, response) \
    FL_API_##upper = (key),
#include "protocol/api_keys.def"
#undef FL_API
} fl_api_key;

typedef struct fl_api {
    int16_t key, version_min, version_max;
    bool is_public;
    const char *name; /* "PRODUCE_LOG" */
    const fl_msg_desc *request, *response;
} fl_api;

/** Facts of a key; NULL when unknown. */
const fl_api *fl_api_find(int16_t key);
/** All keys, ascending. */
const fl_api *fl_api_all(size_t *count);
#endif
