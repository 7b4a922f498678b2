/* SPDX-License-Identifier: Apache-2.0 */
/* Small parts of JSON output: text, lists and maps of text. */
#ifndef FL_JSON_TEXT_H
#define FL_JSON_TEXT_H
#include "base/buf.h"

/** Append text as a JSON string. @param text may be NULL when size is 0 */
FLUSS_CHECKED fluss_code_t fl_json_text(const void *text, size_t size, fl_buf *out,
                                        fluss_error_t *err);
/** The same for terminated text. */
FLUSS_CHECKED fluss_code_t fl_json_str(const char *text, fl_buf *out, fluss_error_t *err);
/** Append `["a","b"]`. */
FLUSS_CHECKED fluss_code_t fl_json_str_array(const char *const *texts, size_t count, fl_buf *out,
                                             fluss_error_t *err);
/** Append `{"k":"v"}`. */
FLUSS_CHECKED fluss_code_t fl_json_str_map(const fluss_kv_t *entries, size_t count, fl_buf *out,
                                           fluss_error_t *err);
#endif
