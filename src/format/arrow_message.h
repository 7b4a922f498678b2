/* SPDX-License-Identifier: Apache-2.0 */
/* The encapsulated Arrow message of one record batch: metadata read and
 * written in place, no schema, no values. */
#ifndef FL_ARROW_MESSAGE_H
#define FL_ARROW_MESSAGE_H
#include "format/arrow.h"

enum {
    FL_ARROW_ENTRY_SIZE = 16
}; /* of a field node (length, nulls) and a buffer (position, size) */

typedef struct fl_arrow_message {
    int64_t row_count;
    fl_compression compression;
    size_t node_count, buffer_count;
    const uint8_t *nodes, *buffers; /* entries; not aligned */
    fl_slice body;
} fl_arrow_message;

/** Read the metadata of a message; views payload. Every buffer lies inside the body.
 * @return FLUSS_E_CORRUPT_MESSAGE */
FLUSS_CHECKED fluss_code_t fl_arrow_message_open(fl_slice payload, fl_arrow_message *message,
                                                 fluss_error_t *err);
/** Row count and null count of a field node as they are. */
static inline int64_t fl_arrow_message_node_length(const fl_arrow_message *message, size_t index)
{
    return fl_load_i64(message->nodes + index * FL_ARROW_ENTRY_SIZE);
}
static inline int64_t fl_arrow_message_node_nulls(const fl_arrow_message *message, size_t index)
{
    return fl_load_i64(message->nodes + index * FL_ARROW_ENTRY_SIZE + sizeof(int64_t));
}
/** Position of a buffer in the body. */
static inline size_t fl_arrow_message_position(const fl_arrow_message *message, size_t index)
{
    return (size_t)fl_load_u64(message->buffers + index * FL_ARROW_ENTRY_SIZE);
}
/** A buffer's bytes as stored. */
static inline fl_slice fl_arrow_message_buffer(const fl_arrow_message *message, size_t index)
{
    const uint8_t *entry = message->buffers + index * FL_ARROW_ENTRY_SIZE;
    return fl_slice_sub(message->body, (size_t)fl_load_u64(entry),
                        (size_t)fl_load_u64(entry + sizeof(uint64_t)));
}

/** Shape of a message to write. */
typedef struct fl_arrow_head {
    size_t node_count, buffer_count;
    fl_compression compression;
} fl_arrow_head;
/** Bytes before the body, a multiple of 8. */
size_t fl_arrow_head_size(const fl_arrow_head *head);
/** Positions of the entries, to be filled with fl_arrow_head_put. */
size_t fl_arrow_head_nodes_at(const fl_arrow_head *head);
enum { FL_ARROW_BUFFERS_AT = 0x58 };
static inline void fl_arrow_head_put(uint8_t *entry, int64_t first, int64_t second)
{
    fl_store_i64(entry, first);
    fl_store_i64(entry + sizeof(int64_t), second);
}
/** Write all but the entries. */
void fl_arrow_head_store(const fl_arrow_head *head, int64_t row_count, int64_t body_size,
                         uint8_t *to);
#endif
