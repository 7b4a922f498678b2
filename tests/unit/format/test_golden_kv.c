/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: what pyfluss and an official server sent each other is understood and would be sent by us
 * in the same bytes. Method: the recorded frames of tests/golden/frames (argument 1): every table
 * descriptor, KV batch, looked-up value and value batch. Tables are created and used one after the
 * other in these scenarios, so the last descriptor is the one in use. */
#include <jansson.h>

#include "format/kv_batch.h"
#include "format/table_rules.h"
#include "format/value_batch.h"
#include "value_support.h"

enum { COLUMN_COUNT_MAX = 64, SIZE_MAX_TEST = 1 << 20, LINE_SIZE_MAX = 1 << 20 };

static const char *frames_folder;

typedef struct seen {
    fl_table_desc *desc;
    const fl_type *types[COLUMN_COUNT_MAX];
    size_t descs, batches, records, values;
} seen;

static fl_slice from_base64(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *bytes = fl_alloc(strlen(text) + 1);
    size_t size = 0;
    uint32_t bits = 0;
    unsigned bit_count = 0;
    for (; *text != '\0' && *text != '='; text++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, *text) - digits);
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            bytes[size++] = (uint8_t)(bits >> bit_count);
        }
    }
    return fl_slice_of(bytes, size);
}

static void take_desc(seen *all, const char *text)
{
    const fl_slice json = from_base64(text);
    fl_table_desc *desc;
    if (fl_table_desc_from_json(json, &desc, &error) == 0) {
        fl_buf out;
        fl_buf_init(&out, SIZE_MAX_TEST);
        OK(fl_table_desc_to_json(desc, &out, &error));
        json_t *before = json_loadb((const char *)json.data, json.size, 0, NULL);
        json_t *after = json_loadb((const char *)out.data, out.size, 0, NULL);
        json_object_set_new(before, "version", json_integer(1));
        /* pyfluss writes an empty bucket key, and 0 buckets to see it refused. */
        if (json_array_size(json_object_get(before, "bucket_key")) == 0 &&
            desc->bucket_count <= 0) {
            json_object_del(before, "bucket_key");
            json_object_del(after, "bucket_key");
        }
        if (desc->bucket_count > 0 || json_object_get(before, "bucket_count") == NULL) {
            if (!json_equal(before, after)) {
                fail_msg("%.*s\nbecame\n%.*s", (int)json.size, (const char *)json.data,
                         (int)out.size, (const char *)out.data);
            }
            all->descs++;
        }
        json_decref(before);
        json_decref(after);
        fl_buf_deinit(&out);
        fl_table_desc_free(all->desc);
        all->desc = desc;
        for (size_t i = 0; i < desc->schema->column_count; i++) {
            all->types[i] = &desc->schema->columns[i].type;
        }
    }
    free_bytes(json);
}

/* The row decodes, encodes to the same bytes, and its key columns to the record's key. */
static void check_row(seen *all, const fl_slice *key, fl_slice row)
{
    const fl_schema *schema = all->desc->schema;
    fluss_datum_t values[COLUMN_COUNT_MAX];
    fl_arena arena;
    fl_buf out;
    fl_arena_init(&arena);
    fl_buf_init(&out, SIZE_MAX_TEST);
    OK(fl_row_decode(FL_ROW_COMPACTED, all->types, row, schema->column_count, &arena, values,
                     &error));
    OK(fl_row_encode(FL_ROW_COMPACTED, all->types, values, schema->column_count, &out, &error));
    assert_true(fl_slice_equal(fl_buf_slice(&out), row));
    if (key != NULL) {
        uint32_t columns[COLUMN_COUNT_MAX];
        const fl_type *types[COLUMN_COUNT_MAX];
        fluss_datum_t key_values[COLUMN_COUNT_MAX];
        const size_t count = fl_table_physical_key(all->desc, columns);
        for (size_t i = 0; i < count; i++) {
            types[i] = all->types[columns[i]];
            key_values[i] = values[columns[i]];
        }
        fl_buf_reset(&out);
        OK(fl_key_encode(FL_KEY_COMPACTED, types, key_values, count, &out, &error));
        assert_true(fl_slice_equal(fl_buf_slice(&out), *key));
    }
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
}

static void check_kv_batch(seen *all, fl_slice bytes)
{
    fl_kv_batch batch;
    OK(fl_kv_batch_open(bytes, &batch, &error));
    OK(fl_kv_batch_check_crc(&batch, &error));
    fl_buf out;
    fl_buf_init(&out, SIZE_MAX_TEST);
    fl_kv_builder builder;
    OK(fl_kv_builder_init(&builder, &out, &error));
    fl_kv_batch_iter iter;
    fl_kv_record record;
    bool is_end;
    fl_kv_batch_iter_init(&iter, &batch);
    OK(fl_kv_batch_next(&iter, &record, &is_end, &error));
    for (; !is_end; all->records++) {
        if (record.is_delete) {
            OK(fl_kv_builder_delete(&builder, record.key, &error));
        } else {
            check_row(all, &record.key, record.row);
            OK(fl_kv_builder_upsert(&builder, record.key, record.row, &error));
        }
        OK(fl_kv_batch_next(&iter, &record, &is_end, &error));
    }
    fl_kv_builder_finish(&builder, batch.schema_id, batch.writer_id, batch.batch_sequence);
    assert_true(fl_slice_equal(fl_buf_slice(&out), bytes));
    all->batches++;
    fl_buf_deinit(&out);
}

static void check_value(seen *all, fl_slice value)
{
    int16_t schema_id;
    fl_slice row;
    OK(fl_value_open(value, &schema_id, &row, &error));
    check_row(all, NULL, row);
    all->values++;
}

static void check_value_batch(seen *all, fl_slice bytes)
{
    fl_value_batch_iter iter;
    OK(fl_value_batch_open(bytes, &iter, &error));
    bool is_end = false;
    while (!is_end) {
        int16_t schema_id;
        fl_slice row;
        OK(fl_value_batch_next(&iter, &schema_id, &row, &is_end, &error));
        if (!is_end) {
            check_row(all, NULL, row);
            all->values++;
        }
    }
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void take_buckets(seen *all, const json_t *message, const char *api)
{
    size_t i;
    size_t j;
    json_t *bucket;
    json_t *item;
    json_array_foreach(json_object_get(message, "buckets_req"), i, bucket)
    {
        if (strcmp(api, "PUT_KV") == 0) {
            const fl_slice bytes = from_base64(text_of(bucket, "records"));
            check_kv_batch(all, bytes);
            free_bytes(bytes);
        }
    }
    json_array_foreach(json_object_get(message, "buckets_resp"), i, bucket)
    {
        json_array_foreach(json_object_get(bucket, "values"), j, item)
        {
            const fl_slice bytes = from_base64(text_of(item, "values"));
            if (strcmp(api, "LOOKUP") == 0 && bytes.size != 0) {
                check_value(all, bytes);
            }
            free_bytes(bytes);
        }
    }
}

static void take_frame(seen *all, const json_t *frame)
{
    const json_t *message = json_object_get(frame, "message");
    const char *api = text_of(frame, "api");
    const char *table_json = text_of(message, "table_json");
    if (*table_json != '\0') {
        take_desc(all, table_json);
    }
    if (all->desc == NULL || json_integer_value(json_object_get(frame, "response_type")) != 0) {
        return;
    }
    take_buckets(all, message, api);
    const json_t *is_log = json_object_get(message, "is_log_table");
    if (strcmp(api, "LIMIT_SCAN") == 0 && json_is_false(is_log)) {
        const fl_slice bytes = from_base64(text_of(message, "records"));
        check_value_batch(all, bytes);
        free_bytes(bytes);
    }
}

static void read_scenario(seen *all, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s.jsonl", frames_folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *line = fl_alloc(LINE_SIZE_MAX);
    while (fgets(line, LINE_SIZE_MAX, file) != NULL) {
        json_t *frame = json_loads(line, 0, NULL);
        assert_non_null(frame);
        take_frame(all, frame);
        json_decref(frame);
    }
    fl_free(line);
    (void)fclose(file);
    fl_table_desc_free(all->desc);
    all->desc = NULL;
}

static void recorded_primary_key_tables_are_understood(void **state)
{
    (void)state;
    seen all = {0};
    static const char *const names[] = {"pk_all_types", "pk_full", "pk_key_types", "pk_wal"};
    for (size_t i = 0; i < FL_COUNT_OF(names); i++) {
        read_scenario(&all, names[i]);
    }
    print_message("%zu batches, %zu records, %zu values\n", all.batches, all.records, all.values);
    assert_true(all.batches >= 15 && all.records >= 30 && all.values >= 20);
}

static void recorded_descriptors_come_back(void **state)
{
    (void)state;
    seen all = {0};
    static const char *const names[] = {"tables", "log_arrow_zstd", "log_indexed", "partitions_log",
                                        "partitions_pk"};
    for (size_t i = 0; i < FL_COUNT_OF(names); i++) {
        read_scenario(&all, names[i]);
    }
    print_message("%zu descriptors\n", all.descs);
    assert_true(all.descs >= 10);
}

int main(int argument_count, char **arguments)
{
    if (argument_count != 2) {
        print_error("usage: %s FRAMES_FOLDER\n", arguments[0]);
        return 2;
    }
    frames_folder = arguments[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_primary_key_tables_are_understood),
        cmocka_unit_test(recorded_descriptors_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
