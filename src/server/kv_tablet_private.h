/* SPDX-License-Identifier: Apache-2.0 */
/* Inside a primary-key tablet; shared by the kv_*.c files. */
#ifndef FL_KV_TABLET_PRIVATE_H
#define FL_KV_TABLET_PRIVATE_H
#include "format/arrow.h"
#include "format/kv_batch.h"
#include "format/row_codec.h"
#include "format/row_log.h"
#include "format/table_rules.h"
#include "server/kv_tablet.h"
#include "server/merge.h"
#include "server/prewrite.h"

enum { FL_KV_PREFIX_SIZE = 20, FL_KV_KIND_STATE = 0, FL_KV_KIND_ROW = 1 };
enum { FL_KV_KEY_SIZE_MAX = 1 << 28 };

/** A schema version, ready to decode its rows and to bring them into the latest one's columns. */
typedef struct fl_kv_version {
    const fl_schema *schema;
    const fl_type **types; /* of the columns */
    int32_t *source; /* for each column of the latest schema: index in this version, -1: none */
} fl_kv_version;

/** The columns that a row's key is made of: the primary key without partition columns. */
typedef struct fl_kv_key_columns {
    uint32_t *indexes;
    const fl_type **types;
    fluss_datum_t *values; /* room for the values of one key */
    size_t count;
} fl_kv_key_columns;

/** The changelog batch under construction. */
typedef struct fl_kv_changelog {
    fl_arrow_builder *builder; /* ARROW */
    fl_arrow_writer *writer;
    fl_buf change_types;     /* ARROW */
    fl_row_log_builder rows; /* INDEXED, COMPACTED: at the end of tablet->changes */
    fl_buf row;
    int32_t record_count;
} fl_kv_changelog;

/** What the store has of a tablet besides its rows. */
typedef struct fl_kv_state {
    int64_t applied_offset; /* log offset up to which the store has the rows */
    int64_t row_count;      /* live rows in the store; -1: not known */
    int64_t next_id, ids_end;
} fl_kv_state;

struct fl_kv_tablet {
    fl_kv_store *store;
    fl_log_store *log;
    fl_kv_memory *memory;
    fl_table_info *info;
    const char *partition_name; /* NULL: none */
    fluss_code_t (*take_ids)(void *context, int64_t count, int64_t *first, fluss_error_t *err);
    void *take_ids_context;
    fl_table_settings settings;
    fl_row_format row_format;
    fl_merge merge; /* of whole rows; its schema is the latest */

    fl_arena versions_arena;
    fl_kv_version *versions; /* schema id i + 1 is at i */
    int32_t version_count;
    fl_kv_key_columns key_columns; /* of the latest schema */

    fl_prewrite prewrite;
    size_t pending_noted; /* of its bytes, in `memory` */
    fl_kv_state state;
    fl_kv_commit *commit; /* under way; NULL: none */

    /* Room that is used anew by each record or batch. */
    fl_arena arena;
    fluss_datum_t *old_row, *new_row, *out_row; /* one value a column */
    fluss_datum_t *as_written;                  /* the same, of any version */
    bool *is_target;
    fl_buf key, row_key, value, changes;
    fl_kv_changelog changelog;

    uint8_t prefix[FL_KV_PREFIX_SIZE];
};

static inline int32_t fl_kv_latest_id(const fl_kv_tablet *tablet)
{
    return tablet->version_count;
}
static inline const fl_schema *fl_kv_latest(const fl_kv_tablet *tablet)
{
    return tablet->versions[tablet->version_count - 1].schema;
}
/** The store's key of a row's key, in tablet->key. */
FLUSS_CHECKED fluss_code_t fl_kv_row_key(fl_kv_tablet *tablet, fl_slice key, fl_slice *full,
                                         fluss_error_t *err);
/** The same for a tablet with this prefix, in `room`. Thread: any. */
FLUSS_CHECKED fluss_code_t fl_kv_full_key(const uint8_t prefix[FL_KV_PREFIX_SIZE], fl_slice key,
                                          fl_buf *room, fl_slice *full, fluss_error_t *err);
/** The key of a row with the latest schema's columns, in tablet->row_key. */
FLUSS_CHECKED fluss_code_t fl_kv_key_of(fl_kv_tablet *tablet, const fluss_datum_t *values,
                                        fl_slice *key, fluss_error_t *err);
/** Values of a version's columns as those of the latest schema; what it lacks is null. */
void fl_kv_align(const fl_kv_tablet *tablet, const fl_kv_version *version, const fluss_datum_t *own,
                 fluss_datum_t *values);
/** A row's bytes as values of the latest schema's columns; they view `row` or come from the arena.
 * @return FLUSS_E_CORRUPT_RECORD
 */
FLUSS_CHECKED fluss_code_t fl_kv_decode(fl_kv_tablet *tablet, int32_t schema_id, fl_slice row,
                                        fluss_datum_t *values, fluss_error_t *err);
/** Values of the latest schema as a stored value, in tablet->value. */
FLUSS_CHECKED fluss_code_t fl_kv_encode_value(fl_kv_tablet *tablet, const fluss_datum_t *values,
                                              fluss_error_t *err);
/** Bring the bytes that wait, in the memory of the server, in line with the tablet's. */
void fl_kv_note_pending(fl_kv_tablet *tablet);
/** A tablet's state as one entry of a write to the store. Thread: any. */
void fl_kv_write_state(const uint8_t prefix[FL_KV_PREFIX_SIZE], const fl_kv_state *state,
                       fl_kv_write *write);
/** The store as it was before the commit under way; NULL: as it is. */
const fl_kv_snapshot *fl_kv_commit_before(const fl_kv_commit *commit);
/** Remove the rows and the state of a tablet. */
FLUSS_CHECKED fluss_code_t fl_kv_erase_prefix(fl_kv_store *store,
                                              const uint8_t prefix[FL_KV_PREFIX_SIZE],
                                              fluss_error_t *err);
/** Read the log from the applied offset on into the store. */
FLUSS_CHECKED fluss_code_t fl_kv_replay(fl_kv_tablet *tablet, fluss_error_t *err);

void fl_kv_changelog_init(fl_kv_changelog *changelog);
void fl_kv_changelog_deinit(fl_kv_changelog *changelog);
/** The table has a new schema: start anew. */
FLUSS_CHECKED fluss_code_t fl_kv_changelog_prepare(fl_kv_tablet *tablet, fluss_error_t *err);
/** Forget what was added. */
FLUSS_CHECKED fluss_code_t fl_kv_changelog_reset(fl_kv_tablet *tablet, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_kv_changelog_add(fl_kv_tablet *tablet, fluss_change_t change,
                                               const fluss_datum_t *values, fluss_error_t *err);
/** Append the batch to tablet->changes: an empty one when nothing was added. */
FLUSS_CHECKED fluss_code_t fl_kv_changelog_finish(fl_kv_tablet *tablet, int64_t writer_id,
                                                  int32_t batch_sequence, fluss_error_t *err);
#endif
