/* SPDX-License-Identifier: Apache-2.0 */
/* The public objects that travel in futures: what future.c must know of them. */
#ifndef FL_CLIENT_OBJECTS_H
#define FL_CLIENT_OBJECTS_H
#include <fluss/fluss_admin.h>
#include <fluss/fluss_scan.h>

#include "client/future.h"

/** The user took the value out of its future: records and batches are no longer given back to
 * their scanner when they are freed. */
void fl_value_taken(fl_value *value);
#endif
