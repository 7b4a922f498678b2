/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the cluster. Answers are merged: tables and partitions that an answer does not
 * name stay; servers are replaced as a whole, since every answer names them all. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/metadata_private.h"

enum { BUCKET_COUNT_MAX = 1 << 20 };

static void free_leaders(fl_leaders_entry *entry)
{
    fl_free(entry->leaders.leader_ids);
    fl_free(entry);
}

void fl_metadata_clear(fl_metadata *metadata)
{
    fl_leaders_entry *leaders, *next_leaders;
    HASH_ITER(hh, metadata->leaders, leaders, next_leaders)
    {
        HASH_DEL(metadata->leaders, leaders);
        free_leaders(leaders);
    }
    fl_partition_entry *partition, *next_partition;
    HASH_ITER(hh, metadata->partitions, partition, next_partition)
    {
        HASH_DEL(metadata->partitions, partition);
        fl_free(partition);
    }
    fl_name_entry *name, *next_name;
    HASH_ITER(hh, metadata->names, name, next_name)
    {
        HASH_DEL(metadata->names, name);
        fl_free(name);
    }
    fl_free(metadata->servers);
    metadata->servers = NULL;
    metadata->server_count = 0;
}

/* ---- servers ---- */

static fluss_code_t copy_server(const fl_msg_pb_server_node *node, bool is_coordinator,
                                fl_server *server, fluss_error_t *err)
{
    *server = (fl_server){.id = node->node_id, .is_coordinator = is_coordinator};
    const int host_size = (int)node->host.size;
    const char *host = (const char *)node->host.data;
    const bool is_path = node->host.size > 5 && memcmp(host, "unix:", 5) == 0;
    const bool is_v6 =
        !is_path && node->host.size > 0 && memchr(host, ':', node->host.size) != NULL;
    if (node->host.size + 16 > sizeof(server->address)) {
        return fl_error_corrupt(err, "metadata: host name of server %d has %zu bytes",
                                node->node_id, node->host.size);
    }
    if (is_path) {
        (void)snprintf(server->address, sizeof(server->address), "%.*s", host_size, host);
    } else {
        (void)snprintf(server->address, sizeof(server->address), "%s%.*s%s:%d",
                       is_v6 && host[0] != '[' ? "[" : "", host_size, host,
                       is_v6 && host[0] != '[' ? "]" : "", node->port);
    }
    if (node->has_rack) {
        (void)snprintf(server->rack, sizeof(server->rack), "%.*s",
                       (int)(node->rack.size < 63 ? node->rack.size : 63),
                       (const char *)node->rack.data);
    }
    return 0;
}

static fluss_code_t merge_servers(fl_metadata *metadata, const fl_msg_metadata_response *response,
                                  fluss_error_t *err)
{
    const size_t count = response->tablet_servers_count + response->has_coordinator_server;
    if (count == 0) {
        return 0;
    }
    fl_server *servers = fl_calloc(count, sizeof(*servers));
    if (servers == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = 0;
    size_t filled = 0;
    if (response->has_coordinator_server) {
        rc = copy_server(&response->coordinator_server, true, &servers[filled++], err);
    }
    for (size_t i = 0; i < response->tablet_servers_count && rc == 0; i++) {
        rc = copy_server(&response->tablet_servers[i], false, &servers[filled++], err);
    }
    if (rc != 0) {
        fl_free(servers);
        return rc;
    }
    fl_free(metadata->servers);
    metadata->servers = servers;
    metadata->server_count = count;
    return 0;
}

fluss_code_t fl_metadata_coordinator(const fl_metadata *metadata, const char **address,
                                     fluss_error_t *err)
{
    for (size_t i = 0; i < metadata->server_count; i++) {
        if (metadata->servers[i].is_coordinator) {
            *address = metadata->servers[i].address;
            return 0;
        }
    }
    *address = NULL;
    return fl_error(err, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK,
                    "the cluster names no coordinator");
}

const char *fl_metadata_any_server(fl_metadata *metadata)
{
    for (size_t i = 0; i < metadata->server_count; i++) {
        const fl_server *server =
            &metadata->servers[metadata->next_server++ % metadata->server_count];
        if (!server->is_coordinator) {
            return server->address;
        }
    }
    return NULL;
}

const char *fl_metadata_server(const fl_metadata *metadata, int32_t id)
{
    for (size_t i = 0; i < metadata->server_count; i++) {
        if (!metadata->servers[i].is_coordinator && metadata->servers[i].id == id) {
            return metadata->servers[i].address;
        }
    }
    return NULL;
}

size_t fl_metadata_server_count(const fl_metadata *metadata)
{
    return metadata->server_count;
}

const fl_server *fl_metadata_server_at(const fl_metadata *metadata, size_t i)
{
    return &metadata->servers[i];
}

/* ---- leaders ---- */

static fl_leaders_entry *find_leaders(const fl_metadata *metadata, int64_t table_id,
                                      int64_t partition_id)
{
    const fl_leaders_key key = {.table_id = table_id, .partition_id = partition_id};
    fl_leaders_entry *entry;
    HASH_FIND(hh, metadata->leaders, &key, sizeof(key), entry);
    return entry;
}

static fluss_code_t fill_leaders(fl_leaders *leaders, const fl_msg_pb_bucket_metadata *buckets,
                                 size_t count, fluss_error_t *err)
{
    size_t needed = 0;
    for (size_t i = 0; i < count; i++) {
        if (buckets[i].bucket_id < 0 || buckets[i].bucket_id >= BUCKET_COUNT_MAX) {
            return fl_error_corrupt(err, "metadata: bucket %d", buckets[i].bucket_id);
        }
        const size_t bucket_count = (size_t)buckets[i].bucket_id + 1;
        needed = bucket_count > needed ? bucket_count : needed;
    }
    int32_t *ids = fl_alloc(needed * sizeof(*ids) + 1);
    if (ids == NULL) {
        return fl_error_nomem(err);
    }
    memset(ids, 0xFF, needed * sizeof(*ids));
    for (size_t i = 0; i < count; i++) {
        if (buckets[i].has_leader_id) {
            ids[buckets[i].bucket_id] = buckets[i].leader_id;
        }
    }
    fl_free(leaders->leader_ids);
    leaders->leader_ids = ids;
    leaders->bucket_count = needed;
    return 0;
}

static fluss_code_t merge_leaders(fl_metadata *metadata, int64_t table_id, int64_t partition_id,
                                  const fl_msg_pb_bucket_metadata *buckets, size_t count,
                                  fluss_error_t *err)
{
    fl_leaders_entry *entry = find_leaders(metadata, table_id, partition_id);
    if (entry == NULL) {
        entry = fl_calloc(1, sizeof(*entry));
        if (entry == NULL) {
            return fl_error_nomem(err);
        }
        entry->key = (fl_leaders_key){.table_id = table_id, .partition_id = partition_id};
        entry->leaders.table_id = table_id;
        entry->leaders.partition_id = partition_id;
        HASH_ADD(hh, metadata->leaders, key, sizeof(entry->key), entry);
        if (!FL_HASH_HAS(entry, hh)) {
            fl_free(entry);
            return fl_error_nomem(err);
        }
    }
    return fill_leaders(&entry->leaders, buckets, count, err);
}

const fl_leaders *fl_metadata_leaders(const fl_metadata *metadata, int64_t table_id,
                                      int64_t partition_id)
{
    const fl_leaders_entry *entry = find_leaders(metadata, table_id, partition_id);
    return entry != NULL ? &entry->leaders : NULL;
}

int32_t fl_metadata_leader(const fl_metadata *metadata, const fluss_bucket_t *bucket)
{
    const fl_leaders *leaders =
        fl_metadata_leaders(metadata, bucket->table_id, bucket->partition_id);
    if (leaders == NULL || bucket->bucket < 0 || (size_t)bucket->bucket >= leaders->bucket_count) {
        return FL_NO_LEADER;
    }
    return leaders->leader_ids[bucket->bucket];
}

void fl_metadata_forget_leader(fl_metadata *metadata, const fluss_bucket_t *bucket)
{
    fl_leaders_entry *entry = find_leaders(metadata, bucket->table_id, bucket->partition_id);
    if (entry != NULL && bucket->bucket >= 0 &&
        (size_t)bucket->bucket < entry->leaders.bucket_count) {
        entry->leaders.leader_ids[bucket->bucket] = FL_NO_LEADER;
    }
}

/* ---- partitions ---- */

static fl_partition_entry *new_partition(int64_t table_id, const void *name, size_t size)
{
    const size_t key_size = sizeof(table_id) + size;
    fl_partition_entry *entry = fl_calloc(1, sizeof(*entry) + key_size + 1);
    if (entry != NULL) {
        entry->table_id = table_id;
        entry->key_size = key_size;
        memcpy(entry->key, &table_id, sizeof(table_id));
        memcpy(entry->key + sizeof(table_id), name, size);
    }
    return entry;
}

static fluss_code_t merge_partition(fl_metadata *metadata,
                                    const fl_msg_pb_partition_metadata *partition,
                                    fluss_error_t *err)
{
    fl_partition_entry *fresh = new_partition(partition->table_id, partition->partition_name.data,
                                              partition->partition_name.size);
    if (fresh == NULL) {
        return fl_error_nomem(err);
    }
    fl_partition_entry *known;
    HASH_FIND(hh, metadata->partitions, fresh->key, fresh->key_size, known);
    if (known != NULL) {
        fl_free(fresh);
        fresh = known;
    } else {
        HASH_ADD_KEYPTR(hh, metadata->partitions, fresh->key, fresh->key_size, fresh);
        if (!FL_HASH_HAS(fresh, hh)) {
            fl_free(fresh);
            return fl_error_nomem(err);
        }
    }
    fresh->partition_id = partition->partition_id;
    return merge_leaders(metadata, partition->table_id, partition->partition_id,
                         partition->bucket_metadata, partition->bucket_metadata_count, err);
}

int64_t fl_metadata_partition(const fl_metadata *metadata, int64_t table_id, const char *name)
{
    fl_partition_entry *wanted = new_partition(table_id, name, strlen(name));
    if (wanted == NULL) {
        return FL_NO_PARTITION;
    }
    fl_partition_entry *known;
    HASH_FIND(hh, metadata->partitions, wanted->key, wanted->key_size, known);
    fl_free(wanted);
    return known != NULL ? known->partition_id : FL_NO_PARTITION;
}

const char *fl_metadata_partition_name(const fl_metadata *metadata, int64_t partition_id)
{
    for (const fl_partition_entry *at = metadata->partitions; at != NULL; at = at->hh.next) {
        if (at->partition_id == partition_id) {
            return at->key + sizeof(at->table_id);
        }
    }
    return NULL;
}

/* ---- names ---- */

static fl_name_entry *new_name(fl_slice database, fl_slice table)
{
    fl_name_entry *entry = fl_calloc(1, sizeof(*entry) + database.size + table.size + 2);
    if (entry != NULL) {
        memcpy(entry->key, database.data, database.size);
        memcpy(entry->key + database.size + 1, table.data, table.size);
        entry->key_size = database.size + table.size + 2;
    }
    return entry;
}

static fluss_code_t replaced_error(const char *database, const char *table, int64_t table_id,
                                   int64_t other_id, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_TABLE_NOT_EXIST, FLUSS_KIND_SERVER,
                    "the table %s.%s with id %lld does not exist any more; the name is that of a "
                    "table with id %lld",
                    database, table, (long long)table_id, (long long)other_id);
}

fluss_code_t fl_metadata_check_owner(const char *database, const char *table, int64_t table_id,
                                     const fl_reply *reply, const fluss_error_t *failure,
                                     fluss_error_t *err)
{
    if (failure != NULL) {
        *err = *failure;
        return err->code;
    }
    const fl_msg_get_table_info_response *info = reply->message;
    return info->table_id == table_id
               ? 0
               : replaced_error(database, table, table_id, info->table_id, err);
}

bool fl_metadata_is_replaced(const fl_metadata *metadata, const char *database, const char *table,
                             int64_t table_id, fluss_error_t *err)
{
    fl_name_entry *wanted = new_name(fl_slice_str(database), fl_slice_str(table)), *known = NULL;
    if (wanted != NULL) {
        HASH_FIND(hh, metadata->names, wanted->key, wanted->key_size, known);
        fl_free(wanted);
    }
    if (known == NULL || known->table_id == table_id) {
        return false;
    }
    (void)replaced_error(database, table, table_id, known->table_id, err);
    return true;
}

/* All that is known of a table that is gone. */
static void forget_table(fl_metadata *metadata, int64_t table_id)
{
    fl_leaders_entry *leaders, *next_leaders;
    HASH_ITER(hh, metadata->leaders, leaders, next_leaders)
    {
        if (leaders->key.table_id == table_id) {
            HASH_DEL(metadata->leaders, leaders);
            free_leaders(leaders);
        }
    }
    fl_partition_entry *partition, *next_partition;
    HASH_ITER(hh, metadata->partitions, partition, next_partition)
    {
        if (partition->table_id == table_id) {
            HASH_DEL(metadata->partitions, partition);
            fl_free(partition);
        }
    }
}

static fluss_code_t merge_name(fl_metadata *metadata, const fl_msg_pb_table_metadata *table,
                               fluss_error_t *err)
{
    fl_name_entry *fresh = new_name(table->table_path.database_name, table->table_path.table_name);
    if (fresh == NULL) {
        return fl_error_nomem(err);
    }
    fl_name_entry *known;
    HASH_FIND(hh, metadata->names, fresh->key, fresh->key_size, known);
    if (known != NULL) {
        fl_free(fresh);
        if (known->table_id != table->table_id) {
            forget_table(metadata, known->table_id);
        }
    } else {
        known = fresh;
        HASH_ADD_KEYPTR(hh, metadata->names, known->key, known->key_size, known);
        if (!FL_HASH_HAS(known, hh)) {
            fl_free(known);
            return fl_error_nomem(err);
        }
    }
    known->table_id = table->table_id;
    return 0;
}

fluss_code_t fl_metadata_merge(fl_metadata *metadata, const fl_msg_metadata_response *response,
                               fluss_error_t *err)
{
    FL_TRY(merge_servers(metadata, response, err));
    metadata->is_known = true;
    for (size_t i = 0; i < response->table_metadata_count; i++) {
        const fl_msg_pb_table_metadata *table = &response->table_metadata[i];
        FL_TRY(merge_name(metadata, table, err));
        if (table->bucket_metadata_count > 0) {
            FL_TRY(merge_leaders(metadata, table->table_id, FL_NO_PARTITION, table->bucket_metadata,
                                 table->bucket_metadata_count, err));
        }
    }
    for (size_t i = 0; i < response->partition_metadata_count; i++) {
        FL_TRY(merge_partition(metadata, &response->partition_metadata[i], err));
    }
    return 0;
}
