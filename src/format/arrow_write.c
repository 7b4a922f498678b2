/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays to the Arrow message of a batch: one walk over the columns that appends each buffer behind
 * the metadata, whose size is known beforehand and which is filled on the way. Bytes are copied
 * once (or compressed straight from the array); bitmaps that do not start at a byte and offsets
 * that do not start at zero are made anew. Any part of an array can be written, whatever offsets
 * it and its children have. */
#include "base/alloc.h"
#include "format/arrow_compress.h"
#include "format/arrow_message.h"
#include "format/arrow_private.h"

struct fl_arrow_writer {
    fl_compressor compressor;
    fl_buf scratch; /* buffers that are made before they are compressed */
};

enum { SCRATCH_KEPT_MAX = 1 << 20, BODY_SIZE_MAX = INT32_MAX };

typedef struct write_walk {
    fl_arrow_writer *writer;
    fl_buf *out;
    size_t body_at, node_at, buffer_at; /* in out: start of the body, the next entries */
    fluss_error_t *err;
} write_walk;

fl_arrow_writer *fl_arrow_writer_new(fl_arrow_write_opts opts)
{
    fl_arrow_writer *writer = fl_calloc(1, sizeof(*writer));
    if (writer != NULL) {
        writer->compressor.opts = opts;
        fl_buf_init(&writer->scratch, BODY_SIZE_MAX);
    }
    return writer;
}

void fl_arrow_writer_free(fl_arrow_writer *writer)
{
    if (writer != NULL) {
        fl_compressor_deinit(&writer->compressor);
        fl_buf_deinit(&writer->scratch);
        fl_free(writer);
    }
}

static bool is_plain(const write_walk *walk)
{
    return walk->writer->compressor.opts.compression == FL_COMPRESS_NONE;
}

/* A buffer's bytes from `from` to the end of out are there: note them and pad. */
static fluss_code_t end_buffer(write_walk *walk, size_t from)
{
    fl_buf *out = walk->out;
    const size_t size = out->size - from;
    fl_arrow_head_put(out->data + walk->buffer_at, (int64_t)(from - walk->body_at), (int64_t)size);
    walk->buffer_at += FL_ARROW_ENTRY_SIZE;
    const size_t padded = fl_align_up(size, FL_ARROW_ALIGNMENT);
    return padded == size ? 0 : fl_buf_append_zeros(out, padded - size, walk->err);
}

static fluss_code_t put_bytes(write_walk *walk, const void *data, size_t size)
{
    const size_t from = walk->out->size;
    if (size != 0) {
        const fl_slice raw = fl_slice_of(data, size);
        FL_TRY(is_plain(walk)
                   ? fl_buf_append_slice(walk->out, raw, walk->err)
                   : fl_compress_buffer(&walk->writer->compressor, raw, walk->out, walk->err));
    }
    return end_buffer(walk, from);
}

/* Room for a buffer that is made: in place, or in the scratch to be compressed. */
static fluss_code_t begin_made(write_walk *walk, size_t size, uint8_t **to)
{
    fl_buf *buf = walk->out;
    if (!is_plain(walk)) {
        buf = &walk->writer->scratch;
        fl_buf_reset(buf);
    }
    FL_TRY(fl_buf_reserve(buf, size, walk->err));
    *to = buf->data + buf->size;
    return 0;
}

static fluss_code_t end_made(write_walk *walk, size_t size)
{
    if (!is_plain(walk)) {
        return put_bytes(walk, walk->writer->scratch.data, size);
    }
    const size_t from = walk->out->size;
    walk->out->size += size;
    return end_buffer(walk, from);
}

static fluss_code_t put_bits(write_walk *walk, const uint8_t *bits, int64_t from, int64_t count)
{
    const size_t size = fl_bits_size(count);
    uint8_t *to;
    FL_TRY(begin_made(walk, size, &to));
    if (bits != NULL) {
        fl_bits_copy(to, bits, from, count);
    } else if (size != 0) {
        memset(to, 0, size);
    }
    return end_made(walk, size);
}

static fluss_code_t put_validity(write_walk *walk, const struct ArrowArray *array, int64_t from,
                                 int64_t count)
{
    const int64_t null_count = fl_arrow_null_count(array, from, count);
    fl_arrow_head_put(walk->out->data + walk->node_at, count, null_count);
    walk->node_at += FL_ARROW_ENTRY_SIZE;
    if (null_count == 0) {
        return put_bytes(walk, NULL, 0);
    }
    return put_bits(walk, array->buffers[0], array->offset + from, count);
}

/* Offsets that start at zero; `first` and `last`: the range of what they point into. */
static fluss_code_t put_offsets(write_walk *walk, const struct ArrowArray *array, int64_t from,
                                int64_t count, int32_t *first, int32_t *last)
{
    static const int32_t none = 0;
    const int32_t *offsets = count == 0 || array->buffers[1] == NULL
                                 ? &none
                                 : (const int32_t *)array->buffers[1] + array->offset + from;
    const size_t size = ((size_t)count + 1) * sizeof(*offsets);
    *first = offsets[0];
    *last = offsets[count];
    if (*first < 0 || *last < *first) {
        return fl_error_argument(walk->err, "Arrow offsets go from %d to %d", *first, *last);
    }
    if (count == 0 || *first == 0) {
        return put_bytes(walk, count == 0 ? &none : offsets, size);
    }
    uint8_t *to;
    FL_TRY(begin_made(walk, size, &to));
    for (int64_t i = 0; i <= count; i++) {
        fl_store_i32(to + (size_t)i * sizeof(*offsets), offsets[i] - *first);
    }
    return end_made(walk, size);
}

static fluss_code_t put_column(write_walk *walk, const fl_type *type,
                               const struct ArrowArray *array, int64_t from, int64_t count)
{
    FL_TRY(put_validity(walk, array, from, count));
    const int64_t start = array->offset + from;
    const size_t width = fl_arrow_width(type);
    int32_t first, last;
    switch (fl_arrow_layout_of(type)) {
    case FL_LAYOUT_BITS:
        return put_bits(walk, array->buffers[1], start, count);
    case FL_LAYOUT_FIXED:
        return count == 0
                   ? put_bytes(walk, NULL, 0)
                   : put_bytes(walk, (const uint8_t *)array->buffers[1] + (size_t)start * width,
                               (size_t)count * width);
    case FL_LAYOUT_VAR:
        FL_TRY(put_offsets(walk, array, from, count, &first, &last));
        return first == last ? put_bytes(walk, NULL, 0)
                             : put_bytes(walk, (const uint8_t *)array->buffers[2] + first,
                                         (size_t)(last - first));
    case FL_LAYOUT_LIST: {
        FL_TRY(put_offsets(walk, array, from, count, &first, &last));
        const fl_type child = fl_arrow_child_type(type, 0);
        return put_column(walk, &child, array->children[0], first, last - first);
    }
    case FL_LAYOUT_STRUCT:
        for (size_t i = 0; i < type->field_count; i++) {
            FL_TRY(put_column(walk, &type->fields[i].type, array->children[i], start, count));
        }
        return 0;
    }
    return 0;
}

/* Bytes that the buffers of a column need at most, not compressed. Offsets that make no sense, at
 * which the walk fails, count as those of nothing. */
static size_t measure(const fl_type *type, const struct ArrowArray *array, int64_t from,
                      int64_t count)
{
    const size_t rows = (size_t)count;
    const size_t bits = fl_bits_size(count);
    const int64_t start = array->offset + from;
    size_t size = bits + 3 * FL_ARROW_ALIGNMENT; /* validity, and the padding of three buffers */
    const fl_arrow_layout layout = fl_arrow_layout_of(type);
    switch (layout) {
    case FL_LAYOUT_BITS:
        return size + bits;
    case FL_LAYOUT_FIXED:
        return size + rows * fl_arrow_width(type);
    case FL_LAYOUT_STRUCT:
        for (size_t i = 0; i < type->field_count; i++) {
            size += measure(&type->fields[i].type, array->children[i], start, count);
        }
        return size;
    case FL_LAYOUT_VAR:
    case FL_LAYOUT_LIST:
        break;
    }
    int64_t first = 0, used = 0;
    if (count > 0) {
        const int32_t *offsets = (const int32_t *)array->buffers[1] + start;
        first = offsets[0];
        used = offsets[count] < first ? 0 : (int64_t)offsets[count] - first;
    }
    size += (rows + 1) * sizeof(int32_t);
    if (layout == FL_LAYOUT_LIST) {
        const fl_type child = fl_arrow_child_type(type, 0);
        return size + measure(&child, array->children[0], first, used);
    }
    return size + (size_t)used;
}

/* The head of the message, all but its lengths; the bytes of the body at most, not compressed. */
static fl_arrow_head plan(const fl_schema *schema, const struct ArrowArray *array, int64_t row_from,
                          int64_t row_count, fl_compression compression, size_t *body_size_max)
{
    fl_arrow_head head = {.compression = compression};
    *body_size_max = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        const fl_type *type = &schema->columns[i].type;
        fl_arrow_count(type, &head.node_count, &head.buffer_count);
        *body_size_max += measure(type, array->children[i], array->offset + row_from, row_count);
    }
    return head;
}

size_t fl_arrow_write_size_max(const fl_schema *schema, const struct ArrowArray *array,
                               int64_t row_from, int64_t row_count)
{
    size_t body_size_max;
    const fl_arrow_head head =
        plan(schema, array, row_from, row_count, FL_COMPRESS_NONE, &body_size_max);
    return fl_arrow_head_size(&head) + body_size_max;
}

static fluss_code_t check_part(const fl_schema *schema, const struct ArrowArray *array,
                               int64_t row_from, int64_t row_count, fluss_error_t *err)
{
    if ((size_t)array->n_children != schema->column_count) {
        return fl_error_argument(err, "Arrow array of %lld columns for a schema of %zu",
                                 (long long)array->n_children, schema->column_count);
    }
    if (row_from < 0 || row_count < 0 || row_count > FL_ARROW_ROWS_MAX ||
        row_from > array->length || row_count > array->length - row_from) {
        return fl_error_argument(err, "rows %lld and %lld following of an Arrow array of %lld",
                                 (long long)row_from, (long long)row_count,
                                 (long long)array->length);
    }
    return 0;
}

static fluss_code_t write_body(write_walk *walk, const fl_schema *schema,
                               const struct ArrowArray *array, int64_t row_from, int64_t row_count)
{
    for (size_t i = 0; i < schema->column_count; i++) {
        const fluss_code_t rc = put_column(walk, &schema->columns[i].type, array->children[i],
                                           array->offset + row_from, row_count);
        if (rc != 0) {
            fl_error_prefix(walk->err, "column '%s': ", schema->columns[i].name);
            return rc;
        }
    }
    return 0;
}

fluss_code_t fl_arrow_write(fl_arrow_writer *writer, const fl_schema *schema,
                            const struct ArrowArray *array, int64_t row_from, int64_t row_count,
                            fl_buf *out, fluss_error_t *err)
{
    FL_TRY(check_part(schema, array, row_from, row_count, err));
    size_t size;
    fl_arrow_head head =
        plan(schema, array, row_from, row_count, writer->compressor.opts.compression, &size);
    const size_t start = out->size;
    const size_t head_size = fl_arrow_head_size(&head);
    FL_TRY(fl_buf_reserve(out, head_size, err));
    if (head.compression == FL_COMPRESS_NONE && size < out->size_max - start - head_size) {
        FL_TRY(fl_buf_reserve(out, head_size + size, err));
    }
    out->size += head_size;
    write_walk walk = {.writer = writer,
                       .out = out,
                       .body_at = out->size,
                       .node_at = start + fl_arrow_head_nodes_at(&head),
                       .buffer_at = start + FL_ARROW_BUFFERS_AT,
                       .err = err};
    fluss_code_t rc = write_body(&walk, schema, array, row_from, row_count);
    if (rc == 0 && out->size - walk.body_at > BODY_SIZE_MAX) {
        rc = fl_error_argument(err, "Arrow body of %zu bytes, possible are %d",
                               out->size - walk.body_at, BODY_SIZE_MAX);
    }
    if (rc != 0) {
        out->size = start;
        return rc;
    }
    fl_arrow_head_store(&head, row_count, (int64_t)(out->size - walk.body_at), out->data + start);
    if (writer->scratch.capacity > SCRATCH_KEPT_MAX) {
        fl_buf_deinit(&writer->scratch);
    }
    return 0;
}
