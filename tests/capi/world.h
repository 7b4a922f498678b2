/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of tests/capi share: a server in a process of its own, tables, and the ways to
 * end a test. A failed `must` or `expect` prints where and ends the program with status 1. */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H
#include <fluss/fluss.h>
#include <fluss/fluss_arrow.h>

enum { WAIT_MS = 60000 };

#define must(call) must_at((call), &err, #call, __FILE__, __LINE__)
#define expect(is_so) expect_at((is_so), #is_so, __FILE__, __LINE__)
/** The call must fail with FLUSS_E_CLIENT and this kind. */
#define must_be(kind, call) must_be_at((kind), (call), &err, #call, __FILE__, __LINE__)

void must_at(fluss_code_t rc, const fluss_error_t *err, const char *what, const char *file,
             int line);
void must_be_at(fluss_kind_t kind, fluss_code_t rc, const fluss_error_t *err, const char *what,
                const char *file, int line);
void expect_at(bool is_so, const char *what, const char *file, int line);

/** Start a server in a child process, with a folder of its own; before any thread is started.
 * @param settings n pairs besides data.dir and bind.listeners
 * @return its address, static */
const char *server_start(const fluss_kv_t *settings, size_t n);
/** Stop it and remove its folder. */
void server_stop(void);

/** A connection; `settings` are n more pairs. */
fluss_conn_t *connect_with(const char *servers, const fluss_kv_t *settings, size_t n);
fluss_conn_t *connect_to(const char *servers);

/** Make a table anew and open it. `columns`: "id INT, name STRING"; `keys`: "id", or NULL for a log
 * table; `opts` may be NULL. */
fluss_table_t *make_table(fluss_conn_t *conn, const char *name, const char *columns,
                          const char *keys, const fluss_desc_opts_t *opts);
/** An opened handle that must come. */
fluss_writer_t *open_writer(fluss_table_t *table);
fluss_scanner_t *open_scanner(fluss_table_t *table, const fluss_scan_opts_t *opts, int64_t from);
fluss_records_t *poll_some(fluss_scanner_t *scanner);
fluss_records_t *look_up(fluss_lookup_t *lookup, const fluss_datum_t *keys, size_t width,
                         size_t count);
void flush(fluss_writer_t *writer);
/** An administrative answer that must come. */
fluss_result_t *answer_of(fluss_future_t *future);
/** Rows of a result in which a column has this text. */
size_t count_rows(const fluss_result_t *result, const char *column, const char *text);
/** Whether a text column of a row reads so. */
bool text_is(const fluss_row_t *row, const char *column, const char *expected);
/** Rows of all batches, which are released. */
int64_t drain_batches(fluss_batches_t *batches);
/** Rows of a stream, which is released. */
int64_t drain_stream(struct ArrowArrayStream *stream);
fluss_bucket_t bucket_of(const fluss_table_t *table, int32_t bucket);
int64_t now_ms(void);
/** A number from the environment, for sizes. */
int64_t size_from(const char *variable, int64_t fallback);
#endif
