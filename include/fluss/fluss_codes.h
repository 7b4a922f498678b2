/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_codes.h - one enumerator for each error code of the protocol: FLUSS_E_TABLE_NOT_EXIST … */
#ifndef FLUSS_CODES_H
#define FLUSS_CODES_H
enum {
#define FLUSS_CODE(number, name, retriable, stale, python, text) FLUSS_E_##name = (number),
#include "fluss_codes.def"
#undef FLUSS_CODE
};
#endif
