/* SPDX-License-Identifier: Apache-2.0 */
/* Scanners: opening, subscriptions, positions. Fetching is in fetcher.c, polling in scan_poll.c. */
#include "client/metadata.h"

#include <string.h>

#include "base/alloc.h"
#include "client/op.h"
#include "client/scan_private.h"
#include "client/scanners.h"

enum { TABLE_COUNT_MAX = 1024 };

/* ---- life ---- */

fl_scanner *fl_scanner_ref(fl_scanner *scanner)
{
    (void)atomic_fetch_add_explicit(&scanner->refs, 1, memory_order_relaxed);
    return scanner;
}

static void free_buckets(fl_scanner *scanner)
{
    while (scanner->buckets != NULL) {
        fl_scan_bucket *bucket = scanner->buckets;
        scanner->buckets = bucket->next;
        fl_pieces_free(bucket->first);
        fl_free(bucket->failure);
        fl_free(bucket);
    }
    scanner->bucket_last = &scanner->buckets;
}

void fl_scanner_unref(fl_scanner *scanner)
{
    if (scanner == NULL || atomic_fetch_sub_explicit(&scanner->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    free_buckets(scanner);
    for (size_t i = 0; i < scanner->plan_count && scanner->origin == NULL; i++) {
        fl_scan_plan_deinit(&scanner->plans[i]);
    }
    if (scanner->origin == NULL) {
        fl_free(scanner->plans);
    }
    if (scanner->bounds != NULL) {
        fl_free(scanner->bounds->items);
        fl_free(scanner->bounds);
    }
    (void)pthread_mutex_destroy(&scanner->lock);
    fl_scanner *origin = scanner->origin;
    fl_free(scanner);
    fl_scanner_unref(origin);
}

fl_scanner *fl_scanner_new(fl_client *client, bool is_batches)
{
    fl_scanner *scanner = fl_calloc(1, sizeof(*scanner));
    if (scanner != NULL) {
        atomic_init(&scanner->refs, 1);
        (void)pthread_mutex_init(&scanner->lock, NULL);
        scanner->client = client;
        scanner->bucket_last = &scanner->buckets;
        scanner->is_batches = is_batches;
    }
    return scanner;
}

static const fl_scan_plan *plan_of(const fl_scanner *scanner, int64_t table_id)
{
    for (size_t i = 0; i < scanner->plan_count; i++) {
        if (scanner->plans[i].table->table_id == table_id) {
            return &scanner->plans[i];
        }
    }
    return NULL;
}

static fluss_code_t fill_scanner(fl_scanner *scanner, fluss_table_t *const *tables, size_t count,
                                 const fluss_scan_opts_t *opts, fluss_error_t *err)
{
    scanner->plans = fl_calloc(count, sizeof(*scanner->plans));
    if (scanner->plans == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (tables[i] == NULL || tables[i]->client != tables[0]->client) {
            return fl_error_argument(err, "table %zu is NULL or of another connection", i);
        }
        FL_TRY(fl_scan_plan_init(&scanner->plans[i], tables[i]->table, opts, err));
        scanner->plan_count++;
    }
    return 0;
}

/* The loop learns of the scanner with the first thing that is posted for it; until then only the
 * handle knows it. */
fluss_code_t fluss_scanner_open(fluss_table_t *const *tables, size_t n_tables,
                                const fluss_scan_opts_t *opts, fluss_scanner_t **out,
                                fluss_error_t *err)
{
    if (tables == NULL || n_tables == 0 || n_tables > TABLE_COUNT_MAX || tables[0] == NULL ||
        out == NULL) {
        return fl_error_argument(err, "give 1 to %d tables and out", TABLE_COUNT_MAX);
    }
    *out = NULL;
    fluss_scan_opts_t o;
    FL_TRY(fl_scan_opts_read(opts, &o, err));
    if (n_tables > 1 && o.columns != NULL) {
        return fl_error_argument(err, "several tables have no projection by index");
    }
    FL_TRY(fl_client_check(tables[0]->client, err));
    fl_scanner *scanner = fl_scanner_new(tables[0]->client, o.batches);
    fluss_scanner_t *handle = fl_calloc(1, sizeof(*handle));
    if (scanner == NULL || handle == NULL) {
        fl_scanner_unref(scanner);
        fl_free(handle);
        return fl_error_nomem(err);
    }
    const fluss_code_t rc = fill_scanner(scanner, tables, n_tables, &o, err);
    if (rc != 0) {
        fl_scanner_unref(scanner);
        fl_free(handle);
        return rc;
    }
    handle->scanner = scanner;
    handle->client = fl_client_ref(tables[0]->client);
    *out = handle;
    return 0;
}

void fl_scanner_list(fl_scanner *scanner)
{
    if (!scanner->is_listed) {
        scanner->is_listed = true;
        scanner->previous = NULL;
        scanner->next = scanner->client->scanners;
        if (scanner->next != NULL) {
            scanner->next->previous = scanner;
        }
        scanner->client->scanners = scanner;
    }
}

void fl_scanner_forget(fl_scanner *scanner, fl_scan_bucket *bucket)
{
    fl_pieces_free(bucket->first);
    bucket->first = NULL;
    bucket->last = &bucket->first;
    scanner->buffered_bytes -= bucket->buffered_bytes;
    bucket->buffered_bytes = 0;
}

/* Thread: loop. */
static void end_scanner(fl_scanner *scanner)
{
    if (scanner->is_listed) {
        scanner->is_listed = false;
        if (scanner->next != NULL) {
            scanner->next->previous = scanner->previous;
        }
        if (scanner->previous != NULL) {
            scanner->previous->next = scanner->next;
        } else {
            scanner->client->scanners = scanner->next;
        }
    }
    fl_timer_free(scanner->timer);
    scanner->timer = NULL;
    (void)pthread_mutex_lock(&scanner->lock);
    scanner->is_closed = true;
    /* The buckets stay: a read that is not at its end has to find that out, and so has whoever asks
     * where the reader is. */
    for (fl_scan_bucket *bucket = scanner->buckets; bucket != NULL; bucket = bucket->next) {
        fl_scanner_forget(scanner, bucket);
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_serve(scanner);
}

void fl_scanners_close(fl_client *client, const fluss_error_t *why)
{
    (void)why;
    while (client->scanners != NULL) {
        end_scanner(client->scanners);
    }
}

static void run_end(fl_task *task)
{
    fl_scanner *scanner = FL_CONTAINER_OF(task, fl_scanner, ending);
    fl_client *client = scanner->ender;
    end_scanner(scanner);
    fl_scanner_unref(scanner);
    fl_client_unref(client);
}

void fl_scanner_end(fl_scanner *scanner, fl_client *client)
{
    scanner->ending.run = run_end;
    scanner->ender = fl_client_ref(client);
    (void)fl_scanner_ref(scanner);
    fl_loop_post(client->loop, &scanner->ending);
}

void fluss_scanner_free(fluss_scanner_t *scanner)
{
    if (scanner == NULL) {
        return;
    }
    fl_client *client = scanner->client;
    if (!fl_client_is_forked(client)) {
        fl_scanner_end(scanner->scanner, client);
        fl_scanner_unref(scanner->scanner);
        fl_free(scanner);
        fl_client_unref(client);
    }
}

static void run_wakeup(fl_task *task)
{
    fl_scanner *scanner = FL_CONTAINER_OF(task, fl_scanner, waking);
    fl_client *client = scanner->client;
    atomic_store(&scanner->is_waking, false); /* the next one may be posted again */
    (void)pthread_mutex_lock(&scanner->lock);
    if (scanner->opening != NULL) {
        fl_read_stop(scanner->opening);
    } else {
        scanner->is_woken = scanner->bounds == NULL; /* of a read the bounds say what is to end */
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_serve(scanner);
    fl_scanner_unref(scanner);
    fl_client_unref(client);
}

void fl_scanner_wake(fl_scanner *scanner)
{
    if (!atomic_exchange(&scanner->is_waking, true)) {
        (void)fl_scanner_ref(scanner);
        (void)fl_client_ref(scanner->client);
        scanner->waking.run = run_wakeup;
        fl_loop_post(scanner->client->loop, &scanner->waking);
    }
}

void fluss_scanner_wakeup(fluss_scanner_t *scanner)
{
    if (scanner != NULL && !fl_client_is_forked(scanner->client)) {
        fl_scanner_wake(scanner->scanner);
    }
}

/* ---- buckets ---- */

fl_scan_bucket *fl_scanner_find(const fl_scanner *scanner, const fluss_bucket_t *id)
{
    fl_scan_bucket *bucket = scanner->buckets;
    while (bucket != NULL && !fl_bucket_equal(&bucket->id, id)) {
        bucket = bucket->next;
    }
    return bucket;
}

/* Lock: held. What was fetched is forgotten. */
static void place_at(fl_scanner *scanner, fl_scan_bucket *bucket, const fl_scan_plan *plan,
                     const fluss_position_t *position)
{
    fl_scanner_forget(scanner, bucket);
    fl_free(bucket->failure);
    fl_scan_bucket *next = bucket->next;
    *bucket = (fl_scan_bucket){
        .next = next,
        .plan = plan,
        .id = position->bucket,
        .position = position->offset,
        .fetch_offset = position->offset,
        .start_offset = position->offset,
        .stop_offset = INT64_MAX,
        .generation = ++scanner->generations,
        .fetch_bytes_max = (size_t)scanner->client->config->fetch_bucket_size_max.number,
    };
    bucket->last = &bucket->first;
}

void fl_scanner_move(fl_scanner *scanner, fl_scan_bucket *bucket, int64_t offset)
{
    const fluss_position_t position = {bucket->id, offset};
    place_at(scanner, bucket, bucket->plan, &position);
}

fl_scan_bucket *fl_scanner_add(fl_scanner *scanner, const fl_scan_plan *plan,
                               const fluss_position_t *position)
{
    fl_scan_bucket *bucket = fl_calloc(1, sizeof(*bucket));
    if (bucket != NULL) {
        *scanner->bucket_last = bucket;
        scanner->bucket_last = &bucket->next;
        place_at(scanner, bucket, plan, position);
    }
    return bucket;
}

/* Add or move a bucket. Lock: held. */
static fluss_code_t place(fl_scanner *scanner, const fl_scan_plan *plan,
                          const fluss_position_t *position, fluss_error_t *err)
{
    fl_scan_bucket *bucket = fl_scanner_find(scanner, &position->bucket);
    if (bucket != NULL) {
        place_at(scanner, bucket, plan, position);
        return 0;
    }
    return fl_scanner_add(scanner, plan, position) != NULL ? 0 : fl_error_nomem(err);
}

void fl_scanner_remove(fl_scanner *scanner, const fluss_bucket_t *id)
{
    for (fl_scan_bucket **at = &scanner->buckets; *at != NULL; at = &(*at)->next) {
        fl_scan_bucket *bucket = *at;
        if (fl_bucket_equal(&bucket->id, id)) {
            *at = bucket->next;
            if (scanner->bucket_last == &bucket->next) {
                scanner->bucket_last = at;
            }
            fl_scanner_forget(scanner, bucket);
            fl_free(bucket->failure);
            fl_free(bucket);
            return;
        }
    }
}

fluss_code_t fluss_unsubscribe(fluss_scanner_t *scanner, const fluss_bucket_t *buckets, size_t n,
                               fluss_error_t *err)
{
    if (scanner == NULL || (buckets == NULL && n > 0)) {
        return fl_error_argument(err, "scanner and buckets must not be NULL");
    }
    FL_TRY(fl_client_check(scanner->client, err));
    fl_scanner *core = scanner->scanner;
    fluss_code_t rc = 0;
    (void)pthread_mutex_lock(&core->lock);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (fl_scanner_find(core, &buckets[i]) == NULL) {
            rc = fl_error_argument(err, "bucket %d of table %lld is not subscribed",
                                   buckets[i].bucket, (long long)buckets[i].table_id);
        }
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        fl_scanner_remove(core, &buckets[i]);
    }
    (void)pthread_mutex_unlock(&core->lock);
    return rc;
}

/* Lock: held. */
static int64_t first_start(const fl_piece *piece, const fl_scan_bucket *bucket, int64_t offset)
{
    for (; piece != NULL; piece = piece->next) {
        if (piece->generation == bucket->generation && piece->start_offset < offset &&
            fl_bucket_equal(&piece->bucket, &bucket->id)) {
            offset = piece->start_offset;
        }
    }
    return offset;
}

int64_t fl_scanner_reached(const fl_scanner *scanner, const fl_scan_bucket *bucket)
{
    int64_t offset = first_start(scanner->leaving, bucket, bucket->position);
    for (const fl_held *held = scanner->untaken; held != NULL; held = held->next) {
        offset = first_start(held->pieces, bucket, offset);
    }
    return offset;
}

size_t fluss_positions(const fluss_scanner_t *scanner, fluss_position_t *out, size_t cap)
{
    if (scanner == NULL) {
        return 0;
    }
    fl_scanner *core = scanner->scanner;
    size_t count = 0;
    (void)pthread_mutex_lock(&core->lock);
    for (const fl_scan_bucket *bucket = core->buckets; bucket != NULL; bucket = bucket->next) {
        if (count < cap && out != NULL) {
            out[count] = (fluss_position_t){bucket->id, fl_scanner_reached(core, bucket)};
        }
        count++;
    }
    (void)pthread_mutex_unlock(&core->lock);
    return count;
}

fluss_future_t *fluss_poll(fluss_scanner_t *scanner, int64_t timeout_ms)
{
    fluss_error_t err;
    if ((scanner == NULL ? fl_error_argument(&err, "the scanner must not be NULL")
                         : fl_client_check(scanner->client, &err)) != 0) {
        return fl_future_failed(&err);
    }
    (void)pthread_mutex_lock(&scanner->scanner->lock);
    const bool is_held = scanner->scanner->readers > 0;
    (void)pthread_mutex_unlock(&scanner->scanner->lock);
    if (is_held) {
        (void)fl_error(&err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                       "the scanner is in use: a read holds it");
        return fl_future_failed(&err);
    }
    return fl_scanner_poll(scanner->scanner, scanner->client, timeout_ms, FL_WANTS_ROWS);
}

/* ---- subscribing ---- */

typedef struct subscribing {
    fl_scanner *scanner; /* shares */
    fl_resolve_item *items;
    size_t count;
    int64_t offset;    /* subscribe_all, subscribe_new */
    size_t plan_index; /* of these: the table that is asked for its partitions */
    bool only_new;     /* buckets that are read stay where they are */
    fl_msg_list_partition_infos_request request;
} subscribing;

static void finish_subscribe(fl_op *op, const fluss_error_t *err)
{
    subscribing *s = op->state;
    fl_scanner *scanner = s->scanner;
    fluss_error_t failure = {0};
    if (err != NULL) {
        failure = *err;
    } else {
        fl_scanner_list(scanner);
        (void)pthread_mutex_lock(&scanner->lock);
        for (size_t i = 0; i < s->count && failure.code == 0; i++) {
            const fluss_position_t position = {s->items[i].bucket, s->items[i].offset};
            const fl_scan_plan *plan = plan_of(scanner, position.bucket.table_id);
            fluss_error_t reason;
            if (s->only_new && fl_scanner_find(scanner, &position.bucket) != NULL) {
                continue;
            }
            if (place(scanner, plan, &position, &reason) != 0) {
                failure = reason;
            }
        }
        (void)pthread_mutex_unlock(&scanner->lock);
        fl_scanner_pump(scanner);
    }
    s->scanner = NULL;
    if (failure.code != 0) {
        fl_op_fail(op, &failure);
    } else {
        fl_op_complete(op, (fl_value){.kind = FL_VALUE_VOID});
    }
    fl_scanner_unref(scanner);
}

static void on_resolved(void *context, const fluss_error_t *err)
{
    finish_subscribe(context, err);
}

static void start_subscribe(fl_op *op)
{
    subscribing *s = op->state;
    bool has_latest = false;
    for (size_t i = 0; i < s->count; i++) {
        has_latest = has_latest || s->items[i].offset == FLUSS_LATEST;
    }
    if (!has_latest) {
        finish_subscribe(op, NULL);
        return;
    }
    fl_resolve_offsets(op->client, s->scanner->plans, s->scanner->plan_count, s->items, s->count,
                       op->deadline_ms, on_resolved, op);
}

static const fl_op_kind subscribe_kind = {.start = start_subscribe};

static fluss_code_t check_position(const fl_scanner *scanner, const fluss_position_t *position,
                                   fluss_error_t *err)
{
    const fl_scan_plan *plan = plan_of(scanner, position->bucket.table_id);
    if (plan == NULL) {
        return fl_error_argument(err, "table id %lld is not one of the scanner's tables",
                                 (long long)position->bucket.table_id);
    }
    const bool is_partitioned = fl_table_is_partitioned(plan->table);
    if (is_partitioned != (position->bucket.partition_id >= 0)) {
        return fl_error_argument(err, "table %s.%s is %spartitioned: partition id %lld",
                                 plan->table->database, plan->table->name,
                                 is_partitioned ? "" : "not ",
                                 (long long)position->bucket.partition_id);
    }
    if (position->bucket.bucket < 0 || position->bucket.bucket >= plan->table->bucket_count) {
        return fl_error_argument(err, "bucket %d: table %s.%s has %d buckets",
                                 position->bucket.bucket, plan->table->database, plan->table->name,
                                 plan->table->bucket_count);
    }
    if (position->offset < FLUSS_EARLIEST) {
        return fl_error_argument(err,
                                 "offset %lld is neither a log offset nor FLUSS_EARLIEST nor "
                                 "FLUSS_LATEST",
                                 (long long)position->offset);
    }
    return 0;
}

static fl_op *new_subscribe(fluss_scanner_t *scanner, const fl_op_kind *kind, subscribing **out)
{
    fl_op *op = fl_op_new(scanner != NULL ? scanner->client : NULL, kind);
    subscribing *s = fl_op_array(op, 1, sizeof(*s));
    if (s != NULL && scanner != NULL && op->err.code == 0) {
        op->state = s;
        *out = s;
    }
    return op;
}

fluss_future_t *fluss_subscribe(fluss_scanner_t *scanner, const fluss_position_t *pos, size_t n)
{
    subscribing *s = NULL;
    fl_op *op = new_subscribe(scanner, &subscribe_kind, &s);
    if (s != NULL) {
        fluss_error_t err;
        s->items = fl_op_array(op, n, sizeof(*s->items));
        if (pos == NULL || n == 0) {
            (void)fl_error_argument(&err, "pos must not be NULL and n not 0");
            fl_op_reject(op, &err);
        }
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            if (check_position(scanner->scanner, &pos[i], &err) != 0) {
                fl_op_reject(op, &err);
            } else {
                s->items[i] = (fl_resolve_item){pos[i].bucket, pos[i].offset};
            }
        }
        s->count = n;
        if (op->err.code == 0) {
            s->scanner = fl_scanner_ref(scanner->scanner);
        }
    }
    return fl_op_submit(op);
}

/* ---- all buckets ---- */

static void ask_partitions(fl_op *op);

/* Make room for the buckets of so many partitions more. */
static bool reserve_buckets(fl_op *op, const fl_table *table, size_t partition_count)
{
    subscribing *s = op->state;
    const size_t count = s->count + (size_t)table->bucket_count * partition_count;
    fl_resolve_item *items = fl_arena_array(&op->arena, count, sizeof(*items));
    if (items == NULL) {
        fluss_error_t err;
        (void)fl_error_nomem(&err);
        finish_subscribe(op, &err);
        return false;
    }
    if (s->count > 0) {
        memcpy(items, s->items, s->count * sizeof(*items));
    }
    s->items = items;
    return true;
}

/* The room is there. */
static void add_buckets(fl_op *op, const fl_table *table, int64_t partition_id)
{
    subscribing *s = op->state;
    for (int32_t i = 0; i < table->bucket_count; i++) {
        s->items[s->count++] = (fl_resolve_item){{table->table_id, partition_id, i}, s->offset};
    }
}

static void on_partitions(void *context, const fl_reply *reply, const fluss_error_t *failure,
                          bool was_sent)
{
    (void)was_sent;
    fl_op *op = context;
    subscribing *s = op->state;
    if (failure != NULL) {
        if (fl_op_may_retry(op, failure)) {
            fl_op_retry(op, failure, ask_partitions);
        } else {
            finish_subscribe(op, failure);
        }
        return;
    }
    const fl_msg_list_partition_infos_response *response = reply->message;
    const fl_table *table = s->scanner->plans[s->plan_index].table;
    if (!reserve_buckets(op, table, response->partitions_info_count)) {
        return;
    }
    for (size_t i = 0; i < response->partitions_info_count; i++) {
        add_buckets(op, table, response->partitions_info[i].partition_id);
    }
    s->plan_index++;
    ask_partitions(op);
}

static void ask_partitions(fl_op *op)
{
    subscribing *s = op->state;
    while (s->plan_index < s->scanner->plan_count) {
        const fl_table *table = s->scanner->plans[s->plan_index].table;
        if (fl_table_is_partitioned(table)) {
            fluss_error_t err;
            s->request = (fl_msg_list_partition_infos_request){
                .table_path = fl_metadata_path(table->database, table->name)};
            if (fl_op_call_coordinator(op, FL_API_LIST_PARTITION_INFOS, &s->request, on_partitions,
                                       &err) != 0) {
                finish_subscribe(op, &err);
            }
            return;
        }
        if (!reserve_buckets(op, table, 1)) {
            return;
        }
        add_buckets(op, table, FL_NO_PARTITION);
        s->plan_index++;
    }
    start_subscribe(op);
}

static const fl_op_kind subscribe_all_kind = {.start = ask_partitions};

static fluss_future_t *subscribe_partitions(fluss_scanner_t *scanner, int64_t offset, bool only_new)
{
    subscribing *s = NULL;
    fl_op *op = new_subscribe(scanner, &subscribe_all_kind, &s);
    if (s != NULL) {
        s->offset = offset;
        s->only_new = only_new;
        if (offset < FLUSS_EARLIEST) {
            fluss_error_t err;
            (void)fl_error_argument(&err,
                                    "offset %lld is neither a log offset nor FLUSS_EARLIEST "
                                    "nor FLUSS_LATEST",
                                    (long long)offset);
            fl_op_reject(op, &err);
        } else {
            s->scanner = fl_scanner_ref(scanner->scanner);
        }
    }
    return fl_op_submit(op);
}

fluss_future_t *fluss_subscribe_all(fluss_scanner_t *scanner, int64_t offset)
{
    return subscribe_partitions(scanner, offset, false);
}

fluss_future_t *fluss_subscribe_new(fluss_scanner_t *scanner, int64_t offset)
{
    return subscribe_partitions(scanner, offset, true);
}
