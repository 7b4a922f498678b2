/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_connect, fluss_close, fluss_conn_free.
 *
 * Connecting: take the settings, start the loop, find or start an embedded server (on a pool
 * thread), learn the servers. Closing: writers drain, then everything else ends with
 * FLUSS_KIND_CLOSED, then an embedded server that nobody else uses stops. A close that finds
 * another one under way waits for the same end. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/client_private.h"
#include "client/lookups.h"
#include "client/metadata.h"
#include "client/sender.h"

static const char embedded_prefix[] = "embedded:";

typedef struct connecting {
    fl_task task;
    fl_work work;
    fl_client *client; /* shares */
    fluss_future_t *future;
    fluss_error_t err;
} connecting;

static void end_connecting(connecting *c, const fluss_error_t *err)
{
    fl_client *client = c->client;
    if (err != NULL) {
        fl_future_fail(c->future, err);
    } else {
        fluss_conn_t *conn = fl_calloc(1, sizeof(*conn));
        if (conn == NULL) {
            fluss_error_t nomem;
            (void)fl_error_nomem(&nomem);
            fl_future_fail(c->future, &nomem);
        } else {
            conn->client = fl_client_ref(client);
            fl_future_complete_or_free(c->future,
                                       (fl_value){.kind = FL_VALUE_CONN, .v.object = conn});
        }
    }
    fl_free(c);
    fl_client_unref(client);
}

static void on_servers(void *context, const fluss_error_t *err)
{
    end_connecting(context, err);
}

static void learn_servers(connecting *c)
{
    const fl_metadata_want want = {.partition_id = FL_NO_PARTITION};
    if (fl_metadata_refresh(c->client->metadata, want, on_servers, c, &c->err) != 0) {
        const fluss_error_t err = c->err;
        end_connecting(c, &err);
    }
}

static void acquire_embedded(fl_work *work)
{
    connecting *c = FL_CONTAINER_OF(work, connecting, work);
    const char *servers = fl_config_text(&c->client->config->bootstrap_servers, c->client->config);
    if (fl_embedded_acquire(servers + strlen(embedded_prefix), &c->client->embedded,
                            c->client->bootstrap, &c->err) != 0) {
        c->client->embedded = NULL;
    }
}

static void on_embedded(fl_work *work)
{
    connecting *c = FL_CONTAINER_OF(work, connecting, work);
    if (c->err.code != 0) {
        const fluss_error_t err = c->err;
        end_connecting(c, &err);
        return;
    }
    learn_servers(c);
}

static void run_connect(fl_task *task)
{
    connecting *c = FL_CONTAINER_OF(task, connecting, task);
    if (fl_sender_start(c->client->sender, &c->err) != 0 ||
        fl_lookups_start(c->client->lookups, &c->err) != 0) {
        const fluss_error_t err = c->err;
        end_connecting(c, &err);
        return;
    }
    const char *servers = fl_config_text(&c->client->config->bootstrap_servers, c->client->config);
    if (strncmp(servers, embedded_prefix, strlen(embedded_prefix)) != 0) {
        learn_servers(c);
        return;
    }
    c->work = (fl_work){.work = acquire_embedded, .done = on_embedded};
    if (fl_loop_work(c->client->loop, &c->work, &c->err) != 0) {
        const fluss_error_t err = c->err;
        end_connecting(c, &err);
    }
}

fluss_future_t *fluss_connect(const fluss_config_t *config)
{
    fluss_error_t err;
    connecting *c = fl_calloc(1, sizeof(*c));
    if (c == NULL) {
        (void)fl_error_nomem(&err);
        return fl_future_failed(&err);
    }
    fluss_code_t rc = config == NULL ? fl_error_argument(&err, "the configuration must not be NULL")
                                     : fl_client_new(config, &c->client, &err);
    if (rc != 0) {
        fl_free(c);
        return fl_future_failed(&err);
    }
    fluss_future_t *future = fl_future_new();
    c->future = future;
    c->task.run = run_connect;
    fl_loop_post(c->client->loop, &c->task);
    return future;
}

void fluss_conn_free(fluss_conn_t *conn)
{
    if (conn != NULL) {
        fl_client_unref(conn->client);
        fl_free(conn);
    }
}

/* ---- closing ---- */

typedef struct closing {
    fl_task task;
    fl_work work;
    struct closing *next; /* that waits for the same end */
    fl_client *client;    /* shares; NULL: on behalf of the reaper */
    fluss_future_t *future;
    fl_client *target;
    void (*done)(void *context); /* instead of the future */
    void *context;
    int64_t limit_ms;
    bool is_kept; /* the client's own, freed with it */
} closing;

/* The error of rows that were given up and of which nobody was told, for somebody who waits. */
static bool take_losses(const closing *c, fluss_error_t *err)
{
    if (c->future == NULL || fl_future_is_abandoned(c->future) ||
        fl_sender_take_losses(c->target->sender, err) == 0) {
        return false;
    }
    if (err->kind == FLUSS_KIND_CLOSED) {
        const size_t used = strlen(err->message);
        (void)snprintf(err->message + used, sizeof(err->message) - used,
                       " after %lld ms (request-timeout)", (long long)c->limit_ms);
    }
    return true;
}

/* After `done` the client, and a kept closing with it, may be gone. */
static void finish_close(closing *c)
{
    const closing ended = *c;
    fluss_error_t err;
    const bool has_losses = take_losses(c, &err);
    if (!ended.is_kept) {
        fl_free(c);
    }
    if (ended.future == NULL) {
        ended.done(ended.context);
    } else if (has_losses) {
        fl_future_fail(ended.future, &err);
    } else {
        fl_future_complete_void(ended.future);
    }
    fl_client_unref(ended.client);
}

/* The connection is closed for all who asked for it, the first one first. */
static void finish_closes(fl_client *client)
{
    closing *c = client->closings;
    client->closings = NULL;
    while (c != NULL) {
        closing *next = c->next;
        finish_close(c);
        c = next;
    }
}

static void release_embedded(fl_work *work)
{
    closing *c = FL_CONTAINER_OF(work, closing, work);
    fl_embedded_release(c->target->embedded);
    c->target->embedded = NULL;
}

static void on_released(fl_work *work)
{
    finish_closes(FL_CONTAINER_OF(work, closing, work)->target);
}

/* The writers are done, or out of time: end the rest. */
static void on_drained(void *context)
{
    closing *c = context;
    fl_client *client = c->target;
    fl_client_end_parts(client);
    c->work = (fl_work){.work = release_embedded, .done = on_released};
    if (client->embedded == NULL || fl_loop_work(client->loop, &c->work, NULL) != 0) {
        finish_closes(client);
    }
}

static void run_close(fl_task *task)
{
    closing *c = FL_CONTAINER_OF(task, closing, task);
    closing **at = &c->target->closings;
    const bool is_first = *at == NULL;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = c;
    if (is_first && atomic_load(&c->target->is_closed)) {
        finish_closes(c->target);
    } else if (is_first) {
        fl_sender_drain(c->target->sender, c->limit_ms, on_drained, c);
    }
}

void *fl_client_farewell_new(void)
{
    return fl_calloc(1, sizeof(closing));
}

void fl_client_close_now(fl_client *client, int64_t limit_ms, void (*done)(void *context),
                         void *context)
{
    closing *c = client->farewell;
    *c = (closing){
        .task.run = run_close,
        .target = client,
        .done = done,
        .context = context,
        .limit_ms = limit_ms,
        .is_kept = true,
    };
    atomic_store(&client->is_closing, true);
    fl_loop_post(client->loop, &c->task);
}

fluss_future_t *fluss_close(fluss_conn_t *conn)
{
    fluss_error_t err;
    if (conn == NULL) {
        (void)fl_error_argument(&err, "the connection must not be NULL");
        return fl_future_failed(&err);
    }
    fl_client *client = conn->client;
    closing *c = fl_calloc(1, sizeof(*c));
    if (c == NULL || fl_client_is_forked(client)) {
        if (c == NULL || fl_client_check(client, &err) == 0) {
            (void)fl_error_nomem(&err);
        }
        fl_free(c);
        return fl_future_failed(&err);
    }
    fluss_future_t *future = fl_future_new();
    *c = (closing){
        .task.run = run_close,
        .client = fl_client_ref(client),
        .target = client,
        .future = future,
        .limit_ms = client->config->request_timeout_ms.number,
    };
    atomic_store(&client->is_closing, true);
    fl_loop_post(client->loop, &c->task);
    return future;
}
