/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a tablet's log for a response: whole batches, as they are or projected. */
#ifndef FL_FETCH_READ_H
#define FL_FETCH_READ_H
#include "protocol/messages.h"
#include "server/tablet.h"

typedef struct fl_fetch_read {
    const fl_msg_pb_fetch_log_req_for_table *table; /* projection */
    const fl_msg_pb_fetch_log_req_for_bucket *bucket;
    size_t size_max; /* bytes left in the response */
    bool is_first;   /* nothing was read yet: one batch comes, however large */
} fl_fetch_read;

/**
 * Fill the answer of one bucket. The records are kept with the request.
 *
 * @return FLUSS_E_LOG_OFFSET_OUT_OF_RANGE, FLUSS_E_INVALID_COLUMN_PROJECTION, or an error of the
 * log. Thread: the tablet's shard, where the request is.
 */
FLUSS_CHECKED fluss_code_t fl_fetch_read_bucket(fl_request *req, fl_tablet *tablet,
                                                const fl_fetch_read *what,
                                                fl_msg_pb_fetch_log_resp_for_bucket *answer,
                                                fluss_error_t *err);
/** The batches from the one that holds `from` to the end of the log, in one piece.
 * @param size_max more bytes are an error */
FLUSS_CHECKED fluss_code_t fl_fetch_read_tail(fl_request *req, fl_tablet *tablet, int64_t from,
                                              size_t size_max, fl_slice *records,
                                              fluss_error_t *err);
#endif
