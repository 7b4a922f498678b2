/* SPDX-License-Identifier: Apache-2.0 */
/* The tablets of a shard: made and removed as the catalog says, found by key. Where their files
 * are, as in the data directory of the official server:
 *
 *   DATA_DIR/DATABASE/TABLE-ID/log-BUCKET
 *   DATA_DIR/DATABASE/TABLE-ID/PARTITION-pID/log-BUCKET */
#include <stdio.h>

#include "base/log.h"
#include "server/catalog.h"
#include "server/kv_sessions.h"
#include "server/kv_stalls.h"
#include "server/server.h"
#include "server/tablet_private.h"
#include "server/tree.h"

/* A longer name of a partition is cut in the name of its directory; the id tells such apart. */
enum { FILE_NAME_MAX = 255, PARTITION_PART_MAX = 250 };

fluss_code_t fl_tablet_dir(const fl_tablet *tablet, char *dir, fluss_error_t *err)
{
    const fl_table_info *info = tablet->info;
    char id[32], partition[FILE_NAME_MAX + 2] = "";
    if (tablet->partition_name != NULL) {
        const int id_size = snprintf(id, sizeof(id), "-p%lld", (long long)tablet->key.partition_id);
        const int room = FILE_NAME_MAX - id_size;
        (void)snprintf(partition, sizeof(partition), "%.*s%s/",
                       room < PARTITION_PART_MAX ? room : PARTITION_PART_MAX,
                       tablet->partition_name, id);
    }
    const int size = snprintf(dir, FL_TABLET_DIR_SIZE, "%s/%s/%s-%lld/%slog-%d",
                              tablet->shard->server->data_dir, info->database, info->name,
                              (long long)info->table_id, partition, (int)tablet->key.bucket);
    if (size < 0 || size >= FL_TABLET_DIR_SIZE) {
        return fl_error(err, FLUSS_E_LOG_STORAGE_EXCEPTION, FLUSS_KIND_SERVER,
                        "the path of the data directory is too long: %s",
                        tablet->shard->server->data_dir);
    }
    return 0;
}

fl_tablet *fl_tablets_find(fl_shard *shard, const fl_tablet_key *key)
{
    fl_tablet *found = NULL;
    HASH_FIND(hh, shard->tablets, key, sizeof(*key), found);
    return found;
}

static void free_tablet(fl_tablet *tablet)
{
    fl_table_info_unref(tablet->info);
    fl_free(tablet->partition_name);
    fl_free(tablet);
}

static void add(fl_shard *shard, const fl_tablet_op *op, const fl_tablet_key *key)
{
    fl_tablet *tablet = fl_calloc(1, sizeof(*tablet));
    if (tablet != NULL) {
        tablet->key = *key;
        tablet->shard = shard;
        tablet->info = fl_table_info_ref(op->info);
        tablet->unsynced_last = &tablet->unsynced;
        tablet->partition_name = op->partition_name != NULL ? fl_strdup(op->partition_name) : NULL;
        if (op->partition_name == NULL || tablet->partition_name != NULL) {
            HASH_ADD(hh, shard->tablets, key, sizeof(tablet->key), tablet);
            if (FL_HASH_HAS(tablet, hh)) {
                return;
            }
        }
        free_tablet(tablet);
    }
    fl_log(FL_LOG_ERROR, "server",
           "no memory for bucket %d of table %s.%s: it is there again "
           "after a restart",
           (int)key->bucket, op->info->database, op->info->name);
}

/* ---- removal: off the loop, for it waits for the disk ---- */

static void remove_work(fl_work *work)
{
    fl_tablet *tablet = FL_CONTAINER_OF(work, fl_tablet, work);
    fluss_error_t err;
    char dir[FL_TABLET_DIR_SIZE];
    fluss_code_t rc = 0;
    if (tablet->log != NULL) {
        rc = fl_log_store_delete(tablet->log, &err);
        tablet->log = NULL;
    } else {
        rc = fl_tablet_dir(tablet, dir, &err);
        if (rc == 0) {
            rc = fl_tree_remove(dir, &err);
        }
    }
    if (rc == 0 && tablet->info->has_primary_key) {
        rc = fl_kv_tablet_erase(tablet->shard->server->kv, tablet->key.table_id,
                                tablet->key.partition_id, tablet->key.bucket, &err);
    }
    if (rc != 0) {
        fl_log(FL_LOG_WARNING, "server", "dropped bucket: %s", err.message);
    }
    if (fl_tablet_dir(tablet, dir, &err) == 0) {
        fl_tree_remove_empty_parents(dir, tablet->shard->server->data_dir);
    }
}

static void remove_done(fl_work *work)
{
    fl_tablet *tablet = FL_CONTAINER_OF(work, fl_tablet, work);
    fl_server *server = tablet->shard->server;
    free_tablet(tablet);
    fl_server_release(server);
}

void fl_tablet_remove(fl_tablet *tablet)
{
    fluss_error_t err;
    fl_server_hold(tablet->shard->server);
    tablet->work = (fl_work){.work = remove_work, .done = remove_done};
    if (fl_loop_work(tablet->shard->loop, &tablet->work, &err) != 0) {
        remove_work(&tablet->work);
        remove_done(&tablet->work);
    }
}

static void drop(fl_shard *shard, fl_tablet *tablet)
{
    HASH_DELETE(hh, shard->tablets, tablet);
    tablet->is_dropped = true;
    fl_tablet_wake(tablet);
    fl_kv_sessions_close_tablet(shard, &tablet->key);
    fl_kv_stalls_forget(tablet);
    if (!tablet->is_in_round) {
        fl_tablet_close_kv(tablet);
        fl_tablet_go_on(tablet);
    }
}

/* The table was altered. */
static void set_info(fl_tablet *tablet, fl_table_info *info)
{
    fluss_error_t err;
    if (tablet->kv != NULL && fl_kv_tablet_set_info(tablet->kv, info, &err) != 0) {
        char name[FL_TABLET_NAME_SIZE];
        fl_tablet_print(tablet, name, sizeof(name));
        fl_log(FL_LOG_ERROR, "server", "%s: stays as it was until the next start: %s", name,
               err.message);
        return;
    }
    fl_table_info_unref(tablet->info);
    tablet->info = fl_table_info_ref(info);
}

void fl_tablets_apply(fl_shard *shard, const fl_tablet_op *op)
{
    for (int32_t bucket = 0; bucket < op->info->bucket_count; bucket++) {
        const fl_tablet_key key = {
            .table_id = op->info->table_id, .partition_id = op->partition_id, .bucket = bucket};
        if (fl_server_shard_of(shard->server, key.table_id, key.partition_id, bucket) != shard) {
            continue;
        }
        fl_tablet *tablet = fl_tablets_find(shard, &key);
        if (op->is_removal && tablet != NULL) {
            drop(shard, tablet);
        } else if (!op->is_removal && tablet == NULL) {
            add(shard, op, &key);
        } else if (tablet != NULL && tablet->info != op->info) {
            set_info(tablet, op->info);
        }
    }
}

void fl_tablets_close(fl_shard *shard)
{
    fl_tablet *tablet, *next;
    fl_kv_sessions_close_all(shard);
    HASH_ITER(hh, shard->tablets, tablet, next)
    {
        HASH_DELETE(hh, shard->tablets, tablet);
        fl_tablet_close_kv(tablet);
        fl_log_store_close(tablet->log);
        free_tablet(tablet);
    }
}
