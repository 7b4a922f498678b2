/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and responses: one connection an address, made on first use, with handshake and SASL,
 * requests pipelined and matched by id. Everything: Thread: loop. */
#ifndef FL_RPC_H
#define FL_RPC_H
#include "client/config.h"
#include "net/loop.h"
#include "protocol/api.h"

typedef struct fl_rpc fl_rpc;

enum { FL_ADDRESS_SIZE_MAX = 320 };

/** A response; borrowed during the callback. bytes and string fields view the frame, which
 * fl_frame_ref keeps alive; repeated fields lie in the arena. */
typedef struct fl_reply {
    const void *message;
    fl_frame *frame;
} fl_reply;

/** Exactly one of reply and err is given. @param was_sent false: the server has not seen any byte
 */
typedef void (*fl_call_done)(void *context, const fl_reply *reply, const fluss_error_t *err,
                             bool was_sent);

typedef struct fl_call_spec {
    const char *address; /* copied */
    fl_api_key key;
    const void *message; /* bytes fields of 1 KiB and more stay valid until `done` */
    int64_t timeout_ms;
    fl_call_done done; /* once, never from inside fl_rpc_call */
    void *context;
    fl_frame *const *frames; /* kept until the request is written; shared */
    size_t frame_count;
} fl_call_spec;

/** How much traffic there was. */
typedef struct fl_rpc_counts {
    int64_t requests, responses, failures, connects, bytes_sent, bytes_received, in_flight;
} fl_rpc_counts;

/** gives (fl_rpc_free). `config` outlives it. Thread: any, before the loop is used. */
fl_rpc *fl_rpc_new(fl_loop *loop, const fluss_config_t *config) FLUSS_CHECKED;
/** Close all connections and end the timer; every call fails with `why`, later ones too.
 * Thread: loop. */
void fl_rpc_close(fl_rpc *rpc, const fluss_error_t *why);
/** After the loop has ended. NULL allowed. Thread: any. */
void fl_rpc_free(fl_rpc *rpc);
/** Send a request. On failure (memory, closed, a message that can't be encoded) `done` is not
 * called. */
FLUSS_CHECKED fluss_code_t fl_rpc_call(fl_rpc *rpc, const fl_call_spec *spec, fluss_error_t *err);
/** Thread: any. */
fl_rpc_counts fl_rpc_counts_read(const fl_rpc *rpc);
#endif
