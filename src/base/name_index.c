/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with open addressing: slots of hash and position, at most half of them taken, and
 * the next free one where two names fall on the same. Growing takes fresh slots from the arena;
 * those left behind are no more than the ones in use. */
#include "base/name_index.h"

#include <string.h>

enum { SLOT_COUNT_FIRST = 16 };

struct fl_name_slot {
    const char *name; /* NULL: free */
    uint32_t hash;
    uint32_t position;
};

/* FNV-1a. */
static uint32_t hash_of(const char *name, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    }
    return hash;
}

/* The slot of a name, or the free one where it would be. */
static size_t slot_of(const fl_name_index *index, const char *name, size_t size, uint32_t hash)
{
    const size_t mask = index->slot_count - 1;
    size_t i = hash & mask;
    for (; index->slots[i].name != NULL; i = (i + 1) & mask) {
        const fl_name_slot *slot = &index->slots[i];
        if (slot->hash == hash && strncmp(slot->name, name, size) == 0 &&
            slot->name[size] == '\0') {
            break;
        }
    }
    return i;
}

static fluss_code_t grow(fl_name_index *index, fl_arena *arena, fluss_error_t *err)
{
    const size_t count = index->slot_count == 0 ? SLOT_COUNT_FIRST : index->slot_count * 2;
    fl_name_slot *slots = fl_arena_array(arena, count, sizeof(*slots));
    if (slots == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < index->slot_count; i++) {
        const fl_name_slot *from = &index->slots[i];
        size_t to = from->hash & (count - 1);
        while (from->name != NULL && slots[to].name != NULL) {
            to = (to + 1) & (count - 1);
        }
        if (from->name != NULL) {
            slots[to] = *from;
        }
    }
    index->slots = slots;
    index->slot_count = count;
    return 0;
}

fluss_code_t fl_name_index_add(fl_name_index *index, fl_arena *arena, const char *name,
                               size_t *position, fluss_error_t *err)
{
    if (index->name_count >= index->slot_count / 2) {
        FL_TRY(grow(index, arena, err));
    }
    const size_t size = strlen(name);
    const uint32_t hash = hash_of(name, size);
    fl_name_slot *slot = &index->slots[slot_of(index, name, size, hash)];
    if (slot->name == NULL) {
        *slot = (fl_name_slot){.name = name, .hash = hash, .position = (uint32_t)index->name_count};
    }
    *position = slot->position;
    index->name_count++;
    return 0;
}

ptrdiff_t fl_name_index_find(const fl_name_index *index, const char *name, size_t size)
{
    if (index->slot_count == 0) {
        return -1;
    }
    const fl_name_slot *slot = &index->slots[slot_of(index, name, size, hash_of(name, size))];
    return slot->name != NULL ? (ptrdiff_t)slot->position : -1;
}
