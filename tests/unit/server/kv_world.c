/* SPDX-License-Identifier: Apache-2.0 */
/* The model and the real tablet side by side; each step is done to both, then they are compared. */
#include "kv_world.h"

#include "../format/datum_text.h"

enum { DIR_SIZE = PATH_SIZE + 32, BATCH_SIZE_MAX = 1 << 24, READ_SIZE = 1 << 16 };

static char *copy_text(fl_arena *arena, const char *text)
{
    char *copy = fl_arena_strdup(arena, text);
    assert_non_null(copy);
    return copy;
}

/* ---- the table ---- */

enum { MANY_TIMES = 5 };

static fl_schema *build_schema(const world *w)
{
    const char *columns[COLUMN_COUNT_MAX + 1] = {0};
    const char *keys[COLUMN_COUNT_MAX];
    char names[COLUMN_COUNT_MAX][TEXT_SIZE];
    memcpy(columns, w->spec.columns, w->spec.column_count * sizeof(*columns));
    fl_schema *schema = schema_of(columns);
    for (size_t i = 0; i < w->spec.key_count; i++) {
        (void)snprintf(names[i], TEXT_SIZE, "%s", schema->columns[i].name);
        keys[i] = names[i];
    }
    OK(fl_schema_set_primary_key(schema, keys, w->spec.key_count, &error));
    for (size_t i = 0; i < w->spec.property_count; i++) {
        if (strcmp(w->spec.properties[i].key, "auto-increment") == 0) {
            OK(fl_schema_set_auto_increment(schema, w->spec.properties[i].value, &error));
        }
    }
    return schema;
}

static fl_table_info *build_info(world *w)
{
    fl_slice older[SCHEMA_COUNT_MAX];
    fl_buf texts[SCHEMA_COUNT_MAX];
    fl_table_info *info;
    fl_table_desc *desc = fl_table_desc_new(w->schemas[w->schema_count - 1]);
    for (size_t i = 0; i < w->spec.property_count; i++) {
        const fluss_kv_t *property = &w->spec.properties[i];
        if (strncmp(property->key, "table.", 6) == 0) {
            OK(fl_table_desc_set_property(desc, property->key, property->value, &error));
        }
    }
    desc->bucket_count = 1;
    OK(fl_table_desc_check(desc, &error));
    for (int32_t i = 0; i < w->schema_count - 1; i++) {
        fl_buf_init(&texts[i], BATCH_SIZE_MAX);
        OK(fl_schema_to_json(w->schemas[i], &texts[i], &error));
        older[i] = fl_buf_slice(&texts[i]);
    }
    const fl_table_info_spec spec = {
        .table_id = w->spec.table_id, .database = fl_slice_str("db"), .name = fl_slice_str("t")};
    OK(fl_table_info_new(&spec, desc, older, (size_t)w->schema_count - 1, &info, &error));
    for (int32_t i = 0; i < w->schema_count - 1; i++) {
        fl_buf_deinit(&texts[i]);
    }
    return info;
}

size_t world_column_count(const world *w)
{
    return w->schemas[w->schema_count - 1]->column_count;
}

const fl_type *world_type(const world *w, size_t column)
{
    return &w->schemas[w->schema_count - 1]->columns[column].type;
}

bool world_is(const world *w, const char *key, const char *value)
{
    for (size_t i = 0; i < w->spec.property_count; i++) {
        if (strcmp(w->spec.properties[i].key, key) == 0) {
            return strcmp(w->spec.properties[i].value, value) == 0;
        }
    }
    return false;
}

static void types_of(const fl_schema *schema, const fl_type *types[COLUMN_COUNT_MAX])
{
    for (size_t i = 0; i < schema->column_count; i++) {
        types[i] = &schema->columns[i].type;
    }
}

/* Keys: the first column has few values, so that prefixes have several rows; the last one, an INT
 * when there are two, makes them different. */
static void make_keys(world *w)
{
    uint64_t state = (uint64_t)w->spec.table_id * 2654435761u + 99;
    const fl_type *types[COLUMN_COUNT_MAX];
    types_of(w->schemas[0], types);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        fluss_datum_t *key = fl_arena_array(&w->arena, w->spec.key_count, sizeof(*key));
        key[0] = i % 4 == 0 || w->spec.key_count == 1 ? random_value(types[0], 0, &state, &w->arena)
                                                      : w->keys[i - 1][0];
        if (w->spec.key_count == 1) {
            key[0].v.i = (int64_t)i * 37 - 100;
        } else {
            key[1] = int_value(FLUSS_INT, (int64_t)i * 1000 - 3000);
        }
        for (size_t column = 0; column < w->spec.key_count; column++) {
            OK(fl_datum_coerce(&key[column], types[column], "key", &w->arena, &key[column],
                               &error));
        }
        fl_buf bytes;
        fl_buf_init(&bytes, BATCH_SIZE_MAX);
        OK(fl_key_encode(FL_KEY_COMPACTED, types, key, 1, &bytes, &error));
        w->prefixes[i] =
            fl_slice_of(fl_arena_strndup(&w->arena, bytes.data, bytes.size), bytes.size);
        fl_buf_reset(&bytes);
        OK(fl_key_encode(FL_KEY_COMPACTED, types, key, w->spec.key_count, &bytes, &error));
        w->encoded_keys[i] =
            fl_slice_of(fl_arena_strndup(&w->arena, bytes.data, bytes.size), bytes.size);
        fl_buf_deinit(&bytes);
        w->keys[i] = key;
    }
}

void world_init(world *w, const char *dir, const world_spec *spec)
{
    static const size_t cache_sizes[] = {0, 700, 1 << 20};
    *w = (world){.spec = *spec,
                 .next_id = 1,
                 .memory.cache_size =
                     cache_sizes[spec->table_id % (int64_t)FL_COUNT_OF(cache_sizes)]};
    (void)snprintf(w->dir, sizeof(w->dir), "%s/%lld", dir, (long long)spec->table_id);
    fl_arena_init(&w->arena);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        fl_arena_init(&w->folded_arena[i]);
    }
    for (size_t i = 0; i < spec->column_count; i++) {
        w->spec.columns[i] = copy_text(&w->arena, spec->columns[i]);
    }
    w->schemas[0] = build_schema(w);
    w->schema_count = 1;
    w->info = build_info(w);
    make_keys(w);
}

void world_deinit(world *w)
{
    world_close(w);
    for (int32_t i = 0; i < w->schema_count; i++) {
        fl_schema_unref(w->schemas[i]);
    }
    fl_table_info_unref(w->info);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        fl_arena_deinit(&w->folded_arena[i]);
    }
    fl_arena_deinit(&w->arena);
    fl_free(w->changes);
    fl_free(w->batches);
}

static fluss_code_t take_ids(void *context, int64_t count, int64_t *first, fluss_error_t *err)
{
    world *w = context;
    (void)err;
    *first = w->next_id;
    w->next_id += count;
    return 0;
}

void world_open(world *w, fl_kv_store *store)
{
    const fl_log_store_opts opts = {.segment_size_max = 1 << 16};
    w->store = store;
    OK(fl_log_store_open(w->dir, &opts, world_now(w), &w->log, &error));
    const fl_kv_tablet_spec spec = {.store = store,
                                    .log = w->log,
                                    .memory = &w->memory,
                                    .info = w->info,
                                    .partition_id = -1,
                                    .take_ids = take_ids,
                                    .context = w};
    OK(fl_kv_tablet_open(&spec, &w->tablet, &error));
    model_commit(w, w->batch_count); /* opening reads the whole log into the store */
}

void world_close(world *w)
{
    fl_kv_tablet_close(w->tablet);
    fl_log_store_close(w->log);
    w->tablet = NULL;
    w->log = NULL;
}

/* Rows of the model get the new column, null. */
static void widen(world *w, model_row *rows)
{
    const size_t count = world_column_count(w);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (rows[i] != NULL) {
            fluss_datum_t *wider = fl_arena_array(&w->arena, count, sizeof(*wider));
            memcpy(wider, rows[i], (count - 1) * sizeof(*wider));
            rows[i] = wider;
        }
    }
}

void world_add_column(world *w, const char *column)
{
    w->spec.columns[w->spec.column_count++] = copy_text(&w->arena, column);
    w->schemas[w->schema_count++] = build_schema(w);
    fl_table_info *info = build_info(w);
    if (w->tablet != NULL) {
        OK(fl_kv_tablet_set_info(w->tablet, info, &error));
    }
    fl_table_info_unref(w->info);
    w->info = info;
    widen(w, w->rows);
    widen(w, w->committed);
    for (size_t i = w->batches_committed; i < w->batch_count; i++) {
        widen(w, w->batches[i].after);
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (w->folded[i] != NULL) {
            fluss_datum_t *wider =
                fl_arena_array(&w->folded_arena[i], world_column_count(w), sizeof(*wider));
            memcpy(wider, w->folded[i], (world_column_count(w) - 1) * sizeof(*wider));
            w->folded[i] = wider;
        }
    }
}

int64_t world_now(const world *w)
{
    return 1700000000000 + (int64_t)w->batch_count;
}

/* ---- writing ---- */

void world_batch(const world *w, const put_record *records, size_t count, int32_t schema_id,
                 int64_t writer_id, int32_t sequence, fl_buf *out)
{
    const fl_schema *schema = w->schemas[schema_id - 1];
    const fl_row_format format =
        world_is(w, "table.kv.format", "INDEXED") ? FL_ROW_INDEXED : FL_ROW_COMPACTED;
    const fl_type *types[COLUMN_COUNT_MAX];
    fl_kv_builder builder;
    fl_buf row;
    fl_buf_init(&row, BATCH_SIZE_MAX);
    types_of(schema, types);
    OK(fl_kv_builder_init(&builder, out, &error));
    for (size_t i = 0; i < count; i++) {
        const fl_slice key = w->encoded_keys[records[i].key];
        if (records[i].row == NULL) {
            OK(fl_kv_builder_delete(&builder, key, &error));
            continue;
        }
        fl_buf_reset(&row);
        OK(fl_row_encode(format, types, records[i].row, schema->column_count, &row, &error));
        OK(fl_kv_builder_upsert(&builder, key, fl_buf_slice(&row), &error));
    }
    fl_kv_builder_finish(&builder, (int16_t)schema_id, writer_id, sequence);
    fl_buf_deinit(&row);
}

static void *grow(void *items, size_t count, size_t size)
{
    if ((count & (count + 1)) != 0) { /* room is doubled when the count reaches 2^n - 1 */
        return items;
    }
    void *more = fl_realloc(items, (count + 1) * 2 * size);
    assert_non_null(more);
    return more;
}

void model_change_add(world *w, fluss_change_t change, model_row row)
{
    w->changes = grow(w->changes, w->change_count, sizeof(*w->changes));
    w->changes[w->change_count++] =
        (model_change){.change = change, .row = row, .column_count = world_column_count(w)};
}

void model_end_batch(world *w, size_t first_change)
{
    const size_t count = w->change_count - first_change;
    w->batches = grow(w->batches, w->batch_count, sizeof(*w->batches));
    w->end_offset += count != 0 ? (int64_t)count : 1;
    model_batch *batch = &w->batches[w->batch_count++];
    *batch = (model_batch){
        .change_count = count, .schema_id = w->schema_count, .end_offset = w->end_offset};
    memcpy(batch->after, w->rows, sizeof(w->rows));
}

void model_commit(world *w, size_t batch_count)
{
    if (batch_count > w->batches_committed) {
        w->batches_committed = batch_count;
        memcpy(w->committed, w->batches[batch_count - 1].after, sizeof(w->committed));
    }
}

/* ---- checks ---- */

static void assert_row(const world *w, const char *what, model_row found, model_row wanted,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fl_datum_equal(&found[i], &wanted[i])) {
            continue;
        }
        fl_buf text;
        const fl_type *type = world_type(w, i);
        fl_buf_init(&text, BATCH_SIZE_MAX);
        OK(datum_text(&found[i], type, &text, &error));
        OK(fl_buf_append_slice(&text, fl_slice_str(", wanted "), &error));
        OK(datum_text(&wanted[i], type, &text, &error));
        fail_msg("%s, %s, column %s: %.*s", w->dir, what, w->spec.columns[i], (int)text.size,
                 (const char *)text.data);
    }
}

/* A stored value as values of the latest schema. */
static void decode_value(const world *w, fl_slice value, fl_arena *arena, fluss_datum_t *values)
{
    int16_t schema_id;
    fl_slice row;
    const fl_type *types[COLUMN_COUNT_MAX];
    OK(fl_value_open(value, &schema_id, &row, &error));
    assert_in_range(schema_id, 1, w->schema_count);
    const fl_schema *schema = w->schemas[schema_id - 1];
    types_of(schema, types);
    for (size_t i = 0; i < world_column_count(w); i++) {
        values[i] = null_value();
    }
    OK(fl_row_decode(world_is(w, "table.kv.format", "INDEXED") ? FL_ROW_INDEXED : FL_ROW_COMPACTED,
                     types, row, schema->column_count, arena, values, &error));
}

static void check_value(const world *w, const char *what, fl_slice value, model_row wanted)
{
    fluss_datum_t values[COLUMN_COUNT_MAX];
    fl_arena arena;
    fl_arena_init(&arena);
    decode_value(w, value, &arena, values);
    assert_row(w, what, values, wanted, world_column_count(w));
    fl_arena_deinit(&arena);
}

static void check_gets(const world *w)
{
    int64_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        uint8_t *value;
        size_t size;
        OK(fl_kv_tablet_get(w->tablet, w->encoded_keys[i], &value, &size, &error));
        if ((value != NULL) != (w->committed[i] != NULL)) {
            fail_msg("%s: key %zu is %s", w->dir, i, value != NULL ? "there" : "missing");
        }
        if (value != NULL) {
            check_value(w, "lookup", fl_slice_of(value, size), w->committed[i]);
            count++;
        }
        fl_free(value);
    }
    if (!world_is(w, "table.changelog.image", "WAL")) {
        assert_int_equal(fl_kv_tablet_row_count(w->tablet), count);
    }
}

/* Many keys at once, more than the store is asked for together. */
static void check_gets_of_many(const world *w)
{
    fl_slice keys[KEY_COUNT * MANY_TIMES];
    fl_kv_value values[KEY_COUNT * MANY_TIMES];
    for (size_t i = 0; i < FL_COUNT_OF(keys); i++) {
        keys[i] = w->encoded_keys[i % KEY_COUNT];
    }
    OK(fl_kv_tablet_get_many(w->tablet, keys, FL_COUNT_OF(keys), values, &error));
    for (size_t i = 0; i < FL_COUNT_OF(keys); i++) {
        const model_row wanted = w->committed[i % KEY_COUNT];
        assert_int_equal(values[i].found, wanted != NULL);
        if (values[i].found) {
            check_value(w, "lookup of many", fl_slice_of(values[i].data, values[i].size), wanted);
        }
        fl_free(values[i].data);
    }
}

static int compare_bytes(fl_slice a, fl_slice b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = size != 0 ? memcmp(a.data, b.data, size) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* The keys with a prefix, in the order of their bytes. */
static size_t keys_in_order(const world *w, fl_slice prefix, size_t keys[KEY_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const fl_slice key = w->encoded_keys[i];
        if (w->committed[i] == NULL || key.size < prefix.size ||
            (prefix.size != 0 && memcmp(key.data, prefix.data, prefix.size) != 0)) {
            continue;
        }
        size_t at = count++;
        for (; at != 0 && compare_bytes(w->encoded_keys[keys[at - 1]], key) > 0; at--) {
            keys[at] = keys[at - 1];
        }
        keys[at] = i;
    }
    return count;
}

static void check_scan(const world *w, const char *what, fl_slice prefix)
{
    size_t keys[KEY_COUNT], at = 0;
    const size_t count = keys_in_order(w, prefix, keys);
    fl_kv_scan *scan;
    fl_slice value;
    OK(fl_kv_scan_open(w->tablet, prefix, &scan, &error));
    while (fl_kv_scan_next(scan, &value)) {
        assert_true(at < count);
        check_value(w, what, value, w->committed[keys[at++]]);
    }
    OK(fl_kv_scan_status(scan, &error));
    assert_int_equal(at, count);
    fl_kv_scan_close(scan);
}

/* One change as the log has it: as the model says, and as the changes before it allow. */
static void check_change(world *w, fluss_change_t change, model_row row, bool follows_before)
{
    const model_change *wanted = &w->changes[w->changes_checked++];
    const bool is_wal = world_is(w, "table.changelog.image", "WAL");
    size_t key = 0;
    assert_int_equal(change, wanted->change);
    assert_row(w, "changelog", row, wanted->row, wanted->column_count);
    while (!fl_datum_equal(&row[0], &w->keys[key][0]) ||
           (w->spec.key_count == 2 && !fl_datum_equal(&row[1], &w->keys[key][1]))) {
        key++;
        assert_true(key < KEY_COUNT);
    }
    const model_row before = w->folded[key];
    if (change == FLUSS_INSERT) {
        assert_null(before);
    } else if (change == FLUSS_UPDATE_AFTER) {
        assert_true(is_wal || (follows_before && before != NULL));
    } else {
        assert_non_null(before);
        assert_row(w, "before-image", row, before, wanted->column_count);
    }
    if (change == FLUSS_DELETE) {
        w->folded[key] = NULL;
    } else if (change != FLUSS_UPDATE_BEFORE) {
        const size_t count = world_column_count(w);
        w->folded[key] = fl_arena_array(&w->folded_arena[key], count, sizeof(**w->folded));
        memcpy(w->folded[key], wanted->row, wanted->column_count * sizeof(**w->folded));
    }
}

static void check_arrow_batch(world *w, const fl_log_batch *batch, const fl_schema *schema)
{
    struct ArrowArray columns;
    fl_arrow_rows *rows;
    fluss_datum_t values[COLUMN_COUNT_MAX];
    fluss_change_t change = FLUSS_INSERT;
    OK(fl_arrow_read(schema, batch->payload, NULL, &columns, &error));
    OK(fl_arrow_rows_new(schema, &columns, &rows, &error));
    for (int64_t row = 0; row < batch->record_count; row++) {
        fl_arena arena;
        fl_arena_init(&arena);
        for (size_t i = 0; i < schema->column_count; i++) {
            OK(fl_arrow_rows_get(rows, row, i, &arena, &values[i], &error));
        }
        const bool follows_before = row != 0 && change == FLUSS_UPDATE_BEFORE;
        change = (fluss_change_t)batch->change_types.data[row];
        check_change(w, change, values, follows_before);
        fl_arena_deinit(&arena);
    }
    fl_arrow_rows_free(rows);
    ArrowArrayRelease(&columns);
}

static void check_row_batch(world *w, const fl_log_batch *batch, const fl_schema *schema)
{
    const fl_row_format format =
        world_is(w, "table.log.format", "INDEXED") ? FL_ROW_INDEXED : FL_ROW_COMPACTED;
    const fl_type *types[COLUMN_COUNT_MAX];
    fl_row_log_iter iter;
    fl_row_log_record record;
    fluss_change_t change = FLUSS_INSERT;
    bool is_end;
    types_of(schema, types);
    fl_row_log_iter_init(&iter, batch);
    for (int64_t row = 0;; row++) {
        fluss_datum_t values[COLUMN_COUNT_MAX];
        fl_arena arena;
        OK(fl_row_log_next(&iter, &record, &is_end, &error));
        if (is_end) {
            return;
        }
        fl_arena_init(&arena);
        OK(fl_row_decode(format, types, record.row, schema->column_count, &arena, values, &error));
        const bool follows_before = row != 0 && change == FLUSS_UPDATE_BEFORE;
        change = record.change_type;
        assert_int_equal(record.log_offset, batch->base_offset + row);
        check_change(w, change, values, follows_before);
        fl_arena_deinit(&arena);
    }
}

static void check_batch(world *w, const fl_log_batch *batch, bool is_arrow)
{
    assert_true(w->batches_checked < w->batch_count);
    const model_batch *wanted = &w->batches[w->batches_checked];
    OK(fl_log_batch_check_crc(batch, &error));
    assert_int_equal(batch->record_count, wanted->change_count);
    assert_int_equal(batch->schema_id, wanted->schema_id);
    assert_int_equal(fl_log_batch_next_offset(batch), wanted->end_offset);
    assert_false(batch->is_append_only && batch->record_count != 0);
    const fl_schema *schema = w->schemas[wanted->schema_id - 1];
    if (batch->record_count != 0 && is_arrow) {
        check_arrow_batch(w, batch, schema);
    } else if (batch->record_count != 0) {
        check_row_batch(w, batch, schema);
    }
    w->batches_checked++;
}

static void check_log(world *w)
{
    const bool is_arrow = !world_is(w, "table.log.format", "INDEXED") &&
                          !world_is(w, "table.log.format", "COMPACTED");
    int64_t offset = w->batches_checked != 0 ? w->batches[w->batches_checked - 1].end_offset : 0;
    assert_int_equal(fl_log_store_end_offset(w->log), w->end_offset);
    while (offset < w->end_offset) {
        fl_frame *frame;
        OK(fl_log_store_read(w->log, offset, READ_SIZE, true, &frame, &error));
        fl_slice bytes = fl_slice_of(frame->data, frame->size);
        while (bytes.size != 0) {
            fl_log_batch batch;
            OK(fl_log_batch_open(bytes, is_arrow, &batch, &error));
            assert_int_equal(batch.base_offset, offset);
            check_batch(w, &batch, is_arrow);
            offset = fl_log_batch_next_offset(&batch);
            bytes = fl_slice_sub(bytes, batch.bytes.size, bytes.size - batch.bytes.size);
        }
        fl_frame_unref(frame);
    }
    assert_int_equal(w->changes_checked, w->change_count);
}

void world_check_scans(const world *w)
{
    check_scan(w, "scan", fl_slice_of(NULL, 0));
    for (size_t i = 0; i < KEY_COUNT; i += 4) {
        check_scan(w, "prefix scan", w->prefixes[i]);
    }
}

void world_check(world *w)
{
    check_log(w);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        assert_int_equal(w->folded[i] != NULL, w->rows[i] != NULL);
        if (w->folded[i] != NULL) {
            assert_row(w, "folded changelog", w->folded[i], w->rows[i], world_column_count(w));
        }
    }
    check_gets(w);
    check_gets_of_many(w);
    world_check_scans(w);
}
