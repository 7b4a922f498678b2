/* SPDX-License-Identifier: Apache-2.0 */
/* The table of API keys, from api_keys.def. The keys are dense, so a key is found by index. */
#include "protocol/api.h"

#include "protocol/messages.h"

static const fl_api apis[] = {
#define FL_API(key, upper, lower, version_min, version_max, is_public, request, response) \
    {(key),  (version_min),          (version_max),          (is_public) != 0,            \
     #upper, &fl_msg_desc_##request, &fl_msg_desc_##response},
#include "protocol/api_keys.def"
#undef FL_API
};

const fl_api *fl_api_find(int16_t key)
{
    const size_t index = (size_t)((int32_t)key - apis[0].key);
    if (key < apis[0].key || index >= FL_COUNT_OF(apis)) {
        return NULL;
    }
    FL_DEBUG_ASSERT(apis[index].key == key);
    return &apis[index];
}

const fl_api *fl_api_all(size_t *count)
{
    *count = FL_COUNT_OF(apis);
    return apis;
}
