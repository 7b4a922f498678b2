/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of a primary-key tablet: what the log has and the store has not is applied, batch by
 * batch. The store names the offset up to which it is complete, in the same write as the rows, so a
 * crash at any point leaves a state from which this works; being interrupted and run again changes
 * nothing. */
#include <nanoarrow/nanoarrow.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/kv_tablet_private.h"

enum { READ_SIZE = 4 << 20 };

typedef struct replay {
    fl_kv_tablet *tablet;
    fl_kv_write *write;
} replay;

static fluss_code_t apply_record(replay *self, fluss_change_t change, const fluss_datum_t *values,
                                 fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    fl_slice key, full;
    if (change == FLUSS_UPDATE_BEFORE) {
        return 0;
    }
    FL_TRY(fl_kv_key_of(tablet, values, &key, err));
    FL_TRY(fl_kv_row_key(tablet, key, &full, err));
    if (tablet->state.row_count >= 0) {
        tablet->state.row_count += change == FLUSS_INSERT ? 1 : change == FLUSS_DELETE ? -1 : 0;
    }
    if (change == FLUSS_DELETE) {
        fl_kv_write_delete(self->write, FL_KV_ROWS, full);
        return 0;
    }
    FL_TRY(fl_kv_encode_value(tablet, values, err));
    fl_kv_write_put(self->write, FL_KV_ROWS, full, fl_buf_slice(&tablet->value));
    return 0;
}

static fluss_code_t apply_arrow(replay *self, const fl_log_batch *batch,
                                const fl_kv_version *version, int64_t skip_count,
                                fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    struct ArrowArray columns;
    fl_arrow_rows *rows = NULL;
    fluss_code_t rc = 0;
    FL_TRY(fl_arrow_read(version->schema, batch->payload, NULL, &columns, err));
    FL_TRY_OUT(fl_arrow_rows_new(version->schema, &columns, &rows, err));
    for (int64_t row = skip_count; row < batch->record_count; row++) {
        fl_arena_reset(&tablet->arena);
        for (size_t i = 0; i < version->schema->column_count; i++) {
            FL_TRY_OUT(
                fl_arrow_rows_get(rows, row, i, &tablet->arena, &tablet->as_written[i], err));
        }
        fl_kv_align(tablet, version, tablet->as_written, tablet->new_row);
        FL_TRY_OUT(apply_record(self, (fluss_change_t)batch->change_types.data[row],
                                tablet->new_row, err));
    }
out:
    fl_arrow_rows_free(rows);
    ArrowArrayRelease(&columns);
    return rc;
}

static fluss_code_t apply_rows(replay *self, const fl_log_batch *batch,
                               const fl_kv_version *version, int64_t skip_count, fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    const bool is_indexed = tablet->settings.log_format == FL_LOG_FORMAT_INDEXED;
    fl_row_log_iter records;
    fl_row_log_record record;
    bool is_end = false;
    fl_row_log_iter_init(&records, batch);
    for (int64_t row = 0;; row++) {
        FL_TRY(fl_row_log_next(&records, &record, &is_end, err));
        if (is_end) {
            return 0;
        }
        if (row < skip_count) {
            continue;
        }
        fl_arena_reset(&tablet->arena);
        FL_TRY(fl_row_decode(is_indexed ? FL_ROW_INDEXED : FL_ROW_COMPACTED, version->types,
                             record.row, version->schema->column_count, &tablet->arena,
                             tablet->as_written, err));
        fl_kv_align(tablet, version, tablet->as_written, tablet->new_row);
        FL_TRY(apply_record(self, record.change_type, tablet->new_row, err));
    }
}

static fluss_code_t apply_batch(replay *self, const fl_log_batch *batch, int64_t *offset,
                                fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    const int64_t skip_count = *offset > batch->base_offset ? *offset - batch->base_offset : 0;
    *offset = fl_log_batch_next_offset(batch);
    if (batch->record_count == 0) {
        return 0;
    }
    if (batch->schema_id < 1 || batch->schema_id > tablet->version_count) {
        return fl_error(
            err, FLUSS_E_LOG_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
            "the changelog names schema %d at offset %lld, the table has schemas 1 to %d",
            (int)batch->schema_id, (long long)batch->base_offset, (int)tablet->version_count);
    }
    const fl_kv_version *version = &tablet->versions[batch->schema_id - 1];
    if (tablet->settings.log_format == FL_LOG_FORMAT_ARROW) {
        return apply_arrow(self, batch, version, skip_count, err);
    }
    return apply_rows(self, batch, version, skip_count, err);
}

static fluss_code_t apply_frame(replay *self, fl_slice bytes, int64_t *offset, fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    const bool is_arrow = tablet->settings.log_format == FL_LOG_FORMAT_ARROW;
    self->write = fl_kv_write_new();
    if (self->write == NULL) {
        return fl_error_nomem(err);
    }
    while (bytes.size != 0) {
        fl_log_batch batch;
        FL_TRY(fl_log_batch_open(bytes, is_arrow, &batch, err));
        FL_TRY(apply_batch(self, &batch, offset, err));
        bytes = fl_slice_sub(bytes, batch.bytes.size, bytes.size - batch.bytes.size);
    }
    fl_kv_state state = tablet->state;
    state.applied_offset = *offset;
    fl_kv_write_state(tablet->prefix, &state, self->write);
    FL_TRY(fl_kv_write_commit_now(tablet->store, self->write, false, err));
    tablet->state.applied_offset = *offset;
    return 0;
}

/* With log.flush = os the machine can lose the end of a log whose rows had reached the store: what
 * the log still has counts, so the rows are made anew from it. */
static fluss_code_t check_range(fl_kv_tablet *tablet, fluss_error_t *err)
{
    const int64_t start = fl_log_store_start_offset(tablet->log),
                  end = fl_log_store_end_offset(tablet->log);
    if (tablet->state.applied_offset >= start && tablet->state.applied_offset <= end) {
        return 0;
    }
    if (start != 0) {
        return fl_error(
            err, FLUSS_E_KV_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
            "the rows of table %s.%s are those of log offset %lld, its log has %lld to %lld",
            tablet->info->database, tablet->info->name, (long long)tablet->state.applied_offset,
            (long long)start, (long long)end);
    }
    fl_log(FL_LOG_ERROR, "server",
           "table %s.%s%s%s, bucket %d: the rows are those of log offset %lld, but the log ends at "
           "%lld; they are made anew from it",
           tablet->info->database, tablet->info->name,
           tablet->partition_name != NULL ? ", partition " : "",
           tablet->partition_name != NULL ? tablet->partition_name : "",
           (int)fl_load_be32(tablet->prefix + FL_KV_PREFIX_SIZE - sizeof(int32_t)),
           (long long)tablet->state.applied_offset, (long long)end);
    tablet->state.applied_offset = 0;
    tablet->state.next_id = tablet->state.ids_end = 0;
    tablet->state.row_count = tablet->state.row_count >= 0 ? 0 : -1;
    return fl_kv_erase_prefix(tablet->store, tablet->prefix, err);
}

fluss_code_t fl_kv_replay(fl_kv_tablet *tablet, fluss_error_t *err)
{
    replay self = {.tablet = tablet};
    fluss_code_t rc = check_range(tablet, err);
    int64_t offset = tablet->state.applied_offset;
    if (rc != 0 || offset == fl_log_store_end_offset(tablet->log)) {
        return rc;
    }
    /* The rows of the log may have ids of the block that the store's state does not know of. */
    tablet->state.next_id = tablet->state.ids_end = 0;
    while (rc == 0 && offset < fl_log_store_end_offset(tablet->log)) {
        fl_frame *frame;
        rc = fl_log_store_read(tablet->log, offset, READ_SIZE, true, &frame, err);
        if (rc == 0) {
            rc = apply_frame(&self, fl_slice_of(frame->data, frame->size), &offset, err);
            fl_frame_unref(frame);
            fl_kv_write_free(self.write);
            self.write = NULL;
        }
    }
    return rc;
}
