/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text: "host:port", "[v6]:port", "unix:PATH". */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/conn_private.h"
#include "net/listener.h"

static fluss_code_t parse_port(const char *address, const char *text, uint16_t *port,
                               fluss_error_t *err)
{
    unsigned value = 0;
    const char *at = text;
    while (*at >= '0' && *at <= '9' && value <= UINT16_MAX) {
        value = value * 10 + (unsigned)(*at++ - '0');
    }
    if (at == text || *at != '\0' || value > UINT16_MAX) {
        return fl_error_argument(err, "address '%s': '%s' is no port, expected 0 to 65535", address,
                                 text);
    }
    *port = (uint16_t)value;
    return 0;
}

fluss_code_t fl_address_parse(const char *address, char *host, size_t host_size, uint16_t *port,
                              fluss_error_t *err)
{
    const char *colon = strrchr(address, ':');
    const char *from = address;
    if (colon == NULL) {
        return fl_error_argument(err, "address '%s' has no port, expected HOST:PORT", address);
    }
    const char *to = colon;
    if (*from == '[') {
        from++;
        to = colon - 1;
        if (to < from || *to != ']') {
            return fl_error_argument(err, "address '%s': expected [V6ADDRESS]:PORT", address);
        }
    } else if (memchr(from, ':', (size_t)(colon - from)) != NULL) {
        return fl_error_argument(err, "address '%s': put an IPv6 address in brackets, [::1]:9123",
                                 address);
    }
    const size_t size = (size_t)(to - from);
    if (size == 0 || size >= host_size) {
        return fl_error_argument(err, "address '%s': the host has %zu bytes, expected 1 to %zu",
                                 address, size, host_size - 1);
    }
    memcpy(host, from, size);
    host[size] = '\0';
    return parse_port(address, colon + 1, port, err);
}

fluss_code_t fl_address_unix(const char *address, struct sockaddr_un *out, fluss_error_t *err)
{
    const char *path = address + strlen("unix:");
    const size_t size = strlen(path);
    if (size == 0 || size >= sizeof(out->sun_path)) {
        return fl_error_argument(
            err, "address '%s': the path of a Unix socket has 1 to %zu bytes, not %zu", address,
            sizeof(out->sun_path) - 1, size);
    }
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, path, size + 1);
    return 0;
}

void fl_address_print(const struct sockaddr *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address != NULL && address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof(v4));
        (void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
        (void)snprintf(out, size, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
    } else if (address != NULL && address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof(v6));
        (void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
        (void)snprintf(out, size, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
    } else {
        (void)snprintf(out, size, "%s",
                       address != NULL && address->sa_family == AF_UNIX ? "unix" : "?");
    }
}
