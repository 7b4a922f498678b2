/* SPDX-License-Identifier: Apache-2.0 */
/* Filling of fluss_error_t, and the facts of every code, generated from fluss_codes.def. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

typedef struct code_facts {
    fluss_code_t code;
    bool retriable, stale;
    const char *name, *text;
} code_facts;

static const code_facts facts_of_codes[] = {
#define FLUSS_CODE(number, name, retriable, stale, python, text) \
    {(number), (retriable) != 0, (stale) != 0, #name, (text)},
#include <fluss/fluss_codes.def>
#undef FLUSS_CODE
};

/* The table is dense and starts at FLUSS_E_CLIENT. */
static const code_facts *find_facts(fluss_code_t code)
{
    const size_t index = (size_t)((int64_t)code - FLUSS_E_CLIENT);
    if (code < FLUSS_E_CLIENT || index >= FL_COUNT_OF(facts_of_codes)) {
        return NULL;
    }
    FL_DEBUG_ASSERT(facts_of_codes[index].code == code);
    return &facts_of_codes[index];
}

void fl_assert_failed(const char *cond, const char *file, int line)
{
    (void)fprintf(stderr, "fluss: broken assumption at %s:%d: %s\n", file, line, cond);
    abort();
}

/* Any bytes may come in by %s, from a server or a file; the message is well-formed all the same. */
static void set_message(fluss_error_t *err, const char *format, va_list args)
{
    const int needed = vsnprintf(err->message, sizeof(err->message), format, args);
    if (needed < 0) {
        err->message[0] = '\0';
        return;
    }
    size_t size = (size_t)needed;
    if (size >= sizeof(err->message)) {
        size = fl_utf8_trim(err->message, sizeof(err->message) - 1);
        err->message[size] = '\0';
    }
    fl_utf8_repair(err->message, size);
}

static fluss_code_t fill(fluss_error_t *err, fluss_code_t code, fluss_kind_t kind,
                         const char *format, va_list args)
{
    FL_ASSERT(code != 0);
    if (err != NULL) {
        err->code = code;
        err->kind = (uint16_t)kind;
        err->retriable = fl_code_is_retriable(code);
        set_message(err, format, args);
    }
    return code;
}

fluss_code_t fl_error(fluss_error_t *err, fluss_code_t code, fluss_kind_t kind, const char *format,
                      ...)
{
    va_list args;
    va_start(args, format);
    code = fill(err, code, kind, format, args);
    va_end(args);
    return code;
}

fluss_code_t fl_error_argument(fluss_error_t *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const fluss_code_t code = fill(err, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT, format, args);
    va_end(args);
    return code;
}

fluss_code_t fl_error_corrupt(fluss_error_t *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const fluss_code_t code = fill(err, FLUSS_E_CORRUPT_MESSAGE, FLUSS_KIND_CORRUPT, format, args);
    va_end(args);
    return code;
}

fluss_code_t fl_error_nomem(fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_NOMEM, "out of memory");
}

/* Copy a text; of a Java stack trace the message and its causes, without the frames between them.
 * @return bytes copied, at most `room` */
static size_t copy_causes(const char *text, size_t size, char *out, size_t room)
{
    static const char frame[] = "\n\tat ";
    const bool is_trace = memmem(text, size, frame, sizeof(frame) - 1) != NULL;
    size_t used = 0;
    while (size > 0 && used < room) {
        const char *end = is_trace ? memchr(text, '\n', size) : NULL;
        const size_t line = end != NULL ? (size_t)(end - text) : size;
        const bool is_told = !is_trace || (line > 0 && text[0] != '\t');
        if (is_told && used > 0) {
            out[used++] = ' ';
        }
        const size_t kept = !is_told ? 0 : line < room - used ? line : room - used;
        memcpy(out + used, text, kept);
        used += kept;
        const size_t gone = end != NULL ? line + 1 : line;
        text += gone;
        size -= gone;
    }
    return used;
}

fluss_code_t fl_error_server(fluss_error_t *err, fluss_code_t code, const char *text, size_t size)
{
    if (size == 0) {
        return fl_error(err, code, FLUSS_KIND_SERVER, "%s", fl_code_text(code));
    }
    char told[sizeof(err->message)];
    const size_t shown = copy_causes(text, size, told, sizeof(told));
    return fl_error(err, code, FLUSS_KIND_SERVER, "%.*s", (int)shown, told);
}

void fl_error_prefix(fluss_error_t *err, const char *format, ...)
{
    if (err == NULL) {
        return;
    }
    fluss_error_t old = *err;
    va_list args;
    va_start(args, format);
    set_message(err, format, args);
    va_end(args);
    const size_t used = strlen(err->message);
    const size_t room = sizeof(err->message) - 1 - used;
    const size_t old_size = strlen(old.message);
    const size_t kept = old_size <= room ? old_size : fl_utf8_cut(old.message, room);
    memcpy(err->message + used, old.message, kept);
    err->message[used + kept] = '\0';
}

const char *fl_code_name(fluss_code_t code)
{
    const code_facts *facts = find_facts(code);
    return facts != NULL ? facts->name : "UNKNOWN";
}

const char *fl_code_text(fluss_code_t code)
{
    const code_facts *facts = find_facts(code);
    return facts != NULL ? facts->text : "the server sent a code that this version does not know";
}

bool fl_code_is_known(fluss_code_t code)
{
    return find_facts(code) != NULL;
}

bool fl_code_is_retriable(fluss_code_t code)
{
    const code_facts *facts = find_facts(code);
    return facts != NULL && facts->retriable;
}

bool fl_code_is_stale_metadata(fluss_code_t code)
{
    const code_facts *facts = find_facts(code);
    return facts != NULL && facts->stale;
}
