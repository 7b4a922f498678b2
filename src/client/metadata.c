/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata cache and its one request at a time.
 *
 * Wants that arrive while a request is under way wait for the next. A server answers a request with
 * an unknown table or partition as a whole with an error; then each want is asked for alone, so
 * that one's error does not become another's. Sources are tried in order: two known tablet servers,
 * the coordinator, the bootstrap addresses. */
#include "client/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/containers.h"
#include "base/log.h"
#include "client/metadata_private.h"
#include "client/random.h"
#include "protocol/messages.h"

static void free_want(fl_want *want)
{
    fl_free(want->database);
    fl_free(want->table);
    fl_free(want->partition);
    fl_free(want);
}

static void run_start(fl_task *task);

fl_metadata *fl_metadata_new(fl_client *client)
{
    fl_metadata *metadata = fl_calloc(1, sizeof(*metadata));
    if (metadata != NULL) {
        metadata->client = client;
        metadata->waiting_last = &metadata->waiting;
        metadata->next_server = (size_t)(fl_random() % 1024);
        metadata->start.run = run_start;
    }
    return metadata;
}

static fluss_code_t copy_want(fl_metadata_want want, fl_want **out, fluss_error_t *err)
{
    fl_want *copy = fl_calloc(1, sizeof(*copy));
    if (copy == NULL) {
        return fl_error_nomem(err);
    }
    copy->partition_id = want.partition_id;
    if (want.table != NULL) {
        copy->database = fl_strdup(want.database);
        copy->table = fl_strdup(want.table);
        copy->partition = want.partition != NULL ? fl_strdup(want.partition) : NULL;
        if (copy->database == NULL || copy->table == NULL ||
            (copy->partition == NULL) != (want.partition == NULL)) {
            free_want(copy);
            return fl_error_nomem(err);
        }
    }
    *out = copy;
    return 0;
}

static void start_later(fl_metadata *metadata)
{
    if (!metadata->is_start_posted && metadata->active == NULL && metadata->waiting != NULL) {
        metadata->is_start_posted = true;
        fl_loop_post(metadata->client->loop, &metadata->start);
    }
}

fluss_code_t fl_metadata_refresh(fl_metadata *metadata, fl_metadata_want want,
                                 fl_metadata_done done, void *context, fluss_error_t *err)
{
    if (metadata->is_closed) {
        return fl_client_closed_error(err);
    }
    fl_want *copy = NULL;
    FL_TRY(copy_want(want, &copy, err));
    copy->done = done;
    copy->context = context;
    *metadata->waiting_last = copy;
    metadata->waiting_last = &copy->next;
    start_later(metadata);
    return 0;
}

/* ---- one request ---- */

/* The wants that travel now: all, or the first alone. */
static void choose_wants(fl_metadata *metadata)
{
    metadata->active = metadata->waiting;
    if (metadata->waiting != NULL && metadata->waiting->is_alone) {
        metadata->waiting = metadata->active->next;
        metadata->active->next = NULL;
    } else {
        metadata->waiting = NULL;
    }
    if (metadata->waiting == NULL) {
        metadata->waiting_last = &metadata->waiting;
    }
}

static void add_source(fl_metadata *metadata, const char *address)
{
    for (size_t i = 0; i < metadata->source_count; i++) {
        if (strcmp(metadata->sources[i], address) == 0) {
            return;
        }
    }
    if (metadata->source_count < FL_SOURCE_COUNT_MAX) {
        (void)snprintf(metadata->sources[metadata->source_count++], FL_ADDRESS_SIZE_MAX, "%s",
                       address);
    }
}

static void add_bootstrap_sources(fl_metadata *metadata)
{
    const char *at = metadata->client->bootstrap;
    while (*at != '\0') {
        const size_t size = strcspn(at, ",");
        size_t from = 0, to = size;
        while (from < to && at[from] == ' ') {
            from++;
        }
        while (to > from && at[to - 1] == ' ') {
            to--;
        }
        if (to > from && to - from < FL_ADDRESS_SIZE_MAX) {
            char address[FL_ADDRESS_SIZE_MAX];
            memcpy(address, at + from, to - from);
            address[to - from] = '\0';
            add_source(metadata, address);
        }
        at += size + (at[size] == ',');
    }
}

static void choose_sources(fl_metadata *metadata)
{
    metadata->source_count = 0;
    metadata->source_at = 0;
    metadata->reasons[0] = '\0';
    for (int i = 0; i < 2; i++) {
        const char *server = fl_metadata_any_server(metadata);
        if (server != NULL) {
            add_source(metadata, server);
        }
    }
    const char *coordinator;
    if (fl_metadata_coordinator(metadata, &coordinator, NULL) == 0) {
        add_source(metadata, coordinator);
    }
    add_bootstrap_sources(metadata);
}

static bool has_table(const fl_msg_metadata_request *request, const fl_want *want)
{
    for (size_t i = 0; i < request->table_path_count; i++) {
        if (fl_slice_equal_str(request->table_path[i].database_name, want->database) &&
            fl_slice_equal_str(request->table_path[i].table_name, want->table)) {
            return true;
        }
    }
    return false;
}

static fluss_code_t build_request(const fl_metadata *metadata, fl_arena *arena,
                                  fl_msg_metadata_request *request, fluss_error_t *err)
{
    size_t count = 0;
    for (const fl_want *want = metadata->active; want != NULL; want = want->next) {
        count++;
    }
    *request = (fl_msg_metadata_request){
        .table_path = fl_arena_array(arena, count, sizeof(*request->table_path)),
        .partitions_path = fl_arena_array(arena, count, sizeof(*request->partitions_path)),
        .partitions_id = fl_arena_array(arena, count, sizeof(*request->partitions_id)),
    };
    if (request->table_path == NULL || request->partitions_path == NULL ||
        request->partitions_id == NULL) {
        return fl_error_nomem(err);
    }
    for (const fl_want *want = metadata->active; want != NULL; want = want->next) {
        if (want->table == NULL) {
            continue;
        }
        const fl_slice database = fl_slice_str(want->database), table = fl_slice_str(want->table);
        if (!has_table(request, want)) {
            request->table_path[request->table_path_count++] =
                (fl_msg_pb_table_path){.database_name = database, .table_name = table};
        }
        if (want->partition != NULL) {
            request->partitions_path[request->partitions_path_count++] =
                (fl_msg_pb_physical_table_path){.database_name = database,
                                                .table_name = table,
                                                .has_partition_name = true,
                                                .partition_name = fl_slice_str(want->partition)};
        } else if (want->partition_id != FL_NO_PARTITION) {
            request->partitions_id[request->partitions_id_count++] = want->partition_id;
        }
    }
    return 0;
}

static void finish(fl_metadata *metadata, const fluss_error_t *err)
{
    fl_want *want = metadata->active;
    metadata->active = NULL;
    while (want != NULL) {
        fl_want *next = want->next;
        want->done(want->context, err);
        free_want(want);
        want = next;
    }
    start_later(metadata);
}

/* Ask for each want alone, before anything else. */
static void separate(fl_metadata *metadata)
{
    fl_want *last = metadata->active;
    for (fl_want *want = metadata->active; want != NULL; want = want->next) {
        want->is_alone = true;
        last = want;
    }
    last->next = metadata->waiting;
    if (metadata->waiting == NULL) {
        metadata->waiting_last = &last->next;
    }
    metadata->waiting = metadata->active;
    metadata->active = NULL;
    start_later(metadata);
}

/* A Java server reports an unknown table as -1, with the exception's name in the text. */
static void translate(const fl_metadata *metadata, fluss_error_t *err)
{
    const fl_want *want = metadata->active;
    if (err->code == FLUSS_E_UNKNOWN_SERVER_ERROR && want != NULL && want->table != NULL &&
        strstr(err->message, "TableNotExist") != NULL) {
        (void)fl_error(err, FLUSS_E_TABLE_NOT_EXIST, FLUSS_KIND_SERVER,
                       "the table %s.%s does not exist", want->database, want->table);
    }
}

static void try_source(fl_metadata *metadata);

static void on_reply(void *context, const fl_reply *reply, const fluss_error_t *failure,
                     bool was_sent)
{
    (void)was_sent;
    fl_metadata *metadata = context;
    fluss_error_t err;
    if (metadata->is_closed) {
        (void)fl_client_closed_error(&err);
        finish(metadata, &err);
        return;
    }
    if (failure == NULL) {
        const fluss_code_t rc = fl_metadata_merge(metadata, reply->message, &err);
        finish(metadata, rc == 0 ? NULL : &err);
        return;
    }
    err = *failure;
    translate(metadata, &err);
    const bool is_single = metadata->active->next == NULL;
    if (err.kind == FLUSS_KIND_SERVER && !err.retriable) {
        if (is_single || err.code == FLUSS_E_AUTHENTICATE_EXCEPTION) {
            finish(metadata, &err);
        } else {
            separate(metadata);
        }
        return;
    }
    const size_t used = strlen(metadata->reasons);
    (void)snprintf(metadata->reasons + used, sizeof(metadata->reasons) - used, "%s%s",
                   used > 0 ? "; " : "", err.message);
    metadata->last_error = err;
    try_source(metadata);
}

/* All sources failed: once more while connecting to a single address, else the end. */
static void give_up(fl_metadata *metadata)
{
    if (metadata->round < metadata->rounds_max && fl_clock_ms() < metadata->deadline_ms) {
        metadata->round++;
        metadata->source_at = 0;
        metadata->reasons[0] = '\0';
        try_source(metadata);
        return;
    }
    fluss_error_t err = metadata->last_error;
    (void)snprintf(err.message, sizeof(err.message), "%s", metadata->reasons);
    finish(metadata, &err);
}

static void try_source(fl_metadata *metadata)
{
    const int64_t left_ms = metadata->deadline_ms - fl_clock_ms();
    if (metadata->source_at == metadata->source_count ||
        (left_ms <= 0 && metadata->source_at > 0)) {
        give_up(metadata);
        return;
    }
    const int64_t timeout_ms = left_ms / (int64_t)(metadata->source_count - metadata->source_at);
    const char *address = metadata->sources[metadata->source_at++];
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_error_t err;
    fl_msg_metadata_request request;
    fluss_code_t rc = build_request(metadata, &arena, &request, &err);
    if (rc == 0) {
        const fl_call_spec spec = {
            .address = address,
            .key = FL_API_GET_METADATA,
            .message = &request,
            .timeout_ms = timeout_ms > 0 ? timeout_ms : 1,
            .done = on_reply,
            .context = metadata,
        };
        rc = fl_rpc_call(metadata->client->rpc, &spec, &err);
    }
    fl_arena_deinit(&arena);
    if (rc != 0) {
        finish(metadata, &err);
    }
}

static void run_start(fl_task *task)
{
    fl_metadata *metadata = FL_CONTAINER_OF(task, fl_metadata, start);
    metadata->is_start_posted = false;
    if (metadata->active != NULL || metadata->waiting == NULL) {
        return;
    }
    choose_wants(metadata);
    choose_sources(metadata);
    metadata->deadline_ms = fl_clock_ms() + metadata->client->config->request_timeout_ms.number;
    metadata->round = 1;
    metadata->rounds_max = !metadata->is_known && metadata->source_count == 1 ? 4 : 1;
    fl_metric_add(&metadata->client->metrics.metadata_refreshes, 1);
    if (metadata->source_count == 0) {
        fluss_error_t err;
        (void)fl_error_argument(&err, "bootstrap.servers holds no address");
        finish(metadata, &err);
        return;
    }
    try_source(metadata);
}

void fl_metadata_close(fl_metadata *metadata, const fluss_error_t *why)
{
    metadata->is_closed = true;
    fl_want *want = metadata->waiting;
    metadata->waiting = NULL;
    metadata->waiting_last = &metadata->waiting;
    while (want != NULL) {
        fl_want *next = want->next;
        want->done(want->context, why);
        free_want(want);
        want = next;
    }
}

void fl_metadata_free(fl_metadata *metadata)
{
    if (metadata == NULL) {
        return;
    }
    fluss_error_t err;
    (void)fl_client_closed_error(&err);
    fl_metadata_close(metadata, &err);
    fl_metadata_clear(metadata);
    fl_free(metadata);
}

/* ---- the coordinator ---- */

fluss_code_t fl_metadata_ask_coordinator(fl_metadata *metadata, fl_api_key key, const void *message,
                                         fl_call_done done, void *context, fluss_error_t *err)
{
    const fl_client *client = metadata->client;
    const char *address;
    FL_TRY(fl_metadata_coordinator(metadata, &address, err));
    const fl_call_spec spec = {
        .address = address,
        .key = key,
        .message = message,
        .timeout_ms = client->config->request_timeout_ms.number,
        .done = done,
        .context = context,
    };
    return fl_rpc_call(client->rpc, &spec, err);
}

fluss_code_t fl_metadata_ask_owner(fl_metadata *metadata, const char *database, const char *table,
                                   fl_call_done done, void *context, fluss_error_t *err)
{
    const fl_msg_get_table_info_request request = {.table_path = fl_metadata_path(database, table)};
    return fl_metadata_ask_coordinator(metadata, FL_API_GET_TABLE_INFO, &request, done, context,
                                       err);
}

fl_msg_pb_table_path fl_metadata_path(const char *database, const char *table)
{
    return (fl_msg_pb_table_path){.database_name = fl_slice_str(database),
                                  .table_name = fl_slice_str(table)};
}
