/* SPDX-License-Identifier: Apache-2.0 */
/* The catalog in memory, and the order of its changes. The records are in catalog_store.c. */
#include "server/catalog.h"

#include "base/log.h"
#include "server/catalog_private.h"
#include "server/server.h"
#include "server/tablet.h"

#define ADD(table, object, handle, key, key_size) \
    HASH_ADD_KEYPTR(handle, table, key, key_size, object)

/* ---- life ---- */

static fluss_code_t make_default_database(fl_catalog *catalog, fluss_error_t *err)
{
    fluss_code_t rc = 0;
    fl_kv_write *write = fl_kv_write_new();
    fl_database *database =
        fl_database_new(fl_slice_str("fluss"),
                        fl_slice_str("{\"version\":1,\"custom_properties\":{}}"), fl_wall_ms());
    if (write == NULL || database == NULL) {
        rc = fl_error_nomem(err);
        goto out;
    }
    FL_TRY_OUT(fl_catalog_put_database(write, database, err));
    FL_TRY_OUT(fl_kv_write_commit(catalog->server->kv, write, true, err));
    if (!fl_catalog_add_database(catalog, database)) {
        rc = fl_error_nomem(err);
        goto out;
    }
    database = NULL;
out:
    fl_kv_write_free(write);
    fl_database_free(database);
    return rc;
}

fluss_code_t fl_catalog_open(fl_server *server, fl_catalog **out, fluss_error_t *err)
{
    *out = NULL;
    fl_catalog *catalog = fl_calloc(1, sizeof(*catalog));
    if (catalog == NULL) {
        return fl_error_nomem(err);
    }
    catalog->server = server;
    catalog->server_tag = -1;
    catalog->acls = fl_acls_new(server->settings.principal_ignore_case);
    if (catalog->acls == NULL) {
        fl_catalog_close(catalog);
        return fl_error_nomem(err);
    }
    fluss_code_t rc = fl_catalog_load(catalog, server->kv, err);
    if (rc == 0 && catalog->databases == NULL) {
        rc = make_default_database(catalog, err);
    }
    if (rc != 0) {
        fl_catalog_close(catalog);
        return rc;
    }
    *out = catalog;
    return 0;
}

void fl_catalog_close(fl_catalog *catalog)
{
    if (catalog == NULL) {
        return;
    }
    fl_table *table, *next_table;
    HASH_ITER(by_id, catalog->tables, table, next_table)
    {
        fl_catalog_take_table(catalog, table);
        fl_table_free(table);
    }
    fl_database *database, *next_database;
    HASH_ITER(by_name, catalog->databases, database, next_database)
    {
        fl_catalog_take_database(catalog, database);
        fl_database_free(database);
    }
    fl_acls_free(catalog->acls);
    fl_config_set_deinit(&catalog->configs);
    fl_free(catalog);
}

fl_server *fl_catalog_server(const fl_catalog *catalog)
{
    return catalog->server;
}

/* ---- objects ---- */

fl_database *fl_database_new(fl_slice name, fl_slice json, int64_t created_ms)
{
    fl_database *database = fl_calloc(1, sizeof(*database));
    if (database == NULL) {
        return NULL;
    }
    database->name = fl_strndup(name.data, name.size);
    database->json = fl_frame_copy(json);
    database->created_ms = created_ms;
    database->modified_ms = created_ms;
    if (database->name == NULL || database->json == NULL) {
        fl_database_free(database);
        return NULL;
    }
    return database;
}

void fl_database_free(fl_database *database)
{
    if (database != NULL) {
        fl_frame_unref(database->json);
        fl_free(database->name);
        fl_free(database);
    }
}

fl_table *fl_table_new(fl_table_info *info)
{
    fl_table *table = fl_calloc(1, sizeof(*table));
    if (table == NULL) {
        return NULL;
    }
    table->id = info->table_id;
    table->name = fl_strdup(info->name);
    if (table->name == NULL) {
        fl_free(table);
        return NULL;
    }
    table->info = info;
    return table;
}

void fl_table_free(fl_table *table)
{
    if (table == NULL) {
        return;
    }
    fl_partition *partition, *next;
    HASH_ITER(by_id, table->partitions_by_id, partition, next)
    {
        fl_table_take_partition(table, partition);
        fl_partition_free(partition);
    }
    fl_table_info_unref(table->info);
    fl_free(table->name);
    fl_free(table);
}

fl_partition *fl_partition_new(int64_t id, fl_slice name)
{
    fl_partition *partition = fl_calloc(1, sizeof(*partition));
    if (partition != NULL) {
        partition->id = id;
        partition->name = fl_strndup(name.data, name.size);
        if (partition->name == NULL) {
            fl_free(partition);
            return NULL;
        }
    }
    return partition;
}

void fl_partition_free(fl_partition *partition)
{
    if (partition != NULL) {
        fl_free(partition->name);
        fl_free(partition);
    }
}

bool fl_catalog_add_database(fl_catalog *catalog, fl_database *database)
{
    ADD(catalog->databases, database, by_name, database->name, strlen(database->name));
    return FL_HASH_HAS(database, by_name);
}

bool fl_catalog_add_table(fl_catalog *catalog, fl_table *table)
{
    fl_database *database = fl_catalog_database(catalog, fl_slice_str(table->info->database));
    if (database == NULL) {
        return false;
    }
    ADD(database->tables, table, by_name, table->name, strlen(table->name));
    if (!FL_HASH_HAS(table, by_name)) {
        return false;
    }
    ADD(catalog->tables, table, by_id, &table->id, sizeof(table->id));
    if (!FL_HASH_HAS(table, by_id)) {
        HASH_DELETE(by_name, database->tables, table);
        return false;
    }
    return true;
}

bool fl_table_add_partition(fl_table *table, fl_partition *partition)
{
    ADD(table->partitions_by_name, partition, by_name, partition->name, strlen(partition->name));
    if (!FL_HASH_HAS(partition, by_name)) {
        return false;
    }
    ADD(table->partitions_by_id, partition, by_id, &partition->id, sizeof(partition->id));
    if (!FL_HASH_HAS(partition, by_id)) {
        HASH_DELETE(by_name, table->partitions_by_name, partition);
        return false;
    }
    return true;
}

void fl_catalog_take_database(fl_catalog *catalog, fl_database *database)
{
    HASH_DELETE(by_name, catalog->databases, database);
}

void fl_catalog_take_table(fl_catalog *catalog, fl_table *table)
{
    fl_database *database = fl_catalog_database(catalog, fl_slice_str(table->info->database));
    if (database != NULL) {
        HASH_DELETE(by_name, database->tables, table);
    }
    HASH_DELETE(by_id, catalog->tables, table);
}

void fl_table_take_partition(fl_table *table, fl_partition *partition)
{
    HASH_DELETE(by_name, table->partitions_by_name, partition);
    HASH_DELETE(by_id, table->partitions_by_id, partition);
}

/* ---- reading ---- */

fl_database *fl_catalog_database(fl_catalog *catalog, fl_slice name)
{
    fl_database *found = NULL;
    HASH_FIND(by_name, catalog->databases, name.data, name.size, found);
    return found;
}

fl_table *fl_catalog_table(fl_catalog *catalog, fl_slice database, fl_slice name)
{
    fl_table *found = NULL;
    fl_database *in = fl_catalog_database(catalog, database);
    if (in != NULL) {
        HASH_FIND(by_name, in->tables, name.data, name.size, found);
    }
    return found;
}

fl_table *fl_catalog_table_by_id(fl_catalog *catalog, int64_t table_id)
{
    fl_table *found = NULL;
    HASH_FIND(by_id, catalog->tables, &table_id, sizeof(table_id), found);
    return found;
}

bool fl_catalog_has_given(const fl_catalog *catalog, int64_t table_id, int64_t partition_id)
{
    return table_id < catalog->next_table_id &&
           (partition_id < 0 || partition_id < catalog->next_partition_id);
}

fl_partition *fl_table_partition(fl_table *table, fl_slice name)
{
    fl_partition *found = NULL;
    HASH_FIND(by_name, table->partitions_by_name, name.data, name.size, found);
    return found;
}

fl_partition *fl_table_partition_by_id(fl_table *table, int64_t partition_id)
{
    fl_partition *found = NULL;
    HASH_FIND(by_id, table->partitions_by_id, &partition_id, sizeof(partition_id), found);
    return found;
}

fl_database *fl_catalog_databases(fl_catalog *catalog)
{
    return catalog->databases;
}

fl_table *fl_catalog_tables(fl_catalog *catalog)
{
    return catalog->tables;
}

fl_acls *fl_catalog_acls(fl_catalog *catalog)
{
    return catalog->acls;
}

int32_t *fl_catalog_server_tag(fl_catalog *catalog)
{
    return &catalog->server_tag;
}

char *fl_catalog_rebalance_id(fl_catalog *catalog)
{
    return catalog->rebalance_id;
}

fl_config_set *fl_catalog_configs(fl_catalog *catalog)
{
    return &catalog->configs;
}

size_t fl_database_table_count(const fl_database *database)
{
    return HASH_CNT(by_name, database->tables);
}

size_t fl_table_partition_count(const fl_table *table)
{
    return HASH_CNT(by_id, table->partitions_by_id);
}

/* ---- counters ---- */

bool fl_catalog_has_writer_id(const fl_catalog *catalog)
{
    return catalog->next_writer_id < catalog->writer_id_limit;
}

bool fl_catalog_new_writer_id(fl_catalog *catalog, int64_t *writer_id)
{
    if (!fl_catalog_has_writer_id(catalog)) {
        return false;
    }
    *writer_id = catalog->next_writer_id++;
    return true;
}

/* ---- changes ---- */

static void start(fl_task *task)
{
    fl_change *change = FL_CONTAINER_OF(task, fl_change, task);
    change->run(change);
}

void fl_catalog_change(fl_catalog *catalog, fl_change *change)
{
    change->catalog = catalog;
    change->next = NULL;
    if (catalog->current == NULL) {
        catalog->current = change;
        change->run(change);
    } else if (catalog->waiting_first == NULL) {
        catalog->waiting_first = catalog->waiting_last = change;
    } else {
        catalog->waiting_last->next = change;
        catalog->waiting_last = change;
    }
}

void fl_change_end(fl_change *change)
{
    fl_catalog *catalog = change->catalog;
    FL_ASSERT(catalog->current == change);
    fl_change *next = catalog->waiting_first;
    catalog->current = next;
    if (next != NULL) {
        catalog->waiting_first = next->next;
        next->task.run = start;
        fl_loop_post(catalog->server->shards[0].loop, &next->task);
    }
}

fluss_code_t fl_change_reserve(fl_change *change, fl_arena *arena, size_t op_count,
                               fluss_error_t *err)
{
    change->op_count = 0;
    change->ops = fl_arena_array(arena, op_count, sizeof(*change->ops));
    return change->ops != NULL ? 0 : fl_error_nomem(err);
}

static void commit_work(fl_work *work)
{
    fl_change *change = FL_CONTAINER_OF(work, fl_change, work);
    change->error.code = 0;
    if (fl_kv_write_commit(change->catalog->server->kv, change->write, true, &change->error) != 0) {
        fl_log(FL_LOG_ERROR, "server", "catalog: %s", change->error.message);
    }
}

static void commit_done(fl_work *work)
{
    fl_change *change = FL_CONTAINER_OF(work, fl_change, work);
    fl_kv_write_free(change->write);
    change->write = NULL;
    change->committed(change);
}

void fl_change_commit(fl_change *change, fl_kv_write *write, void (*committed)(fl_change *))
{
    change->write = write;
    change->committed = committed;
    change->work = (fl_work){.work = commit_work, .done = commit_done};
    if (fl_loop_work(change->catalog->server->shards[0].loop, &change->work, &change->error) != 0) {
        commit_done(&change->work);
    }
}

static void spread_step(fl_task *task);

static void spread_walk(fl_change *change, size_t shard)
{
    fl_server *server = change->catalog->server;
    change->shard = shard;
    change->task.run = spread_step;
    fl_loop_post(server->shards[shard % server->shard_count].loop, &change->task);
}

/* Shards 0, 1, … n - 1, then, numbered n, shard 0 again. */
static void spread_step(fl_task *task)
{
    fl_change *change = FL_CONTAINER_OF(task, fl_change, task);
    fl_server *server = change->catalog->server;
    if (change->shard == server->shard_count) {
        change->spread(change);
        return;
    }
    for (size_t i = 0; i < change->op_count; i++) {
        fl_tablets_apply(&server->shards[change->shard], &change->ops[i]);
    }
    spread_walk(change, change->shard + 1);
}

void fl_change_spread(fl_change *change, fl_tablet_op *ops, size_t op_count,
                      void (*spread)(fl_change *))
{
    change->ops = ops;
    change->op_count = op_count;
    change->spread = spread;
    spread_walk(change, 0);
}

size_t fl_tablet_op_count(const fl_table *table)
{
    return table->info->is_partitioned ? fl_table_partition_count(table) : 1;
}

size_t fl_tablet_ops_fill(fl_table *table, bool is_removal, fl_tablet_op *ops)
{
    size_t count = 0;
    if (!table->info->is_partitioned) {
        ops[count++] = (fl_tablet_op){
            .info = fl_table_info_ref(table->info), .partition_id = -1, .is_removal = is_removal};
    }
    for (fl_partition *each = table->partitions_by_id; each != NULL; each = each->by_id.next) {
        ops[count++] = (fl_tablet_op){.info = fl_table_info_ref(table->info),
                                      .partition_id = each->id,
                                      .partition_name = each->name,
                                      .is_removal = is_removal};
    }
    return count;
}

void fl_tablet_ops_release(fl_change *change)
{
    for (size_t i = 0; i < change->op_count; i++) {
        fl_table_info_unref(change->ops[i].info);
    }
    change->op_count = 0;
}
