/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of a request from shard to shard, and its answers. The response is encoded where the
 * answer is known; only the finished bytes go home. */
#include "server/request.h"

#include "base/log.h"
#include "server/catalog.h"
#include "server/server.h"
#include "server/session.h"

static void arrive(fl_task *task)
{
    fl_request *request = FL_CONTAINER_OF(task, fl_request, task);
    request->step(request);
}

void fl_request_walk(fl_request *request, fl_shard *to, fl_request_step step)
{
    if (request->at == to) {
        step(request);
        return;
    }
    request->at = to;
    request->step = step;
    request->task.run = arrive;
    fl_loop_post(to->loop, &request->task);
}

void fl_request_walk_home(fl_request *request, fl_request_step step)
{
    fl_request_walk(request, request->session->shard, step);
}

static void answer_error(fl_request *request, const fluss_error_t *error)
{
    fluss_error_t err;
    fl_gather_deinit(&request->out);
    request->is_answered =
        fl_error_response_encode(request->header.request_id, error, &request->out, &err) == 0;
    if (!request->is_answered) {
        fl_log(FL_LOG_ERROR, "server", "%s: no memory for an error response", request->api->name);
        fl_gather_deinit(&request->out);
    }
}

static void go_home(fl_request *request)
{
    if (request->change != NULL) {
        fl_change_end(request->change);
    }
    fl_request_walk_home(request, fl_session_finish);
}

void fl_request_reply(fl_request *request, const void *message)
{
    fluss_error_t err;
    request->is_answered = true;
    /* Frames that were kept for the response are in `out` already, as owners without bytes. */
    if (fl_response_encode(request->header.request_id, request->api->response, message,
                           &request->out, &err) != 0) {
        answer_error(request, &err);
    }
    go_home(request);
}

void fl_request_reply_empty(fl_request *request)
{
    static const char empty = 0; /* what protogen makes of a message without fields */
    FL_ASSERT(fl_msg_struct_size(request->api->response) == sizeof(empty));
    fl_request_reply(request, &empty);
}

void fl_request_fail(fl_request *request, const fluss_error_t *error)
{
    /* Codes below -1 are for callers of the library, not for the wire. */
    fluss_error_t sent = *error;
    if (sent.code == FLUSS_E_CLIENT || sent.code == 0) {
        sent.code = FLUSS_E_SERVER_UNKNOWN;
    }
    answer_error(request, &sent);
    go_home(request);
}

fluss_code_t fl_request_keep(fl_request *request, fl_frame *frame, fluss_error_t *err)
{
    const fluss_code_t rc = fl_gather_own(&request->out, frame, err);
    if (rc != 0) {
        fl_frame_unref(frame);
    }
    return rc;
}

fl_slice fl_request_text(fl_request *request, const char *text)
{
    const char *copy = fl_arena_strdup(&request->arena, text);
    return copy != NULL ? fl_slice_str(copy) : (fl_slice){0};
}

fl_server *fl_request_server(const fl_request *request)
{
    return request->session->shard->server;
}
