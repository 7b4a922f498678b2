/* SPDX-License-Identifier: Apache-2.0 */
/* An outgoing byte stream made of pieces: small ones copied, large ones by reference, together with
 * references to the frames that hold them. Built by the codec, consumed by a connection with
 * writev. */
#ifndef FL_GATHER_H
#define FL_GATHER_H
#include <sys/uio.h>

#include "base/buf.h"
#include "base/frame.h"

typedef struct fl_gather_part fl_gather_part;

typedef struct fl_gather {
    fl_buf copied; /* all copied bytes, in order */
    fl_gather_part *parts;
    size_t part_count, part_capacity;
    fl_frame **owners; /* released by deinit */
    size_t owner_count, owner_capacity;
    size_t size; /* bytes in all */
} fl_gather;

void fl_gather_init(fl_gather *gather);
void fl_gather_deinit(fl_gather *gather);
/** Append a copy. */
FLUSS_CHECKED fluss_code_t fl_gather_copy(fl_gather *gather, const void *data, size_t size,
                                          fluss_error_t *err);
/** Append by reference: the bytes stay valid until deinit, which fl_gather_own can ensure. */
FLUSS_CHECKED fluss_code_t fl_gather_view(fl_gather *gather, fl_slice bytes, fluss_error_t *err);
/** Keep a frame until deinit. takes the reference (only on success). */
FLUSS_CHECKED fluss_code_t fl_gather_own(fl_gather *gather, fl_frame *frame, fluss_error_t *err);
/** Overwrite copied bytes, which lie at `position` in the stream and before the first referenced
 * piece. */
void fl_gather_patch(fl_gather *gather, size_t position, const void *data, size_t size);
/** Fill at most `count_max` iovecs with the bytes from `position` on; how many. */
size_t fl_gather_iov(const fl_gather *gather, size_t position, struct iovec *iov, size_t count_max);
/** Move: `to` (uninitialised) takes all, `from` is empty afterwards. */
void fl_gather_move(fl_gather *from, fl_gather *to);
#endif
