/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_future.h - results of remote calls: futures, completion queues, blocking waits, and the
 * small tables that administrative calls answer with. */
#ifndef FLUSS_FUTURE_H
#define FLUSS_FUTURE_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- futures ---- */

/** Runs once, on a library thread, or at once when the future is ready already. May start calls,
 * and free the future and any handle. Must not block, for the connection stands still meanwhile.
 * Calls that would wait do not: a wait is FLUSS_KIND_STATE, a write FLUSS_KIND_TIMEOUT when the
 * buffer is full, fluss_queue_next false. */
typedef void (*fluss_ready_fn)(fluss_future_t *future, void *user);

/**
 * Whether a call has ended.
 *
 * @return false when `future` is NULL
 * Thread: any. Source: CompletableFuture.isDone.
 */
FLUSS_API bool fluss_future_ready(const fluss_future_t *future);

/**
 * Wait until the future is ready.
 *
 * @param timeout_ms  milliseconds; < 0: without limit
 * @return 0: ready, successful; the future's own error; FLUSS_KIND_TIMEOUT, the future goes on;
 *         FLUSS_KIND_STATE in a callback, and in the child of a fork, where a call of the parent
 *         does not end
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_future_wait(fluss_future_t *future, int64_t timeout_ms,
                                         fluss_error_t *err);

/**
 * Call a function once the future is ready. Of this and fluss_future_to_queue one may be used,
 * once.
 *
 * @param fn    see fluss_ready_fn; NULL does nothing
 * @param user  passed on
 * Thread: any. Source: CompletableFuture.whenComplete.
 */
FLUSS_API void fluss_future_on_ready(fluss_future_t *future, fluss_ready_fn fn, void *user);

/**
 * Put the future into a queue once it is ready.
 *
 * @param future  stays the caller's; freeing it takes it out of the queue
 * @param queue   shared until the future is freed
 * @param tag     given back by fluss_queue_next
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_future_to_queue(fluss_future_t *future, fluss_queue_t *queue, void *tag);

/**
 * Give up a call.
 *
 * @return true: the future ends with FLUSS_KIND_CANCELLED, though the server may still have done
 *         the work; false: it was ready already
 * Thread: any. Source: CompletableFuture.cancel.
 */
FLUSS_API bool fluss_future_cancel(fluss_future_t *future);

/**
 * Release a future. What is not ready goes on unseen, a result that was not taken is freed. A
 * callback that another thread is about to run may still run, once.
 *
 * @param future  taken; NULL does nothing. One that waits for its queue is withdrawn from it
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_future_free(fluss_future_t *future);

/* ---- completion queues ---- */

/**
 * A queue that an event loop can wait for.
 *
 * @return gives (fluss_queue_free); NULL: no memory or no descriptor
 * Thread: any. Source: ours.
 */
FLUSS_API fluss_queue_t *fluss_queue_new(void);

/**
 * The descriptor of a queue: readable, level-triggered, while fluss_queue_next would return
 * something. Only poll it; neither read nor close it.
 *
 * @return borrowed; -1 when `queue` is NULL
 * Thread: any. Source: ours.
 */
FLUSS_API int fluss_queue_fd(fluss_queue_t *queue);

/**
 * Take the oldest completion.
 *
 * @param timeout_ms  milliseconds; 0: do not wait; < 0: without limit
 * @param future      the ready future, the caller's as before; NULL when there is none
 * @param tag         what fluss_future_to_queue was given; may be NULL
 * @return false: none in time, or `queue` is NULL
 * Thread: any, each completion goes to one. Source: ours.
 */
FLUSS_API bool fluss_queue_next(fluss_queue_t *queue, int64_t timeout_ms, fluss_future_t **future,
                                void **tag);

/**
 * Release a queue. Futures that were to arrive here stay valid and are delivered nowhere.
 *
 * @param queue  taken; NULL does nothing
 * Thread: any; nobody may be inside fluss_queue_next. Source: ours.
 */
FLUSS_API void fluss_queue_free(fluss_queue_t *queue);

/* ---- waiting for results ---- */

/**
 * Wait, and free the future in every case: fluss_await(fluss_flush(w), …) is the blocking form of
 * fluss_flush. When the time runs out the call is cancelled first. This and each fluss_await_…
 * below moves the result out; a result can be taken once.
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @return 0; the future's own error; FLUSS_KIND_TIMEOUT; FLUSS_KIND_STATE: a result of another kind
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await(fluss_future_t *future, int64_t timeout_ms, fluss_error_t *err);

/**
 * Wait for a number or truth value (the …_exists calls).
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         0 or 1 for a truth value; 0 on failure; may be NULL
 * @return as fluss_await
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await_i64(fluss_future_t *future, int64_t timeout_ms, int64_t *out,
                                       fluss_error_t *err);

/**
 * Wait for a connection (fluss_connect).
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         gives (fluss_conn_free); NULL on failure
 * @return as fluss_await
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await_conn(fluss_future_t *future, int64_t timeout_ms,
                                        fluss_conn_t **out, fluss_error_t *err);

/**
 * Wait for a table (fluss_open_table).
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         gives (fluss_table_free); NULL on failure
 * @return as fluss_await
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await_table(fluss_future_t *future, int64_t timeout_ms,
                                         fluss_table_t **out, fluss_error_t *err);

/**
 * Wait for a schema (fluss_get_schema).
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         gives (fluss_schema_free); NULL on failure
 * @param schema_id   its id; may be NULL
 * @return as fluss_await
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await_schema(fluss_future_t *future, int64_t timeout_ms,
                                          fluss_schema_t **out, int32_t *schema_id,
                                          fluss_error_t *err);

/**
 * Wait for the answer of an administrative call.
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         gives (fluss_result_free); NULL on failure
 * @return as fluss_await
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await_result(fluss_future_t *future, int64_t timeout_ms,
                                          fluss_result_t **out, fluss_error_t *err);

/**
 * Wait for records (fluss_poll, fluss_lookup).
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         gives (fluss_records_free), also when there are 0 of them; NULL on failure
 * @return as fluss_await
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await_records(fluss_future_t *future, int64_t timeout_ms,
                                           fluss_records_t **out, fluss_error_t *err);

/**
 * Wait for Arrow batches (fluss_poll, fluss_scan_bucket).
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         gives (fluss_batches_free), also when there are 0 of them; NULL on failure
 * @return as fluss_await
 * Thread: any but a library thread. Source: CompletableFuture.get.
 */
FLUSS_API fluss_code_t fluss_await_batches(fluss_future_t *future, int64_t timeout_ms,
                                           fluss_batches_t **out, fluss_error_t *err);

/**
 * Wait for the acknowledgement of a write.
 *
 * @param future      taken in every case
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param out         where it went; zeroed on failure; may be NULL
 * @return as fluss_await
 * Thread: any but a library thread. Source: AppendResult, UpsertResult, DeleteResult.
 */
FLUSS_API fluss_code_t fluss_await_ack(fluss_future_t *future, int64_t timeout_ms, fluss_ack_t *out,
                                       fluss_error_t *err);

/* ---- results of administrative calls ---- */

/**
 * Number of rows.
 *
 * @return 0 when `result` is NULL
 * Thread: any. Source: ours.
 */
FLUSS_API size_t fluss_result_rows(const fluss_result_t *result);

/**
 * Number of columns.
 *
 * @return 0 when `result` is NULL
 * Thread: any. Source: ours.
 */
FLUSS_API size_t fluss_result_columns(const fluss_result_t *result);

/**
 * Name of a column.
 *
 * @param i  0-based
 * @return borrowed; NULL past the last
 * Thread: any. Source: ours.
 */
FLUSS_API const char *fluss_result_column(const fluss_result_t *result, size_t i);

/**
 * A value as text, numbers in decimal.
 *
 * @param row     0-based
 * @param column  its name
 * @return borrowed; NULL: a null, or no such row or column
 * Thread: any. Source: ours.
 */
FLUSS_API const char *fluss_result_str(const fluss_result_t *result, size_t row,
                                       const char *column);

/**
 * A number or truth value.
 *
 * @param row       0-based
 * @param column    its name
 * @param fallback  returned for a null, text, or no such row or column
 * @return the value
 * Thread: any. Source: ours.
 */
FLUSS_API int64_t fluss_result_i64(const fluss_result_t *result, size_t row, const char *column,
                                   int64_t fallback);

/**
 * The table as one Arrow batch: utf8 and int64 columns.
 *
 * @param schema  gives (schema->release); release is NULL on failure
 * @param array   gives (array->release), independent of the result; release is NULL on failure
 * @return 0, FLUSS_KIND_ARGUMENT or FLUSS_KIND_NOMEM
 * Thread: any. Source: ours.
 */
FLUSS_API fluss_code_t fluss_result_to_arrow(const fluss_result_t *result,
                                             struct ArrowSchema *schema, struct ArrowArray *array,
                                             fluss_error_t *err);

/**
 * Release a result.
 *
 * @param result  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_result_free(fluss_result_t *result);

#ifdef __cplusplus
}
#endif
#endif
