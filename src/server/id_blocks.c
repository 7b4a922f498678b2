/* SPDX-License-Identifier: Apache-2.0 */
/* A counter is an entry of the catalog's column family: "i/" and the table id in 20 digits; its
 * value is the next id (i64 LE). */
#include "server/id_blocks.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"

enum { KEY_SIZE = 32, FIRST_ID = 1 };

struct fl_id_blocks {
    fl_kv_store *store;
    pthread_mutex_t lock; /* guards: the read and the write of a counter */
};

fl_id_blocks *fl_id_blocks_new(fl_kv_store *store)
{
    fl_id_blocks *blocks = fl_calloc(1, sizeof(*blocks));
    if (blocks != NULL) {
        blocks->store = store;
        (void)pthread_mutex_init(&blocks->lock, NULL);
    }
    return blocks;
}

void fl_id_blocks_free(fl_id_blocks *blocks)
{
    if (blocks != NULL) {
        (void)pthread_mutex_destroy(&blocks->lock);
        fl_free(blocks);
    }
}

static fluss_code_t load(fl_kv_store *store, fl_slice key, int64_t *next, fluss_error_t *err)
{
    uint8_t *value;
    size_t size;
    bool found;
    FL_TRY(fl_kv_get(store, FL_KV_CATALOG, key, &value, &size, &found, err));
    *next = FIRST_ID;
    if (!found) {
        return 0;
    }
    const bool is_whole = size == sizeof(int64_t);
    *next = is_whole ? fl_load_i64(value) : 0;
    fl_free(value);
    return is_whole ? 0
                    : fl_error(err, FLUSS_E_KV_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                               "an auto-increment counter has %zu bytes, expected 8", size);
}

static fluss_code_t save(fl_kv_store *store, fl_slice key, int64_t next, fluss_error_t *err)
{
    uint8_t value[sizeof(next)];
    fl_store_i64(value, next);
    fl_kv_write *write = fl_kv_write_new();
    if (write == NULL) {
        return fl_error_nomem(err);
    }
    fl_kv_write_put(write, FL_KV_CATALOG, key, fl_slice_of(value, sizeof(value)));
    const fluss_code_t rc = fl_kv_write_commit_now(store, write, true, err);
    fl_kv_write_free(write);
    return rc;
}

static fluss_code_t take(fl_id_blocks *blocks, fl_slice key, int64_t count, int64_t *first,
                         fluss_error_t *err)
{
    int64_t end;
    FL_TRY(load(blocks->store, key, first, err));
    if (__builtin_add_overflow(*first, count, &end)) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_STATE,
                        "the auto-increment column has no value left: the next is %lld",
                        (long long)*first);
    }
    return save(blocks->store, key, end, err);
}

fluss_code_t fl_id_blocks_take(fl_id_blocks *blocks, int64_t table_id, int64_t count,
                               int64_t *first, fluss_error_t *err)
{
    char key[KEY_SIZE];
    const int size = snprintf(key, sizeof(key), "i/%020" PRId64, table_id);
    (void)pthread_mutex_lock(&blocks->lock);
    const fluss_code_t rc = take(blocks, fl_slice_of(key, (size_t)size), count, first, err);
    (void)pthread_mutex_unlock(&blocks->lock);
    return rc;
}
