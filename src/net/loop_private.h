/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder know of a loop. */
#ifndef FL_LOOP_PRIVATE_H
#define FL_LOOP_PRIVATE_H
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "net/loop.h"

enum { FL_LOOP_SCRATCH_SIZE = 64 * 1024 };

struct fl_conn;

struct fl_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t before_poll; /* both write the output that gathered in this turn */
    uv_check_t after_poll;
    pthread_t thread;
    _Atomic(fl_task *) posted; /* newest first */
    struct fl_conn *unflushed; /* connections with new output */
    fl_task stop;
    char name[16];
    uint8_t scratch[FL_LOOP_SCRATCH_SIZE]; /* bytes of one read; never kept over a turn */
};

/** libuv's reason as text, for messages. */
#define FL_UV_REASON(rc) uv_strerror(rc)

/** Write out what connections have gathered (conn_write.c). */
void fl_conn_flush_all(fl_loop *loop);
#endif
