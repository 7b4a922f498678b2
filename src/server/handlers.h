/* SPDX-License-Identifier: Apache-2.0 */
/* What the server does for each API: one row of handlers.def, one function. A handler gets a
 * decoded request and ends it with fl_request_reply or fl_request_fail, now or later. */
#ifndef FL_HANDLERS_H
#define FL_HANDLERS_H
#include "server/access.h"
#include "server/request.h"

typedef enum fl_handler_place {
    FL_AT_HOME,        /* the shard of the connection */
    FL_AT_CATALOG,     /* shard 0 */
    FL_CHANGES_CATALOG /* shard 0, one after the other */
} fl_handler_place;

typedef struct fl_handler {
    int16_t key;
    fl_handler_place place;
    size_t message_size;
    fl_access access; /* what its user needs */
    fl_request_step run;
} fl_handler;

/** The handler of an API key; NULL: this server has none. */
const fl_handler *fl_handler_find(int16_t key);
/** All handlers, by rising key. */
const fl_handler *fl_handler_all(size_t *count);

#define FL_HANDLER(upper, lower, request, place, ...) void fl_handle_##lower(fl_request *req);
#include "server/handlers.def"
#undef FL_HANDLER
#endif
