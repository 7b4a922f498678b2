/* SPDX-License-Identifier: Apache-2.0 */
/* RocksDB behind a small face. `catalog` and `rows` are column families of one database: changes of
 * rows skip the write-ahead log, for the changelog of the bucket can bring them back, and carry the
 * applied log offset with them in the same batch. Blocks are LZ4, with a full bloom filter of ten
 * bits a key, in one bounded cache that holds indexes and filters too. */
#include "kv_store.h"

#include <limits.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "storage/file.h"

enum { FAMILY_COUNT = 3, DEFAULT_FAMILY = 2, MULTI_GET_CHUNK = 64 };
_Static_assert(FL_KV_CATALOG == 0 && FL_KV_ROWS == 1, "families index the handles");
enum { CATALOG_BUFFER_SIZE = 4 << 20, WAL_SIZE_MAX = 64 << 20, INFO_LOG_SIZE_MAX = 1 << 20 };
enum { INFO_LEVEL_WARN = 2, BLOOM_BITS = 10, WRITE_SIZE_MAX = 1 << 30 };
enum { PRESSURE_INTERVAL_MS = 100 };
static const double MEMORY_FILTER_RATIO = 0.1, DELAYED_PRESSURE = 0.8;

enum { ROOM_COMMIT_MIN = 1 << 20, ROOM_OPEN_MIN = 4 << 20 };

/* How a batch is written. */
typedef enum {
    WRITE_DURABLE = 1, /* else in memory only */
    WRITE_NOW = 2,     /* do not wait when the engine would hold up writes */
    WRITE_HINTED = 4,  /* each key is looked for from where the one before went */
    WRITE_OPTIONS_COUNT = 8
} write_option;

struct fl_kv_store {
    char *dir;
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_options_t *catalog_options, *rows_options;
    rocksdb_cache_t *cache;
    rocksdb_column_family_handle_t *families[FAMILY_COUNT];
    rocksdb_readoptions_t *read_options;
    rocksdb_writeoptions_t *write_options[WRITE_OPTIONS_COUNT]; /* by sums of write_option */
    rocksdb_flushoptions_t *flush_options;
    int level0_pressure, level0_limit; /* files */
    atomic_llong pressure_until_ms;    /* when it is looked at anew */
    _Atomic double pressure;
};

/** An error with the engine's reason, which is freed. */
static fluss_code_t kv_error(fluss_error_t *err, const char *action, char *reason)
{
    const fluss_code_t rc = fl_error(err, FLUSS_E_KV_STORAGE_EXCEPTION, FLUSS_KIND_SERVER,
                                     "key-value store: %s: %s", action, reason);
    rocksdb_free(reason);
    return rc;
}

/* The engine ends the process when its write-ahead log has met a full disk and is used again, so it
 * is not let near that. */
static fluss_code_t check_room(const char *dir, size_t wanted, fluss_error_t *err)
{
    struct statvfs disk;
    if (statvfs(dir, &disk) != 0 || disk.f_blocks == 0) {
        return 0; /* a file system that does not tell */
    }
    const uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    return room >= wanted ? 0
                          : fl_error(err, FLUSS_E_KV_STORAGE_EXCEPTION, FLUSS_KIND_SERVER,
                                     "key-value store: %s: the disk is full: %llu KiB are free, "
                                     "at least %llu are needed",
                                     dir, (unsigned long long)(room >> 10),
                                     (unsigned long long)(wanted >> 10));
}

/* Opening. */

static fl_kv_store_opts with_defaults(const fl_kv_store_opts *opts)
{
    fl_kv_store_opts result = opts == NULL ? (fl_kv_store_opts){0} : *opts;
    result.write_buffer_size =
        result.write_buffer_size == 0 ? (size_t)32 << 20 : result.write_buffer_size;
    result.write_buffers_max = result.write_buffers_max == 0 ? 3 : result.write_buffers_max;
    result.cache_size = result.cache_size == 0 ? (size_t)64 << 20 : result.cache_size;
    result.open_files_max = result.open_files_max == 0 ? 256 : result.open_files_max;
    result.background_jobs_max = result.background_jobs_max == 0 ? 2 : result.background_jobs_max;
    result.level0_pressure = result.level0_pressure == 0 ? 8 : result.level0_pressure;
    result.level0_slowdown = result.level0_slowdown == 0 ? 20 : result.level0_slowdown;
    return result;
}

static rocksdb_options_t *family_options(rocksdb_cache_t *cache, size_t buffer_size,
                                         size_t buffer_count)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    rocksdb_options_set_write_buffer_size(options, buffer_size);
    rocksdb_options_set_max_write_buffer_number(options, (int)buffer_count);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    /* A key that is not there is told without a walk through the table in memory. */
    rocksdb_options_set_memtable_whole_key_filtering(options, 1);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, MEMORY_FILTER_RATIO);
    return options;
}

static rocksdb_writeoptions_t *write_options(unsigned how)
{
    rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(options, (how & WRITE_DURABLE) != 0);
    rocksdb_writeoptions_disable_WAL(options, (how & WRITE_DURABLE) == 0);
    rocksdb_writeoptions_set_no_slowdown(options, (how & WRITE_NOW) != 0);
    rocksdb_writeoptions_set_memtable_insert_hint_per_batch(options, (how & WRITE_HINTED) != 0);
    return options;
}

static void set_options(fl_kv_store *store, const fl_kv_store_opts *opts)
{
    store->cache = rocksdb_cache_create_lru(opts->cache_size);
    store->catalog_options = family_options(store->cache, CATALOG_BUFFER_SIZE, 2);
    store->rows_options =
        family_options(store->cache, opts->write_buffer_size, opts->write_buffers_max);
    rocksdb_options_set_level0_slowdown_writes_trigger(store->rows_options, opts->level0_slowdown);
    /* Each table in memory can become one more file before the next look. */
    store->level0_limit = opts->level0_slowdown - (int)opts->write_buffers_max;
    store->level0_limit = store->level0_limit < 1 ? 1 : store->level0_limit;
    store->level0_pressure = opts->level0_pressure;
    store->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(store->options, 1);
    rocksdb_options_set_create_missing_column_families(store->options, 1);
    rocksdb_options_set_max_open_files(store->options, opts->open_files_max);
    rocksdb_options_set_max_background_jobs(store->options, opts->background_jobs_max);
    rocksdb_options_set_max_total_wal_size(store->options, WAL_SIZE_MAX);
    rocksdb_options_set_bytes_per_sync(store->options, 1 << 20);
    rocksdb_options_set_info_log_level(store->options, INFO_LEVEL_WARN);
    rocksdb_options_set_keep_log_file_num(store->options, 2);
    rocksdb_options_set_max_log_file_size(store->options, INFO_LOG_SIZE_MAX);
    /* Only in this mode the engine heeds WRITE_HINTED. The price is that a snapshot may miss what
     * other threads are writing; here no two write the keys of a tablet at once, and its scans read
     * a snapshot from before such a write. */
    rocksdb_options_set_unordered_write(store->options, 1);
    store->read_options = rocksdb_readoptions_create();
    store->flush_options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(store->flush_options, 1);
    for (unsigned how = 0; how < WRITE_OPTIONS_COUNT; how++) {
        store->write_options[how] = write_options(how);
    }
}

static fluss_code_t make_dir(const char *dir, fluss_error_t *err)
{
    fl_file_cache *cache = fl_file_cache_new(0);
    if (cache == NULL) {
        return fl_error_nomem(err);
    }
    size_t made;
    const fluss_code_t rc = fl_dir_make(cache, dir, &made, err);
    fl_file_cache_free(cache);
    if (rc == FLUSS_E_LOG_STORAGE_EXCEPTION && err != NULL) {
        err->code = FLUSS_E_KV_STORAGE_EXCEPTION;
    }
    return rc == FLUSS_E_LOG_STORAGE_EXCEPTION ? FLUSS_E_KV_STORAGE_EXCEPTION : rc;
}

fluss_code_t fl_kv_store_open_with(const char *dir, const fl_kv_store_opts *opts,
                                   fl_kv_store **store, fluss_error_t *err)
{
    *store = NULL;
    FL_TRY(make_dir(dir, err));
    FL_TRY(check_room(dir, ROOM_OPEN_MIN, err));
    fl_kv_store *opened = fl_calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return fl_error_nomem(err);
    }
    opened->dir = fl_strdup(dir);
    if (opened->dir == NULL) {
        fl_free(opened);
        return fl_error_nomem(err);
    }
    const fl_kv_store_opts all = with_defaults(opts);
    set_options(opened, &all);
    const char *names[FAMILY_COUNT] = {"catalog", "rows", "default"};
    const rocksdb_options_t *options[FAMILY_COUNT] = {opened->catalog_options, opened->rows_options,
                                                      opened->catalog_options};
    char *reason = NULL;
    opened->db = rocksdb_open_column_families(opened->options, dir, FAMILY_COUNT, names, options,
                                              opened->families, &reason);
    if (reason != NULL) {
        const fluss_code_t rc = kv_error(err, dir, reason);
        opened->db = NULL;
        fl_kv_store_close(opened);
        return rc;
    }
    *store = opened;
    return 0;
}

fluss_code_t fl_kv_store_open(const char *dir, fl_kv_store **store, fluss_error_t *err)
{
    return fl_kv_store_open_with(dir, NULL, store, err);
}

void fl_kv_store_close(fl_kv_store *store)
{
    if (store == NULL) {
        return;
    }
    if (store->db != NULL) {
        const fluss_code_t rc = fl_kv_store_flush(store, NULL); /* else replayed from the log */
        (void)rc;
        for (int i = 0; i < FAMILY_COUNT; i++) {
            rocksdb_column_family_handle_destroy(store->families[i]);
        }
        rocksdb_close(store->db);
    }
    rocksdb_options_destroy(store->options);
    rocksdb_options_destroy(store->catalog_options);
    rocksdb_options_destroy(store->rows_options);
    rocksdb_cache_destroy(store->cache);
    rocksdb_readoptions_destroy(store->read_options);
    for (unsigned how = 0; how < WRITE_OPTIONS_COUNT; how++) {
        rocksdb_writeoptions_destroy(store->write_options[how]);
    }
    rocksdb_flushoptions_destroy(store->flush_options);
    fl_free(store->dir);
    fl_free(store);
}

fluss_code_t fl_kv_store_flush(fl_kv_store *store, fluss_error_t *err)
{
    char *reason = NULL;
    rocksdb_flush_cf(store->db, store->flush_options, store->families[FL_KV_ROWS], &reason);
    return reason == NULL ? 0 : kv_error(err, "flush", reason);
}

static uint64_t number_of_rows(fl_kv_store *store, const char *property)
{
    uint64_t number = 0;
    const int rc =
        rocksdb_property_int_cf(store->db, store->families[FL_KV_ROWS], property, &number);
    return rc == 0 ? number : 0;
}

static int level0_files(fl_kv_store *store)
{
    char *text = rocksdb_property_value_cf(store->db, store->families[FL_KV_ROWS],
                                           "rocksdb.num-files-at-level0");
    const long count = text != NULL ? strtol(text, NULL, 10) : 0;
    rocksdb_free(text);
    return count < INT_MAX ? (int)count : INT_MAX;
}

static double look_at_pressure(fl_kv_store *store)
{
    const int files = level0_files(store);
    if (files >= store->level0_limit || number_of_rows(store, "rocksdb.is-write-stopped") != 0) {
        return 1;
    }
    const double range = store->level0_limit - store->level0_pressure;
    const double by_files =
        files < store->level0_pressure ? 0 : (files - store->level0_pressure + 1) / (range + 1);
    const bool is_delayed = number_of_rows(store, "rocksdb.actual-delayed-write-rate") != 0;
    return is_delayed && by_files < DELAYED_PRESSURE ? DELAYED_PRESSURE : by_files;
}

double fl_kv_store_pressure(fl_kv_store *store, int64_t now_ms)
{
    long long until_ms = atomic_load_explicit(&store->pressure_until_ms, memory_order_relaxed);
    if (now_ms >= until_ms && atomic_compare_exchange_strong(&store->pressure_until_ms, &until_ms,
                                                             now_ms + PRESSURE_INTERVAL_MS)) {
        store->pressure = look_at_pressure(store);
    }
    return store->pressure;
}

/* Reading. */

/** Copy what the engine found. @param pinned NULL: absent */
static fluss_code_t copy_value(const rocksdb_pinnableslice_t *pinned, uint8_t **value, size_t *size,
                               bool *found, fluss_error_t *err)
{
    *value = NULL;
    *size = 0;
    *found = pinned != NULL;
    if (pinned == NULL) {
        return 0;
    }
    const char *data = rocksdb_pinnableslice_value(pinned, size);
    *value = fl_alloc(*size);
    if (*value == NULL) {
        *size = 0;
        *found = false;
        return fl_error_nomem(err);
    }
    memcpy(*value, data, *size);
    return 0;
}

fluss_code_t fl_kv_get(fl_kv_store *store, fl_kv_family family, fl_slice key, uint8_t **value,
                       size_t *size, bool *found, fluss_error_t *err)
{
    char *reason = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned_cf(store->db, store->read_options, store->families[family],
                              (const char *)key.data, key.size, &reason);
    const fluss_code_t rc = copy_value(pinned, value, size, found, err);
    rocksdb_pinnableslice_destroy(pinned);
    return reason == NULL ? rc : kv_error(err, "get", reason);
}

static fluss_code_t multi_get_chunk(fl_kv_store *store, fl_kv_family family, const fl_slice *keys,
                                    size_t count, fl_kv_value *values, fluss_error_t *err)
{
    const char *datas[MULTI_GET_CHUNK];
    size_t sizes[MULTI_GET_CHUNK];
    char *reasons[MULTI_GET_CHUNK] = {0};
    rocksdb_pinnableslice_t *pinned[MULTI_GET_CHUNK] = {0};
    for (size_t i = 0; i < count; i++) {
        datas[i] = (const char *)keys[i].data;
        sizes[i] = keys[i].size;
    }
    rocksdb_batched_multi_get_cf(store->db, store->read_options, store->families[family], count,
                                 datas, sizes, pinned, reasons, false);
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count; i++) {
        if (reasons[i] != NULL) {
            rc = kv_error(rc == 0 ? err : NULL, "get", reasons[i]);
        } else if (rc == 0) {
            rc = copy_value(pinned[i], &values[i].data, &values[i].size, &values[i].found, err);
        }
        rocksdb_pinnableslice_destroy(pinned[i]);
    }
    return rc;
}

fluss_code_t fl_kv_multi_get(fl_kv_store *store, fl_kv_family family, const fl_slice *keys,
                             size_t count, fl_kv_value *values, fluss_error_t *err)
{
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = (fl_kv_value){0};
    }
    for (size_t at = 0; rc == 0 && at < count; at += MULTI_GET_CHUNK) {
        const size_t rest = count - at;
        rc = multi_get_chunk(store, family, keys + at,
                             rest < MULTI_GET_CHUNK ? rest : MULTI_GET_CHUNK, values + at, err);
    }
    for (size_t i = 0; rc != 0 && i < count; i++) {
        fl_free(values[i].data);
        values[i] = (fl_kv_value){0};
    }
    return rc;
}

/* Writing: changes wait in a plain buffer, which can run out of memory without ending the process.
 */

typedef enum { CHANGE_PUT, CHANGE_DELETE, CHANGE_DELETE_RANGE } change_kind;

/** In front of key and value (or of both ends of a range) in the buffer. */
typedef struct change_head {
    uint32_t first_size, second_size;
    uint8_t kind, family;
} change_head;

struct fl_kv_write {
    fl_buf changes;
    bool is_incomplete; /* memory ran out: nothing may be committed */
    bool has_ranges;    /* which lie in another table in memory: the engine takes no hints then */
};

fl_kv_write *fl_kv_write_new(void)
{
    fl_kv_write *write = fl_calloc(1, sizeof(*write));
    if (write != NULL) {
        fl_buf_init(&write->changes, WRITE_SIZE_MAX);
    }
    return write;
}

void fl_kv_write_free(fl_kv_write *write)
{
    if (write != NULL) {
        fl_buf_deinit(&write->changes);
        fl_free(write);
    }
}

void fl_kv_write_reset(fl_kv_write *write)
{
    fl_buf_reset(&write->changes);
    write->is_incomplete = false;
    write->has_ranges = false;
}

static void add_change(fl_kv_write *write, change_kind kind, fl_kv_family family, fl_slice first,
                       fl_slice second)
{
    size_t size;
    if (!fl_add_size(first.size, second.size, &size) || size > WRITE_SIZE_MAX ||
        fl_buf_reserve(&write->changes, size + sizeof(change_head), NULL) != 0) {
        write->is_incomplete = true;
        return;
    }
    const change_head head = {.first_size = (uint32_t)first.size,
                              .second_size = (uint32_t)second.size,
                              .kind = (uint8_t)kind,
                              .family = (uint8_t)family};
    if (fl_buf_append(&write->changes, &head, sizeof(head), NULL) != 0 ||
        fl_buf_append_slice(&write->changes, first, NULL) != 0 ||
        fl_buf_append_slice(&write->changes, second, NULL) != 0) {
        write->is_incomplete = true;
    }
}

void fl_kv_write_put(fl_kv_write *write, fl_kv_family family, fl_slice key, fl_slice value)
{
    add_change(write, CHANGE_PUT, family, key, value);
}

void fl_kv_write_delete(fl_kv_write *write, fl_kv_family family, fl_slice key)
{
    add_change(write, CHANGE_DELETE, family, key, fl_slice_of(NULL, 0));
}

void fl_kv_write_delete_range(fl_kv_write *write, fl_kv_family family, fl_slice from, fl_slice to)
{
    write->has_ranges = true;
    add_change(write, CHANGE_DELETE_RANGE, family, from, to);
}

static void fill_batch(const fl_kv_store *store, const fl_kv_write *write,
                       rocksdb_writebatch_t *batch)
{
    const uint8_t *at = write->changes.data;
    const uint8_t *end = at + write->changes.size;
    while (at < end) {
        change_head head;
        memcpy(&head, at, sizeof(head));
        rocksdb_column_family_handle_t *family = store->families[head.family];
        const char *first = (const char *)at + sizeof(head);
        const char *second = first + head.first_size;
        switch ((change_kind)head.kind) {
        case CHANGE_PUT:
            rocksdb_writebatch_put_cf(batch, family, first, head.first_size, second,
                                      head.second_size);
            break;
        case CHANGE_DELETE:
            rocksdb_writebatch_delete_cf(batch, family, first, head.first_size);
            break;
        case CHANGE_DELETE_RANGE:
            rocksdb_writebatch_delete_range_cf(batch, family, first, head.first_size, second,
                                               head.second_size);
            break;
        }
        at += sizeof(head) + head.first_size + head.second_size;
    }
}

/* @param how sum of WRITE_DURABLE and WRITE_NOW */
static fluss_code_t commit(fl_kv_store *store, const fl_kv_write *write, unsigned how,
                           fluss_error_t *err)
{
    if (write->is_incomplete) {
        return fl_error_nomem(err);
    }
    if (write->changes.size == 0) {
        return 0;
    }
    if ((how & WRITE_DURABLE) != 0) {
        FL_TRY(check_room(store->dir, ROOM_COMMIT_MIN + write->changes.size, err));
    }
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    fill_batch(store, write, batch);
    char *reason = NULL;
    how |= write->has_ranges ? 0 : WRITE_HINTED;
    rocksdb_write(store->db, store->write_options[how], batch, &reason);
    rocksdb_writebatch_destroy(batch);
    return reason == NULL ? 0 : kv_error(err, "write", reason);
}

fluss_code_t fl_kv_write_commit(fl_kv_store *store, fl_kv_write *write, bool durable,
                                fluss_error_t *err)
{
    return commit(store, write, durable ? WRITE_DURABLE : 0, err);
}

/* The engine's word for a write that it would have held up. */
static const char HELD_UP[] = "write: Result incomplete";

fluss_code_t fl_kv_write_commit_now(fl_kv_store *store, fl_kv_write *write, bool durable,
                                    fluss_error_t *err)
{
    fluss_error_t own;
    const fluss_code_t rc = commit(store, write, WRITE_NOW | (durable ? WRITE_DURABLE : 0), &own);
    if (rc == FLUSS_E_KV_STORAGE_EXCEPTION && strstr(own.message, HELD_UP) != NULL) {
        return fl_error(err, FLUSS_E_STORAGE_BACKPRESSURE, FLUSS_KIND_STATE,
                        "the key-value store has not yet taken in what was written; try again");
    }
    if (rc != 0 && err != NULL) {
        *err = own;
    }
    return rc;
}

/* Iterating. */

struct fl_kv_iter {
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *iterator;
    bool is_started;
    size_t from_size;
    uint8_t bounds[]; /* from, to: the engine keeps pointers to `to` */
};

fl_kv_snapshot *fl_kv_snapshot_new(fl_kv_store *store)
{
    return (fl_kv_snapshot *)rocksdb_create_snapshot(store->db);
}

void fl_kv_snapshot_free(fl_kv_store *store, fl_kv_snapshot *snapshot)
{
    if (snapshot != NULL) {
        rocksdb_release_snapshot(store->db, (const rocksdb_snapshot_t *)snapshot);
    }
}

fluss_code_t fl_kv_iter_open(fl_kv_store *store, fl_kv_family family, fl_slice from, fl_slice to,
                             fl_kv_iter **iter, fluss_error_t *err)
{
    return fl_kv_iter_open_at(store, NULL, family, from, to, iter, err);
}

fluss_code_t fl_kv_iter_open_at(fl_kv_store *store, const fl_kv_snapshot *snapshot,
                                fl_kv_family family, fl_slice from, fl_slice to, fl_kv_iter **iter,
                                fluss_error_t *err)
{
    *iter = NULL;
    size_t size;
    if (!fl_add_size(from.size, to.size, &size) || !fl_add_size(size, sizeof(**iter), &size)) {
        return fl_error_nomem(err);
    }
    fl_kv_iter *opened = fl_alloc(size);
    if (opened == NULL) {
        return fl_error_nomem(err);
    }
    *opened = (fl_kv_iter){.options = rocksdb_readoptions_create(), .from_size = from.size};
    if (from.size > 0) {
        memcpy(opened->bounds, from.data, from.size);
    }
    if (to.size > 0) {
        memcpy(opened->bounds + from.size, to.data, to.size);
        rocksdb_readoptions_set_iterate_upper_bound(
            opened->options, (const char *)opened->bounds + from.size, to.size);
    }
    if (snapshot != NULL) { /* the iterator holds what it reads, and the options stay as they are */
        rocksdb_readoptions_set_snapshot(opened->options, (const rocksdb_snapshot_t *)snapshot);
    }
    opened->iterator =
        rocksdb_create_iterator_cf(store->db, opened->options, store->families[family]);
    *iter = opened;
    return 0;
}

bool fl_kv_iter_next(fl_kv_iter *iter, fl_slice *key, fl_slice *value)
{
    if (iter->is_started) {
        rocksdb_iter_next(iter->iterator);
    } else if (iter->from_size > 0) {
        rocksdb_iter_seek(iter->iterator, (const char *)iter->bounds, iter->from_size);
    } else {
        rocksdb_iter_seek_to_first(iter->iterator);
    }
    iter->is_started = true;
    if (!rocksdb_iter_valid(iter->iterator)) {
        return false;
    }
    size_t size;
    const char *data = rocksdb_iter_key(iter->iterator, &size);
    *key = fl_slice_of(data, size);
    data = rocksdb_iter_value(iter->iterator, &size);
    *value = fl_slice_of(data, size);
    return true;
}

fluss_code_t fl_kv_iter_status(const fl_kv_iter *iter, fluss_error_t *err)
{
    char *reason = NULL;
    rocksdb_iter_get_error(iter->iterator, &reason);
    return reason == NULL ? 0 : kv_error(err, "iterate", reason);
}

void fl_kv_iter_close(fl_kv_iter *iter)
{
    if (iter != NULL) {
        rocksdb_iter_destroy(iter->iterator);
        rocksdb_readoptions_destroy(iter->options);
        fl_free(iter);
    }
}
