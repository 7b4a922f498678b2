/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by lifetime: many small blocks, freed together. One arena per request, batch or immutable
 * object. An arena has one owner at a time and no lock. */
#ifndef FL_ARENA_H
#define FL_ARENA_H
#include "base/error.h"
#include "base/slice.h"

typedef struct fl_arena_block fl_arena_block;

typedef struct fl_arena {
    fl_arena_block *blocks; /* newest first */
    uint8_t *at, *end;      /* room in the newest block */
    size_t size_total;      /* bytes of all blocks */
} fl_arena;

/** Start empty; takes no memory before the first use. */
void fl_arena_init(fl_arena *arena);
/** Free everything; the arena is empty and usable again. */
void fl_arena_deinit(fl_arena *arena);
/** Forget everything, keep one block of usual size for the next use. */
void fl_arena_reset(fl_arena *arena);

/** Room for `size` bytes, aligned for any type, zeroed; NULL when memory is out. */
void *fl_arena_alloc(fl_arena *arena, size_t size) FLUSS_CHECKED;
/** The same for `count` items of `size` bytes; NULL also when the product overflows. */
void *fl_arena_array(fl_arena *arena, size_t count, size_t size) FLUSS_CHECKED;
/** A terminated copy of `size` bytes; NULL when memory is out. */
char *fl_arena_strndup(fl_arena *arena, const void *text, size_t size) FLUSS_CHECKED;
char *fl_arena_strdup(fl_arena *arena, const char *text) FLUSS_CHECKED;
#endif
