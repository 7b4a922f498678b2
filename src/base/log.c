/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static struct log_hook {
    fl_log_fn fn;
    void *user;
    int level_max;
} hook;

void fl_log_set(fl_log_fn fn, int level_max, void *user)
{
    hook = (struct log_hook){.fn = fn, .user = user, .level_max = level_max};
}

void fl_log(fl_log_level level, const char *component, const char *format, ...)
{
    if (hook.fn == NULL || (int)level > hook.level_max) {
        return;
    }
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    hook.fn((int)level, component, text, hook.user);
}
