/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a projected batch holds the chosen columns unchanged, and its header says what the official
 * server's would. Method: batches of every type and codec, projected and read with the projected
 * schema; the worked examples; wrong columns; broken batches. */
#include "arrow_support.h"
#include "batch_vectors.h"

enum { BUF_MAX = 1 << 24, CHANGES = 3 };

/* A batch of an array; change types when it is a changelog; statistics of three bytes in V1, V2. */
static fl_buf batch_of(const fl_schema *schema, const struct ArrowArray *array, uint8_t magic,
                       bool is_append_only, fl_compression compression)
{
    const fl_slice statistics = fl_slice_of("xyz", magic > 0 ? 3 : 0);
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_buf_append_zeros(&out, fl_log_batch_header_size(magic, statistics.size), &error));
    for (int64_t i = 0; !is_append_only && i < array->length; i++) {
        OK(fl_buf_append_byte(&out, (uint8_t)(1 + i % CHANGES), &error));
    }
    fl_arrow_writer *writer =
        fl_arrow_writer_new((fl_arrow_write_opts){.compression = compression, .level = 1});
    OK(fl_arrow_write(writer, schema, array, 0, array->length, &out, &error));
    fl_arrow_writer_free(writer);
    const fl_log_batch_spec spec = {.magic = magic,
                                    .is_append_only = is_append_only,
                                    .schema_id = 4,
                                    .record_count = (int32_t)array->length,
                                    .writer_id = 9,
                                    .batch_sequence = 3,
                                    .statistics = statistics};
    fl_log_batch_finish(out.data, out.size, &spec);
    fl_log_batch_stamp(out.data, 1000, 1700000000000);
    return out;
}

static void check_projection(const fl_schema *schema, const struct ArrowArray *array,
                             const fl_log_batch *batch, const uint32_t *columns, size_t count)
{
    fl_schema *narrow;
    OK(fl_schema_project(schema, columns, count, &narrow, &error));
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_buf_append_byte(&out, 0xAA, &error)); /* it appends */
    OK(fl_log_batch_project(batch, &(fl_projection){schema, schema, columns, count}, &out, &error));
    assert_int_equal(out.data[0], 0xAA);
    fl_log_batch projected;
    OK(fl_log_batch_open(fl_slice_of(out.data + 1, out.size - 1), true, &projected, &error));
    assert_int_equal(projected.bytes.size, out.size - 1);
    assert_int_equal(projected.magic, batch->magic);
    assert_int_equal(projected.is_append_only, batch->is_append_only);
    assert_int_equal(projected.schema_id, 4);
    assert_int_equal(projected.base_offset, 1000);
    assert_int_equal(projected.commit_timestamp_ms, 1700000000000);
    assert_int_equal(projected.last_offset_delta, batch->last_offset_delta);
    assert_int_equal(projected.writer_id, 9);
    assert_int_equal(projected.batch_sequence, 3);
    assert_int_equal(projected.record_count, batch->record_count);
    assert_int_equal(projected.statistics.size, 0);
    assert_true(fl_slice_equal(projected.change_types, batch->change_types));
    const size_t crc_at = batch->magic == 2 ? 25 : 21;
    assert_memory_equal(projected.bytes.data + crc_at, batch->bytes.data + crc_at, 4);
    struct ArrowArray read;
    OK(fl_arrow_read(narrow, projected.payload, NULL, &read, &error));
    fl_arrow_rows *whole, *part;
    OK(fl_arrow_rows_new(schema, array, &whole, &error));
    OK(fl_arrow_rows_new(narrow, &read, &part, &error));
    fl_arena arena;
    fl_arena_init(&arena);
    for (int64_t row = 0; row < array->length; row++) {
        for (size_t i = 0; i < count; i++) {
            fluss_datum_t a, b;
            OK(fl_arrow_rows_get(whole, row, columns[i], &arena, &a, &error));
            OK(fl_arrow_rows_get(part, row, i, &arena, &b, &error));
            assert_true(fl_datum_equal(&a, &b));
        }
    }
    fl_arena_deinit(&arena);
    fl_arrow_rows_free(whole);
    fl_arrow_rows_free(part);
    release(&read);
    fl_buf_deinit(&out);
    fl_schema_unref(narrow);
}

static void chosen_columns_come_back_unchanged(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA(ALL_TYPES);
    struct ArrowArray array = random_array(schema, 100, 20, 12);
    for (int codec = FL_COMPRESS_NONE; codec <= FL_COMPRESS_ZSTD; codec++) {
        for (uint8_t magic = 0; magic <= 2; magic++) {
            fl_buf bytes = batch_of(schema, &array, magic, magic == 1, (fl_compression)codec);
            fl_log_batch batch;
            OK(fl_log_batch_open(fl_buf_slice(&bytes), true, &batch, &error));
            uint32_t columns[64];
            for (uint32_t i = 0; i < schema->column_count; i++) {
                columns[0] = i;
                check_projection(schema, &array, &batch, columns, 1);
            }
            const uint32_t some[] = {0, 3, 8, 26, 27, 30, 32};
            check_projection(schema, &array, &batch, some, FL_COUNT_OF(some));
            for (uint32_t i = 0; i < schema->column_count; i++) {
                columns[i] = i;
            }
            check_projection(schema, &array, &batch, columns, schema->column_count);
            fl_buf_deinit(&bytes);
        }
    }
    release(&array);
    fl_schema_unref(schema);
}

/* Columns of every type are added to a table that had one. */
static void columns_that_came_later_are_null(void **state)
{
    (void)state;
    fl_schema *newest = SCHEMA("id INT", ALL_TYPES, "below ROW<a INT NOT NULL, b STRING NOT NULL>");
    const uint32_t first[] = {0};
    fl_schema *written;
    OK(fl_schema_project(newest, first, 1, &written, &error));
    struct ArrowArray array = random_array(written, 77, 20, 3);
    for (int codec = FL_COMPRESS_NONE; codec <= FL_COMPRESS_ZSTD; codec++) {
        fl_buf bytes = batch_of(written, &array, 0, true, (fl_compression)codec);
        fl_log_batch batch, projected;
        OK(fl_log_batch_open(fl_buf_slice(&bytes), true, &batch, &error));
        for (uint32_t last = 1; last < newest->column_count; last++) {
            const uint32_t both[] = {0, last};
            const size_t skipped = last % 2; /* with and without a column that is there */
            fl_schema *narrow;
            struct ArrowArray read;
            fl_buf out;
            fl_buf_init(&out, BUF_MAX);
            OK(fl_schema_project(newest, both + skipped, 2 - skipped, &narrow, &error));
            OK(fl_log_batch_project(&batch,
                                    &(fl_projection){written, newest, both + skipped, 2 - skipped},
                                    &out, &error));
            OK(fl_log_batch_open(fl_buf_slice(&out), true, &projected, &error));
            OK(fl_arrow_read(narrow, projected.payload, NULL, &read, &error));
            assert_int_equal(read.length, 77);
            const bool is_nullable = newest->columns[last].type.nullable; /* if not: zeros */
            assert_int_equal(read.children[1 - skipped]->null_count, is_nullable ? 77 : 0);
            assert_true(skipped == 1 || read.children[0]->null_count < 77);
            release(&read);
            fl_schema_unref(narrow);
            fl_buf_deinit(&out);
        }
        fl_buf_deinit(&bytes);
    }
    release(&array);
    fl_schema_unref(written);
    fl_schema_unref(newest);
}

static void batches_without_records_pass_unchanged(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("id INT", "name STRING");
    const fl_slice bytes = from_hex(BATCH_EMPTY);
    const uint32_t columns[] = {1};
    fl_log_batch batch;
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_log_batch_open(bytes, true, &batch, &error));
    OK(fl_log_batch_project(&batch, &(fl_projection){schema, schema, columns, 1}, &out, &error));
    assert_true(fl_slice_equal(fl_buf_slice(&out), bytes));
    fl_buf_deinit(&out);
    free_bytes(bytes);
    fl_schema_unref(schema);
}

static void wrong_columns_are_refused(void **state)
{
    (void)state;
    static const struct {
        int32_t columns[3];
        size_t count;
        const char *message;
    } cases[] = {
        {{0}, 0, "no columns"},
        {{2}, 1, "index 2 at position 0, the schema has 2"},
        {{-1}, 1, "index -1 at position 0"},
        {{1, 0}, 2, "index 0 at position 1 does not ascend, 1"},
        {{1, 1}, 2, "index 1 at position 1 does not ascend, 1"},
        {{0, 1, 2}, 3, "index 2 at position 2"},
    };
    fl_schema *schema = SCHEMA("id INT", "name STRING");
    const fl_slice bytes = from_hex(BATCH_V1);
    fl_log_batch batch;
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_log_batch_open(bytes, true, &batch, &error));
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        assert_int_equal(fl_projection_check(schema, cases[i].columns, cases[i].count, &error),
                         FLUSS_E_INVALID_COLUMN_PROJECTION);
        assert_non_null(strstr(error.message, cases[i].message));
        assert_int_equal(fl_log_batch_project(&batch,
                                              &(fl_projection){schema, schema,
                                                               (const uint32_t *)cases[i].columns,
                                                               cases[i].count},
                                              &out, &error),
                         FLUSS_E_INVALID_COLUMN_PROJECTION);
        assert_int_equal(out.size, 0);
    }
    const int32_t good[] = {0, 1};
    OK(fl_projection_check(schema, good, 2, &error));
    fl_buf_deinit(&out);
    free_bytes(bytes);
    fl_schema_unref(schema);
}

static void a_batch_that_does_not_fit_the_schema_is_corrupt(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("id INT", "name STRING", "added INT");
    const fl_slice bytes = from_hex(BATCH_V1);
    const uint32_t columns[] = {0};
    fl_log_batch batch;
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_log_batch_open(bytes, true, &batch, &error));
    assert_int_equal(
        fl_log_batch_project(&batch, &(fl_projection){schema, schema, columns, 1}, &out, &error),
        FLUSS_E_CORRUPT_RECORD);
    assert_int_equal(error.code, FLUSS_E_CORRUPT_RECORD);
    fl_buf_deinit(&out);
    free_bytes(bytes);
    fl_schema_unref(schema);
}

/* Many buffers that claim the same large range would make the answer larger than the batch. */
static void buffers_that_overlap_are_refused(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("id INT", "name STRING");
    const fl_slice bytes = from_hex(BATCH_V0);
    uint8_t *payload = (uint8_t *)(uintptr_t)bytes.data + 48;
    fl_store_i64(payload + 0x88, 8); /* bitmap of `name` inside the values of `id` */
    const uint32_t columns[] = {0, 1};
    fl_log_batch batch;
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_log_batch_open(bytes, true, &batch, &error));
    assert_int_equal(
        fl_log_batch_project(&batch, &(fl_projection){schema, schema, columns, 2}, &out, &error),
        FLUSS_E_CORRUPT_RECORD);
    fl_buf_deinit(&out);
    free_bytes(bytes);
    fl_schema_unref(schema);
}

/* 32 columns of 2^59 bytes each are 2^64 bytes. */
static void columns_of_nulls_that_no_batch_holds_are_refused(void **state)
{
    (void)state;
    enum { ADDED = 32, WIDTH = 1 << 30, ROWS = 1 << 29, ROW_COUNT_AT = 0x48 };
    fl_schema *written = SCHEMA("a INT"), *newest = SCHEMA("a INT");
    uint32_t columns[1 + ADDED] = {0};
    for (uint32_t i = 0; i < ADDED; i++) {
        const fl_type type = {.root = FLUSS_BINARY, .length = WIDTH};
        char name[16];
        (void)snprintf(name, sizeof(name), "added%u", i);
        OK(fl_schema_add(newest, name, &type, NULL, &error));
        columns[1 + i] = 1 + i;
    }
    struct ArrowArray array = random_array(written, 3, 0, 1);
    fl_buf made = batch_of(written, &array, 0, true, FL_COMPRESS_NONE);
    uint8_t *message = made.data + fl_log_batch_header_size(0, 0);
    fl_store_i64(message + ROW_COUNT_AT, ROWS);
    fl_log_batch batch;
    OK(fl_log_batch_open(fl_buf_slice(&made), true, &batch, &error));
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    const fl_projection projection = {written, newest, columns, FL_COUNT_OF(columns)};
    assert_int_equal(fl_log_batch_project(&batch, &projection, &out, &error),
                     FLUSS_E_CORRUPT_RECORD);
    assert_int_equal(out.size, 0);
    fl_buf_deinit(&out);
    fl_buf_deinit(&made);
    release(&array);
    fl_schema_unref(written);
    fl_schema_unref(newest);
}

static void flipped_batches_never_crash(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA(ALL_TYPES);
    struct ArrowArray array = random_array(schema, 30, 20, 13);
    fl_buf bytes = batch_of(schema, &array, 0, true, FL_COMPRESS_LZ4_FRAME);
    release(&array);
    const uint32_t columns[] = {0, 8, 26, 32};
    uint64_t random = 17;
    for (size_t i = 0; i < 20000; i++) {
        const size_t at = next_random(&random) % (i % 2 == 0 ? 2600 : bytes.size);
        const uint8_t old = bytes.data[at];
        bytes.data[at] = (uint8_t)next_random(&random);
        fl_log_batch batch;
        fl_buf out;
        fl_buf_init(&out, BUF_MAX);
        if (fl_log_batch_open(fl_buf_slice(&bytes), true, &batch, &error) == 0 &&
            fl_log_batch_project(&batch,
                                 &(fl_projection){schema, schema, columns, FL_COUNT_OF(columns)},
                                 &out, &error) == 0) {
            assert_true(out.size < 2 * bytes.size);
        }
        fl_buf_deinit(&out);
        bytes.data[at] = old;
    }
    fl_buf_deinit(&bytes);
    fl_schema_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_columns_come_back_unchanged),
        cmocka_unit_test(columns_that_came_later_are_null),
        cmocka_unit_test(batches_without_records_pass_unchanged),
        cmocka_unit_test(wrong_columns_are_refused),
        cmocka_unit_test(a_batch_that_does_not_fit_the_schema_is_corrupt),
        cmocka_unit_test(buffers_that_overlap_are_refused),
        cmocka_unit_test(columns_of_nulls_that_no_batch_holds_are_refused),
        cmocka_unit_test(flipped_batches_never_crash),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed;
}
