/* SPDX-License-Identifier: Apache-2.0 */
/* Segments that a cluster has tiered to a file system which this machine can see. */
#ifndef FL_REMOTE_LOG_H
#define FL_REMOTE_LOG_H
#include "base/frame.h"
#include "protocol/messages.h"

/** Where the log around an offset lies: from the answer of a fetch. */
typedef struct fl_remote_log {
    fl_slice directory; /* of the bucket; views the answer's frame, as the ids of the segments do */
    fl_msg_pb_remote_log_segment *segments; /* ascending */
    size_t segment_count;
    size_t first_position; /* in the first segment, bytes */
} fl_remote_log;

/** Keep what an answer says. gives (fl_remote_log_deinit). @return FLUSS_KIND_UNSUPPORTED: not a
 * file system of this machine; FLUSS_KIND_CORRUPT: impossible numbers */
FLUSS_CHECKED fluss_code_t fl_remote_log_init(fl_remote_log *remote,
                                              const fl_msg_pb_remote_log_fetch_info *info,
                                              fluss_error_t *err);
void fl_remote_log_deinit(fl_remote_log *remote);
/**
 * Read whole batches, from the first that reaches behind `offset` on, over as many segments as it
 * takes. Blocks.
 *
 * @param size_max bytes, about; one batch comes however large
 * @param frame    gives (fl_frame_unref); without bytes: the segments end before the offset
 * @return FLUSS_E_STORAGE_EXCEPTION: a file that is missing, can't be read or ends too early, with
 *         its path
 * Thread: any.
 */
FLUSS_CHECKED fluss_code_t fl_remote_log_read(const fl_remote_log *remote, int64_t offset,
                                              size_t size_max, fl_frame **frame,
                                              fluss_error_t *err);
#endif
