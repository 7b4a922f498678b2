/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: statistics blocks are those of pyfluss and Java, and any bytes are safe to read. Method:
 * the worked examples in batch_vectors.h; every supported type against a scan of its own; cut
 * and flipped blocks. */
#include "arrow_support.h"
#include "batch_vectors.h"

enum { BUF_MAX = 1 << 20 };

static struct ArrowArray array_of(const fl_schema *schema, const fluss_datum_t *values,
                                  size_t row_count)
{
    fl_arrow_builder *builder;
    OK(fl_arrow_builder_new(schema, &builder, &error));
    for (size_t i = 0; i < row_count; i++) {
        OK(fl_arrow_builder_append(builder, values + i * schema->column_count, &error));
    }
    struct ArrowArray array;
    OK(fl_arrow_builder_finish(builder, &array, &error));
    fl_arrow_builder_free(builder);
    return array;
}

static void check_block(const fl_schema *schema, const fluss_datum_t *values, size_t row_count,
                        const char *hex)
{
    const uint32_t columns[] = {0, 1};
    struct ArrowArray array = array_of(schema, values, row_count);
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    OK(fl_statistics_write(schema, &array, 0, array.length, columns, 2, &out, &error));
    const fl_slice wanted = from_hex(hex);
    assert_int_equal(out.size, wanted.size);
    assert_memory_equal(out.data, wanted.data, wanted.size);
    free_bytes(wanted);
    fl_buf_deinit(&out);
    release(&array);
}

static void blocks_are_those_of_the_peers(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("id INT NOT NULL", "name STRING", "n INT");
    const fluss_datum_t python[] = {
        int_value(FLUSS_INT, 1), text_value("a"),   null_value(),
        int_value(FLUSS_INT, 2), null_value(),      null_value(),
        int_value(FLUSS_INT, 3), text_value("ccc"), null_value(),
    };
    check_block(schema, python, 3, STATISTICS);
    const fluss_datum_t java[] = {
        int_value(FLUSS_INT, 1),
        text_value("a"),
        int_value(FLUSS_INT, 10),
        int_value(FLUSS_INT, 2),
        null_value(),
        int_value(FLUSS_INT, 20),
        int_value(FLUSS_INT, 3),
        text_value("a longer name"),
        null_value(),
    };
    check_block(schema, java, 3,
                "0102000000010000000000010000001800000000000000000000000100000000000000"
                "610000000000008128000000000000000000000003000000000000000d00000018000000"
                "61206c6f6e676572206e616d65000000");
    fl_schema_unref(schema);
}

static void bounds_of_every_type_are_found(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA(ALL_TYPES);
    uint32_t columns[64];
    size_t count = 0;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (fl_statistics_supports(&schema->columns[i].type)) {
            columns[count++] = i;
        }
    }
    assert_int_equal(count, 25);
    for (unsigned null_percent = 0; null_percent <= 100; null_percent += 50) {
        struct ArrowArray array = random_array(schema, 200, null_percent, 21);
        fl_buf out;
        fl_buf_init(&out, BUF_MAX);
        OK(fl_statistics_write(schema, &array, 50, 100, columns, count, &out, &error));
        fl_arena arena;
        fl_arena_init(&arena);
        fl_statistics_column *found;
        size_t found_count;
        OK(fl_statistics_read(fl_buf_slice(&out), schema, &arena, &found, &found_count, &error));
        assert_int_equal(found_count, count);
        fl_arrow_rows *rows;
        OK(fl_arrow_rows_new(schema, &array, &rows, &error));
        for (size_t i = 0; i < count; i++) {
            fluss_datum_t min = null_value(), max = null_value();
            int32_t nulls = 0;
            for (int64_t row = 50; row < 150; row++) {
                fluss_datum_t value;
                OK(fl_arrow_rows_get(rows, row, columns[i], &arena, &value, &error));
                if (value.type == FLUSS_NULL) {
                    nulls++;
                    continue;
                }
                min = min.type == FLUSS_NULL || fl_datum_compare(&value, &min) < 0 ? value : min;
                max = max.type == FLUSS_NULL || fl_datum_compare(&value, &max) > 0 ? value : max;
            }
            assert_int_equal(found[i].column, columns[i]);
            assert_int_equal(found[i].null_count, nulls);
            if (!fl_datum_equal(&found[i].min, &min) || !fl_datum_equal(&found[i].max, &max)) {
                fail_msg("bounds of '%s' differ", schema->columns[columns[i]].name);
            }
        }
        fl_arrow_rows_free(rows);
        fl_arena_deinit(&arena);
        fl_buf_deinit(&out);
        release(&array);
    }
    fl_schema_unref(schema);
}

static void unknown_versions_and_no_columns_mean_none(void **state)
{
    (void)state;
    static const char *const blocks[] = {"", "01", "0200000000", "01000000", "01ffff00"};
    fl_schema *schema = SCHEMA("id INT", "name STRING");
    fl_arena arena;
    fl_arena_init(&arena);
    for (size_t i = 0; i < FL_COUNT_OF(blocks); i++) {
        const fl_slice bytes = from_hex(blocks[i]);
        fl_statistics_column *found;
        size_t count = 9;
        OK(fl_statistics_read(bytes, schema, &arena, &found, &count, &error));
        assert_int_equal(count, 0);
        free_bytes(bytes);
    }
    fl_arena_deinit(&arena);
    fl_schema_unref(schema);
}

static void cut_and_flipped_blocks_never_crash(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("id INT", "name STRING", "list ARRAY<INT>");
    fl_arena arena;
    fl_arena_init(&arena);
    const fl_slice bytes = from_hex(STATISTICS);
    fl_statistics_column *found;
    size_t count;
    for (size_t size = 3; size < bytes.size; size++) {
        uint8_t *cut = fl_alloc(size);
        memcpy(cut, bytes.data, size);
        assert_int_not_equal(
            fl_statistics_read(fl_slice_of(cut, size), schema, &arena, &found, &count, &error), 0);
        fl_free(cut);
    }
    uint8_t *copy = (uint8_t *)(uintptr_t)bytes.data;
    for (size_t at = 0; at < bytes.size; at++) {
        const uint8_t old = copy[at];
        for (unsigned value = 0; value < 256; value++) {
            copy[at] = (uint8_t)value;
            (void)!fl_statistics_read(bytes, schema, &arena, &found, &count, &error);
            fl_arena_reset(&arena);
        }
        copy[at] = old;
    }
    free_bytes(bytes);
    fl_arena_deinit(&arena);
    fl_schema_unref(schema);
}

static void columns_without_statistics_are_refused(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("id INT", "by BYTES");
    struct ArrowArray array = random_array(schema, 3, 0, 1);
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    for (uint32_t column = 1; column <= 2; column++) {
        assert_int_not_equal(fl_statistics_write(schema, &array, 0, 3, &column, 1, &out, &error),
                             0);
        assert_int_equal(error.kind, FLUSS_KIND_ARGUMENT);
    }
    assert_int_not_equal(fl_statistics_write(schema, &array, 0, 3, NULL, 0, &out, &error), 0);
    assert_int_equal(out.size, 0);
    fl_buf_deinit(&out);
    release(&array);
    fl_schema_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_those_of_the_peers),
        cmocka_unit_test(bounds_of_every_type_are_found),
        cmocka_unit_test(unknown_versions_and_no_columns_mean_none),
        cmocka_unit_test(cut_and_flipped_blocks_never_crash),
        cmocka_unit_test(columns_without_statistics_are_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed;
}
