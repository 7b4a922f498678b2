/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_cluster.h - administration of the cluster: servers, settings, access rights, balance,
 * producers' offsets. The rules of fluss_admin.h hold for the calls, their answers and errors. */
#ifndef FLUSS_CLUSTER_H
#define FLUSS_CLUSTER_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of administrative calls; each call names those that it reads. */
enum {
    FLUSS_IF_EXISTS = 1,     /* drop, alter: a missing object is no error */
    FLUSS_IF_NOT_EXISTS = 2, /* create: an existing object is no error */
    FLUSS_CASCADE = 4,       /* drop database: with its tables */
    FLUSS_READABLE = 8       /* lake snapshot: the latest that can be read */
};

/* ---- cluster ---- */

/**
 * List the servers of the cluster.
 *
 * @return -> result (id, role, host, port, rack), a row a server; role "coordinator" or "tablet"
 * Thread: any. Source: Admin.getServerNodes.
 */
FLUSS_API fluss_future_t *fluss_server_nodes(fluss_conn_t *conn);

/**
 * Ask how the cluster does.
 *
 * @return -> result (status, replicas, in_sync_replicas, leaders, active_leaders), one row; status
 *         "GREEN", "YELLOW", "RED" or "UNKNOWN"
 * Thread: any. Source: Admin.getClusterHealth.
 */
FLUSS_API fluss_future_t *fluss_cluster_health(fluss_conn_t *conn);

/**
 * Read the settings that can be changed while the cluster runs.
 *
 * @return -> result (key, value, source), a row a setting
 * Thread: any. Source: Admin.describeClusterConfigs.
 */
FLUSS_API fluss_future_t *fluss_cluster_configs(fluss_conn_t *conn);

/**
 * Change settings of the running cluster: all or none.
 *
 * @param set  n pairs; value NULL: back to the default
 * @return -> void. FLUSS_E_CONFIG_EXCEPTION, FLUSS_E_INVALID_CONFIG
 * Thread: any. Source: Admin.alterClusterConfigs.
 */
FLUSS_API fluss_future_t *fluss_alter_cluster_configs(fluss_conn_t *conn, const fluss_kv_t *set,
                                                      size_t n);

/* ---- access rights ---- */

/** One access rule. Texts as the server names them: "TABLE", "db.t", "User", "alice", "*", "READ",
 * "ALLOW". NULL in a filter: any. */
typedef struct {
    const char *resource_type, *resource, *principal_type, *principal;
    const char *host, *operation, *permission;
} fluss_acl_t;

/**
 * Add access rules.
 *
 * @param acls  n complete rules, copied
 * @return -> result (resource_type, resource, principal_type, principal, host, operation,
 *         permission, code, message), a row a rule, code 0 where it was made.
 *         FLUSS_E_SECURITY_DISABLED; FLUSS_KIND_ARGUMENT: a text that is no such name
 * Thread: any. Source: Admin.createAcls.
 */
FLUSS_API fluss_future_t *fluss_create_acls(fluss_conn_t *conn, const fluss_acl_t *acls, size_t n);

/**
 * List access rules.
 *
 * @param filter  copied; NULL: all
 * @return -> result (resource_type, resource, principal_type, principal, host, operation,
 *         permission), a row a rule. FLUSS_E_SECURITY_DISABLED
 * Thread: any. Source: Admin.listAcls.
 */
FLUSS_API fluss_future_t *fluss_list_acls(fluss_conn_t *conn, const fluss_acl_t *filter);

/**
 * Drop the access rules that match.
 *
 * @param filters  n filters, copied
 * @return -> result (filter, resource_type, resource, principal_type, principal, host, operation,
 *         permission, code, message), a row for each rule dropped; filter is the index of the one
 *         that matched it. FLUSS_E_SECURITY_DISABLED
 * Thread: any. Source: Admin.dropAcls.
 */
FLUSS_API fluss_future_t *fluss_drop_acls(fluss_conn_t *conn, const fluss_acl_t *filters, size_t n);

/* ---- balance ---- */

/**
 * Mark servers, so that leaders leave them.
 *
 * @param servers  n ids
 * @param tag      0 permanently offline, 1 temporarily offline
 * @return -> void. FLUSS_E_SERVER_NOT_EXIST, FLUSS_E_SERVER_TAG_ALREADY_EXIST
 * Thread: any. Source: Admin.addServerTag.
 */
FLUSS_API fluss_future_t *fluss_add_server_tag(fluss_conn_t *conn, const int32_t *servers, size_t n,
                                               int32_t tag);

/**
 * Take marks off servers.
 *
 * @param servers  n ids
 * @param tag      as in fluss_add_server_tag
 * @return -> void. FLUSS_E_SERVER_NOT_EXIST, FLUSS_E_SERVER_TAG_NOT_EXIST
 * Thread: any. Source: Admin.removeServerTag.
 */
FLUSS_API fluss_future_t *fluss_remove_server_tag(fluss_conn_t *conn, const int32_t *servers,
                                                  size_t n, int32_t tag);

/**
 * Spread buckets and leaders over the servers anew.
 *
 * @param goals  n goals in order of priority
 * @return -> result (id), one row. FLUSS_E_REBALANCE_FAILURE
 * Thread: any. Source: Admin.rebalance.
 */
FLUSS_API fluss_future_t *fluss_rebalance(fluss_conn_t *conn, const int32_t *goals, size_t n);

/**
 * See how far a rebalance is.
 *
 * @param id  as fluss_rebalance gave it; NULL: the latest
 * @return -> result (id, status, table_id, partition_id, bucket, bucket_status, old_leader,
 *         new_leader, old_replicas, new_replicas), a row a bucket. FLUSS_E_NO_REBALANCE_IN_PROGRESS
 * Thread: any. Source: Admin.listRebalanceProgress.
 */
FLUSS_API fluss_future_t *fluss_rebalance_progress(fluss_conn_t *conn, const char *id);

/**
 * Stop a rebalance where it is.
 *
 * @param id  as fluss_rebalance gave it; NULL: the latest
 * @return -> void. FLUSS_E_NO_REBALANCE_IN_PROGRESS
 * Thread: any. Source: Admin.cancelRebalance.
 */
FLUSS_API fluss_future_t *fluss_cancel_rebalance(fluss_conn_t *conn, const char *id);

/* ---- producers' offsets ---- */

/**
 * Keep log offsets on the server under a name.
 *
 * @param producer_id  the name
 * @param pos          n positions
 * @return -> void. FLUSS_E_INVALID_PRODUCER_ID
 * Thread: any. Source: Admin.registerProducerOffsets.
 */
FLUSS_API fluss_future_t *fluss_set_producer_offsets(fluss_conn_t *conn, const char *producer_id,
                                                     const fluss_position_t *pos, size_t n);

/**
 * Read the offsets that are kept under a name.
 *
 * @param producer_id  the name
 * @return -> result (table_id, partition_id, bucket, offset, expires_ms), a row a bucket; the last
 *         in ms since 1970. FLUSS_E_INVALID_PRODUCER_ID
 * Thread: any. Source: Admin.getProducerOffsets.
 */
FLUSS_API fluss_future_t *fluss_get_producer_offsets(fluss_conn_t *conn, const char *producer_id);

/**
 * Forget the offsets that are kept under a name.
 *
 * @param producer_id  the name
 * @return -> void. FLUSS_E_INVALID_PRODUCER_ID
 * Thread: any. Source: Admin.deleteProducerOffsets.
 */
FLUSS_API fluss_future_t *fluss_delete_producer_offsets(fluss_conn_t *conn,
                                                        const char *producer_id);

#ifdef __cplusplus
}
#endif
#endif
