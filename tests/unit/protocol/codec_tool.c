/* SPDX-License-Identifier: Apache-2.0 */
/* The codec on a pipe, for tests in Python. One command a line on standard input, one answer a line
 * on standard output, in the same order:
 *
 *   message NAME HEX   decode and encode again   ok HEX JSON
 *   frame KEY request|response HEX               ok HEX HEADER NAME JSON
 *                      the same for a whole frame with its length prefix; HEADER is key/version/id
 *                      of a request, type/id of a response; KEY is the request's, for a response
 *   apis               the API table             ok JSON
 *   anything else, or bytes that do not decode   error TEXT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "protocol/api.h"
#include "protocol/frames.h"
#include "protocol/messages.h"

enum { OUTPUT_SIZE_MAX = 1 << 28, NAME_SIZE = 64, IOV_COUNT = 64 };

typedef struct tool_state {
    fl_arena arena;
    fl_buf bytes, text;
    fluss_error_t error;
} tool_state;

static int hex_digit(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = digit != '\0' ? strchr(digits, digit) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

static fluss_code_t read_hex(tool_state *tool, const char *hex)
{
    fl_buf_reset(&tool->bytes);
    for (; hex[0] != '\0'; hex += 2) {
        const int high = hex_digit(hex[0]), low = high < 0 ? -1 : hex_digit(hex[1]);
        if (low < 0) {
            return fl_error_argument(&tool->error, "not hex: %.8s", hex);
        }
        FL_TRY(fl_buf_append_byte(&tool->bytes, (uint8_t)(high << 4 | low), &tool->error));
    }
    return 0;
}

static void print_gather(const fl_gather *gather)
{
    struct iovec parts[IOV_COUNT];
    size_t position = 0;
    while (position < gather->size) {
        const size_t count = fl_gather_iov(gather, position, parts, IOV_COUNT);
        for (size_t i = 0; i < count; i++) {
            const uint8_t *bytes = parts[i].iov_base;
            for (size_t k = 0; k < parts[i].iov_len; k++) {
                (void)printf("%02x", bytes[k]);
            }
            position += parts[i].iov_len;
        }
    }
}

static const fl_msg_desc *find_message(const char *name)
{
    size_t count;
    const fl_msg_desc *const *all = fl_msg_all(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fl_msg_name(all[i]), name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

static fluss_code_t decode(tool_state *tool, const fl_msg_desc *desc, fl_slice bytes,
                           void **message)
{
    *message = fl_arena_alloc(&tool->arena, fl_msg_struct_size(desc));
    if (*message == NULL) {
        return fl_error_nomem(&tool->error);
    }
    FL_TRY(fl_msg_decode(desc, bytes, &tool->arena, *message, &tool->error));
    fl_buf_reset(&tool->text);
    return fl_msg_to_json(desc, *message, &tool->text, &tool->error);
}

static fluss_code_t answer_message(tool_state *tool, const char *name, const char *hex)
{
    const fl_msg_desc *desc = find_message(name);
    if (desc == NULL) {
        return fl_error_argument(&tool->error, "no message is called %s", name);
    }
    FL_TRY(read_hex(tool, hex));
    void *message;
    FL_TRY(decode(tool, desc, fl_buf_slice(&tool->bytes), &message));
    fl_gather out;
    fl_gather_init(&out);
    fluss_code_t rc = fl_msg_encode(desc, message, &out, &tool->error);
    if (rc == 0 && out.size != fl_msg_size(desc, message)) {
        rc = fl_error_argument(&tool->error, "%zu bytes, measured as %zu", out.size,
                               fl_msg_size(desc, message));
    }
    if (rc == 0) {
        (void)printf("ok ");
        print_gather(&out);
        (void)printf(" %.*s\n", (int)tool->text.size, (const char *)tool->text.data);
    }
    fl_gather_deinit(&out);
    return rc;
}

static void print_frame(const tool_state *tool, const fl_gather *out, const char *header,
                        const fl_msg_desc *desc)
{
    (void)printf("ok ");
    print_gather(out);
    (void)printf(" %s %s %.*s\n", header, fl_msg_name(desc), (int)tool->text.size,
                 (const char *)tool->text.data);
}

static fluss_code_t answer_request(tool_state *tool, const fl_api *api, fl_slice frame)
{
    fl_request_header header;
    fl_slice body;
    void *message;
    FL_TRY(fl_request_parse(frame, &header, &body, &tool->error));
    FL_TRY(decode(tool, api->request, body, &message));
    fl_gather out;
    fl_gather_init(&out);
    const fluss_code_t rc = fl_request_encode(header, api->request, message, &out, &tool->error);
    if (rc == 0) {
        char text[NAME_SIZE];
        (void)snprintf(text, sizeof(text), "%d/%d/%" PRId32, header.api_key, header.api_version,
                       header.request_id);
        print_frame(tool, &out, text, api->request);
    }
    fl_gather_deinit(&out);
    return rc;
}

/* An error response is encoded again from the fluss_error_t that it gives. */
static fluss_code_t answer_response(tool_state *tool, const fl_api *api, fl_slice frame)
{
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    void *message;
    FL_TRY(fl_response_parse(frame, &type, &request_id, &body, &tool->error));
    const fl_msg_desc *desc =
        type == FL_RESPONSE_SUCCESS ? api->response : &fl_msg_desc_error_response;
    FL_TRY(decode(tool, desc, body, &message));
    fl_gather out;
    fl_gather_init(&out);
    fluss_code_t rc;
    if (type == FL_RESPONSE_SUCCESS) {
        rc = fl_response_encode(request_id, desc, message, &out, &tool->error);
    } else {
        fluss_error_t sent;
        fl_error_response_decode(body, &sent);
        rc = fl_error_response_encode(request_id, &sent, &out, &tool->error);
    }
    if (rc == 0) {
        char text[NAME_SIZE];
        (void)snprintf(text, sizeof(text), "%d/%" PRId32, type, request_id);
        print_frame(tool, &out, text, desc);
    }
    fl_gather_deinit(&out);
    return rc;
}

static fluss_code_t answer_frame(tool_state *tool, int key, const char *direction, const char *hex)
{
    const fl_api *api = key <= INT16_MAX ? fl_api_find((int16_t)key) : NULL;
    if (api == NULL) {
        return fl_error_argument(&tool->error, "no API has the key %d", key);
    }
    FL_TRY(read_hex(tool, hex));
    const fl_slice all = fl_buf_slice(&tool->bytes);
    if (all.size < 4 || fl_load_be32(all.data) != all.size - 4) {
        return fl_error_argument(&tool->error, "length prefix does not match");
    }
    const fl_slice frame = fl_slice_sub(all, 4, all.size - 4);
    return strcmp(direction, "request") == 0 ? answer_request(tool, api, frame)
                                             : answer_response(tool, api, frame);
}

static fluss_code_t answer_apis(void)
{
    size_t count;
    const fl_api *all = fl_api_all(&count);
    (void)printf("ok [");
    for (size_t i = 0; i < count; i++) {
        (void)printf("%s{\"key\": %d, \"name\": \"%s\", \"versions\": [%d, %d], \"public\": %s, "
                     "\"request\": \"%s\", \"response\": \"%s\"}",
                     i != 0 ? ", " : "", all[i].key, all[i].name, all[i].version_min,
                     all[i].version_max, all[i].is_public ? "true" : "false",
                     fl_msg_name(all[i].request), fl_msg_name(all[i].response));
    }
    (void)printf("]\n");
    return 0;
}

static fluss_code_t answer(tool_state *tool, char *line)
{
    char *words[4] = {line, NULL, NULL, NULL};
    static char nothing[1];
    for (size_t i = 1; i < FL_COUNT_OF(words); i++) {
        words[i] = strchr(words[i - 1], ' ');
        if (words[i] != NULL) {
            *words[i]++ = '\0';
        } else {
            words[i] = nothing;
        }
    }
    if (strcmp(words[0], "message") == 0) {
        return answer_message(tool, words[1], words[2]);
    }
    if (strcmp(words[0], "frame") == 0) {
        return answer_frame(tool, (int)strtol(words[1], NULL, 10), words[2], words[3]);
    }
    if (strcmp(words[0], "apis") == 0) {
        return answer_apis();
    }
    return fl_error_argument(&tool->error, "unknown command %s", words[0]);
}

/* The next line without its newline, terminated. False at the end of the input. */
static bool read_line(fl_buf *line)
{
    char part[4096];
    fl_buf_reset(line);
    while (fgets(part, sizeof(part), stdin) != NULL) {
        const size_t size = strlen(part);
        const bool is_last = size != 0 && part[size - 1] == '\n';
        if (fl_buf_append(line, part, is_last ? size - 1 : size, NULL) != 0) {
            return false;
        }
        if (is_last) {
            return fl_buf_append_byte(line, 0, NULL) == 0;
        }
    }
    return false;
}

int main(void)
{
    tool_state tool = {0};
    fl_buf line;
    fl_buf_init(&line, OUTPUT_SIZE_MAX);
    fl_buf_init(&tool.bytes, OUTPUT_SIZE_MAX);
    fl_buf_init(&tool.text, OUTPUT_SIZE_MAX);
    while (read_line(&line)) {
        if (answer(&tool, (char *)line.data) != 0) {
            (void)printf("error %s\n", tool.error.message);
        }
        (void)fflush(stdout);
        fl_arena_reset(&tool.arena);
    }
    fl_arena_deinit(&tool.arena);
    fl_buf_deinit(&tool.bytes);
    fl_buf_deinit(&tool.text);
    fl_buf_deinit(&line);
    return 0;
}
