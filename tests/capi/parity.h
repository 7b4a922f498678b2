/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of the parity programs: tests that take an open connection, on one server. */
#ifndef TEST_PARITY_H
#define TEST_PARITY_H
#include "world.h"

typedef struct parity_test {
    const char *name;
    void (*run)(const char *servers, fluss_conn_t *conn);
} parity_test;

#define PARITY(name) {#name, parity_##name}

/** Run all, or the one that argv names; each failure ends the program. */
int parity_main(const parity_test *tests, size_t count, int argc, char **argv);
/** Fill a table (n INT, text STRING) with n = from .. from + count - 1, text "r<n>". */
void fill(fluss_table_t *table, int32_t from, int32_t count);
/** Rows until `count` came, or a poll of 300 ms was empty after that; the sum of column `n`. */
int64_t read_sum(fluss_scanner_t *scanner, int64_t count);
#endif
