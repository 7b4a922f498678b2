/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the API table finds every key and nothing else. Method: all keys of int16. */
#include "message_util.h"

#include "protocol/api.h"

static void each_key_finds_its_own_entry(void **state)
{
    (void)state;
    size_t count, found = 0;
    const fl_api *all = fl_api_all(&count);
    for (int32_t key = INT16_MIN; key <= INT16_MAX; key++) {
        const fl_api *api = fl_api_find((int16_t)key);
        if (api == NULL) {
            continue;
        }
        assert_ptr_equal(api, &all[found]);
        assert_int_equal(api->key, key);
        assert_in_range(api->version_min, 0, api->version_max);
        found++;
    }
    assert_int_equal(found, count);
    assert_int_equal(count, 65);
}

static void keys_name_their_messages(void **state)
{
    (void)state;
    const fl_api *api = fl_api_find(FL_API_GET_METADATA);
    assert_non_null(api);
    assert_string_equal(api->name, "GET_METADATA");
    assert_ptr_equal(api->request, &fl_msg_desc_metadata_request);
    assert_ptr_equal(api->response, &fl_msg_desc_metadata_response);
    assert_true(api->is_public);
    assert_false(fl_api_find(FL_API_UPDATE_METADATA)->is_public);
    assert_int_equal(fl_api_find(FL_API_PUT_KV)->version_max, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(each_key_finds_its_own_entry),
                                       TEST(keys_name_their_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
