/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_admin.h - administration of databases, tables and partitions.
 *
 * Every call answers through a future. "-> result (a, b)" names the columns of the fluss_result_t
 * that fluss_await_result gives; "-> void" is taken with fluss_await, "-> i64" with
 * fluss_await_i64. Codes are the server's, unchanged: FLUSS_E_TABLE_NOT_EXIST and so on; besides
 * those named, each call can fail with FLUSS_E_AUTHORIZATION_EXCEPTION, FLUSS_KIND_NETWORK,
 * FLUSS_KIND_TIMEOUT and FLUSS_KIND_CLOSED. A NULL handle or name is FLUSS_KIND_ARGUMENT. */
#ifndef FLUSS_ADMIN_H
#define FLUSS_ADMIN_H
#include "fluss_cluster.h"
#include "fluss_connection.h"
#include "fluss_schema.h"
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- databases ---- */

/**
 * Make a database.
 *
 * @param name     up to 200 of A-Z a-z 0-9 _ -, not beginning with "__"
 * @param comment  may be NULL
 * @param props    n pairs of the user's own; may be NULL when n is 0
 * @param flags    FLUSS_IF_NOT_EXISTS, or 0
 * @return -> void. FLUSS_E_DATABASE_ALREADY_EXIST, FLUSS_E_INVALID_DATABASE
 * Thread: any. Source: Admin.createDatabase.
 */
FLUSS_API fluss_future_t *fluss_create_database(fluss_conn_t *conn, const char *name,
                                                const char *comment, const fluss_kv_t *props,
                                                size_t n, unsigned flags);

/**
 * Change the properties or the comment of a database.
 *
 * @param name   of the database
 * @param set    n pairs: value NULL resets that property; key NULL: value is the new comment
 * @param flags  FLUSS_IF_EXISTS, or 0
 * @return -> void. FLUSS_E_DATABASE_NOT_EXIST
 * Thread: any. Source: Admin.alterDatabase.
 */
FLUSS_API fluss_future_t *fluss_alter_database(fluss_conn_t *conn, const char *name,
                                               const fluss_kv_t *set, size_t n, unsigned flags);

/**
 * Drop a database.
 *
 * @param name   of the database
 * @param flags  FLUSS_IF_EXISTS, FLUSS_CASCADE (with its tables), or 0
 * @return -> void. FLUSS_E_DATABASE_NOT_EXIST, FLUSS_E_DATABASE_NOT_EMPTY
 * Thread: any. Source: Admin.dropDatabase.
 */
FLUSS_API fluss_future_t *fluss_drop_database(fluss_conn_t *conn, const char *name, unsigned flags);

/**
 * List the databases that this user may see.
 *
 * @return -> result (name, created_ms, table_count), a row a database; created_ms in ms since 1970;
 *         the last two are null where the server has no summaries
 * Thread: any. Source: Admin.listDatabaseSummaries.
 */
FLUSS_API fluss_future_t *fluss_list_databases(fluss_conn_t *conn);

/**
 * Describe a database.
 *
 * @param name  of the database
 * @return -> result (name, comment, created_ms, modified_ms, property, value), a row a property;
 *         one row, property null, when there are none; times in ms since 1970.
 *         FLUSS_E_DATABASE_NOT_EXIST
 * Thread: any. Source: Admin.getDatabaseInfo.
 */
FLUSS_API fluss_future_t *fluss_describe_database(fluss_conn_t *conn, const char *name);

/**
 * Whether a database exists.
 *
 * @param name  of the database
 * @return -> i64, 0 or 1
 * Thread: any. Source: Admin.databaseExists.
 */
FLUSS_API fluss_future_t *fluss_database_exists(fluss_conn_t *conn, const char *name);

/* ---- tables ---- */

/**
 * Make a table.
 *
 * @param path   names, copied
 * @param desc   borrowed, copied
 * @param flags  FLUSS_IF_NOT_EXISTS, or 0
 * @return -> void. FLUSS_E_TABLE_ALREADY_EXIST, FLUSS_E_DATABASE_NOT_EXIST, FLUSS_E_INVALID_TABLE,
 *         FLUSS_E_INVALID_CONFIG, FLUSS_E_BUCKET_MAX_NUM
 * Thread: any. Source: Admin.createTable.
 */
FLUSS_API fluss_future_t *fluss_create_table(fluss_conn_t *conn, fluss_path_t path,
                                             const fluss_desc_t *desc, unsigned flags);

/** What one change of fluss_alter_table does, and the members that it reads. */
typedef enum {
    FLUSS_ADD_COLUMN,    /* name, type, comment, after */
    FLUSS_DROP_COLUMN,   /* name */
    FLUSS_RENAME_COLUMN, /* name, new_name */
    FLUSS_MODIFY_COLUMN, /* name, type, comment, after */
    FLUSS_SET_OPTION,    /* name, value */
    FLUSS_RESET_OPTION   /* name */
} fluss_alter_t;

/** One change of a table. */
typedef struct {
    fluss_alter_t what;
    const char *name, *new_name, *type, *comment;
    const char *after; /* "": first; NULL: last */
    const char *value;
} fluss_table_change_t;

/**
 * Change a table: all changes or none.
 *
 * @param path     names, copied
 * @param changes  n changes, copied
 * @param flags    FLUSS_IF_EXISTS, or 0
 * @return -> void. FLUSS_E_TABLE_NOT_EXIST, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_E_INVALID_CONFIG
 * Thread: any. Source: Admin.alterTable.
 */
FLUSS_API fluss_future_t *fluss_alter_table(fluss_conn_t *conn, fluss_path_t path,
                                            const fluss_table_change_t *changes, size_t n,
                                            unsigned flags);

/**
 * Drop a table with all its rows.
 *
 * @param path   names, copied
 * @param flags  FLUSS_IF_EXISTS, or 0
 * @return -> void. FLUSS_E_TABLE_NOT_EXIST
 * Thread: any. Source: Admin.dropTable.
 */
FLUSS_API fluss_future_t *fluss_drop_table(fluss_conn_t *conn, fluss_path_t path, unsigned flags);

/**
 * List the tables of a database.
 *
 * @param database  its name
 * @return -> result (name), a row a table. FLUSS_E_DATABASE_NOT_EXIST
 * Thread: any. Source: Admin.listTables.
 */
FLUSS_API fluss_future_t *fluss_list_tables(fluss_conn_t *conn, const char *database);

/**
 * Whether a table exists.
 *
 * @param path  names, copied
 * @return -> i64, 0 or 1
 * Thread: any. Source: Admin.tableExists.
 */
FLUSS_API fluss_future_t *fluss_table_exists(fluss_conn_t *conn, fluss_path_t path);

/**
 * Fetch one version of a table's schema.
 *
 * @param path       names, copied
 * @param schema_id  1 or more, as in fluss_table_info; -1: the latest
 * @return -> schema (fluss_await_schema). FLUSS_E_TABLE_NOT_EXIST, FLUSS_E_SCHEMA_NOT_EXIST
 * Thread: any. Source: Admin.getTableSchema.
 */
FLUSS_API fluss_future_t *fluss_get_schema(fluss_conn_t *conn, fluss_path_t path,
                                           int32_t schema_id);

/**
 * Count the rows of each bucket.
 *
 * @param path  names, copied
 * @return -> result (partition_id, bucket, row_count), a row a bucket. FLUSS_E_TABLE_NOT_EXIST
 * Thread: any. Source: Admin.getTableStats.
 */
FLUSS_API fluss_future_t *fluss_table_stats(fluss_conn_t *conn, fluss_path_t path);

/* ---- partitions ---- */

/**
 * Make a partition.
 *
 * @param path   names, copied
 * @param spec   n pairs: every partition key with its value as text
 * @param flags  FLUSS_IF_NOT_EXISTS, or 0
 * @return -> void. FLUSS_E_PARTITION_ALREADY_EXISTS, FLUSS_E_PARTITION_SPEC_INVALID,
 *         FLUSS_E_TABLE_NOT_PARTITIONED, FLUSS_E_PARTITION_MAX_NUM
 * Thread: any. Source: Admin.createPartition.
 */
FLUSS_API fluss_future_t *fluss_create_partition(fluss_conn_t *conn, fluss_path_t path,
                                                 const fluss_kv_t *spec, size_t n, unsigned flags);

/**
 * Drop a partition with all its rows.
 *
 * @param path   names, copied
 * @param spec   n pairs: every partition key with its value as text
 * @param flags  FLUSS_IF_EXISTS, or 0
 * @return -> void. FLUSS_E_PARTITION_NOT_EXISTS, FLUSS_E_PARTITION_SPEC_INVALID
 * Thread: any. Source: Admin.dropPartition.
 */
FLUSS_API fluss_future_t *fluss_drop_partition(fluss_conn_t *conn, fluss_path_t path,
                                               const fluss_kv_t *spec, size_t n, unsigned flags);

/**
 * List the partitions of a table.
 *
 * @param path  names, copied
 * @param spec  a filter of n pairs, some of the partition keys; n 0: all partitions
 * @return -> result (partition_id, name, key, value), a row for each key of each partition, in key
 *         order. FLUSS_E_TABLE_NOT_PARTITIONED, FLUSS_E_PARTITION_SPEC_INVALID
 * Thread: any. Source: Admin.listPartitionInfos.
 */
FLUSS_API fluss_future_t *fluss_list_partitions(fluss_conn_t *conn, fluss_path_t path,
                                                const fluss_kv_t *spec, size_t n);

/* ---- offsets and snapshots ---- */

/**
 * Find log offsets of buckets.
 *
 * @param path       names, copied
 * @param partition  its name; NULL for a table without partitions
 * @param buckets    n bucket numbers; NULL with n 0: all
 * @param spec       FLUSS_EARLIEST, FLUSS_LATEST, or ms since 1970: the first batch from then on
 * @return -> result (bucket, offset), a row a bucket. FLUSS_E_TABLE_NOT_EXIST,
 *         FLUSS_E_PARTITION_NOT_EXISTS, FLUSS_E_UNKNOWN_TABLE_OR_BUCKET, FLUSS_E_INVALID_TIMESTAMP:
 *         a time in the future
 * Thread: any. Source: Admin.listOffsets.
 */
FLUSS_API fluss_future_t *fluss_list_offsets(fluss_conn_t *conn, fluss_path_t path,
                                             const char *partition, const int32_t *buckets,
                                             size_t n, int64_t spec);

/**
 * Find the log offsets that a lake snapshot holds.
 *
 * @param path         names, copied
 * @param snapshot_id  -1: the latest
 * @param flags        FLUSS_READABLE: the latest that can be read
 * @return -> result (table_id, snapshot_id, partition_id, partition, bucket, offset), a row a
 *         bucket. FLUSS_E_LAKE_STORAGE_NOT_CONFIGURED, FLUSS_E_LAKE_SNAPSHOT_NOT_EXIST
 * Thread: any. Source: Admin.getLatestLakeSnapshot, getLakeSnapshot, getReadableLakeSnapshot.
 */
FLUSS_API fluss_future_t *fluss_lake_snapshot(fluss_conn_t *conn, fluss_path_t path,
                                              int64_t snapshot_id, unsigned flags);

/**
 * List the key-value snapshots of a primary-key table, or the files of one.
 *
 * @param path         names, copied
 * @param partition    its name; NULL for a table without partitions
 * @param snapshot_id  -1: the newest of each bucket; else the files of that one
 * @param bucket       of that snapshot; not read when snapshot_id is -1
 * @return -> result (table_id, partition_id, bucket, snapshot_id, offset), or (offset, remote_path,
 *         local_name). FLUSS_E_KV_SNAPSHOT_NOT_EXIST, FLUSS_E_NON_PRIMARY_KEY_TABLE
 * Thread: any. Source: Admin.getLatestKvSnapshots, getKvSnapshotMetadata.
 */
FLUSS_API fluss_future_t *fluss_kv_snapshots(fluss_conn_t *conn, fluss_path_t path,
                                             const char *partition, int64_t snapshot_id,
                                             int32_t bucket);

/**
 * List the key-value snapshots that are kept: the newest ones, and those that leases hold.
 *
 * @param table_id      as in fluss_table_info
 * @param partition_id  -1: the table has no partitions
 * @return -> result (table_id, partition_id, bucket, snapshot_id), a row a snapshot.
 *         FLUSS_E_TABLE_NOT_EXIST, FLUSS_E_PARTITION_NOT_EXISTS
 * Thread: any. Source: Admin.listKvSnapshots.
 */
FLUSS_API fluss_future_t *fluss_list_kv_snapshots(fluss_conn_t *conn, int64_t table_id,
                                                  int64_t partition_id);

/**
 * Keep snapshots from being removed, for a while.
 *
 * @param lease_id     name of the lease, made when new
 * @param duration_ms  from now, milliseconds
 * @param snapshots    n buckets; offset is the snapshot's id
 * @return -> result (table_id, partition_id, bucket, snapshot_id): those that are gone already
 * Thread: any. Source: Admin.createKvSnapshotLease, KvSnapshotLease.acquireSnapshots.
 */
FLUSS_API fluss_future_t *fluss_lease_snapshots(fluss_conn_t *conn, const char *lease_id,
                                                int64_t duration_ms,
                                                const fluss_position_t *snapshots, size_t n);

/**
 * Give leased snapshots up.
 *
 * @param lease_id  name of the lease
 * @param buckets   n buckets; NULL: drop the whole lease
 * @return -> void
 * Thread: any. Source: KvSnapshotLease.releaseSnapshots, dropLease.
 */
FLUSS_API fluss_future_t *fluss_release_snapshots(fluss_conn_t *conn, const char *lease_id,
                                                  const fluss_bucket_t *buckets, size_t n);

/**
 * List the manifests of log segments that were moved to remote storage.
 *
 * @param table_id      as in fluss_table_info
 * @param partition_id  -1: the table has no partitions
 * @return -> result (table_id, partition_id, bucket, path, offset), a row a bucket
 * Thread: any. Source: Admin.listRemoteLogManifests.
 */
FLUSS_API fluss_future_t *fluss_remote_log_manifests(fluss_conn_t *conn, int64_t table_id,
                                                     int64_t partition_id);

/**
 * Get what opens the cluster's remote files: those of the log, of snapshots.
 *
 * @return -> result (scheme, token, expires_ms, key, value), a row for each further setting of the
 *         file system, at least one; token is JSON, empty when none is needed; expires_ms in ms
 *         since 1970, null: never. FLUSS_E_SECURITY_TOKEN_EXCEPTION
 * Thread: any. Source: SecurityTokenManager.
 */
FLUSS_API fluss_future_t *fluss_file_system_token(fluss_conn_t *conn);

#ifdef __cplusplus
}
#endif
#endif
