/* SPDX-License-Identifier: Apache-2.0 */
/* All heap use of the library. One set of hooks for the process (fluss_set_allocator), one counter,
 * and a switch that fails the n-th call, for torture tests. */
#ifndef FL_ALLOC_H
#define FL_ALLOC_H
#include <stddef.h>
#include <stdint.h>

/** Allocate; NULL when memory is out. size 0 gives a valid pointer. Thread: any. */
void *fl_alloc(size_t size) __attribute__((malloc, warn_unused_result));
void *fl_calloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
/** Resize; on NULL the old block is untouched and still the caller's. */
void *fl_realloc(void *ptr, size_t size) __attribute__((warn_unused_result));
void fl_free(void *ptr);
/** fl_grow of an array that is full. */
void *fl_grow_full(void *items, size_t *capacity, size_t item_size)
    __attribute__((warn_unused_result));
/**
 * Make room for one more item in an array, which doubles when it is full.
 *
 * @param items    NULL at first, else what this gave before; by fl_free in the end
 * @param capacity 0 at first
 * @return the array, which may have moved; NULL: memory is out, nothing has changed
 */
__attribute__((warn_unused_result)) static inline void *fl_grow(void *items, size_t *capacity,
                                                                size_t count, size_t item_size)
{
    return count < *capacity ? items : fl_grow_full(items, capacity, item_size);
}
/** Copies, terminated. NULL when memory is out. */
char *fl_strdup(const char *text) __attribute__((warn_unused_result));
char *fl_strndup(const void *text, size_t size) __attribute__((warn_unused_result));

/** Replace the hooks; before any other call only. NULL restores the C library's. */
void fl_alloc_set_hooks(void *(*alloc)(size_t), void *(*resize)(void *, size_t),
                        void (*release)(void *));

/** Test only: let the n-th allocation from now on fail (1 = the next), 0 = none. */
void fl_alloc_fail_at(uint64_t n);
/** Blocks allocated and not freed, of the whole process. */
int64_t fl_alloc_live_count(void);
#endif
