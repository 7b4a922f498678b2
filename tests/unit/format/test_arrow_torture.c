/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: when memory runs out anywhere, every function of the module gives an error and leaves
 * nothing behind. Method: each is run again and again while its first, second, third … allocation
 * fails, until one run needs no more. */
#include "arrow_support.h"

enum { BUF_MAX = 1 << 24, ROUNDS_MAX = 5000 };

typedef struct torture {
    fl_schema *schema, *other;
    struct ArrowArray array;
    fl_buf payload; /* ZSTD */
    fl_buf batch;
} torture;

static fluss_code_t run_build(torture *t)
{
    fl_arrow_builder *builder = NULL;
    struct ArrowArray array = {.release = NULL};
    fl_arena arena;
    fl_arena_init(&arena);
    fl_arrow_rows *rows = NULL;
    fluss_datum_t values[64];
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_builder_new(t->schema, &builder, &error));
    FL_TRY_OUT(fl_arrow_rows_new(t->schema, &t->array, &rows, &error));
    for (int64_t row = 0; row < t->array.length; row++) {
        for (size_t i = 0; i < t->schema->column_count; i++) {
            FL_TRY_OUT(fl_arrow_rows_get(rows, row, i, &arena, &values[i], &error));
        }
        rc = fl_arrow_builder_append(builder, values, &error);
        assert_int_equal(fl_arrow_builder_rows(builder), rc == 0 ? row + 1 : row);
        if (rc != 0) {
            goto out;
        }
    }
    rc = fl_arrow_builder_finish(builder, &array, &error);
    if (rc != 0) { /* nothing is lost: it goes the second time */
        fl_alloc_fail_at(0);
        OK(fl_arrow_builder_finish(builder, &array, &error));
        assert_rows_equal(t->schema, &t->array, 0, &array, 0, t->array.length);
    }
out:
    release(&array);
    fl_arrow_rows_free(rows);
    fl_arrow_builder_free(builder);
    fl_arena_deinit(&arena);
    return rc;
}

static fluss_code_t run_write_with(torture *t, fl_compression compression)
{
    fl_arrow_writer *writer =
        fl_arrow_writer_new((fl_arrow_write_opts){.compression = compression, .level = 3});
    if (writer == NULL) {
        return fl_error_nomem(&error);
    }
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    const fluss_code_t rc =
        fl_arrow_write(writer, t->schema, &t->array, 1, t->array.length - 1, &out, &error);
    assert_true(rc == 0 || out.size == 0);
    fl_buf_deinit(&out);
    fl_arrow_writer_free(writer);
    return rc;
}

static fluss_code_t run_write(torture *t)
{
    return run_write_with(t, FL_COMPRESS_NONE);
}

static fluss_code_t run_write_lz4(torture *t)
{
    return run_write_with(t, FL_COMPRESS_LZ4_FRAME);
}

static fluss_code_t run_read(torture *t)
{
    struct ArrowArray array;
    FL_TRY(fl_arrow_read(t->schema, fl_buf_slice(&t->payload), NULL, &array, &error));
    release(&array);
    return 0;
}

static fluss_code_t run_take(torture *t)
{
    const int64_t indexes[] = {3, 0, 3, 7, 9};
    struct ArrowArray array;
    FL_TRY(fl_arrow_take(t->schema, &t->array, indexes, FL_COUNT_OF(indexes), &array, &error));
    release(&array);
    return 0;
}

/* The functions that take an array: it must still be whole when they fail. */
static fluss_code_t run_moves(torture *t)
{
    struct ArrowArray slice, back;
    FL_TRY(fl_arrow_slice(&t->array, 0, t->array.length, &slice, &error));
    fluss_code_t rc = fl_arrow_realign(t->schema, &slice, t->other, &back, &error);
    if (rc != 0) {
        ArrowArrayMove(&slice, &t->array);
        return rc;
    }
    assert_null(slice.release);
    rc = fl_arrow_realign(t->other, &back, t->schema, &t->array, &error);
    if (rc != 0) {
        ArrowArrayMove(&back, &t->array);
    }
    return rc;
}

static fluss_code_t run_convert(torture *t)
{
    struct ArrowSchema from = {.release = NULL};
    struct ArrowArray out;
    fl_schema *narrow = NULL;
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_schema_from(t->schema, &from, &error));
    FL_TRY_OUT(fl_arrow_schema_to(&from, &narrow, &error));
    FL_TRY_OUT(fl_arrow_convert(&from, &t->array, t->other, &out, &error));
    ArrowArrayMove(&out, &t->array);
out:
    if (from.release != NULL) {
        from.release(&from);
    }
    fl_schema_unref(narrow);
    return rc;
}

static fluss_code_t run_project(torture *t)
{
    const uint32_t columns[] = {1, 8, 27};
    fl_log_batch batch;
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    fluss_code_t rc;
    FL_TRY_OUT(fl_log_batch_open(fl_buf_slice(&t->batch), true, &batch, &error));
    rc = fl_log_batch_project(&batch,
                              &(fl_projection){t->schema, t->schema, columns, FL_COUNT_OF(columns)},
                              &out, &error);
out:
    fl_buf_deinit(&out);
    return rc;
}

static fluss_code_t run_statistics(torture *t)
{
    const uint32_t columns[] = {0, 3, 8, 12, 20};
    fl_statistics_column *found;
    size_t count;
    fl_arena arena;
    fl_arena_init(&arena);
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    fluss_code_t rc;
    FL_TRY_OUT(fl_statistics_write(t->schema, &t->array, 0, t->array.length, columns,
                                   FL_COUNT_OF(columns), &out, &error));
    rc = fl_statistics_read(fl_buf_slice(&out), t->schema, &arena, &found, &count, &error);
out:
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
    return rc;
}

static void torture_init(torture *t)
{
    t->schema = SCHEMA(ALL_TYPES);
    t->other = SCHEMA(ALL_TYPES);
    t->array = random_array(t->schema, 20, 20, 4);
    fl_arrow_writer *writer =
        fl_arrow_writer_new((fl_arrow_write_opts){.compression = FL_COMPRESS_ZSTD, .level = 3});
    fl_buf_init(&t->payload, BUF_MAX);
    fl_buf_init(&t->batch, BUF_MAX);
    OK(fl_arrow_write(writer, t->schema, &t->array, 0, 20, &t->payload, &error));
    fl_arrow_writer_free(writer);
    release(&t->array);
    const fl_log_batch_spec spec = {.is_append_only = true, .record_count = 20};
    OK(fl_buf_append_zeros(&t->batch, fl_log_batch_header_size(0, 0), &error));
    OK(fl_buf_append_slice(&t->batch, fl_buf_slice(&t->payload), &error));
    fl_log_batch_finish(t->batch.data, t->batch.size, &spec);
}

static void torture_deinit(torture *t)
{
    fl_buf_deinit(&t->payload);
    fl_buf_deinit(&t->batch);
    fl_schema_unref(t->schema);
    fl_schema_unref(t->other);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        fluss_code_t (*run)(torture *t);
    } runs[] = {
        {"build", run_build},     {"write", run_write},     {"write lz4", run_write_lz4},
        {"read", run_read},       {"take", run_take},       {"slice, realign", run_moves},
        {"convert", run_convert}, {"project", run_project}, {"statistics", run_statistics},
    };
    torture t;
    torture_init(&t);
    for (size_t i = 0; i < FL_COUNT_OF(runs); i++) {
        uint64_t round = 0;
        fluss_code_t rc = 1;
        while (rc != 0) {
            if (++round > ROUNDS_MAX) {
                fail_msg("%s does not end", runs[i].name);
            }
            fl_frame_pool_drain(); /* so that frames are allocations too */
            const int64_t before = fl_alloc_live_count();
            t.array = random_array(t.schema, 20, 20, 4);
            fl_frame_pool_drain();
            fl_alloc_fail_at(round);
            rc = runs[i].run(&t);
            fl_alloc_fail_at(0);
            release(&t.array);
            fl_frame_pool_drain();
            if (rc != 0 && error.kind != FLUSS_KIND_NOMEM) {
                fail_msg("%s, allocation %llu: %s", runs[i].name, (unsigned long long)round,
                         error.message);
            }
            if (fl_alloc_live_count() != before) {
                fail_msg("%s, allocation %llu: leaves blocks behind", runs[i].name,
                         (unsigned long long)round);
            }
        }
        assert_true(round > 1);
    }
    torture_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed;
}
