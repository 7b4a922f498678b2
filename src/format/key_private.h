/* SPDX-License-Identifier: Apache-2.0 */
/* The Hudi key, for key_codec.c. */
#ifndef FL_KEY_PRIVATE_H
#define FL_KEY_PRIVATE_H
#include "format/row_codec.h"

FLUSS_CHECKED fluss_code_t fl_key_encode_hudi(const fl_type *const *types,
                                              const fluss_datum_t *values, size_t count,
                                              fl_buf *out, fluss_error_t *err);
#endif
