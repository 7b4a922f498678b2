/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: one caller-owned struct of fixed size (fluss_error_t). A message is set once, at the
 * deepest place that knows; callers add context in front of it. */
#ifndef FL_ERROR_H
#define FL_ERROR_H
#include <fluss/fluss_types.h>

#include "base/attrs.h"

/**
 * Fill an error and return its code, so that a failing function ends with `return fl_error(…)`.
 *
 * @param err  may be NULL
 * @param code not 0; a code of the protocol or FLUSS_E_CLIENT; decides `retriable`
 * @return code. Thread: any.
 */
fluss_code_t fl_error(fluss_error_t *err, fluss_code_t code, fluss_kind_t kind, const char *format,
                      ...) FL_PRINTF(4, 5);

/** Bad argument of a caller: FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT. */
fluss_code_t fl_error_argument(fluss_error_t *err, const char *format, ...) FL_PRINTF(2, 3);

/** Bytes that break their format: FLUSS_E_CORRUPT_MESSAGE, FLUSS_KIND_CORRUPT. */
fluss_code_t fl_error_corrupt(fluss_error_t *err, const char *format, ...) FL_PRINTF(2, 3);

/** Out of memory: FLUSS_E_CLIENT, FLUSS_KIND_NOMEM, without using the heap. */
fluss_code_t fl_error_nomem(fluss_error_t *err);

/** An error that the other side sent: kind SERVER. Of a Java stack trace the message and its causes
 * are kept. @param text not terminated, may be NULL with size 0: the code's own text. */
fluss_code_t fl_error_server(fluss_error_t *err, fluss_code_t code, const char *text, size_t size);

/** Put context in front of the message of a filled error ("table db.t: …"). err may be NULL. */
void fl_error_prefix(fluss_error_t *err, const char *format, ...) FL_PRINTF(2, 3);

/** Static facts of a code; an unknown code has the facts of -1 and the name "UNKNOWN". */
const char *fl_code_name(fluss_code_t code);
const char *fl_code_text(fluss_code_t code);
bool fl_code_is_known(fluss_code_t code);
bool fl_code_is_retriable(fluss_code_t code);
bool fl_code_is_stale_metadata(fluss_code_t code);
#endif
