/* SPDX-License-Identifier: Apache-2.0 */
/* NNNNNNNNNNNNNNNNNNNN.writer_snapshot: the writers' state as of the offset in the name, JSON.
 *   {"version":1,"writer_id_entries":[
 *     {"writer_id":W,"last_batch_sequence":S,"last_batch_base_offset":L,"offset_delta":D,
 *      "last_batch_timestamp":T,"batches":[[S,L,D,T],…]},…]}
 * L is the *last* offset of the batch, whatever its name says. `batches` (ours, oldest first) keeps
 * all five; the official server reads past it and remembers the last one only.
 * Source: WriterStateManager, Fluss 1.0. */
#include <jansson.h>

#include "log_writers.h"

enum { VERSION = 1, WRITER_JSON_COUNT_MAX = 1 << 20 };

static fluss_code_t write_writer(const fl_writer *writer, const char *separator, fl_buf *json,
                                 fluss_error_t *err)
{
    const fl_writer_batch *last = &writer->batches[writer->count - 1];
    FL_TRY(fl_buf_printf(json, err,
                         "%s{\"writer_id\":%lld,\"last_batch_sequence\":%d,"
                         "\"last_batch_base_offset\":%lld,\"offset_delta\":%d,"
                         "\"last_batch_timestamp\":%lld,\"batches\":[",
                         separator, (long long)writer->id, last->sequence,
                         (long long)last->last_offset, last->offset_delta,
                         (long long)last->timestamp_ms));
    for (uint32_t i = 0; i < writer->count; i++) {
        const fl_writer_batch *batch = &writer->batches[i];
        FL_TRY(fl_buf_printf(json, err, "%s[%d,%lld,%d,%lld]", i == 0 ? "" : ",", batch->sequence,
                             (long long)batch->last_offset, batch->offset_delta,
                             (long long)batch->timestamp_ms));
    }
    return fl_buf_printf(json, err, "]}");
}

fluss_code_t fl_writers_to_json(const fl_writers *writers, fl_buf *json, fluss_error_t *err)
{
    const char *separator = "";
    FL_TRY(fl_buf_printf(json, err, "{\"version\":%d,\"writer_id_entries\":[", VERSION));
    for (size_t i = 0; i < writers->count; i++) {
        if (writers->items[i].count > 0) {
            FL_TRY(write_writer(&writers->items[i], separator, json, err));
            separator = ",";
        }
    }
    return fl_buf_printf(json, err, "]}");
}

static bool to_i32(json_int_t value, int32_t *result)
{
    *result = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool make_batch(json_int_t sequence, json_int_t last_offset, json_int_t delta,
                       json_int_t timestamp_ms, fl_writer_batch *batch)
{
    batch->last_offset = last_offset;
    batch->timestamp_ms = timestamp_ms;
    return to_i32(sequence, &batch->sequence) && to_i32(delta, &batch->offset_delta) &&
           batch->sequence >= 0 && batch->offset_delta >= 0 && last_offset >= batch->offset_delta;
}

static bool read_batches(json_t *array, fl_writer *writer)
{
    const size_t count = json_array_size(array);
    writer->count = 0;
    for (size_t i = 0; i < count && i < FL_WRITER_BATCHES; i++) {
        json_int_t values[4];
        if (json_unpack(json_array_get(array, i), "[IIII]", &values[0], &values[1], &values[2],
                        &values[3]) != 0 ||
            !make_batch(values[0], values[1], values[2], values[3], &writer->batches[i])) {
            return false;
        }
        writer->count++;
    }
    return count >= 1 && count <= FL_WRITER_BATCHES;
}

static bool read_writer(json_t *object, fl_writer *writer)
{
    json_int_t id, sequence, last_offset, delta, timestamp_ms;
    json_t *batches = NULL;
    *writer = (fl_writer){.count = 1};
    if (json_unpack(object, "{s:I,s:I,s:I,s:I,s:I,s?o}", "writer_id", &id, "last_batch_sequence",
                    &sequence, "last_batch_base_offset", &last_offset, "offset_delta", &delta,
                    "last_batch_timestamp", &timestamp_ms, "batches", &batches) != 0) {
        return false;
    }
    writer->id = id;
    return batches != NULL
               ? read_batches(batches, writer)
               : make_batch(sequence, last_offset, delta, timestamp_ms, &writer->batches[0]);
}

static fluss_code_t bad_snapshot(fluss_error_t *err, const char *what)
{
    return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT, "writer snapshot: %s", what);
}

static fluss_code_t read_root(fl_writers *writers, json_t *root, fluss_error_t *err)
{
    int version;
    json_t *entries;
    if (json_unpack(root, "{s:i,s:o}", "version", &version, "writer_id_entries", &entries) != 0 ||
        version != VERSION || !json_is_array(entries)) {
        return bad_snapshot(err, "expected version 1 and an array writer_id_entries");
    }
    const size_t count = json_array_size(entries);
    if (count > WRITER_JSON_COUNT_MAX) {
        return bad_snapshot(err, "more than a million writers");
    }
    FL_TRY(fl_writers_reserve(writers, count, 0, INT64_MAX, err));
    for (size_t i = 0; i < count; i++) {
        fl_writer writer;
        if (!read_writer(json_array_get(entries, i), &writer)) {
            return bad_snapshot(err, "an entry lacks a field or has one out of range");
        }
        fl_writers_put(writers, &writer);
    }
    return 0;
}

fluss_code_t fl_writers_from_json(fl_writers *writers, fl_slice json, fluss_error_t *err)
{
    json_error_t where;
    json_t *root = json_loadb((const char *)json.data, json.size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) {
        return bad_snapshot(err, "not JSON");
    }
    const fluss_code_t rc = read_root(writers, root, err);
    json_decref(root);
    return rc;
}
