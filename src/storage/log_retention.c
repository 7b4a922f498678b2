/* SPDX-License-Identifier: Apache-2.0 */
/* Retention removes whole sealed segments, oldest first, so that what is left is always one
 * unbroken range of offsets; and the directory of a log that is dropped. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/file.h"
#include "storage/log_private.h"

/** Whether all rows of a segment are older than the time to live. */
static fluss_code_t is_older(fl_segment *segment, int64_t now_ms, int64_t ttl_ms, bool *is_old,
                             fluss_error_t *err)
{
    int64_t age_ms;
    if (segment->newest_timestamp_ms < 0) {
        int64_t next_offset;
        FL_TRY(fl_segment_read_tail(segment, &next_offset, err));
    }
    *is_old =
        !__builtin_sub_overflow(now_ms, segment->newest_timestamp_ms, &age_ms) && age_ms > ttl_ms;
    return 0;
}

/** Whether the oldest segment is sealed, older than the time to live, and below an offset. */
static fluss_code_t is_expired(fl_log_store *store, int64_t now_ms, int64_t ttl_ms,
                               int64_t below_offset, bool *expired, fluss_error_t *err)
{
    *expired = false;
    if (ttl_ms < 0 || store->segment_count < 2 || store->segments[1]->base_offset > below_offset) {
        return 0;
    }
    return is_older(store->segments[0], now_ms, ttl_ms, expired, err);
}

/** Roll; the file of the new segment is there, and on disk, before anything before it can go: its
 * name alone says where the log goes on. */
static fluss_code_t roll_to_file(fl_log_store *store, fluss_error_t *err)
{
    int fd;
    fl_segment *next = fl_segment_new(store->opts.files, store->dir, store->end_offset);
    if (next == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = fl_file_pin(&next->log, true, &fd, err);
    if (rc == 0) {
        fl_file_unpin(&next->log);
        rc = fl_dir_sync(store->opts.files, store->dir, err);
    }
    if (rc == 0) {
        rc = fl_log_roll(store, err);
    }
    if (rc != 0) {
        const fluss_code_t ignored = fl_file_remove(&next->log, NULL);
        (void)ignored;
    }
    fl_segment_free(next);
    return rc;
}

fluss_code_t fl_log_store_roll_expired(fl_log_store *store, int64_t now_ms, int64_t ttl_ms,
                                       fluss_error_t *err)
{
    fl_segment *newest = fl_log_newest(store);
    bool is_old = false;
    if (ttl_ms < 0 || newest == NULL || newest->size == 0 || store->has_torn_tail) {
        return 0;
    }
    FL_TRY(is_older(newest, now_ms, ttl_ms, &is_old, err));
    return is_old ? roll_to_file(store, err) : 0;
}

fluss_code_t fl_log_store_may_expire(fl_log_store *store, int64_t now_ms, int64_t ttl_ms,
                                     bool *may_expire, fluss_error_t *err)
{
    return is_expired(store, now_ms, ttl_ms, INT64_MAX, may_expire, err);
}

static fluss_code_t remove_oldest(fl_log_store *store, fluss_error_t *err)
{
    fl_segment *oldest = store->segments[0];
    FL_TRY(fl_segment_remove(oldest, err));
    for (size_t i = 0; i < FL_LOG_HINT_COUNT; i++) {
        if (store->hints[i].segment == oldest) {
            store->hints[i].segment = NULL;
        }
    }
    const int64_t base_offset = oldest->base_offset;
    fl_segment_free(oldest);
    store->segment_count--;
    memmove(store->segments, store->segments + 1, store->segment_count * sizeof(fl_segment *));
    store->start_offset = store->segments[0]->base_offset;
    fl_log_drop_snapshot(store, base_offset);
    return 0;
}

fluss_code_t fl_log_store_expire(fl_log_store *store, int64_t now_ms, int64_t ttl_ms,
                                 int64_t below_offset, size_t *removed, fluss_error_t *err)
{
    *removed = 0;
    fl_writers_expire(&store->writers, now_ms, store->opts.writer_expiration_ms);
    for (;;) {
        bool expired;
        FL_TRY(is_expired(store, now_ms, ttl_ms, below_offset, &expired, err));
        const bool is_in_sync = store->sync != NULL && store->sync->segment == store->segments[0];
        if (!expired || is_in_sync) {
            return 0;
        }
        FL_TRY(remove_oldest(store, err));
        *removed += 1;
    }
}

bool fl_log_dir_may_expire(const char *dir, int64_t now_ms, int64_t ttl_ms, bool rolls)
{
    DIR *entries = ttl_ms >= 0 ? opendir(dir) : NULL;
    size_t count = 0;
    char oldest[FL_FILE_NAME_SIZE] = "";
    struct stat facts;
    if (entries == NULL) {
        return false;
    }
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (suffix == NULL || strcmp(suffix, ".log") != 0) {
            continue;
        }
        if (count++ == 0 || strcmp(entry->d_name, oldest) < 0) { /* offsets of 20 digits */
            (void)snprintf(oldest, sizeof(oldest), "%.*s", (int)sizeof(oldest) - 1, entry->d_name);
        }
    }
    const bool is_known = count != 0 && fstatat(dirfd(entries), oldest, &facts, 0) == 0;
    closedir(entries);
    return is_known && (count > 1 || (rolls && facts.st_size > 0)) &&
           now_ms - (int64_t)facts.st_mtim.tv_sec * 1000 > ttl_ms;
}

static fluss_code_t remove_files(const char *dir, fluss_error_t *err)
{
    DIR *entries = opendir(dir);
    if (entries == NULL) {
        return errno == ENOENT ? 0 : fl_file_error(err, "open directory", dir, NULL, errno);
    }
    fluss_code_t rc = 0;
    const struct dirent *entry;
    while (rc == 0 && (entry = readdir(entries)) != NULL) {
        const bool is_self = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!is_self && unlinkat(dirfd(entries), entry->d_name, 0) != 0 && errno != ENOENT) {
            rc = fl_file_error(err, "remove", dir, entry->d_name, errno);
        }
    }
    closedir(entries);
    return rc;
}

fluss_code_t fl_log_store_delete(fl_log_store *store, fluss_error_t *err)
{
    if (store == NULL) {
        return 0;
    }
    FL_ASSERT(store->sync == NULL);
    char *dir = store->dir;
    store->dir = NULL;
    store->checkpoint_offset = store->end_offset; /* nothing to keep */
    fl_log_store_close(store);
    fluss_code_t rc = remove_files(dir, err);
    if (rc == 0 && rmdir(dir) != 0 && errno != ENOENT) {
        rc = fl_file_error(err, "remove directory", dir, NULL, errno);
    }
    fl_free(dir);
    return rc;
}
