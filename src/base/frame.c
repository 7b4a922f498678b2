/* SPDX-License-Identifier: Apache-2.0 */
/* The pool keeps a bounded stack per size class, powers of two from 4 KiB to 16 MiB, each class
 * behind a lock of its own. Larger frames are allocated and freed directly. */
#include "base/frame.h"

#include <pthread.h>

#include "base/alloc.h"

enum {
    CLASS_SHIFT_MIN = 12,
    CLASS_SHIFT_MAX = 24,
    CLASS_COUNT = CLASS_SHIFT_MAX - CLASS_SHIFT_MIN + 1
};
enum { POOLED_BYTES_MAX = 32 << 20, UNPOOLED = CLASS_COUNT };

static struct frame_class {
    pthread_mutex_t lock; /* guards: free, count */
    fl_frame *free;
    size_t count;
} classes[CLASS_COUNT] = {[0 ... CLASS_COUNT - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static uint32_t class_of(size_t total)
{
    uint32_t index = 0;
    while (index < CLASS_COUNT && ((size_t)1 << (CLASS_SHIFT_MIN + index)) < total) {
        index++;
    }
    return index;
}

static fl_frame *take_pooled(uint32_t index)
{
    struct frame_class *class = &classes[index];
    pthread_mutex_lock(&class->lock);
    fl_frame *frame = class->free;
    if (frame != NULL) {
        class->free = frame->next;
        class->count--;
    }
    pthread_mutex_unlock(&class->lock);
    return frame;
}

static bool give_pooled(fl_frame *frame)
{
    struct frame_class *class = &classes[frame->size_class];
    const size_t count_max = POOLED_BYTES_MAX >> (CLASS_SHIFT_MIN + frame->size_class);
    pthread_mutex_lock(&class->lock);
    const bool kept = class->count < count_max;
    if (kept) {
        frame->next = class->free;
        class->free = frame;
        class->count++;
    }
    pthread_mutex_unlock(&class->lock);
    return kept;
}

fl_frame *fl_frame_new(size_t capacity)
{
    size_t total;
    if (!fl_add_size(capacity, sizeof(fl_frame), &total)) {
        return NULL;
    }
    const uint32_t index = class_of(total);
    fl_frame *frame = index < UNPOOLED ? take_pooled(index) : NULL;
    if (frame == NULL) {
        if (index < UNPOOLED) {
            total = (size_t)1 << (CLASS_SHIFT_MIN + index);
        }
        frame = fl_alloc(total);
        if (frame == NULL) {
            return NULL;
        }
        frame->size_class = index;
        frame->capacity = total - sizeof(fl_frame);
    }
    atomic_init(&frame->ref_count, 1);
    frame->size = 0;
    frame->next = NULL;
    return frame;
}

fl_frame *fl_frame_ref(fl_frame *frame)
{
    atomic_fetch_add_explicit(&frame->ref_count, 1, memory_order_relaxed);
    return frame;
}

void fl_frame_unref(fl_frame *frame)
{
    if (frame == NULL ||
        atomic_fetch_sub_explicit(&frame->ref_count, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (frame->size_class == UNPOOLED || !give_pooled(frame)) {
        fl_free(frame);
    }
}

void fl_frame_pool_drain(void)
{
    for (uint32_t i = 0; i < CLASS_COUNT; i++) {
        fl_frame *frame;
        while ((frame = take_pooled(i)) != NULL) {
            fl_free(frame);
        }
    }
}
