/* SPDX-License-Identifier: Apache-2.0 */
/* fluss.h - the C client of Apache Fluss. One include; no dependency but the C library.
 *
 * Rules that hold everywhere:
 * - Errors: a fallible call returns a code, 0 for success, and fills *err (which may be NULL). On
 *   success *err is untouched; on failure outputs are NULL or 0. FLUSS_KIND_… in a description
 *   stands for code FLUSS_E_CLIENT with that kind. Out of memory is FLUSS_KIND_NOMEM anywhere.
 * - Handles are opaque. Each has one release function, which takes NULL; the order of releases is
 *   free. A NULL handle where one is needed is FLUSS_KIND_ARGUMENT, or the empty answer.
 * - Ownership: "borrowed" from an object: lives as long as it; "gives": yours, end it with the
 *   function named; "taken": no longer yours; "copied": yours again when the call returns.
 *   Arguments are copied, except Arrow structs, which are moved.
 * - Remote calls return a future that has already started, never NULL; wrong arguments are
 *   reported by the future too. "-> kind" names the fluss_await_… function that takes its result.
 * - Any thread may use connections, tables, writers, lookups, futures and queues. A scanner has one
 *   consumer at a time. Configurations, schemas and predicates have one thread while being built.
 * - "Source" names the class and method of the Java client whose behaviour a function keeps;
 *   "ours" where it has none.
 * - pthread_cancel ends a thread before or after a wait of the library, not inside.
 * - After fork the child's handles answer FLUSS_KIND_STATE; it may connect anew.
 * - Text is UTF-8. Functions of this library never end the process on bad input. */
#ifndef FLUSS_H
#define FLUSS_H
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version and names ---- */

/** Version of this header, 0xMMmmpp00. */
#define FLUSS_VERSION 0x00010000

/**
 * Version of the library that runs, as FLUSS_VERSION is that of the header.
 *
 * @return 0xMMmmpp00
 * Thread: any. Source: ours.
 */
FLUSS_API uint32_t fluss_version(void);

/**
 * Version of the library that runs, as text.
 *
 * @return "MAJOR.MINOR.PATCH", static
 * Thread: any. Source: ours.
 */
FLUSS_API const char *fluss_version_string(void);

/**
 * Name of a code.
 *
 * @param code  of an error
 * @return "TABLE_NOT_EXIST"; "UNKNOWN" for a code that this version does not know. Static
 * Thread: any. Source: Errors.
 */
FLUSS_API const char *fluss_code_name(fluss_code_t code);

/* ---- hooks of the process ---- */

/**
 * Replace the functions that all memory of the library comes from. Call it before any other
 * function: a block is released by the functions that are set then. The functions may be called by
 * any thread at any time; blocks are aligned as malloc's are.
 *
 * @param alloc    like malloc; NULL is answered as FLUSS_KIND_NOMEM
 * @param resize   like realloc, never with a NULL block or size 0
 * @param release  like free, never with NULL
 * @return 0; FLUSS_KIND_ARGUMENT: only some are given. All NULL restores the C library's
 * Thread: before all others. Source: ours.
 */
FLUSS_API fluss_code_t fluss_set_allocator(void *(*alloc)(size_t size),
                                           void *(*resize)(void *ptr, size_t size),
                                           void (*release)(void *ptr));

/** A line of the library's log. `level` as in syslog: 3 error, 4 warning, 6 info, 7 debug. The
 * texts are borrowed until the hook returns. */
typedef void (*fluss_log_fn)(int level, const char *component, const char *text, void *user);

/**
 * Receive log lines up to a level, those of embedded servers among them. Nothing is printed without
 * a hook, and no line holds a password or the values of rows.
 *
 * @param fn         runs on any thread, also several at once; must not call the library. NULL:
 *                   silent, the default
 * @param level_max  3 errors only … 7 everything
 * @param user       passed on
 * Thread: before all others. Source: ours.
 */
FLUSS_API void fluss_set_log(fluss_log_fn fn, int level_max, void *user);

#ifdef __cplusplus
}
#endif

#include "fluss_admin.h"
#include "fluss_cluster.h"
#include "fluss_config.h"
#include "fluss_connection.h"
#include "fluss_datum.h"
#include "fluss_future.h"
#include "fluss_lookup.h"
#include "fluss_read.h"
#include "fluss_scan.h"
#include "fluss_schema.h"
#include "fluss_write.h"
#endif
