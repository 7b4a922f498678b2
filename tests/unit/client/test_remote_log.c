/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: tiered segments are read from any offset in bounded steps, over their borders; a segment
 * that is missing, short or broken is an error that names its file and costs no batch before it.
 * Method: segments written into a folder of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/remote_log.h"
#include "format/row_log.h"

enum { SEGMENTS = 3, BATCHES = 4, ROWS = 10, ROW_SIZE = 50, SEGMENT_ROWS = BATCHES * ROWS };

typedef struct fixture {
    char directory[64], uri[96];
    char ids[SEGMENTS][37];
    char paths[SEGMENTS][160];
    fl_msg_pb_remote_log_segment segments[SEGMENTS];
    fl_msg_pb_remote_log_fetch_info info;
} fixture;

static void append_batch(fl_buf *out, int64_t base_offset, int rows, size_t row_size)
{
    fl_row_log_builder builder;
    const size_t at = out->size;
    uint8_t *row = calloc(1, row_size);
    assert_int_equal(fl_row_log_builder_init(&builder, out, NULL), 0);
    for (int i = 0; i < rows; i++) {
        assert_int_equal(
            fl_row_log_builder_add(&builder, FLUSS_APPEND_ONLY, fl_slice_of(row, row_size), NULL),
            0);
    }
    fl_row_log_builder_finish(&builder, &(fl_log_batch_spec){.is_append_only = true,
                                                             .schema_id = 1,
                                                             .writer_id = FL_NO_WRITER_ID,
                                                             .batch_sequence = FL_NO_SEQUENCE});
    fl_log_batch_stamp(out->data + at, base_offset, 1);
    free(row);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    (void)snprintf(f->directory, sizeof(f->directory), "/tmp/fluss-remote-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->uri, sizeof(f->uri), "file://%s", f->directory);
    for (int i = 0; i < SEGMENTS; i++) {
        char folder[112];
        fl_buf bytes;
        fl_buf_init(&bytes, 1 << 20);
        (void)snprintf(f->ids[i], sizeof(f->ids[i]), "%08d-0000-4000-8000-00000000abcd", i);
        (void)snprintf(folder, sizeof(folder), "%s/%s", f->directory, f->ids[i]);
        assert_int_equal(mkdir(folder, 0700), 0);
        (void)snprintf(f->paths[i], sizeof(f->paths[i]), "%s/%020d.log", folder, i * SEGMENT_ROWS);
        for (int j = 0; j < BATCHES; j++) {
            append_batch(&bytes, i * SEGMENT_ROWS + j * ROWS, ROWS, ROW_SIZE);
        }
        write_file(f->paths[i], bytes.data, bytes.size);
        f->segments[i] =
            (fl_msg_pb_remote_log_segment){.remote_log_segment_id = fl_slice_str(f->ids[i]),
                                           .remote_log_start_offset = i * SEGMENT_ROWS,
                                           .remote_log_end_offset = (i + 1) * SEGMENT_ROWS,
                                           .segment_size_in_bytes = (int32_t)bytes.size};
        fl_buf_deinit(&bytes);
    }
    f->info = (fl_msg_pb_remote_log_fetch_info){.remote_log_tablet_dir = fl_slice_str(f->directory),
                                                .remote_log_segments = f->segments,
                                                .remote_log_segments_count = SEGMENTS};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < SEGMENTS; i++) {
        (void)remove(f->paths[i]);
        *strrchr(f->paths[i], '/') = '\0';
        (void)rmdir(f->paths[i]);
    }
    (void)rmdir(f->directory);
    free(f);
    return 0;
}

/* The offsets behind the batches of a step, joined: "10 20 …". */
static fluss_code_t read_step(const fixture *f, int64_t offset, size_t size_max, char *ends,
                              fluss_error_t *err)
{
    fl_remote_log remote;
    fl_frame *frame = NULL;
    *ends = '\0';
    fluss_code_t rc = fl_remote_log_init(&remote, &f->info, err);
    if (rc == 0) {
        rc = fl_remote_log_read(&remote, offset, size_max, &frame, err);
    }
    fl_remote_log_deinit(&remote);
    for (size_t at = 0; rc == 0 && at < frame->size;) {
        const fl_slice rest = fl_slice_of(frame->data + at, frame->size - at);
        fl_log_batch batch;
        size_t size;
        assert_int_equal(fl_log_batch_size(rest, &size, NULL), 0);
        assert_true(size > 0 && size <= rest.size);
        assert_int_equal(fl_log_batch_open(fl_slice_sub(rest, 0, size), false, &batch, NULL), 0);
        assert_int_equal(fl_log_batch_check_crc(&batch, NULL), 0);
        (void)snprintf(ends, 32, "%lld ", (long long)fl_log_batch_next_offset(&batch));
        ends += strlen(ends);
        at += size;
    }
    fl_frame_unref(frame);
    return rc;
}

static void every_offset_is_reached_in_steps_of_any_size(void **state)
{
    const fixture *f = *state;
    for (size_t size_max = 1; size_max < 8000; size_max = size_max * 3 + 1) {
        for (int64_t offset = 0; offset < SEGMENTS * SEGMENT_ROWS; offset++) {
            char ends[256];
            assert_int_equal(read_step(f, offset, size_max, ends, NULL), 0);
            assert_int_equal(strtoll(ends, NULL, 10), (offset / ROWS + 1) * ROWS);
        }
    }
}

static void a_step_goes_on_in_the_next_segments(void **state)
{
    const fixture *f = *state;
    char ends[256];
    assert_int_equal(read_step(f, 25, 1 << 20, ends, NULL), 0);
    assert_string_equal(ends, "30 40 50 60 70 80 90 100 110 120 ");
    assert_int_equal(read_step(f, SEGMENTS * SEGMENT_ROWS, 1 << 20, ends, NULL), 0);
    assert_string_equal(ends, "");
}

static void a_step_begins_where_the_server_says(void **state)
{
    fixture *f = *state;
    char ends[256];
    f->info.has_first_start_pos = true;
    f->info.first_start_pos = f->segments[0].segment_size_in_bytes / BATCHES;
    assert_int_equal(read_step(f, 10, 1, ends, NULL), 0);
    assert_string_equal(ends, "20 ");
}

static void a_batch_larger_than_a_step_comes_whole(void **state)
{
    fixture *f = *state;
    fl_buf bytes;
    char ends[256];
    fl_buf_init(&bytes, 1 << 24);
    append_batch(&bytes, 0, 3, 100000);
    append_batch(&bytes, 3, 1, 10);
    write_file(f->paths[0], bytes.data, bytes.size);
    fl_buf_deinit(&bytes);
    f->info.remote_log_segments_count = 1;
    assert_int_equal(read_step(f, 1, 1000, ends, NULL), 0);
    assert_string_equal(ends, "3 ");
}

static void paths_are_plain_or_of_the_scheme_file(void **state)
{
    fixture *f = *state;
    static const char *const forms[] = {"%s", "file:%s", "file://%s", "file://localhost%s"};
    char uri[128], ends[256];
    fluss_error_t err;
    for (size_t i = 0; i < FL_COUNT_OF(forms); i++) {
        (void)snprintf(uri, sizeof(uri), forms[i], f->directory);
        f->info.remote_log_tablet_dir = fl_slice_str(uri);
        assert_int_equal(read_step(f, 0, 1, ends, NULL), 0);
    }
    static const char *const others[] = {"s3://bucket/log", "hdfs://n:1/log", "", "file:log",
                                         "log"};
    for (size_t i = 0; i < FL_COUNT_OF(others); i++) {
        f->info.remote_log_tablet_dir = fl_slice_str(others[i]);
        assert_int_not_equal(read_step(f, 0, 1, ends, &err), 0);
        assert_int_equal(err.kind, FLUSS_KIND_UNSUPPORTED);
    }
}

static void a_segment_id_is_no_path(void **state)
{
    fixture *f = *state;
    char ends[256];
    fluss_error_t err;
    static const char *const ids[] = {"../../../../../../../../../../../etc", "", "0"};
    for (size_t i = 0; i < FL_COUNT_OF(ids); i++) {
        f->segments[0].remote_log_segment_id = fl_slice_str(ids[i]);
        assert_int_not_equal(read_step(f, 0, 1, ends, &err), 0);
        assert_int_equal(err.kind, FLUSS_KIND_CORRUPT);
    }
}

static void check_fault(const fixture *f, int segment, const char *what)
{
    char ends[256];
    fluss_error_t err;
    /* Batches before the fault come first; then it is met. */
    const int64_t first = segment * SEGMENT_ROWS;
    if (segment > 0) {
        assert_int_equal(read_step(f, first - ROWS, 1 << 20, ends, NULL), 0);
        assert_int_equal(strtoll(ends, NULL, 10), first);
    }
    fixture at = *f;
    at.info.remote_log_segments = &at.segments[segment];
    at.info.remote_log_segments_count = (size_t)(SEGMENTS - segment);
    assert_int_equal(read_step(&at, first, 1 << 20, ends, &err), FLUSS_E_STORAGE_EXCEPTION);
    assert_non_null(strstr(err.message, f->paths[segment]));
    assert_non_null(strstr(err.message, what));
}

static void a_missing_segment_is_named(void **state)
{
    const fixture *f = *state;
    assert_int_equal(remove(f->paths[1]), 0);
    check_fault(f, 1, "No such file");
}

static void a_short_segment_is_named(void **state)
{
    const fixture *f = *state;
    assert_int_equal(truncate(f->paths[1], 100), 0);
    check_fault(f, 1, "100 bytes");
}

static void a_folder_is_no_segment(void **state)
{
    const fixture *f = *state;
    assert_int_equal(remove(f->paths[2]), 0);
    assert_int_equal(mkdir(f->paths[2], 0700), 0);
    check_fault(f, 2, "not a file");
}

static void a_segment_that_ends_within_a_batch_is_named(void **state)
{
    fixture *f = *state;
    assert_int_equal(truncate(f->paths[0], 30), 0);
    f->segments[0].segment_size_in_bytes = 0; /* not told */
    check_fault(f, 0, "within a batch");
}

static void impossible_bytes_are_corrupt(void **state)
{
    fixture *f = *state;
    char ends[256];
    fluss_error_t err;
    uint8_t noise[4096];
    memset(noise, 0xee, sizeof(noise));
    write_file(f->paths[0], noise, sizeof(noise));
    assert_int_not_equal(read_step(f, 0, 1 << 20, ends, &err), 0);
    assert_int_equal(err.kind, FLUSS_KIND_CORRUPT);
    assert_non_null(strstr(err.message, f->paths[0]));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_offset_is_reached_in_steps_of_any_size),
        CASE(a_step_goes_on_in_the_next_segments),
        CASE(a_step_begins_where_the_server_says),
        CASE(a_batch_larger_than_a_step_comes_whole),
        CASE(paths_are_plain_or_of_the_scheme_file),
        CASE(a_segment_id_is_no_path),
        CASE(a_missing_segment_is_named),
        CASE(a_short_segment_is_named),
        CASE(a_folder_is_no_segment),
        CASE(a_segment_that_ends_within_a_batch_is_named),
        CASE(impossible_bytes_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
