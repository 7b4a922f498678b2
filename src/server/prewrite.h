/* SPDX-License-Identifier: Apache-2.0 */
/* The newest rows of a primary-key bucket, in memory. First those whose changelog is written but
 * not yet durable: writers see them, readers do not; when the changelog is durable they move to the
 * key-value store, so the store never holds a row that the log could lose. They are kept here
 * afterwards, up to a number of bytes, as the cache of both.
 *
 * A hash table from key to the newest entry of that key, a queue of the pending entries in log
 * order, and a list of the kept ones, oldest first. Thread: the tablet's shard. */
#ifndef FL_PREWRITE_H
#define FL_PREWRITE_H
#include "base/error.h"
#include "base/slice.h"

typedef struct fl_prewrite_entry {
    struct fl_prewrite_entry *next;     /* pending: in log order; kept: the one kept after it */
    struct fl_prewrite_entry *previous; /* kept: as utlist has it */
    struct fl_prewrite_entry *older;    /* of the same key; NULL: the store has the one before */
    struct fl_prewrite_entry *newer;    /* of the same key */
    int64_t end_offset; /* applied once everything below this log offset is durable */
    uint64_t hash;
    uint32_t key_size, value_size;
    bool is_delete, is_kept;
    int8_t row_delta; /* live rows more (1) or less (-1) by it */
    uint8_t bytes[];  /* key, value */
} fl_prewrite_entry;

typedef struct fl_prewrite {
    fl_prewrite_entry *first, **last;
    fl_prewrite_entry **slots; /* open addressing; a power of two, or none */
    size_t slot_count, key_count;
    size_t bytes; /* of the pending entries */
    fl_prewrite_entry *kept;
    size_t kept_bytes;
} fl_prewrite;

void fl_prewrite_init(fl_prewrite *prewrite);
void fl_prewrite_deinit(fl_prewrite *prewrite);

/** The newest entry of a key; NULL: ask the store. Valid until the next call that changes. */
const fl_prewrite_entry *fl_prewrite_find(const fl_prewrite *prewrite, fl_slice key);
static inline fl_slice fl_prewrite_key(const fl_prewrite_entry *entry)
{
    return fl_slice_of(entry->bytes, entry->key_size);
}
static inline fl_slice fl_prewrite_value(const fl_prewrite_entry *entry)
{
    return fl_slice_of(entry->bytes + entry->key_size, entry->value_size);
}

/** The newest entry of a key that readers may see; NULL: ask the store. */
const fl_prewrite_entry *fl_prewrite_find_kept(const fl_prewrite *prewrite, fl_slice key);

/** Note the new value of a key, or its deletion (value NULL). Copies. On failure nothing changes.
 */
FLUSS_CHECKED fluss_code_t fl_prewrite_put(fl_prewrite *prewrite, fl_slice key,
                                           const fl_slice *value, int8_t row_delta,
                                           fluss_error_t *err);
/** A place to come back to: entries put after it, which have no log offset yet. */
typedef struct fl_prewrite_mark {
    fl_prewrite_entry **last;
} fl_prewrite_mark;
fl_prewrite_mark fl_prewrite_begin(const fl_prewrite *prewrite);
/** The batch is in the log: its entries end at this log offset. */
void fl_prewrite_accept(fl_prewrite_mark mark, int64_t end_offset);
/** The batch failed: as if its entries had never been put. */
void fl_prewrite_undo(fl_prewrite *prewrite, fl_prewrite_mark mark);
/** The oldest entry whose end offset is not above `durable_offset`; NULL: none. */
const fl_prewrite_entry *fl_prewrite_first(const fl_prewrite *prewrite, int64_t durable_offset);
/** The newest entry whose end offset is not above `durable_offset`; NULL: none. From `first` to it,
 * other threads may read along `next` what the entries hold, until they are kept: it stays. */
const fl_prewrite_entry *fl_prewrite_last(const fl_prewrite *prewrite, int64_t durable_offset);
/** The store has the oldest pending entry: keep it as the one that readers see. */
void fl_prewrite_keep(fl_prewrite *prewrite);
/** Forget the entries kept longest, until the kept ones have at most so many bytes. */
void fl_prewrite_shrink(fl_prewrite *prewrite, size_t bytes_max);
#endif
