/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a fetch. What is tiered is read from files first (remote_reads.c), in a fetch of
 * its own; what is here is decoded at once (fetch_decode.c). */
#include "base/alloc.h"
#include "client/fetch_private.h"
#include "client/metadata.h"

/* ---- tiered logs ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Take over what was read. A part that there was no room for is fetched again, later; one without a
 * batch would be fetched for ever. */
static void take_read(fl_fetch *fetch, fl_fetch_part *part)
{
    fl_remote_read *read = part->read;
    part->frame = read->frame;
    if (read->err.code == 0 && read->frame != NULL && read->frame->size == 0) {
        (void)fl_error(&read->err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                       "the log tiered to %.*s has no batch from there on",
                       (int)part->remote.directory.size, (const char *)part->remote.directory.data);
    }
    if (read->err.code != 0) {
        part->err = read->err;
        fl_error_prefix(&part->err,
                        "table %s.%s, bucket %d, offset %lld: ", part->plan->table->database,
                        part->plan->table->name, part->id.bucket, (long long)part->offset);
    } else if (read->frame != NULL) {
        part->records = fl_slice_of(part->frame->data, part->frame->size);
        fetch->bytes += part->records.size;
    }
}

static void on_remote_read(void *context)
{
    fl_fetch *fetch = context;
    for (size_t i = 0; i < fetch->part_count; i++) {
        if (fetch->parts[i].read != NULL) {
            take_read(fetch, &fetch->parts[i]);
        }
    }
    fl_metric_add(&fetch->client->metrics.remote_bytes_read, (long long)fetch->bytes);
    fl_metric_add(&fetch->client->metrics.bytes_read, (long long)fetch->bytes);
    fl_fetch_decode(fetch);
}

/* Read one step of the tiered log of each part. */
static void start_reading(fl_fetch *fetch)
{
    const fluss_config_t *config = fetch->client->config;
    const fl_remote_limits limits = {.threads = (size_t)config->remote_threads.number,
                                     .bytes_max = (size_t)config->fetch_size_max.number};
    const size_t step = smaller((size_t)config->fetch_bucket_size_max.number *
                                    (size_t)config->remote_prefetch.number,
                                limits.bytes_max);
    fluss_error_t err;
    fetch->reads = fl_calloc(fetch->part_count, sizeof(*fetch->reads));
    for (size_t i = 0; i < fetch->part_count && fetch->reads != NULL; i++) {
        fl_fetch_part *part = &fetch->parts[i];
        part->read = &fetch->reads[i];
        *part->read =
            (fl_remote_read){.remote = &part->remote, .offset = part->offset, .size_max = step};
    }
    if ((fetch->reads == NULL
             ? fl_error_nomem(&err)
             : fl_remote_reads_start(fetch->client->loop, fetch->reads, fetch->part_count, &limits,
                                     on_remote_read, fetch, &err)) != 0) {
        fl_fetch_fail(fetch, &err);
    }
}

/* Move the parts of an answer that are tiered, `count` of them, to a fetch of their own: files may
 * be slow, and the other buckets don't wait for them. NULL: out of memory. */
static fl_fetch *split_off_tiered(fl_fetch *fetch, size_t count)
{
    fl_fetch *tiered = fl_calloc(1, sizeof(*tiered));
    fl_fetch_part *parts = fl_calloc(count, sizeof(*parts));
    if (tiered == NULL || parts == NULL) {
        fl_free(tiered);
        fl_free(parts);
        return NULL;
    }
    tiered->parts = parts;
    tiered->scanner = fl_scanner_ref(fetch->scanner);
    tiered->client = fl_client_ref(fetch->client);
    tiered->frame = fl_frame_ref(fetch->frame);
    size_t kept = 0;
    for (size_t i = 0; i < fetch->part_count; i++) {
        const fl_fetch_part part = fetch->parts[i];
        fl_fetch_part *to = part.is_remote ? &parts[tiered->part_count++] : &fetch->parts[kept++];
        *to = part;
        to->pieces_last = &to->pieces;
    }
    fetch->part_count = kept;
    return tiered;
}

/* ---- the answer ---- */

static fl_fetch_part *find_part(fl_fetch *fetch, int64_t table_id,
                                const fl_msg_pb_fetch_log_resp_for_bucket *answer)
{
    const fluss_bucket_t id = {
        .table_id = table_id,
        .partition_id = answer->has_partition_id ? answer->partition_id : FL_NO_PARTITION,
        .bucket = answer->bucket_id,
    };
    for (size_t i = 0; i < fetch->part_count; i++) {
        if (fl_bucket_equal(&fetch->parts[i].id, &id)) {
            return &fetch->parts[i];
        }
    }
    return NULL;
}

static void read_answer(fl_fetch *fetch, fl_fetch_part *part,
                        const fl_msg_pb_fetch_log_resp_for_bucket *answer)
{
    part->is_answered = true;
    if (answer->has_error_code && answer->error_code != 0) {
        (void)fl_error_server(&part->err, answer->error_code,
                              (const char *)answer->error_message.data, answer->error_message.size);
        return;
    }
    if (answer->has_remote_log_fetch_info) {
        fluss_error_t err;
        part->is_remote =
            fl_remote_log_init(&part->remote, &answer->remote_log_fetch_info, &err) == 0;
        part->is_projected = false; /* the files hold whole rows */
        if (!part->is_remote) {
            part->err = err;
        }
        return;
    }
    part->frame = fl_frame_ref(fetch->frame);
    part->records = answer->records;
    part->filtered_end = answer->has_filtered_end_offset ? answer->filtered_end_offset : -1;
    fetch->bytes += answer->records.size;
}

/* Read what is tiered, decode what is here. */
static void go_on(fl_fetch *fetch)
{
    size_t count = 0;
    for (size_t i = 0; i < fetch->part_count; i++) {
        count += fetch->parts[i].is_remote;
    }
    if (count == fetch->part_count) {
        start_reading(fetch);
        return;
    }
    fl_fetch *tiered = count > 0 ? split_off_tiered(fetch, count) : NULL;
    if (tiered != NULL) {
        start_reading(tiered);
    }
    for (size_t i = 0; i < fetch->part_count && tiered == NULL; i++) {
        if (fetch->parts[i].is_remote) {
            (void)fl_error_nomem(&fetch->parts[i].err);
        }
    }
    fl_metric_add(&fetch->client->metrics.bytes_read, (long long)fetch->bytes);
    fl_fetch_decode(fetch);
}

void fl_fetch_answered(void *context, const fl_reply *reply, const fluss_error_t *failure,
                       bool was_sent)
{
    (void)was_sent;
    fl_fetch *fetch = context;
    if (failure != NULL) {
        fl_fetch_fail(fetch, failure);
        return;
    }
    const fl_msg_fetch_log_response *response = reply->message;
    fetch->frame = fl_frame_ref(reply->frame);
    for (size_t i = 0; i < response->tables_resp_count; i++) {
        const fl_msg_pb_fetch_log_resp_for_table *table = &response->tables_resp[i];
        for (size_t j = 0; j < table->buckets_resp_count; j++) {
            fl_fetch_part *part = find_part(fetch, table->table_id, &table->buckets_resp[j]);
            if (part != NULL && !part->is_answered) {
                read_answer(fetch, part, &table->buckets_resp[j]);
            }
        }
    }
    for (size_t i = 0; i < fetch->part_count; i++) {
        if (!fetch->parts[i].is_answered) {
            (void)fl_error(&fetch->parts[i].err, FLUSS_E_UNKNOWN_SERVER_ERROR, FLUSS_KIND_SERVER,
                           "%s left bucket %d out of its answer", fetch->address,
                           fetch->parts[i].id.bucket);
        }
    }
    go_on(fetch);
}
