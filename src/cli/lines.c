/* SPDX-License-Identifier: Apache-2.0 */
/* Reads into one buffer that doubles up to the longest line allowed, since a line that never ends
 * would take all memory. It does not use stdio: a line is handed over as soon as it is there, also
 * from a pipe that stays open. */
#include "lines.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"

enum { CAPACITY_MIN = 64 << 10, LINE_SIZE_MAX = 128 << 20 };

static fluss_code_t fail(fluss_error_t *err, const char *what, const char *why)
{
    (void)snprintf(err->message, sizeof(err->message), "%s: %s", what, why);
    err->code = FLUSS_E_CLIENT;
    err->kind = FLUSS_KIND_ARGUMENT;
    return err->code;
}

/* Room for more behind what is there of the line. */
static fluss_code_t make_room(cli_lines *lines, fluss_error_t *err)
{
    if (lines->next > 0) {
        lines->filled -= lines->next;
        memmove(lines->buffer, lines->buffer + lines->next, lines->filled);
        lines->next = 0;
    }
    if (lines->filled < lines->capacity) {
        return 0;
    }
    if (lines->capacity == LINE_SIZE_MAX) {
        char what[40];
        (void)snprintf(what, sizeof(what), "line %lld", (long long)lines->number + 1);
        return fail(err, what, "longer than 128 MiB");
    }
    const size_t wanted = lines->capacity == 0 ? CAPACITY_MIN : lines->capacity * 2;
    char *grown = realloc(lines->buffer, wanted);
    if (grown == NULL) {
        return fail(err, "standard input", "out of memory");
    }
    lines->buffer = grown;
    lines->capacity = wanted;
    return 0;
}

static fluss_code_t read_more(cli_lines *lines, fluss_error_t *err)
{
    const fluss_code_t rc = make_room(lines, err);
    if (rc != 0) {
        return rc;
    }
    ssize_t got = -1;
    while (got < 0 && !cli_interrupted()) {
        struct pollfd either[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                  {.fd = cli_interrupt_fd(), .events = POLLIN}};
        if (poll(either, 2, -1) > 0 && either[0].revents != 0) {
            got =
                read(STDIN_FILENO, lines->buffer + lines->filled, lines->capacity - lines->filled);
        }
        if (got < 0 && errno != EINTR && either[0].revents != 0) {
            return fail(err, "standard input can't be read", strerror(errno));
        }
    }
    lines->is_over = got <= 0;
    lines->filled += got > 0 ? (size_t)got : 0;
    return 0;
}

/* The next line, however it looks. */
static bool next_line(cli_lines *lines, fluss_error_t *err)
{
    size_t looked = lines->next;
    char *end = NULL;
    while (end == NULL && !lines->is_over) {
        end = lines->filled > looked ? memchr(lines->buffer + looked, '\n', lines->filled - looked)
                                     : NULL;
        if (end == NULL) {
            looked = lines->filled - lines->next; /* where it lies after the move */
            if (read_more(lines, err) != 0) {
                return false;
            }
        }
    }
    if (cli_interrupted() || lines->next == lines->filled) {
        return false;
    }
    lines->text = lines->buffer + lines->next;
    lines->size = end != NULL ? (size_t)(end - lines->text) : lines->filled - lines->next;
    lines->next += lines->size + (end != NULL);
    lines->number++;
    return true;
}

static bool is_blank(const cli_lines *lines)
{
    for (size_t i = 0; i < lines->size; i++) {
        if (strchr(" \t\r", lines->text[i]) == NULL || lines->text[i] == '\0') {
            return false;
        }
    }
    return true;
}

bool cli_lines_next(cli_lines *lines, fluss_error_t *err)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    err->code = 0;
    do {
        if (!next_line(lines, err)) {
            return false;
        }
        if (lines->number == 1 && lines->size >= sizeof(mark) &&
            memcmp(lines->text, mark, sizeof(mark)) == 0) {
            lines->text += sizeof(mark);
            lines->size -= sizeof(mark);
        }
    } while (is_blank(lines));
    return true;
}

void cli_lines_blame(const cli_lines *lines, fluss_error_t *err)
{
    const fluss_error_t inner = *err;
    (void)snprintf(err->message, sizeof(err->message), "line %lld: %.900s",
                   (long long)lines->number, inner.message);
}

void cli_lines_close(cli_lines *lines)
{
    free(lines->buffer);
    *lines = (cli_lines){0};
}
