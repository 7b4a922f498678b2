/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss server`: a server in the foreground. Options and configuration file become settings of
 * fluss_server_start; the last one of a key counts, options after the file. */
#include <errno.h>
#include <fluss/fluss_server.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd.h"

enum { TEXT_SIZE = 64 << 10, STOP_TIMEOUT_MS = 10000 };

static const char help[] =
    "usage: fluss server [OPTION …]\n"
    "\n"
    "  --data-dir DIR               directory of all data, made when missing; without it a\n"
    "                               temporary one, removed when the server stops\n"
    "  --listen HOST:PORT           default 127.0.0.1:9123; port 0: any free one\n"
    "  --sasl-listen HOST:PORT      a second address, for SASL/PLAIN clients\n"
    "  --sasl-user NAME:PASSWORD    a user of it; can be repeated\n"
    "  --config FILE                lines `key: value` or `key=value`\n"
    "  -o KEY=VALUE                 one setting; can be repeated\n"
    "  --settings                   print all settings and leave\n"
    "  --verbose                    log more\n"
    "\n"
    "When it answers, it prints `listening on HOST:PORT`, and the same for SASL. SIGTERM, SIGINT\n"
    "or SIGHUP stop it.\n";

typedef struct options {
    fluss_kv_t *settings;
    size_t count, capacity;
    const char *listen, *sasl_listen;
    char users[TEXT_SIZE];
    bool is_verbose;
} options;

static int complain(const char *format, const char *what)
{
    (void)fputs("fluss server: ", stderr);
    (void)fprintf(stderr, "%s%s\n", format, what);
    return 2;
}

/* ---- settings ---- */

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy == NULL) {
        (void)fputs("fluss server: out of memory\n", stderr);
        exit(1);
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static void add(options *self, const char *key, size_t key_size, const char *value)
{
    if (self->count == self->capacity) {
        const size_t wanted = self->capacity == 0 ? 16 : self->capacity * 2;
        fluss_kv_t *grown = realloc(self->settings, wanted * sizeof(*grown));
        if (grown == NULL) {
            (void)fputs("fluss server: out of memory\n", stderr);
            exit(1);
        }
        self->settings = grown;
        self->capacity = wanted;
    }
    self->settings[self->count++] =
        (fluss_kv_t){.key = copy_of(key, key_size), .value = copy_of(value, strlen(value))};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* "key: value" or "key=value"; blanks around both, and quotes around the value, do not count. */
static bool add_pair(options *self, char *text)
{
    size_t size = strlen(text);
    while (size != 0 && is_blank(text[size - 1])) {
        text[--size] = '\0';
    }
    while (is_blank(*text)) {
        text++;
    }
    size_t key_size = strcspn(text, ":=");
    if (text[key_size] == '\0' || key_size == 0) {
        return false;
    }
    char *value = text + key_size + 1;
    while (key_size != 0 && is_blank(text[key_size - 1])) {
        key_size--;
    }
    while (is_blank(*value)) {
        value++;
    }
    const size_t value_size = strlen(value);
    if (value_size >= 2 && (value[0] == '"' || value[0] == '\'') &&
        value[value_size - 1] == value[0]) {
        value[value_size - 1] = '\0';
        value++;
    }
    add(self, text, key_size, value);
    return true;
}

static int read_config(options *self, const char *path)
{
    char line[TEXT_SIZE];
    int number = 0, status = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        (void)fprintf(stderr, "fluss server: can't read %s: %s\n", path, strerror(errno));
        return 1;
    }
    while (status == 0 && fgets(line, sizeof(line), file) != NULL) {
        number++;
        if (strchr(line, '\n') == NULL && feof(file) == 0) {
            (void)fprintf(stderr,
                          "fluss server: %s, line %d: longer than %d bytes, or it holds a zero "
                          "byte; no configuration file\n",
                          path, number, TEXT_SIZE - 2);
            status = 2;
            break;
        }
        const char *at = line + strspn(line, " \t\r\n");
        if (*at != '\0' && *at != '#' && !add_pair(self, line)) {
            (void)fprintf(stderr, "fluss server: %s, line %d: expected `key: value`\n", path,
                          number);
            status = 2;
        }
    }
    if (ferror(file) != 0) {
        (void)fprintf(stderr, "fluss server: can't read %s: %s\n", path, strerror(errno));
        status = 1;
    }
    (void)fclose(file);
    return status;
}

static int add_user(options *self, const char *user)
{
    const char *colon = strchr(user, ':');
    if (colon == NULL || colon == user || colon[1] == '\0') {
        (void)fprintf(stderr, "fluss server: --sasl-user: expected NAME:PASSWORD: no %s\n",
                      colon == NULL   ? "colon"
                      : colon == user ? "name"
                                      : "password");
        return 2;
    }
    const size_t used = strlen(self->users);
    const int size = snprintf(self->users + used, sizeof(self->users) - used, "%s%s",
                              used != 0 ? "," : "", user);
    return size < 0 || (size_t)size >= sizeof(self->users) - used ? complain("too many users", "")
                                                                  : 0;
}

/* ---- options ---- */

static int use_option(options *self, const char *name, char *value)
{
    if (strcmp(name, "--data-dir") == 0 && value[0] == '\0') {
        /* a variable of a shell that is not set must not cost the data */
        return complain("--data-dir: the path is empty; leave the option out for a temporary one",
                        "");
    }
    if (strcmp(name, "--data-dir") == 0) {
        add(self, "data.dir", strlen("data.dir"), value);
        return 0;
    }
    if (strcmp(name, "--listen") == 0) {
        self->listen = value;
        return 0;
    }
    if (strcmp(name, "--sasl-listen") == 0) {
        self->sasl_listen = value;
        return 0;
    }
    if (strcmp(name, "--sasl-user") == 0) {
        return add_user(self, value);
    }
    if (strcmp(name, "--config") == 0) {
        return read_config(self, value);
    }
    if (strcmp(name, "-o") == 0) {
        return add_pair(self, value) ? 0 : complain("-o: expected KEY=VALUE, found ", value);
    }
    return complain("unknown option ", name);
}

static void print_row(const char *row, void *user)
{
    (void)user;
    (void)puts(row);
}

static bool takes_value(const char *name)
{
    static const char *const names[] = {"--data-dir",  "--listen", "--sasl-listen",
                                        "--sasl-user", "--config", "-o"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* -1: go on; else the exit status. */
static int read_options(options *self, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char name[64]; /* longer than any option: what is cut is unknown */
        char *equals = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL;
        const int size = equals != NULL ? (int)(equals - argv[i]) : (int)strlen(argv[i]);
        const bool is_attached = strncmp(argv[i], "-o", 2) == 0 && argv[i][2] != '\0';
        (void)snprintf(name, sizeof(name), "%.*s", is_attached ? 2 : size, argv[i]);
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
            (void)fputs(help, stdout);
            return 0;
        }
        if (strcmp(name, "--settings") == 0) {
            fluss_server_describe_settings(print_row, NULL);
            return 0;
        }
        if (strcmp(name, "--verbose") == 0) {
            self->is_verbose = true;
            continue;
        }
        if (!takes_value(name)) {
            return complain("unknown option ", argv[i]);
        }
        char *value = is_attached      ? argv[i] + 2
                      : equals != NULL ? equals + 1
                      : i + 1 < argc   ? argv[++i]
                                       : NULL;
        if (value == NULL) {
            return complain("a value is missing after ", name);
        }
        const int status = use_option(self, name, value);
        if (status != 0) {
            return status;
        }
    }
    return -1;
}

/* The value that counts, which is the last; "" when there is none. */
static const char *value_of(const options *self, const char *key)
{
    for (size_t i = self->count; i > 0; i--) {
        if (strcmp(self->settings[i - 1].key, key) == 0) {
            return self->settings[i - 1].value;
        }
    }
    return "";
}

/* Listeners and users of options become settings. */
static void finish_settings(options *self)
{
    char listeners[TEXT_SIZE];
    if (self->listen != NULL || self->sasl_listen != NULL ||
        value_of(self, "bind.listeners")[0] == '\0') {
        (void)snprintf(listeners, sizeof(listeners), "FLUSS://%s%s%s",
                       self->listen != NULL ? self->listen : "127.0.0.1:9123",
                       self->sasl_listen != NULL ? ",SASL://" : "",
                       self->sasl_listen != NULL ? self->sasl_listen : "");
        add(self, "bind.listeners", strlen("bind.listeners"), listeners);
    }
    if (self->sasl_listen != NULL) {
        add(self, "security.protocol.map", strlen("security.protocol.map"), "SASL:SASL");
    }
    if (self->users[0] != '\0') {
        add(self, "security.sasl.plain.credentials", strlen("security.sasl.plain.credentials"),
            self->users);
    }
}

/* ---- warnings ---- */

/* Whether NAME://HOST:PORT is reached from this machine only. */
static bool is_local(const char *listener, size_t size)
{
    static const char *const hosts[] = {"://127.", "://localhost:", "://[::1]:", "://unix:"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        const char *at = strstr(listener, hosts[i]);
        if (at != NULL && at < listener + size) {
            return true;
        }
    }
    return false;
}

/* Whether security.protocol.map has NAME:SASL for the listener's name. */
static bool asks_for_users(const options *self, const char *listener)
{
    char wanted[256];
    (void)snprintf(wanted, sizeof(wanted), "%.*s:SASL", (int)strcspn(listener, ":"), listener);
    const size_t size = strlen(wanted);
    const char *at = value_of(self, "security.protocol.map");
    while (*at != '\0') {
        at += strspn(at, ", ");
        if (strncasecmp(at, wanted, size) == 0) {
            return true;
        }
        at += strcspn(at, ",");
    }
    return false;
}

/* Said before the start: a listener that others reach, without users and without rights. */
static void warn(const options *self)
{
    if (value_of(self, "data.dir")[0] == '\0') {
        (void)fputs("fluss server: all data is in a temporary directory, which is removed at the "
                    "end; --data-dir DIR keeps it\n",
                    stderr);
    }
    if (strcasecmp(value_of(self, "authorizer.enabled"), "true") == 0) {
        return;
    }
    const char *at = value_of(self, "bind.listeners");
    while (*at != '\0') {
        at += strspn(at, ", ");
        const size_t size = strcspn(at, ", ");
        if (size != 0 && !is_local(at, size) && !asks_for_users(self, at)) {
            (void)fprintf(stderr,
                          "fluss server: warning: whoever reaches %.*s may read and change all "
                          "data; --sasl-listen asks for users\n",
                          (int)size, at);
        }
        at += size;
    }
}

/* ---- running ---- */

static void log_line(int level, const char *component, const char *text, void *user)
{
    static const char *const names[] = {"", "", "", "error", "warning", "", "info", "debug"};
    (void)user;
    (void)fprintf(stderr, "%s %s: %s\n", level >= 0 && level < 8 ? names[level] : "", component,
                  text);
}

/* A line of standard output. It may be closed: the server runs all the same. */
static void announce(const char *endpoint)
{
    if (endpoint != NULL && dprintf(STDOUT_FILENO, "listening on %s\n", endpoint) < 0) {
        (void)fprintf(stderr, "fluss server: listening on %s; standard output: %s\n", endpoint,
                      strerror(errno));
    }
}

/* Wait for a signal that stops the server. Ctrl-C once more ends the process at once: what was
 * acknowledged is safe. */
static void wait_for_stop(const sigset_t *stops)
{
    int number = 0;
    while (sigwait(stops, &number) != 0) {
    }
    sigset_t interrupt;
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

/* SIGTERM, SIGINT, and SIGHUP if the terminal's end shall be ours too. */
static void block_stops(sigset_t *stops)
{
    struct sigaction on_hangup;
    (void)sigemptyset(stops);
    (void)sigaddset(stops, SIGTERM);
    (void)sigaddset(stops, SIGINT);
    if (sigaction(SIGHUP, NULL, &on_hangup) == 0 && on_hangup.sa_handler != SIG_IGN) {
        (void)sigaddset(stops, SIGHUP);
    }
    (void)sigprocmask(SIG_BLOCK, stops, NULL); /* also in the threads of the server */
}

/* As many open files as the system allows. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int serve(const options *self)
{
    fluss_server_t *server = NULL;
    fluss_error_t err;
    sigset_t stops;
    block_stops(&stops);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a full disk */
    raise_file_limit();
    fluss_server_set_log(log_line, self->is_verbose ? 7 : 4, NULL);
    if (fluss_server_start(self->settings, self->count, &server, &err) != 0) {
        (void)fprintf(stderr, "fluss server: %s\n", err.message);
        return 1;
    }
    announce(fluss_server_endpoint(server));
    announce(fluss_server_sasl_endpoint(server));
    wait_for_stop(&stops);
    const int status = fluss_server_stop(server, STOP_TIMEOUT_MS, &err) == 0 ? 0 : 1;
    if (status != 0) {
        (void)fprintf(stderr, "fluss server: %s\n", err.message);
    }
    fluss_server_free(server);
    return status;
}

static void free_options(options *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free((void *)(uintptr_t)self->settings[i].key);
        free((void *)(uintptr_t)self->settings[i].value);
    }
    free(self->settings);
    free(self);
}

int cmd_server(int argc, char **argv)
{
    options *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        (void)fputs("fluss server: out of memory\n", stderr);
        return 1;
    }
    int status = read_options(self, argc, argv);
    if (status == -1) {
        finish_settings(self);
        warn(self);
        status = serve(self);
    }
    free_options(self);
    return status;
}
