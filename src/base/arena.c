/* SPDX-License-Identifier: Apache-2.0 */
/* A list of blocks; each new one is as large as all before it together, within limits, so that a
 * batch of any size takes few blocks. Only the newest block has room. */
#include "base/arena.h"

#include "base/alloc.h"

enum { ALIGNMENT = 16, BLOCK_SIZE_MIN = 1024, BLOCK_SIZE_MAX = 256 * 1024 };

struct fl_arena_block {
    fl_arena_block *next;
    size_t size; /* of the room after this header */
    _Alignas(ALIGNMENT) uint8_t room[];
};

void fl_arena_init(fl_arena *arena)
{
    *arena = (fl_arena){0};
}

void fl_arena_deinit(fl_arena *arena)
{
    fl_arena_block *block = arena->blocks;
    while (block != NULL) {
        fl_arena_block *next = block->next;
        fl_free(block);
        block = next;
    }
    fl_arena_init(arena);
}

void fl_arena_reset(fl_arena *arena)
{
    fl_arena_block *kept = arena->blocks;
    if (kept == NULL || kept->size > BLOCK_SIZE_MAX) { /* an outsize block is not kept for ever */
        fl_arena_deinit(arena);
        return;
    }
    arena->blocks = kept->next;
    fl_arena_deinit(arena);
    kept->next = NULL;
    arena->blocks = kept;
    arena->at = kept->room;
    arena->end = kept->room + kept->size;
    arena->size_total = kept->size;
}

static bool add_block(fl_arena *arena, size_t size_wanted)
{
    size_t size = arena->size_total < BLOCK_SIZE_MIN ? BLOCK_SIZE_MIN : arena->size_total;
    if (size > BLOCK_SIZE_MAX) {
        size = BLOCK_SIZE_MAX;
    }
    if (size < size_wanted) {
        size = size_wanted;
    }
    size_t total;
    if (!fl_add_size(size, sizeof(fl_arena_block), &total)) {
        return false;
    }
    fl_arena_block *block = fl_alloc(total);
    if (block == NULL) {
        return false;
    }
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->at = block->room;
    arena->end = block->room + size;
    arena->size_total += size;
    return true;
}

static void *take(fl_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    const size_t rounded = fl_align_up(size != 0 ? size : 1, ALIGNMENT);
    if ((size_t)(arena->end - arena->at) < rounded && !add_block(arena, rounded)) {
        return NULL;
    }
    void *room = arena->at;
    arena->at += rounded;
    return room;
}

void *fl_arena_alloc(fl_arena *arena, size_t size)
{
    void *room = take(arena, size);
    if (room != NULL) {
        memset(room, 0, size);
    }
    return room;
}

void *fl_arena_array(fl_arena *arena, size_t count, size_t size)
{
    size_t total;
    return fl_mul_size(count, size, &total) ? fl_arena_alloc(arena, total) : NULL;
}

char *fl_arena_strndup(fl_arena *arena, const void *text, size_t size)
{
    if (size == SIZE_MAX) {
        return NULL;
    }
    char *copy = take(arena, size + 1);
    if (copy != NULL) {
        if (size != 0) {
            memcpy(copy, text, size);
        }
        copy[size] = '\0';
    }
    return copy;
}

char *fl_arena_strdup(fl_arena *arena, const char *text)
{
    return fl_arena_strndup(arena, text, strlen(text));
}
