/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text: what is accepted, and that each refusal names the address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "net/listener.h"

static void good_addresses_are_split(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        uint16_t port;
    } cases[] = {{"127.0.0.1:9123", "127.0.0.1", 9123},
                 {"localhost:0", "localhost", 0},
                 {"[::1]:65535", "::1", 65535},
                 {"a.b-c.example:1", "a.b-c.example", 1}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        char host[64];
        uint16_t port;
        fluss_error_t err;
        assert_int_equal(fl_address_parse(cases[i].text, host, sizeof(host), &port, &err), 0);
        assert_string_equal(host, cases[i].host);
        assert_int_equal(port, cases[i].port);
    }
}

static void bad_addresses_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",        "host",     ":9123",     "host:", "host:x",    "host:-1",
        "h:65536", "::1:9123", "[::1]9123", "[]:1",  "[::1:9123", "h:99999999999999999999"};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        char host[64];
        uint16_t port;
        fluss_error_t err = {0};
        assert_int_equal(fl_address_parse(cases[i], host, sizeof(host), &port, &err),
                         FLUSS_E_CLIENT);
        assert_int_equal(err.kind, FLUSS_KIND_ARGUMENT);
        assert_non_null(strstr(err.message, cases[i]));
    }
}

static void a_host_longer_than_the_room_is_refused(void **state)
{
    (void)state;
    char host[8];
    uint16_t port;
    assert_int_equal(fl_address_parse("12345678:1", host, sizeof(host), &port, NULL),
                     FLUSS_E_CLIENT);
    assert_int_equal(fl_address_parse("1234567:1", host, sizeof(host), &port, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_addresses_are_split),
        cmocka_unit_test(bad_addresses_are_refused_by_name),
        cmocka_unit_test(a_host_longer_than_the_room_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
