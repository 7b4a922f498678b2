/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_batches_t: decoded batches as Arrow arrays, which point into the received frame. A batch of
 * a changelog gets a first column `__change_type`. */
#include <fluss/fluss_scan.h>
#include <string.h>

#include "base/alloc.h"
#include "client/scan_private.h"
#include "format/arrow.h"

struct fluss_batches {
    fl_held held;
    size_t count;
    fl_piece **pieces; /* one a batch */
};

fl_held *fl_batches_held(fluss_batches_t *batches)
{
    return &batches->held;
}

static void release_batches(fl_held *held)
{
    fluss_batches_t *batches = FL_CONTAINER_OF(held, fluss_batches_t, held);
    fl_free(batches->pieces);
    fl_free(batches);
}

fluss_code_t fl_batches_new(fl_piece *pieces, fl_scanner *scanner, fl_client *client,
                            fluss_batches_t **out, fluss_error_t *err)
{
    size_t count = 0;
    for (const fl_piece *piece = pieces; piece != NULL; piece = piece->next) {
        count++;
    }
    fluss_batches_t *batches = fl_calloc(1, sizeof(*batches));
    fl_piece **list = fl_calloc(count + 1, sizeof(fl_piece *));
    if (batches == NULL || list == NULL) {
        fl_free(batches);
        fl_free(list);
        return fl_error_nomem(err);
    }
    for (fl_piece *piece = pieces; piece != NULL; piece = piece->next) {
        list[batches->count++] = piece;
    }
    batches->pieces = list;
    fl_held_init(&batches->held, pieces, scanner, client, release_batches);
    *out = batches;
    return 0;
}

void fluss_batches_free(fluss_batches_t *batches)
{
    if (batches != NULL) {
        fl_held_end(&batches->held);
    }
}

size_t fluss_batches_count(const fluss_batches_t *batches)
{
    return batches != NULL ? batches->count : 0;
}

const fl_piece *fl_batches_piece(const fluss_batches_t *batches, size_t i)
{
    return batches->pieces[i];
}

/* ---- the change type column ---- */

/* A struct array around another one's columns, with one more in front. */
typedef struct typed_array {
    struct ArrowArray inner, types;
    const void *struct_buffers[1];
    struct ArrowArray *children[];
} typed_array;

static void release_types(struct ArrowArray *array)
{
    fl_free(array->private_data);
    array->release = NULL;
}

static void release_typed(struct ArrowArray *array)
{
    typed_array *typed = array->private_data;
    if (typed->types.release != NULL) {
        typed->types.release(&typed->types);
    }
    typed->inner.release(&typed->inner);
    fl_free(typed);
    array->release = NULL;
}

/* A leading `__change_type` column. */
static fluss_code_t prepend_types_array(const uint8_t *types, struct ArrowArray *array,
                                        fluss_error_t *err)
{
    const size_t child_count = (size_t)array->n_children + 1;
    const size_t rows = (size_t)array->length;
    typed_array *typed = fl_calloc(1, sizeof(*typed) + child_count * sizeof(struct ArrowArray *));
    /* The column may be moved away from the rest, so that it owns its buffers. */
    struct {
        const void *buffers[2];
        uint8_t values[];
    } *column = fl_calloc(1, sizeof(*column) + rows + 8);
    if (typed == NULL || column == NULL) {
        fl_free(typed);
        fl_free(column);
        return fl_error_nomem(err);
    }
    if (types != NULL) {
        memcpy(column->values, types, rows);
    }
    column->buffers[1] = column->values;
    typed->inner = *array;
    typed->types = (struct ArrowArray){
        .length = array->length,
        .n_buffers = 2,
        .buffers = column->buffers,
        .release = release_types,
        .private_data = column,
    };
    typed->children[0] = &typed->types;
    for (size_t i = 1; i < child_count; i++) {
        typed->children[i] = typed->inner.children[i - 1];
    }
    *array = (struct ArrowArray){
        .length = typed->inner.length,
        .n_buffers = 1,
        .buffers = typed->struct_buffers,
        .n_children = (int64_t)child_count,
        .children = typed->children,
        .release = release_typed,
        .private_data = typed,
    };
    return 0;
}

typedef struct typed_schema {
    struct ArrowSchema inner, types;
    struct ArrowSchema *children[];
} typed_schema;

static void release_nothing(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_typed_schema(struct ArrowSchema *schema)
{
    typed_schema *typed = schema->private_data;
    if (typed->types.release != NULL) {
        typed->types.release(&typed->types);
    }
    typed->inner.release(&typed->inner);
    fl_free(typed);
    schema->release = NULL;
}

fluss_code_t fl_prepend_types_schema(struct ArrowSchema *schema, fluss_error_t *err)
{
    const size_t child_count = (size_t)schema->n_children + 1;
    typed_schema *typed = fl_calloc(1, sizeof(*typed) + child_count * sizeof(struct ArrowSchema *));
    if (typed == NULL) {
        return fl_error_nomem(err);
    }
    typed->inner = *schema;
    typed->types =
        (struct ArrowSchema){.format = "C", .name = "__change_type", .release = release_nothing};
    typed->children[0] = &typed->types;
    for (size_t i = 1; i < child_count; i++) {
        typed->children[i] = typed->inner.children[i - 1];
    }
    *schema = (struct ArrowSchema){
        .format = "+s",
        .name = "",
        .flags = typed->inner.flags,
        .n_children = (int64_t)child_count,
        .children = typed->children,
        .release = release_typed_schema,
        .private_data = typed,
    };
    return 0;
}

/* ---- taking ---- */

static fluss_code_t take_chunk(fl_chunk *chunk, struct ArrowSchema *schema,
                               struct ArrowArray *array, fluss_error_t *err)
{
    FL_TRY(fl_arrow_schema_from(chunk->schema, schema, err));
    fluss_code_t rc = 0;
    if (chunk->change_types != NULL) {
        rc = fl_prepend_types_schema(schema, err);
        if (rc == 0) {
            rc = prepend_types_array(chunk->change_types, &chunk->array, err);
        }
    }
    if (rc != 0) {
        schema->release(schema);
        memset(schema, 0, sizeof(*schema));
        return rc;
    }
    *array = chunk->array;
    chunk->array.release = NULL;
    return 0;
}

/* A piece of batches begins with its chunk, and may end before it. */
static fluss_code_t cut_rows(const fl_piece *piece, struct ArrowArray *array, fluss_error_t *err)
{
    if (piece->count == array->length) {
        return 0;
    }
    struct ArrowArray part = {0};
    FL_TRY(fl_arrow_slice(array, 0, piece->count, &part, err));
    *array = part;
    return 0;
}

fluss_code_t fluss_batches_take(fluss_batches_t *batches, size_t i, struct ArrowSchema *schema,
                                struct ArrowArray *array, fluss_position_t *first,
                                int64_t *last_offset, fluss_error_t *err)
{
    if (batches == NULL || schema == NULL || array == NULL) {
        return fl_error_argument(err, "batches, schema and array must not be NULL");
    }
    memset(schema, 0, sizeof(*schema));
    memset(array, 0, sizeof(*array));
    if (i >= batches->count) {
        return fl_error_argument(err, "batch %zu of %zu", i, batches->count);
    }
    const fl_piece *piece = batches->pieces[i];
    fl_chunk *chunk = piece->chunk;
    if (chunk->array.release == NULL) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "batch %zu was taken already", i);
    }
    FL_TRY(take_chunk(chunk, schema, array, err));
    if (cut_rows(piece, array, err) != 0) {
        schema->release(schema);
        array->release(array);
        memset(schema, 0, sizeof(*schema));
        memset(array, 0, sizeof(*array));
        return FLUSS_E_CLIENT;
    }
    if (first != NULL) {
        *first = (fluss_position_t){.bucket = chunk->bucket, .offset = chunk->first_offset};
    }
    if (last_offset != NULL) {
        *last_offset = fl_chunk_offset(chunk, piece->count - 1);
    }
    return 0;
}
