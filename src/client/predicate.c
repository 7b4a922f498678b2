/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: a tree of conditions, copied from the user's literals, bound to a table's columns when a
 * scanner is opened, and sent to the server as a hint. */
#include "client/predicate.h"

#include <string.h>

#include "base/alloc.h"
#include "client/schema.h"
#include "format/datum.h"
#include "format/decimal.h"

enum {
    DEPTH_MAX = 13, /* a level takes two of the 32 levels that a message may have */
    LITERAL_COUNT_MAX = 1 << 16,
    FILTER_SIZE_MAX = 8 << 20, /* bytes; it is a part of each fetch */
    NODE_SIZE = 32             /* a condition or literal on the wire, about */
};

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

/* ---- binding ---- */

/* The conditions of fluss_cmp_t as format/filter.h and the wire name them. */
static const fl_filter_op filter_ops[] = {
    [FLUSS_CMP_EQ] = FL_FILTER_EQ,
    [FLUSS_CMP_NE] = FL_FILTER_NE,
    [FLUSS_CMP_LT] = FL_FILTER_LT,
    [FLUSS_CMP_LE] = FL_FILTER_LE,
    [FLUSS_CMP_GT] = FL_FILTER_GT,
    [FLUSS_CMP_GE] = FL_FILTER_GE,
    [FLUSS_CMP_IS_NULL] = FL_FILTER_IS_NULL,
    [FLUSS_CMP_NOT_NULL] = FL_FILTER_NOT_NULL,
    [FLUSS_CMP_STARTS] = FL_FILTER_STARTS,
    [FLUSS_CMP_ENDS] = FL_FILTER_ENDS,
    [FLUSS_CMP_CONTAINS] = FL_FILTER_CONTAINS,
    [FLUSS_CMP_IN] = FL_FILTER_IN,
    [FLUSS_CMP_NOT_IN] = FL_FILTER_NOT_IN,
};

/* A literal that the column's type can hold only rounded would be another condition. */
static fluss_code_t check_exact(const fluss_datum_t *literal, const fl_type *type,
                                const char *column, fluss_error_t *err)
{
    if (literal->type == FLUSS_DECIMAL && type->root == FLUSS_DECIMAL &&
        literal->scale > type->scale) {
        fl_int128 rest = fl_decimal_unscaled(literal);
        for (int i = type->scale; i < literal->scale; i++) {
            if (rest % 10 != 0) {
                return fl_error_argument(err,
                                         "filter on '%.100s': the literal has %d decimal places "
                                         "that are not zero, the column %d",
                                         column, literal->scale - (i - type->scale), type->scale);
            }
            rest /= 10;
        }
    }
    return 0;
}

static fluss_code_t bind_literals(const fluss_pred_t *pred, fl_arena *arena, fl_filter *out,
                                  fluss_error_t *err)
{
    fl_type type = out->type;
    fluss_datum_t *literals = fl_arena_array(arena, pred->count, sizeof(*literals));
    if (literals == NULL) {
        return fl_error_nomem(err);
    }
    type.nullable = true;
    if (type.root == FLUSS_CHAR) {
        type.root = FLUSS_STRING;
    } else if (type.root == FLUSS_BINARY) {
        type.root = FLUSS_BYTES; /* of any length */
    }
    for (size_t i = 0; i < pred->count; i++) {
        fluss_datum_t copy;
        const fluss_datum_t *in = &copy;
        if (copy_literal(arena, &pred->literals[i], &copy) != 0) {
            return fl_error_nomem(err);
        }
        FL_TRY(check_exact(in, &type, pred->column, err));
        FL_TRY(fl_datum_coerce(in, &type, pred->column, arena, &literals[i], err));
        if (in->type == literals[i].type && type.root >= FLUSS_TIMESTAMP &&
            type.root <= FLUSS_TIMESTAMP_LTZ && fl_datum_compare(in, &literals[i]) != 0) {
            return fl_error_argument(err,
                                     "filter on '%.100s': the literal is finer than the column's "
                                     "precision %d",
                                     pred->column, type.precision);
        }
    }
    out->literals = literals;
    return 0;
}

static fluss_code_t bind_condition(const fluss_pred_t *pred, const fl_schema *schema,
                                   fl_arena *arena, fl_filter *out, fluss_error_t *err)
{
    const ptrdiff_t column = fl_schema_find(schema, pred->column, strlen(pred->column));
    if (column < 0) {
        return fl_error_column(err, schema, pred->column);
    }
    if ((unsigned)pred->op > FLUSS_CMP_NOT_IN) {
        return fl_error_argument(err, "filter on '%.100s': unknown comparison %d", pred->column,
                                 (int)pred->op);
    }
    *out = (fl_filter){
        .op = filter_ops[pred->op],
        .column_id = schema->columns[column].id,
        .type = schema->columns[column].type,
        .count = pred->count,
    };
    FL_TRY(fl_filter_check(out, pred->column, err));
    return bind_literals(pred, arena, out, err);
}

static fluss_code_t bind(const fluss_pred_t *pred, const fl_schema *schema, fl_arena *arena,
                         int depth, fl_filter *out, fluss_error_t *err)
{
    if (pred->is_leaf) {
        return bind_condition(pred, schema, arena, out, err);
    }
    if (depth == DEPTH_MAX) {
        return fl_error_argument(err, "the filter is nested deeper than %d", DEPTH_MAX);
    }
    fl_filter *children = fl_arena_array(arena, pred->count, sizeof(*children));
    if (children == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < pred->count; i++) {
        FL_TRY(bind(pred->children[i], schema, arena, depth + 1, &children[i], err));
    }
    *out = (fl_filter){.op = pred->all ? FL_FILTER_ALL : FL_FILTER_ANY,
                       .children = children,
                       .count = pred->count};
    return 0;
}

/* About the bytes that a filter adds to a fetch. */
static size_t size_of(const fl_filter *filter)
{
    size_t size = NODE_SIZE;
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->children != NULL) {
            size += size_of(&filter->children[i]);
            continue;
        }
        const fluss_datum_t *d = &filter->literals[i];
        size += NODE_SIZE;
        size += d->type >= FLUSS_CHAR && d->type <= FLUSS_BYTES ? d->v.s.len : 0;
    }
    return size;
}

fluss_code_t fl_pred_bind(const fluss_pred_t *pred, const fl_schema *schema, fl_arena *arena,
                          fl_filter *out, fluss_error_t *err)
{
    FL_TRY(bind(pred, schema, arena, 0, out, err));
    const size_t size = size_of(out);
    return size <= FILTER_SIZE_MAX
               ? 0
               : fl_error_argument(err,
                                   "the filter's literals take %zu bytes; at most %d are possible",
                                   size, (int)FILTER_SIZE_MAX);
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

fluss_code_t fl_pred_message(const fl_filter *filter, fl_arena *arena, fl_msg_pb_predicate *out,
                             fluss_error_t *err)
{
    const bool is_compound = filter->op == FL_FILTER_ALL || filter->op == FL_FILTER_ANY;
    *out = (fl_msg_pb_predicate){
        .type = is_compound ? 1 : 0, .has_leaf = !is_compound, .has_compound = is_compound};
    if (!is_compound) {
        fl_msg_pb_literal_value *literals = fl_arena_array(arena, filter->count, sizeof(*literals));
        if (literals == NULL) {
            return fl_error_nomem(err);
        }
        for (size_t i = 0; i < filter->count; i++) {
            FL_TRY(literal_message(&filter->type, &filter->literals[i], arena, &literals[i], err));
        }
        out->leaf = (fl_msg_pb_leaf_predicate){.function = (int32_t)filter->op,
                                               .field_id = filter->column_id,
                                               .literals = literals,
                                               .literals_count = filter->count};
        return 0;
    }
    fl_msg_pb_predicate *children = fl_arena_array(arena, filter->count, sizeof(*children));
    if (children == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < filter->count; i++) {
        FL_TRY(fl_pred_message(&filter->children[i], arena, &children[i], err));
    }
    out->compound = (fl_msg_pb_compound_predicate){.function = filter->op == FL_FILTER_ALL ? 0 : 1,
                                                   .children = children,
                                                   .children_count = filter->count};
    return 0;
}
