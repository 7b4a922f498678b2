/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by tablet.c (a tablet in use) and tablets.c (the tablets of a shard). */
#ifndef FL_TABLET_PRIVATE_H
#define FL_TABLET_PRIVATE_H
#include "server/tablet.h"

enum { FL_TABLET_DIR_SIZE = 4096, FL_TABLET_NAME_SIZE = 900 };

/** The directory of the tablet's log. @param dir room of FL_TABLET_DIR_SIZE bytes */
FLUSS_CHECKED fluss_code_t fl_tablet_dir(const fl_tablet *tablet, char *dir, fluss_error_t *err);
/** Open the rows of a primary-key table, whose log is open (tablet_kv.c). */
FLUSS_CHECKED fluss_code_t fl_tablet_open_kv(fl_tablet *tablet, fluss_error_t *err);
/** Close the rows, which no round works with. */
void fl_tablet_close_kv(fl_tablet *tablet);
/** Make a round commit the rows below a log offset: tablet->commit, NULL when there are none, or
 * when the key-value store does not take rows now. */
void fl_tablet_begin_commit(fl_tablet *tablet, int64_t offset);
/** End that. What the key-value store does not take now is tried again later (kv_stalls.h).
 * @param is_run the log was safe, so it ran @return true: the writes that it was about are over,
 * also where the store has failed */
bool fl_tablet_end_commit(fl_tablet *tablet, bool is_run);
/** What follows where no round runs: the next one, or the removal. */
void fl_tablet_go_on(fl_tablet *tablet);
/** End all waiting writes: the server stops. */
void fl_tablet_give_up(fl_tablet *tablet);
/** Fire all waiting fetches. */
void fl_tablet_wake(fl_tablet *tablet);
/** Remove the files of a dropped tablet that nothing uses any more, off the loop, and free it. */
void fl_tablet_remove(fl_tablet *tablet);
#endif
