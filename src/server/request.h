/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way through the server. It is born on the shard of its connection, may walk to
 * other shards - it is at one shard at a time, and only the thread of that shard touches it - and
 * ends on the shard where it began, where its response is sent. */
#ifndef FL_REQUEST_H
#define FL_REQUEST_H
#include "base/arena.h"
#include "net/loop.h"
#include "protocol/api.h"
#include "protocol/frames.h"

typedef struct fl_server fl_server;
typedef struct fl_shard fl_shard;
typedef struct fl_session fl_session;
typedef struct fl_request fl_request;

typedef void (*fl_request_step)(fl_request *request);

struct fl_request {
    fl_task task;         /* for the walk */
    fl_request_step step; /* what it does when it arrives */
    fl_shard *at;         /* where it is, or is walking to */
    fl_session *session;
    fl_request *previous, *next; /* in the session */
    fl_request *next_write;      /* of the session, whose walk begins after this one's */
    fl_frame *frame;
    fl_arena arena;
    fl_request_header header;
    const fl_api *api;
    void *message;                    /* decoded; views the frame */
    const struct fl_denials *denials; /* tables that it may not touch (access.h); NULL: none */
    fl_gather out;                    /* the response */
    bool is_answered;
    fl_request_step cancel;   /* home only: the connection is gone, end the wait; may be NULL */
    void *state;              /* of the handler, in the arena */
    struct fl_change *change; /* of the catalog, ended by the answer; NULL: none */
};

/** Go to a shard and take `step` there; at once when it is there already. Thread: request->at. */
void fl_request_walk(fl_request *request, fl_shard *to, fl_request_step step);
/** Go home to the shard of the connection. */
void fl_request_walk_home(fl_request *request, fl_request_step step);
/** Answer with a message of the API's response type, go home, send, free; a change of the catalog
 * ends. The request must not be touched afterwards. bytes fields of 1 KiB and more must be kept by
 * fl_request_keep, or lie in the request's frame. */
void fl_request_reply(fl_request *request, const void *message);
/** Answer with a message of a response type that has no fields. */
void fl_request_reply_empty(fl_request *request);
/** Answer with an error. */
void fl_request_fail(fl_request *request, const fluss_error_t *error);
/** Keep a frame until the response is written. takes the reference in any case. */
FLUSS_CHECKED fluss_code_t fl_request_keep(fl_request *request, fl_frame *frame,
                                           fluss_error_t *err);
/** A copy of text in the request's arena, as a slice; empty when memory is out. */
fl_slice fl_request_text(fl_request *request, const char *text);
fl_server *fl_request_server(const fl_request *request);
#endif
