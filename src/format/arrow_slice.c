/* SPDX-License-Identifier: Apache-2.0 */
/* Parts and rearrangements of a struct array that share its buffers: slices, and columns of one
 * schema arranged as another. */
#include "base/alloc.h"
#include "format/arrow_private.h"

fluss_code_t fl_arrow_slice(struct ArrowArray *array, int64_t from, int64_t count,
                            struct ArrowArray *out, fluss_error_t *err)
{
    if (from < 0 || count < 0 || from > array->length || count > array->length - from) {
        return fl_error_argument(err, "rows %lld and %lld following of an Arrow array of %lld",
                                 (long long)from, (long long)count, (long long)array->length);
    }
    fl_arrow_owner *owner = fl_arrow_owner_new();
    if (owner == NULL) {
        return fl_error_nomem(err);
    }
    struct ArrowArray root;
    fluss_code_t rc = fl_arrow_node_view(owner, array, 0, count, &root, err);
    /* The offset goes down to the columns: pyarrow takes no batch that has one of its own. */
    for (int64_t i = 0; rc == 0 && i < array->n_children; i++) {
        rc = fl_arrow_node_view(owner, array->children[i], array->offset + from, count,
                                root.children[i], err);
    }
    if (rc != 0) {
        fl_arrow_owner_free(owner);
        return rc;
    }
    root.offset = 0;
    root.null_count = 0;
    root.buffers[0] = NULL;
    ArrowArrayMove(array, &owner->foreign);
    fl_arrow_owner_publish(owner, &root);
    *out = root;
    return 0;
}

bool fl_arrow_null_size(const fl_type *type, int64_t count, size_t *size)
{
    size_t wanted = ((size_t)count + 1) * sizeof(int32_t);
    if (fl_arrow_layout_of(type) == FL_LAYOUT_FIXED &&
        !fl_mul_size((size_t)count, fl_arrow_width(type), &wanted)) {
        return false;
    }
    *size = wanted > *size ? wanted : *size;
    for (size_t i = 0; type->root == FLUSS_ROW && i < type->field_count; i++) {
        if (!fl_arrow_null_size(&type->fields[i].type, count, size)) {
            return false;
        }
    }
    return *size <= FL_ARROW_FRESH_SIZE_MAX;
}

void fl_arrow_null_column(const fl_type *type, int64_t count, const uint8_t *zeros,
                          struct ArrowArray *array)
{
    array->length = array->null_count = count;
    array->buffers[0] = zeros;
    if (array->n_buffers > 1) {
        array->buffers[1] = zeros;
    }
    for (size_t i = 0; type->root == FLUSS_ROW && i < type->field_count; i++) {
        fl_arrow_null_column(&type->fields[i].type, count, zeros, array->children[i]);
    }
}

typedef struct realign_walk {
    const fl_schema *from, *to;
    const struct ArrowArray *array;
    fl_arrow_owner *owner;
    const uint8_t *zeros; /* for columns that are missing */
    int32_t *places;      /* in `from`, of each column; -1: missing */
} realign_walk;

static fluss_code_t make_zeros(realign_walk *walk, fluss_error_t *err)
{
    size_t size = 0;
    for (size_t i = 0; i < walk->to->column_count; i++) {
        const fl_column *column = &walk->to->columns[i];
        if (walk->places[i] < 0 && !fl_arrow_null_size(&column->type, walk->array->length, &size)) {
            return fl_error_argument(err, "column '%s' of %lld nulls would need more than %d bytes",
                                     column->name, (long long)walk->array->length,
                                     FL_ARROW_FRESH_SIZE_MAX);
        }
    }
    if (size == 0) {
        return 0;
    }
    uint8_t *zeros = fl_arrow_owner_room(walk->owner, size);
    if (zeros == NULL) {
        return fl_error_nomem(err);
    }
    memset(zeros, 0, size);
    walk->zeros = zeros;
    return 0;
}

static fluss_code_t arrange(realign_walk *walk, struct ArrowArray *root, fluss_error_t *err)
{
    const struct ArrowArray *array = walk->array;
    walk->places =
        fl_arena_array(&walk->owner->arena, walk->to->column_count, sizeof(*walk->places));
    if (walk->places == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(fl_schema_match(walk->from, walk->to, walk->places, err));
    FL_TRY(make_zeros(walk, err));
    FL_TRY(fl_arrow_root_init(walk->owner, walk->to, array->length, root, err));
    for (size_t i = 0; i < walk->to->column_count; i++) {
        const fl_column *column = &walk->to->columns[i];
        const int32_t found = walk->places[i];
        if (found < 0) {
            fl_arrow_null_column(&column->type, array->length, walk->zeros, root->children[i]);
            continue;
        }
        fl_type before = walk->from->columns[found].type;
        before.nullable = column->type.nullable;
        if (!fl_type_equal(&before, &column->type)) {
            return fl_error_argument(err, "column '%s' (id %d) has another type in the batch",
                                     column->name, column->id);
        }
        FL_TRY(fl_arrow_node_view(walk->owner, array->children[found], array->offset, array->length,
                                  root->children[i], err));
    }
    return 0;
}

fluss_code_t fl_arrow_realign(const fl_schema *from, struct ArrowArray *array, const fl_schema *to,
                              struct ArrowArray *out, fluss_error_t *err)
{
    if ((size_t)array->n_children != from->column_count) {
        return fl_error_argument(err, "Arrow array of %lld columns for a schema of %zu",
                                 (long long)array->n_children, from->column_count);
    }
    fl_arrow_owner *owner = fl_arrow_owner_new();
    if (owner == NULL) {
        return fl_error_nomem(err);
    }
    realign_walk walk = {.from = from, .to = to, .array = array, .owner = owner};
    struct ArrowArray root;
    const fluss_code_t rc = arrange(&walk, &root, err);
    if (rc != 0) {
        fl_arrow_owner_free(owner);
        return rc;
    }
    ArrowArrayMove(array, &owner->foreign);
    fl_arrow_owner_publish(owner, &root);
    *out = root;
    return 0;
}
