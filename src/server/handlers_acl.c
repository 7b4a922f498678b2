/* SPDX-License-Identifier: Apache-2.0 */
/* ACLs: create, list, drop. To change those of a resource a user needs ALL on it, for a table on
 * its database; to see them, DESCRIBE. The ACLs of a request are committed together. Source:
 * DefaultAuthorizer, Fluss 1.0. */
#include "server/catalog.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

static fl_acls *acls_of(const fl_request *req)
{
    return fl_catalog_acls(fl_request_server(req)->catalog);
}

static fluss_code_t check_enabled(const fl_request *req, fluss_error_t *err)
{
    return fl_request_server(req)->settings.authorizer_enabled
               ? 0
               : fl_error(err, FLUSS_E_SECURITY_DISABLED, FLUSS_KIND_SERVER,
                          "No authorizer is configured ('authorizer.enabled' is false): everyone "
                          "who can connect may do everything. To have rights, start the server "
                          "with authorizer.enabled=true.");
}

/* Whether the user may change the ACLs of the resource that an ACL is about. */
static fluss_code_t check_change(const fl_request *req, const fl_acl *acl, fluss_error_t *err)
{
    fl_resource what = fl_acl_resource(acl);
    if (what.type == FL_RESOURCE_TABLE) {
        what = (fl_resource){.type = FL_RESOURCE_DATABASE, .database = what.database};
    }
    return fl_access_require(req, FL_OPERATION_ALL, &what, err);
}

/* Views of all ACLs. */
static fluss_code_t all_acls(fl_request *req, fl_acl **all, size_t *count, fluss_error_t *err)
{
    *count = fl_acls_count(acls_of(req));
    *all = fl_arena_array(&req->arena, *count, sizeof(fl_acl));
    if (*all == NULL) {
        return fl_error_nomem(err);
    }
    fl_acls_copy(acls_of(req), *all, *count);
    return 0;
}

/* ---- create ---- */

static fluss_code_t add_all(fl_request *req, fluss_error_t *err)
{
    const fl_msg_create_acls_request *asked = req->message;
    for (size_t i = 0; i < asked->acl_count; i++) {
        if (!fl_acls_add(acls_of(req), &asked->acl[i])) {
            return fl_error_nomem(err);
        }
    }
    return 0;
}

static void created(fl_change *change)
{
    fl_request *req = change->context;
    const fl_msg_create_acls_request *asked = req->message;
    if (change->error.code != 0 || add_all(req, &change->error) != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    fl_msg_pb_create_acl_resp_info *results =
        fl_arena_array(&req->arena, asked->acl_count, sizeof(results[0]));
    if (results == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    for (size_t i = 0; i < asked->acl_count; i++) {
        results[i].acl = asked->acl[i];
        results[i].has_error_code = true;
    }
    const fl_msg_create_acls_response response = {.acl_res = results,
                                                  .acl_res_count = asked->acl_count};
    fl_request_reply(req, &response);
}

static fluss_code_t plan_create(fl_request *req, fl_kv_write *write, fluss_error_t *err)
{
    const fl_msg_create_acls_request *asked = req->message;
    FL_TRY(check_enabled(req, err));
    for (size_t i = 0; i < asked->acl_count; i++) {
        FL_TRY(fl_acl_check(&asked->acl[i], err));
    }
    for (size_t i = 0; i < asked->acl_count; i++) {
        FL_TRY(check_change(req, &asked->acl[i], err));
        FL_TRY(fl_catalog_put_acl(write, &asked->acl[i], err));
    }
    const size_t count = fl_acls_count(acls_of(req));
    return asked->acl_count <= FL_ACLS_MAX - count
               ? 0
               : fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                          "%zu more ACLs beside %zu; at most %d are possible", asked->acl_count,
                          count, (int)FL_ACLS_MAX);
}

void fl_handle_create_acls(fl_request *req)
{
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, 0);
    if (write == NULL) {
        return;
    }
    if (plan_create(req, write, &err) != 0) {
        fl_kv_write_free(write);
        fl_request_fail(req, &err);
    } else {
        fl_change_commit(req->change, write, created);
    }
}

/* ---- list ---- */

static fluss_code_t list(fl_request *req, fl_msg_list_acls_response *response, fluss_error_t *err)
{
    const fl_msg_list_acls_request *asked = req->message;
    size_t count;
    FL_TRY(check_enabled(req, err));
    FL_TRY(fl_acl_filter_check(&asked->acl_filter, err));
    FL_TRY(all_acls(req, &response->acl, &count, err));
    for (size_t i = 0; i < count; i++) {
        const fl_acl acl = response->acl[i];
        const fl_resource what = fl_acl_resource(&acl);
        if (fl_acl_filter_fits(&asked->acl_filter, &acl) &&
            fl_access_allows(req, FL_OPERATION_DESCRIBE, &what)) {
            response->acl[response->acl_count++] = acl;
        }
    }
    return 0;
}

/* The texts of the answer are copied when it is encoded. */
void fl_handle_list_acls(fl_request *req)
{
    fl_msg_list_acls_response response = {0};
    fluss_error_t err;
    if (list(req, &response, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}

/* ---- drop ---- */

enum { FILTERS_MAX = 1000 };

typedef struct drop_state {
    fl_acl *all;
    int32_t *filters; /* the first filter that fits each; -1: none */
    size_t count;
} drop_state;

static fluss_code_t plan_drop(fl_request *req, fl_kv_write *write, fluss_error_t *err)
{
    const fl_msg_drop_acls_request *asked = req->message;
    drop_state *state = req->state;
    FL_TRY(check_enabled(req, err));
    if (asked->acl_filter_count > FILTERS_MAX) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "%zu filters of ACLs; at most %d are possible", asked->acl_filter_count,
                        (int)FILTERS_MAX);
    }
    for (size_t i = 0; i < asked->acl_filter_count; i++) {
        FL_TRY(fl_acl_filter_check(&asked->acl_filter[i], err));
    }
    FL_TRY(all_acls(req, &state->all, &state->count, err));
    state->filters = fl_arena_array(&req->arena, state->count, sizeof(state->filters[0]));
    if (state->filters == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < state->count; i++) {
        state->filters[i] = -1;
        for (size_t j = 0; j < asked->acl_filter_count && state->filters[i] < 0; j++) {
            if (fl_acl_filter_fits_resource(&asked->acl_filter[j], &state->all[i])) {
                FL_TRY(check_change(req, &state->all[i], err));
            }
            if (fl_acl_filter_fits(&asked->acl_filter[j], &state->all[i])) {
                state->filters[i] = (int32_t)j;
                FL_TRY(fl_catalog_delete_acl(write, &state->all[i], err));
            }
        }
    }
    return 0;
}

/* What each filter has dropped. */
static fluss_code_t fill_dropped(fl_request *req, fl_msg_drop_acls_response *response,
                                 fluss_error_t *err)
{
    const fl_msg_drop_acls_request *asked = req->message;
    const drop_state *state = req->state;
    response->filter_results_count = asked->acl_filter_count;
    response->filter_results =
        fl_arena_array(&req->arena, asked->acl_filter_count, sizeof(response->filter_results[0]));
    if (response->filter_results == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < state->count; i++) {
        if (state->filters[i] >= 0) {
            response->filter_results[state->filters[i]].matching_acls_count++;
        }
    }
    for (size_t j = 0; j < asked->acl_filter_count; j++) {
        fl_msg_pb_drop_acls_filter_result *result = &response->filter_results[j];
        result->matching_acls = fl_arena_array(&req->arena, result->matching_acls_count,
                                               sizeof(result->matching_acls[0]));
        if (result->matching_acls == NULL) {
            return fl_error_nomem(err);
        }
        result->matching_acls_count = 0;
    }
    for (size_t i = 0; i < state->count; i++) {
        if (state->filters[i] >= 0) {
            fl_msg_pb_drop_acls_filter_result *result =
                &response->filter_results[state->filters[i]];
            result->matching_acls[result->matching_acls_count++].acl = state->all[i];
        }
    }
    return 0;
}

/* The answer views the ACLs in memory, so it is made before they go: by a copy of each. */
static fluss_code_t copy_dropped(fl_request *req, fluss_error_t *err)
{
    const drop_state *state = req->state;
    for (size_t i = 0; i < state->count; i++) {
        if (state->filters[i] < 0) {
            continue;
        }
        fl_acl *acl = &state->all[i];
        fl_slice *const texts[] = {&acl->resource_name, &acl->principal_type, &acl->principal_name,
                                   &acl->host};
        for (size_t j = 0; j < FL_COUNT_OF(texts); j++) {
            texts[j]->data =
                (const uint8_t *)fl_arena_strndup(&req->arena, texts[j]->data, texts[j]->size);
            if (texts[j]->data == NULL) {
                return fl_error_nomem(err);
            }
        }
    }
    return 0;
}

static void dropped(fl_change *change)
{
    fl_request *req = change->context;
    const drop_state *state = req->state;
    fl_msg_drop_acls_response response = {0};
    if (change->error.code != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    for (size_t i = 0; i < state->count; i++) {
        if (state->filters[i] >= 0) {
            fl_acls_remove(acls_of(req), &state->all[i]);
        }
    }
    if (fill_dropped(req, &response, &change->error) != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    fl_request_reply(req, &response);
}

void fl_handle_drop_acls(fl_request *req)
{
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, sizeof(drop_state));
    if (write == NULL) {
        return;
    }
    if (plan_drop(req, write, &err) != 0 || copy_dropped(req, &err) != 0) {
        fl_kv_write_free(write);
        fl_request_fail(req, &err);
    } else {
        fl_change_commit(req->change, write, dropped);
    }
}
