/* SPDX-License-Identifier: Apache-2.0 */
/* Telling that the servers are away, once, and that they are back, for commands that wait for rows
 * without an end. */
#ifndef FL_CLI_AWAY_H
#define FL_CLI_AWAY_H
#include "remote.h"

typedef struct cli_away {
    int64_t responses; /* that came so far */
    int64_t heard_ms;  /* when the last of them was seen; 0: not looked yet */
    bool is_said;
} cli_away;

/** Look whether the servers answer, and say on standard error when that changed. To be called more
 * often than once a second. @param away zeroed before the first call */
void cli_away_look(cli_away *away, const cli_remote *remote);
#endif
