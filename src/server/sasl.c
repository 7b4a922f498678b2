/* SPDX-License-Identifier: Apache-2.0 */
/* SASL/PLAIN. A token is authorisation id, NUL, name, NUL, password; the authorisation id is empty
 * or equals the name. Comparing goes through all users and all bytes, so that its time tells
 * nothing but the lengths sent. Source: PlainSaslServer, Fluss 1.0. */
#include "server/sasl.h"

#include <ctype.h>

static bool is_name(fl_slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (!isalnum(name.data[i]) && name.data[i] != '_') {
            return false;
        }
    }
    return name.size != 0;
}

static bool is_password(fl_slice password)
{
    for (size_t i = 0; i < password.size; i++) {
        if (password.data[i] < 0x20 || password.data[i] == 0x7f ||
            memchr(",:\";\\", password.data[i], 5) != NULL) {
            return false;
        }
    }
    return password.size != 0;
}

static fluss_code_t read_user(fl_slice item, size_t index, fl_sasl_users *users, fluss_error_t *err)
{
    const uint8_t *colon = memchr(item.data, ':', item.size);
    if (colon == NULL) {
        return fl_error_argument(err, "user %zu: expected NAME:PASSWORD, found no ':'", index + 1);
    }
    const size_t name_size = (size_t)(colon - item.data);
    const fl_sasl_user user = {.name = fl_slice_sub(item, 0, name_size),
                               .password =
                                   fl_slice_sub(item, name_size + 1, item.size - name_size - 1)};
    if (user.name.size > FL_USER_SIZE_MAX) {
        return fl_error_argument(err, "user %zu: a name of %zu characters; at most %d are possible",
                                 index + 1, user.name.size, (int)FL_USER_SIZE_MAX);
    }
    if (!is_name(user.name)) {
        return fl_error_argument(err,
                                 "user %zu: the name '%.*s' must be letters, digits and '_' only",
                                 index + 1, (int)name_size, (const char *)user.name.data);
    }
    if (!is_password(user.password)) {
        return fl_error_argument(err,
                                 "user '%.*s': the password must not be empty, nor hold one of "
                                 ", : \" ; \\ or a control character",
                                 (int)name_size, (const char *)user.name.data);
    }
    for (size_t i = 0; i < users->count; i++) {
        if (fl_slice_equal(users->users[i].name, user.name)) {
            return fl_error_argument(err, "user '%.*s' is given twice", (int)name_size,
                                     (const char *)user.name.data);
        }
    }
    users->users[users->count++] = user;
    return 0;
}

fluss_code_t fl_sasl_users_parse(const char *text, fl_arena *arena, fl_sasl_users *users,
                                 fluss_error_t *err)
{
    *users = (fl_sasl_users){0};
    if (text[0] == '\0') {
        return 0;
    }
    size_t item_count = 1;
    for (const char *at = text; *at != '\0'; at++) {
        item_count += *at == ',';
    }
    const char *copy = fl_arena_strdup(arena, text);
    users->users = fl_arena_array(arena, item_count, sizeof(fl_sasl_user));
    if (copy == NULL || users->users == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < item_count; i++) {
        const size_t size = strcspn(copy, ",");
        FL_TRY(read_user(fl_slice_of(copy, size), i, users, err));
        copy += size + 1;
    }
    return 0;
}

/* 1 when equal. The time depends on the size of `sent` only. */
static unsigned equal_in_constant_time(fl_slice sent, fl_slice known)
{
    size_t difference = sent.size ^ known.size;
    for (size_t i = 0; i < sent.size; i++) {
        difference |= (size_t)(sent.data[i] ^ known.data[i % known.size]);
    }
    return difference == 0 ? 1 : 0;
}

static fluss_code_t refuse(fluss_error_t *err, const char *why)
{
    return fl_error(err, FLUSS_E_AUTHENTICATE_EXCEPTION, FLUSS_KIND_ARGUMENT,
                    "Authentication failed: %s", why);
}

/* Cut the token into its three parts. */
static bool split(fl_slice token, fl_slice parts[3])
{
    size_t part = 0, start = 0;
    for (size_t i = 0; i <= token.size; i++) {
        if (i == token.size || token.data[i] == '\0') {
            if (part == 3) {
                return false;
            }
            parts[part++] = fl_slice_sub(token, start, i - start);
            start = i + 1;
        }
    }
    return part == 3;
}

fluss_code_t fl_sasl_plain_check(const fl_sasl_users *users, fl_slice token, fl_slice *name,
                                 fluss_error_t *err)
{
    fl_slice parts[3];
    if (token.size == 0 || !split(token, parts)) {
        return refuse(err, "a PLAIN token has an authorization id, a user and a password, "
                           "separated by NUL");
    }
    if (parts[1].size == 0 || parts[2].size == 0) {
        return refuse(err, "user and password must not be empty");
    }
    if (parts[0].size != 0 && !fl_slice_equal(parts[0], parts[1])) {
        return refuse(err, "the authorization id differs from the user");
    }
    unsigned found = 0;
    for (size_t i = 0; i < users->count; i++) {
        const unsigned right = equal_in_constant_time(parts[1], users->users[i].name) &
                               equal_in_constant_time(parts[2], users->users[i].password);
        if (right != 0) {
            *name = users->users[i].name;
        }
        found |= right;
    }
    return found != 0 ? 0 : refuse(err, "Invalid username or password");
}
