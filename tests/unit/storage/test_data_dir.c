/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a data directory has one owner, of a format that it knows, and nothing foreign is touched.
 * Method: directories in every state; the other process is a fork that tells when it has the lock.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "log_fixture.h"
#include "storage/data_dir.h"

static int set_up(void **state)
{
    folder *f = folder_state(sizeof(*f), "x/data");
    *state = f;
    return 0;
}

static fl_data_dir *open_dir(const char *path)
{
    fl_data_dir *dir;
    fluss_error_t err = {0};
    if (fl_data_dir_open(path, &dir, &err) != 0) {
        fail_msg("%s", err.message);
    }
    return dir;
}

static void refuse(const char *path, fluss_code_t code, fluss_kind_t kind, const char *text)
{
    fl_data_dir *dir;
    fluss_error_t err = {0};
    assert_int_equal(fl_data_dir_open(path, &dir, &err), code);
    assert_int_equal(err.kind, kind);
    if (strstr(err.message, text) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, text);
    }
    assert_null(dir);
}

static void a_new_directory_is_made_and_opens_again(void **state)
{
    const folder *f = *state;
    fl_data_dir *dir = open_dir(f->dir);
    assert_string_equal(fl_data_dir_path(dir), f->dir);
    fl_data_dir_close(dir);
    size_t size;
    uint8_t *text = load_file(f->dir, "fluss.format", &size);
    assert_true(fl_slice_equal_str(fl_slice_of(text, size), "fluss-data-format 1\n"));
    free(text);
    store_file(f->dir, "anything", NULL, 0);
    fl_data_dir_close(open_dir(f->dir));
    fl_data_dir_close(NULL);
}

static void a_second_open_in_this_process_is_refused(void **state)
{
    const folder *f = *state;
    fl_data_dir *dir = open_dir(f->dir);
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "in use by process %ld", (long)getpid());
    refuse(f->dir, FLUSS_E_CLIENT, FLUSS_KIND_STATE, expected);
    fl_data_dir_close(dir);
    fl_data_dir_close(open_dir(f->dir));
}

static void the_lock_of_another_process_ends_with_it(void **state)
{
    const folder *f = *state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        fl_data_dir *dir = open_dir(f->dir);
        const bool is_told = dir != NULL && write(ready[1], "x", 1) == 1;
        while (is_told) {
            pause();
        }
        _exit(1);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "in use by process %ld", (long)child);
    refuse(f->dir, FLUSS_E_CLIENT, FLUSS_KIND_STATE, expected);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    fl_data_dir_close(open_dir(f->dir));
    close(ready[0]);
    close(ready[1]);
}

static void a_newer_format_is_refused_and_not_touched(void **state)
{
    const folder *f = *state;
    const char text[] = "fluss-data-format 2\n";
    store_file(f->root, "fluss.format", (const uint8_t *)text, sizeof(text) - 1);
    refuse(f->root, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "version 2");
    refuse(f->root, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED, "up to 1");
    assert_false(has_file(f->root, "fluss.lock"));
}

static void a_format_file_that_is_not_one_is_refused(void **state)
{
    const folder *f = *state;
    const char *const texts[] = {"hello",
                                 "fluss-data-format",
                                 "fluss-data-format x\n",
                                 "fluss-data-format 1",
                                 "fluss-data-format 0\n",
                                 "fluss-data-format -1\n"};
    for (size_t i = 0; i < FL_COUNT_OF(texts); i++) {
        store_file(f->root, "fluss.format", (const uint8_t *)texts[i], strlen(texts[i]));
        refuse(f->root, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT, "fluss.format");
    }
    assert_false(has_file(f->root, "fluss.lock"));
}

static void a_directory_with_other_things_is_refused_and_not_touched(void **state)
{
    const folder *f = *state;
    store_file(f->root, "thesis.doc", NULL, 0);
    refuse(f->root, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT, "thesis.doc");
    assert_false(has_file(f->root, "fluss.lock"));
    assert_false(has_file(f->root, "fluss.format"));
}

static void an_interrupted_first_start_is_taken_up(void **state)
{
    const folder *f = *state;
    store_file(f->root, "fluss.lock", NULL, 0);
    store_file(f->root, "fluss.format", NULL, 0);
    fl_data_dir_close(open_dir(f->root));
    assert_true(has_file(f->root, "fluss.format"));
}

static void a_file_in_the_place_of_the_directory_is_named(void **state)
{
    const folder *f = *state;
    char path[128];
    store_file(f->root, "plain", NULL, 0);
    (void)snprintf(path, sizeof(path), "%s/plain", f->root);
    refuse(path, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT, "file of this name");
    refuse("", FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT, "0 characters");
}

static void a_directory_that_cannot_be_written_is_named_with_the_reason(void **state)
{
    const folder *f = *state;
    if (getuid() != 0) {
        assert_int_equal(chmod(f->root, 0555), 0);
        refuse(f->dir, FLUSS_E_LOG_STORAGE_EXCEPTION, FLUSS_KIND_SERVER, "Permission denied");
        assert_int_equal(chmod(f->root, 0755), 0);
        return;
    }
    /* Root may write anywhere; a process that gave it up may not. */
    assert_int_equal(chmod(f->root, 0755), 0);
    const pid_t child = fork();
    if (child == 0) {
        fl_data_dir *dir;
        fluss_error_t err = {0};
        const bool gave_up = setuid(65534) == 0;
        const bool refused = gave_up && fl_data_dir_open(f->root, &dir, &err) != 0 &&
                             strstr(err.message, "Permission denied") != NULL &&
                             strstr(err.message, f->root) != NULL;
        _exit(refused ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void every_allocation_may_fail(void **state)
{
    const folder *f = *state;
    for (uint64_t n = 1; n < 100; n++) {
        fl_data_dir *dir;
        fl_alloc_fail_at(n);
        const fluss_code_t rc = fl_data_dir_open(f->dir, &dir, NULL);
        fl_alloc_fail_at(0);
        fl_data_dir_close(dir);
        if (rc == 0) {
            return;
        }
    }
    fail_msg("no open came through");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, folder_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_directory_is_made_and_opens_again),
        TEST(a_second_open_in_this_process_is_refused),
        TEST(the_lock_of_another_process_ends_with_it),
        TEST(a_newer_format_is_refused_and_not_touched),
        TEST(a_format_file_that_is_not_one_is_refused),
        TEST(a_directory_with_other_things_is_refused_and_not_touched),
        TEST(an_interrupted_first_start_is_taken_up),
        TEST(a_file_in_the_place_of_the_directory_is_named),
        TEST(a_directory_that_cannot_be_written_is_named_with_the_reason),
        TEST(every_allocation_may_fail),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
