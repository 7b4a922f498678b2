/* SPDX-License-Identifier: Apache-2.0 */
/* A primary-key tablet over a real log and a real key-value store, next to a model of it: plain
 * arrays of rows, and the list of changes that the log must hold. Shared by the tests of the
 * tablet. */
#ifndef FL_TEST_KV_WORLD_H
#define FL_TEST_KV_WORLD_H
#include "../format/value_support.h"
#include "format/kv_batch.h"
#include "format/row_log.h"
#include "server/kv_tablet.h"

enum { KEY_COUNT = 16, COLUMN_COUNT_MAX = 16, SCHEMA_COUNT_MAX = 4, WRITER_ID = 7 };
enum { PATH_SIZE = 128, TEXT_SIZE = 64 };

/** A row of the model: one value a column of the schema it was made under; NULL: no such row. */
typedef const fluss_datum_t *model_row;

/** A change that the log must hold. */
typedef struct model_change {
    fluss_change_t change;
    model_row row;
    size_t column_count;
} model_change;
/** A batch that the log must hold. */
typedef struct model_batch {
    size_t change_count;
    int32_t schema_id;
    int64_t end_offset;
    model_row after[KEY_COUNT]; /* what the rows are then */
} model_batch;

typedef struct world_spec {
    const char *columns[COLUMN_COUNT_MAX]; /* "name TYPE", the key first */
    size_t column_count, key_count;
    fluss_kv_t properties[8];
    size_t property_count;
    int64_t table_id;
} world_spec;

typedef struct world {
    char dir[PATH_SIZE];
    world_spec spec;
    fl_arena arena; /* all values of the model */
    fl_schema *schemas[SCHEMA_COUNT_MAX];
    int32_t schema_count;
    fl_table_info *info;
    fl_kv_store *store;
    fl_log_store *log;
    fl_kv_tablet *tablet; /* NULL: closed */
    fl_kv_memory memory;  /* cache: none, a few rows or all rows, by table id */
    int64_t next_id;      /* of take_ids */

    /* the model */
    model_row rows[KEY_COUNT];      /* as writers see them */
    model_row committed[KEY_COUNT]; /* as readers see them */
    model_row keys[KEY_COUNT];      /* values of the key columns */
    fl_slice encoded_keys[KEY_COUNT], prefixes[KEY_COUNT];
    model_change *changes;
    model_batch *batches;
    size_t change_count, batch_count, batches_checked, changes_checked, batches_committed;
    int64_t end_offset;
    int32_t sequence; /* of the next batch of WRITER_ID */

    /* what the log's changes fold to */
    fluss_datum_t *folded[KEY_COUNT];
    fl_arena folded_arena[KEY_COUNT];
} world;

/** The store is shared by worlds with different table ids; the log is the world's own. */
void world_init(world *w, const char *dir, const world_spec *spec);
void world_deinit(world *w); /* closes the tablet too */
void world_open(world *w, fl_kv_store *store);
void world_close(world *w);
/** ALTER TABLE ADD COLUMN of a nullable column. */
void world_add_column(world *w, const char *column);
size_t world_column_count(const world *w); /* of the latest schema */
const fl_type *world_type(const world *w, size_t column);
bool world_is(const world *w, const char *key, const char *value);

/** One record of a put. */
typedef struct put_record {
    size_t key;
    model_row row; /* NULL: delete */
} put_record;
/** Append a KV batch of records under a schema. */
void world_batch(const world *w, const put_record *records, size_t count, int32_t schema_id,
                 int64_t writer_id, int32_t sequence, fl_buf *out);
/** Note in the model that a batch was written: its changes are those since `first_change`. */
void model_end_batch(world *w, size_t first_change);
void model_change_add(world *w, fluss_change_t change, model_row row);
/** Readers see batches below this count. */
void model_commit(world *w, size_t batch_count);
int64_t world_now(const world *w); /* a time that grows */

/** Compare the rows that scans find. */
void world_check_scans(const world *w);
/** Compare everything: rows, scans, counts, the log, what the log folds to. */
void world_check(world *w);
#endif
