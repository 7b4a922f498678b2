/* SPDX-License-Identifier: Apache-2.0 */
/* A primary-key tablet: opened, kept in line with its table, committed, read. Writing is in
 * kv_put.c, the changelog in kv_changelog.c, recovery in kv_replay.c. */
#include "base/alloc.h"
#include "server/kv_tablet_private.h"

/* The state entry: applied offset i64, row count i64, next id i64, end of the ids i64; little
 * endian. */
enum { STATE_SIZE = 32, GET_MANY_MAX = 64 };

static void make_prefix(int64_t table_id, int64_t partition_id, int32_t bucket,
                        uint8_t prefix[FL_KV_PREFIX_SIZE])
{
    fl_store_be64(prefix, (uint64_t)table_id);
    fl_store_be64(prefix + 8, (uint64_t)partition_id);
    fl_store_be32(prefix + 16, (uint32_t)bucket);
}

static void state_key(const uint8_t prefix[FL_KV_PREFIX_SIZE], uint8_t key[FL_KV_PREFIX_SIZE + 1])
{
    memcpy(key, prefix, FL_KV_PREFIX_SIZE);
    key[FL_KV_PREFIX_SIZE] = FL_KV_KIND_STATE;
}

static fluss_code_t load_state(fl_kv_tablet *tablet, fluss_error_t *err)
{
    uint8_t key[FL_KV_PREFIX_SIZE + 1];
    uint8_t *state;
    size_t size;
    bool found;
    state_key(tablet->prefix, key);
    FL_TRY(fl_kv_get(tablet->store, FL_KV_ROWS, fl_slice_of(key, sizeof(key)), &state, &size,
                     &found, err));
    if (!found) {
        return 0;
    }
    const bool is_whole = size == STATE_SIZE;
    if (is_whole) {
        tablet->state = (fl_kv_state){.applied_offset = fl_load_i64(state),
                                      .row_count = fl_load_i64(state + 8),
                                      .next_id = fl_load_i64(state + 16),
                                      .ids_end = fl_load_i64(state + 24)};
    }
    fl_free(state);
    if (!is_whole) {
        return fl_error(
            err, FLUSS_E_KV_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
            "the state of table %s.%s in the key-value store has %zu bytes, expected %d",
            tablet->info->database, tablet->info->name, size, (int)STATE_SIZE);
    }
    return 0;
}

void fl_kv_write_state(const uint8_t prefix[FL_KV_PREFIX_SIZE], const fl_kv_state *state,
                       fl_kv_write *write)
{
    uint8_t key[FL_KV_PREFIX_SIZE + 1], bytes[STATE_SIZE];
    state_key(prefix, key);
    fl_store_i64(bytes, state->applied_offset);
    fl_store_i64(bytes + 8, state->row_count);
    fl_store_i64(bytes + 16, state->next_id);
    fl_store_i64(bytes + 24, state->ids_end);
    fl_kv_write_put(write, FL_KV_ROWS, fl_slice_of(key, sizeof(key)),
                    fl_slice_of(bytes, sizeof(bytes)));
}

/* ---- schema versions ---- */

static fluss_code_t prepare_version(fl_kv_tablet *tablet, const fl_schema *schema,
                                    const fl_schema *latest, fl_kv_version *version,
                                    fluss_error_t *err)
{
    fl_arena *arena = &tablet->versions_arena;
    version->schema = schema;
    version->types = fl_arena_array(arena, schema->column_count, sizeof(*version->types));
    version->source = fl_arena_array(arena, latest->column_count, sizeof(*version->source));
    if (version->types == NULL || version->source == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        version->types[i] = &schema->columns[i].type;
    }
    return fl_schema_match(schema, latest, version->source, err);
}

static fluss_code_t prepare_key_columns(fl_kv_tablet *tablet, fluss_error_t *err)
{
    const fl_schema *schema = fl_kv_latest(tablet);
    const size_t count_max = schema->primary_key_count;
    fl_kv_key_columns *key = &tablet->key_columns;
    key->indexes = fl_arena_array(&tablet->versions_arena, count_max, sizeof(*key->indexes));
    key->types = fl_arena_array(&tablet->versions_arena, count_max, sizeof(*key->types));
    key->values = fl_arena_array(&tablet->versions_arena, count_max, sizeof(*key->values));
    if (key->indexes == NULL || key->types == NULL || key->values == NULL) {
        return fl_error_nomem(err);
    }
    key->count = fl_table_physical_key(tablet->info->desc, key->indexes);
    for (size_t i = 0; i < key->count; i++) {
        key->types[i] = &schema->columns[key->indexes[i]].type;
    }
    return 0;
}

static size_t widest_version(const fl_table_info *info)
{
    size_t count = 0;
    for (int32_t i = 0; i < info->schema_count; i++) {
        const size_t own = info->schemas[i].schema->column_count;
        count = own > count ? own : count;
    }
    return count;
}

static fluss_code_t prepare_versions(fl_kv_tablet *tablet, fluss_error_t *err)
{
    const fl_table_info *info = tablet->info;
    const fl_schema *latest = info->schemas[info->schema_count - 1].schema;
    fl_arena *arena = &tablet->versions_arena;
    tablet->versions = fl_arena_array(arena, (size_t)info->schema_count, sizeof(*tablet->versions));
    tablet->old_row = fl_arena_array(arena, latest->column_count, sizeof(fluss_datum_t));
    tablet->new_row = fl_arena_array(arena, latest->column_count, sizeof(fluss_datum_t));
    tablet->out_row = fl_arena_array(arena, latest->column_count, sizeof(fluss_datum_t));
    tablet->as_written = fl_arena_array(arena, widest_version(info), sizeof(fluss_datum_t));
    tablet->is_target = fl_arena_array(arena, latest->column_count, sizeof(bool));
    if (tablet->versions == NULL || tablet->old_row == NULL || tablet->new_row == NULL ||
        tablet->out_row == NULL || tablet->as_written == NULL || tablet->is_target == NULL) {
        return fl_error_nomem(err);
    }
    for (int32_t i = 0; i < info->schema_count; i++) {
        FL_TRY(prepare_version(tablet, info->schemas[i].schema, latest, &tablet->versions[i], err));
    }
    tablet->version_count = info->schema_count;
    return prepare_key_columns(tablet, err);
}

static fluss_code_t prepare_merge(fl_kv_tablet *tablet, fluss_error_t *err)
{
    const fl_table_settings *settings = &tablet->settings;
    const fl_schema *schema = fl_kv_latest(tablet);
    fl_aggregator *aggregators =
        fl_arena_array(&tablet->versions_arena, schema->column_count, sizeof(*aggregators));
    if (aggregators == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        aggregators[i] = fl_aggregator_of(&schema->columns[i]);
    }
    tablet->merge = (fl_merge){.schema = schema,
                               .aggregators = aggregators,
                               .engine = settings->merge_engine,
                               .delete_behavior = settings->delete_behavior};
    if (settings->merge_engine == FL_MERGE_VERSIONED) {
        tablet->merge.version_column =
            (uint32_t)settings->version_column; /* checked at CREATE_TABLE */
    }
    return 0;
}

/* What depends on the table's info. */
static fluss_code_t prepare(fl_kv_tablet *tablet, fluss_error_t *err)
{
    FL_TRY(prepare_versions(tablet, err));
    tablet->settings = tablet->info->settings;
    tablet->row_format = tablet->settings.kv_format;
    FL_TRY(prepare_merge(tablet, err));
    return fl_kv_changelog_prepare(tablet, err);
}

static void forget_info(fl_kv_tablet *tablet)
{
    fl_kv_changelog_deinit(&tablet->changelog);
    fl_arena_deinit(&tablet->versions_arena);
    fl_table_info_unref(tablet->info);
}

fluss_code_t fl_kv_tablet_set_info(fl_kv_tablet *tablet, fl_table_info *info, fluss_error_t *err)
{
    fl_kv_tablet next = *tablet; /* all that does not depend on the info stays */
    next.info = fl_table_info_ref(info);
    fl_arena_init(&next.versions_arena);
    fl_kv_changelog_init(&next.changelog);
    const fluss_code_t rc = prepare(&next, err);
    if (rc != 0) {
        forget_info(&next);
        return rc;
    }
    forget_info(tablet);
    *tablet = next;
    return 0;
}

/* ---- life ---- */

static void init(fl_kv_tablet *tablet, const fl_kv_tablet_spec *spec)
{
    tablet->store = spec->store;
    tablet->log = spec->log;
    tablet->memory = spec->memory;
    if (tablet->memory != NULL) {
        atomic_fetch_add(&tablet->memory->tablet_count, 1);
    }
    tablet->partition_name = spec->partition_name;
    tablet->take_ids = spec->take_ids;
    tablet->take_ids_context = spec->context;
    fl_arena_init(&tablet->versions_arena);
    fl_arena_init(&tablet->arena);
    fl_prewrite_init(&tablet->prewrite);
    fl_kv_changelog_init(&tablet->changelog);
    fl_buf_init(&tablet->key, FL_KV_KEY_SIZE_MAX);
    fl_buf_init(&tablet->row_key, FL_KV_KEY_SIZE_MAX);
    fl_buf_init(&tablet->value, INT32_MAX);
    fl_buf_init(&tablet->changes, INT32_MAX);
    make_prefix(spec->info->table_id, spec->partition_id, spec->bucket, tablet->prefix);
}

fluss_code_t fl_kv_tablet_open(const fl_kv_tablet_spec *spec, fl_kv_tablet **out,
                               fluss_error_t *err)
{
    fluss_code_t rc = 0;
    *out = NULL;
    fl_kv_tablet *tablet = fl_calloc(1, sizeof(*tablet));
    if (tablet == NULL) {
        return fl_error_nomem(err);
    }
    init(tablet, spec);
    FL_TRY_OUT(fl_kv_tablet_set_info(tablet, spec->info, err));
    tablet->state.row_count = tablet->settings.changelog_image == FL_CHANGELOG_WAL ? -1 : 0;
    FL_TRY_OUT(load_state(tablet, err));
    FL_TRY_OUT(fl_kv_replay(tablet, err));
    *out = tablet;
    return 0;
out:
    fl_kv_tablet_close(tablet);
    return rc;
}

void fl_kv_tablet_close(fl_kv_tablet *tablet)
{
    if (tablet == NULL) {
        return;
    }
    FL_ASSERT(tablet->commit == NULL);
    forget_info(tablet);
    fl_prewrite_deinit(&tablet->prewrite);
    fl_kv_note_pending(tablet);
    if (tablet->memory != NULL) {
        atomic_fetch_sub(&tablet->memory->tablet_count, 1);
    }
    fl_buf_deinit(&tablet->key);
    fl_buf_deinit(&tablet->row_key);
    fl_buf_deinit(&tablet->value);
    fl_buf_deinit(&tablet->changes);
    fl_arena_deinit(&tablet->arena);
    fl_free(tablet);
}

fluss_code_t fl_kv_erase_prefix(fl_kv_store *store, const uint8_t prefix[FL_KV_PREFIX_SIZE],
                                fluss_error_t *err)
{
    uint8_t from[FL_KV_PREFIX_SIZE + 1], to[FL_KV_PREFIX_SIZE + 1];
    fl_kv_write *write = fl_kv_write_new();
    if (write == NULL) {
        return fl_error_nomem(err);
    }
    state_key(prefix, from);
    memcpy(to, prefix, FL_KV_PREFIX_SIZE);
    to[FL_KV_PREFIX_SIZE] = FL_KV_KIND_ROW + 1;
    fl_kv_write_delete_range(write, FL_KV_ROWS, fl_slice_of(from, sizeof(from)),
                             fl_slice_of(to, sizeof(to)));
    const fluss_code_t rc = fl_kv_write_commit(store, write, false, err);
    fl_kv_write_free(write);
    return rc;
}

fluss_code_t fl_kv_tablet_erase(fl_kv_store *store, int64_t table_id, int64_t partition_id,
                                int32_t bucket, fluss_error_t *err)
{
    uint8_t prefix[FL_KV_PREFIX_SIZE];
    make_prefix(table_id, partition_id, bucket, prefix);
    return fl_kv_erase_prefix(store, prefix, err);
}

/* ---- rows ---- */

fluss_code_t fl_kv_row_key(fl_kv_tablet *tablet, fl_slice key, fl_slice *full, fluss_error_t *err)
{
    return fl_kv_full_key(tablet->prefix, key, &tablet->key, full, err);
}

static fluss_code_t append_key(const uint8_t prefix[FL_KV_PREFIX_SIZE], fl_slice key, fl_buf *out,
                               fluss_error_t *err)
{
    FL_TRY(fl_buf_append(out, prefix, FL_KV_PREFIX_SIZE, err));
    FL_TRY(fl_buf_append_byte(out, FL_KV_KIND_ROW, err));
    return fl_buf_append_slice(out, key, err);
}

fluss_code_t fl_kv_full_key(const uint8_t prefix[FL_KV_PREFIX_SIZE], fl_slice key, fl_buf *room,
                            fl_slice *full, fluss_error_t *err)
{
    fl_buf_reset(room);
    FL_TRY(append_key(prefix, key, room, err));
    *full = fl_buf_slice(room);
    return 0;
}

fluss_code_t fl_kv_key_of(fl_kv_tablet *tablet, const fluss_datum_t *values, fl_slice *key,
                          fluss_error_t *err)
{
    const fl_kv_key_columns *columns = &tablet->key_columns;
    for (size_t i = 0; i < columns->count; i++) {
        columns->values[i] = values[columns->indexes[i]];
    }
    fl_buf_reset(&tablet->row_key);
    FL_TRY(fl_key_encode(tablet->settings.key_format, columns->types, columns->values,
                         columns->count, &tablet->row_key, err));
    *key = fl_buf_slice(&tablet->row_key);
    return 0;
}

void fl_kv_align(const fl_kv_tablet *tablet, const fl_kv_version *version, const fluss_datum_t *own,
                 fluss_datum_t *values)
{
    for (size_t i = 0; i < fl_kv_latest(tablet)->column_count; i++) {
        const int32_t source = version->source[i];
        values[i] = source >= 0 ? own[source] : (fluss_datum_t){.type = FLUSS_NULL};
    }
}

static fluss_code_t decode_row(fl_kv_tablet *tablet, const fl_kv_version *version, fl_slice row,
                               fluss_datum_t *values, fluss_error_t *err)
{
    const fluss_code_t rc =
        fl_row_decode(tablet->row_format, version->types, row, version->schema->column_count,
                      &tablet->arena, values, err);
    if (rc == FLUSS_E_CORRUPT_MESSAGE && err != NULL) {
        err->code = FLUSS_E_CORRUPT_RECORD; /* here it is a record, not a frame */
    }
    return rc == FLUSS_E_CORRUPT_MESSAGE ? FLUSS_E_CORRUPT_RECORD : rc;
}

fluss_code_t fl_kv_decode(fl_kv_tablet *tablet, int32_t schema_id, fl_slice row,
                          fluss_datum_t *values, fluss_error_t *err)
{
    if (schema_id < 1 || schema_id > tablet->version_count) {
        return fl_error(err, FLUSS_E_KV_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                        "a row names schema %d, table %s.%s has schemas 1 to %d", (int)schema_id,
                        tablet->info->database, tablet->info->name, (int)tablet->version_count);
    }
    const fl_kv_version *version = &tablet->versions[schema_id - 1];
    if (schema_id == tablet->version_count) {
        return decode_row(tablet, version, row, values, err);
    }
    FL_TRY(decode_row(tablet, version, row, tablet->as_written, err));
    fl_kv_align(tablet, version, tablet->as_written, values);
    return 0;
}

fluss_code_t fl_kv_encode_value(fl_kv_tablet *tablet, const fluss_datum_t *values,
                                fluss_error_t *err)
{
    const fl_kv_version *version = &tablet->versions[tablet->version_count - 1];
    uint8_t schema_id[sizeof(int16_t)];
    fl_store_i16(schema_id, (int16_t)tablet->version_count);
    fl_buf_reset(&tablet->value);
    FL_TRY(fl_buf_append(&tablet->value, schema_id, sizeof(schema_id), err));
    return fl_row_encode(tablet->row_format, version->types, values, version->schema->column_count,
                         &tablet->value, err);
}

/* ---- bytes, rows, offsets ---- */

void fl_kv_note_pending(fl_kv_tablet *tablet)
{
    if (tablet->memory != NULL) { /* less is an addition too, modulo the size of the number */
        atomic_fetch_add(&tablet->memory->pending, tablet->prewrite.bytes - tablet->pending_noted);
    }
    tablet->pending_noted = tablet->prewrite.bytes;
}

int64_t fl_kv_tablet_applied_offset(const fl_kv_tablet *tablet)
{
    return tablet->state.applied_offset;
}

size_t fl_kv_tablet_pending_bytes(const fl_kv_tablet *tablet)
{
    return tablet->prewrite.bytes;
}

int64_t fl_kv_tablet_row_count(const fl_kv_tablet *tablet)
{
    return tablet->state.row_count;
}

/* ---- reads ---- */

/* A kept value as one that the caller owns. */
static fluss_code_t copy_kept(const fl_prewrite_entry *entry, uint8_t **value, size_t *size,
                              fluss_error_t *err)
{
    const fl_slice kept = fl_prewrite_value(entry);
    if (entry->is_delete) {
        return 0;
    }
    *value = fl_alloc(kept.size);
    if (*value == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(*value, kept.data, kept.size);
    *size = kept.size;
    return 0;
}

fluss_code_t fl_kv_tablet_get(fl_kv_tablet *tablet, fl_slice key, uint8_t **value, size_t *size,
                              fluss_error_t *err)
{
    fl_slice full;
    bool found;
    *value = NULL;
    *size = 0;
    const fl_prewrite_entry *entry = fl_prewrite_find_kept(&tablet->prewrite, key);
    if (entry != NULL) {
        return copy_kept(entry, value, size, err);
    }
    FL_TRY(fl_kv_row_key(tablet, key, &full, err));
    return fl_kv_get(tablet->store, FL_KV_ROWS, full, value, size, &found, err);
}

/* Keys that the prewrite buffer does not have, on their way to the store. */
typedef struct asked_keys {
    size_t count;
    size_t indexes[GET_MANY_MAX]; /* of the values */
    fl_slice keys[GET_MANY_MAX];
} asked_keys;

/* The store's keys of those that were asked for, one behind the other in tablet->key. */
static fluss_code_t make_keys(fl_kv_tablet *tablet, asked_keys *asked, fluss_error_t *err)
{
    fl_buf *room = &tablet->key;
    size_t size = 0;
    for (size_t i = 0; i < asked->count; i++) {
        size += FL_KV_PREFIX_SIZE + 1 + asked->keys[i].size;
    }
    fl_buf_reset(room);
    FL_TRY(fl_buf_reserve(room, size, err)); /* it does not move from here on */
    for (size_t i = 0; i < asked->count; i++) {
        const size_t at = room->size;
        FL_TRY(append_key(tablet->prefix, asked->keys[i], room, err));
        asked->keys[i] = fl_slice_of(room->data + at, room->size - at);
    }
    return 0;
}

static fluss_code_t get_asked(fl_kv_tablet *tablet, asked_keys *asked, fl_kv_value *values,
                              fluss_error_t *err)
{
    fl_kv_value found[GET_MANY_MAX];
    FL_TRY(make_keys(tablet, asked, err));
    FL_TRY(fl_kv_multi_get(tablet->store, FL_KV_ROWS, asked->keys, asked->count, found, err));
    for (size_t i = 0; i < asked->count; i++) {
        values[asked->indexes[i]] = found[i];
    }
    asked->count = 0;
    return 0;
}

static fluss_code_t get_many(fl_kv_tablet *tablet, const fl_slice *keys, size_t count,
                             fl_kv_value *values, fluss_error_t *err)
{
    asked_keys asked = {0};
    for (size_t i = 0; i < count; i++) {
        const fl_prewrite_entry *entry = fl_prewrite_find_kept(&tablet->prewrite, keys[i]);
        if (entry != NULL) {
            FL_TRY(copy_kept(entry, &values[i].data, &values[i].size, err));
            values[i].found = values[i].data != NULL;
            continue;
        }
        asked.indexes[asked.count] = i;
        asked.keys[asked.count++] = keys[i];
        if (asked.count == GET_MANY_MAX) {
            FL_TRY(get_asked(tablet, &asked, values, err));
        }
    }
    return asked.count != 0 ? get_asked(tablet, &asked, values, err) : 0;
}

fluss_code_t fl_kv_tablet_get_many(fl_kv_tablet *tablet, const fl_slice *keys, size_t count,
                                   fl_kv_value *values, fluss_error_t *err)
{
    memset(values, 0, count * sizeof(*values));
    const fluss_code_t rc = get_many(tablet, keys, count, values, err);
    for (size_t i = 0; rc != 0 && i < count; i++) {
        fl_free(values[i].data);
        values[i] = (fl_kv_value){0};
    }
    return rc;
}

/* The least key that is greater than all keys with this prefix. The tablet's own prefix never is
 * all 0xFF. */
static fluss_code_t successor(fl_slice prefix, fl_buf *out, fluss_error_t *err)
{
    while (prefix.size != 0 && prefix.data[prefix.size - 1] == 0xFF) {
        prefix.size--;
    }
    FL_TRY(fl_buf_append_slice(out, prefix, err));
    out->data[out->size - 1]++;
    return 0;
}

struct fl_kv_scan {
    fl_kv_iter *iter;
};

fluss_code_t fl_kv_scan_open(fl_kv_tablet *tablet, fl_slice prefix, fl_kv_scan **out,
                             fluss_error_t *err)
{
    fl_slice from;
    fl_buf to;
    fluss_code_t rc = 0;
    *out = NULL;
    fl_kv_scan *scan = fl_calloc(1, sizeof(*scan));
    if (scan == NULL) {
        return fl_error_nomem(err);
    }
    fl_buf_init(&to, FL_KV_KEY_SIZE_MAX);
    FL_TRY_OUT(fl_kv_row_key(tablet, prefix, &from, err));
    FL_TRY_OUT(successor(from, &to, err));
    FL_TRY_OUT(fl_kv_iter_open_at(tablet->store, fl_kv_commit_before(tablet->commit), FL_KV_ROWS,
                                  from, fl_buf_slice(&to), &scan->iter, err));
    *out = scan;
    scan = NULL;
out:
    fl_buf_deinit(&to);
    fl_free(scan);
    return rc;
}

bool fl_kv_scan_next(fl_kv_scan *scan, fl_slice *value)
{
    fl_slice key;
    return fl_kv_iter_next(scan->iter, &key, value);
}

fluss_code_t fl_kv_scan_status(const fl_kv_scan *scan, fluss_error_t *err)
{
    return fl_kv_iter_status(scan->iter, err);
}

void fl_kv_scan_close(fl_kv_scan *scan)
{
    if (scan != NULL) {
        fl_kv_iter_close(scan->iter);
        fl_free(scan);
    }
}
