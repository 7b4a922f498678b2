/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the catalog, shared by catalog.c (memory, changes) and catalog_store.c (records).
 */
#ifndef FL_CATALOG_PRIVATE_H
#define FL_CATALOG_PRIVATE_H
#include "server/catalog.h"

struct fl_catalog {
    fl_server *server;
    fl_database *databases; /* by_name */
    fl_table *tables;       /* by_id */
    fl_acls *acls;
    int32_t server_tag; /* -1: none */
    char rebalance_id[FL_REBALANCE_ID_SIZE];
    fl_config_set configs; /* that were changed at run time */
    int64_t next_table_id, next_partition_id;
    int64_t next_writer_id, writer_id_limit; /* ids below the limit are committed */
    fl_change *current;                      /* running */
    fl_change *waiting_first, *waiting_last;
};

/** Fill an empty catalog from the store. */
FLUSS_CHECKED fluss_code_t fl_catalog_load(fl_catalog *catalog, fl_kv_store *kv,
                                           fluss_error_t *err);
#endif
