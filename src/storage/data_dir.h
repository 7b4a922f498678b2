/* SPDX-License-Identifier: Apache-2.0 */
/* The data directory of a server: ours alone while it is open, and of a format that we know. */
#ifndef FL_DATA_DIR_H
#define FL_DATA_DIR_H
#include "base/error.h"

typedef struct fl_data_dir fl_data_dir;

enum { FL_DATA_FORMAT_VERSION = 1 };

/**
 * Make or open a data directory (with its parents) and lock it against other processes and other
 * opens in this one. The lock goes with the process, also by kill -9.
 *
 * @param dir gives (fl_data_dir_close)
 * @return FLUSS_E_CLIENT with kind STATE: in use, names the process when known; kind UNSUPPORTED:
 * made by a newer version, nothing is touched; kind ARGUMENT: not a directory, or one with other
 * things in it; FLUSS_E_STORAGE_EXCEPTION: cannot be read or written, with the reason
 */
FLUSS_CHECKED fluss_code_t fl_data_dir_open(const char *path, fl_data_dir **dir,
                                            fluss_error_t *err);
/** Unlock. NULL allowed. */
void fl_data_dir_close(fl_data_dir *dir);
/** views; valid until close. */
const char *fl_data_dir_path(const fl_data_dir *dir);
#endif
