/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of a server, from its settings, and accepting on them. */
#ifndef FL_LISTENERS_H
#define FL_LISTENERS_H
#include "server/server.h"

/** Fill server->endpoints from bind.listeners, advertised.listeners and security.protocol.map.
 * @return FLUSS_KIND_ARGUMENT naming the item. Thread: any, at the start. */
FLUSS_CHECKED fluss_code_t fl_listeners_configure(fl_server *server, fluss_error_t *err);
/** Listen on all; all or none. Thread: shard 0. */
FLUSS_CHECKED fluss_code_t fl_listeners_open(fl_server *server, fluss_error_t *err);
/** Thread: shard 0. */
void fl_listeners_close(fl_server *server);
#endif
