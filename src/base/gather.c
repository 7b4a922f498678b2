/* SPDX-License-Identifier: Apache-2.0 */
/* A list of parts in stream order. Copied bytes lie in one buffer, which may move while it grows;
 * their parts hold positions in it, never pointers. */
#include "base/gather.h"

#include "base/alloc.h"

enum { COPIED_SIZE_MAX = 1 << 30 };

struct fl_gather_part {
    const uint8_t *data; /* NULL: in `copied` */
    size_t position;     /* in `copied` */
    size_t size;
};

void fl_gather_init(fl_gather *gather)
{
    *gather = (fl_gather){0};
    fl_buf_init(&gather->copied, COPIED_SIZE_MAX);
}

void fl_gather_deinit(fl_gather *gather)
{
    for (size_t i = 0; i < gather->owner_count; i++) {
        fl_frame_unref(gather->owners[i]);
    }
    fl_free(gather->owners);
    fl_free(gather->parts);
    fl_buf_deinit(&gather->copied);
    fl_gather_init(gather);
}

static fluss_code_t add_part(fl_gather *gather, fl_gather_part part, fluss_error_t *err)
{
    fl_gather_part *parts =
        fl_grow(gather->parts, &gather->part_capacity, gather->part_count, sizeof(part));
    if (parts == NULL) {
        return fl_error_nomem(err);
    }
    gather->parts = parts;
    gather->parts[gather->part_count++] = part;
    gather->size += part.size;
    return 0;
}

fluss_code_t fl_gather_copy(fl_gather *gather, const void *data, size_t size, fluss_error_t *err)
{
    const size_t position = gather->copied.size;
    FL_TRY(fl_buf_append(&gather->copied, data, size, err));
    fl_gather_part *last = gather->part_count != 0 ? &gather->parts[gather->part_count - 1] : NULL;
    if (last != NULL && last->data == NULL) {
        last->size += size;
        gather->size += size;
        return 0;
    }
    return add_part(gather, (fl_gather_part){.position = position, .size = size}, err);
}

fluss_code_t fl_gather_view(fl_gather *gather, fl_slice bytes, fluss_error_t *err)
{
    return bytes.size == 0
               ? 0
               : add_part(gather, (fl_gather_part){.data = bytes.data, .size = bytes.size}, err);
}

fluss_code_t fl_gather_own(fl_gather *gather, fl_frame *frame, fluss_error_t *err)
{
    fl_frame **owners =
        fl_grow(gather->owners, &gather->owner_capacity, gather->owner_count, sizeof(*owners));
    if (owners == NULL) {
        return fl_error_nomem(err);
    }
    gather->owners = owners;
    gather->owners[gather->owner_count++] = frame;
    return 0;
}

void fl_gather_patch(fl_gather *gather, size_t position, const void *data, size_t size)
{
    FL_ASSERT(gather->part_count != 0 && gather->parts[0].data == NULL);
    FL_ASSERT(position + size <= gather->parts[0].size);
    memcpy(gather->copied.data + position, data, size);
}

size_t fl_gather_iov(const fl_gather *gather, size_t position, struct iovec *iov, size_t count_max)
{
    size_t count = 0;
    for (size_t i = 0; i < gather->part_count && count < count_max; i++) {
        const fl_gather_part *part = &gather->parts[i];
        if (position >= part->size) {
            position -= part->size;
            continue;
        }
        const uint8_t *data =
            part->data != NULL ? part->data : gather->copied.data + part->position;
        iov[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)(data + position),
                                      .iov_len = part->size - position};
        position = 0;
    }
    return count;
}

void fl_gather_move(fl_gather *from, fl_gather *to)
{
    *to = *from;
    fl_gather_init(from);
}
