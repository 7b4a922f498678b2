/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables (uthash) on the library's allocator, and doubly linked lists (utlist). Running out of
 * memory leaves an element out of its table: FL_HASH_HAS tells. Include this, never uthash.h or
 * utlist.h. */
#ifndef FL_CONTAINERS_H
#define FL_CONTAINERS_H
#include "base/alloc.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fl_alloc(size)
#define uthash_free(ptr, size) fl_free(ptr)
#include <uthash.h>
#include <utlist.h>

/** Whether the element was really added, by its handle. */
#define FL_HASH_HAS(element, handle) ((element)->handle.tbl != NULL)
#endif
