/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: decode(encode(x)) = x for rows of any types and values, and decoders survive any bytes.
 * Method: random types up to three levels deep, random values, in all formats; then cuts and
 * flipped bits; then each allocation failing in turn. The seed is printed; FLUSS_TEST_SEED
 * makes another run. */
#include <math.h>

#include "value_support.h"

enum {
    COLUMN_COUNT_MAX = 12,
    DEPTH_MAX = 3,
    ITEM_COUNT_MAX = 5,
    ROUNDS = 1500,
    ROW_SIZE_MAX = 1 << 20,
    FLIPS = 24
};

static uint64_t draw_state;

static uint64_t draw(void)
{
    draw_state ^= draw_state << 13;
    draw_state ^= draw_state >> 7;
    draw_state ^= draw_state << 17;
    return draw_state;
}

static size_t below(size_t bound)
{
    return (size_t)(draw() % bound);
}

/* Whole numbers of every magnitude. */
static int64_t random_i64(unsigned bits)
{
    const unsigned kept = 1 + (unsigned)below(bits);
    const int64_t value = (int64_t)(draw() << (64 - kept)) >> (64 - kept);
    return value;
}

static fl_type draw_type(fl_arena *arena, int depth)
{
    fl_type type = {.root = (uint8_t)(FLUSS_BOOLEAN +
                                      below(depth < DEPTH_MAX ? FLUSS_ROW : FLUSS_TIMESTAMP_LTZ)),
                    .nullable = below(3) != 0};
    if (fl_type_root_has_length(type.root)) {
        type.length = (int32_t)(1 + below(12));
    } else if (type.root == FLUSS_DECIMAL) {
        type.precision = (uint8_t)(1 + below(FL_DECIMAL_PRECISION_MAX));
        type.scale = (uint8_t)below(type.precision + 1u);
    } else if (fl_type_root_has_precision(type.root)) {
        type.precision = (uint8_t)below(FL_TIME_PRECISION_MAX + 1u);
    } else if (fl_type_root_is_nested(type.root)) {
        type.field_count = type.root == FLUSS_ARRAY ? 1 : type.root == FLUSS_MAP ? 2 : 1 + below(9);
        type.fields = fl_arena_array(arena, type.field_count, sizeof(fl_field));
        for (size_t i = 0; i < type.field_count; i++) {
            char name[8];
            (void)snprintf(name, sizeof(name), "f%zu", i);
            type.fields[i].name = fl_arena_strdup(arena, name);
            type.fields[i].id = -1;
            type.fields[i].type = draw_type(arena, depth + 1);
        }
        if (type.root == FLUSS_MAP) {
            type.fields[0].type.nullable = false;
        }
    }
    return type;
}

static fluss_datum_t draw_value(const fl_type *type, fl_arena *arena);

static void fill_text(fluss_datum_t *value, const fl_type *type, fl_arena *arena)
{
    static const char *const pieces[] = {"a", "é", "€", "😀", "Z", "-"};
    const bool is_fixed = fl_type_root_has_length(type->root);
    const size_t size = type->root == FLUSS_BINARY ? (size_t)type->length
                        : is_fixed                 ? below((size_t)type->length + 1)
                                                   : below(40);
    char *text = fl_arena_alloc(arena, size + 1);
    size_t used = 0;
    while (used < size) {
        const char *piece = pieces[below(FL_COUNT_OF(pieces))];
        const size_t piece_size = strlen(piece);
        if (type->root == FLUSS_BINARY || type->root == FLUSS_BYTES) {
            text[used++] = (char)draw();
        } else if (used + piece_size <= size) {
            memcpy(text + used, piece, piece_size);
            used += piece_size;
        } else {
            text[used++] = 'x';
        }
    }
    value->v.s.ptr = text;
    value->v.s.len = used;
}

static void fill_decimal(fluss_datum_t *value, const fl_type *type)
{
    char digits[48];
    const size_t count = 1 + below(type->precision);
    size_t size = 0;
    if (below(2) == 0) {
        digits[size++] = '-';
    }
    for (size_t i = 0; i < count; i++) {
        digits[size++] = (char)('0' + below(10));
    }
    (void)snprintf(digits + size, sizeof(digits) - size, "e-%u", type->scale);
    *value = decimal_value(digits, type->precision, type->scale);
}

static void fill_nested(fluss_datum_t *value, const fl_type *type, fl_arena *arena)
{
    const size_t count = type->root == FLUSS_ROW   ? type->field_count
                         : type->root == FLUSS_MAP ? below(ITEM_COUNT_MAX) * 2
                                                   : below(ITEM_COUNT_MAX * 8);
    fluss_datum_t *items = fl_arena_array(arena, count, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const size_t field = type->root == FLUSS_ROW ? i : type->root == FLUSS_MAP ? i % 2 : 0;
        items[i] = draw_value(&type->fields[field].type, arena);
    }
    value->v.list.items = items;
    value->v.list.len = count;
}

static double random_double(void)
{
    static const double special[] = {0.0, -0.0, 1.5, -1e300, 1e-310};
    if (below(8) == 0) {
        return below(2) == 0 ? (double)NAN : (double)INFINITY;
    }
    return below(4) == 0 ? special[below(FL_COUNT_OF(special))] : (double)random_i64(64) / 1024;
}

static fluss_datum_t draw_value(const fl_type *type, fl_arena *arena)
{
    fluss_datum_t value = {.type = type->root};
    if (type->nullable && below(4) == 0) {
        return null_value();
    }
    if (fl_type_root_is_nested(type->root)) {
        fill_nested(&value, type, arena);
    } else if (type->root >= FLUSS_CHAR && type->root <= FLUSS_BYTES) {
        fill_text(&value, type, arena);
    } else if (type->root == FLUSS_DECIMAL) {
        fill_decimal(&value, type);
    } else if (type->root == FLUSS_BOOLEAN) {
        value.v.b = below(2) == 0;
    } else if (type->root == FLUSS_FLOAT || type->root == FLUSS_DOUBLE) {
        value.v.f = type->root == FLUSS_FLOAT ? (double)(float)random_double() : random_double();
    } else if (type->root == FLUSS_TIME) {
        value.v.i = (int64_t)below(86400000);
    } else if (type->root == FLUSS_TIMESTAMP || type->root == FLUSS_TIMESTAMP_LTZ) {
        value.v.i = random_i64(60);
        value.nanos = (int32_t)below(1000000);
    } else {
        value.v.i = random_i64(
            type->root == FLUSS_DATE ? 32 : (unsigned)(8u << (type->root - FLUSS_TINYINT)));
    }
    return value;
}

typedef struct row {
    fl_arena arena;
    fl_type types[COLUMN_COUNT_MAX];
    const fl_type *pointers[COLUMN_COUNT_MAX];
    fluss_datum_t values[COLUMN_COUNT_MAX];
    size_t count;
} row;

static void make_row(row *r)
{
    fl_arena_init(&r->arena);
    r->count = 1 + below(COLUMN_COUNT_MAX);
    for (size_t i = 0; i < r->count; i++) {
        r->types[i] = draw_type(&r->arena, 1);
        r->pointers[i] = &r->types[i];
        const fluss_datum_t raw = draw_value(&r->types[i], &r->arena);
        OK(fl_datum_coerce(&raw, &r->types[i], "c", &r->arena, &r->values[i], &error));
    }
}

static void mutated_rows_are_survived(row *r, fl_row_format format, fl_slice bytes)
{
    fluss_datum_t back[COLUMN_COUNT_MAX];
    for (size_t i = 0; i < FLIPS; i++) {
        const size_t size = i % 2 == 0 ? bytes.size : below(bytes.size + 1);
        uint8_t *copy = fl_alloc(size);
        memcpy(copy, bytes.data, size);
        for (size_t flips = size == bytes.size ? 1 + below(3) : 0; flips > 0; flips--) {
            copy[below(size)] ^= (uint8_t)(1u << below(8));
        }
        fl_arena arena;
        fl_arena_init(&arena);
        error.message[0] = '\0';
        if (fl_row_decode(format, r->pointers, fl_slice_of(copy, size), r->count, &arena, back,
                          &error) != 0) {
            assert_true(error.message[0] != '\0');
        }
        fl_arena_deinit(&arena);
        fl_free(copy);
    }
}

static void rows_come_back(void **state)
{
    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        row r;
        make_row(&r);
        for (int format = FL_ROW_COMPACTED; format <= FL_ROW_ALIGNED; format++) {
            fl_buf out;
            fl_buf_init(&out, ROW_SIZE_MAX);
            fluss_datum_t back[COLUMN_COUNT_MAX];
            OK(fl_row_encode((fl_row_format)format, r.pointers, r.values, r.count, &out, &error));
            OK(fl_row_decode((fl_row_format)format, r.pointers, fl_buf_slice(&out), r.count,
                             &r.arena, back, &error));
            for (size_t i = 0; i < r.count; i++) {
                if (!fl_datum_equal(&r.values[i], &back[i])) {
                    fail_msg("round %zu, format %d, column %zu differs", round, format, i);
                }
            }
            mutated_rows_are_survived(&r, (fl_row_format)format, fl_buf_slice(&out));
            fl_buf_deinit(&out);
        }
        fl_arena_deinit(&r.arena);
    }
}

static void types_come_back_from_text(void **state)
{
    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        fl_arena arena;
        fl_arena_init(&arena);
        const fl_type type = draw_type(&arena, 1);
        fl_type back;
        fl_buf text;
        fl_buf_init(&text, ROW_SIZE_MAX);
        OK(fl_type_print(&type, &text, &error));
        OK(fl_buf_append_byte(&text, 0, &error));
        OK(fl_type_parse((const char *)text.data, &arena, &back, &error));
        assert_true(fl_type_equal(&type, &back));
        fl_buf_deinit(&text);
        fl_arena_deinit(&arena);
    }
}

/* Each allocation fails in turn; nothing leaks, nothing half done stays. */
static void failing_allocations_are_errors(void **state)
{
    (void)state;
    row r;
    do {
        make_row(&r);
    } while (r.count < 6 && (fl_arena_deinit(&r.arena), true));
    for (int format = FL_ROW_COMPACTED; format <= FL_ROW_ALIGNED; format++) {
        fluss_code_t rc = FLUSS_E_CLIENT;
        for (uint64_t n = 1; rc != 0; n++) {
            const int64_t live = fl_alloc_live_count();
            fl_arena arena;
            fluss_datum_t back[COLUMN_COUNT_MAX];
            fl_buf out;
            fl_arena_init(&arena);
            fl_buf_init(&out, ROW_SIZE_MAX);
            fl_alloc_fail_at(n);
            rc = fl_row_encode((fl_row_format)format, r.pointers, r.values, r.count, &out, &error);
            if (rc == 0) {
                rc = fl_row_decode((fl_row_format)format, r.pointers, fl_buf_slice(&out), r.count,
                                   &arena, back, &error);
            }
            fl_alloc_fail_at(0);
            assert_true(rc == 0 || error.kind == FLUSS_KIND_NOMEM);
            fl_buf_deinit(&out);
            fl_arena_deinit(&arena);
            assert_int_equal(fl_alloc_live_count(), live);
        }
    }
    fl_arena_deinit(&r.arena);
}

int main(void)
{
    const char *seed = getenv("FLUSS_TEST_SEED");
    draw_state = seed != NULL ? strtoull(seed, NULL, 10) : 20261130;
    print_message("FLUSS_TEST_SEED=%llu\n", (unsigned long long)draw_state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(types_come_back_from_text),
        cmocka_unit_test(failing_allocations_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
