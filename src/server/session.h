/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: authentication, requests in flight, back-pressure. Belongs to one shard. */
#ifndef FL_SESSION_H
#define FL_SESSION_H
#include "net/conn.h"
#include "server/request.h"
#include "server/sasl.h"

typedef struct fl_endpoint fl_endpoint;

struct fl_session {
    fl_shard *shard;
    fl_session *previous, *next; /* of the shard */
    fl_conn *conn;               /* NULL: closed */
    const fl_endpoint *endpoint; /* the listener it came by */
    char host[272];              /* the address that metadata names to this client */
    int32_t port;
    char peer[46]; /* the client's address, without port */
    bool is_authenticated;
    bool is_checked; /* requests need ACLs (access.h) */
    char user[FL_USER_SIZE_MAX + 1];
    fl_request *requests;
    fl_request *last_write; /* the last of the writes whose walk is not over */
    size_t request_count, request_bytes;
    bool is_full; /* reading is paused: too many requests or bytes in flight */
};

/** Serve an accepted socket. takes fd in any case. Thread: the shard's loop. */
void fl_session_open(fl_shard *shard, const fl_endpoint *endpoint, int fd);
/** Close; requests in flight end by themselves. */
void fl_session_close(fl_session *session);
/** Send the response of a request that came home, and free the request. */
void fl_session_finish(fl_request *request);
#endif
