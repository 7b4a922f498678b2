/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value engine of a server: one RocksDB with two column families. `catalog` writes through
 * a synced write-ahead log; `rows` has none, its log is the changelog of each bucket. Nothing else
 * knows that it is RocksDB. Thread: any, one writer a key range. */
#ifndef FL_KV_STORE_H
#define FL_KV_STORE_H
#include "base/error.h"
#include "base/slice.h"

typedef struct fl_kv_store fl_kv_store;
typedef enum { FL_KV_CATALOG, FL_KV_ROWS } fl_kv_family;

/** Open or make. @return FLUSS_E_KV_STORAGE_EXCEPTION with the path and the reason. gives
 * (fl_kv_store_close). */
FLUSS_CHECKED fluss_code_t fl_kv_store_open(const char *dir, fl_kv_store **store,
                                            fluss_error_t *err);
void fl_kv_store_close(fl_kv_store *store);

/** Read a value. @param value gives (fl_free); NULL data and size 0 when absent, `found` says so.
 */
FLUSS_CHECKED fluss_code_t fl_kv_get(fl_kv_store *store, fl_kv_family family, fl_slice key,
                                     uint8_t **value, size_t *size, bool *found,
                                     fluss_error_t *err);

/** Changes that happen together or not at all. */
typedef struct fl_kv_write fl_kv_write;
fl_kv_write *fl_kv_write_new(void) FLUSS_CHECKED; /* NULL: out of memory */
void fl_kv_write_put(fl_kv_write *write, fl_kv_family family, fl_slice key, fl_slice value);
void fl_kv_write_delete(fl_kv_write *write, fl_kv_family family, fl_slice key);
void fl_kv_write_delete_range(fl_kv_write *write, fl_kv_family family, fl_slice from, fl_slice to);
void fl_kv_write_free(fl_kv_write *write);
FLUSS_CHECKED fluss_code_t fl_kv_write_commit(fl_kv_store *store, fl_kv_write *write, bool durable,
                                              fluss_error_t *err);

/** An iterator over from <= key < to (size 0: no bound) on a snapshot of this moment. */
typedef struct fl_kv_iter fl_kv_iter;
FLUSS_CHECKED fluss_code_t fl_kv_iter_open(fl_kv_store *store, fl_kv_family family, fl_slice from,
                                           fl_slice to, fl_kv_iter **iter, fluss_error_t *err);
/** Step to the next entry (the first call: to the first). false at the end. Key and value are views
 * until the next step. */
bool fl_kv_iter_next(fl_kv_iter *iter, fl_slice *key, fl_slice *value);
/** Whether the end was an error. */
FLUSS_CHECKED fluss_code_t fl_kv_iter_status(const fl_kv_iter *iter, fluss_error_t *err);
void fl_kv_iter_close(fl_kv_iter *iter);
#endif
