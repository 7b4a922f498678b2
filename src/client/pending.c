/* SPDX-License-Identifier: Apache-2.0 */
/* Interim: names that are not filled in yet; this file goes away. */
#include "base/alloc.h"
#include "client/client.h"
#include "client/lookups.h"
#include "client/objects.h"
#include "client/scanners.h"
#include "client/sender.h"
#include <fluss/fluss.h>
fluss_code_t fluss_metrics(fluss_conn_t *conn, fluss_result_t **out, fluss_error_t *err)
{
    (void)conn;
    (void)out;
    (void)err;
    return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_metrics");
}
fluss_future_t *fluss_lake_snapshot(fluss_conn_t *conn, fluss_path_t path, int64_t snapshot_id,
                                    unsigned flags)
{
    (void)conn;
    (void)path;
    (void)snapshot_id;
    (void)flags;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_lake_snapshot");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_kv_snapshots(fluss_conn_t *conn, fluss_path_t path, const char *partition,
                                   int64_t snapshot_id, int32_t bucket)
{
    (void)conn;
    (void)path;
    (void)partition;
    (void)snapshot_id;
    (void)bucket;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_kv_snapshots");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_lease_snapshots(fluss_conn_t *conn, const char *lease_id, int64_t duration_ms,
                                      const fluss_position_t *snapshots, size_t n)
{
    (void)conn;
    (void)lease_id;
    (void)duration_ms;
    (void)snapshots;
    (void)n;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_lease_snapshots");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_release_snapshots(fluss_conn_t *conn, const char *lease_id,
                                        const fluss_bucket_t *buckets, size_t n)
{
    (void)conn;
    (void)lease_id;
    (void)buckets;
    (void)n;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_release_snapshots");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_remote_log_manifests(fluss_conn_t *conn, int64_t table_id,
                                           int64_t partition_id)
{
    (void)conn;
    (void)table_id;
    (void)partition_id;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_remote_log_manifests");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_server_nodes(fluss_conn_t *conn)
{
    (void)conn;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_server_nodes");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_cluster_health(fluss_conn_t *conn)
{
    (void)conn;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_cluster_health");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_cluster_configs(fluss_conn_t *conn)
{
    (void)conn;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_cluster_configs");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_alter_cluster_configs(fluss_conn_t *conn, const fluss_kv_t *set, size_t n)
{
    (void)conn;
    (void)set;
    (void)n;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_alter_cluster_configs");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_create_acls(fluss_conn_t *conn, const fluss_acl_t *acls, size_t n)
{
    (void)conn;
    (void)acls;
    (void)n;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_create_acls");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_list_acls(fluss_conn_t *conn, const fluss_acl_t *filter)
{
    (void)conn;
    (void)filter;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_list_acls");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_drop_acls(fluss_conn_t *conn, const fluss_acl_t *filters, size_t n)
{
    (void)conn;
    (void)filters;
    (void)n;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_drop_acls");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_add_server_tag(fluss_conn_t *conn, const int32_t *servers, size_t n,
                                     int32_t tag)
{
    (void)conn;
    (void)servers;
    (void)n;
    (void)tag;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_add_server_tag");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_remove_server_tag(fluss_conn_t *conn, const int32_t *servers, size_t n,
                                        int32_t tag)
{
    (void)conn;
    (void)servers;
    (void)n;
    (void)tag;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_remove_server_tag");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_rebalance(fluss_conn_t *conn, const int32_t *goals, size_t n)
{
    (void)conn;
    (void)goals;
    (void)n;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_rebalance");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_rebalance_progress(fluss_conn_t *conn, const char *id)
{
    (void)conn;
    (void)id;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_rebalance_progress");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_cancel_rebalance(fluss_conn_t *conn, const char *id)
{
    (void)conn;
    (void)id;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_cancel_rebalance");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_set_producer_offsets(fluss_conn_t *conn, const char *producer_id,
                                           const fluss_position_t *pos, size_t n)
{
    (void)conn;
    (void)producer_id;
    (void)pos;
    (void)n;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_set_producer_offsets");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_get_producer_offsets(fluss_conn_t *conn, const char *producer_id)
{
    (void)conn;
    (void)producer_id;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_get_producer_offsets");
    return fl_future_failed(&e);
}
fluss_future_t *fluss_delete_producer_offsets(fluss_conn_t *conn, const char *producer_id)
{
    (void)conn;
    (void)producer_id;
    fluss_error_t e;
    (void)fl_error(&e, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_delete_producer_offsets");
    return fl_future_failed(&e);
}
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
fluss_code_t fluss_read(fluss_scanner_t *scanner, const fluss_position_t *stop, size_t n,
                        struct ArrowArrayStream *out, fluss_error_t *err)
{
    (void)scanner;
    (void)stop;
    (void)n;
    (void)out;
    (void)err;
    return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "fluss_read");
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
