/* SPDX-License-Identifier: Apache-2.0 */
/* The catalog: databases, tables, partitions, and the counters of their ids, in memory and in the
 * catalog family of the key-value store. A thing exists when its record is committed. Thread: shard
 * 0, if not said otherwise.
 *
 * Reads look at memory. Changes run one after the other (fl_catalog_change): each checks, commits
 * its records off the loop (fl_change_commit), then changes memory, then the tablets of all shards
 * (fl_change_spread), then ends. */
#ifndef FL_CATALOG_H
#define FL_CATALOG_H
#include "base/containers.h"
#include "net/loop.h"
#include "server/acl.h"
#include "server/cluster_config.h"
#include "server/request.h"
#include "server/table_info.h"
#include "storage/kv_store.h"

typedef struct fl_catalog fl_catalog;
typedef struct fl_change fl_change;

typedef struct fl_partition {
    UT_hash_handle by_name, by_id;
    int64_t id;
    char *name; /* values joined by '$' */
} fl_partition;

typedef struct fl_table {
    UT_hash_handle by_name, by_id;
    int64_t id;
    char *name; /* the key by_name; info changes */
    fl_table_info *info;
    fl_partition *partitions_by_name, *partitions_by_id;
} fl_table;

typedef struct fl_database {
    UT_hash_handle by_name;
    char *name;
    fl_frame *json; /* its descriptor */
    int64_t created_ms, modified_ms;
    fl_table *tables; /* by_name */
} fl_database;

/** Read everything from the store; makes the database `fluss` in an empty one. gives
 * (fl_catalog_close). Thread: any, before the first request. */
FLUSS_CHECKED fluss_code_t fl_catalog_open(fl_server *server, fl_catalog **catalog,
                                           fluss_error_t *err);
void fl_catalog_close(fl_catalog *catalog);

/* ---- reading; NULL: there is none ---- */
fl_database *fl_catalog_database(fl_catalog *catalog, fl_slice name);
fl_table *fl_catalog_table(fl_catalog *catalog, fl_slice database, fl_slice name);
fl_table *fl_catalog_table_by_id(fl_catalog *catalog, int64_t table_id);
/** Whether the id of a table, or with partition_id >= 0 of a partition, was ever given. */
bool fl_catalog_has_given(const fl_catalog *catalog, int64_t table_id, int64_t partition_id);
fl_partition *fl_table_partition(fl_table *table, fl_slice name);
fl_partition *fl_table_partition_by_id(fl_table *table, int64_t partition_id);
/** All databases, in the order of by_name. */
fl_database *fl_catalog_databases(fl_catalog *catalog);
fl_table *fl_catalog_tables(fl_catalog *catalog); /* by_id */
size_t fl_database_table_count(const fl_database *database);
fl_acls *fl_catalog_acls(fl_catalog *catalog);
/** The tag of this server; -1: none. Also to set it, after the commit. */
int32_t *fl_catalog_server_tag(fl_catalog *catalog);
enum { FL_REBALANCE_ID_SIZE = 37 /* of a UUID as text */ };
/** The last rebalance; empty: none. Also to set it. */
char *fl_catalog_rebalance_id(fl_catalog *catalog);
/** The settings that were changed at run time. Also to set them, after the commit. */
fl_config_set *fl_catalog_configs(fl_catalog *catalog);
size_t fl_table_partition_count(const fl_table *table);

/* ---- changing ---- */
/** Tablets to add to, or remove from, the shards, or to give another info: all buckets of a table
 * or partition. */
typedef struct fl_tablet_op {
    fl_table_info *info;        /* shares until fl_tablet_ops_release */
    int64_t partition_id;       /* -1: none */
    const char *partition_name; /* NULL: none */
    bool is_removal;
} fl_tablet_op;

/** How many ops a table needs: one, or one a partition. */
size_t fl_tablet_op_count(const fl_table *table);
/** Fill the ops of a whole table; how many. Each shares the table's info. */
size_t fl_tablet_ops_fill(fl_table *table, bool is_removal, fl_tablet_op *ops);

struct fl_change {
    fl_change *next; /* waiting */
    fl_catalog *catalog;
    void (*run)(fl_change *change);
    void *context;
    fl_work work;
    fl_kv_write *write;
    void (*committed)(fl_change *change);
    fluss_error_t error; /* of the commit; code 0: done */
    fl_task task;
    size_t shard; /* where the walk is */
    fl_tablet_op *ops;
    size_t op_count;
    void (*spread)(fl_change *change);
};

/** Run `change->run` when all changes before are over. takes the change until fl_change_end. */
void fl_catalog_change(fl_catalog *catalog, fl_change *change);
/** Make room for the ops of a change: before its commit, which must not lose its effect on the
 * tablets for want of memory. */
FLUSS_CHECKED fluss_code_t fl_change_reserve(fl_change *change, fl_arena *arena, size_t op_count,
                                             fluss_error_t *err);
/** Commit durably, off the loop; then `committed`, with change->error. takes the write. */
void fl_change_commit(fl_change *change, fl_kv_write *write, void (*committed)(fl_change *));
/** Add or remove tablets on every shard, then `spread` on shard 0. */
void fl_change_spread(fl_change *change, fl_tablet_op *ops, size_t op_count,
                      void (*spread)(fl_change *));
/** Let go of what the ops share. */
void fl_tablet_ops_release(fl_change *change);
void fl_change_end(fl_change *change);

/* Records for a write. The objects exist in memory only after the commit. */
FLUSS_CHECKED fluss_code_t fl_catalog_put_database(fl_kv_write *write, const fl_database *database,
                                                   fluss_error_t *err);
void fl_catalog_delete_database(fl_kv_write *write, const fl_database *database);
FLUSS_CHECKED fluss_code_t fl_catalog_put_table(fl_kv_write *write, const fl_table_info *info,
                                                fluss_error_t *err);
/** With its partitions. */
void fl_catalog_delete_table(fl_kv_write *write, int64_t table_id);
FLUSS_CHECKED fluss_code_t fl_catalog_put_partition(fl_kv_write *write, int64_t table_id,
                                                    const fl_partition *partition,
                                                    fluss_error_t *err);
void fl_catalog_delete_partition(fl_kv_write *write, int64_t table_id, int64_t partition_id);

/** The next ids; also written to the record of the counter. Ids of changes that fail are not used
 * again while the server runs. */
int64_t fl_catalog_new_table_id(fl_catalog *catalog, fl_kv_write *write);
int64_t fl_catalog_new_partition_id(fl_catalog *catalog, fl_kv_write *write);
/** The next writer id; false: a new block of ids must be committed first. */
bool fl_catalog_new_writer_id(fl_catalog *catalog, int64_t *writer_id);
bool fl_catalog_has_writer_id(const fl_catalog *catalog);
void fl_catalog_put_writer_block(fl_catalog *catalog, fl_kv_write *write);
void fl_catalog_add_writer_block(fl_catalog *catalog);

FLUSS_CHECKED fluss_code_t fl_catalog_put_acl(fl_kv_write *write, const fl_acl *acl,
                                              fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_catalog_delete_acl(fl_kv_write *write, const fl_acl *acl,
                                                 fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_catalog_put_rebalance_id(fl_kv_write *write, const char *id,
                                                       fluss_error_t *err);
/** @param tag -1: none */
FLUSS_CHECKED fluss_code_t fl_catalog_put_server_tag(fl_kv_write *write, int32_t tag,
                                                     fluss_error_t *err);
/** All of a set, in place of what was there. */
FLUSS_CHECKED fluss_code_t fl_catalog_put_configs(fl_kv_write *write, const fl_config_set *configs,
                                                  fluss_error_t *err);

/* Memory, after the commit. Adding takes the object; false: out of memory. */
fl_database *fl_database_new(fl_slice name, fl_slice json, int64_t created_ms);
void fl_database_free(fl_database *database);
fl_table *fl_table_new(fl_table_info *info); /* takes info, on success */
void fl_table_free(fl_table *table);
fl_partition *fl_partition_new(int64_t id, fl_slice name);
void fl_partition_free(fl_partition *partition);
bool fl_catalog_add_database(fl_catalog *catalog, fl_database *database);
bool fl_catalog_add_table(fl_catalog *catalog, fl_table *table);
bool fl_table_add_partition(fl_table *table, fl_partition *partition);
/** Remove from memory; the caller frees. */
void fl_catalog_take_database(fl_catalog *catalog, fl_database *database);
void fl_catalog_take_table(fl_catalog *catalog, fl_table *table);
void fl_table_take_partition(fl_table *table, fl_partition *partition);
fl_server *fl_catalog_server(const fl_catalog *catalog);
#endif
