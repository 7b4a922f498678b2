/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the bytes of an Arrow message are those of the specification, buffers are shared where they
 * can be, and no bytes whatever crash the reader or make it take memory on a claim. Method: the
 * worked example byte for byte; fields of it forged; every cut and many flipped bits of messages of
 * every type and codec. */
#include "arrow_support.h"
#include "batch_vectors.h"

enum { BUF_MAX = 1 << 24 };

static fl_schema *example_schema(void)
{
    return SCHEMA("id INT", "name STRING");
}

static struct ArrowArray example_array(const fl_schema *schema)
{
    fl_arrow_builder *builder;
    OK(fl_arrow_builder_new(schema, &builder, &error));
    const fluss_datum_t rows[][2] = {
        {int_value(FLUSS_INT, 1), text_value("a")},
        {int_value(FLUSS_INT, 2), null_value()},
        {int_value(FLUSS_INT, 3), text_value("ccc")},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        OK(fl_arrow_builder_append(builder, rows[i], &error));
    }
    struct ArrowArray array;
    OK(fl_arrow_builder_finish(builder, &array, &error));
    fl_arrow_builder_free(builder);
    return array;
}

static fl_buf written(const fl_schema *schema, const struct ArrowArray *array,
                      fl_compression compression)
{
    fl_arrow_writer *writer =
        fl_arrow_writer_new((fl_arrow_write_opts){.compression = compression, .level = 3});
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_arrow_write(writer, schema, array, 0, array->length, &out, &error));
    fl_arrow_writer_free(writer);
    return out;
}

static void the_example_is_written_byte_for_byte(void **state)
{
    (void)state;
    fl_schema *schema = example_schema();
    struct ArrowArray array = example_array(schema);
    fl_buf out = written(schema, &array, FL_COMPRESS_NONE);
    const fl_slice wanted = from_hex(ARROW_PAYLOAD);
    assert_int_equal(out.size, wanted.size);
    assert_memory_equal(out.data, wanted.data, wanted.size);
    free_bytes(wanted);
    fl_buf_deinit(&out);
    release(&array);
    fl_schema_unref(schema);
}

static void the_example_is_read(void **state)
{
    (void)state;
    fl_schema *schema = example_schema();
    struct ArrowArray wanted = example_array(schema);
    const fl_slice bytes = from_hex(ARROW_PAYLOAD);
    struct ArrowArray array;
    OK(fl_arrow_read(schema, bytes, NULL, &array, &error));
    free_bytes(bytes);
    assert_rows_equal(schema, &wanted, 0, &array, 0, 3);
    assert_int_equal(array.children[0]->null_count, 0);
    assert_int_equal(array.children[1]->null_count, 1);
    release(&array);
    release(&wanted);
    fl_schema_unref(schema);
}

static void aligned_buffers_are_shared_and_others_copied(void **state)
{
    (void)state;
    fl_schema *schema = example_schema();
    const fl_slice bytes = from_hex(ARROW_PAYLOAD);
    for (size_t lead = 0; lead <= 16; lead++) {
        fl_frame *frame = frame_of(bytes, lead);
        struct ArrowArray array;
        const fl_slice payload = fl_slice_of(frame->data + lead, bytes.size);
        OK(fl_arrow_read(schema, payload, frame, &array, &error));
        const uint8_t *values = array.children[0]->buffers[1];
        const bool is_shared = values >= payload.data && values < payload.data + payload.size;
        assert_int_equal(is_shared, lead % 8 == 0);
        fl_frame_unref(frame); /* the array keeps it */
        assert_int_equal(fl_load_i32(values + 8), 3);
        release(&array);
    }
    free_bytes(bytes);
    fl_schema_unref(schema);
}

static void a_child_moved_away_outlives_its_parent(void **state)
{
    (void)state;
    fl_schema *schema = example_schema();
    struct ArrowArray array = example_array(schema);
    struct ArrowArray child;
    ArrowArrayMove(array.children[1], &child);
    release(&array);
    assert_memory_equal(child.buffers[2], "accc", 4);
    release(&child);
    fl_schema_unref(schema);
}

/* Positions in the example: 0x48 row count, 0x58 buffers, 0xb0 nodes, 0xd0 body. */
static void forged_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        size_t width;
        const char *message;
    } cases[] = {
        {0, 0, 4, "no ffffffff"},
        {4, 0xffffffff, 4, "metadata claims -1"},
        {4, 249, 4, "metadata claims 249"},
        {4, 0x7fffffff, 4, "metadata claims"},
        {8, 0x7fffffff, 4, "message table"},
        {0x1c, 0x7fffffff, 4, "message table"},
        {0x1c, 0x80000000, 4, "message table"},
        {0x21, 1, 1, "header type 1"},
        {0x22, 9, 1, "version 9"},
        {0x24, 0xfffffff0, 4, "record batch table"},
        {0x28, 49, 8, "body claims 49"},
        {0x28, UINT64_MAX, 8, "body claims -1"},
        {0x40, 0x7fffffff, 4, "part of the record batch"},
        {0x44, 0xffffffff, 4, "part of the record batch"},
        {0x48, UINT64_MAX, 8, "-1 rows"},
        {0x48, 1ull << 40, 8, "1099511627776 rows"},
        {0x48, 4, 8, "column 'id': node 0 has 3 values, expected 4"},
        {0x54, 6, 4, "buffer 5"},
        {0x54, 0xffffffff, 4, "part of the record batch"},
        {0x58, UINT64_MAX, 8, "buffer 0"},
        {0x60, 1ull << 62, 8, "buffer 0"},
        {0x68, 40, 8, "buffer 1 of 12 bytes at 40 lies outside the body of 48"},
        {0x70, 8, 8, "column 'id': values of 8 bytes, 12 wanted"},
        {0x80, 0, 8, "column 'name': bitmap of nulls of 0 bytes, 1 wanted"},
        {0x90, 12, 8, "column 'name': offsets of 12 bytes, 16 wanted"},
        {0xa0, 3, 8, "column 'name': values of 3 bytes, 4 wanted"},
        {0xb0, 2, 8, "node 0 has 2 values, expected 3"},
        {0xb8, UINT64_MAX, 8, "node 0 has -1 nulls"},
        {0xb8, 4, 8, "node 0 has 4 nulls"},
        {0xc8, 2, 8, "bitmap of nulls has 1 of them, the node says 2"},
        {0xe0, 7, 1, "bitmap of nulls has 0 of them"},
        {0xe8, 0xffffffff, 4, "offsets are negative or go back"},
        {0xec, 2, 4, "offsets are negative or go back"},
        {0xf4, 0x7fffffff, 4, "values of 4 bytes, 2147483647 wanted"},
        {0xf8, 0xff, 1, "column 'name': text is not UTF-8"},
        {0xf8, 0xa9c3, 2, "column 'name': text is not UTF-8"}, /* a character over two values */
    };
    fl_schema *schema = example_schema();
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fl_slice bytes = from_hex(ARROW_PAYLOAD);
        memcpy((uint8_t *)(uintptr_t)bytes.data + cases[i].at, &cases[i].value, cases[i].width);
        struct ArrowArray array;
        const fluss_code_t rc = fl_arrow_read(schema, bytes, NULL, &array, &error);
        if (rc == 0) {
            fail_msg("case %zu is read", i);
        }
        assert_int_equal(rc, FLUSS_E_CORRUPT_MESSAGE);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("case %zu: '%s' does not say '%s'", i, error.message, cases[i].message);
        }
        free_bytes(bytes);
    }
    fl_schema_unref(schema);
}

static void another_schema_is_refused(void **state)
{
    (void)state;
    fl_schema *schemas[] = {SCHEMA("id INT"), SCHEMA("id INT", "name STRING", "x INT"),
                            SCHEMA("id STRING", "name INT"), SCHEMA("id BIGINT", "name STRING")};
    const fl_slice bytes = from_hex(ARROW_PAYLOAD);
    for (size_t i = 0; i < FL_COUNT_OF(schemas); i++) {
        struct ArrowArray array;
        assert_int_equal(fl_arrow_read(schemas[i], bytes, NULL, &array, &error),
                         FLUSS_E_CORRUPT_MESSAGE);
        fl_schema_unref(schemas[i]);
    }
    free_bytes(bytes);
}

/* Java: no bitmap when all are null, no offsets when there are no rows. */
static void what_java_leaves_out_is_understood(void **state)
{
    (void)state;
    fl_schema *schema = example_schema();
    fl_slice bytes = from_hex(ARROW_PAYLOAD);
    uint8_t *copy = (uint8_t *)(uintptr_t)bytes.data;
    fl_store_i64(copy + 0x80, 0); /* no bitmap */
    fl_store_i64(copy + 0xc8, 3); /* three nulls */
    struct ArrowArray array;
    OK(fl_arrow_read(schema, bytes, NULL, &array, &error));
    fl_arrow_rows *rows;
    fluss_datum_t value;
    OK(fl_arrow_rows_new(schema, &array, &rows, &error));
    for (int64_t row = 0; row < 3; row++) {
        OK(fl_arrow_rows_get(rows, row, 1, NULL, &value, &error));
        assert_int_equal(value.type, FLUSS_NULL);
    }
    fl_arrow_rows_free(rows);
    release(&array);
    memset(copy + 0x58, 0, 5 * 16); /* buffers of nothing */
    memset(copy + 0xb0, 0, 2 * 16); /* nodes of nothing */
    fl_store_i64(copy + 0x48, 0);
    OK(fl_arrow_read(schema, bytes, NULL, &array, &error));
    assert_int_equal(array.length, 0);
    release(&array);
    free_bytes(bytes);
    fl_schema_unref(schema);
}

/* A bitmap is not read where the count says that there are no nulls, as in Java. */
static void text_under_a_null_may_be_anything(void **state)
{
    (void)state;
    fl_schema *schema = example_schema();
    fl_slice bytes = from_hex(ARROW_PAYLOAD);
    uint8_t *copy = (uint8_t *)(uintptr_t)bytes.data;
    fl_store_i32(copy + 0xec + 4, 3); /* offsets 0 1 3 4: the null has two bytes */
    memcpy(copy + 0xf9, "\xff\xfe", 2);
    struct ArrowArray array;
    OK(fl_arrow_read(schema, bytes, NULL, &array, &error));
    release(&array);
    free_bytes(bytes);
    fl_schema_unref(schema);
}

/* A message of one compressed buffer of BYTES, whose size field can be forged. */
static void claimed_sizes_are_not_believed(void **state)
{
    (void)state;
    static const int64_t claims[] = {-2,        INT64_MIN, INT64_MAX, 1ll << 40,
                                     600 << 20, 70000,     69999,     70001};
    fl_schema *schema = SCHEMA("x BYTES");
    fl_arrow_builder *builder;
    OK(fl_arrow_builder_new(schema, &builder, &error));
    void *zeros = fl_calloc(1, 70000);
    const fluss_datum_t row = {.type = FLUSS_BYTES, .v.s = {.ptr = zeros, .len = 70000}};
    OK(fl_arrow_builder_append(builder, &row, &error));
    struct ArrowArray array;
    OK(fl_arrow_builder_finish(builder, &array, &error));
    for (int codec = FL_COMPRESS_LZ4_FRAME; codec <= FL_COMPRESS_ZSTD; codec++) {
        fl_buf out = written(schema, &array, (fl_compression)codec);
        size_t at = 0;
        while (fl_load_i64(out.data + at) != 70000) {
            at += 8;
        }
        for (size_t i = 0; i < FL_COUNT_OF(claims); i++) {
            fl_store_i64(out.data + at, claims[i]);
            struct ArrowArray read;
            const fluss_code_t rc = fl_arrow_read(schema, fl_buf_slice(&out), NULL, &read, &error);
            assert_int_equal(rc, claims[i] == 70000 ? 0 : FLUSS_E_CORRUPT_MESSAGE);
            if (rc == 0) {
                release(&read);
            }
        }
        fl_buf_deinit(&out);
    }
    release(&array);
    fl_free(zeros);
    fl_arrow_builder_free(builder);
    fl_schema_unref(schema);
}

/* Read, and when that goes, look at every value. */
static void read_everything(const fl_schema *schema, fl_slice bytes)
{
    struct ArrowArray array;
    if (fl_arrow_read(schema, bytes, NULL, &array, NULL) != 0) {
        return;
    }
    fl_arrow_rows *rows;
    OK(fl_arrow_rows_new(schema, &array, &rows, &error));
    fl_arena arena;
    fl_arena_init(&arena);
    volatile unsigned touched = 0;
    for (int64_t row = 0; row < array.length && row < 1000; row++) {
        for (size_t column = 0; column < schema->column_count; column++) {
            fluss_datum_t value;
            if (fl_arrow_rows_get(rows, row, column, &arena, &value, NULL) == 0 &&
                value.type == FLUSS_BYTES && value.v.s.len != 0) {
                const uint8_t *bytes_of = value.v.s.ptr;
                touched += bytes_of[0] + bytes_of[value.v.s.len - 1];
            }
        }
        fl_arena_reset(&arena);
    }
    fl_arena_deinit(&arena);
    fl_arrow_rows_free(rows);
    release(&array);
}

static void cut_and_flipped_messages_never_crash(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA(ALL_TYPES);
    for (int codec = FL_COMPRESS_NONE; codec <= FL_COMPRESS_ZSTD; codec++) {
        struct ArrowArray array = random_array(schema, 40, 20, 3);
        fl_buf out = written(schema, &array, (fl_compression)codec);
        release(&array);
        for (size_t size = 0; size < out.size; size += size < 3000 ? 7 : 61) {
            uint8_t *cut = fl_alloc(size);
            memcpy(cut, out.data, size);
            assert_int_not_equal(
                fl_arrow_read(schema, fl_slice_of(cut, size), NULL, &array, &error), 0);
            fl_free(cut);
        }
        uint64_t random = 99;
        for (size_t i = 0; i < 6000; i++) {
            const size_t at = next_random(&random) % out.size;
            const uint8_t mask = (uint8_t)(1u << next_random(&random) % 8);
            out.data[at] = (uint8_t)(out.data[at] ^ mask);
            read_everything(schema, fl_buf_slice(&out));
            out.data[at] = (uint8_t)(out.data[at] ^ mask);
        }
        fl_buf_deinit(&out);
    }
    fl_schema_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_written_byte_for_byte),
        cmocka_unit_test(the_example_is_read),
        cmocka_unit_test(aligned_buffers_are_shared_and_others_copied),
        cmocka_unit_test(a_child_moved_away_outlives_its_parent),
        cmocka_unit_test(forged_messages_are_refused),
        cmocka_unit_test(another_schema_is_refused),
        cmocka_unit_test(what_java_leaves_out_is_understood),
        cmocka_unit_test(text_under_a_null_may_be_anything),
        cmocka_unit_test(claimed_sizes_are_not_believed),
        cmocka_unit_test(cut_and_flipped_messages_never_crash),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed;
}
