/* SPDX-License-Identifier: Apache-2.0 */
/* The first words on a connection: API_VERSIONS, and AUTHENTICATE with SASL/PLAIN when asked for.
 * Other calls wait until this is over. Their numbers mean nothing to calls.
 * Source: protocol of Fluss 1.0; a Java server ends PLAIN with an empty challenge, ours with none.
 */
#include <fluss/fluss.h>
#include <string.h>

#include "base/alloc.h"
#include "client/rpc_private.h"

enum { VERSIONS_ID = INT32_MAX - 1, AUTHENTICATE_ID = INT32_MAX };

static fluss_code_t send(fl_node *node, fl_api_key key, int32_t request_id, const void *message,
                         fluss_error_t *err)
{
    fl_gather out;
    fl_gather_init(&out);
    const fl_api *api = fl_api_find((int16_t)key);
    const fl_request_header header = {.api_key = api->key, .request_id = request_id};
    const fluss_code_t rc = fl_request_encode(header, api->request, message, &out, err);
    if (rc == 0) {
        fl_conn_send(node->conn, &out);
    }
    fl_gather_deinit(&out);
    return rc;
}

void fl_handshake_start(fl_node *node)
{
    const fl_msg_api_versions_request request = {
        .client_software_name = fl_slice_str("libfluss"),
        .client_software_version = fl_slice_str(fluss_version_string()),
    };
    fluss_error_t err;
    if (send(node, FL_API_API_VERSIONS, VERSIONS_ID, &request, &err) != 0) {
        fl_node_fail(node, &err);
    }
}

static void finish(fl_node *node)
{
    node->state = FL_NODE_READY;
    node->failed_count = 0;
    fl_timer_stop(node->timer);
    fl_node_send_waiting(node);
}

static fluss_code_t send_plain(fl_node *node, fluss_error_t *err)
{
    const fluss_config_t *config = node->rpc->config;
    const char *user = fl_config_text(&config->sasl_username, config);
    const char *password = fl_config_text(&config->sasl_password, config);
    const size_t user_size = strlen(user), password_size = strlen(password);
    const size_t size = user_size + password_size + 2;
    uint8_t *token = fl_calloc(1, size);
    if (token == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(token + 1, user, user_size);
    memcpy(token + 2 + user_size, password, password_size);
    /* A token of 1 KiB and more would be sent by reference, and this one is wiped below. */
    const fl_msg_authenticate_request request = {.protocol = fl_slice_str("PLAIN"),
                                                 .token = fl_slice_of(token, size)};
    fluss_code_t rc = size < 1024 ? send(node, FL_API_AUTHENTICATE, AUTHENTICATE_ID, &request, err)
                                  : fl_error_argument(err, "security.sasl.username and .password "
                                                           "are longer than 1021 bytes");
    explicit_bzero(token, size);
    fl_free(token);
    return rc;
}

static void keep_versions(fl_node *node, const fl_msg_api_versions_response *response)
{
    memset(node->version_max, 0xFF, sizeof(node->version_max));
    for (size_t i = 0; i < response->api_versions_count; i++) {
        const fl_msg_pb_api_version *api = &response->api_versions[i];
        const int64_t index = (int64_t)api->api_key - FL_API_KEY_MIN;
        if (index >= 0 && index < FL_API_KEY_COUNT && api->min_version >= 0 &&
            api->max_version >= api->min_version && api->max_version <= INT16_MAX) {
            node->version_min[index] = (int16_t)api->min_version;
            node->version_max[index] = (int16_t)api->max_version;
        }
    }
}

static fluss_code_t on_versions(fl_node *node, fl_slice body, fluss_error_t *err)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fl_msg_api_versions_response response;
    fluss_code_t rc =
        fl_msg_decode(&fl_msg_desc_api_versions_response, body, &arena, &response, err);
    if (rc == 0) {
        keep_versions(node, &response);
        if (node->rpc->config->security_protocol.number == FL_SECURITY_SASL) {
            rc = send_plain(node, err);
        } else {
            finish(node);
        }
    }
    fl_arena_deinit(&arena);
    return rc;
}

static fluss_code_t on_authenticated(fl_node *node, fl_slice body, fluss_error_t *err)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fl_msg_authenticate_response response;
    fluss_code_t rc =
        fl_msg_decode(&fl_msg_desc_authenticate_response, body, &arena, &response, err);
    if (rc == 0 && response.has_challenge && response.challenge.size > 0) {
        rc = fl_error(err, FLUSS_E_AUTHENTICATE_EXCEPTION, FLUSS_KIND_SERVER,
                      "the server answers SASL/PLAIN with a challenge of %zu bytes",
                      response.challenge.size);
    }
    if (rc == 0) {
        finish(node);
    }
    fl_arena_deinit(&arena);
    return rc;
}

void fl_handshake_again(fl_node *node)
{
    fluss_error_t err;
    if (send_plain(node, &err) != 0) {
        fl_node_fail(node, &err);
    }
}

void fl_handshake_response(fl_node *node, fl_slice frame)
{
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    fluss_error_t err;
    fluss_code_t rc = fl_response_parse(frame, &type, &request_id, &body, &err);
    if (rc == 0 && type != FL_RESPONSE_SUCCESS) {
        fl_error_response_decode(body, &err);
        rc = err.code;
        if (rc == FLUSS_E_RETRIABLE_AUTHENTICATE && request_id == AUTHENTICATE_ID) {
            fl_node_authenticate_later(node);
            return; /* the calls that wait end the attempts */
        }
    } else if (rc == 0 && request_id == VERSIONS_ID) {
        rc = on_versions(node, body, &err);
    } else if (rc == 0 && request_id == AUTHENTICATE_ID) {
        rc = on_authenticated(node, body, &err);
    } else if (rc == 0) {
        rc = fl_error_corrupt(&err, "unexpected response %d in the handshake", request_id);
    }
    if (rc != 0) {
        fl_error_prefix(&err, "handshake with %s: ", node->address);
        fl_node_fail(node, &err);
    }
}
