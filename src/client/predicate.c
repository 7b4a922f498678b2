/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: a tree of conditions, copied from the user's literals, bound to a table's columns when a
 * scanner is opened, sent to the server as a hint and, on request, tested here row by row. */
#include "client/predicate.h"

#include <string.h>

#include "base/alloc.h"
#include "client/hash_choice.h"
#include "format/datum.h"

enum { DEPTH_MAX = 32, LITERAL_COUNT_MAX = 1 << 16 };

struct fluss_pred {
    bool is_leaf, all;
    fluss_cmp_t op;
    char *column;
    fl_arena arena; /* literals and what they point to */
    fluss_datum_t *literals;
    size_t count; /* of literals or children */
    fluss_pred_t **children;
};

static fluss_code_t copy_literal(fl_arena *arena, const fluss_datum_t *in, fluss_datum_t *out)
{
    *out = *in;
    if (in->type >= FLUSS_CHAR && in->type <= FLUSS_BYTES && in->v.s.len > 0) {
        out->v.s.ptr = fl_arena_strndup(arena, in->v.s.ptr, in->v.s.len);
        return out->v.s.ptr != NULL ? 0 : FLUSS_E_CLIENT;
    }
    return in->type >= FLUSS_ARRAY ? FLUSS_E_CLIENT : 0;
}

fluss_pred_t *fluss_pred(const char *column, fluss_cmp_t op, const fluss_datum_t *literals,
                         size_t n)
{
    if (column == NULL || (literals == NULL && n > 0) || n > LITERAL_COUNT_MAX) {
        return NULL;
    }
    fluss_pred_t *pred = fl_calloc(1, sizeof(*pred));
    if (pred == NULL) {
        return NULL;
    }
    fl_arena_init(&pred->arena);
    pred->is_leaf = true;
    pred->op = op;
    pred->count = n;
    pred->column = fl_strdup(column);
    pred->literals = fl_arena_array(&pred->arena, n, sizeof(*pred->literals));
    bool is_whole = pred->column != NULL && pred->literals != NULL;
    for (size_t i = 0; i < n && is_whole; i++) {
        is_whole = copy_literal(&pred->arena, &literals[i], &pred->literals[i]) == 0;
    }
    if (!is_whole) {
        fluss_pred_free(pred);
        return NULL;
    }
    return pred;
}

void fluss_pred_free(fluss_pred_t *pred)
{
    if (pred == NULL) {
        return;
    }
    for (size_t i = 0; i < pred->count && pred->children != NULL; i++) {
        fluss_pred_free(pred->children[i]);
    }
    fl_free(pred->children);
    fl_free(pred->column);
    fl_arena_deinit(&pred->arena);
    fl_free(pred);
}

fluss_pred_t *fluss_pred_combine(bool all, fluss_pred_t *const *children, size_t n)
{
    bool is_whole = children != NULL && n > 0;
    for (size_t i = 0; i < n && children != NULL; i++) {
        is_whole = is_whole && children[i] != NULL;
    }
    fluss_pred_t *pred = is_whole ? fl_calloc(1, sizeof(*pred)) : NULL;
    if (pred != NULL) {
        fl_arena_init(&pred->arena);
        pred->children = fl_calloc(n, sizeof(fluss_pred_t *));
    }
    if (pred == NULL || pred->children == NULL) {
        for (size_t i = 0; i < n && children != NULL; i++) {
            fluss_pred_free(children[i]);
        }
        fl_free(pred);
        return NULL;
    }
    memcpy(pred->children, children, n * sizeof(fluss_pred_t *));
    pred->all = all;
    pred->count = n;
    return pred;
}

static fluss_pred_t *copy_tree(const fluss_pred_t *pred, int depth)
{
    if (pred->is_leaf) {
        return fluss_pred(pred->column, pred->op, pred->literals, pred->count);
    }
    fluss_pred_t **children =
        depth < DEPTH_MAX ? fl_calloc(pred->count, sizeof(fluss_pred_t *)) : NULL;
    if (children == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < pred->count; i++) {
        children[i] = copy_tree(pred->children[i], depth + 1);
    }
    fluss_pred_t *copy = fluss_pred_combine(pred->all, children, pred->count);
    fl_free(children);
    return copy;
}

fluss_code_t fl_pred_copy(const fluss_pred_t *pred, fluss_pred_t **out, fluss_error_t *err)
{
    *out = copy_tree(pred, 0);
    return *out != NULL ? 0
                        : fl_error_argument(err,
                                            "the filter is nested deeper than %d, or memory "
                                            "is out",
                                            DEPTH_MAX);
}

static fluss_code_t check_count(const fluss_pred_t *pred, fluss_error_t *err)
{
    const bool is_null_test = pred->op == FLUSS_CMP_IS_NULL || pred->op == FLUSS_CMP_NOT_NULL;
    const bool is_list = pred->op == FLUSS_CMP_IN || pred->op == FLUSS_CMP_NOT_IN;
    if ((unsigned)pred->op > FLUSS_CMP_NOT_IN) {
        return fl_error_argument(err, "filter on '%.100s': unknown comparison %d", pred->column,
                                 (int)pred->op);
    }
    if (!is_list && pred->count != (is_null_test ? 0u : 1u)) {
        return fl_error_argument(err, "filter on '%.100s': %zu literals, expected %d", pred->column,
                                 pred->count, is_null_test ? 0 : 1);
    }
    return 0;
}

fluss_code_t fl_pred_bind(fluss_pred_t *pred, const fl_schema *schema, fluss_error_t *err)
{
    if (!pred->is_leaf) {
        for (size_t i = 0; i < pred->count; i++) {
            FL_TRY(fl_pred_bind(pred->children[i], schema, err));
        }
        return 0;
    }
    const ptrdiff_t column = fl_schema_find(schema, pred->column, strlen(pred->column));
    if (column < 0) {
        return fl_error_column(err, schema, pred->column);
    }
    FL_TRY(check_count(pred, err));
    fl_type type = schema->columns[column].type;
    type.nullable = true;
    const bool is_text_test = pred->op == FLUSS_CMP_STARTS || pred->op == FLUSS_CMP_ENDS ||
                              pred->op == FLUSS_CMP_CONTAINS;
    if (is_text_test && type.root != FLUSS_STRING && type.root != FLUSS_CHAR) {
        return fl_error_argument(err, "filter on '%.100s': the column is not text", pred->column);
    }
    if (type.root == FLUSS_CHAR) {
        type.root = FLUSS_STRING;
    }
    for (size_t i = 0; i < pred->count; i++) {
        FL_TRY(fl_datum_coerce(&pred->literals[i], &type, pred->column, &pred->arena,
                               &pred->literals[i], err));
    }
    return 0;
}

/* ---- for the server ---- */

/* literal_type by root. */
static const int32_t literal_kinds[] = {
    [FLUSS_BOOLEAN] = 0,    [FLUSS_TINYINT] = 1,        [FLUSS_SMALLINT] = 2, [FLUSS_INT] = 3,
    [FLUSS_BIGINT] = 4,     [FLUSS_FLOAT] = 5,          [FLUSS_DOUBLE] = 6,   [FLUSS_CHAR] = 7,
    [FLUSS_STRING] = 8,     [FLUSS_DECIMAL] = 9,        [FLUSS_DATE] = 10,    [FLUSS_TIME] = 11,
    [FLUSS_TIMESTAMP] = 12, [FLUSS_TIMESTAMP_LTZ] = 13, [FLUSS_BINARY] = 14,  [FLUSS_BYTES] = 15,
};

static fluss_code_t literal_message(const fl_type *type, const fluss_datum_t *d, fl_arena *arena,
                                    fl_msg_pb_literal_value *out, fluss_error_t *err)
{
    *out = (fl_msg_pb_literal_value){.literal_type = literal_kinds[type->root],
                                     .is_null = d->type == FLUSS_NULL};
    if (out->is_null) {
        return 0;
    }
    switch (type->root) {
    case FLUSS_BOOLEAN:
        out->has_boolean_value = true;
        out->boolean_value = d->v.b;
        break;
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_TIME:
        out->has_int_value = true;
        out->int_value = (int32_t)d->v.i;
        break;
    case FLUSS_BIGINT:
    case FLUSS_DATE:
        out->has_bigint_value = true;
        out->bigint_value = d->v.i;
        break;
    case FLUSS_FLOAT:
        out->has_float_value = true;
        out->float_value = (float)d->v.f;
        break;
    case FLUSS_DOUBLE:
        out->has_double_value = true;
        out->double_value = d->v.f;
        break;
    case FLUSS_CHAR:
    case FLUSS_STRING:
        out->has_string_value = true;
        out->string_value = fl_slice_of(d->v.s.ptr, d->v.s.len);
        break;
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        out->has_binary_value = true;
        out->binary_value = fl_slice_of(d->v.s.ptr, d->v.s.len);
        break;
    case FLUSS_DECIMAL: {
        uint8_t *bytes = fl_arena_alloc(arena, 16);
        if (bytes == NULL) {
            return fl_error_nomem(err);
        }
        out->has_decimal_value = type->precision <= 18;
        out->decimal_value = (int64_t)d->v.dec.lo;
        out->has_decimal_bytes = type->precision > 18;
        out->decimal_bytes = fl_slice_of(bytes, fl_decimal_to_bytes(d, bytes));
        break;
    }
    default:
        out->has_timestamp_millis_value = true;
        out->timestamp_millis_value = d->v.i;
        out->has_timestamp_nano_of_millis_value = true;
        out->timestamp_nano_of_millis_value = d->nanos;
        break;
    }
    return 0;
}

static fluss_code_t leaf_message(const fluss_pred_t *pred, const fl_schema *schema, fl_arena *arena,
                                 fl_msg_pb_predicate *out, fluss_error_t *err)
{
    static const int32_t functions[] = {
        [FLUSS_CMP_EQ] = 0,       [FLUSS_CMP_NE] = 1,       [FLUSS_CMP_LT] = 2,
        [FLUSS_CMP_LE] = 3,       [FLUSS_CMP_GT] = 4,       [FLUSS_CMP_GE] = 5,
        [FLUSS_CMP_IS_NULL] = 6,  [FLUSS_CMP_NOT_NULL] = 7, [FLUSS_CMP_STARTS] = 8,
        [FLUSS_CMP_CONTAINS] = 9, [FLUSS_CMP_ENDS] = 10,    [FLUSS_CMP_IN] = 11,
        [FLUSS_CMP_NOT_IN] = 12,
    };
    const ptrdiff_t found = fl_schema_find(schema, pred->column, strlen(pred->column));
    if (found < 0) {
        return fl_error_column(err, schema, pred->column);
    }
    const fl_column *column = &schema->columns[found];
    fl_msg_pb_literal_value *literals = fl_arena_array(arena, pred->count, sizeof(*literals));
    if (literals == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < pred->count; i++) {
        FL_TRY(literal_message(&column->type, &pred->literals[i], arena, &literals[i], err));
    }
    out->has_leaf = true;
    out->leaf = (fl_msg_pb_leaf_predicate){
        .function = functions[pred->op],
        .field_id = column->id,
        .literals = literals,
        .literals_count = pred->count,
    };
    return 0;
}

fluss_code_t fl_pred_message(const fluss_pred_t *pred, const fl_schema *schema, fl_arena *arena,
                             fl_msg_pb_predicate *out, fluss_error_t *err)
{
    *out = (fl_msg_pb_predicate){.type = pred->is_leaf ? 0 : 1};
    if (pred->is_leaf) {
        return leaf_message(pred, schema, arena, out, err);
    }
    fl_msg_pb_predicate *children = fl_arena_array(arena, pred->count, sizeof(*children));
    if (children == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < pred->count; i++) {
        FL_TRY(fl_pred_message(pred->children[i], schema, arena, &children[i], err));
    }
    out->has_compound = true;
    out->compound = (fl_msg_pb_compound_predicate){
        .function = pred->all ? 0 : 1, .children = children, .children_count = pred->count};
    return 0;
}

/* ---- row by row ---- */

static bool text_matches(const fluss_pred_t *pred, const fluss_datum_t *value)
{
    const fluss_datum_t *part = &pred->literals[0];
    if (part->type == FLUSS_NULL || part->v.s.len > value->v.s.len) {
        return false;
    }
    const size_t size = part->v.s.len, surplus = value->v.s.len - size;
    const char *text = value->v.s.ptr;
    if (pred->op == FLUSS_CMP_STARTS) {
        return size == 0 || memcmp(text, part->v.s.ptr, size) == 0;
    }
    if (pred->op == FLUSS_CMP_ENDS) {
        return size == 0 || memcmp(text + surplus, part->v.s.ptr, size) == 0;
    }
    return size == 0 || memmem(text, value->v.s.len, part->v.s.ptr, size) != NULL;
}

static bool is_in_list(const fluss_pred_t *pred, const fluss_datum_t *value)
{
    for (size_t i = 0; i < pred->count; i++) {
        if (pred->literals[i].type != FLUSS_NULL &&
            fl_datum_compare(value, &pred->literals[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool leaf_passes(const fluss_pred_t *pred, const fluss_datum_t *value)
{
    if (pred->op == FLUSS_CMP_IS_NULL || pred->op == FLUSS_CMP_NOT_NULL) {
        return (value->type == FLUSS_NULL) == (pred->op == FLUSS_CMP_IS_NULL);
    }
    if (value->type == FLUSS_NULL) {
        return false;
    }
    if (pred->op == FLUSS_CMP_IN || pred->op == FLUSS_CMP_NOT_IN) {
        return is_in_list(pred, value) == (pred->op == FLUSS_CMP_IN);
    }
    if (pred->op >= FLUSS_CMP_STARTS) {
        return text_matches(pred, value);
    }
    if (pred->literals[0].type == FLUSS_NULL) {
        return false;
    }
    const int order = fl_datum_compare(value, &pred->literals[0]);
    switch (pred->op) {
    case FLUSS_CMP_EQ:
        return order == 0;
    case FLUSS_CMP_NE:
        return order != 0;
    case FLUSS_CMP_LT:
        return order < 0;
    case FLUSS_CMP_LE:
        return order <= 0;
    case FLUSS_CMP_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

fluss_code_t fl_pred_test(const fluss_pred_t *pred, fl_pred_value_fn value, void *context,
                          bool *passes)
{
    if (pred->is_leaf) {
        fluss_datum_t found;
        FL_TRY(value(context, pred->column, &found));
        *passes = leaf_passes(pred, &found);
        return 0;
    }
    *passes = pred->all;
    for (size_t i = 0; i < pred->count && *passes == pred->all; i++) {
        FL_TRY(fl_pred_test(pred->children[i], value, context, passes));
    }
    return 0;
}
