/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_scan.h - reading logs and changelogs: scanners, records, Arrow batches.
 *
 * A scanner has one consumer at a time: a second call beside one under way is FLUSS_KIND_STATE and
 * changes nothing. Only fluss_scanner_wakeup and fluss_positions are for any thread. Reads that end
 * are in fluss_read.h. */
#ifndef FLUSS_SCAN_H
#define FLUSS_SCAN_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- filters ---- */

/** How a condition compares; columns that are null match IS_NULL only. */
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

/**
 * A condition on one column. A wrong column or literal is reported when a scanner is opened.
 *
 * @param column    its name, copied
 * @param op        how to compare
 * @param literals  n values, copied: 0 for IS_NULL and NOT_NULL, up to 65,536 for IN and NOT_IN,
 *                  else 1
 * @return gives (fluss_pred_free); NULL: out of memory, `column` is NULL, or there are too many
 * Thread: any. Source: PredicateBuilder.
 */
FLUSS_API fluss_pred_t *fluss_pred(const char *column, fluss_cmp_t op,
                                   const fluss_datum_t *literals, size_t n);

/**
 * AND or OR of conditions.
 *
 * @param all       true: AND; false: OR
 * @param children  n conditions, taken in every case
 * @return gives (fluss_pred_free); NULL: a child is NULL, or out of memory
 * Thread: any. Source: PredicateBuilder.and, or.
 */
FLUSS_API fluss_pred_t *fluss_pred_combine(bool all, fluss_pred_t *const *children, size_t n);

/**
 * Release a condition with its children.
 *
 * @param pred  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_pred_free(fluss_pred_t *pred);

/* ---- scanners ---- */

/** How to read; everything may be left out. */
typedef struct {
    size_t size;            /* sizeof(fluss_scan_opts_t) */
    bool batches;           /* Arrow batches instead of records */
    bool write_time_schema; /* rows as written, not aligned with the table's present schema */
    bool exact_filter;      /* also filter here, row by row */
    const int32_t *columns; /* projection, in the wanted order, by index or by name, not both */
    const char *const *names;
    size_t n_columns;           /* 0: all columns */
    const fluss_pred_t *filter; /* a hint for the server: it may send rows that do not match */
    int32_t limit;              /* fluss_scan_bucket only */
} fluss_scan_opts_t;

/**
 * Open a scanner of one or more tables of one connection.
 *
 * @param tables    n_tables handles, borrowed; may be freed before the scanner
 * @param n_tables  1 or more
 * @param opts      copied; NULL: all columns, as records. With several tables no projection by
 *                  index
 * @param out       gives (fluss_scanner_free); NULL on failure
 * @return 0; FLUSS_KIND_ARGUMENT: unknown or repeated column, wrong filter; FLUSS_KIND_STATE: the
 *         child of a fork; FLUSS_KIND_CLOSED
 * Thread: any. Source: Scan.createLogScanner, project, filter.
 */
FLUSS_API fluss_code_t fluss_scanner_open(fluss_table_t *const *tables, size_t n_tables,
                                          const fluss_scan_opts_t *opts, fluss_scanner_t **out,
                                          fluss_error_t *err);

/**
 * Read buckets from offsets. A bucket that is subscribed already moves.
 *
 * @param pos  n positions, copied; FLUSS_LATEST is resolved now
 * @return -> void. FLUSS_KIND_ARGUMENT: no bucket of these tables; FLUSS_E_PARTITION_NOT_EXISTS
 * Thread: the consumer. Source: LogScanner.subscribe.
 */
FLUSS_API fluss_future_t *fluss_subscribe(fluss_scanner_t *scanner, const fluss_position_t *pos,
                                          size_t n);

/**
 * Read every bucket of every partition that exists now.
 *
 * @param offset  0 or more, FLUSS_EARLIEST or FLUSS_LATEST, for all of them
 * @return -> void. FLUSS_E_TABLE_NOT_EXIST
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_future_t *fluss_subscribe_all(fluss_scanner_t *scanner, int64_t offset);

/**
 * Read every bucket of the partitions that the scanner does not read yet, such as those that were
 * made since the last call. What is read stays where it is, so a consumer that runs calls this now
 * and then; a partition that was unsubscribed comes back.
 *
 * @param offset  0 or more, FLUSS_EARLIEST or FLUSS_LATEST, for all of the new ones
 * @return -> void. FLUSS_E_TABLE_NOT_EXIST
 * Thread: the consumer. Source: ours.
 */
FLUSS_API fluss_future_t *fluss_subscribe_new(fluss_scanner_t *scanner, int64_t offset);

/**
 * Stop reading buckets; what was fetched of them is dropped.
 *
 * @param buckets  n subscribed buckets
 * @return 0; FLUSS_KIND_ARGUMENT: one is not subscribed, nothing changed
 * Thread: the consumer. Source: LogScanner.unsubscribe.
 */
FLUSS_API fluss_code_t fluss_unsubscribe(fluss_scanner_t *scanner, const fluss_bucket_t *buckets,
                                         size_t n, fluss_error_t *err);

/**
 * Copy the positions of all subscribed buckets: the offset after the rows that the user has got,
 * also past rows that a filter hides. What a poll has ready counts once it is taken from its
 * future.
 *
 * @param out  room for `cap` of them; may be NULL when cap is 0
 * @param cap  elements of `out`
 * @return how many there are, also when more than cap
 * Thread: any. Source: ours.
 */
FLUSS_API size_t fluss_positions(const fluss_scanner_t *scanner, fluss_position_t *out, size_t cap);

/**
 * Wait for data. A cancelled or dropped poll loses nothing: the next one delivers. What becomes of
 * a bucket (its partition or table was dropped, its offset is gone) fails one poll, after the rows
 * that were read before it, and at most one poll later than the rows of other buckets.
 *
 * @param timeout_ms  milliseconds after which the answer is empty; 0: what is here now; < 0:
 *                    without limit
 * @return -> records, or -> batches when opened so. FLUSS_KIND_STATE: another call is under way, a
 *         read holds the scanner, or no subscription; FLUSS_E_LOG_OFFSET_OUT_OF_RANGE: the log
 *         begins after the offset
 * Thread: the consumer. Source: LogScanner.poll.
 */
FLUSS_API fluss_future_t *fluss_poll(fluss_scanner_t *scanner, int64_t timeout_ms);

/**
 * Read rows of one bucket at once.
 *
 * @param bucket  of this table
 * @param opts    limit > 0: at most so many of the newest rows; 0: all rows of a bucket of a
 *                primary-key table; NULL: as 0; no filter
 * @return -> batches. FLUSS_KIND_ARGUMENT: no such bucket, or no limit on a log table;
 *         FLUSS_E_UNKNOWN_TABLE_OR_BUCKET
 * Thread: any. Source: Scan.createBatchScanner, limit.
 */
FLUSS_API fluss_future_t *fluss_scan_bucket(fluss_table_t *table, fluss_bucket_t bucket,
                                            const fluss_scan_opts_t *opts);

/**
 * End a waiting poll now, with what there is; a fluss_read that waits for the server, with
 * FLUSS_KIND_CANCELLED. Without either, the next of them ends so at once.
 *
 * Thread: any. Source: LogScanner.wakeup.
 */
FLUSS_API void fluss_scanner_wakeup(fluss_scanner_t *scanner);

/**
 * Release the handle. A poll under way ends with FLUSS_KIND_CLOSED.
 *
 * @param scanner  taken; NULL does nothing
 * Thread: any. Source: LogScanner.close.
 */
FLUSS_API void fluss_scanner_free(fluss_scanner_t *scanner);

/* ---- records ---- */

/** One row of a log or changelog. */
typedef struct {
    fluss_bucket_t bucket;
    int64_t offset;
    int64_t timestamp_ms; /* when the server wrote it, ms since 1970 */
    fluss_change_t change;
    const fluss_row_t *row; /* borrowed from the records */
} fluss_record_t;

/**
 * Short text of a change type.
 *
 * @param change  any value
 * @return "+A" "+I" "-U" "+U" "-D"; "?" for any other. Static
 * Thread: any. Source: ChangeType.shortString.
 */
FLUSS_API const char *fluss_change_string(fluss_change_t change);

/**
 * Number of records.
 *
 * @return 0 when `records` is NULL
 * Thread: any. Source: ScanRecords.count.
 */
FLUSS_API size_t fluss_records_count(const fluss_records_t *records);

/**
 * Read one record: grouped by bucket, offsets rising.
 *
 * @param i    0-based
 * @param out  its row is borrowed from the records; zeroed past the end
 * Thread: any. Source: ScanRecords.records.
 */
FLUSS_API void fluss_records_get(const fluss_records_t *records, size_t i, fluss_record_t *out);

/**
 * Number of columns of a row.
 *
 * @return 0 when `row` is NULL
 * Thread: any. Source: InternalRow.getFieldCount.
 */
FLUSS_API size_t fluss_row_width(const fluss_row_t *row);

/**
 * Index of a column of a row.
 *
 * @param column  its name
 * @return 0-based; -1: none
 * Thread: any. Source: RowType.getFieldIndex.
 */
FLUSS_API ptrdiff_t fluss_row_index(const fluss_row_t *row, const char *column);

/**
 * Read one value.
 *
 * @param column  0-based
 * @param out     pointers in it are borrowed from the records; FLUSS_NULL on failure
 * @return 0; FLUSS_KIND_ARGUMENT's code: no such column
 * Thread: any; nested values of one row: one at a time. Source: InternalRow.
 */
FLUSS_API fluss_code_t fluss_row_get(const fluss_row_t *row, size_t column, fluss_datum_t *out);

/**
 * All rows as one Arrow batch, in the order of the records.
 *
 * @param schema  gives (schema->release); release is NULL on failure
 * @param array   gives (array->release), independent of the records; release is NULL on failure
 * @return 0, FLUSS_KIND_ARGUMENT or FLUSS_KIND_NOMEM
 * Thread: any. Cost: one copy of the values. Source: ours; LookupResult::to_record_batch of
 * fluss-rs.
 */
FLUSS_API fluss_code_t fluss_records_to_arrow(const fluss_records_t *records,
                                              struct ArrowSchema *schema, struct ArrowArray *array,
                                              fluss_error_t *err);

/**
 * Release records; their rows end with them.
 *
 * @param records  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_records_free(fluss_records_t *records);

/* ---- Arrow batches ---- */

/**
 * Number of batches.
 *
 * @return 0 when `batches` is NULL
 * Thread: any. Source: ours.
 */
FLUSS_API size_t fluss_batches_count(const fluss_batches_t *batches);

/**
 * Take a batch out; each once.
 *
 * @param i            0-based
 * @param schema       gives (schema->release); a changelog has a first column `__change_type`
 *                     (uint8: fluss_change_t); release is NULL on failure
 * @param array        gives (array->release), independent of `batches`; release is NULL on failure
 * @param first        bucket and offset of the first row; may be NULL
 * @param last_offset  offset of the last row; may be NULL
 * @return 0; FLUSS_KIND_STATE: taken already; FLUSS_KIND_ARGUMENT: i is not below the count
 * Thread: any, one at a time. Cost: no copy of uncompressed columns. Source: ours.
 */
FLUSS_API fluss_code_t fluss_batches_take(fluss_batches_t *batches, size_t i,
                                          struct ArrowSchema *schema, struct ArrowArray *array,
                                          fluss_position_t *first, int64_t *last_offset,
                                          fluss_error_t *err);

/**
 * Release batches; those that were taken are not touched.
 *
 * @param batches  taken; NULL does nothing
 * Thread: any. Source: ours.
 */
FLUSS_API void fluss_batches_free(fluss_batches_t *batches);

#ifdef __cplusplus
}
#endif
#endif
