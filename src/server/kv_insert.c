/* SPDX-License-Identifier: Apache-2.0 */
/* Insert-if-absent of LOOKUP: keys without a row get one, with the key's columns, the
 * auto-increment value and nulls. It is a write of the primary-key columns as target columns, so
 * the rules of a partial update hold.
 *
 * The wire has only the encoded key. A compacted key is a compacted row of its columns without the
 * null bits, so it is decoded as such a row; partition columns come from the partition's name. */
#include "base/alloc.h"
#include "server/kv_tablet_private.h"

typedef struct insertion {
    fl_kv_tablet *tablet;
    fl_arena arena;
    int32_t *targets; /* the primary key */
    fl_buf row, batch;
} insertion;

static fluss_code_t prepare(insertion *self, fl_kv_tablet *tablet, fluss_error_t *err)
{
    *self = (insertion){.tablet = tablet};
    fl_arena_init(&self->arena);
    fl_buf_init(&self->row, INT32_MAX);
    fl_buf_init(&self->batch, INT32_MAX);
    if (tablet->settings.key_format != FL_KEY_COMPACTED) {
        return fl_error(
            err, FLUSS_E_UNSUPPORTED_VERSION, FLUSS_KIND_UNSUPPORTED,
            "insert_if_not_exists needs compacted keys; this table's keys have a lake's format");
    }
    return 0;
}

/* The rules of a partial update are looked at before a row is made: one of nulls may be against
 * them. */
static fluss_code_t set_targets(insertion *self, fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    const fl_schema *schema = fl_kv_latest(tablet);
    fl_merge merge = tablet->merge;
    self->targets = fl_arena_array(&self->arena, schema->primary_key_count, sizeof(int32_t));
    if (self->targets == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        self->targets[i] = (int32_t)schema->primary_key[i];
    }
    return fl_merge_set_targets(&merge, self->targets, schema->primary_key_count, tablet->is_target,
                                err);
}

/* Partition columns of the key, read from the partition's name. */
static fluss_code_t fill_partition_columns(const insertion *self, fluss_datum_t *values,
                                           fluss_error_t *err)
{
    const fl_kv_tablet *tablet = self->tablet;
    const fl_table_desc *desc = tablet->info->desc;
    const fl_schema *schema = fl_kv_latest(tablet);
    fl_slice name = tablet->partition_name != NULL ? fl_slice_str(tablet->partition_name)
                                                   : fl_slice_of(NULL, 0);
    for (size_t i = 0; i < desc->partition_key_count; i++) {
        const char *key = desc->partition_keys[i];
        const ptrdiff_t column = fl_schema_find(schema, key, strlen(key));
        const uint8_t *end = memchr(name.data, '$', name.size);
        const size_t size = end != NULL ? (size_t)(end - name.data) : name.size;
        FL_TRY(fl_partition_value_parse(&schema->columns[column].type, fl_slice_sub(name, 0, size),
                                        &self->tablet->arena, &values[column], err));
        name =
            end != NULL ? fl_slice_sub(name, size + 1, name.size - size - 1) : fl_slice_of(NULL, 0);
    }
    return 0;
}

static fluss_code_t add_row(insertion *self, fl_kv_builder *builder, fl_slice key,
                            fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    const fl_kv_version *version = &tablet->versions[tablet->version_count - 1];
    const size_t count = version->schema->column_count;
    const fl_kv_key_columns *columns = &tablet->key_columns;
    fl_arena_reset(&tablet->arena);
    fluss_datum_t *values = fl_arena_array(&tablet->arena, count, sizeof(*values));
    if (values == NULL) {
        return fl_error_nomem(err);
    }
    fl_buf_reset(&self->row);
    FL_TRY(fl_buf_append_zeros(&self->row, (columns->count + 7) / 8, err));
    FL_TRY(fl_buf_append_slice(&self->row, key, err));
    if (fl_row_decode(FL_ROW_COMPACTED, columns->types, fl_buf_slice(&self->row), columns->count,
                      &tablet->arena, columns->values, err) != 0) {
        return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                        "insert_if_not_exists: a key of %zu bytes is not one of table %s.%s",
                        key.size, tablet->info->database, tablet->info->name);
    }
    for (size_t i = 0; i < columns->count; i++) {
        values[columns->indexes[i]] = columns->values[i];
    }
    FL_TRY(fill_partition_columns(self, values, err));
    fl_buf_reset(&tablet->value);
    FL_TRY(fl_row_encode(tablet->row_format, version->types, values, count, &tablet->value, err));
    return fl_kv_builder_upsert(builder, key, fl_buf_slice(&tablet->value), err);
}

/* The missing rows as a KV batch in self->batch; empty when none is missing. */
static fluss_code_t build(insertion *self, const fl_slice *keys, size_t count, fluss_error_t *err)
{
    fl_kv_tablet *tablet = self->tablet;
    fl_kv_builder builder;
    FL_TRY(fl_kv_builder_init(&builder, &self->batch, err));
    for (size_t i = 0; i < count; i++) {
        const fl_prewrite_entry *entry = fl_prewrite_find(&tablet->prewrite, keys[i]);
        uint8_t *value = NULL;
        size_t size;
        if (entry == NULL) {
            FL_TRY(fl_kv_tablet_get(tablet, keys[i], &value, &size, err));
        }
        const bool exists = entry != NULL ? !entry->is_delete : value != NULL;
        fl_free(value);
        if (!exists && self->targets == NULL) {
            FL_TRY(set_targets(self, err));
        }
        if (!exists) {
            FL_TRY(add_row(self, &builder, keys[i], err));
        }
    }
    if (builder.record_count == 0) {
        fl_buf_reset(&self->batch);
        return 0;
    }
    fl_kv_builder_finish(&builder, (int16_t)tablet->version_count, FL_NO_WRITER_ID, FL_NO_SEQUENCE);
    return 0;
}

static fluss_code_t write(insertion *self, int64_t now_ms, fl_log_appended *appended,
                          fluss_error_t *err)
{
    const fl_kv_put put = {.records = fl_buf_slice(&self->batch),
                           .target_columns = self->targets,
                           .target_count = fl_kv_latest(self->tablet)->primary_key_count,
                           .now_ms = now_ms};
    return fl_kv_tablet_put(self->tablet, &put, appended, err);
}

fluss_code_t fl_kv_tablet_insert_missing(fl_kv_tablet *tablet, const fl_slice *keys, size_t count,
                                         int64_t now_ms, fl_log_appended *appended,
                                         fluss_error_t *err)
{
    insertion self;
    *appended = (fl_log_appended){.base_offset = -1, .log_end_offset = -1};
    fluss_code_t rc = prepare(&self, tablet, err);
    if (rc == 0) {
        rc = build(&self, keys, count, err);
    }
    if (rc == 0 && self.batch.size != 0) {
        rc = write(&self, now_ms, appended, err);
    }
    fl_buf_deinit(&self.row);
    fl_buf_deinit(&self.batch);
    fl_arena_deinit(&self.arena);
    return rc;
}
