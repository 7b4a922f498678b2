/* SPDX-License-Identifier: Apache-2.0 */
/* Reference-counted byte blocks of fixed size classes, pooled: a fresh megabyte from the C library
 * costs more than the copy it saves. A frame received from the network lives until the last slice
 * into it, Arrow array or queued part of a request is done with it. */
#ifndef FL_FRAME_H
#define FL_FRAME_H
#include <stdatomic.h>

#include "base/error.h"
#include "base/slice.h"

typedef struct fl_frame {
    atomic_int ref_count;
    uint32_t size_class;
    size_t size, capacity;       /* size: bytes in use, set by the owner */
    struct fl_frame *next;       /* while in the pool */
    _Alignas(16) uint8_t data[]; /* as aligned as any block of fl_alloc */
} fl_frame;

/** A frame with room for at least `capacity` bytes, size 0, one reference; NULL when memory is out.
 * Thread: any. */
fl_frame *fl_frame_new(size_t capacity) FLUSS_CHECKED;
/** shares. Thread: any. */
fl_frame *fl_frame_ref(fl_frame *frame);
/** Drop a reference; the last one returns the frame to the pool. NULL allowed. Thread: any. */
void fl_frame_unref(fl_frame *frame);
/** Free every pooled frame; for leak checks at the end of a test or process. */
void fl_frame_pool_drain(void);
#endif
