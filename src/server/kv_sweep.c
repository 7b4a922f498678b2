/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that a crash left of dropped tables. The store is walked from one table or partition to the
 * next by seeking, so the cost is one seek for each of them, not for each row. */
#include "server/kv_tablet_private.h"

enum { OWNER_SIZE = 16 }; /* table id, partition id */

/* The first key at or after `from`. */
static fluss_code_t seek(fl_kv_store *store, fl_slice from, uint8_t owner[OWNER_SIZE], bool *found,
                         fluss_error_t *err)
{
    fl_kv_iter *iter;
    fl_slice key, value;
    FL_TRY(fl_kv_iter_open(store, FL_KV_ROWS, from, fl_slice_of(NULL, 0), &iter, err));
    *found = fl_kv_iter_next(iter, &key, &value) && key.size >= OWNER_SIZE;
    if (*found) {
        memcpy(owner, key.data, OWNER_SIZE);
    }
    const fluss_code_t rc = fl_kv_iter_status(iter, err);
    fl_kv_iter_close(iter);
    return rc;
}

/* The least key after all keys of an owner. false: there is none. */
static bool step_over(const uint8_t owner[OWNER_SIZE], uint8_t next[OWNER_SIZE])
{
    memcpy(next, owner, OWNER_SIZE);
    for (size_t i = OWNER_SIZE; i-- != 0;) {
        if (++next[i] != 0) {
            return true;
        }
    }
    return false;
}

static fluss_code_t erase(fl_kv_store *store, fl_slice from, fl_slice to, fluss_error_t *err)
{
    fl_kv_write *write = fl_kv_write_new();
    if (write == NULL) {
        return fl_error_nomem(err);
    }
    fl_kv_write_delete_range(write, FL_KV_ROWS, from, to);
    const fluss_code_t rc = fl_kv_write_commit(store, write, false, err);
    fl_kv_write_free(write);
    return rc;
}

fluss_code_t fl_kv_tablets_sweep(fl_kv_store *store,
                                 bool (*is_known)(void *context, int64_t table_id,
                                                  int64_t partition_id),
                                 void *context, fluss_error_t *err)
{
    uint8_t owner[OWNER_SIZE], next[OWNER_SIZE] = {0};
    bool found;
    FL_TRY(seek(store, fl_slice_of(next, sizeof(next)), owner, &found, err));
    while (found && step_over(owner, next)) {
        const int64_t table_id = (int64_t)fl_load_be64(owner),
                      partition_id = (int64_t)fl_load_be64(owner + 8);
        if (!is_known(context, table_id, partition_id)) {
            FL_TRY(erase(store, fl_slice_of(owner, sizeof(owner)), fl_slice_of(next, sizeof(next)),
                         err));
        }
        FL_TRY(seek(store, fl_slice_of(next, sizeof(next)), owner, &found, err));
    }
    return 0;
}
