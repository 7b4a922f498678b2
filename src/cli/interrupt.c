/* SPDX-License-Identifier: Apache-2.0 */
/* The handler only notes the signal: whoever reads or prints asks for it between two rows, so that
 * rows are whole and those that were read are sent. A signal that comes between that question and
 * a wait is not missed, because the handler also writes into a pipe, which the wait watches. Writes
 * are not cut: stdio loses what it was about to write. */
#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* A handler can reach nothing else. */
static volatile sig_atomic_t caught;
static int ends[2] = {-1, -1}; /* of the pipe: read, write */

static void on_signal(int number)
{
    const int before = errno;
    caught = number;
    if (ends[1] >= 0) {
        (void)!write(ends[1], "", 1);
    }
    errno = before;
}

void cli_interrupt_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        ends[0] = ends[1] = -1;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before,
            action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
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

int cli_interrupt_fd(void)
{
    return ends[0];
}

void cli_interrupt_end(void)
{
    if (caught != 0) {
        (void)raise((int)caught); /* its handler is the default one again */
    }
}
