/* SPDX-License-Identifier: Apache-2.0 */
/* What a test shows and compares of a value. */
#ifndef FL_TEST_DATUM_TEXT_H
#define FL_TEST_DATUM_TEXT_H
#include "format/datum.h"

/** Append the value of a type as text for people. */
FLUSS_CHECKED fluss_code_t datum_text(const fluss_datum_t *datum, const fl_type *type, fl_buf *out,
                                      fluss_error_t *err);
#endif
