/* SPDX-License-Identifier: Apache-2.0 */
/* A scanner asks its servers again as soon as they have answered, at the latest after half a
 * second; so no answer for some seconds means that none of them is there. */
#include "away.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { AWAY_MS = 3000 };

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How many responses the connection has got; -1: not known. */
static int64_t count_responses(fluss_conn_t *conn)
{
    fluss_result_t *metrics = NULL;
    int64_t count = -1;
    (void)fluss_metrics(conn, &metrics, NULL);
    for (size_t i = 0; i < fluss_result_rows(metrics); i++) {
        if (strcmp(fluss_result_str(metrics, i, "name"), "fluss_client_responses_total") == 0) {
            count = fluss_result_i64(metrics, i, "value", -1);
        }
    }
    fluss_result_free(metrics);
    return count;
}

void cli_away_look(cli_away *away, const cli_remote *remote)
{
    const int64_t now = now_ms(), responses = count_responses(remote->conn);
    if (away->heard_ms == 0 || responses != away->responses) {
        if (away->is_said) {
            (void)fprintf(stderr, "fluss %s: the server answers again\n", remote->command);
        }
        *away = (cli_away){.responses = responses, .heard_ms = now};
    } else if (!away->is_said && now - away->heard_ms >= AWAY_MS) {
        char why[CLI_TROUBLE_SIZE];
        cli_trouble_text(remote, why);
        (void)fprintf(stderr, "fluss %s: no answer for %d seconds, waiting%s%s\n", remote->command,
                      AWAY_MS / 1000, why[0] != '\0' ? "; last: " : "", why);
        away->is_said = true;
    }
}
