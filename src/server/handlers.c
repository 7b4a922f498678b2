/* SPDX-License-Identifier: Apache-2.0 */
/* The table of handlers, and the search in it. */
#include "server/handlers.h"

#include <stdlib.h>

#include "server/handlers_private.h"
#include "server/server.h"

static const fl_handler handlers[] = {
#define FL_HANDLER(upper, lower, request, where, ...) \
    {.key = FL_API_##upper,                           \
     .place = (where),                                \
     .message_size = sizeof(fl_msg_##request),        \
     .access = __VA_ARGS__,                           \
     .run = fl_handle_##lower},
#include "server/handlers.def"
#undef FL_HANDLER
};

static int compare_key(const void *key, const void *handler)
{
    return *(const int16_t *)key - ((const fl_handler *)handler)->key;
}

const fl_handler *fl_handler_find(int16_t key)
{
    return bsearch(&key, handlers, FL_COUNT_OF(handlers), sizeof(handlers[0]), compare_key);
}

const fl_handler *fl_handler_all(size_t *count)
{
    *count = FL_COUNT_OF(handlers);
    return handlers;
}

fluss_code_t fl_find_table(fl_request *req, const fl_msg_pb_table_path *path, fl_table **table,
                           fluss_error_t *err)
{
    *table =
        fl_catalog_table(fl_request_server(req)->catalog, path->database_name, path->table_name);
    if (*table == NULL) {
        return fl_error(err, FLUSS_E_TABLE_NOT_EXIST, FLUSS_KIND_SERVER,
                        "Table '%.*s.%.*s' does not exist.", FL_SLICE_ARG(path->database_name),
                        FL_SLICE_ARG(path->table_name));
    }
    return 0;
}

fluss_code_t fl_find_partitioned(fl_request *req, const fl_msg_pb_table_path *path,
                                 fl_table **table, fluss_error_t *err)
{
    FL_TRY(fl_find_table(req, path, table, err));
    if (!(*table)->info->is_partitioned) {
        return fl_error(err, FLUSS_E_TABLE_NOT_PARTITIONED, FLUSS_KIND_SERVER,
                        "Table '%.*s.%.*s' is not a partitioned table.",
                        FL_SLICE_ARG(path->database_name), FL_SLICE_ARG(path->table_name));
    }
    return 0;
}

fluss_code_t fl_request_keep_text(fl_request *req, fl_frame *frame, fl_slice *text,
                                  fluss_error_t *err)
{
    *text = fl_frame_slice(frame);
    return fl_request_keep(req, fl_frame_ref(frame), err);
}
