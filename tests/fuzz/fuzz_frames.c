/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the decoding of frames. The first byte picks the direction (bit 7), the second the API of
 * a response; the rest is a frame without its length prefix.
 *
 * What must hold for any input: no access outside it, an error with a text or a message; a message
 * encodes to as many bytes as were measured, those decode again, and encode to the same bytes; the
 * arena stays within a multiple of the input's size. */
#include "base/alloc.h"
#include "protocol/api.h"
#include "protocol/frames.h"
#include "protocol/message_private.h"
#include "protocol/messages.h"

enum { IS_RESPONSE = 0x80, SELECTOR_SIZE = 2, ARENA_SIZE_MIN = 1 << 12, TEXT_SIZE_MAX = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All bytes of a gather in one block of the arena. */
static fl_slice flatten(const fl_gather *gather, fl_arena *arena)
{
    uint8_t *bytes = fl_arena_alloc(arena, gather->size);
    FL_ASSERT(bytes != NULL);
    size_t position = 0;
    struct iovec part;
    while (fl_gather_iov(gather, position, &part, 1) != 0) {
        memcpy(bytes + position, part.iov_base, part.iov_len);
        position += part.iov_len;
    }
    FL_ASSERT(position == gather->size);
    return fl_slice_of(bytes, position);
}

static fl_slice encode(const fl_msg_desc *desc, const void *message, fl_arena *arena)
{
    fl_gather out;
    fluss_error_t err;
    fl_gather_init(&out);
    const fluss_code_t rc = fl_msg_encode(desc, message, &out, &err);
    FL_ASSERT(rc == 0);
    FL_ASSERT(out.size == fl_msg_size(desc, message));
    const fl_slice bytes = flatten(&out, arena);
    fl_gather_deinit(&out);
    return bytes;
}

static void check_text(const fl_msg_desc *desc, const void *message)
{
    fl_buf text;
    fluss_error_t err;
    fl_buf_init(&text, TEXT_SIZE_MAX);
    const fluss_code_t rc = fl_msg_to_json(desc, message, &text, &err);
    FL_ASSERT(rc == 0 || err.message[0] != '\0');
    fl_buf_deinit(&text);
}

static void check_message(const fl_msg_desc *desc, fl_slice body)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_error_t err;
    void *message = fl_alloc(fl_msg_struct_size(desc));
    FL_ASSERT(message != NULL);
    const fluss_code_t rc = fl_msg_decode(desc, body, &arena, message, &err);
    /* Blocks end with unused room: at most four times what was asked for. */
    FL_ASSERT(arena.size_total <= ARENA_SIZE_MIN + 4 * FL_MSG_GROWTH_MAX * body.size);
    if (rc != 0) {
        FL_ASSERT(rc == FLUSS_E_CORRUPT_MESSAGE && err.message[0] != '\0');
    } else {
        const fl_slice once = encode(desc, message, &arena);
        check_text(desc, message);
        const fluss_code_t again = fl_msg_decode(desc, once, &arena, message, &err);
        FL_ASSERT(again == 0);
        FL_ASSERT(fl_slice_equal(encode(desc, message, &arena), once));
    }
    fl_free(message);
    fl_arena_deinit(&arena);
}

static void check_request(fl_slice frame)
{
    fl_request_header header;
    fl_slice body;
    fluss_error_t err;
    if (fl_request_parse(frame, &header, &body, &err) != 0) {
        FL_ASSERT(frame.size < FL_REQUEST_HEADER_SIZE);
        return;
    }
    const fl_api *api = fl_api_find(header.api_key);
    if (api != NULL) {
        check_message(api->request, body);
    }
}

static void check_response(const fl_api *api, fl_slice frame)
{
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    fluss_error_t err;
    if (fl_response_parse(frame, &type, &request_id, &body, &err) != 0) {
        FL_ASSERT(err.message[0] != '\0');
        return;
    }
    if (type == FL_RESPONSE_SUCCESS) {
        check_message(api->response, body);
        return;
    }
    check_message(&fl_msg_desc_error_response, body);
    fl_error_response_decode(body, &err);
    FL_ASSERT(err.code != 0);
    fl_gather out;
    fl_gather_init(&out);
    const fluss_code_t rc = fl_error_response_encode(request_id, &err, &out, NULL);
    FL_ASSERT(rc == 0);
    fl_gather_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < SELECTOR_SIZE) {
        return 0;
    }
    const fl_slice frame = fl_slice_of(data + SELECTOR_SIZE, size - SELECTOR_SIZE);
    if ((data[0] & IS_RESPONSE) == 0) {
        check_request(frame);
        return 0;
    }
    size_t count;
    const fl_api *all = fl_api_all(&count);
    check_response(&all[data[1] % count], frame);
    return 0;
}
