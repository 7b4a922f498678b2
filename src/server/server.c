/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a server, and its public functions.
 *
 * Start: settings, the directory and its lock, the key-value store, the catalog, what a crash left
 * is swept, shards, tablets, and at last the listeners. Stop: listeners, connections; when the last
 * request and removal is over, tablets, loops, store, lock. */
#include "server/server.h"
#include "net/exit_guard.h"
#include "server/kv_tablet.h"
#include "server/process.h"

#include <errno.h>
#include <fluss/fluss_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/access.h"
#include "server/catalog.h"
#include "server/housekeeping.h"
#include "server/listeners.h"
#include "server/session.h"
#include "server/tablet.h"
#include "server/tree.h"
#include "storage/data_dir.h"
#include "storage/file.h"

enum { STOP_TIMEOUT_DEFAULT_MS = 10000, OPEN_FILES_MAX = 8192 };

struct fluss_server {
    fl_server server;
    pid_t pid; /* the process it runs in */
};

/* ---- what is in flight ---- */

void fl_server_hold(fl_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    server->holds++;
    (void)pthread_mutex_unlock(&server->lock);
}

void fl_server_release(fl_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    server->holds--;
    (void)pthread_cond_broadcast(&server->changed);
    (void)pthread_mutex_unlock(&server->lock);
}

fl_shard *fl_server_shard_of(fl_server *server, int64_t table_id, int64_t partition_id,
                             int32_t bucket)
{
    uint64_t mixed = (uint64_t)table_id * UINT64_C(0x9E3779B97F4A7C15);
    mixed ^= (uint64_t)partition_id * UINT64_C(0xC2B2AE3D27D4EB4F);
    mixed = (mixed >> 32 ^ mixed) + (uint32_t)bucket; /* neighbours on different shards */
    return &server->shards[mixed % server->shard_count];
}

/* ---- a task on a shard that the caller waits for ---- */

typedef struct errand {
    fl_task task;
    fl_server *server;
    fl_shard *shard;
    fluss_code_t (*run)(fl_shard *shard, fluss_error_t *err);
    fluss_code_t rc;
    fluss_error_t error;
    bool is_done; /* guarded by server->lock */
} errand;

static void run_errand(fl_task *task)
{
    errand *self = FL_CONTAINER_OF(task, errand, task);
    self->rc = self->run(self->shard, &self->error);
    (void)pthread_mutex_lock(&self->server->lock);
    self->is_done = true;
    (void)pthread_cond_broadcast(&self->server->changed);
    (void)pthread_mutex_unlock(&self->server->lock);
}

static fluss_code_t run_on(fl_shard *shard, fluss_code_t (*run)(fl_shard *, fluss_error_t *),
                           fluss_error_t *err)
{
    fl_server *server = shard->server;
    errand self = {.task.run = run_errand, .server = server, .shard = shard, .run = run};
    fl_loop_post(shard->loop, &self.task);
    (void)pthread_mutex_lock(&server->lock);
    while (!self.is_done) {
        (void)pthread_cond_wait(&server->changed, &server->lock);
    }
    (void)pthread_mutex_unlock(&server->lock);
    if (self.rc != 0 && err != NULL) {
        *err = self.error;
    }
    return self.rc;
}

static fluss_code_t run_on_all(fl_server *server, fluss_code_t (*run)(fl_shard *, fluss_error_t *),
                               fluss_error_t *err)
{
    for (size_t i = 0; i < server->shard_count; i++) {
        FL_TRY(run_on(&server->shards[i], run, err));
    }
    return 0;
}

/* ---- start ---- */

static fluss_code_t choose_dir(fl_server *server, fluss_error_t *err)
{
    if (server->settings.data_dir[0] != '\0') {
        server->data_dir = fl_strdup(server->settings.data_dir);
        return server->data_dir != NULL ? 0 : fl_error_nomem(err);
    }
    const char *temporary = getenv("TMPDIR");
    char path[FL_PATH_SIZE];
    (void)snprintf(path, sizeof(path), "%s/fluss-server-XXXXXX",
                   temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    server->data_dir = fl_strdup(path);
    if (server->data_dir == NULL) {
        return fl_error_nomem(err);
    }
    if (mkdtemp(server->data_dir) == NULL) {
        return fl_error(err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_SERVER,
                        "can't make the temporary directory %s: %s", path, strerror(errno));
    }
    server->is_temporary = true;
    return 0;
}

/* Descriptors for logs: half of what the process may have. */
static size_t open_files_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return OPEN_FILES_MAX;
    }
    const size_t half = (size_t)limit.rlim_cur / 2;
    return half < OPEN_FILES_MAX ? half : OPEN_FILES_MAX;
}

static bool is_known(void *context, int64_t table_id, int64_t partition_id)
{
    fl_table *table = fl_catalog_table_by_id(context, table_id);
    return table != NULL &&
           (partition_id < 0 || fl_table_partition_by_id(table, partition_id) != NULL);
}

static fl_tree_fate fate_of(void *context, int64_t table_id, int64_t partition_id)
{
    return is_known(context, table_id, partition_id)               ? FL_TREE_EXISTS
           : fl_catalog_has_given(context, table_id, partition_id) ? FL_TREE_DROPPED
                                                                   : FL_TREE_NEVER_MADE;
}

static fluss_code_t open_storage(fl_server *server, fluss_error_t *err)
{
    char kv_dir[FL_PATH_SIZE];
    FL_TRY(choose_dir(server, err));
    FL_TRY(fl_data_dir_open(server->data_dir, &server->dir, err));
    (void)snprintf(kv_dir, sizeof(kv_dir), "%s/kv.rocksdb", server->data_dir);
    const fl_kv_store_opts kv_opts = {.write_buffer_size = server->settings.write_buffer_size,
                                      .level0_pressure = server->settings.l0_slowdown};
    FL_TRY(fl_kv_store_open_with(kv_dir, &kv_opts, &server->kv, err));
    FL_TRY(fl_catalog_open(server, &server->catalog, err));
    fl_config_apply(server, fl_catalog_configs(server->catalog));
    FL_TRY(fl_tree_sweep(server->data_dir, fate_of, server->catalog, err));
    FL_TRY(fl_kv_tablets_sweep(server->kv, is_known, server->catalog, err));
    server->id_blocks = fl_id_blocks_new(server->kv);
    server->kv_memory.cache_size = server->settings.row_cache_size;
    server->kv_memory.pending_max = server->settings.prewrite_size;
    server->log_opts =
        (fl_log_store_opts){.segment_size_max = server->settings.segment_size,
                            .index_interval_size = server->settings.index_interval,
                            .writer_expiration_ms = server->settings.writer_expiration,
                            .files = fl_file_cache_new(open_files_max())};
    server->syncs = strcmp(server->settings.log_flush, "ack") == 0;
    return server->log_opts.files != NULL && server->id_blocks != NULL ? 0 : fl_error_nomem(err);
}

static fluss_code_t start_shards(fl_server *server, fluss_error_t *err)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = (size_t)server->settings.shards;
    if (count == 0) {
        count = processors < 1 ? 1 : processors > 64 ? 64 : (size_t)processors;
    }
    server->shards = fl_calloc(count, sizeof(fl_shard));
    if (server->shards == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "fluss-shard-%u", (unsigned)i & 0xff);
        server->shards[i].server = server;
        server->shards[i].index = (uint32_t)i;
        FL_TRY(fl_loop_new(name, &server->shards[i].loop, err));
        server->shard_count++;
    }
    return 0;
}

/* Thread: shard; the catalog does not change yet. */
static fluss_code_t load_tablets(fl_shard *shard, fluss_error_t *err)
{
    fl_table *table = fl_catalog_tables(shard->server->catalog);
    for (; table != NULL; table = table->by_id.next) {
        const size_t count = fl_tablet_op_count(table);
        fl_tablet_op *ops = fl_calloc(count, sizeof(*ops));
        if (ops == NULL) {
            return fl_error_nomem(err);
        }
        fl_change change = {.ops = ops, .op_count = fl_tablet_ops_fill(table, false, ops)};
        for (size_t i = 0; i < change.op_count; i++) {
            fl_tablets_apply(shard, &ops[i]);
        }
        fl_tablet_ops_release(&change);
        fl_free(ops);
    }
    return fl_housekeeping_start(shard, err);
}

static fluss_code_t open_listeners(fl_shard *shard, fluss_error_t *err)
{
    return fl_listeners_open(shard->server, err);
}

static fluss_code_t start(fl_server *server, const fluss_kv_t *settings, size_t count,
                          fluss_error_t *err)
{
    FL_TRY(fl_settings_read(settings, count, &server->settings, err));
    server->initial = server->settings;
    fl_arena_init(&server->initial.arena);
    FL_TRY(fl_access_check_settings(&server->settings, err));
    FL_TRY(fl_sasl_users_parse(server->settings.sasl_credentials, &server->users_arena,
                               &server->users, err));
    FL_TRY(fl_listeners_configure(server, err));
    FL_TRY(open_storage(server, err));
    FL_TRY(start_shards(server, err));
    FL_TRY(run_on_all(server, load_tablets, err));
    return run_on(&server->shards[0], open_listeners, err);
}

/* ---- stop ---- */

static fluss_code_t close_listeners(fl_shard *shard, fluss_error_t *err)
{
    (void)err;
    fl_listeners_close(shard->server);
    return 0;
}

static fluss_code_t close_sessions(fl_shard *shard, fluss_error_t *err)
{
    (void)err;
    fl_housekeeping_stop(shard);
    for (fl_session *session = shard->sessions; session != NULL; session = session->next) {
        fl_session_close(session);
    }
    return 0;
}

static fluss_code_t close_tablets(fl_shard *shard, fluss_error_t *err)
{
    (void)err;
    fl_tablets_close(shard);
    return 0;
}

/* Wait until nothing is in flight. false: the time ran out. */
static bool wait_for_holds(fl_server *server, int64_t timeout_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int rc = 0;
    (void)pthread_mutex_lock(&server->lock);
    while (server->holds != 0 && rc == 0) {
        rc = pthread_cond_timedwait(&server->changed, &server->lock, &until);
    }
    const bool is_over = server->holds == 0;
    (void)pthread_mutex_unlock(&server->lock);
    return is_over;
}

/* Everything but the memory of the server itself; from any point of the start. */
static bool shut_down(fl_server *server, int64_t timeout_ms)
{
    fluss_error_t err;
    bool is_over = true;
    if (server->shard_count != 0) {
        (void)run_on(&server->shards[0], close_listeners, NULL);
        (void)run_on_all(server, close_sessions, NULL);
        is_over = wait_for_holds(server, timeout_ms);
        if (!is_over) {
            /* A request hangs in the disk: its memory and files can't be taken away. */
            return false;
        }
        (void)run_on_all(server, close_tablets, NULL);
    }
    for (size_t i = 0; i < server->shard_count; i++) {
        fl_loop_free(server->shards[i].loop);
    }
    server->shard_count = 0;
    fl_catalog_close(server->catalog);
    fl_id_blocks_free(server->id_blocks);
    fl_kv_store_close(server->kv);
    fl_file_cache_free(server->log_opts.files);
    fl_data_dir_close(server->dir);
    if (server->is_temporary && server->data_dir != NULL &&
        fl_tree_remove(server->data_dir, &err) != 0) {
        fl_log(FL_LOG_WARNING, "server", "%s", err.message);
    }
    return true;
}

static void free_server(fl_server *server)
{
    fl_free(server->shards);
    fl_free(server->data_dir);
    fl_arena_deinit(&server->users_arena);
    fl_settings_deinit(&server->settings);
    (void)pthread_cond_destroy(&server->changed);
    (void)pthread_mutex_destroy(&server->lock);
    fl_free(FL_CONTAINER_OF(server, fluss_server_t, server));
}

/* ---- the public functions ---- */

fluss_code_t fluss_server_start(const fluss_kv_t *settings, size_t count, fluss_server_t **out,
                                fluss_error_t *err)
{
    fluss_error_t ignored;
    fluss_error_t *why = err != NULL ? err : &ignored;
    if (out == NULL || (settings == NULL && count != 0)) {
        return fl_error_argument(why, "fluss_server_start: %s is NULL",
                                 out == NULL ? "server" : "settings");
    }
    *out = NULL;
    FL_TRY(fl_process_enter(why));
    fluss_server_t *handle = fl_calloc(1, sizeof(*handle));
    if (handle == NULL) {
        return fl_error_nomem(why);
    }
    handle->pid = getpid();
    fl_server *server = &handle->server;
    pthread_condattr_t attributes;
    fl_arena_init(&server->users_arena);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&server->lock, NULL);
    (void)pthread_cond_init(&server->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    const fluss_code_t rc = start(server, settings, count, why);
    fl_exit_guard_add();
    if (rc != 0) {
        (void)shut_down(server, STOP_TIMEOUT_DEFAULT_MS);
        free_server(server);
        return rc;
    }
    *out = handle;
    return 0;
}

static const char *endpoint_of(const fluss_server_t *handle, bool needs_sasl)
{
    for (size_t i = 0; handle != NULL && i < handle->server.endpoint_count; i++) {
        if (handle->server.endpoints[i].needs_sasl == needs_sasl) {
            return handle->server.endpoints[i].bound;
        }
    }
    return NULL;
}

const char *fluss_server_endpoint(const fluss_server_t *handle)
{
    return endpoint_of(handle, false);
}

const char *fluss_server_sasl_endpoint(const fluss_server_t *handle)
{
    return endpoint_of(handle, true);
}

const char *fluss_server_data_dir(const fluss_server_t *handle)
{
    return handle != NULL ? handle->server.data_dir : NULL;
}

void fluss_server_wait(fluss_server_t *handle)
{
    if (handle == NULL || handle->pid != getpid()) {
        return;
    }
    (void)pthread_mutex_lock(&handle->server.lock);
    while (!handle->server.is_stopped) {
        (void)pthread_cond_wait(&handle->server.changed, &handle->server.lock);
    }
    (void)pthread_mutex_unlock(&handle->server.lock);
}

fluss_code_t fluss_server_stop(fluss_server_t *handle, int64_t timeout_ms, fluss_error_t *err)
{
    if (handle == NULL) {
        return fl_error_argument(err, "fluss_server_stop: server is NULL");
    }
    if (handle->pid != getpid()) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                        "the server belongs to process %ld, which forked this one",
                        (long)handle->pid);
    }
    fl_server *server = &handle->server;
    (void)pthread_mutex_lock(&server->lock);
    const bool is_first = !server->is_stopping;
    server->is_stopping = true;
    (void)pthread_mutex_unlock(&server->lock);
    if (!is_first) {
        fluss_server_wait(handle);
        return 0;
    }
    const bool is_over = shut_down(server, timeout_ms >= 0 ? timeout_ms : STOP_TIMEOUT_DEFAULT_MS);
    (void)pthread_mutex_lock(&server->lock);
    server->is_stopped = true;
    server->is_stuck = !is_over;
    (void)pthread_cond_broadcast(&server->changed);
    (void)pthread_mutex_unlock(&server->lock);
    return is_over ? 0
                   : fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_TIMEOUT,
                              "the server's requests in flight did not end in time; its files stay "
                              "open until the process ends");
}

void fluss_server_free(fluss_server_t *handle)
{
    if (handle == NULL) {
        return;
    }
    fluss_error_t err;
    if (fluss_server_stop(handle, -1, &err) == 0 && !handle->server.is_stuck) {
        free_server(&handle->server);
    }
}

void fluss_server_describe_settings(void (*line)(const char *row, void *user), void *user)
{
    if (line != NULL) {
        fl_settings_describe(line, user);
    }
}

void fluss_server_set_log(void (*fn)(int level, const char *component, const char *text,
                                     void *user),
                          int level_max, void *user)
{
    fl_log_set(fn, level_max, user);
}
