/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the storage tests; see the header. */
#include "log_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "format/log_batch.h"

void folder_make(folder *made, const char *name)
{
    /* In memory where possible: these tests are not about the speed of a disk. */
    const bool has_memory = access("/dev/shm", W_OK) == 0;
    (void)snprintf(made->root, sizeof(made->root), "%s/fluss-storage-XXXXXX",
                   has_memory ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(made->root));
    (void)snprintf(made->dir, sizeof(made->dir), "%s/%s", made->root, name);
}

void *folder_state(size_t size, const char *name)
{
    folder *made = calloc(1, size);
    assert_non_null(made);
    folder_make(made, name);
    return made;
}

int folder_tear_down(void **state)
{
    folder *made = *state;
    remove_tree(made->root);
    free(made);
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

void remove_tree(const char *path)
{
    assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

size_t make_batch(uint8_t *bytes, int32_t count, size_t payload_size, uint8_t seed,
                  int64_t writer_id, int32_t sequence)
{
    const size_t header_size = fl_log_batch_header_size(0, 0);
    for (size_t i = 0; i < payload_size; i++) {
        bytes[header_size + i] = (uint8_t)(seed + i * 7);
    }
    const fl_log_batch_spec spec = {.is_append_only = true,
                                    .schema_id = 1,
                                    .record_count = count,
                                    .writer_id = writer_id,
                                    .batch_sequence = sequence};
    fl_log_batch_finish(bytes, header_size + payload_size, &spec);
    return header_size + payload_size;
}

int64_t append_batch(fl_log_store *store, int32_t count, size_t payload_size, uint8_t seed,
                     int64_t writer_id, int32_t sequence, int64_t now_ms)
{
    uint8_t *bytes = malloc(payload_size + 64);
    assert_non_null(bytes);
    const size_t size = make_batch(bytes, count, payload_size, seed, writer_id, sequence);
    fl_log_appended appended;
    fluss_error_t err = {0};
    if (fl_log_store_append(store, bytes, size, now_ms, &appended, &err) != 0) {
        fail_msg("append: %s", err.message);
    }
    free(bytes);
    return appended.base_offset;
}

int64_t append_rows(fl_log_store *store, int32_t count, size_t payload_size, int64_t now_ms)
{
    const uint8_t seed = (uint8_t)fl_log_store_end_offset(store);
    return append_batch(store, count, payload_size, seed, FL_NO_WRITER_ID, FL_NO_SEQUENCE, now_ms);
}

fl_log_store *open_log(const char *dir, const fl_log_store_opts *opts, int64_t now_ms)
{
    fl_log_store *store;
    fluss_error_t err = {0};
    if (fl_log_store_open(dir, opts, now_ms, &store, &err) != 0) {
        fail_msg("open: %s", err.message);
    }
    return store;
}

void sync_log(fl_log_store *store)
{
    fl_log_sync *sync;
    fluss_error_t err = {0};
    assert_int_equal(fl_log_sync_begin(store, &sync, &err), 0);
    fl_log_sync_run(sync);
    assert_int_equal(fl_log_sync_end(store, sync, &err), 0);
}

log_content read_log(fl_log_store *store, size_t size_max)
{
    log_content content = {.start_offset = fl_log_store_start_offset(store)};
    int64_t offset = content.start_offset;
    while (offset < fl_log_store_end_offset(store)) {
        fl_frame *frame;
        fluss_error_t err = {0};
        if (fl_log_store_read(store, offset, size_max, true, &frame, &err) != 0) {
            fail_msg("read at %lld: %s", (long long)offset, err.message);
        }
        assert_true(frame->size > 0);
        content.crc = fl_crc32c_extend(content.crc, fl_slice_of(frame->data, frame->size));
        for (size_t at = 0; at < frame->size;) {
            fl_log_batch batch;
            const fl_slice rest = fl_slice_of(frame->data + at, frame->size - at);
            assert_int_equal(fl_log_batch_open(rest, false, &batch, &err), 0);
            assert_int_equal(fl_log_batch_check_crc(&batch, &err), 0);
            assert_int_equal(batch.base_offset, offset);
            offset = fl_log_batch_next_offset(&batch);
            at += batch.bytes.size;
            content.batch_count++;
        }
        fl_frame_unref(frame);
    }
    content.end_offset = offset;
    assert_int_equal(offset, fl_log_store_end_offset(store));
    return content;
}

static void join(const char *dir, const char *name, char path[static FL_PATH_SIZE])
{
    (void)snprintf(path, FL_PATH_SIZE, "%s/%s", dir, name);
}

uint8_t *load_file(const char *dir, const char *name, size_t *size)
{
    char path[FL_PATH_SIZE];
    struct stat info;
    join(dir, name, path);
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &info) == 0);
    *size = (size_t)info.st_size;
    uint8_t *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(read(fd, data, *size), *size);
    close(fd);
    return data;
}

void store_file(const char *dir, const char *name, const uint8_t *data, size_t size)
{
    char path[FL_PATH_SIZE];
    join(dir, name, path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

bool has_file(const char *dir, const char *name)
{
    char path[FL_PATH_SIZE];
    join(dir, name, path);
    return access(path, F_OK) == 0;
}

void delete_file(const char *dir, const char *name)
{
    char path[FL_PATH_SIZE];
    join(dir, name, path);
    assert_int_equal(unlink(path), 0);
}

void copy_files(const char *from, const char *to)
{
    assert_int_equal(mkdir(to, 0755), 0);
    DIR *entries = opendir(from);
    assert_non_null(entries);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        size_t size;
        uint8_t *data = load_file(from, entry->d_name, &size);
        store_file(to, entry->d_name, data, size);
        free(data);
    }
    closedir(entries);
}
