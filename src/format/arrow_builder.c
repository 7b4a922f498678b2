/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into a struct array: one growing column for each of the table's. */
#include "base/alloc.h"
#include "format/arrow_private.h"

struct fl_arrow_builder {
    fl_schema *schema;
    int64_t row_count;
    size_t column_count;
    fl_arrow_column columns[];
};

fluss_code_t fl_arrow_builder_new(const fl_schema *schema, fl_arrow_builder **builder,
                                  fluss_error_t *err)
{
    *builder = NULL;
    size_t size;
    if (!fl_mul_size(schema->column_count, sizeof(fl_arrow_column), &size) ||
        !fl_add_size(size, sizeof(fl_arrow_builder), &size)) {
        return fl_error_nomem(err);
    }
    fl_arrow_builder *made = fl_calloc(1, size);
    if (made == NULL) {
        return fl_error_nomem(err);
    }
    made->schema = fl_schema_ref(schema);
    fluss_code_t rc = 0;
    while (rc == 0 && made->column_count < schema->column_count) {
        const size_t index = made->column_count++;
        rc = fl_arrow_column_init(&made->columns[index], &schema->columns[index].type, err);
    }
    if (rc != 0) {
        fl_arrow_builder_free(made);
        return rc;
    }
    *builder = made;
    return 0;
}

void fl_arrow_builder_free(fl_arrow_builder *builder)
{
    if (builder == NULL) {
        return;
    }
    for (size_t i = 0; i < builder->column_count; i++) {
        fl_arrow_column_deinit(&builder->columns[i]);
    }
    fl_schema_unref(builder->schema);
    fl_free(builder);
}

/* Undo a row that failed in column `index`. */
static fluss_code_t refuse(fl_arrow_builder *builder, size_t index, fluss_code_t rc,
                           fluss_error_t *err)
{
    for (size_t i = 0; i <= index; i++) {
        fl_arrow_column_truncate(&builder->columns[i], builder->row_count);
    }
    fl_error_prefix(err, "Field '%s': ", builder->schema->columns[index].name);
    return rc;
}

fluss_code_t fl_arrow_builder_append(fl_arrow_builder *builder, const fluss_datum_t *values,
                                     fluss_error_t *err)
{
    for (size_t i = 0; i < builder->column_count; i++) {
        const fluss_code_t rc = fl_arrow_column_append(&builder->columns[i], &values[i], err);
        if (FL_UNLIKELY(rc != 0)) {
            return refuse(builder, i, rc, err);
        }
    }
    builder->row_count++;
    return 0;
}

int64_t fl_arrow_builder_rows(const fl_arrow_builder *builder)
{
    return builder->row_count;
}

size_t fl_arrow_builder_bytes(const fl_arrow_builder *builder)
{
    size_t size = 0;
    for (size_t i = 0; i < builder->column_count; i++) {
        size += fl_arrow_column_bytes(&builder->columns[i]);
    }
    return size;
}

fluss_code_t fl_arrow_builder_finish(fl_arrow_builder *builder, struct ArrowArray *array,
                                     fluss_error_t *err)
{
    fl_arrow_owner *owner = fl_arrow_owner_new();
    if (owner == NULL) {
        return fl_error_nomem(err);
    }
    struct ArrowArray root;
    size_t nodes = 0, buffers = 0;
    for (size_t i = 0; i < builder->column_count; i++) {
        fl_arrow_count(&builder->columns[i].type, &nodes, &buffers);
    }
    fluss_code_t rc = fl_arrow_root_init(owner, builder->schema, builder->row_count, &root, err);
    if (rc == 0 && !fl_arrow_owner_reserve(owner, buffers)) {
        rc = fl_error_nomem(err);
    }
    if (rc != 0) {
        fl_arrow_owner_free(owner);
        return rc;
    }
    for (size_t i = 0; i < builder->column_count; i++) {
        fl_arrow_column_move(&builder->columns[i], owner, root.children[i]);
    }
    builder->row_count = 0;
    fl_arrow_owner_publish(owner, &root);
    *array = root;
    return 0;
}
