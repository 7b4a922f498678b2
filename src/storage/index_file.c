/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are numbered by slot: the first flushed_count lie in the file, the rest in memory. A
 * search looks at the pending ones first, where readers of fresh data find theirs; in the file it
 * halves the range until a block is left, and reads that at once. Nothing is mapped: a mapped file
 * that shrinks kills its reader. */
#include "index_file.h"

enum { BLOCK_ENTRIES = 64, CHECK_ENTRIES = 512, PENDING_SIZE_MAX = 1 << 28 };

void fl_index_file_init(fl_index_file *index, fl_file_cache *cache, const char *dir,
                        const char *name, int64_t base_offset, uint32_t entry_size)
{
    FL_ASSERT(entry_size <= FL_INDEX_ENTRY_SIZE_MAX);
    *index = (fl_index_file){.base_offset = base_offset, .entry_size = entry_size};
    fl_file_init(&index->file, cache, dir, name);
    fl_buf_init(&index->pending, PENDING_SIZE_MAX);
}

void fl_index_file_deinit(fl_index_file *index)
{
    fl_file_close(&index->file);
    fl_buf_deinit(&index->pending);
}

static uint64_t pending_count(const fl_index_file *index)
{
    return index->pending.size / index->entry_size;
}

uint64_t fl_index_file_count(const fl_index_file *index)
{
    return index->flushed_count + pending_count(index);
}

fluss_code_t fl_index_file_load(fl_index_file *index, bool *is_whole, fluss_error_t *err)
{
    bool exists;
    uint64_t size;
    FL_TRY(fl_file_stat(&index->file, &exists, &size, err));
    fl_buf_reset(&index->pending);
    *is_whole = exists && size % index->entry_size == 0;
    index->flushed_count = *is_whole ? size / index->entry_size : 0;
    return 0;
}

/** Read `count` entries of the file. */
static fluss_code_t read_entries(fl_index_file *index, uint64_t slot, size_t count,
                                 uint8_t *entries, fluss_error_t *err)
{
    const size_t size = count * index->entry_size;
    size_t got;
    FL_TRY(fl_file_read(&index->file, slot * index->entry_size, entries, size, &got, err));
    if (got < size) {
        return fl_error(err, FLUSS_E_LOG_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                        "%s/%s ends inside entry %llu, expected %llu entries", index->file.dir,
                        index->file.name, (unsigned long long)(slot + got / index->entry_size),
                        (unsigned long long)index->flushed_count);
    }
    return 0;
}

fluss_code_t fl_index_file_entry(fl_index_file *index, uint64_t slot, uint8_t *entry,
                                 fluss_error_t *err)
{
    FL_ASSERT(slot < fl_index_file_count(index));
    if (slot < index->flushed_count) {
        return read_entries(index, slot, 1, entry, err);
    }
    memcpy(entry, index->pending.data + (slot - index->flushed_count) * index->entry_size,
           index->entry_size);
    return 0;
}

/** The last of `count` entries in memory with key <= target, -1 when there is none. */
static int64_t search_memory(const fl_index_file *index, fl_index_key_fn *key, int64_t target,
                             const uint8_t *entries, uint64_t count)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (key(index, entries + middle * index->entry_size) <= target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int64_t)low - 1;
}

static fluss_code_t search_file(fl_index_file *index, fl_index_key_fn *key, int64_t target,
                                int64_t *slot, uint8_t *entry, fluss_error_t *err)
{
    uint8_t block[BLOCK_ENTRIES * FL_INDEX_ENTRY_SIZE_MAX];
    /* Entries before `low` have keys <= target, those from `high` on have larger ones. */
    uint64_t low = 0, high = index->flushed_count;
    while (high - low > BLOCK_ENTRIES) {
        const uint64_t middle = low + (high - low) / 2;
        FL_TRY(read_entries(index, middle, 1, block, err));
        if (key(index, block) <= target) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *slot = -1;
    if (high == low) {
        return 0;
    }
    FL_TRY(read_entries(index, low, (size_t)(high - low), block, err));
    const int64_t found = search_memory(index, key, target, block, high - low);
    if (found >= 0) {
        *slot = (int64_t)low + found;
        memcpy(entry, block + (size_t)found * index->entry_size, index->entry_size);
    }
    return 0;
}

fluss_code_t fl_index_file_search(fl_index_file *index, fl_index_key_fn *key, int64_t target,
                                  int64_t *slot, uint8_t *entry, fluss_error_t *err)
{
    const int64_t found =
        search_memory(index, key, target, index->pending.data, pending_count(index));
    if (found < 0) {
        return search_file(index, key, target, slot, entry, err);
    }
    *slot = (int64_t)index->flushed_count + found;
    memcpy(entry, index->pending.data + (size_t)found * index->entry_size, index->entry_size);
    return 0;
}

fluss_code_t fl_index_file_reserve(fl_index_file *index, fluss_error_t *err)
{
    return fl_buf_reserve(&index->pending, index->entry_size, err);
}

void fl_index_file_append(fl_index_file *index, const uint8_t *entry)
{
    const fluss_code_t rc = fl_buf_append(&index->pending, entry, index->entry_size, NULL);
    FL_ASSERT(rc == 0);
}

fluss_code_t fl_index_file_flush(fl_index_file *index, fl_index_key_fn *key, int64_t limit,
                                 fluss_error_t *err)
{
    uint64_t count = 0;
    while (count < pending_count(index) &&
           key(index, index->pending.data + count * index->entry_size) < limit) {
        count++;
    }
    const size_t size = (size_t)count * index->entry_size;
    if (size == 0) {
        return 0;
    }
    FL_TRY(fl_file_write(&index->file, index->flushed_count * index->entry_size,
                         index->pending.data, size, err));
    index->flushed_count += count;
    index->pending.size -= size;
    memmove(index->pending.data, index->pending.data + size, index->pending.size);
    return 0;
}

fluss_code_t fl_index_file_cut(fl_index_file *index, uint64_t count, fluss_error_t *err)
{
    FL_ASSERT(count <= index->flushed_count);
    FL_TRY(fl_file_truncate(&index->file, count * index->entry_size, err));
    index->flushed_count = count;
    fl_buf_reset(&index->pending);
    return 0;
}

fluss_code_t fl_index_file_check(fl_index_file *index, fl_index_follows_fn *follows, bool *is_good,
                                 uint8_t *last, fluss_error_t *err)
{
    uint8_t block[CHECK_ENTRIES * FL_INDEX_ENTRY_SIZE_MAX];
    const size_t entry_size = index->entry_size;
    *is_good = true;
    for (uint64_t slot = 0; slot < index->flushed_count && *is_good;) {
        size_t got;
        FL_TRY(fl_file_read(&index->file, slot * entry_size, block, CHECK_ENTRIES * entry_size,
                            &got, err));
        const size_t count = got / entry_size;
        *is_good = count > 0;
        for (size_t i = 0; i < count && *is_good; i++) {
            const uint8_t *entry = block + i * entry_size;
            *is_good = follows(index, slot + i > 0 ? last : NULL, entry);
            memcpy(last, entry, entry_size);
        }
        slot += count;
    }
    return 0;
}
