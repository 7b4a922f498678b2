/* SPDX-License-Identifier: Apache-2.0 */
/* The first requests of a connection: API_VERSIONS and AUTHENTICATE. */
#include <strings.h>

#include "protocol/messages.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"
#include "server/session.h"

/* server_type stays unset: this server is coordinator and tablet server at once, and clients then
 * skip the check of roles. */
void fl_handle_api_versions(fl_request *req)
{
    size_t count;
    const fl_handler *all = fl_handler_all(&count);
    fl_msg_pb_api_version *versions = fl_arena_array(&req->arena, count, sizeof(versions[0]));
    if (versions == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const fl_api *api = fl_api_find(all[i].key);
        versions[i] = (fl_msg_pb_api_version){
            .api_key = api->key, .min_version = api->version_min, .max_version = api->version_max};
    }
    const fl_msg_api_versions_response response = {.api_versions = versions,
                                                   .api_versions_count = count};
    fl_request_reply(req, &response);
}

static fluss_code_t check_mechanism(const fl_session *session, fl_slice protocol,
                                    fluss_error_t *err)
{
    const char *wanted = session->endpoint->needs_sasl ? "PLAIN" : "plaintext";
    if (protocol.size == strlen(wanted) &&
        strncasecmp((const char *)protocol.data, wanted, protocol.size) == 0) {
        return 0;
    }
    return fl_error(err, FLUSS_E_AUTHENTICATE_EXCEPTION, FLUSS_KIND_ARGUMENT,
                    "authentication by '%.*s' is not enabled on the listener %s; enabled is: %s",
                    (int)(protocol.size < 64 ? protocol.size : 64), (const char *)protocol.data,
                    session->endpoint->name, wanted);
}

/* Thread: home. */
static void finish_login(fl_request *req)
{
    fl_session *session = req->session;
    const fl_slice *user = req->state;
    const fl_msg_authenticate_response response = {.has_challenge = true};
    memcpy(session->user, user->data, user->size);
    session->user[user->size] = '\0';
    session->is_authenticated = true;
    fl_access_begin(session);
    fl_request_reply(req, &response);
}

/* The users change at run time, and are those of shard 0. */
static fluss_code_t check_password(fl_request *req, fluss_error_t *err)
{
    const fl_msg_authenticate_request *asked = req->message;
    fl_slice name;
    FL_TRY(fl_sasl_plain_check(&fl_request_server(req)->users, asked->token, &name, err));
    fl_slice *user = fl_arena_alloc(&req->arena, sizeof(*user));
    const char *copy = fl_arena_strndup(&req->arena, (const char *)name.data, name.size);
    if (user == NULL || copy == NULL) {
        return fl_error_nomem(err);
    }
    *user = fl_slice_of(copy, name.size);
    req->state = user;
    return 0;
}

/* The answer to the right password has an empty challenge, as the official server's. Rust clients
 * then ask a second time, without a token; that, and any further one, is answered without. */
void fl_handle_authenticate(fl_request *req)
{
    const fl_msg_authenticate_request *asked = req->message;
    const fl_session *session = req->session;
    const fl_msg_authenticate_response response = {0};
    fluss_error_t err;
    if (check_mechanism(session, asked->protocol, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    if (session->is_authenticated) {
        fl_request_reply(req, &response);
    } else if (check_password(req, &err) != 0) {
        fl_request_fail(req, &err);
    } else {
        fl_request_walk_home(req, finish_login);
    }
}
