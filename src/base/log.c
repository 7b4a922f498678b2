/* SPDX-License-Identifier: Apache-2.0 */
/* A line is formatted on the stack and handed to the hook; below the hook's level nothing is
 * formatted. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

static struct log_hook {
    fl_log_fn fn;
    void *user;
    int level_max;
} hook;

void fl_log_set(fl_log_fn fn, int level_max, void *user)
{
    hook = (struct log_hook){.fn = fn, .user = user, .level_max = level_max};
}

int fl_log_level_max(void)
{
    return hook.fn == NULL ? -1 : hook.level_max;
}

void fl_log(fl_log_level level, const char *component, const char *format, ...)
{
    if (hook.fn == NULL || (int)level > hook.level_max) {
        return;
    }
    char text[1024];
    va_list args;
    va_start(args, format);
    const int needed = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (needed >= (int)sizeof(text)) {
        text[fl_utf8_trim(text, sizeof(text) - 1)] = '\0';
    }
    hook.fn((int)level, component, text, hook.user);
}
