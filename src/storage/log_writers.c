/* SPDX-License-Identifier: Apache-2.0 */
/* A writer numbers the batches it sends to a bucket 0, 1, 2 … 2^31-1, 0 …; the last five numbers
 * tell what an arriving batch is: one of them is a repetition, the number after the last is new,
 * anything else is a gap. A writer that is not known must start with 0. The map is bounded: writers
 * past WRITER_COUNT_MAX push out the quarter that wrote longest ago. */
#include "log_writers.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { WRITER_COUNT_MAX = 1 << 16, CAPACITY_MIN = 8 };

void fl_writers_init(fl_writers *writers)
{
    *writers = (fl_writers){0};
}

void fl_writers_deinit(fl_writers *writers)
{
    fl_free(writers->items);
    fl_free(writers->slots);
    *writers = (fl_writers){0};
}

void fl_writers_reset(fl_writers *writers)
{
    if (writers->count > 0) {
        memset(writers->slots, 0, writers->slot_count * sizeof(*writers->slots));
        writers->count = 0;
    }
}

/** The slot of an id: the one that holds it, or the free one where it belongs. */
static size_t slot_of(const fl_writers *writers, int64_t id)
{
    const size_t mask = writers->slot_count - 1;
    size_t slot = (size_t)(((uint64_t)id * 0x9E3779B97F4A7C15U) >> 32) & mask;
    while (writers->slots[slot] != 0 && writers->items[writers->slots[slot] - 1].id != id) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static fl_writer *find(const fl_writers *writers, int64_t id)
{
    if (writers->count == 0) {
        return NULL;
    }
    const uint32_t position = writers->slots[slot_of(writers, id)];
    return position == 0 ? NULL : &writers->items[position - 1];
}

const fl_writer *fl_writers_find(const fl_writers *writers, int64_t id)
{
    return find(writers, id);
}

fl_write_order fl_writer_order(const fl_writer *writer, int32_t sequence,
                               const fl_writer_batch **batch)
{
    if (writer == NULL || writer->count == 0) {
        return sequence == 0 ? FL_WRITE_NEXT : FL_WRITE_GAP;
    }
    for (uint32_t i = 0; i < writer->count; i++) {
        if (writer->batches[i].sequence == sequence) {
            *batch = &writer->batches[i];
            return FL_WRITE_DUPLICATE;
        }
    }
    const int32_t last = writer->batches[writer->count - 1].sequence;
    const int32_t next = last == INT32_MAX ? 0 : last + 1;
    return sequence == next ? FL_WRITE_NEXT : FL_WRITE_GAP;
}

static int64_t last_timestamp_ms(const fl_writer *writer)
{
    return writer->count == 0 ? INT64_MIN : writer->batches[writer->count - 1].timestamp_ms;
}

static void rebuild_slots(fl_writers *writers)
{
    memset(writers->slots, 0, writers->slot_count * sizeof(*writers->slots));
    for (size_t i = 0; i < writers->count; i++) {
        writers->slots[slot_of(writers, writers->items[i].id)] = (uint32_t)i + 1;
    }
}

/** Keep the writers whose last batch is from `oldest_ms` or later. */
static void keep_newer(fl_writers *writers, int64_t oldest_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < writers->count; i++) {
        if (last_timestamp_ms(&writers->items[i]) >= oldest_ms) {
            writers->items[kept++] = writers->items[i];
        }
    }
    if (kept != writers->count) {
        writers->count = kept;
        rebuild_slots(writers);
    }
}

void fl_writers_expire(fl_writers *writers, int64_t now_ms, int64_t expiration_ms)
{
    int64_t oldest_ms;
    if (!__builtin_sub_overflow(now_ms, expiration_ms, &oldest_ms)) {
        keep_newer(writers, oldest_ms);
    }
}

static int by_time(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static fluss_code_t drop_oldest_quarter(fl_writers *writers, fluss_error_t *err)
{
    int64_t *times = fl_alloc(writers->count * sizeof(*times));
    if (times == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < writers->count; i++) {
        times[i] = last_timestamp_ms(&writers->items[i]);
    }
    qsort(times, writers->count, sizeof(*times), by_time);
    const int64_t limit_ms = times[writers->count / 4];
    fl_free(times);
    const size_t before = writers->count;
    keep_newer(writers, limit_ms);
    if (writers->count == before) { /* all as old as each other */
        memmove(writers->items, writers->items + before / 4,
                (before - before / 4) * sizeof(*writers->items));
        writers->count = before - before / 4;
        rebuild_slots(writers);
    }
    return 0;
}

static fluss_code_t grow(fl_writers *writers, size_t capacity, fluss_error_t *err)
{
    size_t rounded = CAPACITY_MIN;
    while (rounded < capacity) {
        rounded *= 2;
    }
    uint32_t *slots = fl_calloc(rounded * 2, sizeof(*slots));
    fl_writer *items = fl_realloc(writers->items, rounded * sizeof(*items));
    writers->items = items != NULL ? items : writers->items;
    if (slots == NULL || items == NULL) {
        fl_free(slots);
        return fl_error_nomem(err);
    }
    fl_free(writers->slots);
    writers->slots = slots;
    writers->slot_count = rounded * 2;
    writers->capacity = rounded;
    rebuild_slots(writers);
    return 0;
}

fluss_code_t fl_writers_reserve(fl_writers *writers, size_t count, int64_t now_ms,
                                int64_t expiration_ms, fluss_error_t *err)
{
    if (writers->count + count <= writers->capacity) {
        return 0;
    }
    fl_writers_expire(writers, now_ms, expiration_ms);
    while (writers->count > 0 && writers->count + count > WRITER_COUNT_MAX) {
        FL_TRY(drop_oldest_quarter(writers, err));
    }
    if (writers->count + count <= writers->capacity) {
        return 0;
    }
    return grow(writers, writers->count + count, err);
}

static fl_writer *find_or_add(fl_writers *writers, int64_t id)
{
    fl_writer *writer = find(writers, id);
    if (writer == NULL) {
        FL_ASSERT(writers->count < writers->capacity);
        writer = &writers->items[writers->count++];
        *writer = (fl_writer){.id = id};
        writers->slots[slot_of(writers, id)] = (uint32_t)writers->count;
    }
    return writer;
}

void fl_writers_record(fl_writers *writers, int64_t id, const fl_writer_batch *batch)
{
    fl_writer *writer = find_or_add(writers, id);
    if (writer->count == FL_WRITER_BATCHES) {
        memmove(writer->batches, writer->batches + 1,
                (FL_WRITER_BATCHES - 1) * sizeof(*writer->batches));
        writer->count--;
    }
    writer->batches[writer->count++] = *batch;
}

void fl_writers_put(fl_writers *writers, const fl_writer *writer)
{
    *find_or_add(writers, writer->id) = *writer;
}
