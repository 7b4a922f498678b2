/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed UTF-8 as Unicode's table of byte sequences defines it. Validation takes eight ASCII
 * bytes at a time, since most text of this library is ASCII. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Size of the well-formed character at `at` with `left` bytes to the end, or 0. */
static size_t char_size(const uint8_t *at, size_t left)
{
    const uint8_t lead = at[0];
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return left >= 2 && is_continuation(at[1]) ? 2 : 0;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        if (left < 3 || !is_continuation(at[1]) || !is_continuation(at[2])) {
            return 0;
        }
        const bool overlong = lead == 0xE0 && at[1] < 0xA0;
        const bool surrogate = lead == 0xED && at[1] >= 0xA0;
        return overlong || surrogate ? 0 : 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if (left < 4 || !is_continuation(at[1]) || !is_continuation(at[2]) ||
            !is_continuation(at[3])) {
            return 0;
        }
        const bool overlong = lead == 0xF0 && at[1] < 0x90;
        const bool too_large = lead == 0xF4 && at[1] >= 0x90;
        return overlong || too_large ? 0 : 4;
    }
    return 0;
}

bool fl_utf8_is_valid(const void *text, size_t size)
{
    const uint8_t *bytes = text;
    size_t at = 0;
    while (at < size) {
        uint64_t word;
        if (size - at >= sizeof(word)) { /* eight ASCII bytes at a time */
            memcpy(&word, bytes + at, sizeof(word));
            if ((word & 0x8080808080808080u) == 0) {
                at += sizeof(word);
                continue;
            }
        }
        const size_t step = char_size(bytes + at, size - at);
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

size_t fl_utf8_cut(const char *text, size_t size_max)
{
    size_t size = size_max;
    for (int back = 0; back < 3 && size > 0 && is_continuation((uint8_t)text[size]); back++) {
        size--;
    }
    return size;
}

size_t fl_utf8_trim(const char *text, size_t size)
{
    size_t start = size;
    for (int back = 0; back < 3 && start > 0 && is_continuation((uint8_t)text[start - 1]); back++) {
        start--;
    }
    if (start == 0) {
        return size;
    }
    const uint8_t lead = (uint8_t)text[start - 1];
    const size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return size - (start - 1) < wanted ? start - 1 : size;
}

void fl_utf8_repair(char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        const size_t step = char_size((const uint8_t *)text + at, size - at);
        if (step == 0) {
            text[at] = '?';
        }
        at += step != 0 ? step : 1;
    }
}
