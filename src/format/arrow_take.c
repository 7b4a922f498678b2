/* SPDX-License-Identifier: Apache-2.0 */
/* Chosen rows of a struct array as a new one: how a batch is split by bucket or partition. Each
 * column is gathered in a loop of its own; the elements of chosen lists become the chosen rows of
 * the child. */
#include "base/alloc.h"
#include "format/arrow_private.h"

typedef struct take_walk {
    fl_arrow_owner *owner;
    fluss_error_t *err;
} take_walk;

/* Places in an array: indexes[i] + base, counted from the start of its buffers. */
typedef struct chosen {
    const int64_t *indexes;
    int64_t count, base;
} chosen;

static fluss_code_t room_for(take_walk *walk, size_t size, uint8_t **room)
{
    *room = fl_arrow_owner_room(walk->owner, size);
    return *room != NULL ? 0 : fl_error_nomem(walk->err);
}

/* The chosen bits; how many of them are set. */
static int64_t take_bits(const uint8_t *bits, chosen rows, uint8_t *to)
{
    int64_t set = 0;
    memset(to, 0, fl_bits_size(rows.count));
    for (int64_t i = 0; i < rows.count; i++) {
        const unsigned bit = fl_bit_get(bits, rows.indexes[i] + rows.base);
        to[i >> 3] = (uint8_t)(to[i >> 3] | bit << (i & 7));
        set += bit;
    }
    return set;
}

static fluss_code_t take_validity(take_walk *walk, const struct ArrowArray *from, chosen rows,
                                  struct ArrowArray *to)
{
    to->length = rows.count;
    to->null_count = 0;
    if (from->null_count == 0 || from->buffers[0] == NULL) {
        return 0;
    }
    uint8_t *bits;
    FL_TRY(room_for(walk, fl_bits_size(rows.count), &bits));
    to->null_count = rows.count - take_bits(from->buffers[0], rows, bits);
    to->buffers[0] = to->null_count != 0 ? bits : NULL;
    return 0;
}

#define TAKE_WIDTH(width, bits)                                                           \
    case (width):                                                                         \
        for (int64_t i = 0; i < rows.count; i++) {                                        \
            fl_store_u##bits(                                                             \
                to + (size_t)i * (width),                                                 \
                fl_load_u##bits(from + (size_t)(rows.indexes[i] + rows.base) * (width))); \
        }                                                                                 \
        return

static void take_fixed(const uint8_t *from, chosen rows, size_t width, uint8_t *to)
{
    switch (width) {
        TAKE_WIDTH(2, 16);
        TAKE_WIDTH(4, 32);
        TAKE_WIDTH(8, 64);
    default:
        for (int64_t i = 0; i < rows.count; i++) {
            memcpy(to + (size_t)i * width, from + (size_t)(rows.indexes[i] + rows.base) * width,
                   width);
        }
    }
}

static int32_t length_at(const int32_t *offsets, chosen rows, int64_t i)
{
    const int64_t place = rows.indexes[i] + rows.base;
    return offsets[place + 1] - offsets[place];
}

/* New offsets of chosen lists or texts; `total` is what they hold together. */
static fluss_code_t take_offsets(take_walk *walk, const struct ArrowArray *from, chosen rows,
                                 struct ArrowArray *to, size_t *total)
{
    const int32_t *old = from->buffers[1];
    uint8_t *room;
    FL_TRY(room_for(walk, ((size_t)rows.count + 1) * sizeof(int32_t), &room));
    int32_t *offsets = (int32_t *)(void *)room;
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < rows.count; i++) {
        at += length_at(old, rows, i);
        if (at > INT32_MAX) {
            return fl_error_argument(walk->err, "chosen rows hold more than %d bytes or elements",
                                     INT32_MAX);
        }
        offsets[i + 1] = (int32_t)at;
    }
    to->buffers[1] = offsets;
    *total = (size_t)at;
    return 0;
}

static fluss_code_t take_var(take_walk *walk, const struct ArrowArray *from, chosen rows,
                             struct ArrowArray *to)
{
    size_t total;
    uint8_t *bytes;
    FL_TRY(take_offsets(walk, from, rows, to, &total));
    FL_TRY(room_for(walk, total, &bytes));
    const int32_t *old = from->buffers[1];
    const uint8_t *values = from->buffers[2];
    to->buffers[2] = bytes;
    for (int64_t i = 0; i < rows.count; i++) {
        const size_t size = (size_t)length_at(old, rows, i);
        if (size != 0) {
            memcpy(bytes, values + old[rows.indexes[i] + rows.base], size);
        }
        bytes += size;
    }
    return 0;
}

static fluss_code_t take_column(take_walk *walk, const fl_type *type, const struct ArrowArray *from,
                                chosen rows, struct ArrowArray *to);

static fluss_code_t take_list(take_walk *walk, const fl_type *type, const struct ArrowArray *from,
                              chosen rows, struct ArrowArray *to)
{
    size_t total;
    FL_TRY(take_offsets(walk, from, rows, to, &total));
    int64_t *elements = fl_alloc(total * sizeof(*elements));
    if (elements == NULL) {
        return fl_error_nomem(walk->err);
    }
    const int32_t *old = from->buffers[1];
    size_t at = 0;
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t place = rows.indexes[i] + rows.base;
        for (int32_t element = old[place]; element < old[place + 1]; element++) {
            elements[at++] = element;
        }
    }
    const fl_type child = fl_arrow_child_type(type, 0);
    const chosen below = {.indexes = elements, .count = (int64_t)total};
    const fluss_code_t rc = take_column(walk, &child, from->children[0], below, to->children[0]);
    fl_free(elements);
    return rc;
}

static fluss_code_t take_column(take_walk *walk, const fl_type *type, const struct ArrowArray *from,
                                chosen rows, struct ArrowArray *to)
{
    rows.base += from->offset;
    FL_TRY(take_validity(walk, from, rows, to));
    if (rows.count == 0) {
        return 0;
    }
    uint8_t *room;
    switch (fl_arrow_layout_of(type)) {
    case FL_LAYOUT_BITS:
        FL_TRY(room_for(walk, fl_bits_size(rows.count), &room));
        (void)take_bits(from->buffers[1], rows, room);
        to->buffers[1] = room;
        return 0;
    case FL_LAYOUT_FIXED: {
        const size_t width = fl_arrow_width(type);
        FL_TRY(room_for(walk, (size_t)rows.count * width, &room));
        take_fixed(from->buffers[1], rows, width, room);
        to->buffers[1] = room;
        return 0;
    }
    case FL_LAYOUT_VAR:
        return take_var(walk, from, rows, to);
    case FL_LAYOUT_LIST:
        return take_list(walk, type, from, rows, to);
    case FL_LAYOUT_STRUCT:
        for (size_t i = 0; i < type->field_count; i++) {
            FL_TRY(
                take_column(walk, &type->fields[i].type, from->children[i], rows, to->children[i]));
        }
        return 0;
    }
    return 0;
}

static fluss_code_t check_indexes(const struct ArrowArray *array, const int64_t *indexes,
                                  size_t count, fluss_error_t *err)
{
    if (count > FL_ARROW_ROWS_MAX) {
        return fl_error_argument(err, "%zu rows, possible are %d", count, FL_ARROW_ROWS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (indexes[i] < 0 || indexes[i] >= array->length) {
            return fl_error_argument(err, "row %lld of an Arrow array of %lld",
                                     (long long)indexes[i], (long long)array->length);
        }
    }
    return 0;
}

fluss_code_t fl_arrow_take_column(fl_arrow_owner *owner, const fl_type *type,
                                  const struct ArrowArray *from, const int64_t *indexes,
                                  size_t count, struct ArrowArray *out, fluss_error_t *err)
{
    take_walk walk = {.owner = owner, .err = err};
    FL_TRY(check_indexes(from, indexes, count, err));
    return take_column(&walk, type, from, (chosen){.indexes = indexes, .count = (int64_t)count},
                       out);
}

fluss_code_t fl_arrow_take(const fl_schema *schema, const struct ArrowArray *array,
                           const int64_t *indexes, size_t count, struct ArrowArray *out,
                           fluss_error_t *err)
{
    if ((size_t)array->n_children != schema->column_count) {
        return fl_error_argument(err, "Arrow array of %lld columns for a schema of %zu",
                                 (long long)array->n_children, schema->column_count);
    }
    FL_TRY(check_indexes(array, indexes, count, err));
    fl_arrow_owner *owner = fl_arrow_owner_new();
    if (owner == NULL) {
        return fl_error_nomem(err);
    }
    take_walk walk = {.owner = owner, .err = err};
    const chosen rows = {.indexes = indexes, .count = (int64_t)count, .base = array->offset};
    struct ArrowArray root;
    fluss_code_t rc = fl_arrow_root_init(owner, schema, rows.count, &root, err);
    for (size_t i = 0; rc == 0 && i < schema->column_count; i++) {
        rc = take_column(&walk, &schema->columns[i].type, array->children[i], rows,
                         root.children[i]);
    }
    if (rc != 0) {
        fl_arrow_owner_free(owner);
        return rc;
    }
    fl_arrow_owner_publish(owner, &root);
    *out = root;
    return 0;
}
