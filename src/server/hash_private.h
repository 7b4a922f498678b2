/* SPDX-License-Identifier: Apache-2.0 */
/* uthash with the allocator of this library. Running out of memory leaves the element out of the
 * table: FL_HASH_HAS tells. Include this, never uthash.h. */
#ifndef FL_HASH_PRIVATE_H
#define FL_HASH_PRIVATE_H
#include "base/alloc.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fl_alloc(size)
#define uthash_free(ptr, size) fl_free(ptr)
#include <uthash.h>

/** Whether the element was really added, by its handle. */
#define FL_HASH_HAS(element, handle) ((element)->handle.tbl != NULL)
#endif
