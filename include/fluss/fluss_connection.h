/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_connection.h - connections to a cluster, and the tables opened on them.
 *
 * A connection has one thread of its own that does all network work. Any thread may use the
 * handles. The words that describe results are explained in fluss.h. */
#ifndef FLUSS_CONNECTION_H
#define FLUSS_CONNECTION_H
#include "fluss_schema.h"
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- connection ---- */

/**
 * Connect to a cluster, or to "embedded:DIR", a server inside this process.
 *
 * @param config  borrowed, copied before the call returns
 * @return -> conn (fluss_await_conn). FLUSS_KIND_NETWORK names each address tried and the reason;
 *         FLUSS_E_AUTHENTICATE_EXCEPTION: wrong user or password; FLUSS_KIND_ARGUMENT: no
 *         bootstrap.servers, or settings that contradict each other
 * Thread: any. Source: ConnectionFactory.createConnection.
 */
FLUSS_API fluss_future_t *fluss_connect(const fluss_config_t *config);

/**
 * Send what writers queued, for at most `request-timeout` (30 s by default), then end every other
 * call with FLUSS_KIND_CLOSED. The handle stays valid until it is freed. A close beside one under
 * way ends with it; a later one succeeds at once.
 *
 * @return -> void. The first error of rows that were given up, when neither a future that somebody
 *         holds nor a flush told of them, with the number of rows; it is told once, to the first
 *         close that is still waited for, and the connection is closed all the same.
 *         FLUSS_KIND_STATE: this is the child of a fork
 * Thread: any. Source: Connection.close.
 */
FLUSS_API fluss_future_t *fluss_close(fluss_conn_t *conn);

/**
 * Release the handle. Tables, writers and scanners keep what they need alive. Without fluss_close
 * what is queued is sent in the background, for at most 5 s after the last handle is gone.
 *
 * @param conn  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_conn_free(fluss_conn_t *conn);

/**
 * Read the counters and gauges of a connection as they stand.
 *
 * @param out  gives a table (name, labels, type, value, count, sum), one row a series
 *             (fluss_result_free); NULL on failure
 * @return 0, FLUSS_KIND_ARGUMENT or FLUSS_KIND_NOMEM
 * Thread: any. Cost: no network. Source: the series are listed in docs/introduction.md.
 */
FLUSS_API fluss_code_t fluss_metrics(fluss_conn_t *conn, fluss_result_t **out, fluss_error_t *err);

/* ---- tables ---- */

/**
 * Open a table: its schema, keys and settings as they are now. A table that is dropped and made
 * anew has another id; handles of the old one then fail with FLUSS_E_TABLE_NOT_EXIST.
 *
 * @param path  names, copied
 * @return -> table (fluss_await_table). FLUSS_E_TABLE_NOT_EXIST, FLUSS_E_DATABASE_NOT_EXIST
 * Thread: any. Source: Connection.getTable.
 */
FLUSS_API fluss_future_t *fluss_open_table(fluss_conn_t *conn, fluss_path_t path);

/**
 * Everything known of an open table; it does not change.
 *
 * @return borrowed from the table; NULL when `table` is NULL
 * Thread: any. Source: Table.getTableInfo.
 */
FLUSS_API const fluss_table_info_t *fluss_table_info(const fluss_table_t *table);

/**
 * Release the handle. Writers, lookups and scanners of the table go on.
 *
 * @param table  taken; NULL does nothing
 * Thread: any. Source: Table.close.
 */
FLUSS_API void fluss_table_free(fluss_table_t *table);

#ifdef __cplusplus
}
#endif
#endif
