/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of rpc.c, node.c and handshake.c. */
#ifndef FL_RPC_PRIVATE_H
#define FL_RPC_PRIVATE_H
#include <stdatomic.h>

#include "client/rpc.h"
#include "net/conn.h"
#include "protocol/frames.h"
#include "protocol/messages.h"

enum { FL_API_KEY_MIN = 1000, FL_API_KEY_COUNT = 96, FL_FRAME_SIZE_MAX = 1 << 30 };
enum { FL_BACKOFF_MS_MIN = 100, FL_BACKOFF_MS_MAX = 1000, FL_AUTHENTICATE_MS_MAX = 5000 };
enum { FL_LATE_COUNT_MAX = 64 };

typedef struct fl_node fl_node;

typedef struct fl_call {
    struct fl_call *next;
    fl_node *node;
    fl_api_key key;
    int32_t request_id;
    int64_t deadline_ms, sent_ms;
    fl_call_done done;
    void *context;
    fl_gather out;          /* until sent; the version is filled in then */
    fluss_error_t *failure; /* while it waits to be failed */
    bool was_sent;
} fl_call;

typedef struct fl_call_list {
    fl_call *first, **last;
} fl_call_list;

typedef enum {
    FL_NODE_IDLE,    /* no connection; the next call makes one */
    FL_NODE_BACKOFF, /* a connection failed; the timer makes the next */
    FL_NODE_CONNECTING,
    FL_NODE_HANDSHAKE, /* API_VERSIONS, then AUTHENTICATE */
    FL_NODE_READY,
    FL_NODE_CLOSING
} fl_node_state;

struct fl_node {
    fl_node *next;
    fl_rpc *rpc;
    fl_node_state state;
    fl_conn *conn;
    fl_timer *timer;      /* of the back-off, and of the handshake */
    int failed_count;     /* connections in a row that failed */
    int refused_count;    /* of AUTHENTICATE, by a server that may accept it later */
    int signed_out_count; /* sessions in a row whose calls were refused as not authenticated */
    int64_t heard_ms;     /* when the last frame came */
    int32_t request_id_next;
    fl_call_list waiting, in_flight;
    int32_t late_ids[FL_LATE_COUNT_MAX]; /* calls that were given up, answers may still come */
    size_t late_count;
    fluss_error_t why; /* code 0: the connection's own reason counts */
    int16_t version_min[FL_API_KEY_COUNT], version_max[FL_API_KEY_COUNT]; /* -1: not served */
    char address[FL_ADDRESS_SIZE_MAX];
};

struct fl_rpc {
    fl_loop *loop;
    const fluss_config_t *config;
    fl_node *nodes;
    fl_timer *limit; /* fires at limit_ms, the nearest deadline */
    int64_t limit_ms;
    fl_call_list failed; /* to be reported by the task */
    fl_task report;
    bool is_report_posted, is_closed;
    fluss_error_t closed_why;
    atomic_llong requests, responses, failures, connects, bytes_sent, bytes_received, in_flight;
};

void fl_call_list_init(fl_call_list *list);
/** Take a call out; false: it is not in the list. */
bool fl_call_list_remove(fl_call_list *list, fl_call *call);
/** Find by request id. */
fl_call *fl_call_list_find(const fl_call_list *list, int32_t request_id);
void fl_call_free(fl_call *call);
/** Report a failure from a fresh turn of the loop. takes the call. */
void fl_call_fail_later(fl_call *call, const fluss_error_t *err);

/** Make a connection if there is none. */
void fl_node_connect(fl_node *node);
/** Send what waits; the node is ready. */
void fl_node_send_waiting(fl_node *node);
/** Make the timer of a new node, so that no wait needs memory for it. */
FLUSS_CHECKED fluss_code_t fl_node_init_timer(fl_node *node, fluss_error_t *err);
/** Call fl_handshake_again after a back-off. */
void fl_node_authenticate_later(fl_node *node);
/** Close the connection for a reason of this side. */
void fl_node_fail(fl_node *node, const fluss_error_t *why);
/** The node's connection is open: say hello. */
void fl_handshake_start(fl_node *node);
/** Authenticate once more, after a refusal that can pass. */
void fl_handshake_again(fl_node *node);
/** A response that arrived before the node was ready. */
void fl_handshake_response(fl_node *node, fl_slice frame);
#endif
