/* SPDX-License-Identifier: Apache-2.0 */
/* fluss.h - the C client of Apache Fluss. One include; no dependency but the C library.
 *
 * Rules that hold everywhere:
 * - Errors: a fallible call returns a code, 0 for success, and fills *err (which may be NULL). On
 *   success *err is untouched; on failure outputs are NULL or 0.
 * - Handles are opaque. Each has one release function, which takes NULL; the order of releases is
 *   free. `const` pointers are borrowed from the object they came from and live as long as it.
 * - Arguments are copied before a call returns, except Arrow structs, which are moved.
 * - Remote calls return a future that has already started, never NULL; wrong arguments are
 *   reported by the future too.
 * - Any thread may use connections, tables, writers, lookups, futures and queues. A scanner has one
 *   consumer at a time. Configurations, schemas and predicates have one thread while being built.
 * - After fork the child's handles answer FLUSS_KIND_STATE; it may connect anew.
 * - Text is UTF-8. Functions of this library never end the process on bad input. */
#ifndef FLUSS_H
#define FLUSS_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this header, 0xMMmmpp00. */
#define FLUSS_VERSION 0x00010000
/** Version of the library that runs, 0xMMmmpp00 and as text; static. */
FLUSS_API uint32_t fluss_version(void);
FLUSS_API const char *fluss_version_string(void);

/** Name of a code, "TABLE_NOT_EXIST"; "UNKNOWN" for a code this version does not know. Static. */
FLUSS_API const char *fluss_code_name(fluss_code_t code);

/* Process-wide hooks; set them before anything else. */

/**
 * Replace the functions that all memory of the library comes from.
 *
 * @return FLUSS_KIND_ARGUMENT's code when only some are given; all NULL restores the C library's
 */
FLUSS_API fluss_code_t fluss_set_allocator(void *(*alloc)(size_t size),
                                           void *(*resize)(void *ptr, size_t size),
                                           void (*release)(void *ptr));

/** A line of the library's log. @param level as in syslog: 3 error, 4 warning, 6 info, 7 debug */
typedef void (*fluss_log_fn)(int level, const char *component, const char *text, void *user);
/** Receive log lines up to a level; nothing is printed without a hook. fn NULL: silent. The hook
 * runs on any thread and must not call the library. */
FLUSS_API void fluss_set_log(fluss_log_fn fn, int level_max, void *user);

#ifdef __cplusplus
}
#endif

#include "fluss_admin.h"
#include "fluss_config.h"
#include "fluss_datum.h"
#include "fluss_future.h"
#include "fluss_lookup.h"
#include "fluss_scan.h"
#include "fluss_schema.h"
#include "fluss_write.h"
#endif
