/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the C client that have to succeed: client_admin.c and client_partitions.c. */
#ifndef FL_TEST_CALLS_H
#define FL_TEST_CALLS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four that it needs */
#include <cmocka.h>
#include <fluss/fluss.h>

enum { WAIT_MS = 30000 };

static inline void must(fluss_code_t rc, const fluss_error_t *err)
{
    if (rc != 0) {
        fail_msg("%s: %s", fluss_code_name(rc), err->message);
    }
}

static inline void done(fluss_future_t *future)
{
    fluss_error_t err;
    must(fluss_await(future, WAIT_MS, &err), &err);
}
#endif
