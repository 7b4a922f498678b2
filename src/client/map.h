/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables (uthash) on the library's allocator; running out of memory leaves the entry out,
 * which FL_MAP_HAS shows. */
#ifndef FL_CLIENT_MAP_H
#define FL_CLIENT_MAP_H
#include "base/alloc.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fl_alloc(size)
#define uthash_free(ptr, size) fl_free(ptr)
#include <uthash.h>

/** Whether an entry that was added is in its table. */
#define FL_MAP_HAS(entry) ((entry)->hh.tbl != NULL)
#endif
