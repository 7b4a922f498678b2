/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of struct ArrowArray whose nodes, buffers and borrowed parts have one owner: one counter
 * instead of an allocation and a reference for each array and buffer. A tree is laid out while the
 * owner is private to its maker, and published when it is whole; so a maker that fails just frees
 * the owner. */
#include "base/alloc.h"
#include "format/arrow_private.h"

struct fl_arrow_link {
    fl_arrow_link *next;
    fl_frame *frame;
};

_Alignas(64) const uint8_t fl_arrow_nothing[64] = {0};

fl_arrow_owner *fl_arrow_owner_new(void)
{
    fl_arrow_owner *owner = fl_alloc(sizeof(*owner));
    if (owner != NULL) {
        atomic_init(&owner->ref_count, 0);
        fl_arena_init(&owner->arena);
        owner->frames = owner->spare = NULL;
        owner->foreign.release = NULL;
    }
    return owner;
}

void fl_arrow_owner_free(fl_arrow_owner *owner)
{
    if (owner == NULL) {
        return;
    }
    for (fl_arrow_link *link = owner->frames; link != NULL; link = link->next) {
        fl_frame_unref(link->frame);
    }
    if (owner->foreign.release != NULL) {
        owner->foreign.release(&owner->foreign);
    }
    fl_arena_deinit(&owner->arena);
    fl_free(owner);
}

bool fl_arrow_owner_reserve(fl_arrow_owner *owner, size_t count)
{
    fl_arrow_link *links = fl_arena_array(&owner->arena, count, sizeof(*links));
    if (links == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        links[i].next = owner->spare;
        owner->spare = &links[i];
    }
    return true;
}

bool fl_arrow_owner_keep(fl_arrow_owner *owner, fl_frame *frame)
{
    if (owner->spare == NULL && !fl_arrow_owner_reserve(owner, 1)) {
        return false;
    }
    fl_arrow_link *link = owner->spare;
    owner->spare = link->next;
    link->frame = frame;
    link->next = owner->frames;
    owner->frames = link;
    return true;
}

uint8_t *fl_arrow_owner_room(fl_arrow_owner *owner, size_t size)
{
    fl_frame *frame = fl_frame_new(size);
    if (frame == NULL) {
        return NULL;
    }
    if (!fl_arrow_owner_keep(owner, frame)) {
        fl_frame_unref(frame);
        return NULL;
    }
    frame->size = size;
    return frame->data;
}

/* Buffers and children of a node. */
static fluss_code_t node_room(fl_arrow_owner *owner, size_t buffer_count, size_t child_count,
                              struct ArrowArray *array, fluss_error_t *err)
{
    *array =
        (struct ArrowArray){.n_buffers = (int64_t)buffer_count, .n_children = (int64_t)child_count};
    array->buffers = fl_arena_array(&owner->arena, buffer_count, sizeof(*array->buffers));
    if (array->buffers == NULL) {
        return fl_error_nomem(err);
    }
    if (child_count == 0) {
        return 0;
    }
    array->children = fl_arena_array(&owner->arena, child_count, sizeof(*array->children));
    struct ArrowArray *nodes = fl_arena_array(&owner->arena, child_count, sizeof(*nodes));
    if (array->children == NULL || nodes == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < child_count; i++) {
        array->children[i] = &nodes[i];
    }
    return 0;
}

fluss_code_t fl_arrow_node_init(fl_arrow_owner *owner, const fl_type *type,
                                struct ArrowArray *array, fluss_error_t *err)
{
    const size_t buffer_count = fl_arrow_buffer_count(fl_arrow_layout_of(type));
    FL_TRY(node_room(owner, buffer_count, fl_arrow_child_count(type), array, err));
    for (size_t i = 1; i < buffer_count; i++) {
        array->buffers[i] = fl_arrow_nothing;
    }
    for (size_t i = 0; i < (size_t)array->n_children; i++) {
        const fl_type child = fl_arrow_child_type(type, i);
        FL_TRY(fl_arrow_node_init(owner, &child, array->children[i], err));
    }
    return 0;
}

fluss_code_t fl_arrow_root_init(fl_arrow_owner *owner, const fl_schema *schema, int64_t row_count,
                                struct ArrowArray *root, fluss_error_t *err)
{
    FL_TRY(node_room(owner, 1, schema->column_count, root, err));
    root->length = row_count;
    for (size_t i = 0; i < schema->column_count; i++) {
        FL_TRY(fl_arrow_node_init(owner, &schema->columns[i].type, root->children[i], err));
    }
    return 0;
}

static void release_node(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child->release != NULL) {
            child->release(child);
        }
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL) {
        array->dictionary->release(array->dictionary);
    }
    fl_arrow_owner *owner = array->private_data;
    array->release = NULL;
    if (atomic_fetch_sub_explicit(&owner->ref_count, 1, memory_order_acq_rel) == 1) {
        fl_arrow_owner_free(owner);
    }
}

void fl_arrow_owner_publish(fl_arrow_owner *owner, struct ArrowArray *array)
{
    atomic_fetch_add_explicit(&owner->ref_count, 1, memory_order_relaxed);
    array->private_data = owner;
    array->release = release_node;
    for (int64_t i = 0; i < array->n_children; i++) {
        fl_arrow_owner_publish(owner, array->children[i]);
    }
}

fluss_code_t fl_arrow_node_view(fl_arrow_owner *owner, const struct ArrowArray *array, int64_t from,
                                int64_t count, struct ArrowArray *view, fluss_error_t *err)
{
    FL_TRY(node_room(owner, (size_t)array->n_buffers, (size_t)array->n_children, view, err));
    view->length = count;
    view->offset = array->offset + from;
    view->null_count = array->null_count;
    if (array->null_count != 0 && count != array->length) {
        view->null_count = -1;
    }
    for (int64_t i = 0; i < array->n_buffers; i++) {
        view->buffers[i] = array->buffers[i];
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        const struct ArrowArray *child = array->children[i];
        FL_TRY(fl_arrow_node_view(owner, child, 0, child->length, view->children[i], err));
    }
    return 0;
}
