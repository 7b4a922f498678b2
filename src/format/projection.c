/* SPDX-License-Identifier: Apache-2.0 */
/* Server-side projection of an Arrow log batch: header, change types, a new message whose metadata
 * lists the field nodes and buffers of the chosen columns, and those buffers as they are stored.
 * Columns that were added after the batch was written follow as columns of nulls, so that a reader
 * need not know how old a batch is; the official server refuses such a batch.
 * Statistics are dropped. The header's other fields stay, the CRC too, which is therefore wrong for
 * a projected batch: readers know that and skip it. Batches without records pass unchanged.
 * Buffers must lie one behind the other, so a projection is never larger than what it comes from,
 * but for padding.
 * Source: FileLogProjection. */
#include "format/projection.h"

#include "format/arrow_message.h"
#include "format/arrow_private.h"

enum { AT_LENGTH = 8, LENGTH_END = 12 };

/* Ranges of nodes and buffers of a column. */
typedef struct column_range {
    size_t node_from, node_count, buffer_from, buffer_count;
} column_range;

/* Goes through the chosen columns in order. */
typedef struct column_walk {
    const fl_schema *schema;
    const uint32_t *columns;
    size_t next_chosen, next_column;
    column_range range;
} column_walk;

/* The next chosen column; there must be one left. */
static column_range next_range(column_walk *walk)
{
    column_range *range = &walk->range;
    const uint32_t wanted = walk->columns[walk->next_chosen++];
    while (true) {
        range->node_from += range->node_count;
        range->buffer_from += range->buffer_count;
        range->node_count = range->buffer_count = 0;
        fl_arrow_count(&walk->schema->columns[walk->next_column].type, &range->node_count,
                       &range->buffer_count);
        if (walk->next_column++ == wanted) {
            return *range;
        }
    }
}

static fluss_code_t check_next(const fl_schema *schema, size_t index, int64_t column,
                               int64_t previous, fluss_error_t *err)
{
    if (column < 0 || (uint64_t)column >= schema->column_count) {
        return fl_error(err, FLUSS_E_INVALID_COLUMN_PROJECTION, FLUSS_KIND_ARGUMENT,
                        "projection: column index %lld at position %zu, the schema has %zu "
                        "columns",
                        (long long)column, index, schema->column_count);
    }
    if (column <= previous) {
        return fl_error(err, FLUSS_E_INVALID_COLUMN_PROJECTION, FLUSS_KIND_ARGUMENT,
                        "projection: column index %lld at position %zu does not ascend, %lld "
                        "stands before it",
                        (long long)column, index, (long long)previous);
    }
    return 0;
}

static fluss_code_t no_columns(fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_INVALID_COLUMN_PROJECTION, FLUSS_KIND_ARGUMENT,
                    "projection: no columns");
}

fluss_code_t fl_projection_check(const fl_schema *schema, const int32_t *columns, size_t count,
                                 fluss_error_t *err)
{
    if (count == 0) {
        return no_columns(err);
    }
    for (size_t i = 0; i < count; i++) {
        FL_TRY(check_next(schema, i, columns[i], i != 0 ? columns[i - 1] : -1, err));
    }
    return 0;
}

/* ---- columns of nulls ---- */

/* Where the next node, entry and buffer go; node NULL: they are counted alone. */
typedef struct null_writer {
    uint8_t *node, *entry, *body;
    size_t position, node_count, buffer_count;
    bool is_compressed; /* then a buffer of plain bytes begins with -1 */
} null_writer;

static void put_zeros(null_writer *w, size_t size)
{
    const size_t head = w->is_compressed && size != 0 ? sizeof(int64_t) : 0;
    const size_t padded = fl_align_up(head + size, FL_ARROW_ALIGNMENT);
    if (w->node != NULL) {
        fl_arrow_head_put(w->entry, (int64_t)w->position, (int64_t)(head + size));
        w->entry += FL_ARROW_ENTRY_SIZE;
        memset(w->body + w->position, 0, padded);
        if (head != 0) {
            fl_store_i64(w->body + w->position, -1);
        }
    }
    w->buffer_count++;
    if (w->position <= INT32_MAX) { /* no batch is larger, and sums without end would run over */
        w->position += padded;
    }
}

/* The types of a schema have a bounded depth. */
static void put_nulls(null_writer *w, const fl_type *type, int64_t rows)
{
    const size_t offsets = rows > 0 ? ((size_t)rows + 1) * sizeof(int32_t) : 0;
    if (w->node != NULL) {
        fl_arrow_head_put(w->node, rows, type->nullable ? rows : 0);
        w->node += FL_ARROW_ENTRY_SIZE;
    }
    w->node_count++;
    put_zeros(w, type->nullable ? fl_bits_size(rows) : 0); /* under a null row: zeros, not nulls */
    switch (fl_arrow_layout_of(type)) {
    case FL_LAYOUT_BITS:
        put_zeros(w, fl_bits_size(rows));
        return;
    case FL_LAYOUT_FIXED:
        put_zeros(w, (size_t)rows * fl_arrow_width(type));
        return;
    case FL_LAYOUT_VAR:
        put_zeros(w, offsets);
        put_zeros(w, 0);
        return;
    case FL_LAYOUT_LIST: {
        const fl_type child = fl_arrow_child_type(type, 0);
        put_zeros(w, offsets);
        put_nulls(w, &child, 0);
        return;
    }
    case FL_LAYOUT_STRUCT:
        for (size_t i = 0; i < type->field_count; i++) {
            put_nulls(w, &type->fields[i].type, rows);
        }
        return;
    }
}

static void put_added(null_writer *w, const fl_projection *projection, size_t from, int64_t rows)
{
    for (size_t i = from; i < projection->count; i++) {
        put_nulls(w, &projection->newest->columns[projection->columns[i]].type, rows);
    }
}

/* ---- the message ---- */

/* Shape and body size of the chosen columns that are in the message. */
static fluss_code_t measure(const fl_arrow_message *message, column_walk walk, size_t count,
                            fl_arrow_head *head, size_t *body_size, fluss_error_t *err)
{
    *head = (fl_arrow_head){.compression = message->compression};
    *body_size = 0;
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const column_range range = next_range(&walk);
        head->node_count += range.node_count;
        head->buffer_count += range.buffer_count;
        for (size_t j = 0; j < range.buffer_count; j++) {
            const size_t index = range.buffer_from + j;
            const size_t size = fl_arrow_message_buffer(message, index).size;
            const size_t position = fl_arrow_message_position(message, index);
            if (size == 0) {
                continue;
            }
            if (position < end) {
                return fl_error_corrupt(err,
                                        "Arrow message: buffer %zu at %zu, the one before "
                                        "ends at %zu",
                                        index, position, end);
            }
            end = position + size;
            *body_size += fl_align_up(size, FL_ARROW_ALIGNMENT);
        }
    }
    return 0;
}

/* @param count of the chosen columns, those that are in the message */
static void store_message(const fl_arrow_message *message, const fl_projection *projection,
                          size_t count, const fl_arrow_head *head, size_t body_size, uint8_t *to)
{
    column_walk walk = {.schema = projection->written, .columns = projection->columns};
    uint8_t *node = to + fl_arrow_head_nodes_at(head);
    uint8_t *entry = to + FL_ARROW_BUFFERS_AT;
    uint8_t *body = to + fl_arrow_head_size(head);
    size_t position = 0;
    for (size_t i = 0; i < count; i++) {
        const column_range range = next_range(&walk);
        memcpy(node, message->nodes + range.node_from * FL_ARROW_ENTRY_SIZE,
               range.node_count * FL_ARROW_ENTRY_SIZE);
        node += range.node_count * FL_ARROW_ENTRY_SIZE;
        for (size_t j = 0; j < range.buffer_count; j++) {
            const fl_slice bytes = fl_arrow_message_buffer(message, range.buffer_from + j);
            const size_t padded = fl_align_up(bytes.size, FL_ARROW_ALIGNMENT);
            fl_arrow_head_put(entry, (int64_t)position, (int64_t)bytes.size);
            entry += FL_ARROW_ENTRY_SIZE;
            if (bytes.size != 0) {
                memcpy(body + position, bytes.data, bytes.size);
                memset(body + position + bytes.size, 0, padded - bytes.size);
            }
            position += padded;
        }
    }
    null_writer nulls = {.node = node,
                         .entry = entry,
                         .body = body,
                         .position = position,
                         .is_compressed = head->compression != FL_COMPRESS_NONE};
    put_added(&nulls, projection, count, message->row_count);
    fl_arrow_head_store(head, message->row_count, (int64_t)body_size, to);
}

/* How many of the chosen columns the batch was written with: the first ones, as columns are added
 * at the end. */
static size_t written_count(const fl_projection *projection)
{
    size_t count = projection->count;
    while (count > 0 && projection->columns[count - 1] >= projection->written->column_count) {
        count--;
    }
    return count;
}

static fluss_code_t project_message(const fl_log_batch *batch, const fl_projection *projection,
                                    fl_buf *out, fluss_error_t *err)
{
    const fl_schema *schema = projection->written;
    const size_t count = written_count(projection);
    fl_arrow_message message;
    FL_TRY(fl_arrow_message_open(batch->payload, &message, err));
    size_t nodes = 0, buffers = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        fl_arrow_count(&schema->columns[i].type, &nodes, &buffers);
    }
    if (nodes != message.node_count || buffers != message.buffer_count) {
        return fl_error_corrupt(err,
                                "Arrow message: %zu nodes and %zu buffers, the schema has %zu "
                                "and %zu",
                                message.node_count, message.buffer_count, nodes, buffers);
    }
    const column_walk walk = {.schema = schema, .columns = projection->columns};
    fl_arrow_head head;
    size_t body_size;
    FL_TRY(measure(&message, walk, count, &head, &body_size, err));
    null_writer nulls = {.position = body_size,
                         .is_compressed = head.compression != FL_COMPRESS_NONE};
    put_added(&nulls, projection, count, message.row_count);
    head.node_count += nulls.node_count;
    head.buffer_count += nulls.buffer_count;
    body_size = nulls.position;
    const size_t header_size = fl_log_batch_header_size(batch->magic, 0);
    const size_t message_at = header_size + batch->change_types.size;
    const size_t total = message_at + fl_arrow_head_size(&head) + body_size;
    if (total - LENGTH_END > INT32_MAX) {
        return fl_error_corrupt(err, "projected batch of %zu bytes", total);
    }
    FL_TRY(fl_buf_reserve(out, total, err));
    uint8_t *to = out->data + out->size;
    memcpy(to, batch->bytes.data, header_size);
    fl_store_i32(to + AT_LENGTH, (int32_t)(total - LENGTH_END));
    if (batch->magic > 0) {
        fl_store_i32(to + header_size - sizeof(int32_t), 0); /* statistics */
    }
    if (batch->change_types.size != 0) {
        memcpy(to + header_size, batch->change_types.data, batch->change_types.size);
    }
    store_message(&message, projection, count, &head, body_size, to + message_at);
    out->size += total;
    return 0;
}

fluss_code_t fl_log_batch_project(const fl_log_batch *batch, const fl_projection *projection,
                                  fl_buf *out, fluss_error_t *err)
{
    const uint32_t *columns = projection->columns;
    if (projection->count == 0) {
        return no_columns(err);
    }
    for (size_t i = 0; i < projection->count; i++) {
        FL_TRY(check_next(projection->newest, i, columns[i], i != 0 ? (int64_t)columns[i - 1] : -1,
                          err));
    }
    if (batch->record_count == 0) {
        return fl_buf_append_slice(out, batch->bytes, err);
    }
    const fluss_code_t rc = project_message(batch, projection, out, err);
    if (rc == FLUSS_E_CORRUPT_MESSAGE) {
        if (err != NULL) {
            err->code = FLUSS_E_CORRUPT_RECORD;
        }
        fl_error_prefix(err, "log batch at offset %lld: ", (long long)batch->base_offset);
        return FLUSS_E_CORRUPT_RECORD;
    }
    return rc;
}
