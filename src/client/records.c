/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_records_t: rows of decoded batches, read in place. And what records and batches share: the
 * pieces they show, which go back to the scanner when the user never took the result. */
#include <fluss/fluss_scan.h>
#include <string.h>

#include "base/alloc.h"
#include "client/objects.h"
#include "client/scan_private.h"
#include "format/arrow.h"

struct fluss_row {
    const fluss_records_t *records;
    const fl_chunk *chunk;
    int64_t index;
};

struct fluss_records {
    fl_held held;
    size_t count;
    struct fluss_row *rows;
    pthread_mutex_t lock; /* guards: arena */
    fl_arena arena;       /* nested values */
};

/* ---- held pieces ---- */

void fl_held_init(fl_held *held, fl_piece *pieces, fl_scanner *scanner, fl_client *client,
                  void (*release)(fl_held *held))
{
    *held = (fl_held){.pieces = pieces, .release = release};
    if (scanner != NULL) {
        held->scanner = fl_scanner_ref(scanner);
        held->client = fl_client_ref(client);
        (void)pthread_mutex_lock(&scanner->lock);
        held->next = scanner->untaken;
        if (held->next != NULL) {
            held->next->link = &held->next;
        }
        held->link = &scanner->untaken;
        scanner->untaken = held;
        scanner->leaving = NULL;
        (void)pthread_mutex_unlock(&scanner->lock);
    }
}

/* Lock: held. */
static void unlist(fl_held *held)
{
    *held->link = held->next;
    if (held->next != NULL) {
        held->next->link = held->link;
    }
}

static void drop_scanner(fl_held *held)
{
    fl_scanner *scanner = held->scanner;
    fl_client *client = held->client;
    held->scanner = NULL;
    held->client = NULL;
    fl_scanner_unref(scanner);
    fl_client_unref(client);
}

/* The user has the result: it is not given back any more. */
static void taken(fl_held *held)
{
    if (held->scanner == NULL) {
        return;
    }
    if (!fl_client_is_forked(held->client)) { /* a child's locks may never be free */
        (void)pthread_mutex_lock(&held->scanner->lock);
        unlist(held);
        (void)pthread_mutex_unlock(&held->scanner->lock);
    }
    drop_scanner(held);
}

static void run_give_back(fl_task *task)
{
    fl_held *held = FL_CONTAINER_OF(task, fl_held, task);
    fl_piece *pieces = held->pieces;
    fl_scanner *scanner = held->scanner;
    fl_client *client = held->client;
    (void)pthread_mutex_lock(&scanner->lock);
    unlist(held);
    scanner->leaving = pieces;
    (void)pthread_mutex_unlock(&scanner->lock);
    held->pieces = NULL;
    held->release(held);
    fl_scanner_give_back(scanner, pieces);
    fl_scanner_unref(scanner);
    fl_client_unref(client);
}

void fl_held_end(fl_held *held)
{
    if (held->scanner != NULL && held->pieces != NULL && !fl_client_is_forked(held->client)) {
        held->task.run = run_give_back;
        if (fl_loop_is_current(held->client->loop)) { /* before a poll that was posted meanwhile */
            run_give_back(&held->task);
        } else {
            fl_loop_post(held->client->loop, &held->task);
        }
        return;
    }
    taken(held);
    fl_pieces_free(held->pieces);
    held->release(held);
}

void fl_value_taken(fl_value *value)
{
    if (value->kind == FL_VALUE_RECORDS) {
        fluss_records_t *records = value->v.object;
        taken(&records->held);
    } else if (value->kind == FL_VALUE_BATCHES) {
        taken(fl_batches_held(value->v.object));
    }
}

/* ---- records ---- */

static void release_records(fl_held *held)
{
    fluss_records_t *records = FL_CONTAINER_OF(held, fluss_records_t, held);
    fl_arena_deinit(&records->arena);
    (void)pthread_mutex_destroy(&records->lock);
    fl_free(records->rows);
    fl_free(records);
}

fluss_code_t fl_records_new(fl_piece *pieces, fl_scanner *scanner, fl_client *client,
                            fluss_records_t **out, fluss_error_t *err)
{
    size_t count = 0;
    for (const fl_piece *piece = pieces; piece != NULL; piece = piece->next) {
        count += (size_t)piece->count;
    }
    fluss_records_t *records = fl_calloc(1, sizeof(*records));
    struct fluss_row *rows = fl_calloc(count + 1, sizeof(*rows));
    if (records == NULL || rows == NULL) {
        fl_free(records);
        fl_free(rows);
        return fl_error_nomem(err);
    }
    size_t filled = 0;
    for (const fl_piece *piece = pieces; piece != NULL; piece = piece->next) {
        for (int64_t i = 0; i < piece->count; i++) {
            rows[filled++] = (struct fluss_row){records, piece->chunk, piece->from + i};
        }
    }
    records->count = count;
    records->rows = rows;
    fl_arena_init(&records->arena);
    (void)pthread_mutex_init(&records->lock, NULL);
    fl_held_init(&records->held, pieces, scanner, client, release_records);
    *out = records;
    return 0;
}

void fluss_records_free(fluss_records_t *records)
{
    if (records != NULL) {
        fl_held_end(&records->held);
    }
}

size_t fluss_records_count(const fluss_records_t *records)
{
    return records != NULL ? records->count : 0;
}

void fluss_records_get(const fluss_records_t *records, size_t i, fluss_record_t *out)
{
    if (out == NULL) {
        return;
    }
    *out = (fluss_record_t){0};
    if (records == NULL || i >= records->count) {
        return;
    }
    const struct fluss_row *row = &records->rows[i];
    const fl_chunk *chunk = row->chunk;
    out->bucket = chunk->bucket;
    out->offset =
        chunk->offsets != NULL ? chunk->offsets[row->index] : chunk->first_offset + row->index;
    out->timestamp_ms = chunk->timestamp_ms;
    out->change = chunk->change_types != NULL ? (fluss_change_t)chunk->change_types[row->index]
                                              : FLUSS_APPEND_ONLY;
    out->row = row;
}

size_t fluss_row_width(const fluss_row_t *row)
{
    return row != NULL ? row->chunk->schema->column_count : 0;
}

ptrdiff_t fluss_row_index(const fluss_row_t *row, const char *column)
{
    return row != NULL && column != NULL
               ? fl_schema_find(row->chunk->schema, column, strlen(column))
               : -1;
}

fluss_code_t fluss_row_get(const fluss_row_t *row, size_t column, fluss_datum_t *out)
{
    if (row == NULL || out == NULL || column >= row->chunk->schema->column_count) {
        return FLUSS_E_CLIENT;
    }
    const uint8_t root = row->chunk->schema->columns[column].type.root;
    const bool is_nested = root == FLUSS_ARRAY || root == FLUSS_MAP || root == FLUSS_ROW;
    fluss_records_t *records = (fluss_records_t *)(uintptr_t)row->records;
    if (is_nested) {
        (void)pthread_mutex_lock(&records->lock);
    }
    const fluss_code_t rc =
        fl_arrow_rows_get(row->chunk->rows, row->index, column, &records->arena, out, NULL);
    if (is_nested) {
        (void)pthread_mutex_unlock(&records->lock);
    }
    return rc;
}

static fluss_code_t append_rows(const fluss_records_t *records, const fl_schema *schema,
                                fl_arrow_builder *builder, fluss_error_t *err)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_code_t rc = 0;
    fluss_datum_t *values = fl_calloc(schema->column_count + 1, sizeof(*values));
    if (values == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < records->count && rc == 0; i++) {
        const struct fluss_row *row = &records->rows[i];
        if (row->chunk->schema->column_count != schema->column_count) {
            rc = fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                          "the records have rows of several schemas");
        }
        for (size_t c = 0; c < schema->column_count && rc == 0; c++) {
            rc = fl_arrow_rows_get(row->chunk->rows, row->index, c, &arena, &values[c], err);
        }
        if (rc == 0) {
            rc = fl_arrow_builder_append(builder, values, err);
        }
        fl_arena_reset(&arena);
    }
    fl_free(values);
    fl_arena_deinit(&arena);
    return rc;
}

fluss_code_t fluss_records_to_arrow(const fluss_records_t *records, struct ArrowSchema *schema,
                                    struct ArrowArray *array, fluss_error_t *err)
{
    if (records == NULL || schema == NULL || array == NULL) {
        return fl_error_argument(err, "records, schema and array must not be NULL");
    }
    memset(schema, 0, sizeof(*schema));
    memset(array, 0, sizeof(*array));
    if (records->count == 0 && records->held.pieces == NULL) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                        "no records, so no columns to make a batch of");
    }
    const fl_schema *columns = records->held.pieces->chunk->schema;
    fl_arrow_builder *builder = NULL;
    FL_TRY(fl_arrow_builder_new(columns, &builder, err));
    fluss_code_t rc = append_rows(records, columns, builder, err);
    if (rc == 0) {
        rc = fl_arrow_builder_finish(builder, array, err);
    }
    if (rc == 0) {
        rc = fl_arrow_schema_from(columns, schema, err);
        if (rc != 0) {
            array->release(array);
            memset(array, 0, sizeof(*array));
        }
    }
    fl_arrow_builder_free(builder);
    return rc;
}
