/* SPDX-License-Identifier: Apache-2.0 */
/* Moving rows from the prewrite buffer to the key-value store, most of it off the shard's loop. A
 * commit names a stretch of the buffer's queue, whose entries do not change any more: another
 * thread sorts them, leaves out what was overwritten within the stretch, and writes the rest
 * together with the state that they lead to. When that is over the loop takes note.
 *
 * While the store is being written to, a lookup may see a row that is on disk already but not yet
 * acknowledged. A scan must not see half a commit: it reads the snapshot that was taken before. */
#include <stdlib.h>

#include "base/alloc.h"
#include "server/kv_tablet_private.h"

struct fl_kv_commit {
    fl_kv_store *store;
    uint8_t prefix[FL_KV_PREFIX_SIZE]; /* own: the tablet may be altered meanwhile */
    fl_kv_snapshot *before;
    const fl_prewrite_entry *first, *last; /* NULL: only the offset moves */
    fl_kv_state state;                     /* which the commit leads to */
    bool is_run;
    fluss_code_t rc;
    fluss_error_t error;
};

/* An entry, and the first bytes of its key, which mostly decide its order. */
typedef struct ordered_entry {
    uint64_t head; /* big endian, zeros behind a shorter key */
    const fl_prewrite_entry *entry;
    size_t age; /* the higher, the newer */
} ordered_entry;

static uint64_t head_of(fl_slice key)
{
    uint8_t head[sizeof(uint64_t)] = {0};
    memcpy(head, key.data, key.size < sizeof(head) ? key.size : sizeof(head));
    return fl_load_be64(head);
}

static int compare_keys(const ordered_entry *first, const ordered_entry *second)
{
    if (first->head != second->head) {
        return first->head < second->head ? -1 : 1;
    }
    const fl_slice left = fl_prewrite_key(first->entry);
    const fl_slice right = fl_prewrite_key(second->entry);
    const int order =
        memcmp(left.data, right.data, left.size < right.size ? left.size : right.size);
    return order != 0 ? order : (left.size > right.size) - (left.size < right.size);
}

/* By key, as the store orders them: neighbours go into its table in memory at little cost. Those of
 * one key by age. */
static int compare(const void *a, const void *b)
{
    const ordered_entry *first = a, *second = b;
    const int order = compare_keys(first, second);
    return order != 0 ? order : first->age < second->age ? -1 : 1;
}

/* The entries in order. @param list gives (fl_free) */
static fluss_code_t list_entries(const fl_kv_commit *commit, ordered_entry **list, size_t *count,
                                 fluss_error_t *err)
{
    size_t capacity = 0;
    *list = NULL;
    *count = 0;
    for (const fl_prewrite_entry *at = commit->first; at != NULL;
         at = at != commit->last ? at->next : NULL) {
        ordered_entry *grown = fl_grow(*list, &capacity, *count, sizeof(**list));
        if (grown == NULL) {
            return fl_error_nomem(err);
        }
        *list = grown;
        grown[*count] =
            (ordered_entry){.head = head_of(fl_prewrite_key(at)), .entry = at, .age = *count};
        (*count)++;
    }
    if (*count > 1) {
        qsort(*list, *count, sizeof(**list), compare);
    }
    return 0;
}

/* Add the newest entry of each key to the write, and all to the number of rows. */
static fluss_code_t gather(fl_kv_commit *commit, const ordered_entry *list, size_t count,
                           fl_buf *room, fl_kv_write *write, fluss_error_t *err)
{
    int64_t delta = 0;
    for (size_t i = 0; i < count; i++) {
        const fl_prewrite_entry *entry = list[i].entry;
        fl_slice key;
        delta += entry->row_delta;
        if (i + 1 < count && compare_keys(&list[i], &list[i + 1]) == 0) {
            continue;
        }
        FL_TRY(fl_kv_full_key(commit->prefix, fl_prewrite_key(entry), room, &key, err));
        if (entry->is_delete) {
            fl_kv_write_delete(write, FL_KV_ROWS, key);
        } else {
            fl_kv_write_put(write, FL_KV_ROWS, key, fl_prewrite_value(entry));
        }
    }
    commit->state.row_count += commit->state.row_count >= 0 ? delta : 0;
    fl_kv_write_state(commit->prefix, &commit->state, write);
    return 0;
}

static fluss_code_t write_entries(fl_kv_commit *commit, fl_kv_write *write, fluss_error_t *err)
{
    ordered_entry *list;
    size_t count;
    fl_buf room;
    fl_buf_init(&room, FL_KV_KEY_SIZE_MAX);
    fluss_code_t rc = list_entries(commit, &list, &count, err);
    if (rc == 0) {
        rc = gather(commit, list, count, &room, write, err);
    }
    fl_free(list);
    fl_buf_deinit(&room);
    return rc != 0 ? rc : fl_kv_write_commit_now(commit->store, write, false, err);
}

void fl_kv_commit_run(fl_kv_commit *commit)
{
    fl_kv_write *write = fl_kv_write_new();
    commit->is_run = true;
    commit->rc = write != NULL ? write_entries(commit, write, &commit->error)
                               : fl_error_nomem(&commit->error);
    fl_kv_write_free(write);
}

fluss_code_t fl_kv_commit_begin(fl_kv_tablet *tablet, int64_t durable_offset, fl_kv_commit **out,
                                fluss_error_t *err)
{
    *out = NULL;
    FL_ASSERT(tablet->commit == NULL);
    if (durable_offset <= tablet->state.applied_offset) {
        return 0;
    }
    fl_kv_commit *commit = fl_calloc(1, sizeof(*commit));
    if (commit == NULL) {
        return fl_error_nomem(err);
    }
    commit->store = tablet->store;
    memcpy(commit->prefix, tablet->prefix, FL_KV_PREFIX_SIZE);
    commit->last = fl_prewrite_last(&tablet->prewrite, durable_offset);
    commit->first = commit->last != NULL ? tablet->prewrite.first : NULL;
    commit->state = tablet->state;
    commit->state.applied_offset = durable_offset;
    if (commit->last != NULL) {
        commit->before = fl_kv_snapshot_new(tablet->store);
    }
    tablet->commit = commit;
    *out = commit;
    return 0;
}

const fl_kv_snapshot *fl_kv_commit_before(const fl_kv_commit *commit)
{
    return commit != NULL ? commit->before : NULL;
}

/* The tablet's part of the server's memory for rows. */
static size_t cache_share(const fl_kv_tablet *tablet)
{
    const int count = tablet->memory != NULL ? atomic_load(&tablet->memory->tablet_count) : 0;
    return count > 0 ? tablet->memory->cache_size / (size_t)count : 0;
}

/* The store has the rows. */
static void take_note(fl_kv_tablet *tablet, const fl_kv_commit *commit)
{
    const int64_t offset = commit->state.applied_offset;
    tablet->state.applied_offset = offset;
    tablet->state.row_count = commit->state.row_count;
    while (fl_prewrite_first(&tablet->prewrite, offset) != NULL) {
        fl_prewrite_keep(&tablet->prewrite);
    }
    fl_prewrite_shrink(&tablet->prewrite, cache_share(tablet));
    fl_kv_note_pending(tablet);
}

fluss_code_t fl_kv_commit_end(fl_kv_tablet *tablet, fl_kv_commit *commit, fluss_error_t *err)
{
    FL_ASSERT(tablet->commit == commit);
    const fluss_code_t rc = commit->rc;
    tablet->commit = NULL;
    if (commit->is_run && rc == 0) {
        take_note(tablet, commit);
    } else if (rc != 0 && err != NULL) {
        *err = commit->error;
    }
    fl_kv_snapshot_free(tablet->store, commit->before);
    fl_free(commit);
    return rc;
}

fluss_code_t fl_kv_tablet_commit(fl_kv_tablet *tablet, int64_t durable_offset, fluss_error_t *err)
{
    fl_kv_commit *commit;
    FL_TRY(fl_kv_commit_begin(tablet, durable_offset, &commit, err));
    if (commit == NULL) {
        return 0;
    }
    fl_kv_commit_run(commit);
    return fl_kv_commit_end(tablet, commit, err);
}
