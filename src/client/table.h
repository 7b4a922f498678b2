/* SPDX-License-Identifier: Apache-2.0 */
/* Open tables. The description is fixed when the table is opened; schemas of older and newer
 * batches are fetched when they are met, and kept. */
#ifndef FL_CLIENT_TABLE_H
#define FL_CLIENT_TABLE_H
#include <pthread.h>

#include "client/client.h"
#include "client/schema.h"
#include "format/table_rules.h"
#include "protocol/messages.h"

typedef struct fl_known_schema {
    int32_t id;
    fl_schema *schema;
} fl_known_schema;

typedef struct fl_table {
    atomic_int refs;
    fl_client *client; /* borrowed: whoever uses it holds the client too */
    fl_arena arena;
    const char *database, *name;
    int64_t table_id;
    int32_t schema_id, bucket_count;
    fl_table_desc *desc;
    fl_schema *schema;     /* of desc; borrowed */
    const fl_type **types; /* of its columns */
    fl_table_settings settings;
    uint32_t *bucket_key; /* column indexes; without bucket keys: none */
    uint32_t *partition_key;
    uint32_t *physical_key; /* primary key without the partition key */
    size_t physical_key_count;
    fluss_schema_t *public_schema;
    fluss_table_info_t info;
    fl_hash_variant hash;
    bool is_hash_mixed;  /* rows of both variants were seen */
    bool is_hash_unsure; /* rows of neither were: lookups that miss ask the other bucket too */

    pthread_mutex_t lock; /* guards: known_schemas */
    fl_known_schema *known_schemas;
    size_t known_schema_count;
} fl_table;

struct fluss_table {
    fl_table *table;   /* shares */
    fl_client *client; /* shares */
};

fl_table *fl_table_ref(fl_table *table);
void fl_table_unref(fl_table *table); /* NULL allowed */
static inline bool fl_table_is_keyed(const fl_table *table)
{
    return table->schema->primary_key_count > 0;
}
static inline bool fl_table_is_partitioned(const fl_table *table)
{
    return table->desc->partition_key_count > 0;
}
/** Build from GET_TABLE_INFO. gives. */
FLUSS_CHECKED fluss_code_t fl_table_new(fl_client *client, fl_slice database, fl_slice name,
                                        const fl_msg_get_table_info_response *info, fl_table **out,
                                        fluss_error_t *err);
/** Schema of an id, if it is known; shares (fl_schema_unref). NULL: ask. Thread: any. */
fl_schema *fl_table_find_schema(fl_table *table, int32_t schema_id);
typedef void (*fl_table_schema_done)(void *context, const fluss_error_t *err);
/** Fetch a schema by id; afterwards fl_table_find_schema has it. The table is kept alive. `done`
 * never runs inside. Thread: loop. */
FLUSS_CHECKED fluss_code_t fl_table_fetch_schema(fl_table *table, int32_t schema_id,
                                                 fl_table_schema_done done, void *context,
                                                 fluss_error_t *err);
#endif
