/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners. Their settings are comma lists: bind.listeners and advertised.listeners of
 * NAME://ADDRESS (a bare ADDRESS is named FLUSS), security.protocol.map of NAME:PROTOCOL. */
#include "server/listeners.h"

#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "server/session.h"

/* The next item of a comma list, blanks around it cut off; empty: the end. */
static fl_slice next_item(const char **at)
{
    while (**at == ',' || **at == ' ') {
        (*at)++;
    }
    size_t size = strcspn(*at, ",");
    const char *item = *at;
    *at += size;
    while (size != 0 && item[size - 1] == ' ') {
        size--;
    }
    return fl_slice_of(item, size);
}

static const char *skip_slashes(const char *text)
{
    return text + strspn(text, "/");
}

/* Cut "NAME://ADDRESS"; "NAME://unix:PATH" keeps the path's own slashes. */
static fluss_code_t split(char *item, const char **name, const char **address, fluss_error_t *err)
{
    char *mark = strstr(item, "://");
    *name = "FLUSS";
    *address = item;
    if (mark != NULL && strncmp(item, "unix:", 5) != 0) {
        *mark = '\0';
        *name = item;
        *address = skip_slashes(mark + 1);
    }
    if ((*name)[0] == '\0' || (*address)[0] == '\0') {
        return fl_error_argument(err,
                                 "listener '%s': expected NAME://HOST:PORT or "
                                 "NAME://unix:PATH",
                                 item);
    }
    return 0;
}

static fl_endpoint *find(fl_server *server, const char *name, size_t size)
{
    for (size_t i = 0; i < server->endpoint_count; i++) {
        if (strlen(server->endpoints[i].name) == size &&
            strncasecmp(server->endpoints[i].name, name, size) == 0) {
            return &server->endpoints[i];
        }
    }
    return NULL;
}

static fluss_code_t add_endpoint(fl_server *server, char *item, fluss_error_t *err)
{
    fl_endpoint endpoint = {.server = server};
    char host[256];
    uint16_t port;
    FL_TRY(split(item, &endpoint.name, &endpoint.address, err));
    if (server->endpoint_count == FL_LISTENERS_MAX) {
        return fl_error_argument(err, "setting 'bind.listeners': more than %d listeners",
                                 (int)FL_LISTENERS_MAX);
    }
    if (find(server, endpoint.name, strlen(endpoint.name)) != NULL) {
        return fl_error_argument(err, "setting 'bind.listeners': two listeners are named '%s'",
                                 endpoint.name);
    }
    if (strncmp(endpoint.address, "unix:", 5) != 0) {
        FL_TRY(fl_address_parse(endpoint.address, host, sizeof(host), &port, err));
    }
    server->endpoints[server->endpoint_count++] = endpoint;
    return 0;
}

static fluss_code_t set_advertised(fl_server *server, char *item, fluss_error_t *err)
{
    const char *name, *address;
    char host[256];
    uint16_t port;
    FL_TRY(split(item, &name, &address, err));
    fl_endpoint *endpoint = find(server, name, strlen(name));
    if (endpoint == NULL) {
        return fl_error_argument(err,
                                 "setting 'advertised.listeners': no listener '%s' in "
                                 "'bind.listeners'",
                                 name);
    }
    FL_TRY(fl_address_parse(address, host, sizeof(host), &port, err));
    endpoint->advertised = address;
    return 0;
}

static fluss_code_t set_protocol(fl_server *server, char *item, fluss_error_t *err)
{
    const size_t size = strcspn(item, ":");
    const char *protocol = item[size] == ':' ? item + size + 1 : "";
    fl_endpoint *endpoint = find(server, item, size);
    const bool is_sasl = strcasecmp(protocol, "SASL") == 0;
    if (!is_sasl && strcasecmp(protocol, "PLAINTEXT") != 0) {
        return fl_error_argument(err,
                                 "setting 'security.protocol.map', '%s': expected "
                                 "NAME:PLAINTEXT or NAME:SASL",
                                 item);
    }
    if (endpoint == NULL) {
        return fl_error_argument(err,
                                 "setting 'security.protocol.map': no listener '%.*s' in "
                                 "'bind.listeners'",
                                 (int)size, item);
    }
    endpoint->needs_sasl = is_sasl;
    if (is_sasl && server->users.count == 0) {
        return fl_error_argument(err,
                                 "the listener %s asks for SASL, but "
                                 "'security.sasl.plain.credentials' names no user",
                                 endpoint->name);
    }
    return 0;
}

static fluss_code_t set_internal(fl_server *server, const char *name, fluss_error_t *err)
{
    fl_endpoint *endpoint = find(server, name, strlen(name));
    if (name[0] == '\0') {
        return 0;
    }
    if (endpoint == NULL) {
        return fl_error_argument(err,
                                 "setting 'internal.listener.name': no listener '%.100s' in "
                                 "'bind.listeners'",
                                 name);
    }
    endpoint->is_internal = true;
    return 0;
}

typedef fluss_code_t (*item_fn)(fl_server *server, char *item, fluss_error_t *err);

static fluss_code_t each_item(fl_server *server, const char *list, item_fn use, fluss_error_t *err)
{
    fl_slice item;
    while ((item = next_item(&list)).size != 0) {
        const char *copy = fl_arena_strndup(&server->settings.arena, item.data, item.size);
        if (copy == NULL) {
            return fl_error_nomem(err);
        }
        FL_TRY(use(server, (char *)(uintptr_t)copy, err));
    }
    return 0;
}

fluss_code_t fl_listeners_configure(fl_server *server, fluss_error_t *err)
{
    const fl_settings *settings = &server->settings;
    FL_TRY(each_item(server, settings->bind_listeners, add_endpoint, err));
    FL_TRY(each_item(server, settings->advertised_listeners, set_advertised, err));
    FL_TRY(each_item(server, settings->security_protocol_map, set_protocol, err));
    FL_TRY(set_internal(server, settings->internal_listener, err));
    return server->endpoint_count != 0
               ? 0
               : fl_error_argument(err, "setting 'bind.listeners' is empty");
}

/* ---- accepting ---- */

typedef struct arrival {
    fl_task task;
    fl_shard *shard;
    const fl_endpoint *endpoint;
    int fd;
} arrival;

static void run_arrival(fl_task *task)
{
    arrival *arrived = FL_CONTAINER_OF(task, arrival, task);
    fl_session_open(arrived->shard, arrived->endpoint, arrived->fd);
    fl_free(arrived);
}

static void on_accepted(int fd, void *context)
{
    const fl_endpoint *endpoint = context;
    fl_server *server = endpoint->server;
    arrival *arrived = fl_alloc(sizeof(*arrived));
    if (arrived == NULL ||
        atomic_load(&server->connection_count) >= server->settings.connections_max) {
        fl_log(FL_LOG_DEBUG, "server", "a connection is closed: too many (server.max-connections)");
        fl_free(arrived);
        (void)close(fd);
        return;
    }
    atomic_fetch_add(&server->connection_count, 1);
    fl_server_hold(server); /* until the session is freed */
    fl_shard *shard = &server->shards[server->next_shard++ % server->shard_count];
    *arrived = (arrival){.task.run = run_arrival, .shard = shard, .endpoint = endpoint, .fd = fd};
    fl_loop_post(shard->loop, &arrived->task);
}

fluss_code_t fl_listeners_open(fl_server *server, fluss_error_t *err)
{
    for (size_t i = 0; i < server->endpoint_count; i++) {
        fl_endpoint *endpoint = &server->endpoints[i];
        const fluss_code_t rc = fl_listener_open(server->shards[0].loop, endpoint->address,
                                                 on_accepted, endpoint, &endpoint->listener, err);
        if (rc != 0) {
            fl_listeners_close(server);
            return rc;
        }
        (void)snprintf(endpoint->bound, sizeof(endpoint->bound), "%s",
                       fl_listener_address(endpoint->listener));
    }
    return 0;
}

void fl_listeners_close(fl_server *server)
{
    for (size_t i = 0; i < server->endpoint_count; i++) {
        fl_listener_close(server->endpoints[i].listener);
        server->endpoints[i].listener = NULL;
    }
}
