/* SPDX-License-Identifier: Apache-2.0 */
/* A file of fixed-size entries with rising keys: what offset and time index share. New entries stay
 * in memory until the log bytes that they point to are durable, so the file never points at bytes
 * that a power loss can take away. */
#ifndef FL_INDEX_FILE_H
#define FL_INDEX_FILE_H
#include "base/buf.h"
#include "storage/file.h"

enum { FL_INDEX_ENTRY_SIZE_MAX = 12 };

typedef struct fl_index_file {
    fl_file file;
    int64_t base_offset; /* of the segment; entries hold offsets relative to it */
    uint32_t entry_size;
    uint64_t flushed_count; /* entries in the file */
    fl_buf pending;         /* the entries after them */
} fl_index_file;

/** Key of an entry. */
typedef int64_t fl_index_key_fn(const fl_index_file *index, const uint8_t *entry);
/** Whether an entry may follow another one; `before` is NULL for the first. */
typedef bool fl_index_follows_fn(const fl_index_file *index, const uint8_t *before,
                                 const uint8_t *entry);

void fl_index_file_init(fl_index_file *index, fl_file_cache *cache, const char *dir,
                        const char *name, int64_t base_offset, uint32_t entry_size);
/** Forget pending entries and close the file. */
void fl_index_file_deinit(fl_index_file *index);
uint64_t fl_index_file_count(const fl_index_file *index);
/** Take the entries of the file as it is. @param is_whole false: its size is no multiple of the
 * entry size, or it is missing; count is 0 then */
FLUSS_CHECKED fluss_code_t fl_index_file_load(fl_index_file *index, bool *is_whole,
                                              fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_index_file_entry(fl_index_file *index, uint64_t slot, uint8_t *entry,
                                               fluss_error_t *err);
/** The last slot with key(entry) <= target, -1 when there is none. @param entry filled for slot >=
 * 0. Cost: log2 of the entries small reads. */
FLUSS_CHECKED fluss_code_t fl_index_file_search(fl_index_file *index, fl_index_key_fn *key,
                                                int64_t target, int64_t *slot, uint8_t *entry,
                                                fluss_error_t *err);
/** Make room so that the next append cannot fail. */
FLUSS_CHECKED fluss_code_t fl_index_file_reserve(fl_index_file *index, fluss_error_t *err);
/** Add an entry; room was reserved. */
void fl_index_file_append(fl_index_file *index, const uint8_t *entry);
/** Write those pending entries to the file, the first ones, whose key is below `limit`. */
FLUSS_CHECKED fluss_code_t fl_index_file_flush(fl_index_file *index, fl_index_key_fn *key,
                                               int64_t limit, fluss_error_t *err);
/** Whether each entry of the file may follow the one before it. @param last filled with the last
 * entry, if there is one and all are good. Cost: reads all. */
FLUSS_CHECKED fluss_code_t fl_index_file_check(fl_index_file *index, fl_index_follows_fn *follows,
                                               bool *is_good, uint8_t *last, fluss_error_t *err);
/** Keep the first `count` entries of the file, drop the pending ones. */
FLUSS_CHECKED fluss_code_t fl_index_file_cut(fl_index_file *index, uint64_t count,
                                             fluss_error_t *err);
#endif
