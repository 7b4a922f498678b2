/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and its like, for commands that read or print without an end. */
#ifndef FL_CLI_INTERRUPT_H
#define FL_CLI_INTERRUPT_H

/** From now on the first SIGINT, SIGTERM or SIGHUP only asks the command to end in good order; the
 * second one ends the process, such as one whose output nobody reads. Signals that are ignored, as
 * under nohup, stay so. */
void cli_interrupt_catch(void);
/** Whether such a signal came. */
int cli_interrupted(void);
/** A descriptor that becomes readable when such a signal comes, to be waited for together with
 * another; -1: there is none. Borrowed. */
int cli_interrupt_fd(void);
/** End the process by the signal that came, as its parent expects; return if none did. */
void cli_interrupt_end(void);
#endif
