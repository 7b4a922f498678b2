/* SPDX-License-Identifier: Apache-2.0 */
/* Frame headers of requests and responses, big endian. All sizes without the length prefix, which
 * fl_conn strips.
 *
 *   request           api_key i16 · api_version i16 · request_id i32 · message
 *   success response  u8 0 · request_id i32 · message
 *   error response    u8 1 · request_id i32 · ErrorResponse
 *   server failure    u8 2 · ErrorResponse
 * Source: MessageCodec, ResponseType, Fluss 1.0. */
#ifndef FL_FRAMES_H
#define FL_FRAMES_H
#include "protocol/message.h"

enum { FL_REQUEST_HEADER_SIZE = 8, FL_RESPONSE_HEADER_SIZE = 5, FL_FAILURE_HEADER_SIZE = 1 };

typedef enum {
    FL_RESPONSE_SUCCESS = 0,
    FL_RESPONSE_ERROR = 1,
    FL_RESPONSE_FAILURE = 2
} fl_response_type;

typedef struct fl_request_header {
    int16_t api_key, api_version;
    int32_t request_id;
} fl_request_header;

/** Read a request frame. @param body views the message. */
FLUSS_CHECKED fluss_code_t fl_request_parse(fl_slice frame, fl_request_header *header,
                                            fl_slice *body, fluss_error_t *err);
/** Read a response frame. request_id is -1 for a server failure. */
FLUSS_CHECKED fluss_code_t fl_response_parse(fl_slice frame, fl_response_type *type,
                                             int32_t *request_id, fl_slice *body,
                                             fluss_error_t *err);
/** Append a frame with its length prefix to a gather without bytes (it may own frames). On failure
 * the gather is good for deinit only. Errors: those of fl_msg_encode; a frame past 2 GiB. */
FLUSS_CHECKED fluss_code_t fl_request_encode(fl_request_header header, const fl_msg_desc *desc,
                                             const void *message, fl_gather *out,
                                             fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_response_encode(int32_t request_id, const fl_msg_desc *desc,
                                              const void *message, fl_gather *out,
                                              fluss_error_t *err);
/** The error as an error response, the message left out when it equals the code's default text;
 * request_id < 0: as a server failure. */
FLUSS_CHECKED fluss_code_t fl_error_response_encode(int32_t request_id, const fluss_error_t *error,
                                                    fl_gather *out, fluss_error_t *err);
/** The body of an error response as an error. Always fills `error`, also for a malformed body. */
void fl_error_response_decode(fl_slice body, fluss_error_t *error);
#endif
