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
/** Let readers see the rows whose changelog is on disk. false: the key-value store does not take
 * them now. */
bool fl_tablet_commit(fl_tablet *tablet);
/** Commit, and end the writes that waited for it; what the key-value store does not take now is
 * tried again later. */
void fl_tablet_settle(fl_tablet *tablet);
/** The same, and what follows where no sync runs: the next one, or the removal. */
void fl_tablet_go_on(fl_tablet *tablet);
/** End all waiting writes: the server stops. */
void fl_tablet_give_up(fl_tablet *tablet);
/** Fire all waiting fetches. */
void fl_tablet_wake(fl_tablet *tablet);
/** Remove the files of a dropped tablet that nothing uses any more, off the loop, and free it. */
void fl_tablet_remove(fl_tablet *tablet);
#endif
