/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of fetched records: where they arrived when they are few, else on a pool thread.
 *
 * A batch names the schema that it was written under. Those that the table does not know yet are
 * fetched first, one after the other; without one its batches are left out, and what lies before
 * them is delivered. */
#include "base/alloc.h"
#include "client/fetch_private.h"

enum { DECODE_HERE_BYTES_MAX = 64 * 1024 };

static fluss_code_t add_piece(fl_fetch_part *part, fl_chunk *chunk, int64_t next_offset,
                              fluss_error_t *err)
{
    fl_piece *piece = fl_calloc(1, sizeof(*piece));
    if (piece == NULL) {
        fl_chunk_unref(chunk);
        return fl_error_nomem(err);
    }
    piece->chunk = chunk;
    piece->count = chunk != NULL ? chunk->row_count : 0;
    piece->bytes = chunk != NULL ? chunk->bytes : 0;
    piece->next_offset = next_offset;
    piece->bucket = part->id;
    piece->generation = part->generation;
    part->bytes += piece->bytes;
    *part->pieces_last = piece;
    part->pieces_last = &piece->next;
    return 0;
}

/* A tiered batch was not tested by the server. Skipped ones still move the position. */
static bool may_match(const fl_fetch_part *part, const fl_log_batch *batch)
{
    return !part->is_remote || part->plan->filter == NULL ||
           fl_scan_batch_may_match(part->plan, batch);
}

static fluss_code_t decode_part(fl_fetch_part *part, fluss_error_t *err)
{
    const fl_scan_plan *plan = part->plan;
    const bool is_arrow = plan->table->settings.log_format == FL_LOG_FORMAT_ARROW;
    fl_wire_batch wire = {.frame = part->frame, .is_projected = part->is_projected};
    size_t position = 0;
    while (position < part->records.size) {
        const fl_slice rest = fl_slice_sub(part->records, position, part->records.size - position);
        size_t size;
        FL_TRY(fl_log_batch_size(rest, &size, err));
        if (size == 0 || size > rest.size) {
            break; /* cut off by the size limit */
        }
        FL_TRY(fl_log_batch_open(fl_slice_sub(rest, 0, size), is_arrow, &wire.batch, err));
        const int64_t next = fl_log_batch_next_offset(&wire.batch);
        if (next > part->offset) {
            fl_chunk *chunk = NULL;
            if (may_match(part, &wire.batch)) {
                FL_TRY(fl_scan_decode(plan, &part->id, &wire, part->offset, &chunk, err));
            }
            FL_TRY(add_piece(part, chunk, next, err));
            part->offset = next;
        }
        part->lacks_columns = fl_scan_lacks_columns(plan, wire.batch.schema_id);
        position += size;
    }
    if (part->filtered_end >= 0 && part->filtered_end > part->offset) {
        FL_TRY(add_piece(part, NULL, part->filtered_end, err));
        part->offset = part->filtered_end;
    }
    return 0;
}

static void decode(fl_work *work)
{
    fl_fetch *fetch = FL_CONTAINER_OF(work, fl_fetch, work);
    for (size_t i = 0; i < fetch->part_count; i++) {
        fl_fetch_part *part = &fetch->parts[i];
        fluss_error_t err;
        if (part->err.code == 0 && decode_part(part, &err) != 0) {
            part->err = err;
            if (part->is_remote) {
                fl_error_prefix(&part->err,
                                "log tiered to %.*s: ", (int)part->remote.directory.size,
                                (const char *)part->remote.directory.data);
            }
        }
    }
}

static void on_decoded(fl_work *work)
{
    fl_fetch_finish(FL_CONTAINER_OF(work, fl_fetch, work));
}

/* A batch of a part whose schema is not known yet. */
typedef struct unknown_batch {
    fl_fetch_part *part; /* NULL: there is none */
    size_t position;
    int32_t schema_id;
} unknown_batch;

static unknown_batch find_unknown(fl_fetch_part *part)
{
    const bool is_arrow = part->plan->table->settings.log_format == FL_LOG_FORMAT_ARROW;
    size_t position = 0, size = 0;
    fl_log_batch batch;
    while (part->err.code == 0 && position < part->records.size) {
        const fl_slice rest = fl_slice_sub(part->records, position, part->records.size - position);
        if (fl_log_batch_size(rest, &size, NULL) != 0 || size == 0 || size > rest.size ||
            fl_log_batch_open(fl_slice_sub(rest, 0, size), is_arrow, &batch, NULL) != 0) {
            break;
        }
        fl_schema *schema = fl_table_find_schema(part->plan->table, batch.schema_id);
        if (schema == NULL) {
            return (unknown_batch){part, position, batch.schema_id};
        }
        fl_schema_unref(schema);
        position += size;
    }
    return (unknown_batch){0};
}

static unknown_batch first_unknown(const fl_fetch *fetch)
{
    unknown_batch found = {0};
    for (size_t i = 0; i < fetch->part_count && found.part == NULL; i++) {
        found = find_unknown(&fetch->parts[i]);
    }
    return found;
}

/* Without the schema nothing is made of its batches; what lies before them is good. */
static void leave_out_unknown(fl_fetch *fetch, const fluss_error_t *err)
{
    const unknown_batch first = first_unknown(fetch);
    for (size_t i = 0; i < fetch->part_count && first.part != NULL; i++) {
        const unknown_batch at = find_unknown(&fetch->parts[i]);
        if (at.part == NULL || at.schema_id != first.schema_id ||
            at.part->plan->table != first.part->plan->table) {
            continue;
        }
        at.part->filtered_end = -1;
        at.part->records = fl_slice_sub(at.part->records, 0, at.position);
        if (at.position == 0) {
            const fl_table *table = at.part->plan->table;
            at.part->err = *err;
            fl_error_prefix(&at.part->err, "table %s.%s, bucket %d, schema %d: ", table->database,
                            table->name, at.part->id.bucket, at.schema_id);
        }
    }
}

static void on_schema(void *context, const fluss_error_t *failure)
{
    fl_fetch *fetch = context;
    if (failure != NULL) {
        leave_out_unknown(fetch, failure);
    }
    fl_fetch_decode(fetch);
}

void fl_fetch_decode(fl_fetch *fetch)
{
    const unknown_batch unknown = first_unknown(fetch);
    if (unknown.part != NULL) {
        fluss_error_t err;
        if (fl_table_fetch_schema(unknown.part->plan->table, unknown.schema_id, on_schema, fetch,
                                  &err) != 0) {
            on_schema(fetch, &err);
        }
        return;
    }
    fetch->work = (fl_work){.work = decode, .done = on_decoded};
    if (fetch->bytes <= DECODE_HERE_BYTES_MAX ||
        fl_loop_work(fetch->client->loop, &fetch->work, NULL) != 0) {
        decode(&fetch->work);
        fl_fetch_finish(fetch);
    }
}
