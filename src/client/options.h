/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the `…_opts_t` structs of callers, which may be built with another version. */
#ifndef FL_CLIENT_OPTIONS_H
#define FL_CLIENT_OPTIONS_H
#include "base/error.h"

/**
 * Copy options into a struct of this version: members that the caller does not know are zero, those
 * that this library does not know are passed over.
 *
 * @param in    begins with its size; NULL: all zero
 * @param type  its name, for the message
 * @return FLUSS_KIND_ARGUMENT: a size that no such struct has
 */
FLUSS_CHECKED fluss_code_t fl_opts_read(const void *in, void *out, size_t out_size,
                                        const char *type, fluss_error_t *err);
#endif
