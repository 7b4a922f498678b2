/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_admin.h - connections, tables, administration. Any thread.
 *
 * Every administrative call answers through a future. "-> result (a, b)" names the columns of the
 * fluss_result_t; "-> void" is taken with fluss_await, "-> i64" with fluss_await_i64. Codes are the
 * server's, unchanged: FLUSS_E_TABLE_NOT_EXIST and so on. A NULL name is FLUSS_KIND_ARGUMENT. */
#ifndef FLUSS_ADMIN_H
#define FLUSS_ADMIN_H
#include "fluss_schema.h"
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- connection ---- */

/** -> conn. Connect to a cluster, or to "embedded:DIR". Copies the configuration. Fails with
 * FLUSS_KIND_NETWORK naming each address tried and the reason. */
FLUSS_API fluss_future_t *fluss_connect(const fluss_config_t *config);
/** -> void. Send what writers queued, then end all calls with FLUSS_KIND_CLOSED. The handle stays
 * valid until it is freed. */
FLUSS_API fluss_future_t *fluss_close(fluss_conn_t *conn);
/** NULL allowed. Tables, writers and scanners keep what they need alive; without fluss_close, what
 * is queued is sent in the background for at most 5 s. */
FLUSS_API void fluss_conn_free(fluss_conn_t *conn);
/** Counters and gauges of the connection: name, labels, type, value, count, sum. gives. */
FLUSS_API fluss_code_t fluss_metrics(fluss_conn_t *conn, fluss_result_t **out, fluss_error_t *err);

/* ---- tables: immutable ---- */

/** -> table. */
FLUSS_API fluss_future_t *fluss_open_table(fluss_conn_t *conn, fluss_path_t path);
/** Borrowed from the table. */
FLUSS_API const fluss_table_info_t *fluss_table_info(const fluss_table_t *table);
/** NULL allowed. */
FLUSS_API void fluss_table_free(fluss_table_t *table);

/* ---- flags of the calls below ---- */
enum {
    FLUSS_IF_EXISTS = 1,     /* drop, alter: a missing object is no error */
    FLUSS_IF_NOT_EXISTS = 2, /* create: an existing object is no error */
    FLUSS_CASCADE = 4,       /* drop database: with its tables */
    FLUSS_READABLE = 8       /* lake snapshot: the latest that can be read */
};

/* ---- databases ---- */

/** -> void. @param comment may be NULL @param props the user's own properties */
FLUSS_API fluss_future_t *fluss_create_database(fluss_conn_t *conn, const char *name,
                                                const char *comment, const fluss_kv_t *props,
                                                size_t n, unsigned flags);
/** -> void. @param set value NULL: reset that property; key NULL: value is the new comment */
FLUSS_API fluss_future_t *fluss_alter_database(fluss_conn_t *conn, const char *name,
                                               const fluss_kv_t *set, size_t n, unsigned flags);
/** -> void. */
FLUSS_API fluss_future_t *fluss_drop_database(fluss_conn_t *conn, const char *name, unsigned flags);
/** -> result (name, created_ms, table_count); the last two null where the server has no summaries.
 */
FLUSS_API fluss_future_t *fluss_list_databases(fluss_conn_t *conn);
/** -> result (name, comment, created_ms, modified_ms, property, value): a row for each property;
 * one row, property null, when there are none. */
FLUSS_API fluss_future_t *fluss_describe_database(fluss_conn_t *conn, const char *name);
/** -> i64, 0 or 1. */
FLUSS_API fluss_future_t *fluss_database_exists(fluss_conn_t *conn, const char *name);

/* ---- tables ---- */

/** -> void. */
FLUSS_API fluss_future_t *fluss_create_table(fluss_conn_t *conn, fluss_path_t path,
                                             const fluss_desc_t *desc, unsigned flags);

typedef enum {
    FLUSS_ADD_COLUMN,    /* name, type, comment, after */
    FLUSS_DROP_COLUMN,   /* name */
    FLUSS_RENAME_COLUMN, /* name, new_name */
    FLUSS_MODIFY_COLUMN, /* name, type, comment, after */
    FLUSS_SET_OPTION,    /* name, value */
    FLUSS_RESET_OPTION   /* name */
} fluss_alter_t;

typedef struct {
    fluss_alter_t what;
    const char *name, *new_name, *type, *comment;
    const char *after; /* "": first; NULL: last */
    const char *value;
} fluss_table_change_t;

/** -> void. All changes or none. */
FLUSS_API fluss_future_t *fluss_alter_table(fluss_conn_t *conn, fluss_path_t path,
                                            const fluss_table_change_t *changes, size_t n,
                                            unsigned flags);
/** -> void. */
FLUSS_API fluss_future_t *fluss_drop_table(fluss_conn_t *conn, fluss_path_t path, unsigned flags);
/** -> result (name). */
FLUSS_API fluss_future_t *fluss_list_tables(fluss_conn_t *conn, const char *database);
/** -> i64, 0 or 1. */
FLUSS_API fluss_future_t *fluss_table_exists(fluss_conn_t *conn, fluss_path_t path);
/** -> schema. @param schema_id -1: the latest */
FLUSS_API fluss_future_t *fluss_get_schema(fluss_conn_t *conn, fluss_path_t path,
                                           int32_t schema_id);
/** -> result (partition_id, bucket, row_count). */
FLUSS_API fluss_future_t *fluss_table_stats(fluss_conn_t *conn, fluss_path_t path);

/* ---- partitions: a spec gives each partition key (a filter: some of them) its value ---- */

/** -> void. */
FLUSS_API fluss_future_t *fluss_create_partition(fluss_conn_t *conn, fluss_path_t path,
                                                 const fluss_kv_t *spec, size_t n, unsigned flags);
/** -> void. */
FLUSS_API fluss_future_t *fluss_drop_partition(fluss_conn_t *conn, fluss_path_t path,
                                               const fluss_kv_t *spec, size_t n, unsigned flags);
/** -> result (partition_id, name, key, value): a row for each key of each partition, in key order.
 * @param spec a filter; n 0: all */
FLUSS_API fluss_future_t *fluss_list_partitions(fluss_conn_t *conn, fluss_path_t path,
                                                const fluss_kv_t *spec, size_t n);

/* ---- offsets and snapshots ---- */

/** -> result (bucket, offset). @param partition name, or NULL @param buckets NULL with n 0: all
 * @param spec FLUSS_EARLIEST, FLUSS_LATEST, or ms since 1970: the first batch from then on */
FLUSS_API fluss_future_t *fluss_list_offsets(fluss_conn_t *conn, fluss_path_t path,
                                             const char *partition, const int32_t *buckets,
                                             size_t n, int64_t spec);
/** -> result (table_id, snapshot_id, partition_id, partition, bucket, offset). @param snapshot_id
 * -1: the latest */
FLUSS_API fluss_future_t *fluss_lake_snapshot(fluss_conn_t *conn, fluss_path_t path,
                                              int64_t snapshot_id, unsigned flags);
/** snapshot_id -1: the newest of each bucket -> result (table_id, partition_id, bucket,
 * snapshot_id, offset). Else the files of that one of `bucket` -> result (offset, remote_path,
 * local_name). @param partition name, or NULL */
FLUSS_API fluss_future_t *fluss_kv_snapshots(fluss_conn_t *conn, fluss_path_t path,
                                             const char *partition, int64_t snapshot_id,
                                             int32_t bucket);
/** -> result (table_id, partition_id, bucket, snapshot_id): the snapshots that are gone.
 * @param snapshots offset = snapshot id */
FLUSS_API fluss_future_t *fluss_lease_snapshots(fluss_conn_t *conn, const char *lease_id,
                                                int64_t duration_ms,
                                                const fluss_position_t *snapshots, size_t n);
/** -> void. @param buckets NULL: drop the whole lease */
FLUSS_API fluss_future_t *fluss_release_snapshots(fluss_conn_t *conn, const char *lease_id,
                                                  const fluss_bucket_t *buckets, size_t n);
/** -> result (table_id, partition_id, bucket, path, offset). @param partition_id -1: none */
FLUSS_API fluss_future_t *fluss_remote_log_manifests(fluss_conn_t *conn, int64_t table_id,
                                                     int64_t partition_id);

/* ---- cluster ---- */

/** -> result (id, role, host, port, rack); role "coordinator" or "tablet". */
FLUSS_API fluss_future_t *fluss_server_nodes(fluss_conn_t *conn);
/** -> result (status, replicas, in_sync_replicas, leaders, active_leaders), one row; status
 * "GREEN", "YELLOW", "RED" or "UNKNOWN". */
FLUSS_API fluss_future_t *fluss_cluster_health(fluss_conn_t *conn);
/** -> result (key, value, source). */
FLUSS_API fluss_future_t *fluss_cluster_configs(fluss_conn_t *conn);
/** -> void. @param set value NULL: reset */
FLUSS_API fluss_future_t *fluss_alter_cluster_configs(fluss_conn_t *conn, const fluss_kv_t *set,
                                                      size_t n);

/** Texts as the server names them: "TABLE", "db.t", "User", "alice", "*", "READ", "ALLOW". NULL in
 * a filter: any. */
typedef struct {
    const char *resource_type, *resource, *principal_type, *principal;
    const char *host, *operation, *permission;
} fluss_acl_t;

/** -> result (resource_type, resource, principal_type, principal, host, operation, permission,
 * code, message): one row for each entry, code 0 where it was made. */
FLUSS_API fluss_future_t *fluss_create_acls(fluss_conn_t *conn, const fluss_acl_t *acls, size_t n);
/** -> result (resource_type, resource, principal_type, principal, host, operation, permission).
 * @param filter NULL: all */
FLUSS_API fluss_future_t *fluss_list_acls(fluss_conn_t *conn, const fluss_acl_t *filter);
/** -> result (filter, resource_type … permission, code, message): the entries that were dropped,
 * and the index of the filter that matched each. */
FLUSS_API fluss_future_t *fluss_drop_acls(fluss_conn_t *conn, const fluss_acl_t *filters, size_t n);
/** -> void. @param tag 0 permanent offline, 1 temporary offline */
FLUSS_API fluss_future_t *fluss_add_server_tag(fluss_conn_t *conn, const int32_t *servers, size_t n,
                                               int32_t tag);
/** -> void. */
FLUSS_API fluss_future_t *fluss_remove_server_tag(fluss_conn_t *conn, const int32_t *servers,
                                                  size_t n, int32_t tag);
/** -> result (id), one row. @param goals in order of priority */
FLUSS_API fluss_future_t *fluss_rebalance(fluss_conn_t *conn, const int32_t *goals, size_t n);
/** -> result (id, status, table_id, partition_id, bucket, bucket_status, old_leader, new_leader,
 * old_replicas, new_replicas). @param id NULL: the latest */
FLUSS_API fluss_future_t *fluss_rebalance_progress(fluss_conn_t *conn, const char *id);
/** -> void. @param id NULL: the latest */
FLUSS_API fluss_future_t *fluss_cancel_rebalance(fluss_conn_t *conn, const char *id);
/** -> void. */
FLUSS_API fluss_future_t *fluss_set_producer_offsets(fluss_conn_t *conn, const char *producer_id,
                                                     const fluss_position_t *pos, size_t n);
/** -> result (table_id, partition_id, bucket, offset, expires_ms). */
FLUSS_API fluss_future_t *fluss_get_producer_offsets(fluss_conn_t *conn, const char *producer_id);
/** -> void. */
FLUSS_API fluss_future_t *fluss_delete_producer_offsets(fluss_conn_t *conn,
                                                        const char *producer_id);

#ifdef __cplusplus
}
#endif
#endif
