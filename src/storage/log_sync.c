/* SPDX-License-Identifier: Apache-2.0 */
/* Group commit. A ticket says: bytes from..to of this segment, and so many directories. Only the
 * newest segment can have bytes that are not durable, for a segment is synced before the next one
 * starts. After a failed sync the system may call lost pages clean, so a second sync would succeed
 * and mean nothing: the next ticket first writes the same bytes again, from what reads back. */
#include "base/alloc.h"
#include "storage/file.h"
#include "storage/log_private.h"

enum { REWRITE_SIZE = 1 << 20 };

/** Fill a ticket. The file is opened when the ticket runs: thousands of tickets may wait for a
 * thread, and must not hold a descriptor each. */
static void begin(fl_log_store *store, fl_log_sync *sync)
{
    *sync = (fl_log_sync){.dir = store->dir,
                          .from = store->durable_position,
                          .end_offset = store->end_offset,
                          .sync_levels = store->sync_levels,
                          .must_rewrite = store->must_rewrite};
    fl_segment *newest = fl_log_newest(store);
    if (newest != NULL && newest->size > store->durable_position) {
        sync->segment = newest;
        sync->to = newest->size;
    }
    store->sync_levels = 0;
}

static fluss_code_t rewrite(fl_log_sync *sync, fluss_error_t *err)
{
    fl_frame *frame = fl_frame_new(REWRITE_SIZE);
    if (frame == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = 0;
    for (uint64_t at = sync->from; rc == 0 && at < sync->to; at += frame->size) {
        const uint64_t rest = sync->to - at;
        rc = fl_file_read(&sync->segment->log, at, frame->data,
                          rest < REWRITE_SIZE ? (size_t)rest : REWRITE_SIZE, &frame->size, err);
        if (rc == 0 && frame->size == 0) {
            rc = fl_error(err, FLUSS_E_LOG_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                          "%s/%s ends at %llu, expected %llu bytes", sync->dir,
                          sync->segment->log.name, (unsigned long long)at,
                          (unsigned long long)sync->to);
        }
        if (rc == 0) {
            rc = fl_file_write(&sync->segment->log, at, frame->data, frame->size, err);
        }
    }
    fl_frame_unref(frame);
    return rc;
}

static fluss_code_t sync_directories(const fl_log_sync *sync, fl_file_cache *cache,
                                     fluss_error_t *err)
{
    char path[FL_PATH_SIZE], parent[FL_PATH_SIZE];
    const size_t size = strlen(sync->dir);
    FL_ASSERT(size < sizeof(path));
    memcpy(path, sync->dir, size + 1);
    for (size_t i = 0; i < sync->sync_levels; i++) {
        FL_TRY(fl_dir_sync(cache, path, err));
        fl_dir_parent(path, parent);
        memcpy(path, parent, sizeof(path));
    }
    return 0;
}

bool fl_log_sync_run(fl_log_sync *sync)
{
    if (sync->segment == NULL) {
        return true; /* nothing was written; directories come with the first bytes */
    }
    fl_file *file = &sync->segment->log;
    if (sync->must_rewrite) {
        sync->rc = rewrite(sync, &sync->error);
    }
    if (sync->rc == 0) {
        sync->rc = fl_file_sync(file, &sync->error);
    }
    if (sync->rc == 0) {
        sync->rc = sync_directories(sync, file->cache, &sync->error);
    }
    return sync->rc == 0;
}

static bool checkpoint_is_due(const fl_log_store *store)
{
    return store->durable_position >=
               store->checkpoint_position + FL_LOG_CHECKPOINT_INTERVAL_SIZE &&
           store->durable_offset == store->end_offset;
}

/** Take over what a ticket achieved. */
static fluss_code_t end(fl_log_store *store, fl_log_sync *sync, fluss_error_t *err)
{
    if (sync->rc != 0 || sync->segment == NULL) {
        store->must_rewrite |= sync->rc != 0;
        if (store->sync_levels < sync->sync_levels) {
            store->sync_levels = sync->sync_levels;
        }
        if (sync->rc != 0 && err != NULL) {
            *err = sync->error;
        }
        return sync->rc;
    }
    if (sync->end_offset > store->durable_offset) {
        store->durable_offset = sync->end_offset;
    }
    if (sync->segment != fl_log_newest(store)) {
        return 0; /* it was sealed meanwhile */
    }
    if (sync->to > store->durable_position) {
        store->durable_position = sync->to;
        store->must_rewrite = store->must_rewrite && !sync->must_rewrite;
    }
    /* An index that cannot be written now is written later, or rebuilt. */
    fluss_code_t rc = fl_segment_flush_indexes(sync->segment, store->durable_position,
                                               store->durable_offset, NULL);
    if (rc == 0 && checkpoint_is_due(store)) {
        rc = fl_log_write_checkpoint(store, NULL);
        store->checkpoint_position = store->durable_position; /* try again an interval later */
    }
    return 0;
}

fluss_code_t fl_log_sync_now(fl_log_store *store, fluss_error_t *err)
{
    fl_log_sync sync;
    begin(store, &sync);
    fl_log_sync_run(&sync);
    return end(store, &sync, err);
}

fluss_code_t fl_log_sync_begin(fl_log_store *store, fl_log_sync **sync, fluss_error_t *err)
{
    *sync = NULL;
    FL_ASSERT(store->sync == NULL);
    fl_log_sync *ticket = fl_alloc(sizeof(*ticket));
    if (ticket == NULL) {
        return fl_error_nomem(err);
    }
    begin(store, ticket);
    *sync = store->sync = ticket;
    return 0;
}

fluss_code_t fl_log_sync_end(fl_log_store *store, fl_log_sync *sync, fluss_error_t *err)
{
    FL_ASSERT(store->sync == sync);
    store->sync = NULL;
    const fluss_code_t rc = end(store, sync, err);
    fl_free(sync);
    return rc;
}
