/* SPDX-License-Identifier: Apache-2.0 */
/* SASL/PLAIN, the server's side: the users, and the check of a token. No I/O. */
#ifndef FL_SASL_H
#define FL_SASL_H
#include "base/arena.h"

enum { FL_USER_SIZE_MAX = 255 /* bytes of a name */ };

typedef struct fl_sasl_user {
    fl_slice name, password;
} fl_sasl_user;

typedef struct fl_sasl_users {
    fl_sasl_user *users; /* in the arena */
    size_t count;
} fl_sasl_users;

/**
 * Read "user:password,user:password".
 *
 * @param text  borrowed; the users are copies in the arena
 * @return FLUSS_KIND_ARGUMENT: an item without ':', an empty name or password, a name with other
 * characters than letters, digits and '_', a password with one of , : " ; \ or a control character,
 * a name given twice. Never shows a password. Thread: any.
 */
FLUSS_CHECKED fluss_code_t fl_sasl_users_parse(const char *text, fl_arena *arena,
                                               fl_sasl_users *users, fluss_error_t *err);
/**
 * Check a PLAIN token: authzid NUL name NUL password, UTF-8.
 *
 * The time does not depend on how much of name or password is right.
 * @param name views the user's name
 * @return FLUSS_E_AUTHENTICATE_EXCEPTION; the message does not say whether the name exists.
 * Thread: any.
 */
FLUSS_CHECKED fluss_code_t fl_sasl_plain_check(const fl_sasl_users *users, fl_slice token,
                                               fl_slice *name, fluss_error_t *err);
#endif
