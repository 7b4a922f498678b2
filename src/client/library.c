/* SPDX-License-Identifier: Apache-2.0 */
/* fluss.h: version, names, process-wide hooks; the makers of values that need code, and how structs
 * of options are read. */
#include <fluss/fluss.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "client/options.h"
#include "format/datum.h"

uint32_t fluss_version(void)
{
    return FLUSS_VERSION;
}

const char *fluss_version_string(void)
{
    return "0.1.0";
}

const char *fluss_code_name(fluss_code_t code)
{
    return fl_code_name(code);
}

const char *fluss_change_string(fluss_change_t change)
{
    static const char *const texts[] = {"+A", "+I", "-U", "+U", "-D"};
    return (unsigned)change < FL_COUNT_OF(texts) ? texts[change] : "?";
}

fluss_datum_t fluss_str(const char *text)
{
    return text != NULL ? fluss_string(text, strlen(text)) : fluss_null();
}

fluss_code_t fluss_decimal(const char *text, int precision, int scale, fluss_datum_t *out,
                           fluss_error_t *err)
{
    if (text == NULL || out == NULL) {
        return fl_error_argument(err, "text and out must not be NULL");
    }
    return fl_decimal_parse(text, precision, scale, out, err);
}

fluss_code_t fluss_set_allocator(void *(*alloc)(size_t size),
                                 void *(*resize)(void *ptr, size_t size),
                                 void (*release)(void *ptr))
{
    const int given = (alloc != NULL) + (resize != NULL) + (release != NULL);
    if (given != 0 && given != 3) {
        return fl_error_argument(NULL, "give all three functions or none");
    }
    fl_alloc_set_hooks(alloc, resize, release);
    return 0;
}

/* Every member is as long as a size or follows one that is padded to it, so a size that is no
 * multiple would cut a member in two. */
fluss_code_t fl_opts_read(const void *in, void *out, size_t out_size, const char *type,
                          fluss_error_t *err)
{
    size_t size;
    memset(out, 0, out_size);
    if (in == NULL) {
        return 0;
    }
    memcpy(&size, in, sizeof(size));
    if (size < sizeof(size) || size % sizeof(size) != 0) {
        return fl_error_argument(err, "%s: size is %zu; set it to sizeof(%s)", type, size, type);
    }
    memcpy(out, in, size < out_size ? size : out_size);
    return 0;
}

void fluss_set_log(fluss_log_fn fn, int level_max, void *user)
{
    fl_log_set(fn, level_max, user);
}
