/* SPDX-License-Identifier: Apache-2.0 */
/* Fluss columns to and from Arrow schemas. Comments travel as the
 * metadata "comment" of a field. From Arrow, more is taken than is given: unsigned integers by
 * width, every layout of strings and lists, dictionaries by their values. */
#include "base/alloc.h"
#include "format/arrow_private.h"

static const char comment_key[] = "comment";

/* ---- from Fluss ---- */

static enum ArrowTimeUnit unit_of(uint8_t precision)
{
    static const enum ArrowTimeUnit units[] = {NANOARROW_TIME_UNIT_SECOND,
                                               NANOARROW_TIME_UNIT_MILLI, NANOARROW_TIME_UNIT_MICRO,
                                               NANOARROW_TIME_UNIT_NANO};
    return units[(precision + 2) / 3];
}

static ArrowErrorCode set_scalar(const fl_type *type, struct ArrowSchema *out)
{
    static const enum ArrowType plain[] = {
        [FLUSS_BOOLEAN] = NANOARROW_TYPE_BOOL,   [FLUSS_TINYINT] = NANOARROW_TYPE_INT8,
        [FLUSS_SMALLINT] = NANOARROW_TYPE_INT16, [FLUSS_INT] = NANOARROW_TYPE_INT32,
        [FLUSS_BIGINT] = NANOARROW_TYPE_INT64,   [FLUSS_FLOAT] = NANOARROW_TYPE_FLOAT,
        [FLUSS_DOUBLE] = NANOARROW_TYPE_DOUBLE,  [FLUSS_CHAR] = NANOARROW_TYPE_STRING,
        [FLUSS_STRING] = NANOARROW_TYPE_STRING,  [FLUSS_BYTES] = NANOARROW_TYPE_BINARY,
        [FLUSS_DATE] = NANOARROW_TYPE_DATE32,    [FLUSS_ARRAY] = NANOARROW_TYPE_LIST,
        [FLUSS_MAP] = NANOARROW_TYPE_MAP,
    };
    switch (type->root) {
    case FLUSS_BINARY:
        return ArrowSchemaSetTypeFixedSize(out, NANOARROW_TYPE_FIXED_SIZE_BINARY, type->length);
    case FLUSS_DECIMAL:
        return ArrowSchemaSetTypeDecimal(out, NANOARROW_TYPE_DECIMAL128, type->precision,
                                         type->scale);
    case FLUSS_TIME:
        return ArrowSchemaSetTypeDateTime(
            out, type->precision <= 3 ? NANOARROW_TYPE_TIME32 : NANOARROW_TYPE_TIME64,
            unit_of(type->precision), NULL);
    case FLUSS_TIMESTAMP:
        return ArrowSchemaSetTypeDateTime(out, NANOARROW_TYPE_TIMESTAMP, unit_of(type->precision),
                                          NULL);
    case FLUSS_TIMESTAMP_LTZ:
        return ArrowSchemaSetTypeDateTime(out, NANOARROW_TYPE_TIMESTAMP, unit_of(type->precision),
                                          "UTC");
    case FLUSS_ROW:
        return ArrowSchemaSetTypeStruct(out, (int64_t)type->field_count);
    default:
        return ArrowSchemaSetType(out, plain[type->root]);
    }
}

static ArrowErrorCode set_comment(struct ArrowSchema *out, const char *comment)
{
    struct ArrowBuffer metadata;
    NANOARROW_RETURN_NOT_OK(ArrowMetadataBuilderInit(&metadata, NULL));
    ArrowErrorCode rc =
        ArrowMetadataBuilderAppend(&metadata, ArrowCharView(comment_key), ArrowCharView(comment));
    if (rc == NANOARROW_OK) {
        rc = ArrowSchemaSetMetadata(out, (const char *)metadata.data);
    }
    ArrowBufferReset(&metadata);
    return rc;
}

/* Fill an initialised field. */
static ArrowErrorCode set_field(const fl_type *type, const char *name, const char *comment,
                                struct ArrowSchema *out)
{
    NANOARROW_RETURN_NOT_OK(set_scalar(type, out));
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetName(out, name));
    out->flags = type->nullable ? ARROW_FLAG_NULLABLE : 0;
    if (comment != NULL) {
        NANOARROW_RETURN_NOT_OK(set_comment(out, comment));
    }
    if (type->root == FLUSS_ARRAY) {
        return set_field(&type->fields[0].type, "item", NULL, out->children[0]);
    }
    struct ArrowSchema *parent = out;
    if (type->root == FLUSS_MAP) {
        parent = out->children[0];
        NANOARROW_RETURN_NOT_OK(ArrowSchemaSetName(parent, "entries"));
        parent->flags = 0;
    }
    for (size_t i = 0; i < type->field_count; i++) {
        const fl_field *field = &type->fields[i];
        const char *field_name = type->root == FLUSS_ROW ? field->name : i == 0 ? "key" : "value";
        NANOARROW_RETURN_NOT_OK(
            set_field(&field->type, field_name, field->description, parent->children[i]));
    }
    return NANOARROW_OK;
}

static ArrowErrorCode set_columns(const fl_schema *schema, struct ArrowSchema *out)
{
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetTypeStruct(out, (int64_t)schema->column_count));
    out->flags = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        const fl_column *column = &schema->columns[i];
        NANOARROW_RETURN_NOT_OK(
            set_field(&column->type, column->name, column->comment, out->children[i]));
    }
    return NANOARROW_OK;
}

fluss_code_t fl_arrow_schema_from(const fl_schema *schema, struct ArrowSchema *out,
                                  fluss_error_t *err)
{
    ArrowSchemaInit(out);
    if (set_columns(schema, out) != NANOARROW_OK) {
        ArrowSchemaRelease(out);
        return fl_error_nomem(err);
    }
    return 0;
}

/* ---- to Fluss ---- */

typedef struct schema_reader {
    fl_arena arena; /* types until they are copied into the schema */
    fluss_error_t *err;
} schema_reader;

static fluss_code_t refuse(const struct ArrowSchema *in, const char *why, fluss_error_t *err)
{
    char text[256];
    (void)ArrowSchemaToString(in, text, sizeof(text), 0);
    return fl_error_argument(err, "Arrow type %s %s", text, why);
}

static uint8_t precision_of(enum ArrowTimeUnit unit)
{
    return (uint8_t)(3 * (unsigned)unit);
}

/* The root of a type that Fluss has without more to say; FLUSS_NULL: another. */
static fluss_type_t plain_root(enum ArrowType type)
{
    switch (type) {
    case NANOARROW_TYPE_BOOL:
        return FLUSS_BOOLEAN;
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_UINT8:
        return FLUSS_TINYINT;
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_UINT16:
        return FLUSS_SMALLINT;
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_UINT32:
        return FLUSS_INT;
    case NANOARROW_TYPE_INT64:
    case NANOARROW_TYPE_UINT64:
        return FLUSS_BIGINT;
    case NANOARROW_TYPE_FLOAT:
        return FLUSS_FLOAT;
    case NANOARROW_TYPE_DOUBLE:
        return FLUSS_DOUBLE;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_STRING_VIEW:
        return FLUSS_STRING;
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_BINARY_VIEW:
        return FLUSS_BYTES;
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_DATE64:
        return FLUSS_DATE;
    default:
        return FLUSS_NULL;
    }
}

/* The comment of a field in the arena; NULL: none. */
static fluss_code_t read_comment(schema_reader *reader, const struct ArrowSchema *in,
                                 const char **comment)
{
    struct ArrowStringView value = {.data = NULL};
    *comment = NULL;
    if (in->metadata == NULL ||
        ArrowMetadataGetValue(in->metadata, ArrowCharView(comment_key), &value) != NANOARROW_OK ||
        value.data == NULL) {
        return 0;
    }
    *comment = fl_arena_strndup(&reader->arena, value.data, (size_t)value.size_bytes);
    return *comment != NULL ? 0 : fl_error_nomem(reader->err);
}

static fluss_code_t read_type(schema_reader *reader, const struct ArrowSchema *in, int depth,
                              fl_type *type);

/* The children of `in` as fields; names and descriptions are copied. */
static fluss_code_t read_fields(schema_reader *reader, const struct ArrowSchema *in, int depth,
                                fl_type *type)
{
    type->field_count = (size_t)in->n_children;
    type->fields = fl_arena_array(&reader->arena, type->field_count, sizeof(*type->fields));
    if (type->fields == NULL) {
        return fl_error_nomem(reader->err);
    }
    for (size_t i = 0; i < type->field_count; i++) {
        const struct ArrowSchema *child = in->children[i];
        fl_field *field = &type->fields[i];
        field->id = -1;
        field->name = fl_arena_strdup(&reader->arena, child->name != NULL ? child->name : "");
        if (field->name == NULL) {
            return fl_error_nomem(reader->err);
        }
        FL_TRY(read_comment(reader, child, &field->description));
        FL_TRY(read_type(reader, child, depth + 1, &field->type));
    }
    return 0;
}

static fluss_code_t read_nested(schema_reader *reader, const struct ArrowSchemaView *view,
                                int depth, fl_type *type)
{
    const struct ArrowSchema *in = view->schema;
    switch (view->type) {
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
        type->root = FLUSS_ARRAY;
        FL_TRY(read_fields(reader, in, depth, type));
        type->fields[0].name = "element";
        return 0;
    case NANOARROW_TYPE_MAP:
        type->root = FLUSS_MAP;
        FL_TRY(read_fields(reader, in->children[0], depth, type));
        type->fields[0].name = "key";
        type->fields[0].type.nullable = false;
        type->fields[1].name = "value";
        return 0;
    case NANOARROW_TYPE_STRUCT:
        type->root = FLUSS_ROW;
        return read_fields(reader, in, depth, type);
    default:
        return refuse(in, "has no Fluss type", reader->err);
    }
}

static fluss_code_t read_type(schema_reader *reader, const struct ArrowSchema *in, int depth,
                              fl_type *type)
{
    *type = (fl_type){.nullable = (in->flags & ARROW_FLAG_NULLABLE) != 0};
    struct ArrowSchemaView view;
    struct ArrowError why;
    if (depth > FL_TYPE_DEPTH_MAX) {
        return fl_error_argument(reader->err, "Arrow type nested deeper than %d",
                                 FL_TYPE_DEPTH_MAX);
    }
    if (in->release == NULL || ArrowSchemaViewInit(&view, in, &why) != NANOARROW_OK) {
        return fl_error_argument(reader->err, "Arrow schema is not valid: %s",
                                 in->release == NULL ? "released" : why.message);
    }
    if (in->dictionary != NULL) {
        const bool nullable = type->nullable;
        FL_TRY(read_type(reader, in->dictionary, depth + 1, type));
        type->nullable = nullable;
        return 0;
    }
    type->root = (uint8_t)plain_root(view.type);
    if (type->root != FLUSS_NULL) {
        return 0;
    }
    switch (view.type) {
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        type->root = FLUSS_BINARY;
        type->length = view.fixed_size;
        return view.fixed_size > 0 ? 0 : refuse(in, "has no bytes", reader->err);
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        type->root = FLUSS_TIME;
        type->precision = precision_of(view.time_unit);
        return 0;
    case NANOARROW_TYPE_TIMESTAMP:
        type->root = view.timezone != NULL && view.timezone[0] != '\0' ? FLUSS_TIMESTAMP_LTZ
                                                                       : FLUSS_TIMESTAMP;
        type->precision = precision_of(view.time_unit);
        return 0;
    case NANOARROW_TYPE_DECIMAL128:
        if (view.decimal_precision < 1 || view.decimal_precision > FL_DECIMAL_PRECISION_MAX ||
            view.decimal_scale < 0 || view.decimal_scale > view.decimal_precision) {
            return refuse(in, "needs 1 <= precision <= 38 and 0 <= scale <= precision",
                          reader->err);
        }
        type->root = FLUSS_DECIMAL;
        type->precision = (uint8_t)view.decimal_precision;
        type->scale = (uint8_t)view.decimal_scale;
        return 0;
    default:
        return read_nested(reader, &view, depth, type);
    }
}

static fluss_code_t read_columns(schema_reader *reader, const struct ArrowSchema *in,
                                 fl_schema *schema)
{
    for (int64_t i = 0; i < in->n_children; i++) {
        const struct ArrowSchema *child = in->children[i];
        const char *name = child->name != NULL ? child->name : "";
        fl_type type;
        const char *comment;
        const fluss_code_t rc = read_type(reader, child, 1, &type);
        if (rc != 0) {
            fl_error_prefix(reader->err, "Field '%s': ", name);
            return rc;
        }
        FL_TRY(read_comment(reader, child, &comment));
        FL_TRY(fl_schema_add(schema, name, &type, comment, reader->err));
    }
    return 0;
}

fluss_code_t fl_arrow_schema_to(const struct ArrowSchema *in, fl_schema **schema,
                                fluss_error_t *err)
{
    *schema = NULL;
    FL_TRY(fl_arrow_check_given_schema(in, 0, err));
    if (strcmp(in->format, "+s") != 0) {
        return fl_error_argument(err, "Arrow schema: format '%.100s', expected a struct ('+s')",
                                 in->format);
    }
    fl_schema *made = fl_schema_new();
    if (made == NULL) {
        return fl_error_nomem(err);
    }
    schema_reader reader = {.err = err};
    fl_arena_init(&reader.arena);
    const fluss_code_t rc = read_columns(&reader, in, made);
    fl_arena_deinit(&reader.arena);
    if (rc != 0) {
        fl_schema_unref(made);
        return rc;
    }
    *schema = made;
    return 0;
}
