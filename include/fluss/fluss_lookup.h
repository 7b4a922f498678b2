/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_lookup.h - reading rows of primary-key tables by key. Any thread; lookups of many threads
 * travel together, one request per server while another is under way. */
#ifndef FLUSS_LOOKUP_H
#define FLUSS_LOOKUP_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t size;               /* sizeof(fluss_lookup_opts_t) */
    const char *const *prefix; /* prefix lookup by these columns: partition keys + bucket keys */
    size_t n_prefix;           /* 0: lookup by the whole primary key */
    bool insert_if_absent;     /* a missing row is inserted, with nulls, and returned */
} fluss_lookup_opts_t;

/** Open a lookup. @param opts NULL: by primary key. gives (fluss_lookup_free).
 * @return FLUSS_KIND_ARGUMENT: no primary key, or columns that are no prefix of it */
FLUSS_API fluss_code_t fluss_lookup_open(fluss_table_t *table, const fluss_lookup_opts_t *opts,
                                         fluss_lookup_t **out, fluss_error_t *err);
/**
 * Look up many keys.
 *
 * @param keys  n_keys rows of `width` values: the key columns in key order, or all columns, of
 *              which the key is used
 * @return future -> records; record.offset is the index of the key a row answers; keys without a
 *         row have no record
 */
FLUSS_API fluss_future_t *fluss_lookup(fluss_lookup_t *lookup, const fluss_datum_t *keys,
                                       size_t width, size_t n_keys);
/** NULL allowed. */
FLUSS_API void fluss_lookup_free(fluss_lookup_t *lookup);

#ifdef __cplusplus
}
#endif
#endif
