/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: rows are gathered as columns (ARROW) or as records one after the other (INDEXED and
 * COMPACTED logs, key-value batches), then turned into the bytes that travel. Compressor state and
 * scratch memory are kept in encoders, of which a client has as many as it has encoding threads at
 * once. */
#include <fluss/fluss_arrow.h>
#include <string.h>

#include "base/alloc.h"
#include "client/sender_private.h"
#include "format/arrow.h"
#include "format/kv_batch.h"
#include "format/log_batch.h"
#include "format/row_log.h"
#include "format/statistics.h"

enum { BATCH_SIZE_MAX = 1 << 30, MAGIC_PLAIN = 0, MAGIC_STATISTICS = 1 };

struct fl_content {
    fl_arrow_builder *builder;        /* ARROW logs */
    struct ArrowArray array;          /* the builder's finished columns */
    const struct ArrowArray *foreign; /* or a user's, until it is encoded */
    int64_t row_from;                 /* of foreign */
    fl_buf records;                   /* row formats: header and all records */
    fl_buf row;                       /* scratch */
    fl_row_log_builder log;
    fl_kv_builder kv;
};

struct fl_encoder {
    fl_encoder *next;
    fl_compression compression;
    int level;
    fl_arrow_writer *writer;
    fl_buf scratch;
};

bool fl_stream_equal(const fl_stream *a, const fl_stream *b)
{
    return a->is_keyed == b->is_keyed && a->overwrite == b->overwrite &&
           a->table->schema_id == b->table->schema_id && a->target_count == b->target_count &&
           (a->target_count == 0 ||
            memcmp(a->targets, b->targets, a->target_count * sizeof(*a->targets)) == 0);
}

static bool is_columnar(const fl_stream *stream)
{
    return !stream->is_keyed && stream->table->settings.log_format == FL_LOG_FORMAT_ARROW;
}

/* ---- content ---- */

fluss_code_t fl_content_new(const fl_stream *stream, fl_content **out, fluss_error_t *err)
{
    fl_content *content = fl_calloc(1, sizeof(*content));
    if (content == NULL) {
        return fl_error_nomem(err);
    }
    fl_buf_init(&content->records, BATCH_SIZE_MAX);
    fl_buf_init(&content->row, BATCH_SIZE_MAX);
    fluss_code_t rc;
    if (is_columnar(stream)) {
        rc = fl_arrow_builder_new(stream->table->schema, &content->builder, err);
    } else if (stream->is_keyed) {
        rc = fl_kv_builder_init(&content->kv, &content->records, err);
    } else {
        rc = fl_row_log_builder_init(&content->log, &content->records, err);
    }
    if (rc != 0) {
        fl_content_free(content);
        return rc;
    }
    *out = content;
    return 0;
}

fluss_code_t fl_content_of_array(const struct ArrowArray *array, int64_t row_from, fl_content **out,
                                 fluss_error_t *err)
{
    fl_content *content = fl_calloc(1, sizeof(*content));
    if (content == NULL) {
        return fl_error_nomem(err);
    }
    fl_buf_init(&content->records, BATCH_SIZE_MAX);
    fl_buf_init(&content->row, BATCH_SIZE_MAX);
    content->foreign = array;
    content->row_from = row_from;
    *out = content;
    return 0;
}

void fl_content_free(fl_content *content)
{
    if (content != NULL) {
        fl_arrow_builder_free(content->builder);
        if (content->array.release != NULL) {
            content->array.release(&content->array);
        }
        fl_buf_deinit(&content->records);
        fl_buf_deinit(&content->row);
        fl_free(content);
    }
}

size_t fl_content_bytes(const fl_content *content)
{
    return content->builder != NULL ? fl_arrow_builder_bytes(content->builder)
                                    : content->records.size;
}

static fluss_code_t append_log_record(fl_content *content, const fl_stream *stream,
                                      const fluss_datum_t *values, fluss_error_t *err)
{
    const fl_table *table = stream->table;
    const fl_row_format format =
        table->settings.log_format == FL_LOG_FORMAT_INDEXED ? FL_ROW_INDEXED : FL_ROW_COMPACTED;
    fl_buf_reset(&content->row);
    FL_TRY(fl_row_encode(format, table->types, values, table->schema->column_count, &content->row,
                         err));
    return fl_row_log_builder_add(&content->log, FLUSS_APPEND_ONLY, fl_buf_slice(&content->row),
                                  err);
}

static fluss_code_t append_kv_record(fl_content *content, const fl_stream *stream, fl_slice key,
                                     const fluss_datum_t *values, fluss_error_t *err)
{
    const fl_table *table = stream->table;
    if (values == NULL) {
        return fl_kv_builder_delete(&content->kv, key, err);
    }
    fl_buf_reset(&content->row);
    FL_TRY(fl_row_encode(table->settings.kv_format, table->types, values,
                         table->schema->column_count, &content->row, err));
    return fl_kv_builder_upsert(&content->kv, key, fl_buf_slice(&content->row), err);
}

fluss_code_t fl_content_append(fl_content *content, const fl_stream *stream,
                               const fluss_datum_t *values, fl_slice key, fluss_error_t *err)
{
    if (content->builder != NULL) {
        return fl_arrow_builder_append(content->builder, values, err);
    }
    return stream->is_keyed ? append_kv_record(content, stream, key, values, err)
                            : append_log_record(content, stream, values, err);
}

/* ---- encoders ---- */

static void free_encoder(fl_encoder *encoder)
{
    fl_arrow_writer_free(encoder->writer);
    fl_buf_deinit(&encoder->scratch);
    fl_free(encoder);
}

static fl_encoder *take_encoder(fl_sender *sender, const fl_table_settings *settings)
{
    (void)pthread_mutex_lock(&sender->lock);
    fl_encoder **at = &sender->encoders;
    while (*at != NULL && ((*at)->compression != settings->compression ||
                           (*at)->level != settings->compression_level)) {
        at = &(*at)->next;
    }
    fl_encoder *encoder = *at;
    if (encoder != NULL) {
        *at = encoder->next;
    }
    (void)pthread_mutex_unlock(&sender->lock);
    if (encoder != NULL) {
        return encoder;
    }
    encoder = fl_calloc(1, sizeof(*encoder));
    if (encoder == NULL) {
        return NULL;
    }
    fl_buf_init(&encoder->scratch, BATCH_SIZE_MAX);
    encoder->compression = settings->compression;
    encoder->level = settings->compression_level;
    encoder->writer = fl_arrow_writer_new((fl_arrow_write_opts){
        .compression = settings->compression, .level = settings->compression_level});
    if (encoder->writer == NULL) {
        free_encoder(encoder);
        return NULL;
    }
    return encoder;
}

static void give_encoder(fl_sender *sender, fl_encoder *encoder)
{
    fl_buf_reset(&encoder->scratch);
    (void)pthread_mutex_lock(&sender->lock);
    encoder->next = sender->encoders;
    sender->encoders = encoder;
    (void)pthread_mutex_unlock(&sender->lock);
}

void fl_encoders_free(fl_sender *sender)
{
    while (sender->encoders != NULL) {
        fl_encoder *encoder = sender->encoders;
        sender->encoders = encoder->next;
        free_encoder(encoder);
    }
}

/* ---- bytes ---- */

static const struct ArrowArray *columns_of(const fl_content *content)
{
    return content->foreign != NULL ? content->foreign : &content->array;
}

/* Statistics and header come before the columns. @param spec->statistics views `statistics` */
static fluss_code_t encode_statistics(const fl_batch *batch, fl_log_batch_spec *spec,
                                      fl_buf *statistics, fluss_error_t *err)
{
    const fl_table *table = batch->stream.table;
    if (table->settings.statistics_column_count > 0) {
        spec->magic = MAGIC_STATISTICS;
        FL_TRY(fl_statistics_write(table->schema, columns_of(batch->content),
                                   batch->content->row_from, batch->row_count,
                                   table->settings.statistics_columns,
                                   table->settings.statistics_column_count, statistics, err));
        spec->statistics = fl_buf_slice(statistics);
    }
    return 0;
}

/* Header, statistics, Arrow message. */
static fluss_code_t encode_message(fl_encoder *encoder, const fl_batch *batch,
                                   const fl_log_batch_spec *spec, fl_buf *out, fluss_error_t *err)
{
    FL_TRY(fl_buf_append_zeros(out, fl_log_batch_header_size(spec->magic, spec->statistics.size),
                               err));
    FL_TRY(fl_arrow_write(encoder->writer, batch->stream.table->schema, columns_of(batch->content),
                          batch->content->row_from, batch->row_count, out, err));
    fl_log_batch_finish(out->data, out->size, spec);
    return 0;
}

static fluss_code_t copy_to_frame(fl_batch *batch, fl_slice bytes, fluss_error_t *err)
{
    batch->frame = fl_frame_new(bytes.size);
    if (batch->frame == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(batch->frame->data, bytes.data, bytes.size);
    batch->frame->size = bytes.size;
    return 0;
}

/* The size of columns that are not compressed is known beforehand: they are copied once, from where
 * the user or the builder has them into the frame that travels. */
static fluss_code_t encode_into_frame(fl_encoder *encoder, fl_batch *batch,
                                      const fl_log_batch_spec *spec, fluss_error_t *err)
{
    const size_t size_max =
        fl_log_batch_header_size(spec->magic, spec->statistics.size) +
        fl_arrow_write_size_max(batch->stream.table->schema, columns_of(batch->content),
                                batch->content->row_from, batch->row_count);
    const size_t capacity = size_max < BATCH_SIZE_MAX ? size_max : BATCH_SIZE_MAX;
    batch->frame = fl_frame_new(capacity);
    if (batch->frame == NULL) {
        return fl_error_nomem(err);
    }
    fl_buf out;
    fl_buf_init_over(&out, batch->frame->data, capacity);
    FL_TRY(encode_message(encoder, batch, spec, &out, err));
    batch->frame->size = out.size;
    return 0;
}

static fluss_code_t encode_compressed(fl_encoder *encoder, fl_batch *batch,
                                      const fl_log_batch_spec *spec, fluss_error_t *err)
{
    FL_TRY(encode_message(encoder, batch, spec, &encoder->scratch, err));
    return copy_to_frame(batch, fl_buf_slice(&encoder->scratch), err);
}

static fluss_code_t encode_columnar(fl_sender *sender, fl_batch *batch, fl_log_batch_spec *spec,
                                    fluss_error_t *err)
{
    fl_content *content = batch->content;
    if (content->builder != NULL) {
        FL_TRY(fl_arrow_builder_finish(content->builder, &content->array, err));
    }
    const fl_table_settings *settings = &batch->stream.table->settings;
    fl_encoder *encoder = take_encoder(sender, settings);
    if (encoder == NULL) {
        return fl_error_nomem(err);
    }
    fl_buf statistics;
    fl_buf_init(&statistics, BATCH_SIZE_MAX);
    fluss_code_t rc = encode_statistics(batch, spec, &statistics, err);
    if (rc == 0) {
        rc = settings->compression == FL_COMPRESS_NONE
                 ? encode_into_frame(encoder, batch, spec, err)
                 : encode_compressed(encoder, batch, spec, err);
    }
    fl_buf_deinit(&statistics);
    give_encoder(sender, encoder);
    return rc;
}

static fluss_code_t encode(fl_sender *sender, fl_batch *batch, fluss_error_t *err)
{
    fl_content *content = batch->content;
    const int16_t schema_id = (int16_t)batch->stream.table->schema_id;
    if (batch->stream.is_keyed) {
        fl_kv_builder_finish(&content->kv, schema_id, FL_NO_WRITER_ID, FL_NO_SEQUENCE);
        return copy_to_frame(batch, fl_buf_slice(&content->records), err);
    }
    fl_log_batch_spec spec = {
        .magic = MAGIC_PLAIN,
        .is_append_only = true,
        .schema_id = schema_id,
        .record_count = batch->row_count,
        .writer_id = FL_NO_WRITER_ID,
        .batch_sequence = FL_NO_SEQUENCE,
    };
    if (is_columnar(&batch->stream)) {
        return encode_columnar(sender, batch, &spec, err);
    }
    fl_row_log_builder_finish(&content->log, &spec);
    return copy_to_frame(batch, fl_buf_slice(&content->records), err);
}

void fl_batch_encode(fl_sender *sender, fl_batch *batch)
{
    fluss_error_t err;
    if (encode(sender, batch, &err) != 0) {
        fl_frame_unref(batch->frame);
        batch->frame = NULL;
        batch->failure = fl_alloc(sizeof(err));
        if (batch->failure != NULL) {
            *batch->failure = err;
        }
        return;
    }
    fl_content_free(batch->content);
    batch->content = NULL;
    /* The bytes are what is held from now on. */
    const int64_t change = (int64_t)batch->frame->size - (int64_t)batch->reserved;
    batch->reserved = batch->frame->size;
    fl_sender_charge(sender, change);
}

void fl_batch_stamp(fl_batch *batch)
{
    if (batch->stream.is_keyed) {
        fl_kv_batch_set_writer(batch->frame->data, batch->frame->size, batch->writer_id,
                               batch->sequence);
    } else {
        fl_log_batch_set_writer(batch->frame->data, batch->frame->size, batch->writer_id,
                                batch->sequence);
    }
}

/* ---- batches ---- */

fl_batch *fl_batch_new(fl_sender *sender, fl_write_bucket *bucket, const fl_stream *stream)
{
    fl_batch *batch = fl_calloc(1, sizeof(*batch));
    if (batch != NULL) {
        batch->bucket = bucket;
        batch->id = atomic_fetch_add(&sender->batch_ids, 1) + 1;
        batch->opened_ms = fl_clock_ms();
        batch->sequence = FL_NO_SEQUENCE;
        batch->writer_id = FL_NO_WRITER_ID;
        batch->stream = *stream;
        (void)fl_table_ref(stream->table);
        if (stream->target_count > 0) {
            int32_t *targets = fl_alloc(stream->target_count * sizeof(*targets));
            if (targets == NULL) {
                batch->stream.targets = NULL;
                fl_batch_free(batch);
                return NULL;
            }
            memcpy(targets, stream->targets, stream->target_count * sizeof(*targets));
            batch->stream.targets = targets;
        }
    }
    return batch;
}

void fl_batch_free(fl_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    fl_content_free(batch->content);
    fl_frame_unref(batch->frame);
    for (size_t i = 0; i < batch->run_count; i++) {
        fl_writer_unref(batch->runs[i].writer);
    }
    fl_free(batch->runs);
    fl_free(batch->acks);
    fl_free(batch->failure);
    fl_free((void *)(uintptr_t)batch->stream.targets);
    fl_table_unref(batch->stream.table);
    fl_free(batch);
}

fluss_code_t fl_batch_reserve(fl_batch *batch, fluss_error_t *err)
{
    fl_ack *acks = fl_grow(batch->acks, &batch->ack_capacity, batch->ack_count, sizeof(*acks));
    if (acks == NULL) {
        return fl_error_nomem(err);
    }
    batch->acks = acks;
    fl_batch_run *runs =
        fl_grow(batch->runs, &batch->run_capacity, batch->run_count, sizeof(*runs));
    if (runs == NULL) {
        return fl_error_nomem(err);
    }
    batch->runs = runs;
    return 0;
}

void fl_batch_add(fl_batch *batch, int32_t row_count, fl_ack ack, fl_writer *writer)
{
    if (batch->run_count == 0 || batch->runs[batch->run_count - 1].writer != writer) {
        batch->runs[batch->run_count++] = (fl_batch_run){.writer = fl_writer_ref(writer)};
    }
    fl_batch_run *run = &batch->runs[batch->run_count - 1];
    batch->row_count += row_count;
    run->row_count += row_count;
    if (ack.future != NULL || ack.group != NULL) {
        batch->acks[batch->ack_count++] = ack;
        run->ack_count++;
    }
}

void fl_ack_group_part_done(fl_ack_group *group, const fluss_ack_t *ack, const fluss_error_t *err)
{
    (void)pthread_mutex_lock(&group->lock);
    if (err != NULL && group->err.code == 0) {
        group->err = *err;
    }
    if (ack != NULL) {
        group->last = *ack;
    }
    (void)pthread_mutex_unlock(&group->lock);
    if (atomic_fetch_sub_explicit(&group->pending, 1, memory_order_acq_rel) > 1) {
        return;
    }
    if (group->err.code != 0) {
        fl_future_fail(group->future, &group->err);
    } else {
        (void)fl_future_complete(group->future,
                                 (fl_value){.kind = FL_VALUE_ACK, .v.ack = group->last});
    }
    (void)pthread_mutex_destroy(&group->lock);
    fl_free(group);
}

/* Of how many rows of each run nobody would learn that they failed: without an ack, or it was
 * dropped. A part of an array is a batch of its own. */
static void count_unheard(fl_batch *batch)
{
    size_t next = 0;
    for (size_t i = 0; i < batch->run_count; i++) {
        fl_batch_run *run = &batch->runs[i];
        run->unheard_count = run->row_count;
        for (const size_t end = next + run->ack_count; next < end; next++) {
            const fl_ack *ack = &batch->acks[next];
            const fluss_future_t *future = ack->group != NULL ? ack->group->future : ack->future;
            if (!fl_future_is_abandoned(future)) {
                run->unheard_count -= ack->group != NULL ? run->row_count : 1;
            }
        }
    }
}

void fl_batch_settle(fl_batch *batch, const fluss_ack_t *ack, const fluss_error_t *err)
{
    fl_sender *sender = batch->bucket->partition->table->sender;
    if (err != NULL) {
        count_unheard(batch); /* before the futures are told, after which they may be gone */
    }
    fl_sender_charge(sender, -(int64_t)batch->reserved);
    batch->reserved = 0;
    for (size_t i = 0; i < batch->ack_count; i++) {
        if (batch->acks[i].group != NULL) {
            fl_ack_group_part_done(batch->acks[i].group, ack, err);
        } else if (err != NULL) {
            fl_future_fail(batch->acks[i].future, err);
        } else {
            (void)fl_future_complete(batch->acks[i].future,
                                     (fl_value){.kind = FL_VALUE_ACK, .v.ack = *ack});
        }
    }
    if (err != NULL) {
        fl_losses_note(&sender->losses, batch, err);
    }
    fl_metric_add(err == NULL ? &sender->client->metrics.batches_sent
                              : &sender->client->metrics.batches_failed,
                  1);
    fl_batch_free(batch);
}
