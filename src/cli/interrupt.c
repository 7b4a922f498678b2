/* SPDX-License-Identifier: Apache-2.0 */
/* The handler only notes the signal: whoever reads or prints asks for it between two rows, so that
 * rows are whole and those that were read are sent. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught; /* a handler can reach nothing else */

static void on_signal(int number)
{
    caught = number;
}

void cli_interrupt_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
        (void)sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

int cli_interrupted(void)
{
    return caught != 0;
}

void cli_interrupt_end(void)
{
    if (caught != 0) {
        (void)raise((int)caught); /* its handler is the default one again */
    }
}
