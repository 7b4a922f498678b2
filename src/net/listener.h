/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket, TCP or Unix. */
#ifndef FL_LISTENER_H
#define FL_LISTENER_H
#include "net/loop.h"

typedef struct fl_listener fl_listener;

/**
 * Listen on "host:port" (port 0: any), "[v6]:port" or "unix:PATH" (an old socket file there is
 * replaced).
 *
 * @param accepted takes `fd` (non-blocking, close on exec); runs on the loop, once a connection
 * @return FLUSS_E_NETWORK_EXCEPTION with the address and the reason
 * Thread: loop.
 */
FLUSS_CHECKED fluss_code_t fl_listener_open(fl_loop *loop, const char *address,
                                            void (*accepted)(int fd, void *context), void *context,
                                            fl_listener **listener, fluss_error_t *err);
/** "127.0.0.1:9123" with the real port; borrowed. */
const char *fl_listener_address(const fl_listener *listener);
/** NULL allowed. Thread: loop. */
void fl_listener_close(fl_listener *listener);

/** Split "host:port" or "[v6]:port". @param host borrowed room of `host_size` bytes, terminated. */
FLUSS_CHECKED fluss_code_t fl_address_parse(const char *address, char *host, size_t host_size,
                                            uint16_t *port, fluss_error_t *err);
#endif
