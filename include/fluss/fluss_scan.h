/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_scan.h - reading logs and changelogs: scanners, records, Arrow batches. */
#ifndef FLUSS_SCAN_H
#define FLUSS_SCAN_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- filters: hints for the server, exact on request ---- */
typedef enum {
    FLUSS_CMP_EQ,
    FLUSS_CMP_NE,
    FLUSS_CMP_LT,
    FLUSS_CMP_LE,
    FLUSS_CMP_GT,
    FLUSS_CMP_GE,
    FLUSS_CMP_IS_NULL,
    FLUSS_CMP_NOT_NULL,
    FLUSS_CMP_STARTS,
    FLUSS_CMP_ENDS,
    FLUSS_CMP_CONTAINS,
    FLUSS_CMP_IN,
    FLUSS_CMP_NOT_IN
} fluss_cmp_t;

/** A condition on one column. @param literals n values: 0 for IS_NULL and NOT_NULL, any number for
 * IN and NOT_IN, else 1; copied. gives (fluss_pred_free). NULL: out of memory; a wrong column or
 * literal is reported when a scanner is opened with it. */
FLUSS_API fluss_pred_t *fluss_pred(const char *column, fluss_cmp_t op,
                                   const fluss_datum_t *literals, size_t n);
/** AND (`all`) or OR of conditions. takes the children, in every case. NULL: a child is NULL, or
 * out of memory. */
FLUSS_API fluss_pred_t *fluss_pred_combine(bool all, fluss_pred_t *const *children, size_t n);
/** NULL allowed. */
FLUSS_API void fluss_pred_free(fluss_pred_t *pred);

/* ---- scanners ---- */
typedef struct {
    size_t size;            /* sizeof(fluss_scan_opts_t) */
    bool batches;           /* Arrow batches instead of records */
    bool write_time_schema; /* rows as written, not aligned with the table's present schema */
    bool exact_filter;      /* also filter here, row by row */
    const int32_t *columns; /* projection, in the wanted order, by index or by name, not both */
    const char *const *names;
    size_t n_columns; /* 0: all columns */
    const fluss_pred_t *filter;
    int32_t limit; /* fluss_scan_bucket only */
} fluss_scan_opts_t;

/**
 * Open a scanner of one or more tables of one connection.
 *
 * @param opts NULL: all columns, as records. With several tables no projection by index.
 * @param out  gives (fluss_scanner_free)
 * @return FLUSS_KIND_ARGUMENT: unknown or repeated column, wrong filter
 */
FLUSS_API fluss_code_t fluss_scanner_open(fluss_table_t *const *tables, size_t n_tables,
                                          const fluss_scan_opts_t *opts, fluss_scanner_t **out,
                                          fluss_error_t *err);
/** -> void. Read these buckets from these offsets; FLUSS_LATEST is resolved now. A bucket that is
 * subscribed already moves. */
FLUSS_API fluss_future_t *fluss_subscribe(fluss_scanner_t *scanner, const fluss_position_t *pos,
                                          size_t n);
/** -> void. Read every bucket of every partition that exists now. */
FLUSS_API fluss_future_t *fluss_subscribe_all(fluss_scanner_t *scanner, int64_t offset);
/** Stop reading buckets; what was fetched of them is dropped. @return FLUSS_KIND_ARGUMENT: a bucket
 * is not subscribed, nothing changed */
FLUSS_API fluss_code_t fluss_unsubscribe(fluss_scanner_t *scanner, const fluss_bucket_t *buckets,
                                         size_t n, fluss_error_t *err);
/** Copy the next offsets to be delivered. @return how many there are, also when more than `cap` */
FLUSS_API size_t fluss_positions(const fluss_scanner_t *scanner, fluss_position_t *out, size_t cap);
/**
 * Wait for data.
 *
 * @param timeout_ms after which the answer is empty; 0: what is here now; < 0: without limit
 * @return future -> records, or batches when opened so. A cancelled or dropped poll loses nothing:
 *         the next one delivers. FLUSS_KIND_STATE: another call is under way, or no subscription
 */
FLUSS_API fluss_future_t *fluss_poll(fluss_scanner_t *scanner, int64_t timeout_ms);
/**
 * Read the subscribed buckets up to stop offsets as one Arrow stream, pulled in the caller's
 * thread.
 *
 * @param stop first offsets that are not read; NULL: the latest ones now, for all buckets
 * @param out  gives (out->release); holds the scanner until then
 */
FLUSS_API fluss_code_t fluss_read(fluss_scanner_t *scanner, const fluss_position_t *stop, size_t n,
                                  struct ArrowArrayStream *out, fluss_error_t *err);
/** -> batches: rows of one bucket at once. @param opts limit > 0: at most so many of the newest
 * rows; 0: all rows of a bucket of a primary-key table */
FLUSS_API fluss_future_t *fluss_scan_bucket(fluss_table_t *table, fluss_bucket_t bucket,
                                            const fluss_scan_opts_t *opts);
/** End a waiting poll now, with what there is. Thread: any. */
FLUSS_API void fluss_scanner_wakeup(fluss_scanner_t *scanner);
/** NULL allowed. */
FLUSS_API void fluss_scanner_free(fluss_scanner_t *scanner);

/* ---- records: immutable, any thread ---- */
typedef struct {
    fluss_bucket_t bucket;
    int64_t offset;
    int64_t timestamp_ms; /* when the server wrote it, ms since 1970 */
    fluss_change_t change;
    const fluss_row_t *row; /* borrowed from the records */
} fluss_record_t;

/** "+A" "+I" "-U" "+U" "-D"; "?" for any other. Static. */
FLUSS_API const char *fluss_change_string(fluss_change_t change);
FLUSS_API size_t fluss_records_count(const fluss_records_t *records);
/** The i-th record, i < count: grouped by bucket, offsets rising. Past the end: zeroed. */
FLUSS_API void fluss_records_get(const fluss_records_t *records, size_t i, fluss_record_t *out);
/** Number of columns. */
FLUSS_API size_t fluss_row_width(const fluss_row_t *row);
/** Index of a column; -1: none. */
FLUSS_API ptrdiff_t fluss_row_index(const fluss_row_t *row, const char *column);
/** Read one value. Pointers in it are borrowed from the records. Nested values of one row: one
 * thread at a time. @return FLUSS_KIND_ARGUMENT's code: no such column */
FLUSS_API fluss_code_t fluss_row_get(const fluss_row_t *row, size_t column, fluss_datum_t *out);
/** All rows as one Arrow batch, in the order of the records. gives both (release). */
FLUSS_API fluss_code_t fluss_records_to_arrow(const fluss_records_t *records,
                                              struct ArrowSchema *schema, struct ArrowArray *array,
                                              fluss_error_t *err);
/** NULL allowed. */
FLUSS_API void fluss_records_free(fluss_records_t *records);

/* ---- Arrow batches ---- */
FLUSS_API size_t fluss_batches_count(const fluss_batches_t *batches);
/**
 * Take a batch out; each once.
 *
 * @param schema, array gives (release); independent of `batches`. A changelog has a first column
 *                      `__change_type` (uint8: fluss_change_t)
 * @param first         bucket and offset of the first row; may be NULL
 * @param last_offset   offset of the last row; may be NULL
 * @return FLUSS_KIND_STATE: taken already; FLUSS_KIND_ARGUMENT: i is not below the count
 */
FLUSS_API fluss_code_t fluss_batches_take(fluss_batches_t *batches, size_t i,
                                          struct ArrowSchema *schema, struct ArrowArray *array,
                                          fluss_position_t *first, int64_t *last_offset,
                                          fluss_error_t *err);
/** NULL allowed. */
FLUSS_API void fluss_batches_free(fluss_batches_t *batches);

#ifdef __cplusplus
}
#endif
#endif
