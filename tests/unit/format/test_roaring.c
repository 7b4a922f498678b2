/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: unions of Roaring bitmaps have the bytes that Java gives, and any bytes are safe to read.
 * Method: tests/golden/bitmaps.txt, operands and unions by the Java library of the official server;
 * each of them cut and with flipped bits, the seed of which is printed (FLUSS_TEST_SEED). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/roaring.h"
#include "value_support.h"

enum { LINE_SIZE_MAX = 1 << 17, FLIPS = 200, CUTS = 200, ARENA_FACTOR_MAX = 1024 };

typedef struct vector {
    bool is_64;
    fl_slice a, b, wanted;
} vector;

static const char *vectors_path;
static uint64_t draw_state;

static void free_vector(vector *v)
{
    free_bytes(v->a);
    free_bytes(v->b);
    free_bytes(v->wanted);
}

static void each_vector(void (*check)(const vector *v))
{
    static char line[LINE_SIZE_MAX];
    FILE *file = fopen(vectors_path, "r");
    size_t count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        char *rest = line;
        const char *width = strsep(&rest, " \n"), *a = strsep(&rest, " \n"),
                   *b = strsep(&rest, " \n"), *wanted = strsep(&rest, " \n");
        vector v = {.is_64 = strcmp(width, "64") == 0,
                    .a = from_hex(a),
                    .b = from_hex(b),
                    .wanted = from_hex(wanted)};
        check(&v);
        free_vector(&v);
        count++;
    }
    assert_true(feof(file) && count > 50);
    (void)fclose(file);
}

static fluss_code_t unite(bool is_64, fl_slice a, fl_slice b, fl_arena *arena, fl_buf *out)
{
    error.message[0] = '\0';
    return (is_64 ? fl_roaring64_or : fl_roaring32_or)(a, b, arena, out, &error);
}

static void check_union(const vector *v)
{
    fl_arena arena;
    fl_buf out;
    fl_arena_init(&arena);
    fl_buf_init(&out, INT32_MAX);
    assert_int_equal(unite(v->is_64, v->a, v->b, &arena, &out), 0);
    assert_int_equal(out.size, v->wanted.size);
    assert_memory_equal(out.data, v->wanted.data, out.size);
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
}

/* Bytes that may be a bitmap: a union, or an error that says where; memory stays in proportion. */
static void check_any(bool is_64, fl_slice bytes, fl_slice other)
{
    fl_arena arena;
    fl_buf out;
    fl_arena_init(&arena);
    fl_buf_init(&out, INT32_MAX);
    const fluss_code_t rc = unite(is_64, bytes, other, &arena, &out);
    assert_true(rc == 0 || (rc == FLUSS_E_CORRUPT_MESSAGE && strstr(error.message, "at byte")));
    assert_true(arena.size_total <= ARENA_FACTOR_MAX * (bytes.size + other.size + 1024));
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
}

static void check_cuts(const vector *v)
{
    const size_t step = v->a.size / CUTS + 1;
    for (size_t size = 0; size < v->a.size; size += step) {
        uint8_t *cut = malloc(size + 1); /* so that a sanitizer sees what is read behind it */
        assert_non_null(cut);
        memcpy(cut, v->a.data, size);
        fl_arena arena;
        fl_buf out;
        fl_arena_init(&arena);
        fl_buf_init(&out, INT32_MAX);
        assert_int_equal(unite(v->is_64, fl_slice_of(cut, size), v->b, &arena, &out),
                         FLUSS_E_CORRUPT_MESSAGE);
        fl_buf_deinit(&out);
        fl_arena_deinit(&arena);
        free(cut);
    }
}

static void check_flips(const vector *v)
{
    uint8_t *bytes = malloc(v->a.size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < FLIPS / 10 + FLIPS * 100 / (v->a.size + 100) && v->a.size != 0; i++) {
        memcpy(bytes, v->a.data, v->a.size);
        for (size_t flips = 1 + next_random(&draw_state) % 3; flips != 0; flips--) {
            bytes[next_random(&draw_state) % v->a.size] ^=
                (uint8_t)(1u << next_random(&draw_state) % 8);
        }
        check_any(v->is_64, fl_slice_of(bytes, v->a.size), v->b);
        check_any(v->is_64, v->b, fl_slice_of(bytes, v->a.size));
        check_any(!v->is_64, fl_slice_of(bytes, v->a.size), fl_slice_of(bytes, v->a.size));
    }
    free(bytes);
}

/* The number of leaves, behind the tag of a bitmap of 64-bit integers. */
static void check_key_counts(const vector *v)
{
    static const int64_t wrong[] = {INT64_MAX, INT64_MIN, -1, 0};
    if (!v->is_64 || v->a.data[0] == 0) {
        return;
    }
    uint8_t *bytes = malloc(v->a.size);
    assert_non_null(bytes);
    memcpy(bytes, v->a.data, v->a.size);
    for (size_t i = 0; i < FL_COUNT_OF(wrong); i++) {
        fl_arena arena;
        fl_buf out;
        fl_arena_init(&arena);
        fl_buf_init(&out, INT32_MAX);
        fl_store_i64(bytes + 1, wrong[i]);
        assert_int_equal(unite(true, fl_slice_of(bytes, v->a.size), v->b, &arena, &out),
                         FLUSS_E_CORRUPT_MESSAGE);
        fl_buf_deinit(&out);
        fl_arena_deinit(&arena);
    }
    free(bytes);
}

static void unions_have_the_bytes_of_java(void **state)
{
    (void)state;
    each_vector(check_union);
}

static void a_cut_bitmap_is_refused(void **state)
{
    (void)state;
    each_vector(check_cuts);
}

static void any_bytes_are_safe_to_read(void **state)
{
    (void)state;
    each_vector(check_flips);
}

static void a_wrong_number_of_leaves_is_refused(void **state)
{
    (void)state;
    each_vector(check_key_counts);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_have_the_bytes_of_java),
        cmocka_unit_test(a_cut_bitmap_is_refused),
        cmocka_unit_test(any_bytes_are_safe_to_read),
        cmocka_unit_test(a_wrong_number_of_leaves_is_refused),
    };
    const char *seed = getenv("FLUSS_TEST_SEED");
    draw_state = seed != NULL ? strtoull(seed, NULL, 10) : 20261129;
    printf("FLUSS_TEST_SEED=%llu\n", (unsigned long long)draw_state);
    assert_int_equal(argc, 2);
    vectors_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
