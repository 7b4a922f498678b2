/* SPDX-License-Identifier: Apache-2.0 */
/* Options, connection and error lines of the commands that talk to a server. */
#include "remote.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S_DEFAULT = 30, TIMEOUT_S_MAX = 86400, USER_SIZE_MAX = 1024 };
enum { PARTITION_WAIT_MS_MAX = 5000, CLOSE_MS_FAILED = 1000, LOG_LEVEL_DEBUG = 7 };

/* The library tries again what can pass, and says why in a line of its log. It is kept for the case
 * that time runs out. */
struct cli_trouble {
    pthread_mutex_t lock;
    char text[CLI_TROUBLE_SIZE]; /* guarded by lock; "" when there was none */
};

void cli_begin(cli_remote *remote, char **argv, const char *usage)
{
    const char *servers = getenv("FLUSS_SERVER");
    *remote = (cli_remote){
        .command = argv[0],
        .usage = usage,
        .servers = servers != NULL && servers[0] != '\0' ? servers : "127.0.0.1:9123",
        .timeout_ms = TIMEOUT_S_DEFAULT * 1000,
    };
    (void)snprintf(remote->program, sizeof(remote->program), "fluss %s", argv[0]);
    argv[0] = remote->program;
    optind = 0; /* getopt may have run on another command line before */
}

static int point_to_help(const cli_remote *remote)
{
    (void)fprintf(stderr, "try `%s --help`\n", remote->program);
    return CLI_USAGE;
}

int cli_option(cli_remote *remote, int option)
{
    int64_t seconds;
    switch (option) {
    case CLI_OPT_SERVER:
        remote->servers = optarg;
        return -1;
    case CLI_OPT_JSON:
        remote->json = true;
        return -1;
    case CLI_OPT_USER:
        remote->user = optarg;
        return strchr(optarg, ':') != NULL
                   ? -1
                   : cli_usage(remote, "--user takes NAME:PASSWORD; there is no colon");
    case CLI_OPT_TIMEOUT:
        if (!cli_parse_number(optarg, 1, TIMEOUT_S_MAX, &seconds)) {
            return cli_usage(remote, "--timeout takes 1 to %d seconds, not '%s'", TIMEOUT_S_MAX,
                             optarg);
        }
        remote->timeout_ms = seconds * 1000;
        return -1;
    case CLI_OPT_HELP:
        (void)fputs(remote->usage, stdout);
        return CLI_OK;
    default: /* getopt has said what is wrong */
        return point_to_help(remote);
    }
}

int cli_read_options(cli_remote *remote, int argc, char **argv)
{
    static const struct option options[] = {CLI_REMOTE_OPTIONS};
    int option;
    while ((option = getopt_long(argc, argv, CLI_REMOTE_LETTERS, options, NULL)) != -1) {
        const int status = cli_option(remote, option);
        if (status != -1) {
            return status;
        }
    }
    return -1;
}

int cli_usage(const cli_remote *remote, const char *format, ...)
{
    va_list args;
    (void)fprintf(stderr, "fluss %s: ", remote->command);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return point_to_help(remote);
}

static fluss_code_t set_user(cli_remote *remote, fluss_config_t *config)
{
    const char *colon = strchr(remote->user, ':');
    char name[USER_SIZE_MAX];
    (void)snprintf(name, sizeof(name), "%.*s", (int)(colon - remote->user), remote->user);
    const struct {
        const char *key, *value;
    } settings[] = {
        {"security.protocol", "sasl"},
        {"security.sasl.username", name},
        {"security.sasl.password", colon + 1},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        const fluss_code_t rc =
            fluss_config_set(config, settings[i].key, settings[i].value, &remote->err);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static fluss_code_t set_ms(cli_remote *remote, fluss_config_t *config, const char *key, int64_t ms)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld", (long long)ms);
    return fluss_config_set(config, key, text, &remote->err);
}

/* A row for a partition that is not there fails by itself, and names it, before the call gives up;
 * one for which there is no room waits no longer than a call. */
static fluss_code_t set_waits(cli_remote *remote, fluss_config_t *config)
{
    const int64_t half_ms = remote->timeout_ms / 2;
    const fluss_code_t rc =
        set_ms(remote, config, "writer.partition-wait-timeout-ms",
               half_ms < PARTITION_WAIT_MS_MAX ? half_ms : PARTITION_WAIT_MS_MAX);
    return rc != 0 ? rc
                   : set_ms(remote, config, "writer.buffer.wait-timeout-ms", remote->timeout_ms);
}

/* Thread: any. */
static void note_trouble(int level, const char *component, const char *text, void *user)
{
    cli_trouble *trouble = user;
    (void)level;
    (void)component;
    (void)pthread_mutex_lock(&trouble->lock);
    (void)snprintf(trouble->text, sizeof(trouble->text), "%s", text);
    (void)pthread_mutex_unlock(&trouble->lock);
}

/* Never freed: threads of the library may use it as long as the process lives. */
static void watch_trouble(cli_remote *remote)
{
    remote->trouble = calloc(1, sizeof(*remote->trouble));
    if (remote->trouble != NULL) {
        (void)pthread_mutex_init(&remote->trouble->lock, NULL);
        fluss_set_log(note_trouble, LOG_LEVEL_DEBUG, remote->trouble);
    }
}

int cli_connect(cli_remote *remote)
{
    watch_trouble(remote);
    fluss_config_t *config = fluss_config_new();
    if (config == NULL) {
        (void)snprintf(remote->err.message, sizeof(remote->err.message), "out of memory");
        return cli_fail(remote);
    }
    fluss_code_t rc = fluss_config_set(config, "bootstrap.servers", remote->servers, &remote->err);
    if (rc == 0) {
        rc = set_waits(remote, config);
    }
    if (rc == 0 && remote->user != NULL) {
        rc = set_user(remote, config);
    }
    if (rc == 0) {
        rc = fluss_await_conn(fluss_connect(config), remote->timeout_ms, &remote->conn,
                              &remote->err);
    }
    fluss_config_free(config);
    return rc == 0 ? CLI_OK : cli_fail(remote);
}

void cli_trouble_text(const cli_remote *remote, char text[CLI_TROUBLE_SIZE])
{
    text[0] = '\0';
    if (remote->trouble != NULL) {
        (void)pthread_mutex_lock(&remote->trouble->lock);
        memcpy(text, remote->trouble->text, CLI_TROUBLE_SIZE);
        (void)pthread_mutex_unlock(&remote->trouble->lock);
    }
}

int cli_fail(const cli_remote *remote)
{
    char why[CLI_TROUBLE_SIZE] = "";
    if (remote->err.kind == FLUSS_KIND_TIMEOUT) {
        cli_trouble_text(remote, why);
    }
    const bool lacks_user =
        remote->err.code == FLUSS_E_AUTHENTICATE_EXCEPTION && remote->user == NULL;
    (void)fprintf(stderr, "fluss %s: %s%s%s%s\n", remote->command, remote->err.message,
                  why[0] != '\0' ? "; last: " : "", why,
                  lacks_user ? " (sign in with --user NAME:PASSWORD)" : "");
    return CLI_FAILED;
}

int cli_end(cli_remote *remote, int status)
{
    if (remote->conn != NULL) {
        const int64_t wait_ms = status == CLI_OK ? remote->timeout_ms : CLOSE_MS_FAILED;
        const fluss_code_t rc = fluss_await(fluss_close(remote->conn), wait_ms, &remote->err);
        if (rc != 0 && status == CLI_OK) {
            status = cli_fail(remote);
        }
        fluss_conn_free(remote->conn);
        remote->conn = NULL;
    }
    return status;
}

int cli_finish(cli_remote *remote, fluss_future_t *future)
{
    const bool done = fluss_await(future, remote->timeout_ms, &remote->err) == 0;
    return cli_end(remote, done ? CLI_OK : cli_fail(remote));
}

bool cli_parse_path(char *text, fluss_path_t *path)
{
    char *dot = strchr(text, '.');
    if (dot == NULL || dot == text || dot[1] == '\0' || strchr(dot + 1, '.') != NULL) {
        return false;
    }
    *dot = '\0';
    *path = (fluss_path_t){.database = text, .table = dot + 1};
    return true;
}

bool cli_parse_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

size_t cli_split(char *text, const char **parts, size_t max)
{
    size_t count = 0;
    char *at = text;
    while (at != NULL) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*at == '\0' || count == max) {
            return 0;
        }
        parts[count++] = at;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return count;
}
