/* SPDX-License-Identifier: Apache-2.0 */
/* Servers and fork. The child of a process with a server has the storage engine's memory but none
 * of its threads. So stop and free leave the parent's server alone (server.c compares process ids),
 * exit() passes the engine's clean-up over (net/exit_guard.h), and a server can't be started: the
 * engine would wait for ever for threads that it believes to have. */
#include "server/process.h"

#include <stdatomic.h>
#include <unistd.h>

fluss_code_t fl_process_enter(fluss_error_t *err)
{
    static atomic_long first_pid; /* of the process that started the first server; 0: none */
    long found = 0;
    const long pid = (long)getpid();
    if (atomic_compare_exchange_strong(&first_pid, &found, pid) || found == pid) {
        return 0;
    }
    return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                    "process %ld was forked from process %ld, in which a server ran: start the "
                    "server in a process that did not inherit one",
                    pid, found);
}
