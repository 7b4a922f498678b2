/* SPDX-License-Identifier: Apache-2.0 */
/* One life of a client, from connect to close, in which any call may fail. */
#ifndef TEST_SCENARIO_H
#define TEST_SCENARIO_H
#include "world.h"

/** Make the tables that scenario_run uses. */
void scenario_prepare(const char *servers);
/**
 * Connect, create, append, write Arrow, upsert, delete, look up, scan, list, close, release.
 *
 * @param reached the last step, static
 * @param err zeroed by the caller; says what failed first
 * @return 0: everything came as expected; else the first failure. Whatever was made is released
 */
fluss_code_t scenario_run(const char *servers, const char **reached, fluss_error_t *err);
/** Read what all lives appended: nothing is there twice or out of order, and nothing is missing of
 * a life whose rows were acknowledged. Ends the test when that is not so. */
void scenario_check_rows(const char *servers);
#endif
