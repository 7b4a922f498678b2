/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that calls the C library's allocator. Each call may be the one that a torture test
 * lets fail; each block that succeeded is counted, so that a test can tell a leak. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The process-wide hooks are the one mutable state of base: they are set before any other call. */
static struct alloc_hooks {
    void *(*alloc)(size_t);
    void *(*resize)(void *, size_t);
    void (*release)(void *);
} hooks = {malloc, realloc, free};

static atomic_llong live_count;
static atomic_ullong fail_countdown;

void fl_alloc_set_hooks(void *(*alloc)(size_t), void *(*resize)(void *, size_t),
                        void (*release)(void *))
{
    hooks.alloc = alloc != NULL ? alloc : malloc;
    hooks.resize = resize != NULL ? resize : realloc;
    hooks.release = release != NULL ? release : free;
}

void fl_alloc_fail_at(uint64_t n)
{
    atomic_store(&fail_countdown, n);
}

int64_t fl_alloc_live_count(void)
{
    return atomic_load_explicit(&live_count, memory_order_relaxed);
}

static bool must_fail(void)
{
    unsigned long long left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    while (left != 0) {
        if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) {
            return left == 1;
        }
    }
    return false;
}

static void *counted(void *block)
{
    if (block != NULL) {
        atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
    }
    return block;
}

void *fl_alloc(size_t size)
{
    return must_fail() ? NULL : counted(hooks.alloc(size != 0 ? size : 1));
}

void *fl_calloc(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        return NULL;
    }
    void *block = fl_alloc(total);
    if (block != NULL) {
        memset(block, 0, total);
    }
    return block;
}

void *fl_realloc(void *ptr, size_t size)
{
    if (ptr == NULL) {
        return fl_alloc(size);
    }
    return must_fail() ? NULL : hooks.resize(ptr, size != 0 ? size : 1);
}

void fl_free(void *ptr)
{
    if (ptr != NULL) {
        atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
        hooks.release(ptr);
    }
}

void *fl_grow_full(void *items, size_t *capacity, size_t item_size)
{
    const size_t wanted = *capacity != 0 ? *capacity * 2 : 8;
    size_t size;
    if (__builtin_mul_overflow(wanted, item_size, &size)) {
        return NULL;
    }
    void *grown = fl_realloc(items, size);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}

char *fl_strndup(const void *text, size_t size)
{
    char *copy = size < SIZE_MAX ? fl_alloc(size + 1) : NULL;
    if (copy != NULL) {
        if (size != 0) {
            memcpy(copy, text, size);
        }
        copy[size] = '\0';
    }
    return copy;
}

char *fl_strdup(const char *text)
{
    return fl_strndup(text, strlen(text));
}
