/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_read.h - bounded reads: the buckets of a scanner up to now, or up to offsets.
 *
 * A read is made of the subscriptions of a scanner and goes its own way: its rows are not those of
 * polls, and however it ends, the scanner stays where it was. As long as one holds it, a scanner is
 * not polled. The Arrow stream of fluss_read is the one exception: it moves the scanner past the
 * rows that were pulled.
 *
 * Rows come in parts (fluss_read_some) or all at once (fluss_read_rest), as records or as Arrow
 * batches, whichever the scanner was opened for. One of these calls is under way at a time; a
 * second one is FLUSS_KIND_STATE. fluss_read_progress and fluss_read_stop are for any thread. */
#ifndef FLUSS_READ_H
#define FLUSS_READ_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reads ---- */

/** How far a read is in one bucket. */
typedef struct {
    fluss_bucket_t bucket;
    int64_t start;    /* where it began; FLUSS_EARLIEST until that is settled */
    int64_t position; /* after the rows that came, also past those that a filter hides */
    int64_t stop;     /* the first offset that is not read; FLUSS_LATEST until it is settled */
} fluss_read_bucket_t;

/**
 * Begin to read the buckets that a scanner has subscribed, from where it is. Nothing is waited for.
 *
 * @param scanner  borrowed; held by the read, and may be freed before it
 * @param stop     n first offsets that are not read, one for each bucket; NULL: the latest ones now
 * @param out      gives (fluss_read_free); NULL on failure
 * @return 0; FLUSS_KIND_STATE: a poll is under way, or no subscription; FLUSS_KIND_ARGUMENT: a
 *         bucket without a stop; FLUSS_KIND_CLOSED
 * Thread: the scanner's consumer. Source: ours; RecordBatchLogReader of fluss-rs.
 */
FLUSS_API fluss_code_t fluss_read_begin(fluss_scanner_t *scanner, const fluss_position_t *stop,
                                        size_t n, fluss_read_t **out, fluss_error_t *err);

/**
 * Wait until the server has said where the buckets begin and end. Whoever asks for rows need not.
 *
 * @return -> void. FLUSS_KIND_CANCELLED: the read was stopped; FLUSS_E_PARTITION_NOT_EXISTS
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_future_t *fluss_read_settled(fluss_read_t *read);

/**
 * Wait for the next rows. A call that is cancelled or dropped loses nothing: the next one delivers.
 *
 * @return -> records, or -> batches. None of them: the end. FLUSS_KIND_CANCELLED: the read was
 *         stopped; FLUSS_KIND_STATE: another call is under way; else as fluss_poll
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_future_t *fluss_read_some(fluss_read_t *read);

/**
 * Wait for all rows that are left. They are kept in memory meanwhile. A call that is cancelled or
 * dropped, or fails, loses nothing: the next one delivers.
 *
 * @return -> records, or -> batches. As fluss_read_some
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_future_t *fluss_read_rest(fluss_read_t *read);

/**
 * Tell how far a read is, in no order of buckets. At the end each position is its stop.
 *
 * @param out  room for `cap` of them; may be NULL when cap is 0
 * @param cap  elements of `out`
 * @return how many there are, also when more than cap
 * Thread: any. Source: ours.
 */
FLUSS_API size_t fluss_read_progress(const fluss_read_t *read, fluss_read_bucket_t *out,
                                     size_t cap);

/**
 * Stop a read for good, whenever that is: what waits for it ends now, and what begins later at
 * once, with FLUSS_KIND_CANCELLED. A read that is at its end stays so. The scanner is free again.
 * Does not wait.
 *
 * @param read  borrowed; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_read_stop(fluss_read_t *read);

/**
 * Release a read. A call under way ends with FLUSS_KIND_CLOSED. Does not wait.
 *
 * @param read  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_read_free(fluss_read_t *read);

/* ---- reads as Arrow streams ---- */

/**
 * Give a read out as an Arrow stream, pulled in the caller's thread. The scanner stays where it is.
 *
 * @param read  taken if it succeeds; of a scanner of one table, opened for batches, with rows
 *              aligned to the table's schema
 * @param out   gives (out->release); release is NULL on failure
 * @return 0; FLUSS_KIND_STATE: of another scanner
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_code_t fluss_read_stream(fluss_read_t *read, struct ArrowArrayStream *out,
                                         fluss_error_t *err);

/**
 * Read the subscribed buckets up to stop offsets as one Arrow stream, pulled in the caller's
 * thread. Waits until the server has said where they end.
 *
 * @param stop  n first offsets that are not read; NULL: the latest ones now, for all buckets
 * @param out   gives (out->release); holds the scanner until then; release is NULL on failure. The
 *              positions are right once it is released: after the rows that were pulled
 * @return 0; FLUSS_KIND_STATE: another call or read is under way, or no subscription;
 *         FLUSS_KIND_ARGUMENT: a bucket that is not subscribed; FLUSS_KIND_CANCELLED: woken up
 * Thread: the consumer. Source: ours; RecordBatchLogReader of fluss-rs.
 */
FLUSS_API fluss_code_t fluss_read(fluss_scanner_t *scanner, const fluss_position_t *stop, size_t n,
                                  struct ArrowArrayStream *out, fluss_error_t *err);

/**
 * Tell why a call on a stream of a read failed, with the code; the stream's get_last_error has the
 * text alone.
 *
 * @param stream  borrowed; NULL has no failure
 * @param err     may be NULL
 * @return the code of the last failure; 0: none, or a stream of another maker
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_code_t fluss_read_error(const struct ArrowArrayStream *stream, fluss_error_t *err);

/**
 * Pull from a stream of a read, as its get_next does, but within a limit of time.
 *
 * @param stream      borrowed
 * @param timeout_ms  milliseconds; < 0: without limit
 * @param batch       gives (batch->release); its release is NULL at the end of the rows
 * @return 0; FLUSS_KIND_TIMEOUT: no rows in time, nothing is lost, pull again; FLUSS_KIND_ARGUMENT:
 *         not a stream of a read
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_code_t fluss_read_next(struct ArrowArrayStream *stream, int64_t timeout_ms,
                                       struct ArrowArray *batch, fluss_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
