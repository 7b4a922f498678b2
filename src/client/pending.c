/* SPDX-License-Identifier: Apache-2.0 */
/* Interim: names that are not filled in yet; this file goes away. */
#include "base/alloc.h"
#include "client/client.h"
#include "client/lookups.h"
#include "client/objects.h"
#include "client/scanners.h"
#include "client/sender.h"
#include <fluss/fluss.h>
fluss_code_t fluss_lookup_open(fluss_table_t *table, const fluss_lookup_opts_t *opts,
                               fluss_lookup_t **out, fluss_error_t *err)
{
    (void)table;
    (void)opts;
    (void)out;
    (void)err;
    return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_lookup_open");
}
fluss_future_t *fluss_lookup(fluss_lookup_t *lookup, const fluss_datum_t *keys, size_t width,
                             size_t n_keys)
{
    (void)lookup;
    (void)keys;
    (void)width;
    (void)n_keys;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_lookup");
    return fl_future_failed(&e);
}
void fluss_lookup_free(fluss_lookup_t *lookup)
{
    (void)lookup;
}
fl_lookups *fl_lookups_new(fl_client *c)
{
    (void)c;
    return fl_calloc(1, 8);
}
void fl_lookups_free(fl_lookups *s)
{
    fl_free(s);
}
void fl_lookups_close(fl_lookups *s, const fluss_error_t *w)
{
    (void)s;
    (void)w;
}
