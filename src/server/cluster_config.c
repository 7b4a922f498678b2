/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that change at run time. Values are checked by the table of settings.c; what only counts
 * where there are replicas, KV snapshots or lake tables is taken and kept, and changes nothing.
 * Users are a list, "name:password" separated by commas, which can also be added to and taken from.
 * Source: DynamicServerConfig and DynamicConfigManager, Fluss 1.0. */
#include "server/cluster_config.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/catalog.h"
#include "server/server.h"

#define CREDENTIALS "security.sasl.plain.credentials"
#define LIMIT_RATIO "server.data-disk.write-limit-ratio"
#define RECOVER_RATIO "server.data-disk.write-recover-ratio"

static const char *const keys[FL_CONFIG_COUNT] = {
    LIMIT_RATIO,
    RECOVER_RATIO,
    CREDENTIALS,
    "log.replica.min-in-sync-replicas-number",
    "log.retention.roll-active-segment.enabled",
    "kv.leader-replica.memory-reserved",
    "kv.rocksdb.shared-rate-limiter.bytes-per-sec",
    "kv.snapshot.interval",
    "server.historical-partition.lookup-cache.max-disk-ratio",
    "server.historical-partition.lookuper-cache.expire-after-access"};

enum { OPERATION_SET, OPERATION_DELETE, OPERATION_APPEND, OPERATION_SUBTRACT };
enum { VALUE_SIZE_MAX = 1 << 20 };

const char *fl_config_key(size_t index)
{
    return keys[index];
}

bool fl_config_find(fl_slice key, size_t *index)
{
    for (size_t i = 0; i < FL_CONFIG_COUNT; i++) {
        if (fl_slice_equal_str(key, keys[i])) {
            *index = i;
            return true;
        }
    }
    return false;
}

static bool is_users(size_t index)
{
    return strcmp(keys[index], CREDENTIALS) == 0;
}

/* ---- sets ---- */

bool fl_config_set_put(fl_config_set *set, size_t index, fl_slice value)
{
    char *copy = fl_strndup((const char *)value.data, value.size);
    if (copy == NULL) {
        return false;
    }
    fl_free(set->values[index]);
    set->values[index] = copy;
    return true;
}

void fl_config_set_deinit(fl_config_set *set)
{
    for (size_t i = 0; i < FL_CONFIG_COUNT; i++) {
        fl_free(set->values[i]);
        set->values[i] = NULL;
    }
}

/* ---- showing ---- */

const char *fl_config_shown(const char *key, const char *value, fl_arena *arena)
{
    if (strcmp(key, CREDENTIALS) != 0) {
        return value;
    }
    size_t size = 1;
    for (const char *at = value; *at != '\0'; at++) {
        size += *at == ',' ? 8 : 1;
    }
    char *shown = fl_arena_alloc(arena, size + 8);
    for (size_t used = 0; shown != NULL && *value != '\0';) {
        const size_t item_size = strcspn(value, ","), name_size = strcspn(value, ":,");
        used += (size_t)snprintf(shown + used, size + 8 - used, "%s%.*s:******",
                                 used != 0 ? "," : "", (int)name_size, value);
        value += item_size + (value[item_size] == ',' ? 1 : 0);
    }
    return shown;
}

/* ---- checking ---- */

static fluss_code_t refuse(fluss_error_t *err)
{
    err->code = FLUSS_E_CONFIG_EXCEPTION;
    err->kind = FLUSS_KIND_SERVER;
    return err->code;
}

static fluss_code_t refuse_key(fl_slice key, fluss_error_t *err)
{
    const char *why = "";
    if (key.size > 9 && memcmp(key.data, "datalake.", 9) == 0) {
        why = ": this server has no lake storage";
    } else if (key.size > 15 && memcmp(key.data, "remote.data.dir", 15) == 0) {
        why = ": this server has no remote storage";
    }
    return fl_error(err, FLUSS_E_CONFIG_EXCEPTION, FLUSS_KIND_SERVER,
                    "The setting '%.*s' can't be changed while the server runs%s.",
                    (int)(key.size < 256 ? key.size : 256), (const char *)key.data, why);
}

static fluss_code_t check_users(const char *value, fluss_error_t *err)
{
    fl_arena arena;
    fl_sasl_users users;
    fl_arena_init(&arena);
    fluss_code_t rc = fl_sasl_users_parse(value, &arena, &users, err);
    if (rc == 0 && users.count == 0) {
        rc = fl_error_argument(err, "no user would be left, so nobody could log in any more");
    }
    fl_arena_deinit(&arena);
    return rc;
}

/* Whether all values together make sense. Settings that are not in the set are as at the start. */
static fluss_code_t check_set(const fl_server *server, const fl_config_set *set, fluss_error_t *err)
{
    fl_settings settings = server->initial;
    fluss_code_t rc = 0;
    fl_arena_init(&settings.arena);
    for (size_t i = 0; i < FL_CONFIG_COUNT && rc == 0; i++) {
        const char *value = set->values[i];
        if (value != NULL && is_users(i)) {
            rc = check_users(value, err);
        } else if (value != NULL) {
            rc = fl_settings_set(&settings, keys[i], value, err);
        }
    }
    if (rc == 0) {
        rc = fl_settings_check(&settings, err);
    }
    fl_arena_deinit(&settings.arena);
    return rc == 0 ? 0 : refuse(err);
}

/* ---- changing ---- */

static const char *current_value(const fl_server *server, const fl_config_set *set, size_t index)
{
    return set->values[index] != NULL ? set->values[index] : server->initial.sasl_credentials;
}

/* Whether an item "name:…" of a list is of this user. */
static bool is_of_user(fl_slice item, fl_slice name)
{
    return item.size >= name.size && memcmp(item.data, name.data, name.size) == 0 &&
           (item.size == name.size || item.data[name.size] == ':');
}

static fluss_code_t append_user(const char *list, fl_slice user, fl_buf *out, fluss_error_t *err)
{
    if (list[0] != '\0') {
        FL_TRY(fl_buf_append(out, list, strlen(list), err));
        FL_TRY(fl_buf_append(out, ",", 1, err));
    }
    return fl_buf_append_slice(out, user, err);
}

static fluss_code_t subtract_user(const char *list, fl_slice user, fl_buf *out, fluss_error_t *err)
{
    const uint8_t *colon = memchr(user.data, ':', user.size);
    const fl_slice name =
        fl_slice_of(user.data, colon != NULL ? (size_t)(colon - user.data) : user.size);
    while (*list != '\0') {
        const size_t size = strcspn(list, ",");
        if (!is_of_user(fl_slice_of(list, size), name)) {
            if (out->size != 0) {
                FL_TRY(fl_buf_append(out, ",", 1, err));
            }
            FL_TRY(fl_buf_append(out, list, size, err));
        }
        list += size + (list[size] == ',' ? 1 : 0);
    }
    return 0;
}

/* Add to, or take from, the list of users. */
static fluss_code_t edit_users(const fl_server *server, const fl_msg_pb_alter_config *change,
                               fl_config_set *set, size_t index, fluss_error_t *err)
{
    fl_buf list;
    if (!is_users(index)) {
        return fl_error(err, FLUSS_E_CONFIG_EXCEPTION, FLUSS_KIND_SERVER,
                        "The setting '%s' is no list: it can be set and reset, not %s.",
                        keys[index],
                        change->op_type == OPERATION_APPEND ? "added to" : "taken from");
    }
    const char *old = current_value(server, set, index);
    fl_buf_init(&list, VALUE_SIZE_MAX);
    fluss_code_t rc = change->op_type == OPERATION_APPEND
                          ? append_user(old, change->config_value, &list, err)
                          : subtract_user(old, change->config_value, &list, err);
    const fl_slice value = fl_slice_of(list.size != 0 ? list.data : (const void *)"", list.size);
    if (rc == 0 && !fl_config_set_put(set, index, value)) {
        rc = fl_error_nomem(err);
    }
    fl_buf_deinit(&list);
    return rc;
}

static fluss_code_t plan_one(const fl_server *server, const fl_msg_pb_alter_config *change,
                             fl_config_set *set, fluss_error_t *err)
{
    size_t index;
    if (!fl_config_find(change->config_key, &index)) {
        return refuse_key(change->config_key, err);
    }
    if (change->op_type < OPERATION_SET || change->op_type > OPERATION_SUBTRACT) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "The setting '%s' with the operation %d: expected 0 (set), 1 (delete), 2 "
                        "(append) or 3 (subtract).",
                        keys[index], (int)change->op_type);
    }
    if (change->op_type == OPERATION_DELETE) {
        fl_free(set->values[index]);
        set->values[index] = NULL;
        return 0;
    }
    const fl_slice value = change->config_value;
    if (!change->has_config_value || value.size == 0 || value.size > VALUE_SIZE_MAX ||
        memchr(value.data, '\0', value.size) != NULL) {
        return fl_error(err, FLUSS_E_CONFIG_EXCEPTION, FLUSS_KIND_SERVER,
                        "The setting '%s' needs a value of 1 to %d bytes without NUL.", keys[index],
                        (int)VALUE_SIZE_MAX);
    }
    if (change->op_type != OPERATION_SET) {
        return edit_users(server, change, set, index, err);
    }
    return fl_config_set_put(set, index, value) ? 0 : fl_error_nomem(err);
}

fluss_code_t fl_config_plan(const fl_server *server, const fl_msg_pb_alter_config *changes,
                            size_t count, fl_config_set *planned, fluss_error_t *err)
{
    const fl_config_set *now = fl_catalog_configs(server->catalog);
    *planned = (fl_config_set){0};
    for (size_t i = 0; i < FL_CONFIG_COUNT; i++) {
        if (now->values[i] != NULL &&
            !fl_config_set_put(planned, i, fl_slice_str(now->values[i]))) {
            return fl_error_nomem(err);
        }
    }
    for (size_t i = 0; i < count; i++) {
        FL_TRY(plan_one(server, &changes[i], planned, err));
    }
    return check_set(server, planned, err);
}

/* ---- effect ---- */

static void use_users(fl_server *server, const char *value)
{
    fl_arena arena;
    fl_sasl_users users;
    fluss_error_t err;
    fl_arena_init(&arena);
    if (fl_sasl_users_parse(value, &arena, &users, &err) != 0) {
        fl_log(FL_LOG_WARNING, "server", "the users stay as they are: %s", err.message);
        fl_arena_deinit(&arena);
        return;
    }
    fl_arena_deinit(&server->users_arena);
    server->users_arena = arena;
    server->users = users;
}

void fl_config_apply(fl_server *server, const fl_config_set *set)
{
    fluss_error_t err;
    if (check_set(server, set, &err) != 0) {
        fl_log(FL_LOG_WARNING, "server", "settings that were changed at run time don't count: %s",
               err.message);
        return;
    }
    server->settings.disk_limit = server->initial.disk_limit;
    server->settings.disk_recover = server->initial.disk_recover;
    server->settings.roll_active = server->initial.roll_active;
    for (size_t i = 0; i < FL_CONFIG_COUNT; i++) {
        if (is_users(i)) {
            use_users(server, current_value(server, set, i));
        } else if (set->values[i] != NULL &&
                   fl_settings_set(&server->settings, keys[i], set->values[i], &err) != 0) {
            fl_log(FL_LOG_WARNING, "server", "%s", err.message);
        }
    }
    atomic_store(&server->rolls_active, server->settings.roll_active);
}
