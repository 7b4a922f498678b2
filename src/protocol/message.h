/* SPDX-License-Identifier: Apache-2.0 */
/* The message codec: proto2 messages by tables. tools/protogen reads messages.schema and makes
 * messages.h (a struct and a table `fl_msg_desc_NAME` for each message) and messages.c at build
 * time.
 *
 * A struct has, for a message field of the schema:
 *   required scalar          type name;
 *   optional scalar          bool has_name; type name;
 *   string, bytes            fl_slice name;            (optional: bool has_name)
 *   message                  fl_msg_x name;            (optional: bool has_name)
 *   repeated                 type *name; size_t name_count;
 * Types: int32_t, int64_t, bool, float, double, fl_slice, fl_msg_<message in snake_case>. A zeroed
 * struct is an empty message. Members lie in no order to rely on: initialise them by name. */
#ifndef FL_MESSAGE_H
#define FL_MESSAGE_H
#include "base/arena.h"
#include "base/gather.h"

typedef struct fl_msg_desc fl_msg_desc;

/**
 * Decode a message. Unknown fields are skipped, packed and unpacked scalars are both read, the last
 * of repeated single fields wins.
 *
 * @param bytes   the whole message; string and bytes fields view it
 * @param arena   takes the arrays of repeated fields: at most 40 bytes for a byte of the message
 * @param message struct of desc, overwritten; on failure its content is undefined
 * @return FLUSS_E_CORRUPT_MESSAGE: malformed, nested deeper than 32, a required field missing, a
 * string not UTF-8; names message, field and position. Kind NOMEM: out of memory.
 * Thread: any. Cost: one walk, two over messages with repeated fields; one array for each of them.
 */
FLUSS_CHECKED fluss_code_t fl_msg_decode(const fl_msg_desc *desc, fl_slice bytes, fl_arena *arena,
                                         void *message, fluss_error_t *err);
/** Bytes of the encoded message. */
size_t fl_msg_size(const fl_msg_desc *desc, const void *message);
/**
 * Append the encoded message: fields in number order, packed where declared. bytes fields of 1 KiB
 * and more are appended by reference: they stay valid until the gather is done with
 * (fl_gather_own).
 *
 * @return kind ARGUMENT: a string is not UTF-8, or messages nest deeper than 32; then nothing was
 * appended. Kind NOMEM: out of memory; then the gather is good for deinit only.
 * Thread: any. Cost: one walk, one copy of small fields; two below 1 KiB in all.
 */
FLUSS_CHECKED fluss_code_t fl_msg_encode(const fl_msg_desc *desc, const void *message,
                                         fl_gather *out, fluss_error_t *err);
const char *fl_msg_name(const fl_msg_desc *desc);
/** Bytes of the struct. */
size_t fl_msg_struct_size(const fl_msg_desc *desc);
/** Every message of the schema, in its order; for tools and tests. */
const fl_msg_desc *const *fl_msg_all(size_t *count);
/** The message as text, for logs and tests: {"acks": -1, …}, absent fields left out, bytes in hex,
 * credentials as their size only. Appends to `out`. */
FLUSS_CHECKED fluss_code_t fl_msg_to_json(const fl_msg_desc *desc, const void *message, fl_buf *out,
                                          fluss_error_t *err);
#endif
