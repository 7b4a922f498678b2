/* SPDX-License-Identifier: Apache-2.0 */
/* An append: check every batch, decide about repetitions, stamp offsets and time, write once, and
 * only then change the state in memory. Whatever can fail comes before the write; a write that
 * fails is cut off, so the log is always a whole number of appends. */
#include <stdio.h>

#include "base/alloc.h"
#include "format/log_batch.h"
#include "storage/file.h"
#include "storage/log_private.h"

/** What an append will do. */
typedef struct append_plan {
    size_t size; /* of the whole batches */
    size_t batch_count;
    int64_t timestamp_ms, next_offset;
    fl_batch_head last;
    const fl_writer_batch *duplicate; /* NULL: everything is new */
} append_plan;

static fluss_code_t out_of_order(const fl_writer *writer, int64_t writer_id, int32_t sequence,
                                 fluss_error_t *err)
{
    const bool is_known = writer != NULL && writer->count > 0;
    const int32_t last = is_known ? writer->batches[writer->count - 1].sequence : 0;
    return is_known ? fl_error(err, FLUSS_E_OUT_OF_ORDER_SEQUENCE, FLUSS_KIND_SERVER,
                               "writer %lld sent batch sequence %d, the last one written is %d",
                               (long long)writer_id, sequence, last)
                    : fl_error(err, FLUSS_E_OUT_OF_ORDER_SEQUENCE, FLUSS_KIND_SERVER,
                               "writer %lld is not known here and sent batch sequence %d, expected "
                               "0",
                               (long long)writer_id, sequence);
}

/** The writer as before this append; an expired one is as good as unknown. */
static const fl_writer *committed_writer(const fl_log_store *store, int64_t id, int64_t now_ms)
{
    const fl_writer *writer = fl_writers_find(&store->writers, id);
    const int64_t expiration_ms = store->opts.writer_expiration_ms;
    int64_t age_ms;
    if (writer == NULL || writer->count == 0 ||
        __builtin_sub_overflow(now_ms, writer->batches[writer->count - 1].timestamp_ms, &age_ms) ||
        age_ms > expiration_ms) {
        return NULL;
    }
    return writer;
}

/** Check the order of a batch and stage the new state of its writer. */
static fluss_code_t plan_writer(fl_log_store *store, int64_t now_ms, const fl_batch_head *head,
                                append_plan *plan, fluss_error_t *err)
{
    const fl_writer *committed = committed_writer(store, head->writer_id, now_ms);
    const fl_writer_batch *duplicate = NULL;
    if (fl_writer_order(committed, head->batch_sequence, &duplicate) == FL_WRITE_DUPLICATE) {
        plan->duplicate = duplicate;
        return 0;
    }
    const fl_writer *staged = fl_writers_find(&store->staged, head->writer_id);
    const fl_writer *current = staged != NULL ? staged : committed;
    if (fl_writer_order(current, head->batch_sequence, &duplicate) != FL_WRITE_NEXT) {
        return out_of_order(current, head->writer_id, head->batch_sequence, err);
    }
    if (staged == NULL) {
        FL_TRY(fl_writers_reserve(&store->staged, 1, 0, INT64_MAX, err));
        const fl_writer fresh = {.id = head->writer_id};
        fl_writers_put(&store->staged, committed != NULL ? committed : &fresh);
    }
    const fl_writer_batch batch = {.sequence = head->batch_sequence,
                                   .offset_delta =
                                       (int32_t)(head->next_offset - 1 - head->base_offset),
                                   .last_offset = head->next_offset - 1,
                                   .timestamp_ms = head->commit_timestamp_ms};
    fl_writers_record(&store->staged, head->writer_id, &batch);
    return 0;
}

/** The size of the batch at the start of `bytes`, all of which is there. */
static fluss_code_t whole_batch_size(fl_slice bytes, size_t *size, fluss_error_t *err)
{
    FL_TRY(fl_log_batch_claimed_size(bytes, size, err));
    if (*size == 0 || *size > bytes.size) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "record batch: %zu bytes are there, expected %zu", bytes.size,
                        *size != 0 ? *size : (size_t)FL_BATCH_SIZE_MIN);
    }
    return 0;
}

/** Check and stamp the batch at the start of `bytes`. */
static fluss_code_t plan_batch(fl_log_store *store, uint8_t *bytes, size_t size, int64_t now_ms,
                               append_plan *plan, fluss_error_t *err)
{
    /* The sender's own offset and time mean nothing and are outside the checksum. */
    fl_log_batch_stamp(bytes, plan->next_offset, plan->timestamp_ms);
    fl_batch_head head;
    FL_TRY(fl_batch_head_read(fl_slice_of(bytes, size), &head, err));
    FL_TRY(fl_batch_head_check_crc(&head, fl_slice_of(bytes, size), err));
    if (head.writer_id != FL_NO_WRITER_ID) {
        FL_TRY(plan_writer(store, now_ms, &head, plan, err));
    }
    plan->next_offset = head.next_offset;
    plan->last = head;
    plan->size += size;
    plan->batch_count++;
    return 0;
}

static fluss_code_t plan_append(fl_log_store *store, uint8_t *records, size_t size, int64_t now_ms,
                                append_plan *plan, fluss_error_t *err)
{
    const int64_t newest_ms = store->newest_timestamp_ms;
    *plan = (append_plan){.next_offset = store->end_offset,
                          .timestamp_ms = newest_ms > now_ms ? newest_ms : now_ms};
    fl_writers_reset(&store->staged);
    if (size == 0) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "an append of 0 bytes: expected one record batch or more");
    }
    while (plan->duplicate == NULL && plan->size < size) {
        uint8_t *bytes = records + plan->size;
        size_t batch_size;
        fluss_code_t rc = whole_batch_size(fl_slice_of(bytes, size - plan->size), &batch_size, err);
        if (rc == 0) {
            rc = plan_batch(store, bytes, batch_size, now_ms, plan, err);
        }
        if (rc != 0) {
            fl_error_prefix(err, "batch %zu at position %zu of %zu bytes: ", plan->batch_count,
                            (size_t)(bytes - records), size);
            return rc;
        }
    }
    return 0;
}

fluss_code_t fl_log_roll(fl_log_store *store, fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    if (newest != NULL) {
        FL_TRY(fl_log_sync_now(store, err));
        FL_TRY(fl_segment_seal(newest, err));
        FL_TRY(fl_log_write_snapshot(store, true, err));
    }
    FL_TRY(fl_log_add_segment(store, store->end_offset, err));
    if (newest == NULL) {
        store->start_offset = store->end_offset;
    }
    store->durable_position = 0;
    store->writeback_position = 0;
    return 0;
}

static fluss_code_t cut_torn_tail(fl_log_store *store, fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    FL_TRY(fl_file_truncate(&newest->log, newest->size, err));
    store->has_torn_tail = false;
    return 0;
}

/** Everything that can fail before the write. */
static fluss_code_t prepare(fl_log_store *store, const append_plan *plan, int64_t now_ms,
                            fluss_error_t *err)
{
    if (store->has_torn_tail) {
        FL_TRY(cut_torn_tail(store, err));
    }
    const fl_segment *newest = fl_log_newest(store);
    const bool is_full =
        newest == NULL ||
        (newest->size > 0 && (plan->size > store->opts.segment_size_max - newest->size ||
                              newest->size >= store->opts.segment_size_max ||
                              plan->next_offset - 1 - newest->base_offset > INT32_MAX));
    if (is_full) {
        FL_TRY(fl_log_roll(store, err));
    }
    FL_TRY(fl_writers_reserve(&store->writers, store->staged.count, now_ms,
                              store->opts.writer_expiration_ms, err));
    return fl_segment_reserve(fl_log_newest(store), err);
}

static fluss_code_t write_batches(fl_log_store *store, const uint8_t *records, size_t size,
                                  fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    const fluss_code_t rc = fl_file_write(&newest->log, newest->size, records, size, err);
    if (rc != 0) {
        store->has_torn_tail = true;
        const fluss_code_t ignored = cut_torn_tail(store, NULL); /* else the next append tries */
        (void)ignored;
        return rc;
    }
    if (newest->size == 0 && store->sync_levels == 0) {
        store->sync_levels = 1; /* the directory has a new entry */
    }
    return 0;
}

static void commit(fl_log_store *store, const append_plan *plan)
{
    fl_segment *newest = fl_log_newest(store);
    fl_segment_index(newest, newest->size, plan->size, store->end_offset, &plan->last,
                     store->opts.index_interval_size);
    for (size_t i = 0; i < store->staged.count; i++) {
        fl_writers_put(&store->writers, &store->staged.items[i]);
    }
    store->end_offset = plan->next_offset;
    store->newest_timestamp_ms = plan->timestamp_ms;
    if (newest->size - store->writeback_position >= FL_LOG_WRITEBACK_SIZE) {
        fl_file_start_writeback(&newest->log, store->writeback_position,
                                newest->size - store->writeback_position);
        store->writeback_position = newest->size;
    }
}

fluss_code_t fl_log_store_append(fl_log_store *store, uint8_t *records, size_t size, int64_t now_ms,
                                 fl_log_appended *appended, fluss_error_t *err)
{
    append_plan plan;
    *appended = (fl_log_appended){.base_offset = -1, .log_end_offset = store->end_offset};
    FL_TRY(plan_append(store, records, size, now_ms, &plan, err));
    if (plan.duplicate != NULL) {
        appended->base_offset = plan.duplicate->last_offset - plan.duplicate->offset_delta;
        appended->original_end_offset = plan.duplicate->last_offset + 1;
        appended->is_duplicate = true;
        return 0;
    }
    if (plan.size > FL_SEGMENT_SIZE_MAX) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_SERVER,
                        "append of %zu bytes, at most %d", plan.size, FL_SEGMENT_SIZE_MAX);
    }
    FL_TRY(prepare(store, &plan, now_ms, err));
    FL_TRY(write_batches(store, records, plan.size, err));
    appended->base_offset = store->end_offset;
    commit(store, &plan);
    appended->log_end_offset = store->end_offset;
    return 0;
}
