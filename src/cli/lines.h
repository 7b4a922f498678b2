/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of standard input: one at a time, of bounded size. */
#ifndef FL_CLI_LINES_H
#define FL_CLI_LINES_H
#include <stdbool.h>

#include <fluss/fluss.h>

typedef struct cli_lines {
    const char *text; /* the line, without its end; no zero byte follows it */
    size_t size;
    int64_t number; /* from 1 */
    char *buffer;
    size_t next, filled, capacity;
    bool is_over;
} cli_lines;

/**
 * Go to the next line that is not blank. A byte order mark in front of the first one is passed
 * over. A signal of cli_interrupt_catch ends the input.
 *
 * @param lines zeroed before the first call
 * @return false: the input is over, or failed, which err->code tells apart
 */
bool cli_lines_next(cli_lines *lines, fluss_error_t *err);
/** Put the line's number in front of an error's message. */
void cli_lines_blame(const cli_lines *lines, fluss_error_t *err);
void cli_lines_close(cli_lines *lines);
#endif
