/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of metadata.c (requests) and metadata_cache.c (what is known). */
#ifndef FL_METADATA_PRIVATE_H
#define FL_METADATA_PRIVATE_H
#include "base/containers.h"
#include "client/metadata.h"
#include "protocol/messages.h"

enum { FL_SOURCE_COUNT_MAX = 16 };

typedef struct fl_want {
    struct fl_want *next;
    char *database, *table, *partition; /* owned; NULL: servers only, no partition */
    int64_t partition_id;
    fl_metadata_done done;
    void *context;
    bool is_alone; /* not together with others */
} fl_want;

typedef struct fl_leaders_key {
    int64_t table_id, partition_id;
} fl_leaders_key;

typedef struct fl_leaders_entry {
    fl_leaders_key key;
    fl_leaders leaders;
    UT_hash_handle hh;
} fl_leaders_entry;

typedef struct fl_partition_entry {
    int64_t table_id, partition_id;
    UT_hash_handle hh; /* by key */
    size_t key_size;
    char key[]; /* table id, then the name, then a zero that does not count */
} fl_partition_entry;

typedef struct fl_name_entry {
    int64_t table_id;
    UT_hash_handle hh; /* by key */
    size_t key_size;
    char key[]; /* database, zero, table, zero */
} fl_name_entry;

struct fl_metadata {
    fl_client *client;
    fl_server *servers;
    size_t server_count, next_server;
    fl_leaders_entry *leaders;
    fl_partition_entry *partitions;
    fl_name_entry *names; /* the id that a table's name had in the last answer */
    bool is_known;        /* an answer has come */

    fl_want *waiting, **waiting_last;
    fl_want *active; /* in the request under way */
    char sources[FL_SOURCE_COUNT_MAX][FL_ADDRESS_SIZE_MAX];
    size_t source_count, source_at;
    int round, rounds_max;
    int64_t deadline_ms; /* of the request under way */
    char reasons[900];   /* why each source failed */
    fluss_error_t last_error;
    fl_task start;
    bool is_start_posted, is_closed;
};

/** Take over an answer. */
FLUSS_CHECKED fluss_code_t fl_metadata_merge(fl_metadata *metadata,
                                             const fl_msg_metadata_response *response,
                                             fluss_error_t *err);
/** Free all that is known. */
void fl_metadata_clear(fl_metadata *metadata);
#endif
