/* SPDX-License-Identifier: Apache-2.0 */
/* "embedded:DIR": a server inside this process. The server library is loaded at run time, from
 * beside this library first, so that the client links no storage engine.
 *
 * Connections of a process to one directory share one server, which stops with the last of them.
 * When another process has the directory, its socket DIR/fluss.sock is used instead.
 *
 * A server that still runs, or is being stopped in the background, when the process exits is
 * stopped by a handler of exit: the storage engine must not outlive its own static objects. */
#include <dlfcn.h>
#include <errno.h>
#include <fluss/fluss_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/client.h"

#define SERVER_LIBRARY "libfluss_server.so.1"

struct fl_embedded {
    fl_embedded *next;
    int use_count;
    fluss_server_t *server; /* NULL: another process's */
    char directory[FL_ADDRESS_SIZE_MAX];
};

typedef struct server_library {
    fluss_code_t (*start)(const fluss_kv_t *, size_t, fluss_server_t **, fluss_error_t *);
    void (*free)(fluss_server_t *);
    void (*set_log)(fluss_log_fn, int, void *);
} server_library;

/* The servers of this process: the one piece of state that connections share. */
static struct {
    pthread_mutex_t lock; /* guards: all below */
    fl_embedded *servers;
    server_library library;
    bool is_loaded;
    pid_t pid; /* of the process that started the servers; a fork's child leaves them alone */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *open_beside(void)
{
    Dl_info info;
    char path[4096];
    if (dladdr((const void *)&shared, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    static const char *const places[] = {"", "../server/", "../../src/server/"};
    for (size_t i = 0; slash != NULL && i < FL_COUNT_OF(places); i++) {
        const int written = snprintf(path, sizeof(path), "%.*s/%s%s", (int)(slash - info.dli_fname),
                                     info.dli_fname, places[i], SERVER_LIBRARY);
        if (written > 0 && (size_t)written < sizeof(path)) {
            void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (handle != NULL) {
                return handle;
            }
        }
    }
    return NULL;
}

/* The server's log becomes a part of the client's. */
static void on_line(int level, const char *component, const char *text, void *user)
{
    (void)user;
    fl_log((fl_log_level)level, component, "%s", text);
}

static fluss_code_t load_library(fluss_error_t *err)
{
    if (shared.is_loaded) {
        return 0;
    }
    void *handle = open_beside();
    if (handle == NULL) {
        handle = dlopen(SERVER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == NULL) {
        const char *reason = dlerror();
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                        "the embedded server can't be loaded: %.400s",
                        reason != NULL ? reason : SERVER_LIBRARY);
    }
    *(void **)&shared.library.start = dlsym(handle, "fluss_server_start");
    *(void **)&shared.library.free = dlsym(handle, "fluss_server_free");
    *(void **)&shared.library.set_log = dlsym(handle, "fluss_server_set_log");
    if (shared.library.start == NULL || shared.library.free == NULL ||
        shared.library.set_log == NULL) {
        (void)dlclose(handle);
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                        "%s is no server library: it lacks fluss_server_start, _free or _set_log",
                        SERVER_LIBRARY);
    }
    if (fl_log_level_max() >= 0) {
        shared.library.set_log(on_line, fl_log_level_max(), NULL);
    }
    shared.is_loaded = true; /* stays loaded: its threads may run until the process ends */
    return 0;
}

/* The directory in one spelling, made when missing. */
static fluss_code_t resolve_directory(const char *directory, char out[FL_ADDRESS_SIZE_MAX],
                                      fluss_error_t *err)
{
    if (directory[0] == '\0') {
        return fl_error_argument(err, "bootstrap.servers=embedded: names no directory");
    }
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "can't make the directory %s: %s",
                        directory, strerror(errno));
    }
    char *real = realpath(directory, NULL);
    if (real == NULL) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "can't open the directory %s: %s",
                        directory, strerror(errno));
    }
    /* A socket's path has 108 bytes at most. */
    const bool fits = strlen(real) + sizeof("/fluss.sock") <= 108;
    if (fits) {
        memcpy(out, real, strlen(real) + 1);
    }
    (free)(real); /* of the C library's allocator */
    return fits ? 0
                : fl_error_argument(err, "the path of the directory %s is longer than %zu bytes",
                                    directory, 108 - sizeof("/fluss.sock"));
}

/* Waits for a release that is under way, by the lock. */
static void stop_at_exit(void)
{
    if (getpid() != shared.pid) {
        return;
    }
    (void)pthread_mutex_lock(&shared.lock);
    for (fl_embedded *entry = shared.servers; entry != NULL; entry = entry->next) {
        if (entry->server != NULL) {
            shared.library.free(entry->server);
            entry->server = NULL;
        }
    }
    (void)pthread_mutex_unlock(&shared.lock);
}

static fluss_code_t start_server(fl_embedded *entry, fluss_error_t *err)
{
    char listeners[FL_ADDRESS_SIZE_MAX + 32];
    (void)snprintf(listeners, sizeof(listeners), "FLUSS://unix:%s/fluss.sock", entry->directory);
    const fluss_kv_t settings[] = {
        {"data.dir", entry->directory},
        {"bind.listeners", listeners},
    };
    fluss_error_t reason;
    FL_TRY(load_library(err));
    const fluss_code_t rc =
        shared.library.start(settings, FL_COUNT_OF(settings), &entry->server, &reason);
    if (rc == 0) {
        /* After each start: static objects made by it end after the handler has run. Without memory
         * for the handler the server ends with the last connection only. */
        shared.pid = getpid();
        (void)atexit(stop_at_exit);
        return 0;
    }
    if (rc == FLUSS_E_CLIENT && reason.kind == FLUSS_KIND_STATE) {
        return 0; /* another process's: its socket answers */
    }
    if (err != NULL) {
        *err = reason;
        fl_error_prefix(err, "embedded server in %s: ", entry->directory);
    }
    return rc;
}

static fluss_code_t acquire_locked(const char *directory, fl_embedded **out, fluss_error_t *err)
{
    for (fl_embedded *entry = shared.servers; entry != NULL; entry = entry->next) {
        if (strcmp(entry->directory, directory) == 0) {
            if (entry->server == NULL) {
                FL_TRY(start_server(entry, err)); /* the other process may have ended */
            }
            entry->use_count++;
            *out = entry;
            return 0;
        }
    }
    fl_embedded *entry = fl_calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(entry->directory, directory, strlen(directory) + 1);
    const fluss_code_t rc = start_server(entry, err);
    if (rc != 0) {
        fl_free(entry);
        return rc;
    }
    entry->use_count = 1;
    entry->next = shared.servers;
    shared.servers = entry;
    *out = entry;
    return 0;
}

fluss_code_t fl_embedded_acquire(const char *directory, fl_embedded **embedded,
                                 char address[FL_ADDRESS_SIZE_MAX], fluss_error_t *err)
{
    char real[FL_ADDRESS_SIZE_MAX];
    FL_TRY(resolve_directory(directory, real, err));
    (void)pthread_mutex_lock(&shared.lock);
    const fluss_code_t rc = acquire_locked(real, embedded, err);
    (void)pthread_mutex_unlock(&shared.lock);
    if (rc == 0) {
        const int size = (int)strlen(real);
        (void)snprintf(address, FL_ADDRESS_SIZE_MAX, "unix:%.*s/fluss.sock", size, real);
    }
    return rc;
}

void fl_embedded_release(fl_embedded *embedded)
{
    if (embedded == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&shared.lock);
    if (--embedded->use_count == 0) {
        fl_embedded **at = &shared.servers;
        while (*at != embedded) {
            at = &(*at)->next;
        }
        *at = embedded->next;
        if (embedded->server != NULL) {
            shared.library.free(embedded->server);
        }
        fl_free(embedded);
    }
    (void)pthread_mutex_unlock(&shared.lock);
}
