/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that an administrator can change while the server runs (ALTER_CLUSTER_CONFIGS):
 * those that the official cluster lets change, but for the ones of remote and lake storage, which
 * this server has not. A changed value beats the one that the server was started with, and stays
 * over restarts. Thread: shard 0, or before the first request. */
#ifndef FL_CLUSTER_CONFIG_H
#define FL_CLUSTER_CONFIG_H
#include "base/arena.h"
#include "protocol/messages.h"

typedef struct fl_server fl_server;

enum { FL_CONFIG_COUNT = 10 };

/** Values by the index of their key. NULL: not changed. */
typedef struct fl_config_set {
    char *values[FL_CONFIG_COUNT];
} fl_config_set;

const char *fl_config_key(size_t index);
/** The index of a key; false: it can't be changed at run time. */
bool fl_config_find(fl_slice key, size_t *index);

/** Set a copy of a value. false: out of memory. */
FLUSS_CHECKED bool fl_config_set_put(fl_config_set *set, size_t index, fl_slice value);
void fl_config_set_deinit(fl_config_set *set);

/**
 * What the settings will be after changes; all of them or none.
 *
 * @param planned overwritten; ended by fl_config_set_deinit, also after a failure
 * @return FLUSS_E_CONFIG_EXCEPTION: a key that can't be changed, a value that is not of its kind or
 * out of range, an operation that its kind has not
 */
FLUSS_CHECKED fluss_code_t fl_config_plan(const fl_server *server,
                                          const fl_msg_pb_alter_config *changes, size_t count,
                                          fl_config_set *planned, fluss_error_t *err);
/** Let a set take effect. Values that the server does not take are left out and logged. */
void fl_config_apply(fl_server *server, const fl_config_set *set);
/** A value as it may be shown: without passwords. NULL: out of memory. */
const char *fl_config_shown(const char *key, const char *value, fl_arena *arena);
#endif
