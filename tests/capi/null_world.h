/* SPDX-License-Identifier: Apache-2.0 */
/* What the generated calls of null_calls.c take where they do not take NULL. */
#ifndef TEST_NULL_WORLD_H
#define TEST_NULL_WORLD_H
#include <fluss/fluss_server.h>

#include <limits.h>

#include "world.h"

typedef struct null_world {
    fluss_config_t *config;
    fluss_schema_t *schema;
    fluss_desc_t *desc;
    fluss_conn_t *conn;
    fluss_table_t *table, *log_table; /* the first has a primary key */
    fluss_table_t *tables[1];
    fluss_writer_t *writer, *log_writer;
    fluss_lookup_t *lookup;
    fluss_scanner_t *scanner;
    fluss_read_t *read;
    fluss_pred_t *pred;
    fluss_queue_t *queue;
    fluss_records_t *records;
    fluss_batches_t *batches;
    fluss_result_t *result;
    struct ArrowSchema arrow_schema;
    fluss_path_t path;
    const char *names[1];
    int32_t numbers[1];
    fluss_kv_t pairs[1];
    fluss_acl_t acl[1];
    fluss_bucket_t buckets[1];
    fluss_position_t positions[1];
    fluss_datum_t row[2];
    fluss_table_change_t changes[1];
    const char *texts[5]; /* empty, a million letters, no UTF-8, control characters, a format */
    fluss_bucket_t worst_buckets[2];
} null_world;

typedef struct null_call {
    const char *name;
    void (*run)(null_world *w);
} null_call;

extern const null_call null_calls[];
extern const size_t null_call_count;

/** A callback that frees its future. */
void on_ready(fluss_future_t *future, void *user);
/** The row of the records. */
const fluss_row_t *row_of(const null_world *w);
/** A batch for the table of the world. */
void give_arrow(null_world *w, struct ArrowSchema *schema, struct ArrowArray *array);
/** End the test when a call broke the rules: a failure without code, or none where one must be. */
void check_code(const char *function, const char *missing, fluss_code_t rc,
                const fluss_error_t *err, bool must_fail);
void check_future(const char *function, const char *missing, fluss_future_t *future,
                  bool must_fail);
#endif
