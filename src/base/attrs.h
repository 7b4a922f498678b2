/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler attributes, the two error macros and the assertions that every module uses. */
#ifndef FL_ATTRS_H
#define FL_ATTRS_H
#include <stddef.h>

#define FLUSS_CHECKED __attribute__((warn_unused_result))
#define FL_PRINTF(index, first) __attribute__((format(printf, index, first)))
#define FL_NORETURN __attribute__((noreturn))
#define FL_UNUSED __attribute__((unused))
#define FL_LIKELY(x) __builtin_expect(!!(x), 1)
#define FL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FL_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define FL_CONTAINER_OF(ptr, type, member) \
    ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/** Return the code of a failed call to the caller. */
#define FL_TRY(expr)                        \
    do {                                    \
        const fluss_code_t try_rc = (expr); \
        if (FL_UNLIKELY(try_rc != 0)) {     \
            return try_rc;                  \
        }                                   \
    } while (0)

/** Set the local `rc` and go to the clean-up block `out:` when a call fails. */
#define FL_TRY_OUT(expr)            \
    do {                            \
        rc = (expr);                \
        if (FL_UNLIKELY(rc != 0)) { \
            goto out;               \
        }                           \
    } while (0)

/** A programmer's mistake ends the process, in every build. Never for data from outside. */
#define FL_ASSERT(cond) ((cond) ? (void)0 : fl_assert_failed(#cond, __FILE__, __LINE__))
#ifdef FL_DEBUG
#define FL_DEBUG_ASSERT(cond) FL_ASSERT(cond)
#else
#define FL_DEBUG_ASSERT(cond) ((void)sizeof(cond))
#endif

FL_NORETURN void fl_assert_failed(const char *cond, const char *file, int line);
#endif
