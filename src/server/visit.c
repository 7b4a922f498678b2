/* SPDX-License-Identifier: Apache-2.0 */
/* Visiting tablets. The shards are visited in the order in which the request first names one of
 * their buckets, so that the client's own order, which it rotates, decides who is served first. */
#include "server/visit.h"

#include <stdio.h>

#include "server/access.h"
#include "server/server.h"
#include "server/session.h"

fluss_code_t fl_visit_init(fl_visit *visit, fl_request *request, size_t count, fluss_error_t *err)
{
    if (count > FL_VISIT_MAX) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "a request for %zu buckets; at most %d are possible", count,
                        (int)FL_VISIT_MAX);
    }
    visit->count = count;
    visit->keys = fl_arena_array(&request->arena, count, sizeof(fl_tablet_key));
    return visit->keys != NULL ? 0 : fl_error_nomem(err);
}

fluss_code_t fl_visit_new(fl_request *request, size_t state_size, size_t count, size_t answer_size,
                          fluss_error_t *err)
{
    fl_visit *visit = fl_arena_alloc(&request->arena, state_size);
    if (visit == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_visit_init(visit, request, count, err));
    visit->answers = fl_arena_array(&request->arena, count, answer_size);
    visit->answer_size = answer_size;
    request->state = visit;
    return visit->answers != NULL ? 0 : fl_error_nomem(err);
}

static fl_shard *shard_of(fl_request *request, const fl_tablet_key *key)
{
    return fl_server_shard_of(fl_request_server(request), key->table_id, key->partition_id,
                              key->bucket);
}

static void visit_shard(fl_request *request);

static void go_on(fl_request *request)
{
    fl_visit *visit = request->state;
    if (visit->shard_at == visit->shard_count) {
        fl_request_walk_home(request, visit->done);
        return;
    }
    fl_server *server = fl_request_server(request);
    fl_request_walk(request, &server->shards[visit->shards[visit->shard_at]], visit_shard);
}

/* Denied buckets look like those that are not here. */
static fl_tablet *find(fl_request *request, const fl_tablet_key *key)
{
    fluss_error_t why;
    return request->denials == NULL || fl_access_denied(request, key->table_id, &why) == 0
               ? fl_tablets_find(request->at, key)
               : NULL;
}

static void visit_shard(fl_request *request)
{
    fl_visit *visit = request->state;
    for (size_t i = 0; i < visit->count; i++) {
        if (shard_of(request, &visit->keys[i]) == request->at) {
            visit->each(request, i, find(request, &visit->keys[i]));
        }
    }
    visit->shard_at++;
    go_on(request);
}

void fl_visit_run(fl_request *request)
{
    fl_visit *visit = request->state;
    uint64_t seen = 0;
    visit->shard_count = visit->shard_at = 0;
    for (size_t i = 0; i < visit->count; i++) {
        const uint32_t index = shard_of(request, &visit->keys[i])->index;
        if ((seen >> index & 1) == 0) {
            seen |= UINT64_C(1) << index;
            visit->shards[visit->shard_count++] = (uint8_t)index;
        }
    }
    go_on(request);
}

/* Let the next write of the connection walk, then go on with this one. */
static void write_walked(fl_request *request)
{
    fl_visit *visit = request->state;
    fl_session *session = request->session;
    fl_request *next = request->next_write;
    if (next == NULL) {
        session->last_write = NULL;
    }
    visit->write_done(request); /* it may be gone after this */
    if (next != NULL) {
        fl_visit_run(next);
    }
}

void fl_visit_run_write(fl_request *request)
{
    fl_visit *visit = request->state;
    fl_session *session = request->session;
    visit->write_done = visit->done;
    visit->done = write_walked;
    request->next_write = NULL;
    if (session->last_write != NULL) {
        session->last_write->next_write = request;
        session->last_write = request;
        return;
    }
    session->last_write = request;
    fl_visit_run(request);
}

fluss_code_t fl_visit_unknown(const fl_request *request, const fl_tablet_key *key,
                              fluss_error_t *err)
{
    FL_TRY(fl_access_denied(request, key->table_id, err));
    char partition[40] = "";
    if (key->partition_id >= 0) {
        (void)snprintf(partition, sizeof(partition), ", partition id %lld",
                       (long long)key->partition_id);
    }
    return fl_error(err, FLUSS_E_UNKNOWN_TABLE_OR_BUCKET, FLUSS_KIND_STATE,
                    "no bucket %d of table id %lld%s here", (int)key->bucket,
                    (long long)key->table_id, partition);
}
