/* SPDX-License-Identifier: Apache-2.0 */
/* The server and its shards. A shard is one thread with a loop; it owns connections and tablets.
 * Shard 0 also owns the catalog and the listeners. Everything else crosses by tasks. */
#ifndef FL_SERVER_H
#define FL_SERVER_H
#include <pthread.h>

#include "net/listener.h"
#include "server/id_blocks.h"
#include "server/kv_tablet.h"
#include "server/request.h"
#include "server/sasl.h"
#include "server/settings.h"
#include "storage/kv_store.h"
#include "storage/log.h"

typedef struct fl_catalog fl_catalog;
typedef struct fl_tablet fl_tablet;

enum { FL_SERVER_ID = 0, FL_LISTENERS_MAX = 16 };

/** One listening address. Fixed after the start. */
struct fl_endpoint {
    fl_server *server;
    const char *name;                 /* "FLUSS" */
    const char *address, *advertised; /* as configured; advertised may be NULL */
    bool needs_sasl;
    bool is_internal; /* its requests are not checked (access.h) */
    fl_listener *listener;
    char bound[300]; /* with the real port */
};
typedef struct fl_endpoint fl_endpoint;

struct fl_shard {
    fl_server *server;
    fl_loop *loop;
    uint32_t index;
    fl_tablet *tablets; /* hash */
    fl_session *sessions;
    struct fl_kv_session *kv_sessions;
    struct fl_kv_stalls *kv_stalls; /* NULL: the server starts or stops */
    struct fl_housekeeping *housekeeping;
};

struct fl_server {
    fl_settings settings;
    /* As at the start; the texts are those of `settings`, the arena is empty. */
    fl_settings initial;
    char *data_dir;
    bool is_temporary; /* data_dir is removed at the end */
    struct fl_data_dir *dir;
    fl_kv_store *kv;
    fl_id_blocks *id_blocks;
    fl_kv_memory kv_memory;
    fl_catalog *catalog; /* thread: shard 0 */
    fl_sasl_users users; /* thread: shard 0 */
    fl_arena users_arena;
    fl_log_store_opts log_opts;
    bool syncs; /* log.flush = ack */
    fl_shard *shards;
    size_t shard_count;
    fl_endpoint endpoints[FL_LISTENERS_MAX];
    size_t endpoint_count;
    size_t next_shard; /* thread: shard 0; for the next connection */
    atomic_int connection_count;
    atomic_int kv_session_count;
    atomic_bool is_disk_full;
    atomic_bool rolls_active; /* the setting log.retention.roll-active-segment.enabled */

    pthread_mutex_t lock; /* guards: holds, is_stopping, is_stopped, is_stuck */
    pthread_cond_t changed;
    size_t holds; /* connections, requests and works that are not over */
    bool is_stopping, is_stopped;
    bool is_stuck; /* a request did not end: the memory is lost on purpose */
};

/** Keep the server from ending while something is in flight. Thread: any. */
void fl_server_hold(fl_server *server);
void fl_server_release(fl_server *server);
/** The shard that owns a bucket. partition_id -1: none. Thread: any. */
fl_shard *fl_server_shard_of(fl_server *server, int64_t table_id, int64_t partition_id,
                             int32_t bucket);
#endif
