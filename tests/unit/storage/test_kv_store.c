/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: changes happen together, durable ones survive a process that dies, ranges, snapshots and
 * many-key reads give what a sorted map would; pressure is told before writes wait. Method: a
 * database in a temporary directory; the dying process is a fork. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "log_fixture.h"
#include "storage/kv_store.h"

typedef struct fixture {
    folder at;
    fl_kv_store *store;
} fixture;

static fl_kv_store *open_store(const char *dir)
{
    const fl_kv_store_opts opts = {.write_buffer_size = 1 << 20, .cache_size = 4 << 20};
    fl_kv_store *store;
    fluss_error_t err = {0};
    if (fl_kv_store_open_with(dir, &opts, &store, &err) != 0) {
        fail_msg("%s", err.message);
    }
    return store;
}

static int set_up(void **state)
{
    fixture *f = folder_state(sizeof(*f), "a/kv");
    f->store = open_store(f->at.dir);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    fl_kv_store_close(f->store);
    return folder_tear_down(state);
}

static void put(fl_kv_store *store, fl_kv_family family, const char *key, const char *value,
                bool durable)
{
    fl_kv_write *write = fl_kv_write_new();
    assert_non_null(write);
    fl_kv_write_put(write, family, fl_slice_str(key), fl_slice_str(value));
    assert_int_equal(fl_kv_write_commit(store, write, durable, NULL), 0);
    fl_kv_write_free(write);
}

/** value NULL: absent. */
static void expect(fl_kv_store *store, fl_kv_family family, const char *key, const char *value)
{
    uint8_t *data;
    size_t size;
    bool found;
    assert_int_equal(fl_kv_get(store, family, fl_slice_str(key), &data, &size, &found, NULL), 0);
    assert_int_equal(found, value != NULL);
    if (value != NULL) {
        assert_true(fl_slice_equal_str(fl_slice_of(data, size), value));
    } else {
        assert_null(data);
    }
    fl_free(data);
}

static void families_do_not_share_keys(void **state)
{
    const fixture *f = *state;
    put(f->store, FL_KV_CATALOG, "k", "catalog", true);
    put(f->store, FL_KV_ROWS, "k", "rows", false);
    expect(f->store, FL_KV_CATALOG, "k", "catalog");
    expect(f->store, FL_KV_ROWS, "k", "rows");
    expect(f->store, FL_KV_ROWS, "other", NULL);
    put(f->store, FL_KV_ROWS, "empty", "", false);
    expect(f->store, FL_KV_ROWS, "empty", "");
}

static void a_clean_close_keeps_rows_without_a_log(void **state)
{
    fixture *f = *state;
    put(f->store, FL_KV_ROWS, "k", "rows", false);
    fl_kv_store_close(f->store);
    f->store = open_store(f->at.dir);
    expect(f->store, FL_KV_ROWS, "k", "rows");
}

/** The program of its own that dies: the engine's threads do not outlive a fork. */
static int write_and_die(const char *dir)
{
    fl_kv_store *store = open_store(dir);
    put(store, FL_KV_ROWS, "a", "flushed", false);
    if (fl_kv_store_flush(store, NULL) != 0) {
        _exit(1);
    }
    put(store, FL_KV_ROWS, "b", "in memory", false);
    put(store, FL_KV_CATALOG, "c", "logged", true);
    _exit(0);
}

static void a_durable_write_survives_the_death_of_the_process(void **state)
{
    const fixture *f = *state;
    char dir[96];
    (void)snprintf(dir, sizeof(dir), "%s/died", f->at.root);
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_kv_store", dir, (char *)NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fl_kv_store *store = open_store(dir);
    expect(store, FL_KV_ROWS, "a", "flushed");
    expect(store, FL_KV_ROWS, "b", NULL);
    expect(store, FL_KV_CATALOG, "c", "logged");
    fl_kv_store_close(store);
}

static void a_range_delete_spares_its_upper_end(void **state)
{
    const fixture *f = *state;
    put(f->store, FL_KV_ROWS, "a", "1", false);
    put(f->store, FL_KV_ROWS, "b", "2", false);
    put(f->store, FL_KV_ROWS, "c", "3", false);
    fl_kv_write *write = fl_kv_write_new();
    fl_kv_write_delete_range(write, FL_KV_ROWS, fl_slice_str("a"), fl_slice_str("c"));
    fl_kv_write_put(write, FL_KV_ROWS, fl_slice_str("b"), fl_slice_str("again"));
    assert_int_equal(fl_kv_write_commit(f->store, write, false, NULL), 0);
    expect(f->store, FL_KV_ROWS, "a", NULL);
    expect(f->store, FL_KV_ROWS, "b", "again");
    expect(f->store, FL_KV_ROWS, "c", "3");
    fl_kv_write_reset(write);
    fl_kv_write_delete(write, FL_KV_ROWS, fl_slice_str("c"));
    assert_int_equal(fl_kv_write_commit(f->store, write, false, NULL), 0);
    expect(f->store, FL_KV_ROWS, "c", NULL);
    fl_kv_write_free(write);
}

static void an_iterator_sees_the_moment_it_was_opened(void **state)
{
    const fixture *f = *state;
    put(f->store, FL_KV_ROWS, "a", "1", false);
    put(f->store, FL_KV_ROWS, "b", "2", false);
    put(f->store, FL_KV_ROWS, "d", "4", false);
    fl_kv_iter *iter;
    assert_int_equal(
        fl_kv_iter_open(f->store, FL_KV_ROWS, fl_slice_str("aa"), fl_slice_str("d"), &iter, NULL),
        0);
    put(f->store, FL_KV_ROWS, "c", "3", false);
    fl_slice key, value;
    assert_true(fl_kv_iter_next(iter, &key, &value));
    assert_true(fl_slice_equal_str(key, "b"));
    assert_true(fl_slice_equal_str(value, "2"));
    assert_false(fl_kv_iter_next(iter, &key, &value));
    assert_int_equal(fl_kv_iter_status(iter, NULL), 0);
    fl_kv_iter_close(iter);
    size_t count = 0;
    assert_int_equal(
        fl_kv_iter_open(f->store, FL_KV_ROWS, (fl_slice){0}, (fl_slice){0}, &iter, NULL), 0);
    while (fl_kv_iter_next(iter, &key, &value)) {
        count++;
    }
    assert_int_equal(count, 4);
    fl_kv_iter_close(iter);
}

static void many_keys_are_read_at_once(void **state)
{
    const fixture *f = *state;
    enum { COUNT = 1000 };
    static char texts[COUNT][16];
    static fl_slice keys[COUNT];
    static fl_kv_value values[COUNT];
    fl_kv_write *write = fl_kv_write_new();
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "key-%d", i * 7919 % COUNT);
        keys[i] = fl_slice_str(texts[i]);
        if (i % 3 != 0) {
            fl_kv_write_put(write, FL_KV_ROWS, keys[i], keys[i]);
        }
    }
    assert_int_equal(fl_kv_write_commit(f->store, write, false, NULL), 0);
    fl_kv_write_free(write);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(fl_kv_multi_get(f->store, FL_KV_ROWS, keys, COUNT, values, NULL), 0);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(values[i].found, i % 3 != 0);
            if (values[i].found) {
                assert_true(fl_slice_equal(fl_slice_of(values[i].data, values[i].size), keys[i]));
            }
            fl_free(values[i].data);
        }
        assert_int_equal(fl_kv_store_flush(f->store, NULL), 0); /* then from files */
    }
}

/* Files at level 0 pile up faster than they are merged: here they are not merged at all, for fewer
 * than four there is nothing to do. */
static void files_at_level_0_press_until_writes_are_refused(void **state)
{
    fixture *f = *state;
    fl_kv_store_close(f->store);
    const fl_kv_store_opts opts = {
        .write_buffers_max = 1, .level0_pressure = 1, .level0_slowdown = 4};
    assert_int_equal(fl_kv_store_open_with(f->at.dir, &opts, &f->store, NULL), 0);
    int64_t now_ms = 1000;
    double before = fl_kv_store_pressure(f->store, now_ms);
    assert_true(before == 0);
    for (int files = 1; files <= 3; files++) {
        put(f->store, FL_KV_ROWS, "key", "value", false);
        assert_int_equal(fl_kv_store_flush(f->store, NULL), 0);
        assert_true(fl_kv_store_pressure(f->store, now_ms + 50) == before); /* looked at just now */
        now_ms += 500;
        const double pressure = fl_kv_store_pressure(f->store, now_ms);
        assert_true(pressure > before && (files < 3 ? pressure < 1 : pressure == 1));
        before = pressure;
    }
}

static void a_directory_in_use_is_refused_with_its_path(void **state)
{
    const fixture *f = *state;
    fl_kv_store *second;
    fluss_error_t err;
    assert_int_equal(fl_kv_store_open(f->at.dir, &second, &err), FLUSS_E_KV_STORAGE_EXCEPTION);
    assert_non_null(strstr(err.message, f->at.dir));
    assert_null(second);
    assert_int_equal(fl_kv_store_open("/proc/none/kv", &second, &err),
                     FLUSS_E_KV_STORAGE_EXCEPTION);
}

static void a_write_without_memory_is_not_committed(void **state)
{
    const fixture *f = *state;
    fl_kv_write *write = fl_kv_write_new();
    fl_alloc_fail_at(1);
    fl_kv_write_put(write, FL_KV_ROWS, fl_slice_str("a"), fl_slice_str("1"));
    fl_alloc_fail_at(0);
    fl_kv_write_put(write, FL_KV_ROWS, fl_slice_str("b"), fl_slice_str("2"));
    fluss_error_t err;
    assert_int_equal(fl_kv_write_commit(f->store, write, false, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
    expect(f->store, FL_KV_ROWS, "b", NULL);
    fl_kv_write_free(write);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return write_and_die(argv[1]);
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(families_do_not_share_keys),
        TEST(a_clean_close_keeps_rows_without_a_log),
        TEST(a_durable_write_survives_the_death_of_the_process),
        TEST(a_range_delete_spares_its_upper_end),
        TEST(an_iterator_sees_the_moment_it_was_opened),
        TEST(many_keys_are_read_at_once),
        TEST(files_at_level_0_press_until_writes_are_refused),
        TEST(a_directory_in_use_is_refused_with_its_path),
        TEST(a_write_without_memory_is_not_committed),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
