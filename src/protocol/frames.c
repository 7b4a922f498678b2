/* SPDX-License-Identifier: Apache-2.0 */
/* Frame headers around messages; frames.h has the layout. */
#include "protocol/frames.h"

#include "protocol/messages.h"

enum { LENGTH_SIZE = 4 };

fluss_code_t fl_request_parse(fl_slice frame, fl_request_header *header, fl_slice *body,
                              fluss_error_t *err)
{
    if (frame.size < FL_REQUEST_HEADER_SIZE) {
        return fl_error_corrupt(err, "request frame of %zu bytes, its header alone has %d",
                                frame.size, FL_REQUEST_HEADER_SIZE);
    }
    *header = (fl_request_header){
        .api_key = (int16_t)fl_load_be16(frame.data),
        .api_version = (int16_t)fl_load_be16(frame.data + 2),
        .request_id = (int32_t)fl_load_be32(frame.data + 4),
    };
    *body = fl_slice_sub(frame, FL_REQUEST_HEADER_SIZE, frame.size - FL_REQUEST_HEADER_SIZE);
    return 0;
}

fluss_code_t fl_response_parse(fl_slice frame, fl_response_type *type, int32_t *request_id,
                               fl_slice *body, fluss_error_t *err)
{
    if (frame.size < FL_FAILURE_HEADER_SIZE) {
        return fl_error_corrupt(err, "response frame without content");
    }
    const uint8_t kind = frame.data[0];
    if (kind > FL_RESPONSE_FAILURE) {
        return fl_error_corrupt(err, "response frame of type %d, expected 0, 1 or 2", kind);
    }
    const bool is_failure = kind == FL_RESPONSE_FAILURE;
    const size_t header_size = is_failure ? FL_FAILURE_HEADER_SIZE : FL_RESPONSE_HEADER_SIZE;
    if (frame.size < header_size) {
        return fl_error_corrupt(err, "response frame of %zu bytes, its header alone has %zu",
                                frame.size, header_size);
    }
    *type = (fl_response_type)kind;
    *request_id = is_failure ? -1 : (int32_t)fl_load_be32(frame.data + 1);
    *body = fl_slice_sub(frame, header_size, frame.size - header_size);
    return 0;
}

/* Append length, header and message to an empty gather; the length once it is known. */
static fluss_code_t put_frame(const uint8_t *header, size_t header_size, const fl_msg_desc *desc,
                              const void *message, fl_gather *out, fluss_error_t *err)
{
    uint8_t length[LENGTH_SIZE] = {0};
    FL_ASSERT(out->size == 0);
    FL_TRY(fl_gather_copy(out, length, sizeof(length), err));
    FL_TRY(fl_gather_copy(out, header, header_size, err));
    FL_TRY(fl_msg_encode(desc, message, out, err));
    const size_t frame_size = out->size - LENGTH_SIZE;
    if (frame_size > INT32_MAX) {
        return fl_error_argument(err, "%s of %zu bytes does not fit a frame", fl_msg_name(desc),
                                 frame_size);
    }
    fl_store_be32(length, (uint32_t)frame_size);
    fl_gather_patch(out, 0, length, sizeof(length));
    return 0;
}

fluss_code_t fl_request_encode(fl_request_header header, const fl_msg_desc *desc,
                               const void *message, fl_gather *out, fluss_error_t *err)
{
    uint8_t bytes[FL_REQUEST_HEADER_SIZE];
    fl_store_be16(bytes, (uint16_t)header.api_key);
    fl_store_be16(bytes + 2, (uint16_t)header.api_version);
    fl_store_be32(bytes + 4, (uint32_t)header.request_id);
    return put_frame(bytes, sizeof(bytes), desc, message, out, err);
}

fluss_code_t fl_response_encode(int32_t request_id, const fl_msg_desc *desc, const void *message,
                                fl_gather *out, fluss_error_t *err)
{
    uint8_t bytes[FL_RESPONSE_HEADER_SIZE] = {FL_RESPONSE_SUCCESS};
    fl_store_be32(bytes + 1, (uint32_t)request_id);
    return put_frame(bytes, sizeof(bytes), desc, message, out, err);
}

fluss_code_t fl_error_response_encode(int32_t request_id, const fluss_error_t *error,
                                      fl_gather *out, fluss_error_t *err)
{
    const fl_slice text = fl_slice_str(error->message);
    const fl_msg_error_response message = {
        .error_code = error->code,
        .has_error_message = text.size != 0 && !fl_slice_equal_str(text, fl_code_text(error->code)),
        .error_message = text,
    };
    uint8_t bytes[FL_RESPONSE_HEADER_SIZE] = {FL_RESPONSE_ERROR};
    if (request_id < 0) {
        bytes[0] = FL_RESPONSE_FAILURE;
        return put_frame(bytes, FL_FAILURE_HEADER_SIZE, &fl_msg_desc_error_response, &message, out,
                         err);
    }
    fl_store_be32(bytes + 1, (uint32_t)request_id);
    return put_frame(bytes, sizeof(bytes), &fl_msg_desc_error_response, &message, out, err);
}

void fl_error_response_decode(fl_slice body, fluss_error_t *error)
{
    fl_arena arena; /* stays empty: an ErrorResponse has no repeated field */
    fl_arena_init(&arena);
    fl_msg_error_response message;
    if (fl_msg_decode(&fl_msg_desc_error_response, body, &arena, &message, error) != 0) {
        fl_error_prefix(error, "unreadable error response: ");
        return;
    }
    const fl_slice text = message.error_message;
    if (message.error_code == 0 || message.error_code == FLUSS_E_CLIENT) {
        (void)fl_error_server(error, FLUSS_E_SERVER_UNKNOWN, (const char *)text.data, text.size);
        fl_error_prefix(error, "error response with code %d: ", (int)message.error_code);
        return;
    }
    (void)fl_error_server(error, message.error_code, (const char *)text.data, text.size);
}
