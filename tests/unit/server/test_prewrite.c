/* SPDX-License-Identifier: Apache-2.0 */
/* The prewrite buffer against a plain model: random puts, deletes, undone batches and commits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "server/prewrite.h"

enum { KEY_COUNT = 40, STEP_COUNT = 20000, NO_ENTRY = -2, DELETED = -1 };

/* What a key is: NO_ENTRY (ask the store), DELETED, or a number. */
typedef struct model {
    int newest[KEY_COUNT];
    int stored[KEY_COUNT]; /* what commits have moved to the store */
    struct step {
        int key, value;
        int64_t end_offset;
    } queue[STEP_COUNT];
    size_t queue_first, queue_size;
} model;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static fl_slice key_of(int key, char room[24])
{
    const int size = snprintf(room, 24, "k%d%.*s", key, key % 7, "xxxxxxx");
    return fl_slice_of(room, (size_t)size);
}

static void put(fl_prewrite *prewrite, int key, int value)
{
    char room[24];
    const fl_slice bytes = fl_slice_of(&value, sizeof(value));
    assert_int_equal(
        fl_prewrite_put(prewrite, key_of(key, room), value == DELETED ? NULL : &bytes, 0, NULL), 0);
}

static int value_of(const fl_prewrite_entry *entry)
{
    if (entry == NULL) {
        return NO_ENTRY;
    }
    return entry->is_delete ? DELETED : fl_load_i32(fl_prewrite_value(entry).data);
}

static void check(const fl_prewrite *prewrite, const model *want)
{
    for (int key = 0; key < KEY_COUNT; key++) {
        char room[24];
        assert_int_equal(value_of(fl_prewrite_find(prewrite, key_of(key, room))),
                         want->newest[key]);
    }
}

/* Newest value of each key from what is still queued. */
static void refresh(model *want)
{
    for (int key = 0; key < KEY_COUNT; key++) {
        want->newest[key] = NO_ENTRY;
    }
    for (size_t i = want->queue_first; i < want->queue_size; i++) {
        want->newest[want->queue[i].key] = want->queue[i].value;
    }
}

static void commit(fl_prewrite *prewrite, model *want, int64_t durable_offset)
{
    const fl_prewrite_entry *entry;
    while ((entry = fl_prewrite_first(prewrite, durable_offset)) != NULL) {
        const struct step *step = &want->queue[want->queue_first++];
        char room[24];
        assert_true(step->end_offset <= durable_offset);
        assert_true(fl_slice_equal(fl_prewrite_key(entry), key_of(step->key, room)));
        assert_int_equal(value_of(entry), step->value);
        fl_prewrite_keep(prewrite);
        fl_prewrite_shrink(prewrite, 0);
    }
    assert_true(want->queue_first == want->queue_size ||
                want->queue[want->queue_first].end_offset > durable_offset);
}

static void random_batches_agree_with_the_model(void **state)
{
    (void)state;
    uint64_t random = 20261129;
    fl_prewrite prewrite;
    model *want = fl_calloc(1, sizeof(*want));
    fl_prewrite_init(&prewrite);
    int64_t offset = 0;
    refresh(want);
    while (want->queue_size + 16 < STEP_COUNT) {
        const fl_prewrite_mark mark = fl_prewrite_begin(&prewrite);
        const size_t before = want->queue_size;
        const size_t count = next_random(&random) % 12;
        for (size_t i = 0; i < count; i++) {
            const int key = (int)(next_random(&random) % KEY_COUNT);
            const int value =
                next_random(&random) % 4 == 0 ? DELETED : (int)(next_random(&random) % 1000);
            put(&prewrite, key, value);
            want->queue[want->queue_size++] = (struct step){.key = key, .value = value};
        }
        if (next_random(&random) % 3 == 0) {
            fl_prewrite_undo(&prewrite, mark);
            want->queue_size = before;
        } else {
            offset += (int64_t)count;
            fl_prewrite_accept(mark, offset);
            for (size_t i = before; i < want->queue_size; i++) {
                want->queue[i].end_offset = offset;
            }
        }
        if (next_random(&random) % 4 == 0) {
            commit(&prewrite, want, offset - (int64_t)(next_random(&random) % 30));
        }
        refresh(want);
        check(&prewrite, want);
    }
    commit(&prewrite, want, offset);
    assert_int_equal(prewrite.key_count, 0);
    assert_int_equal(prewrite.bytes, 0);
    fl_prewrite_deinit(&prewrite);
    fl_free(want);
}

static void out_of_memory_leaves_the_buffer_as_it_was(void **state)
{
    (void)state;
    fl_prewrite prewrite;
    fl_prewrite_init(&prewrite);
    const fl_slice key = fl_slice_str("key"), value = fl_slice_str("value");
    for (uint64_t n = 1; n <= 2; n++) {
        fl_alloc_fail_at(n);
        assert_int_equal(fl_prewrite_put(&prewrite, key, &value, 0, NULL), FLUSS_E_CLIENT);
        fl_alloc_fail_at(0);
        assert_null(fl_prewrite_find(&prewrite, key));
        assert_int_equal(prewrite.bytes, 0);
        fl_prewrite_deinit(&prewrite);
    }
    assert_int_equal(fl_prewrite_put(&prewrite, key, &value, 0, NULL), 0);
    fl_prewrite_deinit(&prewrite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_batches_agree_with_the_model),
        cmocka_unit_test(out_of_memory_leaves_the_buffer_as_it_was),
    };
    const int64_t live = fl_alloc_live_count();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (fl_alloc_live_count() != live);
}
