/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: what is built, written and read again is the same, for every type, codec, number of rows
 * and share of nulls, for whole arrays and for any part of one. Method: random rows (seeded),
 * compared value by value. */
#include "arrow_support.h"

enum { BUF_MAX = 1 << 28 };

static const fl_arrow_write_opts codecs[] = {
    {.compression = FL_COMPRESS_NONE},
    {.compression = FL_COMPRESS_LZ4_FRAME},
    {.compression = FL_COMPRESS_ZSTD, .level = 1},
    {.compression = FL_COMPRESS_ZSTD, .level = 3},
    {.compression = FL_COMPRESS_ZSTD, .level = 19},
};

/* Write rows [from, from + count), read them from memory with this alignment, compare. */
static void check_part(fl_arrow_writer *writer, const fl_schema *schema,
                       const struct ArrowArray *array, int64_t from, int64_t count, size_t lead)
{
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_arrow_write(writer, schema, array, from, count, &out, &error));
    assert_int_equal(out.size % 8, 0);
    fl_frame *frame = frame_of(fl_buf_slice(&out), lead);
    struct ArrowArray read;
    OK(fl_arrow_read(schema, fl_slice_of(frame->data + lead, out.size), frame, &read, &error));
    fl_frame_unref(frame);
    assert_int_equal(read.length, count);
    assert_rows_equal(schema, array, from, &read, 0, count);
    release(&read);
    OK(fl_arrow_read(schema, fl_buf_slice(&out), NULL, &read, &error));
    fl_buf_deinit(&out);
    assert_rows_equal(schema, array, from, &read, 0, count);
    release(&read);
}

static void all_types_come_back_equal(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 7, 8, 9, 63, 64, 65, 1000};
    static const unsigned null_percents[] = {0, 30, 100};
    fl_schema *schema = SCHEMA(ALL_TYPES);
    for (size_t c = 0; c < FL_COUNT_OF(codecs); c++) {
        fl_arrow_writer *writer = fl_arrow_writer_new(codecs[c]);
        for (size_t i = 0; i < FL_COUNT_OF(counts); i++) {
            for (size_t n = 0; n < FL_COUNT_OF(null_percents); n++) {
                struct ArrowArray array =
                    random_array(schema, counts[i], null_percents[n], i * 3 + n + 1);
                check_part(writer, schema, &array, 0, counts[i], i % 8);
                release(&array);
            }
        }
        fl_arrow_writer_free(writer);
    }
    fl_schema_unref(schema);
}

/* Known fault A18: sliced lists, maps, booleans and text written as if they began at 0. */
static void any_part_of_an_array_is_written_alone(void **state)
{
    (void)state;
    static const int64_t parts[][2] = {{3, 5}, {8, 64}, {7, 9}, {1, 998}, {999, 1}, {500, 0}};
    fl_schema *schema = SCHEMA(ALL_TYPES);
    struct ArrowArray array = random_array(schema, 1000, 20, 77);
    for (size_t c = 0; c < 3; c++) {
        fl_arrow_writer *writer = fl_arrow_writer_new(codecs[c]);
        for (size_t i = 0; i < FL_COUNT_OF(parts); i++) {
            check_part(writer, schema, &array, parts[i][0], parts[i][1], 0);
        }
        fl_arrow_writer_free(writer);
    }
    fl_arrow_writer *writer = fl_arrow_writer_new(codecs[0]);
    fl_buf small, whole;
    fl_buf_init(&small, BUF_MAX);
    fl_buf_init(&whole, BUF_MAX);
    OK(fl_arrow_write(writer, schema, &array, 500, 2, &small, &error));
    OK(fl_arrow_write(writer, schema, &array, 0, 1000, &whole, &error));
    assert_true(small.size < whole.size / 20);
    fl_buf_deinit(&small);
    fl_buf_deinit(&whole);
    fl_arrow_writer_free(writer);
    release(&array);
    fl_schema_unref(schema);
}

static void plain_messages_fit_the_size_that_was_foretold(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 7, 64, 65, 300};
    fl_schema *schema = SCHEMA(ALL_TYPES);
    fl_arrow_writer *writer = fl_arrow_writer_new(codecs[0]);
    for (size_t i = 0; i < FL_COUNT_OF(counts); i++) {
        for (unsigned null_percent = 0; null_percent <= 100; null_percent += 50) {
            struct ArrowArray array = random_array(schema, counts[i], null_percent, i + 9);
            for (int64_t from = 0; from <= counts[i]; from += 1 + counts[i] / 3) {
                const int64_t count = counts[i] - from;
                const size_t size_max = fl_arrow_write_size_max(schema, &array, from, count);
                uint8_t *storage = fl_alloc(size_max);
                fl_buf out;
                fl_buf_init_over(&out, storage, size_max);
                OK(fl_arrow_write(writer, schema, &array, from, count, &out, &error));
                assert_true(out.size + (size_t)count * 64 + 4096 > size_max); /* not by far */
                fl_free(storage);
            }
            release(&array);
        }
    }
    fl_arrow_writer_free(writer);
    fl_schema_unref(schema);
}

static void a_slice_is_the_same_rows_without_a_copy(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA(ALL_TYPES);
    struct ArrowArray whole = random_array(schema, 200, 20, 5);
    struct ArrowArray again = random_array(schema, 200, 20, 5);
    const void *values = whole.children[4]->buffers[1];
    struct ArrowArray slice, inner;
    OK(fl_arrow_slice(&whole, 13, 150, &slice, &error));
    assert_null(whole.release);
    assert_ptr_equal(slice.children[4]->buffers[1], values);
    assert_int_equal(slice.offset, 0); /* pyarrow takes no batch with an offset */
    assert_rows_equal(schema, &again, 13, &slice, 0, 150);
    OK(fl_arrow_slice(&slice, 21, 77, &inner, &error));
    assert_rows_equal(schema, &again, 34, &inner, 0, 77);
    fl_arrow_writer *writer = fl_arrow_writer_new(codecs[2]);
    check_part(writer, schema, &inner, 3, 70, 4);
    fl_arrow_writer_free(writer);
    assert_int_not_equal(fl_arrow_slice(&inner, 70, 8, &slice, &error), 0);
    assert_int_not_equal(fl_arrow_slice(&inner, -1, 8, &slice, &error), 0);
    release(&inner);
    release(&again);
    fl_schema_unref(schema);
}

/* Known faults A7, A12, A17: sizes around what buffers start with, and what does not shrink. */
static void large_values_and_long_lists_come_back_equal(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 1023, 1024, 1025, 70000};
    fl_schema *schema = SCHEMA("xs ARRAY<INT>", "by BYTES", "m MAP<INT NOT NULL, STRING>");
    fl_arrow_builder *builder;
    OK(fl_arrow_builder_new(schema, &builder, &error));
    fl_arena arena;
    fl_arena_init(&arena);
    uint64_t random = 42;
    for (size_t i = 0; i < FL_COUNT_OF(lengths); i++) {
        const size_t length = lengths[i];
        fluss_datum_t *items = list_items(&arena, length);
        fluss_datum_t *entries = list_items(&arena, 2 * length);
        uint8_t *noise = fl_arena_alloc(&arena, length);
        for (size_t j = 0; j < length; j++) {
            items[j] = int_value(FLUSS_INT, (int64_t)j);
            entries[2 * j] = int_value(FLUSS_INT, (int64_t)j);
            entries[2 * j + 1] = j % 3 == 0 ? null_value() : text_value("value");
            noise[j] = (uint8_t)next_random(&random);
        }
        const fluss_datum_t row[] = {
            {.type = FLUSS_ARRAY, .v.list = {.items = items, .len = length}},
            {.type = FLUSS_BYTES, .v.s = {.ptr = noise, .len = length}},
            {.type = FLUSS_MAP, .v.list = {.items = entries, .len = 2 * length}},
        };
        OK(fl_arrow_builder_append(builder, row, &error));
    }
    struct ArrowArray array;
    OK(fl_arrow_builder_finish(builder, &array, &error));
    for (size_t c = 0; c < FL_COUNT_OF(codecs); c++) {
        fl_arrow_writer *writer = fl_arrow_writer_new(codecs[c]);
        check_part(writer, schema, &array, 0, FL_COUNT_OF(lengths), 0);
        check_part(writer, schema, &array, 3, 2, 1);
        fl_arrow_writer_free(writer);
    }
    release(&array);
    fl_arena_deinit(&arena);
    fl_arrow_builder_free(builder);
    fl_schema_unref(schema);
}

/* Known fault A13: sizes at which a codec does not end. */
static void every_buffer_size_around_a_block_comes_back_equal(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("by BYTES");
    fl_arrow_builder *builder;
    OK(fl_arrow_builder_new(schema, &builder, &error));
    uint8_t *bytes = fl_calloc(1, 200000);
    uint64_t random = 7;
    for (size_t i = 0; i < 200000; i++) {
        bytes[i] = (uint8_t)(next_random(&random) % 4);
    }
    for (size_t c = 1; c < 3; c++) {
        fl_arrow_writer *writer = fl_arrow_writer_new(codecs[c]);
        for (size_t size = 0; size < 200000; size += size < 300             ? 1
                                                     : size % 65536 > 65533 ? 1
                                                                            : 977) {
            const fluss_datum_t row = {.type = FLUSS_BYTES, .v.s = {.ptr = bytes, .len = size}};
            OK(fl_arrow_builder_append(builder, &row, &error));
            struct ArrowArray array;
            OK(fl_arrow_builder_finish(builder, &array, &error));
            check_part(writer, schema, &array, 0, 1, 0);
            release(&array);
        }
        fl_arrow_writer_free(writer);
    }
    fl_free(bytes);
    fl_arrow_builder_free(builder);
    fl_schema_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_come_back_equal),
        cmocka_unit_test(any_part_of_an_array_is_written_alone),
        cmocka_unit_test(plain_messages_fit_the_size_that_was_foretold),
        cmocka_unit_test(a_slice_is_the_same_rows_without_a_copy),
        cmocka_unit_test(large_values_and_long_lists_come_back_equal),
        cmocka_unit_test(every_buffer_size_around_a_block_comes_back_equal),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed;
}
