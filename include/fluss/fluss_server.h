/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_server.h - a whole Fluss server in one process (library libfluss_server).
 *
 * A server owns one data directory, guarded by a lock file, and answers the Fluss protocol on its
 * listeners. It runs its own threads, touches no signal handler and prints nothing. Several servers
 * can live in one process, each with a directory of its own. A server stays with its process: in
 * the child of a fork stop and free leave it alone, and none can be started.
 *
 * Settings are the official keys where they exist (docs/server.md lists all). The ones that an
 * embedder needs:
 *   data.dir         the directory; made when missing. Absent: a temporary one, removed at the end
 *   bind.listeners   NAME://ADDRESS,…; ADDRESS is host:port (port 0: any) or unix:PATH;
 *                    default FLUSS://127.0.0.1:0
 *   log.flush        ack (default): acks=-1 is answered after fdatasync; os: after the write
 *   server.shards    threads; default one a processor
 *
 * A client that asks for metadata through a Unix socket gets that socket as the address of the
 * server: host "unix:PATH", port 0. */
#ifndef FLUSS_SERVER_H
#define FLUSS_SERVER_H
#include "fluss_types.h"
#ifdef __cplusplus
extern "C" {
#endif

/** A running server. */
typedef struct fluss_server fluss_server_t;

/* ---- server ---- */

/**
 * Start a server and wait until it answers.
 *
 * @param settings key and value pairs, borrowed; a later pair replaces an earlier one of the same
 *                 key; may be NULL when count is 0
 * @param count    of settings
 * @param server   gives (fluss_server_free); NULL on failure
 * @return FLUSS_E_CLIENT with a kind:
 *         FLUSS_KIND_STATE: another process (or server of this process) has the data directory
 *           open; nothing was touched. It may be reached at DIR/fluss.sock, if it listens there
 *         FLUSS_KIND_ARGUMENT: an unknown setting (the message names the nearest) or a bad value;
 *         other codes: an address that can't be bound, a directory that can't be read or written
 * Thread: any. Source: ours.
 */
FLUSS_API fluss_code_t fluss_server_start(const fluss_kv_t *settings, size_t count,
                                          fluss_server_t **server, fluss_error_t *err);
/**
 * Address of the first listener without authentication.
 *
 * @return "127.0.0.1:9123" with the real port, or "unix:PATH"; NULL: none. Borrowed until free
 * Thread: any. Source: ours.
 */
FLUSS_API const char *fluss_server_endpoint(const fluss_server_t *server);
/**
 * Address of the first SASL listener.
 *
 * @return as fluss_server_endpoint
 * Thread: any. Source: ours.
 */
FLUSS_API const char *fluss_server_sasl_endpoint(const fluss_server_t *server);
/**
 * The directory in use.
 *
 * @return borrowed until free
 * Thread: any. Source: ours.
 */
FLUSS_API const char *fluss_server_data_dir(const fluss_server_t *server);
/**
 * Wait until the server has stopped.
 *
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_server_wait(fluss_server_t *server);
/**
 * Stop: close the listeners and connections, finish what is in flight, close the files, release the
 * directory. A second call does nothing.
 *
 * @param timeout_ms how long requests in flight may take; < 0: 10 seconds
 * @return FLUSS_KIND_TIMEOUT: a request did not end in time (the disk hangs): no connection is
 *         served any more, but files and lock stay until the process ends
 * Thread: any but a callback of the server. Source: ours.
 */
FLUSS_API fluss_code_t fluss_server_stop(fluss_server_t *server, int64_t timeout_ms,
                                         fluss_error_t *err);
/**
 * Stop if that was not done, and free.
 *
 * @param server  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_server_free(fluss_server_t *server);

/**
 * List the settings with their defaults and meaning, for the command and the documentation.
 *
 * @param line  called with each row of a Markdown table, one after the other; NULL: nothing
 * @param user  passed on
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_server_describe_settings(void (*line)(const char *row, void *user),
                                              void *user);
/**
 * Receive log lines of the server library; the rules of fluss_set_log hold.
 *
 * @param fn         runs on any thread; NULL: silent, the default
 * @param level_max  as in syslog: 3 errors only … 7 everything
 * @param user       passed on
 * Thread: before the first start. Source: ours.
 */
FLUSS_API void fluss_server_set_log(void (*fn)(int level, const char *component, const char *text,
                                               void *user),
                                    int level_max, void *user);
#ifdef __cplusplus
}
#endif
#endif
