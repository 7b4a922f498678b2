/* SPDX-License-Identifier: Apache-2.0 */
/* A user's struct array as the table's columns. Columns are found by name. One that has the table's
 * layout already is shared; other layouts of text, bytes and lists get new offsets only; what is
 * left is converted value by value (arrow_convert_values.c). The result is checked as a whole, as
 * shared columns were made by others. */
#include "format/arrow_convert.h"

#include "base/alloc.h"

static bool has_zone(const struct ArrowSchemaView *kind)
{
    return kind->type == NANOARROW_TYPE_TIMESTAMP && kind->timezone != NULL &&
           kind->timezone[0] != '\0';
}

fluss_code_t fl_convert_refuse(const fl_foreign *from, const fl_type *type, fluss_error_t *err)
{
    const char *advice = type->root == FLUSS_TIMESTAMP && has_zone(&from->kind)
                             ? ", which has no time zone; take the column's zone away, or declare "
                               "TIMESTAMP_LTZ"
                             : "";
    char found[200];
    (void)ArrowSchemaToString(from->schema, found, sizeof(found), 1);
    fl_buf wanted;
    fl_buf_init(&wanted, 4096);
    const fluss_code_t rc = fl_type_print(type, &wanted, err);
    const fluss_code_t refused =
        fl_error_argument(err, "Arrow type %s can't become %.*s%s", found, (int)wanted.size,
                          rc == 0 ? (const char *)wanted.data : "", advice);
    fl_buf_deinit(&wanted);
    return refused;
}

static fluss_code_t open_kind(fl_foreign *foreign, fluss_error_t *err)
{
    struct ArrowError why;
    if (ArrowSchemaViewInit(&foreign->kind, foreign->schema, &why) != NANOARROW_OK) {
        return fl_error_argument(err, "Arrow schema is not valid: %s", why.message);
    }
    return 0;
}

fluss_code_t fl_foreign_child(const fl_foreign *parent, size_t index, fl_foreign *child,
                              fluss_error_t *err)
{
    *child = (fl_foreign){.schema = parent->schema->children[index],
                          .array = parent->array->children[index],
                          .view = parent->view->children[index]};
    return open_kind(child, err);
}

fluss_code_t fl_convert_validity(fl_convert_walk *walk, const struct ArrowArray *in, int64_t from,
                                 int64_t count, struct ArrowArray *out)
{
    out->length = count;
    out->null_count = fl_arrow_null_count(in, from, count);
    if (out->null_count == 0) {
        return 0;
    }
    uint8_t *bits = fl_arrow_owner_room(walk->owner, fl_bits_size(count));
    if (bits == NULL) {
        return fl_error_nomem(walk->err);
    }
    fl_bits_copy(bits, in->buffers[0], in->offset + from, count);
    out->buffers[0] = bits;
    return 0;
}

/* ---- sharing ---- */

static enum ArrowTimeUnit unit_of(uint8_t precision)
{
    return (enum ArrowTimeUnit)((precision + 2u) / 3u);
}

bool fl_convert_zone_fits(const struct ArrowSchemaView *kind, const fl_type *type)
{
    return type->root == FLUSS_TIMESTAMP_LTZ || (type->root == FLUSS_TIMESTAMP && !has_zone(kind));
}

/* Whether a scalar has the very layout of the table's type. */
static bool is_same_scalar(const struct ArrowSchemaView *kind, const fl_type *type)
{
    switch (kind->type) {
    case NANOARROW_TYPE_BOOL:
        return type->root == FLUSS_BOOLEAN;
    case NANOARROW_TYPE_INT8:
        return type->root == FLUSS_TINYINT;
    case NANOARROW_TYPE_INT16:
        return type->root == FLUSS_SMALLINT;
    case NANOARROW_TYPE_INT32:
        return type->root == FLUSS_INT;
    case NANOARROW_TYPE_INT64:
        return type->root == FLUSS_BIGINT;
    case NANOARROW_TYPE_FLOAT:
        return type->root == FLUSS_FLOAT;
    case NANOARROW_TYPE_DOUBLE:
        return type->root == FLUSS_DOUBLE;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
        return fl_arrow_layout_of(type) == FL_LAYOUT_VAR;
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        return type->root == FLUSS_BINARY && kind->fixed_size == type->length;
    case NANOARROW_TYPE_DECIMAL128:
        return type->root == FLUSS_DECIMAL && kind->decimal_scale == type->scale &&
               kind->decimal_precision <= type->precision;
    case NANOARROW_TYPE_DATE32:
        return type->root == FLUSS_DATE;
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        return type->root == FLUSS_TIME && kind->time_unit == unit_of(type->precision);
    case NANOARROW_TYPE_TIMESTAMP:
        return fl_convert_zone_fits(kind, type) && kind->time_unit == unit_of(type->precision);
    default:
        return false;
    }
}

static const char *child_name(const struct ArrowSchema *schema, int64_t i)
{
    return schema->children[i]->name != NULL ? schema->children[i]->name : "";
}

/* Where the children of a struct stand, by name. */
static fluss_code_t index_children(fl_convert_walk *walk, const struct ArrowSchema *schema,
                                   fl_name_index *names)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        size_t position;
        FL_TRY(fl_name_index_add(names, &walk->names, child_name(schema, i), &position, walk->err));
    }
    return 0;
}

static bool is_same(const struct ArrowSchema *schema, const fl_type *type)
{
    struct ArrowSchemaView kind;
    if (ArrowSchemaViewInit(&kind, schema, NULL) != NANOARROW_OK || schema->dictionary != NULL) {
        return false;
    }
    switch (type->root) {
    case FLUSS_ARRAY:
        return kind.type == NANOARROW_TYPE_LIST &&
               is_same(schema->children[0], &type->fields[0].type);
    case FLUSS_MAP:
        schema = schema->children != NULL ? schema->children[0] : schema;
        return kind.type == NANOARROW_TYPE_MAP &&
               is_same(schema->children[0], &type->fields[0].type) &&
               is_same(schema->children[1], &type->fields[1].type);
    case FLUSS_ROW:
        if (kind.type != NANOARROW_TYPE_STRUCT || (size_t)schema->n_children != type->field_count) {
            return false;
        }
        for (size_t i = 0; i < type->field_count; i++) {
            if (strcmp(child_name(schema, (int64_t)i), type->fields[i].name) != 0 ||
                !is_same(schema->children[i], &type->fields[i].type)) {
                return false;
            }
        }
        return true;
    default:
        return is_same_scalar(&kind, type);
    }
}

/* Empty buffers may be NULL in the C data interface; ours never are. */
static void fill_missing(struct ArrowArray *array)
{
    for (int64_t i = 1; i < array->n_buffers; i++) {
        if (array->buffers[i] == NULL) {
            array->buffers[i] = fl_arrow_nothing;
        }
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        fill_missing(array->children[i]);
    }
}

/* ---- nested and wide layouts ---- */

/* Offset `index` of a list, text or bytes, 32 or 64 bits wide. */
static int64_t offset_at(const fl_foreign *from, bool is_large, int64_t index)
{
    return is_large ? fl_load_i64((const uint8_t *)from->array->buffers[1] + index * 8)
                    : fl_load_i32((const uint8_t *)from->array->buffers[1] + index * 4);
}

/* New 32-bit offsets from zero; `first` and `last`: what they cover of the values. */
static fluss_code_t narrow_offsets(fl_convert_walk *walk, const fl_foreign *from, bool is_large,
                                   int64_t at, int64_t count, struct ArrowArray *out,
                                   int64_t *first, int64_t *last)
{
    *first = *last = 0;
    if (count == 0) {
        return 0;
    }
    if (from->array->buffers[1] == NULL) {
        return fl_error_argument(walk->err, "an Arrow buffer is missing");
    }
    const int64_t start = from->array->offset + at;
    *first = offset_at(from, is_large, start);
    *last = offset_at(from, is_large, start + count);
    if (*first < 0 || *last < *first || *last - *first > INT32_MAX) {
        return fl_error_argument(walk->err,
                                 "%lld bytes or elements in one column of a batch, possible are "
                                 "%d",
                                 (long long)(*last - *first), INT32_MAX);
    }
    uint8_t *to = fl_arrow_owner_room(walk->owner, ((size_t)count + 1) * sizeof(int32_t));
    if (to == NULL) {
        return fl_error_nomem(walk->err);
    }
    for (int64_t i = 0; i <= count; i++) {
        const int64_t offset = offset_at(from, is_large, start + i) - *first;
        if (offset < 0 || offset > *last - *first) {
            return fl_error_argument(walk->err, "Arrow offsets go back");
        }
        fl_store_i32(to + (size_t)i * sizeof(int32_t), (int32_t)offset);
    }
    out->buffers[1] = to;
    return 0;
}

static fluss_code_t convert_large_bytes(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                                        int64_t count, struct ArrowArray *out)
{
    int64_t first, last;
    FL_TRY(fl_convert_validity(walk, from->array, at, count, out));
    FL_TRY(narrow_offsets(walk, from, true, at, count, out, &first, &last));
    if (first != last && from->array->buffers[2] == NULL) {
        return fl_error_argument(walk->err, "an Arrow buffer is missing");
    }
    if (first != last) {
        out->buffers[2] = (const uint8_t *)from->array->buffers[2] + first;
    }
    return 0;
}

static fluss_code_t convert_struct(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                                   int64_t count, const fl_type *type, bool is_entries,
                                   struct ArrowArray *out)
{
    FL_TRY(fl_convert_validity(walk, from->array, at, count, out));
    if ((size_t)from->schema->n_children != type->field_count) {
        return fl_convert_refuse(from, type, walk->err);
    }
    fl_name_index names = {0};
    if (!is_entries) {
        FL_TRY(index_children(walk, from->schema, &names));
    }
    for (size_t i = 0; i < type->field_count; i++) {
        const fl_field *field = &type->fields[i];
        /* Writers name the key and value of a map as they like. */
        const ptrdiff_t index = is_entries
                                    ? (ptrdiff_t)i
                                    : fl_name_index_find(&names, field->name, strlen(field->name));
        if (index < 0) {
            return fl_error_argument(walk->err, "no field '%s'", field->name);
        }
        fl_foreign child;
        FL_TRY(fl_foreign_child(from, (size_t)index, &child, walk->err));
        const fluss_code_t rc = fl_convert_column(walk, &child, from->array->offset + at, count,
                                                  &field->type, out->children[i]);
        if (rc != 0) {
            fl_error_prefix(walk->err, "field '%s': ", field->name);
            return rc;
        }
    }
    return 0;
}

static fluss_code_t convert_list(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                                 int64_t count, const fl_type *type, struct ArrowArray *out)
{
    int64_t first, last;
    const bool is_large = from->kind.type == NANOARROW_TYPE_LARGE_LIST;
    FL_TRY(fl_convert_validity(walk, from->array, at, count, out));
    FL_TRY(narrow_offsets(walk, from, is_large, at, count, out, &first, &last));
    fl_foreign child;
    FL_TRY(fl_foreign_child(from, 0, &child, walk->err));
    if (last > child.array->length) {
        return fl_error_argument(walk->err, "lists end at element %lld of %lld", (long long)last,
                                 (long long)child.array->length);
    }
    const fl_type child_type = fl_arrow_child_type(type, 0);
    if (type->root == FLUSS_MAP) {
        return convert_struct(walk, &child, first, last - first, &child_type, true,
                              out->children[0]);
    }
    return fl_convert_column(walk, &child, first, last - first, &child_type, out->children[0]);
}

static fluss_code_t convert_nulls(fl_convert_walk *walk, int64_t count, const fl_type *type,
                                  struct ArrowArray *out)
{
    size_t size = 0;
    if (!fl_arrow_null_size(type, count, &size)) {
        return fl_error_argument(walk->err, "%lld nulls need more than %d bytes", (long long)count,
                                 FL_ARROW_FRESH_SIZE_MAX);
    }
    uint8_t *zeros = fl_arrow_owner_room(walk->owner, size);
    if (zeros == NULL) {
        return fl_error_nomem(walk->err);
    }
    memset(zeros, 0, size);
    fl_arrow_null_column(type, count, zeros, out);
    return 0;
}

static bool is_list(enum ArrowType type)
{
    return type == NANOARROW_TYPE_LIST || type == NANOARROW_TYPE_LARGE_LIST;
}

fluss_code_t fl_convert_column(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                               int64_t count, const fl_type *type, struct ArrowArray *out)
{
    if (at + count > from->array->length) {
        return fl_error_argument(walk->err, "Arrow column of %lld values, %lld wanted",
                                 (long long)from->array->length, (long long)(at + count));
    }
    if (is_same(from->schema, type)) {
        FL_TRY(fl_arrow_node_view(walk->owner, from->array, at, count, out, walk->err));
        fill_missing(out);
        return 0;
    }
    const enum ArrowType kind = from->kind.type;
    const bool is_large =
        kind == NANOARROW_TYPE_LARGE_STRING || kind == NANOARROW_TYPE_LARGE_BINARY;
    if (kind == NANOARROW_TYPE_NA) {
        return convert_nulls(walk, count, type, out);
    }
    if (kind == NANOARROW_TYPE_RUN_END_ENCODED) {
        return fl_convert_runs(walk, from, at, count, type, out);
    }
    if (kind == NANOARROW_TYPE_FIXED_SIZE_LIST && type->root == FLUSS_ARRAY) {
        return fl_convert_fixed_list(walk, from, at, count, type, out);
    }
    if (from->schema->dictionary == NULL && is_large && fl_arrow_layout_of(type) == FL_LAYOUT_VAR) {
        return convert_large_bytes(walk, from, at, count, out);
    }
    switch (type->root) {
    case FLUSS_ARRAY:
        return is_list(kind) ? convert_list(walk, from, at, count, type, out)
                             : fl_convert_refuse(from, type, walk->err);
    case FLUSS_MAP:
        return kind == NANOARROW_TYPE_MAP ? convert_list(walk, from, at, count, type, out)
                                          : fl_convert_refuse(from, type, walk->err);
    case FLUSS_ROW:
        return kind == NANOARROW_TYPE_STRUCT
                   ? convert_struct(walk, from, at, count, type, false, out)
                   : fl_convert_refuse(from, type, walk->err);
    default:
        return fl_convert_values(walk, from, at, count, type, out);
    }
}

/* ---- the whole array ---- */

/* Each column of the table is there once, and no other. */
static fluss_code_t check_names(const struct ArrowSchema *from, const fl_schema *schema,
                                const fl_name_index *names, fluss_error_t *err)
{
    for (int64_t i = 0; i < from->n_children; i++) {
        const char *name = child_name(from, i);
        if (fl_schema_find(schema, name, strlen(name)) < 0) {
            return fl_error_argument(err, "Arrow batch has a column '%s' that the table has not",
                                     name);
        }
        if (fl_name_index_find(names, name, strlen(name)) != i) {
            return fl_error_argument(err, "Arrow batch has the column '%s' twice", name);
        }
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        const char *name = schema->columns[i].name;
        if (fl_name_index_find(names, name, strlen(name)) < 0) {
            return fl_error_argument(err, "Arrow batch has no column '%s'", name);
        }
    }
    return 0;
}

static fluss_code_t convert_columns(fl_convert_walk *walk, const fl_foreign *from,
                                    const fl_schema *schema, struct ArrowArray *root)
{
    const struct ArrowArray *array = from->array;
    FL_TRY(fl_arrow_root_init(walk->owner, schema, array->length, root, walk->err));
    for (size_t i = 0; i < schema->column_count; i++) {
        const fl_column *column = &schema->columns[i];
        fl_foreign child;
        const ptrdiff_t index =
            fl_name_index_find(&walk->columns, column->name, strlen(column->name));
        FL_TRY(fl_foreign_child(from, (size_t)index, &child, walk->err));
        const fluss_code_t rc = fl_convert_column(walk, &child, array->offset, array->length,
                                                  &column->type, root->children[i]);
        if (rc != 0) {
            fl_error_prefix(walk->err, "Field '%s': ", column->name);
            return rc;
        }
    }
    return fl_arrow_check(schema, root, walk->err);
}

/* polars gives columns of nothing but nulls a buffer, which they have not in the format; what is in
 * it does not matter. */
static void allow_buffer_of_nulls(struct ArrowArrayView *view, const struct ArrowArray *array)
{
    if (view->storage_type == NANOARROW_TYPE_NA && array->n_buffers == 1) {
        view->layout.buffer_type[0] = NANOARROW_BUFFER_TYPE_DATA;
        view->layout.element_size_bits[0] = 0;
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        allow_buffer_of_nulls(view->children[i], array->children[i]);
    }
}

/* Open the array and convert it, all but its release. */
static fluss_code_t convert_root(fl_convert_walk *walk, const struct ArrowSchema *from,
                                 const struct ArrowArray *array, const fl_schema *schema,
                                 struct ArrowArray *root)
{
    struct ArrowError why;
    struct ArrowArrayView view;
    FL_TRY(index_children(walk, from, &walk->columns));
    FL_TRY(check_names(from, schema, &walk->columns, walk->err));
    if (ArrowArrayViewInitFromSchema(&view, from, &why) != NANOARROW_OK) {
        return fl_error_argument(walk->err, "Arrow schema is not valid: %s", why.message);
    }
    fluss_code_t rc = fl_arrow_check_given(from, &view, array, walk->err);
    if (rc == 0) {
        allow_buffer_of_nulls(&view, array);
    }
    if (rc == 0 && ArrowArrayViewSetArray(&view, array, &why) != NANOARROW_OK) {
        rc = fl_error_argument(walk->err, "Arrow batch is not valid: %s", why.message);
    } else if (rc == 0) {
        fl_foreign foreign = {.schema = from, .array = array, .view = &view};
        rc = open_kind(&foreign, walk->err);
        rc = rc != 0 ? rc : convert_columns(walk, &foreign, schema, root);
    }
    ArrowArrayViewReset(&view);
    return rc;
}

fluss_code_t fl_arrow_convert(const struct ArrowSchema *from, struct ArrowArray *array,
                              const fl_schema *schema, struct ArrowArray *out, fluss_error_t *err)
{
    FL_TRY(fl_arrow_check_given_schema(from, 0, err));
    if (array->release == NULL || strcmp(from->format, "+s") != 0) {
        return fl_error_argument(err, "Arrow batch: a struct is expected");
    }
    if (array->null_count > 0) {
        return fl_error_argument(err, "Arrow batch: %lld of its rows are null as a whole",
                                 (long long)array->null_count);
    }
    if (array->length > FL_ARROW_ROWS_MAX) {
        return fl_error_argument(err, "Arrow batch of %lld rows, possible are %d",
                                 (long long)array->length, FL_ARROW_ROWS_MAX);
    }
    fl_convert_walk walk = {.owner = fl_arrow_owner_new(), .err = err};
    if (walk.owner == NULL) {
        return fl_error_nomem(err);
    }
    fl_arena_init(&walk.names);
    struct ArrowArray root;
    const fluss_code_t rc = convert_root(&walk, from, array, schema, &root);
    fl_arena_deinit(&walk.names);
    if (rc != 0) {
        fl_arrow_owner_free(walk.owner);
        return rc;
    }
    ArrowArrayMove(array, &walk.owner->foreign);
    fl_arrow_owner_publish(walk.owner, &root);
    *out = root;
    return 0;
}
