/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and its like, for commands that read or print without an end. */
#ifndef FL_CLI_INTERRUPT_H
#define FL_CLI_INTERRUPT_H

/** From now on the first SIGINT, SIGTERM or SIGHUP only asks the command to end in good order, and
 * ends a read of a standard stream early; the second one ends the process. Signals that are
 * ignored, as under nohup, stay so. */
void cli_interrupt_catch(void);
/** Whether such a signal came. */
int cli_interrupted(void);
/** End the process by the signal that came, as its parent expects; return if none did. */
void cli_interrupt_end(void);
#endif
