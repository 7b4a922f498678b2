/* SPDX-License-Identifier: Apache-2.0 */
/* Linear probing with backward-shift deletion; grows at two thirds. */
#include "server/prewrite.h"

#include "base/alloc.h"
#include "base/containers.h"

enum { SLOT_COUNT_MIN = 64 };

/* FNV-1a with a final mix: keys are short, and their bits must reach the low ones. */
static uint64_t hash_of(fl_slice key)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < key.size; i++) {
        hash = (hash ^ key.data[i]) * 0x100000001b3u;
    }
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

void fl_prewrite_init(fl_prewrite *prewrite)
{
    *prewrite = (fl_prewrite){0};
    prewrite->last = &prewrite->first;
}

static void free_list(fl_prewrite_entry *entry)
{
    while (entry != NULL) {
        fl_prewrite_entry *next = entry->next;
        fl_free(entry);
        entry = next;
    }
}

void fl_prewrite_deinit(fl_prewrite *prewrite)
{
    free_list(prewrite->first);
    free_list(prewrite->kept);
    fl_free(prewrite->slots);
    fl_prewrite_init(prewrite);
}

static size_t size_of(const fl_prewrite_entry *entry)
{
    return sizeof(*entry) + entry->key_size + entry->value_size;
}

static bool has_key(const fl_prewrite_entry *entry, uint64_t hash, fl_slice key)
{
    return entry->hash == hash && fl_slice_equal(fl_prewrite_key(entry), key);
}

/* The slot of a key, or the empty one where it would go. */
static size_t find_slot(const fl_prewrite *prewrite, uint64_t hash, fl_slice key)
{
    const size_t mask = prewrite->slot_count - 1;
    size_t slot = hash & mask;
    while (prewrite->slots[slot] != NULL && !has_key(prewrite->slots[slot], hash, key)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

const fl_prewrite_entry *fl_prewrite_find(const fl_prewrite *prewrite, fl_slice key)
{
    if (prewrite->key_count == 0) {
        return NULL;
    }
    return prewrite->slots[find_slot(prewrite, hash_of(key), key)];
}

const fl_prewrite_entry *fl_prewrite_find_kept(const fl_prewrite *prewrite, fl_slice key)
{
    const fl_prewrite_entry *entry = fl_prewrite_find(prewrite, key);
    while (entry != NULL && !entry->is_kept) {
        entry = entry->older;
    }
    return entry;
}

static fluss_code_t grow(fl_prewrite *prewrite, fluss_error_t *err)
{
    if ((prewrite->key_count + 1) * 3 <= prewrite->slot_count * 2) {
        return 0;
    }
    fl_prewrite bigger = *prewrite;
    bigger.slot_count = prewrite->slot_count != 0 ? prewrite->slot_count * 2 : SLOT_COUNT_MIN;
    bigger.slots = fl_calloc(bigger.slot_count, sizeof(fl_prewrite_entry *));
    if (bigger.slots == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < prewrite->slot_count; i++) {
        fl_prewrite_entry *entry = prewrite->slots[i];
        if (entry != NULL) {
            bigger.slots[find_slot(&bigger, entry->hash, fl_prewrite_key(entry))] = entry;
        }
    }
    fl_free(prewrite->slots);
    prewrite->slots = bigger.slots;
    prewrite->slot_count = bigger.slot_count;
    return 0;
}

fluss_code_t fl_prewrite_put(fl_prewrite *prewrite, fl_slice key, const fl_slice *value,
                             int8_t row_delta, fluss_error_t *err)
{
    const size_t value_size = value != NULL ? value->size : 0;
    FL_ASSERT(key.size <= UINT32_MAX && value_size <= UINT32_MAX); /* both lie in one frame */
    FL_TRY(grow(prewrite, err));
    fl_prewrite_entry *entry = fl_alloc(sizeof(*entry) + key.size + value_size);
    if (entry == NULL) {
        return fl_error_nomem(err);
    }
    *entry = (fl_prewrite_entry){.end_offset = INT64_MAX,
                                 .hash = hash_of(key),
                                 .key_size = (uint32_t)key.size,
                                 .value_size = (uint32_t)value_size,
                                 .is_delete = value == NULL,
                                 .row_delta = row_delta};
    memcpy(entry->bytes, key.data, key.size);
    if (value_size != 0) {
        memcpy(entry->bytes + key.size, value->data, value_size);
    }
    const size_t slot = find_slot(prewrite, entry->hash, key);
    entry->older = prewrite->slots[slot];
    if (entry->older != NULL) {
        entry->older->newer = entry;
    } else {
        prewrite->key_count++;
    }
    prewrite->slots[slot] = entry;
    *prewrite->last = entry;
    prewrite->last = &entry->next;
    prewrite->bytes += size_of(entry);
    return 0;
}

/* Empty a slot and move the entries behind it that would no longer be found. */
static void clear_slot(fl_prewrite *prewrite, size_t slot)
{
    const size_t mask = prewrite->slot_count - 1;
    size_t hole = slot;
    for (size_t at = (slot + 1) & mask; prewrite->slots[at] != NULL; at = (at + 1) & mask) {
        const size_t home = prewrite->slots[at]->hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            prewrite->slots[hole] = prewrite->slots[at];
            hole = at;
        }
    }
    prewrite->slots[hole] = NULL;
    prewrite->key_count--;
}

fl_prewrite_mark fl_prewrite_begin(const fl_prewrite *prewrite)
{
    return (fl_prewrite_mark){.last = prewrite->last};
}

void fl_prewrite_accept(fl_prewrite_mark mark, int64_t end_offset)
{
    for (fl_prewrite_entry *entry = *mark.last; entry != NULL; entry = entry->next) {
        entry->end_offset = end_offset;
    }
}

void fl_prewrite_undo(fl_prewrite *prewrite, fl_prewrite_mark mark)
{
    /* Newest first, so that each key gets back the entry before: the list is turned round. */
    fl_prewrite_entry *reversed = NULL;
    fl_prewrite_entry *entry = *mark.last;
    *mark.last = NULL;
    prewrite->last = mark.last;
    while (entry != NULL) {
        fl_prewrite_entry *next = entry->next;
        entry->next = reversed;
        reversed = entry;
        entry = next;
    }
    while (reversed != NULL) {
        entry = reversed;
        reversed = entry->next;
        const size_t slot = find_slot(prewrite, entry->hash, fl_prewrite_key(entry));
        if (entry->older != NULL) {
            entry->older->newer = NULL;
            prewrite->slots[slot] = entry->older;
        } else {
            clear_slot(prewrite, slot);
        }
        prewrite->bytes -= size_of(entry);
        fl_free(entry);
    }
}

const fl_prewrite_entry *fl_prewrite_first(const fl_prewrite *prewrite, int64_t durable_offset)
{
    const fl_prewrite_entry *first = prewrite->first;
    return first != NULL && first->end_offset <= durable_offset ? first : NULL;
}

const fl_prewrite_entry *fl_prewrite_last(const fl_prewrite *prewrite, int64_t durable_offset)
{
    const fl_prewrite_entry *last = NULL;
    if (prewrite->first != NULL) {
        last = FL_CONTAINER_OF(prewrite->last, fl_prewrite_entry, next);
    }
    if (last == NULL || last->end_offset <= durable_offset) {
        return last; /* as it is where all of the log is on disk */
    }
    last = NULL;
    for (const fl_prewrite_entry *at = prewrite->first; at->end_offset <= durable_offset;
         at = at->next) {
        last = at;
    }
    return last;
}

/* Take an entry out of the kept list and free it. Who points to it by key is the caller's business.
 */
static void drop_kept(fl_prewrite *prewrite, fl_prewrite_entry *entry)
{
    DL_DELETE2(prewrite->kept, entry, previous, next);
    prewrite->kept_bytes -= size_of(entry);
    fl_free(entry);
}

void fl_prewrite_keep(fl_prewrite *prewrite)
{
    fl_prewrite_entry *entry = prewrite->first;
    prewrite->first = entry->next;
    if (prewrite->first == NULL) {
        prewrite->last = &prewrite->first;
    }
    prewrite->bytes -= size_of(entry);
    if (entry->older != NULL) { /* kept, and out of date now */
        drop_kept(prewrite, entry->older);
        entry->older = NULL;
    }
    entry->is_kept = true;
    DL_APPEND2(prewrite->kept, entry, previous, next);
    prewrite->kept_bytes += size_of(entry);
}

void fl_prewrite_shrink(fl_prewrite *prewrite, size_t bytes_max)
{
    while (prewrite->kept_bytes > bytes_max) {
        fl_prewrite_entry *entry = prewrite->kept;
        if (entry->newer != NULL) {
            entry->newer->older = NULL;
        } else {
            clear_slot(prewrite, find_slot(prewrite, entry->hash, fl_prewrite_key(entry)));
        }
        drop_kept(prewrite, entry);
    }
}
