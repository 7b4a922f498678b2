/* SPDX-License-Identifier: Apache-2.0 */
/* The log of one bucket: opening and closing, appending, looking up times. Reading is in
 * log_read.c, recovery in log_recovery.c, durability in log_sync.c, retention in log_retention.c.
 *
 * A log is a directory of segments; only the newest grows, by one pwrite an append at a tracked
 * position. When it is full it is synced, its indexes are written, the writers' state is saved
 * under the next offset, and a new segment starts. So sealed segments are always whole on disk, and
 * recovery has to look at the newest one only. */
#include "base/alloc.h"
#include "format/log_batch.h"
#include "storage/file.h"
#include "storage/log_private.h"

enum { OWN_CACHE_FILES = 16, DIR_CHARS_MAX = FL_PATH_SIZE - FL_FILE_NAME_SIZE - 8 };

static void apply_defaults(fl_log_store_opts *opts)
{
    const int64_t week_ms = 7 * 24 * 3600 * 1000LL;
    opts->segment_size_max = opts->segment_size_max == 0 ? 1U << 30 : opts->segment_size_max;
    if (opts->segment_size_max > FL_SEGMENT_SIZE_MAX) {
        opts->segment_size_max = FL_SEGMENT_SIZE_MAX;
    }
    opts->index_interval_size =
        opts->index_interval_size == 0 ? 4 << 10 : opts->index_interval_size;
    opts->writer_expiration_ms =
        opts->writer_expiration_ms == 0 ? week_ms : opts->writer_expiration_ms;
}

static void free_store(fl_log_store *store)
{
    for (size_t i = 0; i < store->segment_count; i++) {
        fl_segment_free(store->segments[i]);
    }
    fl_free(store->segments);
    fl_writers_deinit(&store->writers);
    fl_writers_deinit(&store->staged);
    fl_file_cache_free(store->own_cache);
    fl_free(store->dir);
    fl_free(store);
}

static fluss_code_t open_store(fl_log_store *store, const char *dir, int64_t now_ms,
                               fluss_error_t *err)
{
    store->dir = fl_strdup(dir);
    if (store->opts.files == NULL) {
        store->opts.files = store->own_cache = fl_file_cache_new(OWN_CACHE_FILES);
    }
    if (store->dir == NULL || store->opts.files == NULL) {
        return fl_error_nomem(err);
    }
    size_t made;
    FL_TRY(fl_dir_make(store->opts.files, dir, &made, err));
    store->sync_levels = made == 0 ? 0 : made + 1;
    return fl_log_recover(store, now_ms, err);
}

fluss_code_t fl_log_store_open(const char *dir, const fl_log_store_opts *opts, int64_t now_ms,
                               fl_log_store **store, fluss_error_t *err)
{
    *store = NULL;
    if (strlen(dir) > DIR_CHARS_MAX) {
        return fl_error_argument(err, "log directory: path of %zu characters, at most %d",
                                 strlen(dir), DIR_CHARS_MAX);
    }
    fl_log_store *opened = fl_calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return fl_error_nomem(err);
    }
    opened->opts = opts == NULL ? (fl_log_store_opts){0} : *opts;
    opened->checkpoint_offset = -1;
    apply_defaults(&opened->opts);
    const fluss_code_t rc = open_store(opened, dir, now_ms, err);
    if (rc != 0) {
        fl_error_prefix(err, "open log %s: ", dir);
        free_store(opened);
        return rc;
    }
    *store = opened;
    return 0;
}

void fl_log_store_close(fl_log_store *store)
{
    if (store == NULL) {
        return;
    }
    FL_ASSERT(store->sync == NULL);
    const bool is_changed = store->checkpoint_offset != store->end_offset;
    if (store->segment_count > 0 && is_changed && fl_log_sync_now(store, NULL) == 0) {
        /* Without the checkpoint the next open scans. */
        const fluss_code_t rc = fl_log_write_checkpoint(store, NULL);
        (void)rc;
    }
    free_store(store);
}

int64_t fl_log_store_start_offset(const fl_log_store *store)
{
    return store->start_offset;
}

int64_t fl_log_store_end_offset(const fl_log_store *store)
{
    return store->end_offset;
}

int64_t fl_log_store_durable_offset(const fl_log_store *store)
{
    return store->durable_offset;
}

uint64_t fl_log_store_size(const fl_log_store *store)
{
    uint64_t size = 0;
    for (size_t i = 0; i < store->segment_count; i++) {
        size += store->segments[i]->size;
    }
    return size;
}

fluss_code_t fl_log_add_segment(fl_log_store *store, int64_t base_offset, fluss_error_t *err)
{
    fl_segment **segments =
        fl_grow(store->segments, &store->segment_capacity, store->segment_count, sizeof(*segments));
    if (segments == NULL) {
        return fl_error_nomem(err);
    }
    store->segments = segments;
    fl_segment *segment = fl_segment_new(store->opts.files, store->dir, base_offset);
    if (segment == NULL) {
        return fl_error_nomem(err);
    }
    segments[store->segment_count++] = segment;
    return 0;
}

size_t fl_log_segment_at(const fl_log_store *store, int64_t offset)
{
    size_t low = 0, high = store->segment_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (store->segments[middle]->base_offset <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

fluss_code_t fl_log_store_offset_for_time(fl_log_store *store, int64_t timestamp_ms,
                                          int64_t *offset, fluss_error_t *err)
{
    /* Timestamps never fall along the log: find the last segment that starts before the time. */
    *offset = store->end_offset;
    size_t low = 0, high = store->segment_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        int64_t first_ms;
        FL_TRY(fl_segment_first_timestamp(store->segments[middle], &first_ms, err));
        if (first_ms >= 0 && first_ms < timestamp_ms) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i < store->segment_count; i++) {
        int64_t found;
        FL_TRY(fl_segment_find_time(store->segments[i], timestamp_ms, &found, err));
        if (found >= 0) {
            *offset = found;
            break;
        }
    }
    return 0;
}
