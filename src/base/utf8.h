/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: validation, cutting at a character, repair. */
#ifndef FL_UTF8_H
#define FL_UTF8_H
#include <stdbool.h>
#include <stddef.h>

/** Whether `size` bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
bool fl_utf8_is_valid(const void *text, size_t size);

/** The largest size <= `size_max` that does not end inside a character of `text`, which has more
 * than size_max bytes. */
size_t fl_utf8_cut(const char *text, size_t size_max);

/** The size without the last character of `text` when its end is missing: for text that was cut
 * already and whose next byte is gone. */
size_t fl_utf8_trim(const char *text, size_t size);

/** Replace each byte that is no part of a well-formed character by '?', in place. */
void fl_utf8_repair(char *text, size_t size);
#endif
