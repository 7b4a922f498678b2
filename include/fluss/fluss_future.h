/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_future.h - results of remote calls: futures, completion queues, blocking waits, and the
 * small tables that administrative calls answer with. */
#ifndef FLUSS_FUTURE_H
#define FLUSS_FUTURE_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Runs once, on a library thread, or at once when the future is ready already. Must not block nor
 * wait for a future; may start calls and may free the future. */
typedef void (*fluss_ready_fn)(fluss_future_t *future, void *user);

FLUSS_API bool fluss_future_ready(const fluss_future_t *future);

/**
 * Wait until the future is ready.
 *
 * @param timeout_ms milliseconds; < 0: without limit
 * @return 0: ready, successful; the future's own code; or FLUSS_KIND_TIMEOUT, the future goes on
 * Thread: any but a library thread.
 */
FLUSS_API fluss_code_t fluss_future_wait(fluss_future_t *future, int64_t timeout_ms,
                                         fluss_error_t *err);
/** Call `fn` once the future is ready. One of fluss_future_on_ready and fluss_future_to_queue may
 * be used, once. */
FLUSS_API void fluss_future_on_ready(fluss_future_t *future, fluss_ready_fn fn, void *user);
/** Put the future into `queue` once it is ready. The future is not freed by the queue. */
FLUSS_API void fluss_future_to_queue(fluss_future_t *future, fluss_queue_t *queue, void *tag);
/** Give up a call. True: the future ends with FLUSS_KIND_CANCELLED; the server may still have done
 * the work. False: it was ready already. */
FLUSS_API bool fluss_future_cancel(fluss_future_t *future);
/** Release; what is not ready goes on unseen, a result that was not taken is freed. NULL allowed.
 * A future that waits for its queue is withdrawn from it. */
FLUSS_API void fluss_future_free(fluss_future_t *future);

/** A completion queue for event loops. gives (fluss_queue_free). NULL: no memory or descriptor. */
FLUSS_API fluss_queue_t *fluss_queue_new(void);
/** A descriptor that is readable while fluss_queue_next would return something. Borrowed. */
FLUSS_API int fluss_queue_fd(fluss_queue_t *queue);
/** Take the oldest completion. @param timeout_ms 0: do not wait; < 0: without limit
 * @return false: none in time */
FLUSS_API bool fluss_queue_next(fluss_queue_t *queue, int64_t timeout_ms, fluss_future_t **future,
                                void **tag);
/** NULL allowed. Futures that were to arrive here stay valid and are delivered nowhere. */
FLUSS_API void fluss_queue_free(fluss_queue_t *queue);

/* Wait, move the result out and free the future, in every case: fluss_await_x(fluss_y(…), …) is the
 * blocking form of y. When the time runs out the call is cancelled first. A result can be taken
 * once. A future with a result of another kind gives FLUSS_KIND_STATE. */
FLUSS_API fluss_code_t fluss_await(fluss_future_t *future, int64_t timeout_ms, fluss_error_t *err);
/** Numbers and truth values (the *_exists calls: 0 or 1). */
FLUSS_API fluss_code_t fluss_await_i64(fluss_future_t *future, int64_t timeout_ms, int64_t *out,
                                       fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_conn(fluss_future_t *future, int64_t timeout_ms,
                                        fluss_conn_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_table(fluss_future_t *future, int64_t timeout_ms,
                                         fluss_table_t **out, fluss_error_t *err);
/** @param schema_id may be NULL */
FLUSS_API fluss_code_t fluss_await_schema(fluss_future_t *future, int64_t timeout_ms,
                                          fluss_schema_t **out, int32_t *schema_id,
                                          fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_result(fluss_future_t *future, int64_t timeout_ms,
                                          fluss_result_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_records(fluss_future_t *future, int64_t timeout_ms,
                                           fluss_records_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_batches(fluss_future_t *future, int64_t timeout_ms,
                                           fluss_batches_t **out, fluss_error_t *err);
/** @param out may be NULL */
FLUSS_API fluss_code_t fluss_await_ack(fluss_future_t *future, int64_t timeout_ms, fluss_ack_t *out,
                                       fluss_error_t *err);

/* ---- results of administrative calls: named columns, immutable, any thread ---- */
FLUSS_API size_t fluss_result_rows(const fluss_result_t *result);
FLUSS_API size_t fluss_result_columns(const fluss_result_t *result);
/** Name of a column; NULL past the last. Borrowed. */
FLUSS_API const char *fluss_result_column(const fluss_result_t *result, size_t i);
/** A value as text (numbers in decimal). NULL: a null, or no such row or column. Borrowed. */
FLUSS_API const char *fluss_result_str(const fluss_result_t *result, size_t row,
                                       const char *column);
/** A number or truth value; `fallback` for a null, text, or no such row or column. */
FLUSS_API int64_t fluss_result_i64(const fluss_result_t *result, size_t row, const char *column,
                                   int64_t fallback);
/** The table as one Arrow batch: utf8 and int64 columns. gives both (release). */
FLUSS_API fluss_code_t fluss_result_to_arrow(const fluss_result_t *result,
                                             struct ArrowSchema *schema, struct ArrowArray *array,
                                             fluss_error_t *err);
/** NULL allowed. */
FLUSS_API void fluss_result_free(fluss_result_t *result);

#ifdef __cplusplus
}
#endif
#endif
