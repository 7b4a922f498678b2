/* SPDX-License-Identifier: Apache-2.0 */
/* A write to a primary-key tablet. For each record: find the row that is
 * there, merge, note the change for the changelog and the new row in the prewrite buffer. Then the
 * changelog is appended to the log, with the writer id and sequence of the KV batch, so the log
 * recognises a batch that comes twice. Any failure undoes the buffer.
 *
 * Cost per record: one lookup in the store (none for a WAL changelog of whole rows), the row
 * decoded once and its values copied into the changelog's columns, its bytes copied once into the
 * buffer. */
#include "base/alloc.h"
#include "format/kv_batch.h"
#include "net/loop.h"
#include "server/kv_tablet_private.h"

typedef struct put_state {
    fl_kv_tablet *tablet;
    fl_merge merge;
    bool is_wal;
    bool needs_old;    /* to merge an upsert, or to log it */
    int32_t schema_id; /* of the batch */
} put_state;

/* What a key holds now. */
typedef struct old_value {
    bool exists;
    fl_slice value;  /* schema id, row */
    uint8_t *loaded; /* from the store; NULL: in the prewrite buffer */
} old_value;

static fluss_code_t find_old(fl_kv_tablet *tablet, fl_slice key, old_value *old, fluss_error_t *err)
{
    *old = (old_value){0};
    const fl_prewrite_entry *entry = fl_prewrite_find(&tablet->prewrite, key);
    if (entry != NULL) {
        old->exists = !entry->is_delete;
        old->value = fl_prewrite_value(entry);
        return 0;
    }
    FL_TRY(fl_kv_tablet_get(tablet, key, &old->loaded, &old->value.size, err));
    old->value.data = old->loaded;
    old->exists = old->loaded != NULL;
    return 0;
}

static fluss_code_t decode_old(fl_kv_tablet *tablet, const old_value *old, fluss_error_t *err)
{
    int16_t schema_id;
    fl_slice row;
    FL_TRY(fl_value_open(old->value, &schema_id, &row, err));
    return fl_kv_decode(tablet, schema_id, row, tablet->old_row, err);
}

static fluss_code_t store(fl_kv_tablet *tablet, fl_slice key, fl_slice value, bool is_new,
                          fluss_error_t *err)
{
    return fl_prewrite_put(&tablet->prewrite, key, &value, is_new ? 1 : 0, err);
}

/* The row as it was written, behind the schema id of its batch. */
static fluss_code_t store_as_written(const put_state *put, fl_slice key, fl_slice row, bool is_new,
                                     fluss_error_t *err)
{
    fl_kv_tablet *tablet = put->tablet;
    fl_buf_reset(&tablet->value);
    FL_TRY(fl_value_encode((int16_t)put->schema_id, row, &tablet->value, err));
    return store(tablet, key, fl_buf_slice(&tablet->value), is_new, err);
}

static fluss_code_t log_change(const put_state *put, bool had_old, bool is_replaced_blindly,
                               const fluss_datum_t *row, fluss_error_t *err)
{
    fl_kv_tablet *tablet = put->tablet;
    if (!had_old) {
        const fluss_change_t change = is_replaced_blindly ? FLUSS_UPDATE_AFTER : FLUSS_INSERT;
        return fl_kv_changelog_add(tablet, change, row, err);
    }
    if (!put->is_wal) {
        FL_TRY(fl_kv_changelog_add(tablet, FLUSS_UPDATE_BEFORE, tablet->old_row, err));
    }
    return fl_kv_changelog_add(tablet, FLUSS_UPDATE_AFTER, row, err);
}

static fluss_code_t remove_row(const put_state *put, fl_slice key, fluss_error_t *err)
{
    fl_kv_tablet *tablet = put->tablet;
    FL_TRY(fl_kv_changelog_add(tablet, FLUSS_DELETE, tablet->old_row, err));
    return fl_prewrite_put(&tablet->prewrite, key, NULL, -1, err);
}

static fluss_code_t delete_record(const put_state *put, fl_slice key, const old_value *old,
                                  fluss_error_t *err)
{
    fl_kv_tablet *tablet = put->tablet;
    fl_merged merged;
    if (!old->exists && put->merge.delete_behavior == FL_DELETE_ALLOW) {
        return 0;
    }
    FL_TRY(fl_merge_delete(&put->merge, tablet->old_row, tablet->out_row, &merged, err));
    switch (merged) {
    case FL_MERGED_NONE:
        return remove_row(put, key, err);
    case FL_MERGED_OUT:
        FL_TRY(log_change(put, true, false, tablet->out_row, err));
        FL_TRY(fl_kv_encode_value(tablet, tablet->out_row, err));
        return store(tablet, key, fl_buf_slice(&tablet->value), false, err);
    case FL_MERGED_OLD:
    case FL_MERGED_NEW:
        break;
    }
    return 0;
}

/* A new row of a table with an auto-increment column gets the next id. */
static fluss_code_t fill_auto_increment(fl_kv_tablet *tablet, fluss_datum_t *row,
                                        fluss_error_t *err)
{
    const int32_t column = fl_kv_latest(tablet)->auto_increment;
    const uint8_t root = fl_kv_latest(tablet)->columns[column].type.root;
    if (tablet->state.next_id == tablet->state.ids_end) {
        const int64_t count = tablet->settings.auto_increment_cache_size;
        FL_TRY(tablet->take_ids(tablet->take_ids_context, count, &tablet->state.next_id, err));
        tablet->state.ids_end = tablet->state.next_id + count;
    }
    if (root == FLUSS_INT && tablet->state.next_id > INT32_MAX) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_SERVER,
                        "the auto-increment column '%s' is an INT and has no value left",
                        fl_kv_latest(tablet)->columns[column].name);
    }
    row[column] = (fluss_datum_t){.type = root, .v.i = tablet->state.next_id++};
    return 0;
}

/* The log brings a row back under the key of its values, so that must be the key it came with. */
static fluss_code_t check_key(fl_kv_tablet *tablet, fl_slice key, fluss_error_t *err)
{
    fl_slice wanted;
    const fluss_code_t rc = fl_kv_key_of(tablet, tablet->new_row, &wanted, err);
    if (rc != 0 && rc != FLUSS_E_CLIENT) {
        return rc;
    }
    if (rc == FLUSS_E_CLIENT || !fl_slice_equal(key, wanted)) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "table %s.%s: a key of %zu bytes is not that of its row",
                        tablet->info->database, tablet->info->name, key.size);
    }
    return 0;
}

static fluss_code_t upsert_record(const put_state *put, fl_slice key, fl_slice row,
                                  const old_value *old, fluss_error_t *err)
{
    fl_kv_tablet *tablet = put->tablet;
    fl_merged merged;
    FL_TRY(fl_kv_decode(tablet, put->schema_id, row, tablet->new_row, err));
    FL_TRY(check_key(tablet, key, err));
    FL_TRY(fl_merge_upsert(&put->merge, old->exists ? tablet->old_row : NULL, tablet->new_row,
                           &tablet->arena, tablet->out_row, &merged, err));
    if (merged == FL_MERGED_OLD) {
        return 0;
    }
    if (!old->exists && fl_kv_latest(tablet)->auto_increment >= 0) {
        if (merged == FL_MERGED_NEW) {
            memcpy(tablet->out_row, tablet->new_row,
                   fl_kv_latest(tablet)->column_count * sizeof(*tablet->out_row));
        }
        merged = FL_MERGED_OUT;
        FL_TRY(fill_auto_increment(tablet, tablet->out_row, err));
    }
    const fluss_datum_t *result = merged == FL_MERGED_NEW ? tablet->new_row : tablet->out_row;
    FL_TRY(log_change(put, old->exists, !put->needs_old, result, err));
    if (merged == FL_MERGED_NEW) {
        return store_as_written(put, key, row, !old->exists, err);
    }
    FL_TRY(fl_kv_encode_value(tablet, result, err));
    return store(tablet, key, fl_buf_slice(&tablet->value), !old->exists, err);
}

static fluss_code_t put_record(const put_state *put, fl_slice key, fl_slice row, bool is_delete,
                               fluss_error_t *err)
{
    fl_kv_tablet *tablet = put->tablet;
    old_value old = {0};
    fluss_code_t rc = 0;
    fl_arena_reset(&tablet->arena);
    if (is_delete || put->needs_old) {
        FL_TRY(find_old(tablet, key, &old, err));
    }
    if (old.exists) {
        FL_TRY_OUT(decode_old(tablet, &old, err));
    }
    rc = is_delete ? delete_record(put, key, &old, err) : upsert_record(put, key, row, &old, err);
out:
    fl_free(old.loaded);
    return rc;
}

static fluss_code_t check_batch(put_state *put, const fl_kv_batch *batch, fluss_error_t *err)
{
    FL_TRY(fl_kv_batch_check_crc(batch, err));
    put->schema_id = batch->schema_id;
    if (batch->schema_id < 1 || batch->schema_id > fl_kv_latest_id(put->tablet)) {
        return fl_error(err, FLUSS_E_SCHEMA_NOT_EXIST, FLUSS_KIND_SERVER,
                        "table %s.%s has no schema %d, the latest is %d",
                        put->tablet->info->database, put->tablet->info->name, (int)batch->schema_id,
                        (int)fl_kv_latest_id(put->tablet));
    }
    return 0;
}

static fluss_code_t put_batch(put_state *put, const fl_kv_batch *batch, fluss_error_t *err)
{
    fl_kv_batch_iter records;
    fl_kv_record record;
    bool is_end = false;
    FL_TRY(check_batch(put, batch, err));
    FL_TRY(fl_kv_changelog_reset(put->tablet, err));
    fl_kv_batch_iter_init(&records, batch);
    for (;;) {
        FL_TRY(fl_kv_batch_next(&records, &record, &is_end, err));
        if (is_end) {
            break;
        }
        FL_TRY(put_record(put, record.key, record.row, record.is_delete, err));
    }
    return fl_kv_changelog_finish(put->tablet, batch->writer_id, batch->batch_sequence, err);
}

static fluss_code_t begin(fl_kv_tablet *tablet, const fl_kv_put *put, put_state *state,
                          fluss_error_t *err)
{
    *state = (put_state){.tablet = tablet, .merge = tablet->merge};
    if (put->overwrites) {
        state->merge.engine = FL_MERGE_NONE;
        state->merge.delete_behavior = FL_DELETE_ALLOW;
    }
    FL_TRY(fl_merge_set_targets(&state->merge, put->target_columns, put->target_count,
                                tablet->is_target, err));
    state->is_wal = tablet->settings.changelog_image == FL_CHANGELOG_WAL;
    state->needs_old = !state->is_wal || fl_merge_needs_old(&state->merge);
    fl_buf_reset(&tablet->changes);
    return 0;
}

/* Share of the memory for pending rows that is taken. */
static double pending_share(const fl_kv_tablet *tablet, size_t more)
{
    const fl_kv_memory *memory = tablet->memory;
    if (memory == NULL || memory->pending_max == 0) {
        return 0;
    }
    const size_t pending = atomic_load(&memory->pending);
    /* Where nothing waits, nothing would make room. */
    return pending == 0 ? 0 : (double)(pending + more) / (double)memory->pending_max;
}

double fl_kv_tablet_pressure(const fl_kv_tablet *tablet)
{
    const double from = 0.75; /* the share from which clients slow down */
    const double by_memory = (pending_share(tablet, 0) - from) / (1 - from);
    const double by_store = fl_kv_store_pressure(tablet->store, fl_clock_ms());
    const double pressure = by_memory > by_store ? by_memory : by_store;
    return pressure < 0 ? 0 : pressure < 1 ? pressure : 1;
}

static fluss_code_t check_room(const fl_kv_tablet *tablet, size_t size, fluss_error_t *err)
{
    if (pending_share(tablet, size) > 1) {
        return fl_error(err, FLUSS_E_STORAGE_BACKPRESSURE, FLUSS_KIND_STATE,
                        "table %s.%s: %zu bytes of rows wait for the disk, %zu more do not fit "
                        "(kv.prewrite-buffer.size); try again",
                        tablet->info->database, tablet->info->name,
                        atomic_load(&tablet->memory->pending), size);
    }
    if (fl_kv_store_pressure(tablet->store, fl_clock_ms()) >= 1) {
        return fl_error(err, FLUSS_E_STORAGE_BACKPRESSURE, FLUSS_KIND_STATE,
                        "table %s.%s: the key-value store has not yet taken in what was written; "
                        "try again",
                        tablet->info->database, tablet->info->name);
    }
    return 0;
}

fluss_code_t fl_kv_tablet_put(fl_kv_tablet *tablet, const fl_kv_put *put, fl_log_appended *appended,
                              fluss_error_t *err)
{
    put_state state;
    fl_kv_batch batch;
    FL_TRY(check_room(tablet, put->records.size, err));
    FL_TRY(begin(tablet, put, &state, err));
    FL_TRY(fl_kv_batch_open(put->records, &batch, err));
    const fl_prewrite_mark mark = fl_prewrite_begin(&tablet->prewrite);
    fluss_code_t rc = put_batch(&state, &batch, err);
    if (rc == 0) {
        rc = fl_log_store_append(tablet->log, tablet->changes.data, tablet->changes.size,
                                 put->now_ms, appended, err);
    }
    if (rc != 0 || appended->is_duplicate) {
        fl_prewrite_undo(&tablet->prewrite, mark);
        appended->log_end_offset = appended->original_end_offset;
        return rc;
    }
    fl_prewrite_accept(mark, appended->log_end_offset);
    fl_kv_note_pending(tablet);
    return 0;
}
