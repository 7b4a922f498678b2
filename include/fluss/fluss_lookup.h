/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_lookup.h - reading rows of primary-key tables by key. Any thread; lookups of many threads
 * travel together, one request per server while another is under way. */
#ifndef FLUSS_LOOKUP_H
#define FLUSS_LOOKUP_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lookups ---- */

/** How to look up; everything may be left out. */
typedef struct {
    size_t size;               /* sizeof(fluss_lookup_opts_t) */
    const char *const *prefix; /* prefix lookup by these columns: partition keys + bucket keys */
    size_t n_prefix;           /* 0: lookup by the whole primary key */
    bool insert_if_absent;     /* a missing row is inserted, with nulls, and returned */
} fluss_lookup_opts_t;

/**
 * Open a lookup on a primary-key table.
 *
 * @param table  borrowed; may be freed before the lookup
 * @param opts   copied; NULL: by primary key
 * @param out    gives (fluss_lookup_free); NULL on failure
 * @return 0; FLUSS_KIND_ARGUMENT: no primary key, or columns that are no prefix of it;
 *         FLUSS_KIND_STATE: the child of a fork; FLUSS_KIND_CLOSED
 * Thread: any. Source: Lookup.createLookuper, lookupBy, enableInsertIfNotExists.
 */
FLUSS_API fluss_code_t fluss_lookup_open(fluss_table_t *table, const fluss_lookup_opts_t *opts,
                                         fluss_lookup_t **out, fluss_error_t *err);

/**
 * Look up many keys at once.
 *
 * @param keys    n_keys rows of `width` values, one row after the other, copied; NULL when n_keys
 *                is 0
 * @param width   number of key columns, in key order, or of all columns, of which the key is used
 * @param n_keys  0 or more
 * @return -> records (fluss_await_records): rows in the order of the keys, record.offset is the
 *         index of the key that a row answers; keys without a row have no record, a prefix may have
 *         many. FLUSS_KIND_ARGUMENT names the column; FLUSS_KIND_TIMEOUT; FLUSS_KIND_CLOSED
 * Thread: any. Cost: keys are copied once; one request a server. Source: Lookuper.lookup.
 */
FLUSS_API fluss_future_t *fluss_lookup(fluss_lookup_t *lookup, const fluss_datum_t *keys,
                                       size_t width, size_t n_keys);

/**
 * Release the handle. Lookups under way are still answered.
 *
 * @param lookup  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_lookup_free(fluss_lookup_t *lookup);

#ifdef __cplusplus
}
#endif
#endif
