/* SPDX-License-Identifier: Apache-2.0 */
/* The Arrow message of a batch to arrays, for any bytes. First each buffer is found: shared with
 * the frame where it lies there at a multiple of 8, else copied or decompressed into one fresh
 * frame, whose size is known and limited before anything is made. Then the columns are walked and
 * checked: counts, lengths, bitmaps, offsets, text. What passes can be read without another check.
 */
#include "base/alloc.h"
#include "format/arrow_compress.h"
#include "format/arrow_message.h"
#include "format/arrow_private.h"

typedef struct read_walk {
    fl_arrow_owner *owner;
    const fl_arrow_message *message;
    const fl_slice *buffers; /* ready to use */
    size_t next_node, next_buffer;
    fluss_error_t *err;
} read_walk;

/* ---- buffers ---- */

/* A buffer that must be made: all of it in one frame, each at a multiple of 64. */
enum { FRESH_ALIGNMENT = 64 };

typedef struct found_buffer {
    fl_compressed stored;
    bool is_shared;
} found_buffer;

static fluss_code_t find_buffer(const fl_arrow_message *message, size_t index, bool may_share,
                                found_buffer *found, fluss_error_t *err)
{
    const fl_slice bytes = fl_arrow_message_buffer(message, index);
    if (message->compression == FL_COMPRESS_NONE) {
        found->stored = (fl_compressed){.bytes = bytes, .is_raw = true, .size = bytes.size};
    } else {
        FL_TRY(fl_compressed_open(message->compression, bytes, &found->stored, err));
    }
    found->is_shared = may_share && found->stored.is_raw &&
                       (uintptr_t)found->stored.bytes.data % FL_ARROW_ALIGNMENT == 0;
    return 0;
}

static fluss_code_t measure_fresh(const fl_arrow_message *message, bool may_share, size_t *size,
                                  fluss_error_t *err)
{
    *size = 0;
    for (size_t i = 0; i < message->buffer_count; i++) {
        found_buffer found;
        FL_TRY(find_buffer(message, i, may_share, &found, err));
        if (found.is_shared) {
            continue;
        }
        if (found.stored.size > FL_ARROW_FRESH_SIZE_MAX - *size) {
            return fl_error_corrupt(err,
                                    "Arrow message: buffers claim %zu bytes and %zu more, the "
                                    "limit of a batch is %d",
                                    *size, found.stored.size, FL_ARROW_FRESH_SIZE_MAX);
        }
        *size += fl_align_up(found.stored.size, FRESH_ALIGNMENT);
    }
    return 0;
}

static fluss_code_t fill_buffers(const fl_arrow_message *message, bool may_share, uint8_t *fresh,
                                 fl_slice *buffers, fluss_error_t *err)
{
    fl_decompressor decompressor = {0};
    fluss_code_t rc = 0;
    for (size_t i = 0; i < message->buffer_count; i++) {
        found_buffer found;
        FL_TRY_OUT(find_buffer(message, i, may_share, &found, err));
        const fl_compressed *stored = &found.stored;
        if (stored->size == 0 || found.is_shared) {
            buffers[i] = stored->size == 0 ? fl_slice_of(fl_arrow_nothing, 0) : stored->bytes;
            continue;
        }
        if (stored->is_raw) {
            memcpy(fresh, stored->bytes.data, stored->size);
        } else {
            FL_TRY_OUT(fl_decompress(&decompressor, message->compression, stored, fresh, err));
        }
        buffers[i] = fl_slice_of(fresh, stored->size);
        fresh += fl_align_up(stored->size, FRESH_ALIGNMENT);
    }
out:
    fl_decompressor_deinit(&decompressor);
    return rc;
}

static fluss_code_t make_buffers(read_walk *walk, fl_frame *frame)
{
    const fl_arrow_message *message = walk->message;
    const bool may_share = frame != NULL;
    size_t fresh_size;
    FL_TRY(measure_fresh(message, may_share, &fresh_size, walk->err));
    fl_slice *buffers =
        fl_arena_array(&walk->owner->arena, message->buffer_count, sizeof(*buffers));
    uint8_t *fresh = fresh_size != 0 ? fl_arrow_owner_room(walk->owner, fresh_size) : NULL;
    if (buffers == NULL || (fresh_size != 0 && fresh == NULL)) {
        return fl_error_nomem(walk->err);
    }
    if (may_share) {
        if (!fl_arrow_owner_keep(walk->owner, fl_frame_ref(frame))) {
            fl_frame_unref(frame);
            return fl_error_nomem(walk->err);
        }
    }
    walk->buffers = buffers;
    return fill_buffers(message, may_share, fresh, buffers, walk->err);
}

/* ---- columns ---- */

static fluss_code_t too_small(const read_walk *walk, const char *what, size_t found, size_t wanted)
{
    return fl_error_corrupt(walk->err, "%s of %zu bytes, %zu wanted", what, found, wanted);
}

static fluss_code_t read_validity(read_walk *walk, fl_slice bits, struct ArrowArray *array)
{
    const int64_t length = array->length;
    if (array->null_count == 0) {
        return 0;
    }
    const size_t size = fl_bits_size(length);
    if (bits.size == 0 && array->null_count == length) {
        /* Java takes the count's word for it and reads no bitmap. */
        uint8_t *none = fl_arrow_owner_room(walk->owner, size);
        if (none == NULL) {
            return fl_error_nomem(walk->err);
        }
        memset(none, 0, size);
        array->buffers[0] = none;
        return 0;
    }
    if (bits.size < size) {
        return too_small(walk, "bitmap of nulls", bits.size, size);
    }
    const int64_t counted = length - fl_bits_count(bits.data, 0, length);
    if (counted != array->null_count) {
        return fl_error_corrupt(walk->err, "bitmap of nulls has %lld of them, the node says %lld",
                                (long long)counted, (long long)array->null_count);
    }
    array->buffers[0] = bits.data;
    return 0;
}

/* Checks offsets; `last` is where they end. */
static fluss_code_t read_offsets(read_walk *walk, fl_slice bytes, struct ArrowArray *array,
                                 int32_t *last)
{
    *last = 0;
    if (array->length == 0 && bytes.size < sizeof(int32_t)) {
        return 0; /* Java writes none for no values; array points to nothing already */
    }
    const size_t size = ((size_t)array->length + 1) * sizeof(int32_t);
    if (bytes.size < size) {
        return too_small(walk, "offsets", bytes.size, size);
    }
    const int32_t *offsets = (const int32_t *)(const void *)bytes.data;
    if (!fl_arrow_offsets_ascend(offsets, array->length)) {
        return fl_error_corrupt(walk->err, "offsets are negative or go back");
    }
    array->buffers[1] = offsets;
    *last = offsets[array->length];
    return 0;
}

static fluss_code_t read_node(read_walk *walk, int64_t length_wanted, struct ArrowArray *array)
{
    const size_t index = walk->next_node++;
    array->length = fl_arrow_message_node_length(walk->message, index);
    array->null_count = fl_arrow_message_node_nulls(walk->message, index);
    if (array->length < 0 || array->length > FL_ARROW_ROWS_MAX ||
        (length_wanted >= 0 && array->length != length_wanted)) {
        return fl_error_corrupt(walk->err, "node %zu has %lld values, expected %lld", index,
                                (long long)array->length, (long long)length_wanted);
    }
    if (array->null_count < 0 || array->null_count > array->length) {
        return fl_error_corrupt(walk->err, "node %zu has %lld nulls in %lld values", index,
                                (long long)array->null_count, (long long)array->length);
    }
    return 0;
}

static fluss_code_t read_column(read_walk *walk, const fl_type *type, int64_t length_wanted,
                                struct ArrowArray *array);

static fluss_code_t read_values(read_walk *walk, size_t size, struct ArrowArray *array)
{
    const fl_slice bytes = walk->buffers[walk->next_buffer++];
    if (bytes.size < size) {
        return too_small(walk, "values", bytes.size, size);
    }
    array->buffers[1] = bytes.data;
    return 0;
}

static fluss_code_t read_var(read_walk *walk, const fl_type *type, fl_slice validity,
                             struct ArrowArray *array)
{
    int32_t last;
    FL_TRY(read_offsets(walk, walk->buffers[walk->next_buffer++], array, &last));
    const fl_slice bytes = walk->buffers[walk->next_buffer++];
    if (bytes.size < (size_t)last) {
        return too_small(walk, "values", bytes.size, (size_t)last);
    }
    array->buffers[2] = bytes.data;
    FL_TRY(read_validity(walk, validity, array));
    if (fl_arrow_is_text(type) && !fl_arrow_text_is_valid(array)) {
        return fl_error_corrupt(walk->err, "text is not UTF-8");
    }
    return 0;
}

static fluss_code_t read_list(read_walk *walk, const fl_type *type, struct ArrowArray *array)
{
    int32_t last;
    FL_TRY(read_offsets(walk, walk->buffers[walk->next_buffer++], array, &last));
    const fl_type child = fl_arrow_child_type(type, 0);
    FL_TRY(read_column(walk, &child, -1, array->children[0]));
    if (array->children[0]->length < last) {
        return fl_error_corrupt(walk->err, "lists end at element %d of %lld", last,
                                (long long)array->children[0]->length);
    }
    return 0;
}

static fluss_code_t read_column(read_walk *walk, const fl_type *type, int64_t length_wanted,
                                struct ArrowArray *array)
{
    FL_TRY(read_node(walk, length_wanted, array));
    const fl_slice validity = walk->buffers[walk->next_buffer++];
    const size_t length = (size_t)array->length;
    switch (fl_arrow_layout_of(type)) {
    case FL_LAYOUT_BITS:
        FL_TRY(read_values(walk, fl_bits_size(array->length), array));
        break;
    case FL_LAYOUT_FIXED:
        FL_TRY(read_values(walk, length * fl_arrow_width(type), array));
        break;
    case FL_LAYOUT_VAR:
        return read_var(walk, type, validity, array);
    case FL_LAYOUT_LIST:
        FL_TRY(read_list(walk, type, array));
        break;
    case FL_LAYOUT_STRUCT:
        for (size_t i = 0; i < type->field_count; i++) {
            FL_TRY(read_column(walk, &type->fields[i].type, array->length, array->children[i]));
        }
        break;
    }
    return read_validity(walk, validity, array);
}

static fluss_code_t check_counts(const fl_schema *schema, const fl_arrow_message *message,
                                 fluss_error_t *err)
{
    size_t nodes = 0, buffers = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        fl_arrow_count(&schema->columns[i].type, &nodes, &buffers);
    }
    if (message->node_count != nodes || message->buffer_count != buffers) {
        return fl_error_corrupt(err,
                                "Arrow message: %zu nodes and %zu buffers, the schema of %zu "
                                "columns has %zu and %zu",
                                message->node_count, message->buffer_count, schema->column_count,
                                nodes, buffers);
    }
    return 0;
}

fluss_code_t fl_arrow_read(const fl_schema *schema, fl_slice payload, fl_frame *frame,
                           struct ArrowArray *array, fluss_error_t *err)
{
    fl_arrow_message message;
    FL_TRY(fl_arrow_message_open(payload, &message, err));
    FL_TRY(check_counts(schema, &message, err));
    fl_arrow_owner *owner = fl_arrow_owner_new();
    if (owner == NULL) {
        return fl_error_nomem(err);
    }
    read_walk walk = {.owner = owner, .message = &message, .err = err};
    struct ArrowArray root;
    fluss_code_t rc;
    FL_TRY_OUT(make_buffers(&walk, frame));
    FL_TRY_OUT(fl_arrow_root_init(owner, schema, message.row_count, &root, err));
    for (size_t i = 0; i < schema->column_count; i++) {
        rc = read_column(&walk, &schema->columns[i].type, message.row_count, root.children[i]);
        if (rc != 0) {
            fl_error_prefix(err, "column '%s': ", schema->columns[i].name);
            goto out;
        }
    }
    fl_arrow_owner_publish(owner, &root);
    *array = root;
    return 0;
out:
    fl_arrow_owner_free(owner);
    return rc;
}
