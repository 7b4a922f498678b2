/* SPDX-License-Identifier: Apache-2.0 */
/* JSON output: compact, UTF-8 as it is, escapes only where JSON demands them (quote, backslash,
 * control characters), as the Java side writes. */
#include "format/json_text.h"

static fluss_code_t write_escape(uint8_t byte, fl_buf *out, fluss_error_t *err)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char escaped[] = "\"\\bfnrt";
    const char *found = byte == 0 ? NULL : strchr(plain, byte);
    return found != NULL ? fl_buf_printf(out, err, "\\%c", escaped[found - plain])
                         : fl_buf_printf(out, err, "\\u%04X", byte);
}

fluss_code_t fl_json_text(const void *text, size_t size, fl_buf *out, fluss_error_t *err)
{
    const uint8_t *bytes = text;
    FL_TRY(fl_buf_append_byte(out, '"', err));
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] >= 0x20 && bytes[i] != '"' && bytes[i] != '\\') {
            continue;
        }
        FL_TRY(fl_buf_append(out, bytes + from, i - from, err));
        FL_TRY(write_escape(bytes[i], out, err));
        from = i + 1;
    }
    if (size > from) {
        FL_TRY(fl_buf_append(out, bytes + from, size - from, err));
    }
    return fl_buf_append_byte(out, '"', err);
}

fluss_code_t fl_json_str(const char *text, fl_buf *out, fluss_error_t *err)
{
    return fl_json_text(text, strlen(text), out, err);
}

fluss_code_t fl_json_str_array(const char *const *texts, size_t count, fl_buf *out,
                               fluss_error_t *err)
{
    FL_TRY(fl_buf_append_byte(out, '[', err));
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            FL_TRY(fl_buf_append_byte(out, ',', err));
        }
        FL_TRY(fl_json_str(texts[i], out, err));
    }
    return fl_buf_append_byte(out, ']', err);
}

fluss_code_t fl_json_str_map(const fluss_kv_t *entries, size_t count, fl_buf *out,
                             fluss_error_t *err)
{
    FL_TRY(fl_buf_append_byte(out, '{', err));
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            FL_TRY(fl_buf_append_byte(out, ',', err));
        }
        FL_TRY(fl_json_str(entries[i].key, out, err));
        FL_TRY(fl_buf_append_byte(out, ':', err));
        FL_TRY(fl_json_str(entries[i].value, out, err));
    }
    return fl_buf_append_byte(out, '}', err);
}
