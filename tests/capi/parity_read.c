/* SPDX-License-Identifier: Apache-2.0 */
/* Parity, reading logs and lookups: a test a row of docs/parity.md, named after it. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "parity.h"

static const char columns[] = "n INT, text STRING";
static const fluss_scan_opts_t as_batches = {.size = sizeof(as_batches), .batches = true};

static void parity_record_scanner(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "recorded", columns, NULL, NULL);
    const int64_t before = (int64_t)time(NULL) * 1000 - 1000;
    fill(table, 0, 3);
    fluss_scanner_t *scanner = open_scanner(table, NULL, 1);
    fluss_records_t *records = poll_some(scanner);
    fluss_record_t record;
    fluss_records_get(records, 0, &record);
    expect(record.offset == 1 && record.change == FLUSS_APPEND_ONLY);
    expect(record.timestamp_ms >= before && record.timestamp_ms < before + 3600000);
    expect(text_is(record.row, "text", "r1"));
    fluss_records_free(records);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_arrow_scanner(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_batches_t *batches;
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_position_t first;
    int64_t last;
    fluss_table_t *table = make_table(conn, "batched", columns, NULL, NULL);
    fill(table, 0, 5);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    must(fluss_await_batches(fluss_poll(scanner, WAIT_MS), WAIT_MS, &batches, &err));
    must(fluss_batches_take(batches, 0, &schema, &array, &first, &last, &err));
    expect(first.offset == 0 && last == array.length - 1 && schema.n_children == 2);
    array.release(&array);
    schema.release(&schema);
    must_be(FLUSS_KIND_STATE, fluss_batches_take(batches, 0, &schema, &array, NULL, NULL, &err));
    expect(schema.release == NULL && array.release == NULL);
    fluss_batches_free(batches);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_projection(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_scanner_t *refused;
    const int32_t index = 1;
    const char *const name = "text", *const unknown = "nope";
    const fluss_scan_opts_t ways[] = {{.size = sizeof(ways[0]), .columns = &index, .n_columns = 1},
                                      {.size = sizeof(ways[0]), .names = &name, .n_columns = 1}};
    fluss_table_t *table = make_table(conn, "projected", columns, NULL, NULL);
    fill(table, 0, 1);
    for (size_t i = 0; i < 2; i++) {
        fluss_scanner_t *scanner = open_scanner(table, &ways[i], FLUSS_EARLIEST);
        fluss_records_t *records = poll_some(scanner);
        fluss_record_t record;
        fluss_records_get(records, 0, &record);
        expect(fluss_row_width(record.row) == 1 && text_is(record.row, "text", "r0"));
        fluss_records_free(records);
        fluss_scanner_free(scanner);
    }
    must_be(FLUSS_KIND_ARGUMENT,
            fluss_scanner_open(&table, 1,
                               FLUSS_OPTS(fluss_scan_opts_t, .names = &unknown, .n_columns = 1),
                               &refused, &err));
    expect(refused == NULL && strstr(err.message, "nope") != NULL);
    fluss_table_free(table);
}

static void parity_subscribe_and_unsubscribe(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_scanner_t *scanner;
    fluss_table_t *table =
        make_table(conn, "subscribed", columns, NULL, FLUSS_OPTS(fluss_desc_opts_t, .buckets = 3));
    const fluss_position_t wanted[] = {{bucket_of(table, 0), 0}, {bucket_of(table, 2), 0}};
    must(fluss_scanner_open(&table, 1, NULL, &scanner, &err));
    must(fluss_await(fluss_subscribe(scanner, wanted, 2), WAIT_MS, &err));
    expect(fluss_positions(scanner, NULL, 0) == 2);
    must(fluss_unsubscribe(scanner, &wanted[1].bucket, 1, &err));
    expect(fluss_positions(scanner, NULL, 0) == 1);
    must_be(FLUSS_KIND_ARGUMENT, fluss_unsubscribe(scanner, &wanted[1].bucket, 1, &err));
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_subscribe_latest_timestamp_all(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table =
        make_table(conn, "latest", columns, NULL, FLUSS_OPTS(fluss_desc_opts_t, .buckets = 2));
    fill(table, 0, 4);
    fluss_scanner_t *all = open_scanner(table, NULL, FLUSS_EARLIEST);
    fluss_scanner_t *latest = open_scanner(table, NULL, FLUSS_LATEST);
    expect(fluss_positions(all, NULL, 0) == 2);
    fill(table, 100, 1);
    expect(read_sum(latest, 1) == 100);
    expect(read_sum(all, 5) == 106);
    /* A time is turned into offsets first. */
    fluss_result_t *found =
        answer_of(fluss_list_offsets(conn, fluss_table_info(table)->path, NULL, NULL, 0, 1));
    expect(fluss_result_rows(found) == 2 && fluss_result_i64(found, 0, "offset", -1) == 0);
    fluss_result_free(found);
    fluss_scanner_free(all);
    fluss_scanner_free(latest);
    fluss_table_free(table);
}

static void parity_changelog_records(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    static const char *const expected[] = {"+I", "-U", "+U"};
    fluss_table_t *table = make_table(conn, "changed", columns, "n", NULL);
    fill(table, 1, 1);
    fill(table, 1, 1);
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    for (size_t seen = 0; seen < 3;) {
        fluss_records_t *records = poll_some(scanner);
        for (size_t i = 0; i < fluss_records_count(records); i++, seen++) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            expect(strcmp(fluss_change_string(record.change), expected[seen]) == 0);
        }
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_changelog_as_arrow(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_batches_t *batches;
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_table_t *table = make_table(conn, "changed_arrow", columns, "n", NULL);
    fill(table, 1, 2);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    must(fluss_await_batches(fluss_poll(scanner, WAIT_MS), WAIT_MS, &batches, &err));
    must(fluss_batches_take(batches, 0, &schema, &array, NULL, NULL, &err));
    expect(strcmp(schema.children[0]->name, "__change_type") == 0);
    expect(((const uint8_t *)array.children[0]->buffers[1])[0] == FLUSS_INSERT);
    array.release(&array);
    schema.release(&schema);
    fluss_batches_free(batches);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_bounded_read(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowArrayStream stream;
    fluss_table_t *table = make_table(conn, "bounded", columns, NULL, NULL);
    fill(table, 0, 20);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    must(fluss_read(scanner, NULL, 0, &stream, &err));
    fill(table, 20, 5); /* after "now" */
    expect(drain_stream(&stream) == 20);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_bounded_read_to_offsets(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowArrayStream stream;
    fluss_table_t *table = make_table(conn, "bounded_to", columns, NULL, NULL);
    fill(table, 0, 20);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, 3);
    const fluss_position_t stop = {bucket_of(table, 0), 11};
    must(fluss_read(scanner, &stop, 1, &stream, &err));
    expect(drain_stream(&stream) == 8);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static int64_t position_of(const fluss_scanner_t *scanner)
{
    fluss_position_t position = {0};
    expect(fluss_positions(scanner, &position, 1) == 1);
    return position.offset;
}

/* A call that was answered and that nobody took the answer of. */
static void drop_answered(fluss_future_t *future)
{
    fluss_error_t err = {0};
    must(fluss_future_wait(future, WAIT_MS, &err));
    fluss_future_free(future);
}

static void parity_read_in_parts_and_at_once(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_read_t *parts, *whole;
    fluss_batches_t *batches;
    fluss_table_t *table = make_table(conn, "in_parts", columns, NULL, NULL);
    fill(table, 0, 10);
    fill(table, 10, 10);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    must(fluss_read_begin(scanner, NULL, 0, &parts, &err));
    must(fluss_read_begin(scanner, NULL, 0, &whole, &err)); /* side by side */
    must(fluss_await(fluss_read_settled(parts), WAIT_MS, &err));
    must(fluss_await(fluss_read_settled(whole), WAIT_MS, &err));
    must_be(FLUSS_KIND_STATE, fluss_await_batches(fluss_poll(scanner, 0), WAIT_MS, NULL, &err));
    fill(table, 20, 5);                        /* after "now" */
    fluss_future_free(fluss_read_rest(whole)); /* dropped: nothing is lost */
    drop_answered(fluss_read_rest(whole));
    must(fluss_await_batches(fluss_read_rest(whole), WAIT_MS, &batches, &err));
    expect(drain_batches(batches) == 20);
    must(fluss_await_batches(fluss_read_rest(whole), WAIT_MS, &batches, &err));
    expect(drain_batches(batches) == 0); /* the end, again and again */
    int64_t rows = 0, count;
    do {
        drop_answered(fluss_read_some(parts));
        must(fluss_await_batches(fluss_read_some(parts), WAIT_MS, &batches, &err));
        count = drain_batches(batches);
        rows += count;
    } while (count > 0);
    expect(rows == 20);
    fluss_read_free(parts);
    fluss_read_free(whole);
    expect(position_of(scanner) == FLUSS_EARLIEST); /* it was only looked at */
    must(fluss_await_batches(fluss_poll(scanner, WAIT_MS), WAIT_MS, &batches, &err));
    expect(drain_batches(batches) > 0);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_bounded_read_of_records(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_read_t *read;
    fluss_records_t *records;
    fluss_record_t record;
    fluss_table_t *table = make_table(conn, "bounded_keys", columns, "n", NULL);
    fill(table, 0, 20);
    fluss_scanner_t *scanner = open_scanner(table, NULL, 3);
    const fluss_position_t stop = {bucket_of(table, 0), 11}; /* in the middle of a batch */
    must(fluss_read_begin(scanner, &stop, 1, &read, &err));
    must(fluss_await_records(fluss_read_rest(read), WAIT_MS, &records, &err));
    expect(fluss_records_count(records) == 8);
    fluss_records_get(records, 7, &record);
    expect(record.offset == 10 && record.change == FLUSS_INSERT);
    fluss_records_free(records);
    fluss_read_free(read);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_progress_of_a_read(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_read_t *read;
    fluss_read_bucket_t at = {0};
    fluss_batches_t *batches;
    fluss_table_t *table = make_table(conn, "progress", columns, NULL, NULL);
    fill(table, 0, 20);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    must(fluss_read_begin(scanner, NULL, 0, &read, &err));
    fluss_scanner_free(scanner); /* the read keeps what it needs */
    must(fluss_await(fluss_read_settled(read), WAIT_MS, &err));
    expect(fluss_read_progress(read, NULL, 0) == 1);
    expect(fluss_read_progress(read, &at, 1) == 1);
    expect(at.bucket.bucket == 0 && at.start == 0 && at.position == 0 && at.stop == 20);
    must(fluss_await_batches(fluss_read_rest(read), WAIT_MS, &batches, &err));
    expect(drain_batches(batches) == 20);
    expect(fluss_read_progress(read, &at, 1) == 1 && at.position == 20);
    fluss_read_free(read);
    fluss_table_free(table);
}

static void *stop_read(void *read)
{
    fluss_read_stop(read);
    return NULL;
}

static void parity_read_that_is_stopped(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_read_t *read;
    fluss_batches_t *batches;
    pthread_t thread;
    fluss_table_t *table = make_table(conn, "stopped", columns, NULL, NULL);
    fill(table, 0, 5);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    must(fluss_read_begin(scanner, NULL, 0, &read, &err));
    fluss_read_stop(read); /* before anybody waits */
    must_be(FLUSS_KIND_CANCELLED, fluss_await(fluss_read_settled(read), WAIT_MS, &err));
    must_be(FLUSS_KIND_CANCELLED, fluss_await_batches(fluss_read_rest(read), WAIT_MS, NULL, &err));
    must(
        fluss_await_batches(fluss_poll(scanner, 0), WAIT_MS, NULL, &err)); /* the scanner is free */
    fluss_read_free(read);
    must(fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err));

    const fluss_position_t stop = {bucket_of(table, 0), 100}; /* that are not there */
    must(fluss_read_begin(scanner, &stop, 1, &read, &err));
    fluss_future_t *rest = fluss_read_rest(read);
    must_be(FLUSS_KIND_STATE, fluss_await_batches(fluss_read_some(read), WAIT_MS, NULL, &err));
    expect(pthread_create(&thread, NULL, stop_read, read) == 0);
    must_be(FLUSS_KIND_CANCELLED, fluss_await_batches(rest, WAIT_MS, NULL, &err));
    must_be(FLUSS_KIND_CANCELLED, fluss_await_batches(fluss_read_some(read), WAIT_MS, NULL, &err));
    expect(pthread_join(thread, NULL) == 0);
    fluss_read_free(read);

    must(fluss_read_begin(scanner, NULL, 0, &read, &err));
    must(fluss_await_batches(fluss_read_rest(read), WAIT_MS, &batches, &err));
    expect(drain_batches(batches) == 5);
    fluss_read_stop(read); /* at its end it stays there */
    must(fluss_await_batches(fluss_read_some(read), WAIT_MS, &batches, &err));
    expect(drain_batches(batches) == 0);
    fluss_read_free(read);

    must(fluss_read_begin(scanner, &stop, 1, &read, &err));
    rest = fluss_read_rest(read);
    fluss_read_free(read); /* with a call under way */
    must_be(FLUSS_KIND_CLOSED, fluss_await_batches(rest, WAIT_MS, NULL, &err));
    expect(position_of(scanner) == FLUSS_EARLIEST);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_arrow_stream(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    fluss_table_t *table = make_table(conn, "streamed", columns, NULL, NULL);
    fill(table, 0, 3);
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    must(fluss_read(scanner, NULL, 0, &stream, &err));
    must_be(FLUSS_KIND_STATE, fluss_await_batches(fluss_poll(scanner, 0), WAIT_MS, NULL, &err));
    fluss_scanner_free(scanner); /* the stream holds it */
    expect(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 2);
    schema.release(&schema);
    expect(drain_stream(&stream) == 3);
    fluss_table_free(table);
}

static void parity_evolved_schemas(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "evolved", columns, NULL, NULL), *newer;
    const fluss_path_t path = fluss_table_info(table)->path;
    fill(table, 1, 1);
    const fluss_table_change_t add = {.what = FLUSS_ADD_COLUMN, .name = "m", .type = "BIGINT"};
    must(fluss_await(fluss_alter_table(conn, path, &add, 1, 0), WAIT_MS, &err));
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &newer, &err));
    for (int as_written = 0; as_written < 2; as_written++) {
        fluss_scanner_t *scanner =
            open_scanner(newer, FLUSS_OPTS(fluss_scan_opts_t, .write_time_schema = as_written == 1),
                         FLUSS_EARLIEST);
        fluss_records_t *records = poll_some(scanner);
        fluss_record_t record;
        fluss_records_get(records, 0, &record);
        expect(fluss_row_width(record.row) == (as_written ? 2 : 3));
        fluss_records_free(records);
        fluss_scanner_free(scanner);
    }
    fluss_table_free(table);
    fluss_table_free(newer);
}

/* Rows [0, 100) in ten batches, and a filter n >= 95. */
static fluss_scanner_t *open_filtered(fluss_table_t *table, bool is_exact)
{
    const fluss_datum_t bound = fluss_int(95);
    fluss_pred_t *filter = fluss_pred("n", FLUSS_CMP_GE, &bound, 1);
    fluss_scanner_t *scanner = open_scanner(
        table, FLUSS_OPTS(fluss_scan_opts_t, .filter = filter, .exact_filter = is_exact),
        FLUSS_EARLIEST);
    fluss_pred_free(filter);
    return scanner;
}

static fluss_table_t *make_filtered(fluss_conn_t *conn, const char *name)
{
    const fluss_kv_t statistics[] = {{"table.statistics.columns", "*"}};
    fluss_table_t *table =
        make_table(conn, name, columns, NULL,
                   FLUSS_OPTS(fluss_desc_opts_t, .properties = statistics, .n_properties = 1));
    for (int32_t i = 0; i < 10; i++) {
        fill(table, i * 10, 10);
    }
    return table;
}

static void parity_filter_pushdown(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_filtered(conn, "filtered");
    fluss_scanner_t *scanner = open_filtered(table, false);
    expect(read_sum(scanner, 10) == 945); /* the one batch that can match, whole */
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_exact_filter(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_filtered(conn, "filtered_exactly");
    fluss_scanner_t *scanner = open_filtered(table, true);
    expect(read_sum(scanner, 5) == 95 + 96 + 97 + 98 + 99);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_progress_behind_a_filter(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_filtered(conn, "progress");
    fluss_scanner_t *scanner = open_filtered(table, true);
    fluss_position_t position;
    (void)read_sum(scanner, 5);
    fill(table, 0, 10); /* hidden by the filter */
    const int64_t deadline = now_ms() + WAIT_MS;
    do {
        (void)read_sum(scanner, 0);
        expect(fluss_positions(scanner, &position, 1) == 1);
    } while (position.offset < 110 && now_ms() < deadline);
    expect(position.offset == 110);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_positions(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "positions", columns, NULL, NULL);
    fill(table, 0, 6);
    fluss_scanner_t *scanner = open_scanner(table, NULL, 2);
    fluss_position_t position;
    expect(fluss_positions(scanner, &position, 1) == 1 && position.offset == 2);
    (void)read_sum(scanner, 4);
    expect(fluss_positions(scanner, &position, 1) == 1 && position.offset == 6);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_positions_of_what_was_taken(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "taken", columns, NULL, NULL);
    fill(table, 0, 6);
    fluss_scanner_t *scanner = open_scanner(table, NULL, 2);
    fluss_position_t position;
    fluss_future_t *poll = fluss_poll(scanner, WAIT_MS);
    must(fluss_future_wait(poll, WAIT_MS, &err));
    expect(fluss_positions(scanner, &position, 1) == 1 && position.offset == 2);
    fluss_future_free(poll); /* nobody took it */
    poll = fluss_poll(scanner, WAIT_MS);
    must(fluss_future_wait(poll, WAIT_MS, &err));
    expect(fluss_positions(scanner, &position, 1) == 1 && position.offset == 2);
    fluss_records_t *records;
    must(fluss_await_records(poll, WAIT_MS, &records, &err));
    expect(fluss_records_count(records) == 4);
    expect(fluss_positions(scanner, &position, 1) == 1 && position.offset == 6);
    fluss_records_free(records);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_positions_of_what_was_pulled(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "pulled", columns, NULL, NULL);
    for (int first = 0; first < 6; first += 2) {
        fill(table, first, 2);
    }
    fluss_scanner_t *scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    fluss_position_t position = {0};
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    must(fluss_read(scanner, NULL, 0, &stream, &err));
    must(fluss_read_next(&stream, WAIT_MS, &array, &err));
    const int64_t pulled = array.length;
    array.release(&array);
    stream.release(&stream);
    expect(fluss_positions(scanner, &position, 1) == 1 && position.offset == pulled);
    position.offset = 3; /* in the middle of a batch */
    must(fluss_await(fluss_subscribe(scanner, &position, 1), WAIT_MS, &err));
    position.offset = 5;
    must(fluss_read(scanner, &position, 1, &stream, &err));
    int64_t rows = 0;
    while (fluss_read_next(&stream, WAIT_MS, &array, &err) == 0 && array.release != NULL) {
        rows += array.length;
        array.release(&array);
    }
    stream.release(&stream);
    expect(rows == 2);
    expect(fluss_positions(scanner, &position, 1) == 1 && position.offset == 5);
    fluss_batches_t *batches;
    fluss_position_t first = {0};
    must(fluss_await_batches(fluss_poll(scanner, WAIT_MS), WAIT_MS, &batches, &err));
    struct ArrowSchema schema;
    must(fluss_batches_take(batches, 0, &schema, &array, &first, NULL, &err));
    expect(first.offset == 5 && array.length == 1);
    schema.release(&schema);
    array.release(&array);
    fluss_batches_free(batches);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_wakeup_and_close(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "woken", columns, NULL, NULL);
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    fluss_records_t *records;
    fluss_future_t *poll = fluss_poll(scanner, -1);
    fluss_scanner_wakeup(scanner);
    must(fluss_await_records(poll, WAIT_MS, &records, &err));
    expect(fluss_records_count(records) == 0);
    fluss_records_free(records);
    poll = fluss_poll(scanner, -1);
    fluss_scanner_free(scanner);
    must_be(FLUSS_KIND_CLOSED, fluss_await(poll, WAIT_MS, &err));
    scanner = open_scanner(table, &as_batches, FLUSS_EARLIEST);
    struct ArrowArrayStream stream;
    fluss_scanner_wakeup(scanner); /* before the read: it is not lost */
    must(fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    must_be(FLUSS_KIND_CANCELLED, fluss_read(scanner, NULL, 0, &stream, &err));
    must(fluss_read(scanner, NULL, 0, &stream, &err));
    expect(drain_stream(&stream) == 0);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
}

static void parity_many_tables_in_one_scanner(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_scanner_t *scanner;
    fluss_table_t *tables[] = {make_table(conn, "multi_a", columns, NULL, NULL),
                               make_table(conn, "multi_b", columns, "n", NULL)};
    fill(tables[0], 0, 5);
    fill(tables[1], 100, 5);
    must(fluss_scanner_open(tables, 2, NULL, &scanner, &err));
    must(fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    expect(read_sum(scanner, 10) == 10 + 510);
    fluss_scanner_free(scanner);
    fluss_table_free(tables[0]);
    fluss_table_free(tables[1]);
}

static void parity_crc_switch(const char *servers, fluss_conn_t *conn)
{
    (void)conn;
    const fluss_kv_t off = {"scanner.log.check-crc", "false"};
    fluss_conn_t *other = connect_with(servers, &off, 1);
    fluss_table_t *table = make_table(other, "unchecked", columns, NULL, NULL);
    fill(table, 0, 4);
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    expect(read_sum(scanner, 4) == 6);
    fluss_scanner_free(scanner);
    fluss_table_free(table);
    fluss_conn_free(other);
}

static int64_t scan_bucket(fluss_table_t *table, int32_t limit)
{
    fluss_error_t err = {0};
    fluss_batches_t *batches;
    must(fluss_await_batches(fluss_scan_bucket(table, bucket_of(table, 0),
                                               FLUSS_OPTS(fluss_scan_opts_t, .limit = limit)),
                             WAIT_MS, &batches, &err));
    return drain_batches(batches);
}

static void parity_limit_scan(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    const char *const names[] = {"limited_log", "limited_pk"};
    for (int keyed = 0; keyed < 2; keyed++) {
        fluss_table_t *table = make_table(conn, names[keyed], columns, keyed ? "n" : NULL, NULL);
        fill(table, 0, 20);
        expect(scan_bucket(table, 7) == 7);
        fluss_table_free(table);
    }
}

static void parity_full_state(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "whole", columns, "n", NULL);
    fill(table, 0, 3000);
    fill(table, 0, 3000); /* updates: still 3000 rows */
    expect(scan_bucket(table, 0) == 3000);
    fluss_table_free(table);
}

int main(int argc, char **argv)
{
    static const parity_test tests[] = {
        PARITY(record_scanner),
        PARITY(arrow_scanner),
        PARITY(projection),
        PARITY(subscribe_and_unsubscribe),
        PARITY(subscribe_latest_timestamp_all),
        PARITY(changelog_records),
        PARITY(changelog_as_arrow),
        PARITY(bounded_read),
        PARITY(bounded_read_to_offsets),
        PARITY(read_in_parts_and_at_once),
        PARITY(bounded_read_of_records),
        PARITY(progress_of_a_read),
        PARITY(read_that_is_stopped),
        PARITY(arrow_stream),
        PARITY(evolved_schemas),
        PARITY(filter_pushdown),
        PARITY(exact_filter),
        PARITY(progress_behind_a_filter),
        PARITY(positions),
        PARITY(positions_of_what_was_taken),
        PARITY(positions_of_what_was_pulled),
        PARITY(wakeup_and_close),
        PARITY(many_tables_in_one_scanner),
        PARITY(crc_switch),
        PARITY(limit_scan),
        PARITY(full_state),
    };
    return parity_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
