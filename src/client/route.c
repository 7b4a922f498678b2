/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bucket's batch goes: partition id, leader. What is missing is asked for, once
 * a table at a time; when the answer comes, all waiting buckets are looked at again. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/metadata.h"
#include "client/sender_private.h"
#include "protocol/messages.h"

enum {
    TABLE_GONE_MS_MAX = 5000, /* a table may be unknown so long right after it was made */
    RETRY_MS_MIN = 20,
    RETRY_MS_MAX = 1000
};

static void back_off(fl_write_bucket *bucket)
{
    const int64_t delay_ms = fl_backoff_ms(bucket->failed_count, RETRY_MS_MIN, RETRY_MS_MAX);
    bucket->failed_count++;
    bucket->not_before_ms = fl_clock_ms() + fl_jitter_ms(delay_ms);
    fl_sender_wake_at(bucket->partition->table->sender, bucket->not_before_ms);
}

/* ---- metadata ---- */

/* What the bucket's wait ends with, if it has lasted too long. */
static bool is_hopeless(const fl_write_bucket *bucket, const fluss_error_t *err)
{
    const fl_write_table *table = bucket->partition->table;
    const fluss_config_t *config = table->sender->client->config;
    const int64_t waited_ms = fl_clock_ms() - bucket->stuck_since_ms;
    if (err->code == FLUSS_E_PARTITION_NOT_EXISTS) {
        return waited_ms >= config->writer_partition_wait_ms.number;
    }
    if (err->code == FLUSS_E_TABLE_NOT_EXIST) {
        return table->is_replaced || waited_ms >= TABLE_GONE_MS_MAX;
    }
    return !err->retriable && err->kind != FLUSS_KIND_CLOSED;
}

static void fail_hopeless(fl_write_partition *partition, const fluss_error_t *err)
{
    for (int32_t i = 0; i < partition->table->bucket_count; i++) {
        fl_write_bucket *bucket = &partition->buckets[i];
        if (bucket->stuck_since_ms != 0 && is_hopeless(bucket, err)) {
            bucket->stuck_since_ms = 0;
            bucket->failed_count = 0;
            fl_bucket_fail_all(bucket, err);
        }
    }
    fl_sender_check_waiters(partition->table);
}

static void look_at_partition(fl_write_partition *partition)
{
    for (int32_t i = 0; i < partition->table->bucket_count; i++) {
        if (partition->buckets[i].is_waiting) {
            partition->buckets[i].is_waiting = false;
            fl_sender_look_at(&partition->buckets[i]);
        }
    }
}

/* A failure: what waits ends, or is looked at again after a back-off. */
static void wait_after(fl_write_partition *partition, const fluss_error_t *err)
{
    const fl_write_table *table = partition->table;
    fl_log(FL_LOG_DEBUG, "writer", "table %s.%s: %.800s", table->database, table->name,
           err->message);
    fail_hopeless(partition, err);
    for (int32_t i = 0; i < table->bucket_count; i++) {
        if (partition->buckets[i].is_waiting) {
            back_off(&partition->buckets[i]);
        }
    }
    look_at_partition(partition);
}

/* The id of the partition of this name; another one than before knows nothing of the numbers of
 * batches so far. */
static void learn_partition(fl_write_partition *partition)
{
    if (partition->name == NULL) {
        return;
    }
    fl_write_table *table = partition->table;
    const int64_t id =
        fl_metadata_partition(table->sender->client->metadata, table->table_id, partition->name);
    const int64_t before = atomic_exchange(&partition->id, id);
    for (int32_t i = 0; i < table->bucket_count && before != FL_NO_PARTITION && id != before; i++) {
        fl_bucket_lose_writer(&partition->buckets[i]);
    }
}

static bool create_partition(fl_write_partition *partition);

static void on_refreshed(void *context, const fluss_error_t *failure)
{
    fl_write_partition *partition = context;
    fl_write_table *table = partition->table;
    fl_metadata *metadata = table->sender->client->metadata;
    partition->is_being_made = false;
    fluss_error_t err = {0};
    if (failure != NULL) {
        err = *failure;
    } else {
        learn_partition(partition);
        const int64_t id = atomic_load(&partition->id);
        table->is_replaced =
            fl_metadata_is_replaced(metadata, table->database, table->name, table->table_id, &err);
        if (!table->is_replaced && fl_metadata_leaders(metadata, table->table_id, id) == NULL) {
            (void)fl_error(&err, FLUSS_E_TABLE_NOT_EXIST, FLUSS_KIND_SERVER,
                           "the table %s.%s with id %lld does not exist any more", table->database,
                           table->name, (long long)table->table_id);
        }
    }
    if (err.code == FLUSS_E_PARTITION_NOT_EXISTS && create_partition(partition)) {
        return;
    }
    if (err.code != 0) {
        wait_after(partition, &err);
    } else {
        look_at_partition(partition);
    }
}

static void start_refresh(fl_write_partition *partition)
{
    if (partition->is_being_made) {
        return;
    }
    const fl_metadata_want want = {
        .database = partition->table->database,
        .table = partition->table->name,
        .partition = partition->name,
        .partition_id = FL_NO_PARTITION,
    };
    fluss_error_t err;
    partition->is_being_made = true;
    if (fl_metadata_refresh(partition->table->sender->client->metadata, want, on_refreshed,
                            partition, &err) != 0) {
        on_refreshed(partition, &err);
    }
}

/* ---- partitions made while writing ---- */

static void on_created(void *context, const fl_reply *reply, const fluss_error_t *failure,
                       bool was_sent)
{
    (void)reply;
    (void)was_sent;
    fl_write_partition *partition = context;
    partition->is_being_made = false;
    if (failure == NULL || failure->code == FLUSS_E_PARTITION_ALREADY_EXISTS) {
        start_refresh(partition);
        return;
    }
    wait_after(partition, failure);
}

/* The values in a partition's name, by key, as the request wants them.
 * @param pairs room for one a partition key */
static size_t split_name(const fl_write_partition *partition, fl_msg_pb_key_value *pairs)
{
    size_t count = 0;
    const char *at = partition->name;
    while (count < partition->table->partition_key_count) {
        const size_t size = strcspn(at, "$");
        pairs[count].key = fl_slice_str(partition->table->partition_keys[count]);
        pairs[count].value = fl_slice_of(at, size);
        count++;
        if (at[size] == '\0') {
            break;
        }
        at += size + 1;
    }
    return count;
}

/* The name is the table's own: make the partition. */
static fluss_code_t send_create(fl_write_partition *partition, fluss_error_t *err)
{
    const fl_write_table *table = partition->table;
    fl_msg_pb_key_value *pairs = fl_calloc(table->partition_key_count, sizeof(*pairs));
    if (pairs == NULL) {
        return fl_error_nomem(err);
    }
    const fl_msg_create_partition_request request = {
        .table_path = fl_metadata_path(table->database, table->name),
        .partition_spec = {.partition_key_values = pairs,
                           .partition_key_values_count = split_name(partition, pairs)},
        .ignore_if_not_exists = true,
    };
    const fluss_code_t rc =
        fl_metadata_ask_coordinator(table->sender->client->metadata, FL_API_CREATE_PARTITION,
                                    &request, on_created, partition, err);
    fl_free(pairs);
    return rc;
}

static void on_owner(void *context, const fl_reply *reply, const fluss_error_t *failure,
                     bool was_sent)
{
    (void)was_sent;
    fl_write_partition *partition = context;
    fl_write_table *table = partition->table;
    fluss_error_t err;
    fluss_code_t rc = fl_metadata_check_owner(table->database, table->name, table->table_id, reply,
                                              failure, &err);
    table->is_replaced = failure == NULL && rc != 0;
    if (rc == 0) {
        rc = send_create(partition, &err);
    }
    if (rc != 0) {
        partition->is_being_made = false;
        wait_after(partition, &err);
    }
}

/* Partitions are made by the table's name, which may be that of another table by now. */
static bool create_partition(fl_write_partition *partition)
{
    const fl_write_table *table = partition->table;
    if (table->sender->client->config->writer_create_partition.number == 0) {
        return false;
    }
    partition->is_being_made =
        fl_metadata_ask_owner(table->sender->client->metadata, table->database, table->name,
                              on_owner, partition, NULL) == 0;
    return partition->is_being_made;
}

/* ---- the route ---- */

const char *fl_bucket_route(fl_write_bucket *bucket)
{
    fl_write_partition *partition = bucket->partition;
    fl_metadata *metadata = partition->table->sender->client->metadata;
    if (bucket->is_waiting) {
        return NULL;
    }
    if (atomic_load(&partition->id) == FL_NO_PARTITION) {
        learn_partition(partition);
    }
    const fluss_bucket_t id = fl_write_bucket_id(bucket);
    const bool is_known = partition->name == NULL || id.partition_id != FL_NO_PARTITION;
    const char *address =
        is_known ? fl_metadata_server(metadata, fl_metadata_leader(metadata, &id)) : NULL;
    if (address != NULL) {
        atomic_store_explicit(&bucket->is_leaderless, false, memory_order_relaxed);
        bucket->stuck_since_ms = 0;
        return address;
    }
    if (bucket->stuck_since_ms == 0) {
        bucket->stuck_since_ms = fl_clock_ms();
    }
    bucket->is_waiting = true;
    if (fl_metadata_leaders(metadata, id.table_id, id.partition_id) != NULL) {
        /* Known, but the bucket has no leader just now: do not ask in a loop. */
        atomic_store_explicit(&bucket->is_leaderless, true, memory_order_relaxed);
        back_off(bucket);
        bucket->is_waiting = false;
        start_refresh(partition);
        return NULL;
    }
    start_refresh(partition);
    return NULL;
}

void fl_bucket_forget_route(fl_write_bucket *bucket)
{
    const fluss_bucket_t id = fl_write_bucket_id(bucket);
    fl_metadata_forget_leader(bucket->partition->table->sender->client->metadata, &id);
}
