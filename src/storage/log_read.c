/* SPDX-License-Identifier: Apache-2.0 */
/* A read returns bytes of the file as they are: one pread into a pooled frame. Where to start is
 * known without looking when the reader goes on where it stopped (the hints); otherwise index and a
 * short walk tell. Where the last whole batch ends is found from the last index entry in range, so
 * that only a few heads are touched. */
#include "base/alloc.h"
#include "storage/file.h"
#include "storage/log_private.h"

/** What a read may return. */
typedef struct read_range {
    fl_segment *segment;
    uint64_t position; /* of the first batch */
    int64_t end;       /* no batch that reaches past it */
    size_t size_max;
    bool at_least_one;
} read_range;

static fl_log_hint *find_hint(fl_log_store *store, int64_t offset)
{
    for (size_t i = 0; i < FL_LOG_HINT_COUNT; i++) {
        if (store->hints[i].segment != NULL && store->hints[i].offset == offset) {
            return &store->hints[i];
        }
    }
    return NULL;
}

static void set_hint(fl_log_store *store, fl_log_hint *hint, int64_t offset, fl_segment *segment,
                     uint64_t position)
{
    if (hint == NULL) {
        hint = &store->hints[store->hint_next];
        store->hint_next = (store->hint_next + 1) % FL_LOG_HINT_COUNT;
    }
    *hint = (fl_log_hint){.offset = offset, .segment = segment, .position = position};
}

/** Where the batch with `offset` starts. */
static fluss_code_t locate(fl_log_store *store, int64_t offset, fl_log_hint *hint,
                           read_range *range, fluss_error_t *err)
{
    if (hint != NULL && hint->position < hint->segment->size) {
        range->segment = hint->segment;
        range->position = hint->position;
        return 0;
    }
    range->segment = store->segments[fl_log_segment_at(store, offset)];
    if (offset == range->segment->base_offset) {
        range->position = 0;
        return 0;
    }
    return fl_segment_find(range->segment, offset, &range->position, err);
}

static fluss_code_t load(const read_range *range, size_t size, fl_frame **frame, fluss_error_t *err)
{
    fl_frame *loaded = fl_frame_new(size);
    if (loaded == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc =
        fl_file_read(&range->segment->log, range->position, loaded->data, size, &loaded->size, err);
    if (rc == 0 && loaded->size < size) {
        rc =
            fl_error(err, FLUSS_E_LOG_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                     "%s/%s ends at %llu, expected %llu bytes", range->segment->log.dir,
                     range->segment->log.name, (unsigned long long)(range->position + loaded->size),
                     (unsigned long long)range->segment->size);
    }
    if (rc != 0) {
        fl_frame_unref(loaded);
        return rc;
    }
    *frame = loaded;
    return 0;
}

/* Below this a walk over all heads costs less than a search in the index file. */
enum { WALK_SIZE_MAX = 64 << 10 };

/** A place in the frame, as near to its end as the index knows, where a batch starts. */
static size_t boundary(const read_range *range, const fl_frame *frame)
{
    if (frame->size <= WALK_SIZE_MAX) {
        return 0;
    }
    fl_offset_entry entry;
    int64_t slot;
    const uint64_t end = range->position + frame->size;
    const fluss_code_t rc =
        fl_offset_index_find_position(&range->segment->offsets, end, &slot, &entry, NULL);
    if (rc != 0 || slot < 0 || entry.position <= range->position || entry.position >= end ||
        entry.last_offset >= range->end) {
        return 0;
    }
    return (size_t)(entry.position - range->position);
}

static fluss_code_t bad_head(const read_range *range, size_t at, fluss_error_t *err)
{
    fl_error_prefix(err, "%s/%s at position %llu: ", range->segment->log.dir,
                    range->segment->log.name, (unsigned long long)(range->position + at));
    return FLUSS_E_CORRUPT_RECORD;
}

/** Cut the frame after its last whole batch below the end.
 * @param first_size set when not even one batch is whole: its size; else 0
 * @param next_offset of what follows; -1: no batch */
static fluss_code_t cut(const read_range *range, size_t at, fl_frame *frame, size_t *first_size,
                        int64_t *next_offset, fluss_error_t *err)
{
    *first_size = 0;
    *next_offset = -1;
    while (frame->size - at >= FL_BATCH_SIZE_MIN) {
        fl_batch_head head;
        if (fl_batch_head_read(fl_slice_of(frame->data + at, frame->size - at), &head, err) != 0) {
            return bad_head(range, at, err);
        }
        if (head.next_offset > range->end) {
            break;
        }
        if (head.size > frame->size - at) {
            *first_size = at == 0 ? head.size : 0;
            break;
        }
        at += head.size;
        *next_offset = head.next_offset;
    }
    frame->size = at;
    return 0;
}

static fluss_code_t read_batches(const read_range *range, fl_frame **frame, int64_t *next_offset,
                                 fluss_error_t *err)
{
    const uint64_t rest = range->segment->size - range->position;
    size_t wanted = range->size_max;
    if (range->at_least_one && wanted < FL_BATCH_HEAD_SIZE_MAX) {
        wanted = FL_BATCH_HEAD_SIZE_MAX;
    }
    wanted = wanted > rest ? (size_t)rest : wanted;
    for (;;) {
        size_t first_size;
        FL_TRY(load(range, wanted, frame, err));
        fluss_code_t rc =
            cut(range, boundary(range, *frame), *frame, &first_size, next_offset, err);
        if (rc == 0 && (*next_offset >= 0 || !range->at_least_one || first_size == 0)) {
            return 0;
        }
        fl_frame_unref(*frame);
        *frame = NULL;
        if (rc == 0 && first_size > rest) {
            rc = fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                          "record batch of %zu bytes, the segment has %llu more", first_size,
                          (unsigned long long)rest);
            rc = bad_head(range, 0, err);
        }
        if (rc != 0) {
            return rc;
        }
        wanted = first_size;
    }
}

static fluss_code_t empty_frame(fl_frame **frame, fluss_error_t *err)
{
    *frame = fl_frame_new(0);
    return *frame == NULL ? fl_error_nomem(err) : 0;
}

fluss_code_t fl_log_store_read_until(fl_log_store *store, int64_t offset, int64_t end,
                                     size_t size_max, bool at_least_one, fl_frame **frame,
                                     fluss_error_t *err)
{
    *frame = NULL;
    if (offset < store->start_offset || offset > store->end_offset) {
        return fl_error(err, FLUSS_E_LOG_OFFSET_OUT_OF_RANGE, FLUSS_KIND_SERVER,
                        "log offset %lld is out of range: the log holds %lld to %lld",
                        (long long)offset, (long long)store->start_offset,
                        (long long)store->end_offset);
    }
    if (offset >= end || offset == store->end_offset || (size_max == 0 && !at_least_one)) {
        return empty_frame(frame, err);
    }
    read_range range = {.end = end, .size_max = size_max, .at_least_one = at_least_one};
    fl_log_hint *hint = find_hint(store, offset);
    FL_TRY(locate(store, offset, hint, &range, err));
    int64_t next_offset;
    FL_TRY(read_batches(&range, frame, &next_offset, err));
    if (next_offset >= 0) {
        set_hint(store, hint, next_offset, range.segment, range.position + (*frame)->size);
    }
    return 0;
}

fluss_code_t fl_log_store_read(fl_log_store *store, int64_t offset, size_t size_max,
                               bool at_least_one, fl_frame **frame, fluss_error_t *err)
{
    return fl_log_store_read_until(store, offset, store->end_offset, size_max, at_least_one, frame,
                                   err);
}
