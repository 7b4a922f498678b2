/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a log for a response. Without projection they are the file's own, in the frame that they
 * were read into. */
#include "server/fetch_read.h"

#include "base/alloc.h"
#include "format/log_batch.h"
#include "format/projection.h"
#include "server/fetch_filter.h"
#include "server/session.h"

enum {
    PROJECTED_SIZE_MAX = 1 << 30,
    OFFSET_EARLIEST = -2,
    SIFT_STEP_BYTES = 1 << 20,   /* read at once to be filtered */
    SIFTED_BYTES_MAX = 16 << 20, /* looked at for one answer: bounds what others wait */
};

static fluss_code_t check_projection(const fl_tablet *tablet,
                                     const fl_msg_pb_fetch_log_req_for_table *table,
                                     fluss_error_t *err)
{
    const fl_table_info *info = tablet->info;
    if (!info->is_arrow_log) {
        return fl_error(err, FLUSS_E_INVALID_COLUMN_PROJECTION, FLUSS_KIND_ARGUMENT,
                        "table %s.%s: projection needs the log format ARROW", info->database,
                        info->name);
    }
    if (table->projected_fields_count == 0) {
        return fl_error(err, FLUSS_E_INVALID_COLUMN_PROJECTION, FLUSS_KIND_ARGUMENT,
                        "table %s.%s: a projection of no columns", info->database, info->name);
    }
    return fl_projection_check(info->desc->schema, table->projected_fields,
                               table->projected_fields_count, err);
}

/* One batch, of any of the table's schemas. */
static fluss_code_t project_batch(const fl_table_info *info, const fl_log_batch *batch,
                                  const fl_msg_pb_fetch_log_req_for_table *table, fl_buf *out,
                                  fluss_error_t *err)
{
    const fl_schema_version *version = fl_table_info_schema(info, batch->schema_id);
    if (version == NULL) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "table %s.%s: the batch at offset %lld has the schema id %d, known are 1 "
                        "to %d",
                        info->database, info->name, (long long)batch->base_offset,
                        (int)batch->schema_id, (int)info->schema_count);
    }
    /* Checked before: not negative, rising; so they are unsigned as they stand. */
    const fl_projection projection = {.written = version->schema,
                                      .newest = info->desc->schema,
                                      .columns = (const uint32_t *)table->projected_fields,
                                      .count = table->projected_fields_count};
    return fl_log_batch_project(batch, &projection, out, err);
}

static fluss_code_t project(const fl_table_info *info, fl_slice records,
                            const fl_msg_pb_fetch_log_req_for_table *table, fl_buf *out,
                            fluss_error_t *err)
{
    size_t position = 0;
    while (position < records.size) {
        const fl_slice rest = fl_slice_sub(records, position, records.size - position);
        fl_log_batch batch;
        size_t size = 0;
        FL_TRY(fl_log_batch_size(rest, &size, err));
        if (size == 0 || size > rest.size) {
            break; /* cut off: not sent */
        }
        FL_TRY(fl_log_batch_open(fl_slice_sub(rest, 0, size), true, &batch, err));
        FL_TRY(project_batch(info, &batch, table, out, err));
        position += size;
    }
    return 0;
}

/* Keep a frame with the request, as the records of an answer. takes frame. */
static fluss_code_t keep(fl_request *req, fl_frame *frame, fl_slice *records, fluss_error_t *err)
{
    *records = fl_frame_slice(frame);
    const fluss_code_t rc = fl_request_keep(req, frame, err);
    if (rc != 0) {
        *records = (fl_slice){0};
    }
    return rc;
}

static fluss_code_t keep_projected(fl_request *req, const fl_table_info *info, const fl_frame *read,
                                   const fl_msg_pb_fetch_log_req_for_table *table,
                                   fl_slice *records, fluss_error_t *err)
{
    fl_buf buf;
    fl_frame *projected = NULL;
    fl_buf_init(&buf, PROJECTED_SIZE_MAX);
    fluss_code_t rc = project(info, fl_frame_slice(read), table, &buf, err);
    if (rc == 0) {
        projected = fl_frame_copy(fl_buf_slice(&buf));
        rc = projected != NULL ? keep(req, projected, records, err) : fl_error_nomem(err);
    }
    fl_buf_deinit(&buf);
    return rc;
}

/* Records of a filtered read on their way into one frame. */
typedef struct sifting {
    const fl_tablet *tablet;
    const fl_fetch_read *what;
    fl_fetch_filter *filter;
    size_t size_max;
    fl_buf kept;
    int64_t next;      /* behind the last batch that was looked at */
    int64_t kept_next; /* behind the last that was kept */
    bool is_full;
} sifting;

static fluss_code_t sift_batch(sifting *s, const fl_log_batch *batch, fluss_error_t *err)
{
    const int64_t next = fl_log_batch_next_offset(batch);
    const size_t before = s->kept.size;
    if (!fl_fetch_filter_keeps(s->filter, batch)) {
        s->next = next;
        return 0;
    }
    if (s->what->table->projection_pushdown_enabled) {
        FL_TRY(project_batch(s->tablet->info, batch, s->what->table, &s->kept, err));
    } else {
        FL_TRY(fl_buf_append_slice(&s->kept, batch->bytes, err));
    }
    if (s->kept.size > s->size_max && (before > 0 || !s->what->is_first)) {
        s->kept.size = before;
        s->is_full = true;
        return 0;
    }
    s->next = s->kept_next = next;
    return 0;
}

static fluss_code_t sift(sifting *s, fl_slice records, fluss_error_t *err)
{
    size_t position = 0;
    while (position < records.size && !s->is_full) {
        const fl_slice rest = fl_slice_sub(records, position, records.size - position);
        fl_log_batch batch;
        size_t size = 0;
        FL_TRY(fl_log_batch_size(rest, &size, err));
        if (size == 0 || size > rest.size) {
            break;
        }
        FL_TRY(fl_log_batch_open(fl_slice_sub(rest, 0, size), true, &batch, err));
        FL_TRY(sift_batch(s, &batch, err));
        position += size;
    }
    return 0;
}

/* Look at batches until the answer is full, the log ends or enough was looked at for once; the
 * client goes on behind what was left out. */
static fluss_code_t read_filtered(fl_request *req, sifting *s, int64_t offset,
                                  fl_msg_pb_fetch_log_resp_for_bucket *answer, fluss_error_t *err)
{
    const int64_t end = fl_log_store_end_offset(s->tablet->log);
    size_t seen = 0;
    fluss_code_t rc = 0;
    fl_buf_init(&s->kept, PROJECTED_SIZE_MAX);
    s->next = s->kept_next = offset;
    while (s->next < end && !s->is_full && seen < SIFTED_BYTES_MAX) {
        fl_frame *frame = NULL;
        const int64_t before = s->next;
        FL_TRY_OUT(fl_log_store_read(s->tablet->log, before, SIFT_STEP_BYTES, true, &frame, err));
        seen += frame->size;
        rc = sift(s, fl_frame_slice(frame), err);
        fl_frame_unref(frame);
        if (rc != 0 || s->next <= before) {
            break;
        }
    }
    if (rc == 0 && s->kept.size > 0) {
        fl_frame *frame = fl_frame_copy(fl_buf_slice(&s->kept));
        rc = frame != NULL ? keep(req, frame, &answer->records, err) : fl_error_nomem(err);
    }
    if (rc == 0 && s->next > s->kept_next) {
        answer->has_filtered_end_offset = true;
        answer->filtered_end_offset = s->next;
    }
out:
    fl_buf_deinit(&s->kept);
    return rc;
}

static fluss_code_t read_records(fl_request *req, fl_tablet *tablet, const fl_fetch_read *what,
                                 int64_t offset, fl_msg_pb_fetch_log_resp_for_bucket *answer,
                                 fluss_error_t *err)
{
    const int32_t asked_max = what->bucket->max_fetch_bytes;
    const size_t bucket_max = asked_max > 0 ? (size_t)asked_max : 0;
    const size_t size_max = what->size_max < bucket_max ? what->size_max : bucket_max;
    fl_frame *frame = NULL;
    fl_fetch_filter filter;
    if (what->table->projection_pushdown_enabled) {
        FL_TRY(check_projection(tablet, what->table, err));
    }
    if ((size_max == 0 && !what->is_first) || offset == fl_log_store_end_offset(tablet->log)) {
        return 0;
    }
    if (fl_fetch_filter_init(&filter, tablet->info, what->table)) {
        sifting s = {.tablet = tablet, .what = what, .filter = &filter, .size_max = size_max};
        const fluss_code_t rc = read_filtered(req, &s, offset, answer, err);
        fl_fetch_filter_deinit(&filter);
        return rc;
    }
    FL_TRY(fl_log_store_read(tablet->log, offset, size_max, what->is_first, &frame, err));
    if (frame->size > 0 && !what->table->projection_pushdown_enabled) {
        return keep(req, frame, &answer->records, err);
    }
    const fluss_code_t rc =
        keep_projected(req, tablet->info, frame, what->table, &answer->records, err);
    fl_frame_unref(frame);
    return rc;
}

fluss_code_t fl_fetch_read_bucket(fl_request *req, fl_tablet *tablet, const fl_fetch_read *what,
                                  fl_msg_pb_fetch_log_resp_for_bucket *answer, fluss_error_t *err)
{
    FL_TRY(fl_tablet_open(tablet, err));
    const int64_t start = fl_log_store_start_offset(tablet->log);
    const int64_t end = fl_log_store_end_offset(tablet->log);
    const int64_t asked = what->bucket->fetch_offset;
    const int64_t offset = asked == OFFSET_EARLIEST ? start : asked;
    if (offset < start || offset > end) {
        return fl_error(err, FLUSS_E_LOG_OFFSET_OUT_OF_RANGE, FLUSS_KIND_ARGUMENT,
                        "offset %lld is not in the range %lld to %lld", (long long)offset,
                        (long long)start, (long long)end);
    }
    FL_TRY(read_records(req, tablet, what, offset, answer, err));
    answer->has_records = true;
    answer->has_high_watermark = answer->has_log_start_offset = true;
    answer->high_watermark = end;
    answer->log_start_offset = 0; /* as the official server; clients do not use it */
    return 0;
}

/* Read on until the end; the pieces, whose number segments bound, are then joined. */
fluss_code_t fl_fetch_read_tail(fl_request *req, fl_tablet *tablet, int64_t from, size_t size_max,
                                fl_slice *records, fluss_error_t *err)
{
    fl_buf all;
    fluss_code_t rc = 0;
    fl_frame *joined = NULL;
    const int64_t end = fl_log_store_end_offset(tablet->log);
    fl_buf_init(&all, size_max);
    while (from < end) {
        fl_frame *frame = NULL;
        FL_TRY_OUT(fl_log_store_read(tablet->log, from, size_max, true, &frame, err));
        size_t position = 0, size = 0;
        const int64_t before = from;
        fl_log_batch batch;
        while (rc == 0 && position < frame->size) {
            const fl_slice rest = fl_slice_of(frame->data + position, frame->size - position);
            rc = fl_log_batch_size(rest, &size, err);
            if (rc != 0 || size == 0 || size > rest.size) {
                break;
            }
            rc = fl_log_batch_open(fl_slice_sub(rest, 0, size), tablet->info->is_arrow_log, &batch,
                                   err);
            if (rc == 0) {
                from = fl_log_batch_next_offset(&batch);
                position += size;
            }
        }
        if (rc == 0) {
            rc = fl_buf_append(&all, frame->data, position, err);
        }
        fl_frame_unref(frame);
        if (rc != 0 || from <= before) {
            break;
        }
    }
    if (rc == 0) {
        joined = fl_frame_copy(fl_buf_slice(&all));
        rc = joined != NULL ? keep(req, joined, records, err) : fl_error_nomem(err);
    }
out:
    fl_buf_deinit(&all);
    return rc;
}
