/* SPDX-License-Identifier: Apache-2.0 */
/* What the client knows of the cluster: its servers, and for tables and partitions the leader of
 * each bucket. Filled by GET_METADATA, merged, refreshed when a user of it finds it wrong.
 * Everything: Thread: loop. */
#ifndef FL_METADATA_H
#define FL_METADATA_H
#include "client/client.h"
#include "protocol/messages.h"

enum { FL_NO_LEADER = -1, FL_NO_PARTITION = -1 };

typedef struct fl_server {
    int32_t id;
    bool is_coordinator;
    char address[FL_ADDRESS_SIZE_MAX];
    char rack[64];
} fl_server;

/** The leaders of one table, or of one partition of it. */
typedef struct fl_leaders {
    int64_t table_id, partition_id; /* FL_NO_PARTITION: none */
    size_t bucket_count;
    int32_t *leader_ids; /* FL_NO_LEADER */
} fl_leaders;

/** What to ask for. */
typedef struct fl_metadata_want {
    const char *database, *table; /* NULL: the servers only */
    const char *partition;        /* name, or NULL */
    int64_t partition_id;         /* where the name is NULL; FL_NO_PARTITION: none */
} fl_metadata_want;

/** @param err NULL: refreshed */
typedef void (*fl_metadata_done)(void *context, const fluss_error_t *err);

/** gives. `client` outlives it. */
fl_metadata *fl_metadata_new(fl_client *client) FLUSS_CHECKED;
void fl_metadata_free(fl_metadata *metadata);
/** Fail what waits. */
void fl_metadata_close(fl_metadata *metadata, const fluss_error_t *why);

/**
 * Ask the cluster. Requests made while one is under way travel together in the next; a table the
 * server does not know is FLUSS_E_TABLE_NOT_EXIST, a partition FLUSS_E_PARTITION_NOT_EXISTS. A
 * server that can't be reached is replaced by another, at last by the bootstrap addresses; all of
 * it ends within the request timeout, of which each server that is asked has its share.
 *
 * @param done once, never from inside
 * @return out of memory or closed: `done` is not called
 */
FLUSS_CHECKED fluss_code_t fl_metadata_refresh(fl_metadata *metadata, fl_metadata_want want,
                                               fl_metadata_done done, void *context,
                                               fluss_error_t *err);
/** Address of the coordinator, borrowed until the next refresh. @return retriable: the cluster
 * names none */
FLUSS_CHECKED fluss_code_t fl_metadata_coordinator(const fl_metadata *metadata,
                                                   const char **address, fluss_error_t *err);
/** Send a request to the coordinator; `done` as in fl_call_spec. No coordinator known: an error. */
FLUSS_CHECKED fluss_code_t fl_metadata_ask_coordinator(fl_metadata *metadata, fl_api_key key,
                                                       const void *message, fl_call_done done,
                                                       void *context, fluss_error_t *err);
/** Ask whose a table's name is by now; the answer is for fl_metadata_check_owner. */
FLUSS_CHECKED fluss_code_t fl_metadata_ask_owner(fl_metadata *metadata, const char *database,
                                                 const char *table, fl_call_done done,
                                                 void *context, fluss_error_t *err);
/** Whether the name is still that of the table with this id. @return the failure of the call, or
 * FLUSS_E_TABLE_NOT_EXIST: it is another table's */
FLUSS_CHECKED fluss_code_t fl_metadata_check_owner(const char *database, const char *table,
                                                   int64_t table_id, const fl_reply *reply,
                                                   const fluss_error_t *failure,
                                                   fluss_error_t *err);
/** A table's path in a message; views both texts. */
fl_msg_pb_table_path fl_metadata_path(const char *database, const char *table);
/** Address of a tablet server, another one each time; NULL: none known. */
const char *fl_metadata_any_server(fl_metadata *metadata);
/** Address of a server by id; NULL: not known. */
const char *fl_metadata_server(const fl_metadata *metadata, int32_t id);
size_t fl_metadata_server_count(const fl_metadata *metadata);
const fl_server *fl_metadata_server_at(const fl_metadata *metadata, size_t i);
/** Leaders by id; NULL: not known. Borrowed until the next refresh. */
const fl_leaders *fl_metadata_leaders(const fl_metadata *metadata, int64_t table_id,
                                      int64_t partition_id);
/** Leader of a bucket; FL_NO_LEADER. */
int32_t fl_metadata_leader(const fl_metadata *metadata, const fluss_bucket_t *bucket);
/** Id of a partition by name; FL_NO_PARTITION: not known. */
int64_t fl_metadata_partition(const fl_metadata *metadata, int64_t table_id, const char *name);
/** Name of a partition; NULL: not known. */
const char *fl_metadata_partition_name(const fl_metadata *metadata, int64_t partition_id);
/** Whether another table has the name of this one, which so is gone. @param err says so */
bool fl_metadata_is_replaced(const fl_metadata *metadata, const char *database, const char *table,
                             int64_t table_id, fluss_error_t *err);
/** Forget a bucket's leader, which turned out to be wrong. */
void fl_metadata_forget_leader(fl_metadata *metadata, const fluss_bucket_t *bucket);
#endif
