/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of the server: settings at run time, its tag, and rebalancing, which one server
 * answers as an official cluster of one. */
#include <stdio.h>
#include <sys/random.h>

#include "server/catalog.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

/* ---- settings ---- */

static bool describe(fl_request *req, const char *key, const char *value, const char *source,
                     fl_msg_pb_describe_config *out)
{
    const char *shown = fl_config_shown(key, value, &req->arena);
    if (shown == NULL) {
        return false;
    }
    *out = (fl_msg_pb_describe_config){.config_key = fl_slice_str(key),
                                       .has_config_value = true,
                                       .config_value = fl_slice_str(shown),
                                       .config_source = fl_slice_str(source)};
    return true;
}

/* What was changed at run time, and what the server was started with where that still counts. */
void fl_handle_describe_cluster_configs(fl_request *req)
{
    const fl_settings *settings = &fl_request_server(req)->settings;
    const fl_config_set *changed = fl_catalog_configs(fl_request_server(req)->catalog);
    fl_msg_describe_cluster_configs_response response = {0};
    response.configs = fl_arena_array(&req->arena, settings->given_count + FL_CONFIG_COUNT,
                                      sizeof(response.configs[0]));
    bool is_complete = response.configs != NULL;
    for (size_t i = 0; i < settings->given_count && is_complete; i++) {
        const fluss_kv_t *given = &settings->given[i];
        size_t index;
        if (!fl_config_find(fl_slice_str(given->key), &index) || changed->values[index] == NULL) {
            is_complete = describe(req, given->key, given->value, "INITIAL_SERVER_CONFIG",
                                   &response.configs[response.configs_count++]);
        }
    }
    for (size_t i = 0; i < FL_CONFIG_COUNT && is_complete; i++) {
        if (changed->values[i] != NULL) {
            is_complete =
                describe(req, fl_config_key(i), changed->values[i], "DYNAMIC_SERVER_CONFIG",
                         &response.configs[response.configs_count++]);
        }
    }
    if (!is_complete) {
        fl_request_fail_nomem(req);
        return;
    }
    fl_request_reply(req, &response);
}

static void configs_committed(fl_change *change)
{
    fl_request *req = change->context;
    fl_config_set *planned = req->state;
    fl_config_set *current = fl_catalog_configs(change->catalog);
    if (change->error.code != 0) {
        fl_config_set_deinit(planned);
        fl_request_fail(req, &change->error);
        return;
    }
    fl_config_set_deinit(current);
    *current = *planned;
    fl_config_apply(fl_request_server(req), current);
    fl_request_reply_empty(req);
}

void fl_handle_alter_cluster_configs(fl_request *req)
{
    const fl_msg_alter_cluster_configs_request *asked = req->message;
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, sizeof(fl_config_set));
    if (write == NULL) {
        return;
    }
    fl_config_set *planned = req->state;
    if (fl_config_plan(fl_request_server(req), asked->alter_configs, asked->alter_configs_count,
                       planned, &err) != 0 ||
        fl_catalog_put_configs(write, planned, &err) != 0) {
        fl_config_set_deinit(planned);
        fl_kv_write_free(write);
        fl_request_fail(req, &err);
    } else {
        fl_change_commit(req->change, write, configs_committed);
    }
}

/* ---- the tag of the server ---- */

static const char *const tag_names[] = {"PERMANENT_OFFLINE", "TEMPORARY_OFFLINE"};

static fluss_code_t check_tag(int32_t tag, fluss_error_t *err)
{
    return tag >= 0 && tag < (int32_t)FL_COUNT_OF(tag_names)
               ? 0
               : fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                          "a server tag %d: expected 0 (PERMANENT_OFFLINE) or 1 "
                          "(TEMPORARY_OFFLINE)",
                          (int)tag);
}

static void tag_committed(fl_change *change)
{
    fl_request *req = change->context;
    const int32_t *tag = req->state;
    if (change->error.code != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    *fl_catalog_server_tag(change->catalog) = *tag;
    fl_request_reply_empty(req);
}

static void commit_tag(fl_request *req, int32_t tag)
{
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, sizeof(tag));
    if (write == NULL) {
        return;
    }
    *(int32_t *)req->state = tag;
    if (fl_catalog_put_server_tag(write, tag, &err) != 0) {
        fl_kv_write_free(write);
        fl_request_fail(req, &err);
        return;
    }
    fl_change_commit(req->change, write, tag_committed);
}

static fluss_code_t plan_add_tag(const fl_msg_add_server_tag_request *asked, int32_t now,
                                 fluss_error_t *err)
{
    FL_TRY(check_tag(asked->server_tag, err));
    for (size_t i = 0; i < asked->server_ids_count; i++) {
        if (asked->server_ids[i] != FL_SERVER_ID) {
            return fl_error(err, FLUSS_E_SERVER_NOT_EXIST, FLUSS_KIND_SERVER,
                            "There is no server %d; the only one is %d.", (int)asked->server_ids[i],
                            (int)FL_SERVER_ID);
        }
        if (now >= 0 && now != asked->server_tag) {
            return fl_error(err, FLUSS_E_SERVER_TAG_ALREADY_EXIST, FLUSS_KIND_SERVER,
                            "The server %d has the tag %s already; remove it first.",
                            (int)FL_SERVER_ID, tag_names[now]);
        }
    }
    return 0;
}

void fl_handle_add_server_tag(fl_request *req)
{
    const fl_msg_add_server_tag_request *asked = req->message;
    const int32_t now = *fl_catalog_server_tag(fl_request_server(req)->catalog);
    fluss_error_t err;
    if (plan_add_tag(asked, now, &err) != 0) {
        fl_request_fail(req, &err);
    } else {
        commit_tag(req, asked->server_ids_count != 0 ? asked->server_tag : now);
    }
}

/* A server that is not there, or has no tag, has none afterwards: that is no error. */
void fl_handle_remove_server_tag(fl_request *req)
{
    const fl_msg_remove_server_tag_request *asked = req->message;
    const int32_t now = *fl_catalog_server_tag(fl_request_server(req)->catalog);
    fluss_error_t err;
    bool is_ours = false;
    for (size_t i = 0; i < asked->server_ids_count; i++) {
        is_ours |= asked->server_ids[i] == FL_SERVER_ID;
    }
    if (check_tag(asked->server_tag, &err) != 0) {
        fl_request_fail(req, &err);
    } else if (is_ours && now >= 0 && now != asked->server_tag) {
        (void)fl_error(&err, FLUSS_E_SERVER_TAG_NOT_EXIST, FLUSS_KIND_SERVER,
                       "The server %d has not the tag %s, but %s.", (int)FL_SERVER_ID,
                       tag_names[asked->server_tag], tag_names[now]);
        fl_request_fail(req, &err);
    } else {
        commit_tag(req, is_ours ? -1 : now);
    }
}

/* ---- rebalancing: done as soon as it begins, for one server has nothing to move ---- */

enum { GOAL_LAST = 2 /* rack aware */, STATUS_COMPLETED = 3 };

static fluss_code_t check_goals(const fl_msg_rebalance_request *asked, fluss_error_t *err)
{
    for (size_t i = 0; i < asked->goals_count; i++) {
        if (asked->goals[i] < 0 || asked->goals[i] > GOAL_LAST) {
            return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                            "a goal %d: expected 0 (replicas), 1 (leaders) or 2 (racks)",
                            (int)asked->goals[i]);
        }
    }
    return 0;
}

/* A random UUID, version 4. */
static fluss_code_t new_rebalance_id(char id[FL_REBALANCE_ID_SIZE], fluss_error_t *err)
{
    uint8_t b[16];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) {
        return fl_error(err, FLUSS_E_REBALANCE_FAILURE, FLUSS_KIND_SERVER,
                        "the system gives no random numbers");
    }
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    size_t used = 0;
    for (size_t i = 0; i < sizeof(b); i++) {
        const bool is_part = i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(id + used, FL_REBALANCE_ID_SIZE - used, "%s%02x",
                                 is_part ? "-" : "", b[i]);
    }
    return 0;
}

static void rebalance_committed(fl_change *change)
{
    fl_request *req = change->context;
    char *last = fl_catalog_rebalance_id(change->catalog);
    if (change->error.code != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    memcpy(last, req->state, FL_REBALANCE_ID_SIZE);
    const fl_msg_rebalance_response response = {.rebalance_id = fl_slice_str(last)};
    fl_request_reply(req, &response);
}

void fl_handle_rebalance(fl_request *req)
{
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, FL_REBALANCE_ID_SIZE);
    if (write == NULL) {
        return;
    }
    if (check_goals(req->message, &err) != 0 || new_rebalance_id(req->state, &err) != 0 ||
        fl_catalog_put_rebalance_id(write, req->state, &err) != 0) {
        fl_kv_write_free(write);
        fl_request_fail(req, &err);
        return;
    }
    fl_change_commit(req->change, write, rebalance_committed);
}

/* Whether an id names the last rebalance, or there was none. */
static fluss_code_t check_rebalance_id(const fl_request *req, bool has_id, fl_slice id,
                                       fluss_error_t *err)
{
    const char *last = fl_catalog_rebalance_id(fl_request_server(req)->catalog);
    return !has_id || last[0] == '\0' || fl_slice_equal_str(id, last)
               ? 0
               : fl_error(err, FLUSS_E_NO_REBALANCE_IN_PROGRESS, FLUSS_KIND_SERVER,
                          "The last rebalance is %s, not %.*s.", last, FL_SLICE_ARG(id));
}

void fl_handle_list_rebalance_progress(fl_request *req)
{
    const fl_msg_list_rebalance_progress_request *asked = req->message;
    const char *last = fl_catalog_rebalance_id(fl_request_server(req)->catalog);
    const bool is_known = last[0] != '\0';
    fluss_error_t err;
    if (check_rebalance_id(req, asked->has_rebalance_id, asked->rebalance_id, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    const fl_msg_list_rebalance_progress_response response = {.has_rebalance_id = is_known,
                                                              .rebalance_id = fl_slice_str(last),
                                                              .has_rebalance_status = is_known,
                                                              .rebalance_status = STATUS_COMPLETED};
    fl_request_reply(req, &response);
}

/* There is nothing to cancel, which is what the caller wants. */
void fl_handle_cancel_rebalance(fl_request *req)
{
    const fl_msg_cancel_rebalance_request *asked = req->message;
    fluss_error_t err;
    if (check_rebalance_id(req, asked->has_rebalance_id, asked->rebalance_id, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply_empty(req);
}
