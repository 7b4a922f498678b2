/* SPDX-License-Identifier: Apache-2.0 */
/* The shared core of a connection: made with its loop, ended when the last handle is gone.
 *
 * The last reference may go anywhere: in a user's thread, or on the loop itself. A closed client is
 * freed at once by a user's thread; in all other cases a thread of its own drains the writers for
 * at most 5 s and then frees it. In the child of a fork nothing is freed: the loop thread is not
 * there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/client_private.h"
#include "client/lookups.h"
#include "client/metadata.h"
#include "client/monotonic.h"
#include "client/scanners.h"
#include "client/sender.h"

fluss_code_t fl_client_closed_error(fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_CLOSED, "the connection is closed");
}

bool fl_client_is_forked(const fl_client *client)
{
    return fl_fork_guard_is_child(client->guard);
}

fluss_code_t fl_client_check(const fl_client *client, fluss_error_t *err)
{
    if (fl_client_is_forked(client)) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                        "the connection belongs to the parent process; connect anew after fork");
    }
    return atomic_load_explicit(&client->is_closing, memory_order_relaxed)
               ? fl_client_closed_error(err)
               : 0;
}

fl_client *fl_client_ref(fl_client *client)
{
    (void)atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
    return client;
}

static void free_parts(fl_client *client)
{
    fl_rpc_free(client->rpc);
    fl_metadata_free(client->metadata);
    fl_lookups_free(client->lookups);
    fl_sender_free(client->sender);
    fl_embedded_release(client->embedded);
    fluss_config_free(client->config);
    fl_fork_guard_free(client->guard);
    fl_free(client->farewell);
    fl_free(client);
}

/* Nothing of the client is left on the loop, and nobody is left to tell of lost rows. */
static void destroy(fl_client *client)
{
    fluss_error_t lost;
    fl_loop_free(client->loop);
    if (fl_sender_take_losses(client->sender, &lost) != 0) {
        fl_log(FL_LOG_WARNING, "writer", "%s", lost.message);
    }
    free_parts(client);
}

void fl_client_end_parts(fl_client *client)
{
    if (atomic_exchange(&client->is_closed, true)) {
        return;
    }
    fluss_error_t why;
    (void)fl_client_closed_error(&why);
    atomic_store(&client->is_closing, true);
    fl_sender_close(client->sender, &why);
    fl_scanners_close(client, &why);
    fl_lookups_close(client->lookups, &why);
    fl_metadata_close(client->metadata, &why);
    fl_rpc_close(client->rpc, &why);
}

/* ---- the last reference ---- */

typedef struct reaper {
    fl_client *client;
    pthread_mutex_t lock; /* guards: is_done */
    pthread_cond_t changed;
    bool is_done;
} reaper;

static void on_reaped(void *context)
{
    reaper *r = context;
    (void)pthread_mutex_lock(&r->lock);
    r->is_done = true;
    (void)pthread_cond_signal(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
}

static void *run_reaper(void *context)
{
    reaper r = {.client = context};
    (void)pthread_mutex_init(&r.lock, NULL);
    (void)pthread_cond_init(&r.changed, NULL);
    fl_client_close_now(r.client, FL_CLOSE_IN_BACKGROUND_MS_MAX, on_reaped, &r);
    (void)pthread_mutex_lock(&r.lock);
    while (!r.is_done) {
        (void)pthread_cond_wait(&r.changed, &r.lock);
    }
    (void)pthread_mutex_unlock(&r.lock);
    destroy(r.client);
    (void)pthread_cond_destroy(&r.changed);
    (void)pthread_mutex_destroy(&r.lock);
    return NULL;
}

static void start_reaper(fl_client *client)
{
    sigset_t all, old;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    const int rc = pthread_create(&thread, NULL, run_reaper, client);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        fl_log(FL_LOG_ERROR, "client", "no thread to end a connection: %s", strerror(rc));
        return;
    }
    (void)pthread_detach(thread);
}

void fl_client_unref(fl_client *client)
{
    if (client == NULL || atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) > 1 ||
        fl_client_is_forked(client)) {
        return;
    }
    if (atomic_load(&client->is_closed) && !fl_loop_is_current(client->loop)) {
        destroy(client);
    } else {
        start_reaper(client);
    }
}

/* ---- the first ---- */

static fluss_code_t make_parts(fl_client *client, fluss_error_t *err)
{
    fl_future_watch_forks();
    client->guard = fl_fork_guard_new();
    client->rpc = fl_rpc_new(client->loop, client->config);
    client->metadata = fl_metadata_new(client);
    client->sender = fl_sender_new(client);
    client->lookups = fl_lookups_new(client);
    client->farewell = fl_client_farewell_new();
    const bool is_whole = client->farewell != NULL && client->guard != NULL &&
                          client->rpc != NULL && client->metadata != NULL &&
                          client->sender != NULL && client->lookups != NULL;
    return is_whole ? 0 : fl_error_nomem(err);
}

fluss_code_t fl_client_new(const fluss_config_t *config, fl_client **out, fluss_error_t *err)
{
    FL_TRY(fl_config_check(config, err));
    const char *servers = fl_config_text(&config->bootstrap_servers, config);
    fl_client *client = fl_calloc(1, sizeof(*client));
    if (client == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = 0;
    atomic_init(&client->refs, 1);
    if (strlen(servers) >= sizeof(client->bootstrap)) {
        fl_free(client);
        return fl_error_argument(err, "bootstrap.servers is longer than %zu bytes",
                                 sizeof(client->bootstrap) - 1);
    }
    memcpy(client->bootstrap, servers, strlen(servers) + 1);
    client->config = fl_config_copy(config);
    rc = client->config == NULL ? fl_error_nomem(err) : fl_loop_new("fluss", &client->loop, err);
    if (rc == 0) {
        rc = make_parts(client, err);
    }
    if (rc != 0) {
        fl_loop_free(client->loop);
        free_parts(client);
        return rc;
    }
    *out = client;
    return 0;
}
