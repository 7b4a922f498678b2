/* SPDX-License-Identifier: Apache-2.0 */
/* The first look at what a foreign producer gives, before anything follows its pointers: counts
 * that can be, no part missing, nothing released, no tree deeper than a type may be. The interface
 * does not carry how large a buffer is: that has to be believed. */
#include "format/arrow_private.h"

enum {
    GIVEN_CHILDREN_MAX = 1 << 20,
    GIVEN_BUFFERS_MAX = 1 << 20,
    GIVEN_DEPTH_MAX = 2 * FL_TYPE_DEPTH_MAX + 3 /* the batch, entries of maps, a dictionary */
};
/* Rows, and as many before them; bytes of a value, or values of a list: the bits of all stay below
 * 2^63. */
static const int64_t given_rows_max = INT64_C(1) << 36, given_width_max = INT64_C(1) << 22;

static const char *shown(const char *name)
{
    return name != NULL ? name : "";
}

fluss_code_t fl_arrow_check_given_schema(const struct ArrowSchema *schema, int depth,
                                         fluss_error_t *err)
{
    if (schema == NULL || schema->release == NULL || schema->format == NULL) {
        return fl_error_argument(err, "Arrow schema: a part is missing or was released");
    }
    if (depth > GIVEN_DEPTH_MAX) {
        return fl_error_argument(err, "Arrow schema: types are nested deeper than %d",
                                 FL_TYPE_DEPTH_MAX);
    }
    if (schema->n_children < 0 || schema->n_children > GIVEN_CHILDREN_MAX ||
        (schema->n_children > 0 && schema->children == NULL)) {
        return fl_error_argument(err, "Arrow schema: field '%.100s' with %lld children",
                                 shown(schema->name), (long long)schema->n_children);
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        FL_TRY(fl_arrow_check_given_schema(schema->children[i], depth + 1, err));
    }
    return schema->dictionary != NULL
               ? fl_arrow_check_given_schema(schema->dictionary, depth + 1, err)
               : 0;
}

/* Whether a type has so many buffers; polars gives columns of nothing but nulls one too many. */
static bool has_buffers(const struct ArrowArrayView *view, int64_t count)
{
    int64_t fixed = 0;
    while (fixed < NANOARROW_MAX_FIXED_BUFFERS &&
           view->layout.buffer_type[fixed] != NANOARROW_BUFFER_TYPE_NONE) {
        fixed++;
    }
    switch (view->storage_type) {
    case NANOARROW_TYPE_STRING_VIEW:
    case NANOARROW_TYPE_BINARY_VIEW: /* any number between the views and their sizes */
        return count >= NANOARROW_BINARY_VIEW_FIXED_BUFFERS + 1 && count <= GIVEN_BUFFERS_MAX;
    case NANOARROW_TYPE_NA:
        return count == 0 || count == 1;
    default:
        return count == fixed;
    }
}

/* The numbers of one array, which are those of a view's type. */
static fluss_code_t check_numbers(const struct ArrowSchema *schema,
                                  const struct ArrowArrayView *view, const struct ArrowArray *array,
                                  fluss_error_t *err)
{
    const char *name = shown(schema->name);
    if (array->length < 0 || array->offset < 0 || array->length > given_rows_max ||
        array->offset > given_rows_max || array->null_count < -1 ||
        array->null_count > array->length) {
        return fl_error_argument(
            err, "Arrow array '%.100s': length %lld, offset %lld, %lld of them null", name,
            (long long)array->length, (long long)array->offset, (long long)array->null_count);
    }
    for (int i = 0; i < NANOARROW_MAX_FIXED_BUFFERS; i++) {
        if (view->layout.element_size_bits[i] / 8 > given_width_max ||
            view->layout.child_size_elements > given_width_max) {
            return fl_error_argument(err, "Arrow array '%.100s': values of %lld bytes", name,
                                     (long long)view->layout.element_size_bits[i] / 8);
        }
    }
    if (!has_buffers(view, array->n_buffers) || (array->n_buffers > 0 && array->buffers == NULL)) {
        return fl_error_argument(err, "Arrow array '%.100s': %lld buffers%s", name,
                                 (long long)array->n_buffers,
                                 array->buffers == NULL ? ", which are missing" : "");
    }
    if (array->n_children != schema->n_children ||
        (array->n_children > 0 && array->children == NULL)) {
        return fl_error_argument(err, "Arrow array '%.100s': %lld children, its schema has %lld",
                                 name, (long long)array->n_children, (long long)schema->n_children);
    }
    return 0;
}

fluss_code_t fl_arrow_check_given(const struct ArrowSchema *schema,
                                  const struct ArrowArrayView *view, const struct ArrowArray *array,
                                  fluss_error_t *err)
{
    if (array == NULL || array->release == NULL ||
        (array->dictionary == NULL) != (schema->dictionary == NULL)) {
        return fl_error_argument(err, "Arrow array '%.100s': a part is missing or was released",
                                 shown(schema->name));
    }
    FL_TRY(check_numbers(schema, view, array, err));
    for (int64_t i = 0; i < array->n_children; i++) {
        FL_TRY(
            fl_arrow_check_given(schema->children[i], view->children[i], array->children[i], err));
    }
    return schema->dictionary != NULL
               ? fl_arrow_check_given(schema->dictionary, view->dictionary, array->dictionary, err)
               : 0;
}
