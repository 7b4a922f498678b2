/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of Arrow structs that share the data. The C data interface moves; Python objects are asked
 * for their data any number of times. So the array that came from the C library stays in a counted
 * holder, and each export is a fresh tree of structs whose nodes count on it. The release functions
 * run on any thread, without the interpreter, so the structs come from the C library's heap. */
#include <stdlib.h>

#include "core.h"

struct fc_shared_array {
    atomic_size_t refs;
    struct ArrowArray array;
};

fc_shared_array *fc_shared_array_new(struct ArrowArray *array)
{
    fc_shared_array *shared = calloc(1, sizeof(*shared));
    if (shared != NULL) {
        atomic_init(&shared->refs, 1);
        shared->array = *array;
        array->release = NULL;
    }
    return shared;
}

const struct ArrowArray *fc_shared_array_get(const fc_shared_array *shared)
{
    return &shared->array;
}

void fc_shared_array_unref(fc_shared_array *shared)
{
    if (shared != NULL && atomic_fetch_sub(&shared->refs, 1) == 1) {
        if (shared->array.release != NULL) {
            shared->array.release(&shared->array);
        }
        free(shared);
    }
}

/* What one exported node owns. Children can be moved out by the consumer and released alone. */
typedef struct array_node {
    fc_shared_array *shared;
    struct ArrowArray dictionary;
    struct ArrowArray **pointers;
    struct ArrowArray children[];
} array_node;

static void array_release(struct ArrowArray *array)
{
    array_node *node = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL) {
        array->dictionary->release(array->dictionary);
    }
    fc_shared_array_unref(node->shared);
    free((void *)node->pointers);
    free(node);
    array->release = NULL;
}

static int array_copy(fc_shared_array *shared, const struct ArrowArray *from, int depth,
                      struct ArrowArray *out)
{
    *out = (struct ArrowArray){0};
    const size_t count = (size_t)from->n_children;
    array_node *node = NULL;
    if (depth <= 2 * FC_DEPTH_MAX) {
        node = calloc(1, sizeof(*node) + count * sizeof(struct ArrowArray));
    }
    if (node == NULL) {
        return -1;
    }
    node->pointers = calloc(count + 1, sizeof(*node->pointers));
    if (node->pointers == NULL) {
        free(node);
        return -1;
    }
    atomic_fetch_add(&shared->refs, 1);
    node->shared = shared;
    *out = *from;
    out->n_children = 0;
    out->dictionary = NULL;
    out->children = node->pointers;
    out->release = array_release;
    out->private_data = node;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        node->pointers[i] = &node->children[i];
        rc = array_copy(shared, from->children[i], depth + 1, &node->children[i]);
        out->n_children += rc == 0;
    }
    if (rc == 0 && from->dictionary != NULL) {
        rc = array_copy(shared, from->dictionary, depth + 1, &node->dictionary);
        out->dictionary = rc == 0 ? &node->dictionary : NULL;
    }
    if (rc != 0) {
        array_release(out);
    }
    return rc;
}

int fc_shared_array_export(fc_shared_array *shared, struct ArrowArray *out)
{
    return array_copy(shared, &shared->array, 0, out);
}

/* ---- schemas: copied whole ---- */

static size_t metadata_size(const char *metadata)
{
    if (metadata == NULL) {
        return 0;
    }
    int32_t pairs, length;
    size_t at = sizeof(pairs);
    memcpy(&pairs, metadata, sizeof(pairs));
    for (int32_t i = 0; i < 2 * pairs; i++) {
        memcpy(&length, metadata + at, sizeof(length));
        at += sizeof(length) + (size_t)length;
    }
    return at;
}

static char *copy_bytes(const void *bytes, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy != NULL && size != 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

static void schema_release(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i] != NULL && schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
        free(schema->children[i]);
    }
    if (schema->dictionary != NULL) {
        if (schema->dictionary->release != NULL) {
            schema->dictionary->release(schema->dictionary);
        }
        free(schema->dictionary);
    }
    free((void *)schema->children);
    free((void *)schema->format);
    free((void *)schema->name);
    free((void *)schema->metadata);
    schema->release = NULL;
}

static int schema_copy(const struct ArrowSchema *from, int depth, struct ArrowSchema *out);

static int copy_children(const struct ArrowSchema *from, int depth, struct ArrowSchema *out)
{
    out->children = calloc((size_t)from->n_children + 1, sizeof(*out->children));
    if (out->children == NULL) {
        return -1;
    }
    for (int64_t i = 0; i < from->n_children; i++) {
        out->children[i] = calloc(1, sizeof(**out->children));
        out->n_children = i + 1;
        if (out->children[i] == NULL ||
            schema_copy(from->children[i], depth + 1, out->children[i]) != 0) {
            return -1;
        }
    }
    if (from->dictionary != NULL) {
        out->dictionary = calloc(1, sizeof(*out->dictionary));
        return out->dictionary == NULL ? -1
                                       : schema_copy(from->dictionary, depth + 1, out->dictionary);
    }
    return 0;
}

static int schema_copy(const struct ArrowSchema *from, int depth, struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.flags = from->flags, .release = schema_release};
    out->format = copy_bytes(from->format, strlen(from->format) + 1);
    if (from->name != NULL) {
        out->name = copy_bytes(from->name, strlen(from->name) + 1);
    }
    if (from->metadata != NULL) {
        out->metadata = copy_bytes(from->metadata, metadata_size(from->metadata));
    }
    const bool has_texts = out->format != NULL && (out->name != NULL || from->name == NULL) &&
                           (out->metadata != NULL || from->metadata == NULL);
    if (!has_texts || depth > 2 * FC_DEPTH_MAX || copy_children(from, depth, out) != 0) {
        schema_release(out);
        return -1;
    }
    return 0;
}

int fc_schema_copy(const struct ArrowSchema *schema, struct ArrowSchema *out)
{
    return schema_copy(schema, 0, out);
}
