/* SPDX-License-Identifier: Apache-2.0 */
/* All open scanners of a client. */
#ifndef FL_SCANNERS_H
#define FL_SCANNERS_H
#include "client/client.h"

/** End all fetching; polls that wait fail. Thread: loop. */
void fl_scanners_close(fl_client *client, const fluss_error_t *why);
#endif
