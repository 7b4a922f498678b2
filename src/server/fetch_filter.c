/* SPDX-License-Identifier: Apache-2.0 */
/* A fetch's filter: from the message to conditions on the columns of the schema that the request
 * names, then against the statistics of batches of any schema, by column id. Whatever is not
 * understood keeps the batch: a filter never hides a row. Source: FilterContext,
 * PredicateSchemaResolver, PredicateMessageUtils, Fluss 1.0. */
#include "server/fetch_filter.h"

#include "base/log.h"

/* Roots by literal_type, the number on the wire. */
static const uint8_t literal_roots[] = {
    FLUSS_BOOLEAN,   FLUSS_TINYINT,       FLUSS_SMALLINT, FLUSS_INT,     FLUSS_BIGINT, FLUSS_FLOAT,
    FLUSS_DOUBLE,    FLUSS_CHAR,          FLUSS_STRING,   FLUSS_DECIMAL, FLUSS_DATE,   FLUSS_TIME,
    FLUSS_TIMESTAMP, FLUSS_TIMESTAMP_LTZ, FLUSS_BINARY,   FLUSS_BYTES,
};

static bool is_text(uint8_t root)
{
    return root == FLUSS_CHAR || root == FLUSS_STRING;
}

static bool is_bytes(uint8_t root)
{
    return root == FLUSS_BINARY || root == FLUSS_BYTES;
}

static fluss_datum_t slice_datum(fluss_type_t type, fl_slice bytes)
{
    return (fluss_datum_t){.type = (uint8_t)type,
                           .v.s = {.ptr = (const char *)bytes.data, .len = bytes.size}};
}

static bool read_decimal(const fl_msg_pb_literal_value *in, const fl_type *type, fluss_datum_t *out)
{
    *out = (fluss_datum_t){.type = FLUSS_DECIMAL};
    if (in->has_decimal_bytes) {
        if (!fl_decimal_from_bytes(in->decimal_bytes, out)) {
            return false;
        }
    } else if (in->has_decimal_value) {
        out->v.dec.lo = (uint64_t)in->decimal_value;
        out->v.dec.hi = in->decimal_value < 0 ? -1 : 0;
    } else {
        return false;
    }
    out->scale = type->scale;
    return true;
}

/* A literal in the form of its column; false: it is not of that type. */
static bool read_literal(const fl_msg_pb_literal_value *in, const fl_type *type, fluss_datum_t *out)
{
    if (in->is_null) {
        *out = (fluss_datum_t){.type = FLUSS_NULL};
        return true;
    }
    if (in->literal_type < 0 || (size_t)in->literal_type >= FL_COUNT_OF(literal_roots)) {
        return false;
    }
    const uint8_t root = literal_roots[in->literal_type];
    if (root != type->root && !(is_text(root) && is_text(type->root)) &&
        !(is_bytes(root) && is_bytes(type->root))) {
        return false;
    }
    *out = (fluss_datum_t){.type = type->root};
    switch (type->root) {
    case FLUSS_BOOLEAN:
        out->v.b = in->boolean_value;
        return in->has_boolean_value;
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_TIME:
        out->v.i = in->int_value;
        return in->has_int_value;
    case FLUSS_BIGINT:
    case FLUSS_DATE:
        out->v.i = in->bigint_value;
        return in->has_bigint_value;
    case FLUSS_FLOAT:
        out->v.f = (double)in->float_value;
        return in->has_float_value;
    case FLUSS_DOUBLE:
        out->v.f = in->double_value;
        return in->has_double_value;
    case FLUSS_CHAR:
    case FLUSS_STRING:
        *out = slice_datum(FLUSS_STRING, in->string_value);
        return in->has_string_value;
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        *out = slice_datum(FLUSS_BYTES, in->binary_value);
        return in->has_binary_value;
    case FLUSS_DECIMAL:
        return read_decimal(in, type, out);
    default:
        out->v.i = in->timestamp_millis_value;
        out->nanos = in->timestamp_nano_of_millis_value;
        return in->has_timestamp_millis_value;
    }
}

static bool read_condition(const fl_msg_pb_leaf_predicate *in, const fl_schema *schema,
                           fl_arena *arena, fl_filter *out)
{
    const ptrdiff_t index = fl_schema_find_id(schema, in->field_id);
    const fl_column *column = index < 0 ? NULL : &schema->columns[index];
    fluss_datum_t *literals = fl_arena_array(arena, in->literals_count, sizeof(*literals));
    if (column == NULL || literals == NULL || in->function < 0 || in->function > FL_FILTER_NOT_IN) {
        return false;
    }
    *out = (fl_filter){.op = (fl_filter_op)in->function,
                       .column_id = in->field_id,
                       .type = column->type,
                       .literals = literals,
                       .count = in->literals_count};
    for (size_t i = 0; i < in->literals_count; i++) {
        if (!read_literal(&in->literals[i], &column->type, &literals[i])) {
            return false;
        }
    }
    return fl_filter_check(out, column->name, NULL) == 0;
}

/* The depth is that of the message, which the codec bounds. */
static bool read_node(const fl_msg_pb_predicate *in, const fl_schema *schema, fl_arena *arena,
                      fl_filter *out)
{
    if (in->type == 0) {
        return in->has_leaf && read_condition(&in->leaf, schema, arena, out);
    }
    const fl_msg_pb_compound_predicate *compound = &in->compound;
    if (in->type != 1 || !in->has_compound || compound->function < 0 || compound->function > 1) {
        return false;
    }
    fl_filter *children = fl_arena_array(arena, compound->children_count, sizeof(*children));
    if (children == NULL) {
        return false;
    }
    *out = (fl_filter){.op = compound->function == 0 ? FL_FILTER_ALL : FL_FILTER_ANY,
                       .children = children,
                       .count = compound->children_count};
    for (size_t i = 0; i < compound->children_count; i++) {
        if (!read_node(&compound->children[i], schema, arena, &children[i])) {
            return false;
        }
    }
    return true;
}

bool fl_fetch_filter_init(fl_fetch_filter *filter, const fl_table_info *info,
                          const fl_msg_pb_fetch_log_req_for_table *table)
{
    if (!table->has_filter_predicate || !info->is_arrow_log) {
        return false;
    }
    const fl_schema_version *version = fl_table_info_schema(info, table->filter_schema_id);
    *filter = (fl_fetch_filter){.info = info};
    fl_arena_init(&filter->arena);
    fl_arena_init(&filter->scratch);
    if (version == NULL ||
        !read_node(&table->filter_predicate, version->schema, &filter->arena, &filter->filter)) {
        fl_log(FL_LOG_DEBUG, "fetch", "table %s.%s: a filter that can't be used", info->database,
               info->name);
        fl_fetch_filter_deinit(filter);
        return false;
    }
    return true;
}

void fl_fetch_filter_deinit(fl_fetch_filter *filter)
{
    fl_arena_deinit(&filter->arena);
    fl_arena_deinit(&filter->scratch);
}

bool fl_fetch_filter_keeps(fl_fetch_filter *filter, const fl_log_batch *batch)
{
    const fl_schema_version *version = fl_table_info_schema(filter->info, batch->schema_id);
    fl_statistics_column *columns;
    size_t count;
    if (version == NULL || batch->statistics.size == 0) {
        return true;
    }
    fl_arena_reset(&filter->scratch);
    if (fl_statistics_read(batch->statistics, version->schema, &filter->scratch, &columns, &count,
                           NULL) != 0 ||
        count == 0) {
        return true;
    }
    return fl_filter_may_match(&filter->filter, version->schema, batch->record_count, columns,
                               count);
}
