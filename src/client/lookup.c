/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_lookup.h: keys are checked and encoded in the user's thread. */
#include <fluss/fluss_lookup.h>
#include <string.h>

#include "base/alloc.h"
#include "client/lookups_private.h"
#include "client/options.h"
#include "client/writer_private.h"

enum { KEY_COUNT_MAX = 1 << 24 };

static fl_lookup *ref(fl_lookup *lookup)
{
    (void)atomic_fetch_add_explicit(&lookup->refs, 1, memory_order_relaxed);
    return lookup;
}

void fl_lookup_unref(fl_lookup *lookup)
{
    if (lookup != NULL && atomic_fetch_sub_explicit(&lookup->refs, 1, memory_order_acq_rel) == 1) {
        fl_scan_plan_deinit(&lookup->plan);
        fl_table_unref(lookup->table);
        fl_free(lookup->columns);
        fl_free(lookup);
    }
}

/* ---- opening ---- */

static fluss_code_t find_prefix(fl_lookup *lookup, const fluss_lookup_opts_t *o, fluss_error_t *err)
{
    const fl_table *table = lookup->table;
    lookup->columns = fl_calloc(o->n_prefix, sizeof(*lookup->columns));
    if (lookup->columns == NULL) {
        return fl_error_nomem(err);
    }
    lookup->column_count = o->n_prefix;
    lookup->is_prefix = true;
    for (size_t i = 0; i < o->n_prefix; i++) {
        const char *name = o->prefix != NULL && o->prefix[i] != NULL ? o->prefix[i] : "";
        const ptrdiff_t column = fl_schema_find(table->schema, name, strlen(name));
        if (column < 0) {
            return fl_error_column(err, table->schema, name);
        }
        lookup->columns[i] = (uint32_t)column;
    }
    return 0;
}

static bool has_column(const uint32_t *columns, size_t count, uint32_t column)
{
    for (size_t i = 0; i < count; i++) {
        if (columns[i] == column) {
            return true;
        }
    }
    return false;
}

/* A prefix is the partition keys and the bucket keys, and the bucket keys begin the primary key. */
static fluss_code_t check_prefix(const fl_lookup *lookup, fluss_error_t *err)
{
    const fl_table *table = lookup->table;
    const size_t bucket_count = table->desc->bucket_key_count;
    const size_t partition_count = table->desc->partition_key_count;
    if (bucket_count >= table->physical_key_count) {
        return fl_error_argument(err, "the bucket key is the whole primary key: look up by it");
    }
    for (size_t i = 0; i < bucket_count; i++) {
        if (table->bucket_key[i] != table->physical_key[i]) {
            return fl_error_argument(err, "the bucket key is no prefix of the primary key");
        }
    }
    bool is_right = lookup->column_count == bucket_count + partition_count;
    for (size_t i = 0; i < bucket_count; i++) {
        is_right =
            is_right && has_column(lookup->columns, lookup->column_count, table->bucket_key[i]);
    }
    for (size_t i = 0; i < partition_count; i++) {
        is_right =
            is_right && has_column(lookup->columns, lookup->column_count, table->partition_key[i]);
    }
    return is_right ? 0
                    : fl_error_argument(err,
                                        "a prefix consists of the %zu partition keys and the "
                                        "%zu bucket keys",
                                        partition_count, bucket_count);
}

static fluss_code_t fill_lookup(fl_lookup *lookup, fluss_table_t *table,
                                const fluss_lookup_opts_t *o, fluss_error_t *err)
{
    const fluss_scan_opts_t scan = {.size = sizeof(scan)};
    FL_TRY(fl_scan_plan_init(&lookup->plan, table->table, &scan, err));
    lookup->inserts = o->insert_if_absent;
    if (o->n_prefix > 0) {
        FL_TRY(find_prefix(lookup, o, err));
        FL_TRY(check_prefix(lookup, err));
        if (o->insert_if_absent) {
            return fl_error_argument(err, "a prefix lookup can't insert");
        }
    } else {
        const fl_schema *schema = lookup->table->schema;
        lookup->columns = fl_calloc(schema->primary_key_count, sizeof(*lookup->columns));
        if (lookup->columns == NULL) {
            return fl_error_nomem(err);
        }
        lookup->column_count = schema->primary_key_count;
        memcpy(lookup->columns, schema->primary_key,
               schema->primary_key_count * sizeof(*lookup->columns));
    }
    return 0;
}

fluss_code_t fluss_lookup_open(fluss_table_t *table, const fluss_lookup_opts_t *opts,
                               fluss_lookup_t **out, fluss_error_t *err)
{
    if (table == NULL || out == NULL) {
        return fl_error_argument(err, "table and out must not be NULL");
    }
    *out = NULL;
    fluss_lookup_opts_t o;
    FL_TRY(fl_opts_read(opts, &o, sizeof(o), "fluss_lookup_opts_t", err));
    FL_TRY(fl_client_check(table->client, err));
    if (!fl_table_is_keyed(table->table)) {
        return fl_error_argument(err, "table %s.%s has no primary key to look up by",
                                 table->table->database, table->table->name);
    }
    fl_lookup *lookup = fl_calloc(1, sizeof(*lookup));
    fluss_lookup_t *handle = fl_calloc(1, sizeof(*handle));
    if (lookup == NULL || handle == NULL) {
        fl_free(lookup);
        fl_free(handle);
        return fl_error_nomem(err);
    }
    atomic_init(&lookup->refs, 1);
    lookup->table = fl_table_ref(table->table);
    const fluss_code_t rc = fill_lookup(lookup, table, &o, err);
    if (rc != 0) {
        fl_error_prefix(err, "table %s.%s: ", table->table->database, table->table->name);
        fl_lookup_unref(lookup);
        fl_free(handle);
        return rc;
    }
    handle->lookup = lookup;
    handle->client = fl_client_ref(table->client);
    *out = handle;
    return 0;
}

void fluss_lookup_free(fluss_lookup_t *lookup)
{
    if (lookup != NULL) {
        fl_client *client = lookup->client;
        fl_lookup_unref(lookup->lookup);
        fl_free(lookup);
        fl_client_unref(client);
    }
}

/* ---- keys ---- */

static fluss_code_t read_key(const fl_lookup *lookup, const fluss_datum_t *in, size_t width,
                             fl_row *row, fluss_error_t *err)
{
    const fl_schema *schema = lookup->table->schema;
    if (width != lookup->column_count && width != schema->column_count) {
        return fl_error_argument(err, "a key has %zu values, expected %zu", width,
                                 lookup->column_count);
    }
    FL_TRY(fl_row_room(row, schema->column_count, err));
    for (size_t i = 0; i < lookup->column_count; i++) {
        const uint32_t column = lookup->columns[i];
        const fluss_datum_t *value = &in[width == lookup->column_count ? i : column];
        const fl_column *c = &schema->columns[column];
        FL_TRY(fl_datum_coerce(value, &c->type, c->name, &row->arena, &row->values[column], err));
    }
    return 0;
}

static fluss_code_t copy_bytes(fl_arena *arena, const fl_buf *bytes, fl_slice *out,
                               fluss_error_t *err)
{
    out->data = (const uint8_t *)fl_arena_strndup(arena, bytes->data, bytes->size);
    out->size = bytes->size;
    return out->data != NULL ? 0 : fl_error_nomem(err);
}

static fluss_code_t encode_key(const fl_lookup *lookup, fl_row *row, fl_arena *arena,
                               fl_lookup_key *key, fluss_error_t *err)
{
    const fl_table *table = lookup->table;
    if (fl_table_is_partitioned(table)) {
        fl_slice name;
        FL_TRY(fl_row_partition(table, row, err));
        FL_TRY(copy_bytes(arena, &row->partition, &name, err));
        key->partition = (const char *)name.data;
    }
    FL_TRY(fl_row_bucket_key(table, row, err));
    key->bucket = fl_bucket_of(fl_buf_slice(&row->bucket_key), table->bucket_count,
                               table->settings.lake_format, table->hash);
    if (!lookup->is_prefix) {
        FL_TRY(fl_row_key(table, row, err));
    } else {
        FL_TRY(fl_row_prefix(table, row, err));
    }
    return copy_bytes(arena, &row->key, &key->bytes, err);
}

/* Where the bucket hash that the table does not follow puts the key. */
static int32_t other_bucket(const fl_table *table, const fl_row *row)
{
    const fl_hash_variant other = table->hash == FL_HASH_JAVA ? FL_HASH_RUST : FL_HASH_JAVA;
    return fl_bucket_of(fl_buf_slice(&row->bucket_key), table->bucket_count,
                        table->settings.lake_format, other);
}

/* In a table with rows of both bucket hashes a key may lie in either bucket: ask both. Where no row
 * tells which one the table follows, ask the other bucket when the first has no row. */
static void consider_other_bucket(fl_lookup_call *call, const fl_row *row)
{
    const fl_table *table = call->lookup->table;
    fl_lookup_key *key = &call->keys[call->count - 1];
    key->other_bucket = -1;
    if (call->lookup->inserts || !(table->is_hash_mixed || table->is_hash_unsure)) {
        return;
    }
    const int32_t bucket = other_bucket(table, row);
    if (bucket == key->bucket) {
        return;
    }
    if (table->is_hash_unsure) {
        key->other_bucket = bucket;
        return;
    }
    call->keys[call->count] = *key;
    call->keys[call->count++].bucket = bucket;
}

static fluss_code_t encode_keys(fl_lookup_call *call, const fluss_datum_t *keys, size_t width,
                                size_t count, fluss_error_t *err)
{
    fl_row row;
    fl_row_init(&row);
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        fl_lookup_key *key = &call->keys[call->count];
        rc = read_key(call->lookup, keys + i * width, width, &row, err);
        if (rc == 0) {
            rc = encode_key(call->lookup, &row, &call->arena, key, err);
        }
        key->call = call;
        key->index = i;
        call->count++;
        if (rc == 0) {
            consider_other_bucket(call, &row);
        }
        fl_arena_reset(&row.arena);
    }
    fl_row_deinit(&row);
    return rc;
}

fluss_future_t *fluss_lookup(fluss_lookup_t *lookup, const fluss_datum_t *keys, size_t width,
                             size_t n_keys)
{
    fluss_error_t err;
    fluss_code_t rc = 0;
    if (lookup == NULL || (keys == NULL && n_keys > 0) || n_keys > KEY_COUNT_MAX) {
        rc = fl_error_argument(&err, "lookup and keys must not be NULL, n_keys at most %d",
                               KEY_COUNT_MAX);
    } else {
        rc = fl_client_check(lookup->client, &err);
    }
    fl_lookup_call *call = rc == 0 ? fl_calloc(1, sizeof(*call)) : NULL;
    if (call == NULL) {
        if (rc == 0) {
            (void)fl_error_nomem(&err);
        }
        return fl_future_failed(&err);
    }
    fl_arena_init(&call->arena);
    call->lookup = lookup->lookup;
    call->keys = fl_arena_array(&call->arena, 2 * n_keys, sizeof(*call->keys));
    rc = call->keys != NULL ? encode_keys(call, keys, width, n_keys, &err) : fl_error_nomem(&err);
    if (rc == 0) {
        rc = fl_lookups_enter(lookup->client->lookups, call->count, &err);
    }
    if (rc != 0) {
        fl_arena_deinit(&call->arena);
        fl_free(call);
        return fl_future_failed(&err);
    }
    fluss_future_t *future = fl_future_new();
    call->future = future;
    call->task.run = fl_lookup_call_run;
    call->client = fl_client_ref(lookup->client);
    (void)ref(call->lookup);
    fl_loop_post(call->client->loop, &call->task);
    return future;
}
