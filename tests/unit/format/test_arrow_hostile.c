/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: Arrow batches of careless producers - impossible lengths, missing buffers, children and
 * names, formats that are none - are refused by a message or harmless, and their release is called
 * once on every path. What the interface does not carry (how large a buffer is) can't be checked.
 * Method: every field of every node of a good batch is set to every impossible value in turn. */
#include "arrow_support.h"

enum { NODES = 11, ROWS = 4, NO_NODE = -1 };

/* A node's place in the batch: the parent's children in the order of this table. */
static const struct {
    const char *name, *format;
    int parent, n_buffers;
} nodes[NODES] = {
    {"", "+s", NO_NODE, 1}, {"i", "i", 0, 2},  {"s", "u", 0, 3},    {"l", "+l", 0, 2},
    {"item", "i", 3, 2},    {"r", "+s", 0, 1}, {"a", "i", 5, 2},    {"b", "b", 0, 2},
    {"d", "d:10,2", 0, 2},  {"u", "U", 0, 3},  {"t", "tsu:", 0, 2},
};

/* One batch, with room for what a wrong child count may reach. */
typedef struct batch {
    struct ArrowSchema schemas[NODES];
    struct ArrowArray arrays[NODES];
    struct ArrowSchema *schema_children[NODES][NODES];
    struct ArrowArray *array_children[NODES][NODES];
    const void *buffers[NODES][4];
    int released[NODES], schemas_released[NODES];
} batch;

/* Larger than any format of the tests reads. */
static const uint8_t bits[256] = {0x0B};
static const int32_t offsets32[64] = {0, 1, 2, 3, 4, 4};
static const int64_t offsets64[32] = {0, 1, 2, 3, 4, 4};
static const uint64_t values[32] = {1, 2, 3, 4, 5, 6, 7, 8};
static const char text[256] = "abcdefgh";

static void release_array(struct ArrowArray *array)
{
    (*(int *)array->private_data)++;
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    (*(int *)schema->private_data)++;
    schema->release = NULL;
}

static const void *data_of(int node)
{
    switch (nodes[node].format[0]) {
    case 'u':
    case '+':
        return offsets32;
    case 'U':
        return offsets64;
    default:
        return values;
    }
}

static void make(batch *b)
{
    *b = (batch){0};
    for (int i = 0; i < NODES; i++) {
        b->buffers[i][0] = bits;
        b->buffers[i][1] = data_of(i);
        b->buffers[i][2] = text;
        b->arrays[i] = (struct ArrowArray){.length = ROWS,
                                           .null_count = i == 0 ? 0 : 1,
                                           .n_buffers = nodes[i].n_buffers,
                                           .buffers = b->buffers[i],
                                           .children = b->array_children[i],
                                           .release = release_array,
                                           .private_data = &b->released[i]};
        b->schemas[i] = (struct ArrowSchema){.format = nodes[i].format,
                                             .name = nodes[i].name,
                                             .flags = ARROW_FLAG_NULLABLE,
                                             .children = b->schema_children[i],
                                             .release = release_schema,
                                             .private_data = &b->schemas_released[i]};
        const int parent = nodes[i].parent;
        if (parent != NO_NODE) {
            b->array_children[parent][b->arrays[parent].n_children++] = &b->arrays[i];
            b->schema_children[parent][b->schemas[parent].n_children++] = &b->schemas[i];
        }
    }
    b->buffers[0][0] = NULL;
}

static fl_schema *wanted(void)
{
    return SCHEMA("i INT", "s STRING", "l ARRAY<INT>", "r ROW<a INT>", "b BOOLEAN",
                  "d DECIMAL(10,2)", "u STRING", "t TIMESTAMP(6)");
}

static void check_node(const struct ArrowArray *array)
{
    assert_true(array->null_count <= array->length);
    for (int64_t i = 0; i < array->n_children; i++) {
        check_node(array->children[i]);
    }
}

/* @return whether the batch was taken */
static bool convert(batch *b, const char *what)
{
    fl_schema *schema = wanted();
    struct ArrowArray out = {0};
    error = (fluss_error_t){0};
    const bool is_taken =
        fl_arrow_convert(&b->schemas[0], &b->arrays[0], schema, &out, &error) == 0;
    if (is_taken) {
        check_node(&out);
        assert_rows_equal(schema, &out, 0, &out, 0, out.length);
        assert_null(b->arrays[0].release);
        out.release(&out);
    } else {
        assert_true(strlen(error.message) > 0);
        if (b->arrays[0].release != NULL) {
            assert_int_equal(b->released[0], 0);
            b->arrays[0].release(&b->arrays[0]);
        }
    }
    if (b->released[0] > 1 || (is_taken && b->released[0] != 1)) {
        fail_msg("%s: released %d times", what, b->released[0]);
    }
    fl_schema_unref(schema);
    return is_taken;
}

static void a_good_batch_is_taken(void **state)
{
    (void)state;
    batch b;
    make(&b);
    if (!convert(&b, "good")) {
        fail_msg("%s", error.message);
    }
}

static const int64_t impossible[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX - ROWS, 0, 77};

static int64_t *number_of(struct ArrowArray *array, int field)
{
    int64_t *const fields[] = {&array->length, &array->null_count, &array->offset,
                               &array->n_buffers, &array->n_children};
    return fields[field];
}

static void impossible_numbers_are_refused_or_harmless(void **state)
{
    (void)state;
    static const char *const names[] = {"length", "null_count", "offset", "n_buffers",
                                        "n_children"};
    for (int node = 0; node < NODES; node++) {
        for (int field = 0; field < (int)FL_COUNT_OF(names); field++) {
            for (size_t i = 0; i < FL_COUNT_OF(impossible); i++) {
                if (impossible[i] == 77 && (field == 2 || (field == 0 && node != 0))) {
                    continue; /* only the buffers would tell that they are shorter */
                }
                batch b;
                char what[96];
                make(&b);
                (void)snprintf(what, sizeof(what), "node %d: %s %lld", node, names[field],
                               (long long)impossible[i]);
                *number_of(&b.arrays[node], field) = impossible[i];
                (void)convert(&b, what);
            }
        }
    }
}

static void missing_parts_are_refused_or_harmless(void **state)
{
    (void)state;
    for (int node = 0; node < NODES; node++) {
        for (int part = 0; part < 10; part++) {
            batch b;
            char what[64];
            make(&b);
            struct ArrowArray *array = &b.arrays[node];
            (void)snprintf(what, sizeof(what), "node %d, part %d", node, part);
            if (part < 3) {
                b.buffers[node][part] = NULL;
            } else if (part == 3) {
                array->buffers = NULL;
            } else if (part == 4) {
                array->children = NULL;
            } else if (part == 5) {
                b.array_children[node][0] = NULL;
            } else if (part == 6) {
                array->dictionary = &b.arrays[1];
            } else if (part == 7) {
                array->release = NULL;
            } else if (part == 8) {
                b.schema_children[node][0] = NULL;
            } else {
                b.schemas[node].children = NULL;
            }
            (void)convert(&b, what);
        }
    }
}

static void schemas_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const formats[] = {NULL,    "",     "zz",   "+s",    "+l",     "+L",  "+m",
                                          "+w:-1", "+w:",  "+ud:", "d:",    "d:99,1", "w:",  "w:-4",
                                          "w:0",   "tsx:", "t",    "i\xFF", "n",      "+vl", "vu"};
    static const int64_t counts[] = {-1, 0, INT64_MIN, INT64_MAX, 3};
    for (int node = 0; node < NODES; node++) {
        for (size_t i = 0; i < FL_COUNT_OF(formats) + FL_COUNT_OF(counts) + 3; i++) {
            batch b;
            char what[64];
            make(&b);
            struct ArrowSchema *schema = &b.schemas[node];
            (void)snprintf(what, sizeof(what), "schema of node %d, case %zu", node, i);
            if (i < FL_COUNT_OF(formats)) {
                schema->format = formats[i];
            } else if (i < FL_COUNT_OF(formats) + FL_COUNT_OF(counts)) {
                schema->n_children = counts[i - FL_COUNT_OF(formats)];
            } else if (i == FL_COUNT_OF(formats) + FL_COUNT_OF(counts)) {
                schema->name = NULL;
            } else if (i == FL_COUNT_OF(formats) + FL_COUNT_OF(counts) + 1) {
                schema->release = NULL;
            } else {
                schema->dictionary = &b.schemas[2];
            }
            fl_schema *read = NULL;
            if (fl_arrow_schema_to(&b.schemas[0], &read, &error) == 0) {
                fl_schema_unref(read);
            }
            (void)convert(&b, what);
        }
    }
}

/* Of a type as wide as may be, in a batch as long as may be. */
static void sizes_of_many_wide_values_do_not_overflow(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, INT64_C(1) << 35, INT64_C(1) << 37, INT64_C(1) << 40};
    enum { WIDE_NODE = 1 };
    for (size_t i = 0; i < FL_COUNT_OF(counts); i++) {
        batch b;
        make(&b);
        b.schemas[WIDE_NODE].format = "w:4194303";
        b.arrays[WIDE_NODE].length = b.arrays[WIDE_NODE].offset = counts[i];
        assert_false(convert(&b, "wide values"));
        assert_int_equal(strstr(error.message, "offset 1099511627776") != NULL,
                         counts[i] == INT64_C(1) << 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_batch_is_taken),
        cmocka_unit_test(impossible_numbers_are_refused_or_harmless),
        cmocka_unit_test(missing_parts_are_refused_or_harmless),
        cmocka_unit_test(schemas_that_are_none_are_refused),
        cmocka_unit_test(sizes_of_many_wide_values_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
