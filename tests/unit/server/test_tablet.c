/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the files of a tablet lie where a file system takes them. Method: names of all lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/server.h"
#include "server/tablet_private.h"

/* The directory of a bucket of partition `name`, NULL: of no partition. */
static const char *dir_of(char *name, int64_t partition_id)
{
    static char dir[FL_TABLET_DIR_SIZE];
    fluss_error_t err;
    fl_server server = {.data_dir = (char[]){"data"}};
    fl_shard shard = {.server = &server};
    fl_table_info info = {.database = (char[]){"db"}, .name = (char[]){"t"}, .table_id = 7};
    const fl_tablet tablet = {
        .shard = &shard,
        .info = &info,
        .key = {.table_id = 7, .partition_id = partition_id, .bucket = 2},
        .partition_name = name,
    };
    assert_int_equal(fl_tablet_dir(&tablet, dir, &err), 0);
    return dir;
}

static void a_directory_names_table_partition_and_bucket(void **state)
{
    (void)state;
    assert_string_equal(dir_of(NULL, -1), "data/db/t-7/log-2");
    assert_string_equal(dir_of((char[]){"2026-01"}, 3), "data/db/t-7/2026-01-p3/log-2");
}

/* Partitions of several keys have names that no file system takes. */
static void a_long_partition_name_is_cut_to_what_a_file_system_takes(void **state)
{
    (void)state;
    static const int64_t ids[] = {1, 999, 1000, 1234567, INT64_MAX};
    char name[402];
    memset(name, 'x', sizeof(name));
    name[401] = '\0';
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        char end[32];
        (void)snprintf(end, sizeof(end), "-p%lld/log-2", (long long)ids[i]);
        const char *part = dir_of(name, ids[i]) + strlen("data/db/t-7/");
        assert_true(strcspn(part, "/") <= 255);
        assert_true(strcspn(part, "-") >= 234);
        assert_string_equal(strchr(part, '-'), end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_names_table_partition_and_bucket),
        cmocka_unit_test(a_long_partition_name_is_cut_to_what_a_file_system_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
