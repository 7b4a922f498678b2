/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow message of one record batch, little endian:
 *
 *   0  ff ff ff ff
 *   4  i32 size of the metadata with its padding
 *   8  FlatBuffers metadata
 *      body
 *
 * Metadata as written here; readers find all of it through the offsets, never by position.
 * Positions count from the start of the message:
 *
 *   08 u32 offset to Message             30 vtable of RecordBatch (32 without compression)
 *   10 vtable of Message                 3c RecordBatch: nodes, buffers, row count, compression
 *   1c Message: type, version, header    54 u32 buffer count, 58 buffers (position, size)
 *   28 i64 body size                     .. u32 0, u32 node count, nodes (rows, nulls)
 *                                        .. vtable of BodyCompression, BodyCompression
 *
 * A table starts with the distance back to its vtable: u16 size, u16 size of the table, u16
 * position of each field, 0 for a field at its default. FlatBuffers demands that every field is
 * aligned to its size; readers here do not care. The reader trusts nothing: each step is checked
 * against the metadata's end. A present BodyCompression, even an empty one, means compressed
 * buffers. Source: Arrow's Message.fbs, version V5. */
#include "format/arrow_message.h"

enum {
    PREFIX_SIZE = 8,
    NODES_MAX = 1 << 20,
    VERSION_V4 = 3,
    VERSION_V5 = 4,
    HEADER_RECORD_BATCH = 3,
    METHOD_BUFFER = 0,
    COMPRESSION_SIZE = 16 /* vtable and table */
};
enum { MESSAGE_VERSION, MESSAGE_HEADER_TYPE, MESSAGE_HEADER, MESSAGE_BODY_SIZE };
enum { BATCH_LENGTH, BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION };
enum { COMPRESSION_CODEC, COMPRESSION_METHOD };

/* ---- reading ---- */

typedef struct flat_table {
    fl_slice meta;
    size_t at, vtable, vtable_size;
} flat_table;

static bool inside(fl_slice meta, size_t at, size_t size)
{
    return at <= meta.size && size <= meta.size - at;
}

static bool table_open(fl_slice meta, size_t at, flat_table *table)
{
    if (!inside(meta, at, sizeof(int32_t))) {
        return false;
    }
    const int64_t vtable = (int64_t)at - fl_load_i32(meta.data + at);
    if (vtable < 0 || !inside(meta, (size_t)vtable, 2 * sizeof(uint16_t))) {
        return false;
    }
    const size_t size = fl_load_u16(meta.data + vtable);
    if (size < 2 * sizeof(uint16_t) || !inside(meta, (size_t)vtable, size)) {
        return false;
    }
    *table = (flat_table){.meta = meta, .at = at, .vtable = (size_t)vtable, .vtable_size = size};
    return true;
}

/* Position of a field; 0: at its default. False when it lies outside. */
static bool table_field(const flat_table *table, size_t index, size_t size, size_t *position)
{
    *position = 0;
    const size_t slot = (2 + index) * sizeof(uint16_t);
    if (slot + sizeof(uint16_t) > table->vtable_size) {
        return true;
    }
    const size_t from_table = fl_load_u16(table->meta.data + table->vtable + slot);
    if (from_table == 0) {
        return true;
    }
    *position = table->at + from_table;
    return inside(table->meta, *position, size);
}

static bool field_i64(const flat_table *table, size_t index, int64_t *value)
{
    size_t at;
    if (!table_field(table, index, sizeof(*value), &at)) {
        return false;
    }
    *value = at != 0 ? fl_load_i64(table->meta.data + at) : 0;
    return true;
}

static bool field_i16(const flat_table *table, size_t index, int16_t *value)
{
    size_t at;
    if (!table_field(table, index, sizeof(*value), &at)) {
        return false;
    }
    *value = at != 0 ? fl_load_i16(table->meta.data + at) : 0;
    return true;
}

static bool field_u8(const flat_table *table, size_t index, uint8_t *value)
{
    size_t at;
    if (!table_field(table, index, sizeof(*value), &at)) {
        return false;
    }
    *value = at != 0 ? table->meta.data[at] : 0;
    return true;
}

/* Position that an offset field points to; 0: field absent. */
static bool field_target(const flat_table *table, size_t index, size_t *target)
{
    size_t at;
    if (!table_field(table, index, sizeof(uint32_t), &at)) {
        return false;
    }
    *target = at != 0 ? at + fl_load_u32(table->meta.data + at) : 0;
    return true;
}

/* A vector of entries; none when the field is absent. */
static bool field_entries(const flat_table *table, size_t index, const uint8_t **entries,
                          size_t *count)
{
    size_t at;
    *entries = NULL;
    *count = 0;
    if (!field_target(table, index, &at)) {
        return false;
    }
    if (at == 0) {
        return true;
    }
    if (!inside(table->meta, at, sizeof(uint32_t))) {
        return false;
    }
    *count = fl_load_u32(table->meta.data + at);
    *entries = table->meta.data + at + sizeof(uint32_t);
    return *count <= NODES_MAX &&
           inside(table->meta, at + sizeof(uint32_t), *count * FL_ARROW_ENTRY_SIZE);
}

static fluss_code_t broken(fluss_error_t *err, const char *what)
{
    return fl_error_corrupt(err, "Arrow message: %s lies outside the metadata or is malformed",
                            what);
}

static fluss_code_t read_compression(const flat_table *batch, fl_arrow_message *message,
                                     fluss_error_t *err)
{
    size_t at;
    message->compression = FL_COMPRESS_NONE;
    if (!field_target(batch, BATCH_COMPRESSION, &at)) {
        return broken(err, "the compression");
    }
    if (at == 0) {
        return 0;
    }
    flat_table table;
    uint8_t codec, method;
    if (!table_open(batch->meta, at, &table) || !field_u8(&table, COMPRESSION_CODEC, &codec) ||
        !field_u8(&table, COMPRESSION_METHOD, &method)) {
        return broken(err, "the compression");
    }
    if (method != METHOD_BUFFER || codec > FL_COMPRESS_ZSTD) {
        return fl_error_corrupt(err,
                                "Arrow message: compression codec %u with method %u, known are "
                                "0 (LZ4_FRAME) and 1 (ZSTD) with method 0",
                                codec, method);
    }
    message->compression = (fl_compression)codec;
    return 0;
}

static fluss_code_t check_buffers(const fl_arrow_message *message, fluss_error_t *err)
{
    for (size_t i = 0; i < message->buffer_count; i++) {
        const uint8_t *entry = message->buffers + i * FL_ARROW_ENTRY_SIZE;
        const int64_t position = fl_load_i64(entry);
        const int64_t size = fl_load_i64(entry + sizeof(int64_t));
        if (position < 0 || size < 0 || (uint64_t)position > message->body.size ||
            (uint64_t)size > message->body.size - (uint64_t)position) {
            return fl_error_corrupt(err,
                                    "Arrow message: buffer %zu of %lld bytes at %lld lies outside "
                                    "the body of %zu bytes",
                                    i, (long long)size, (long long)position, message->body.size);
        }
    }
    return 0;
}

static fluss_code_t read_message(fl_slice meta, flat_table *batch, int64_t *body_size,
                                 fluss_error_t *err)
{
    flat_table message;
    int16_t version;
    uint8_t header_type;
    size_t header;
    if (meta.size < sizeof(uint32_t) || !table_open(meta, fl_load_u32(meta.data), &message) ||
        !field_i16(&message, MESSAGE_VERSION, &version) ||
        !field_u8(&message, MESSAGE_HEADER_TYPE, &header_type) ||
        !field_target(&message, MESSAGE_HEADER, &header) ||
        !field_i64(&message, MESSAGE_BODY_SIZE, body_size)) {
        return broken(err, "the message table");
    }
    if ((version != VERSION_V4 && version != VERSION_V5) || header_type != HEADER_RECORD_BATCH) {
        return fl_error_corrupt(err,
                                "Arrow message: version %d with header type %u, expected 3 or 4 "
                                "with 3 (RecordBatch)",
                                version, header_type);
    }
    if (header == 0 || !table_open(meta, header, batch)) {
        return broken(err, "the record batch table");
    }
    return 0;
}

fluss_code_t fl_arrow_message_open(fl_slice payload, fl_arrow_message *message, fluss_error_t *err)
{
    *message = (fl_arrow_message){0};
    if (payload.size < PREFIX_SIZE || fl_load_u32(payload.data) != UINT32_MAX) {
        return fl_error_corrupt(err, "Arrow message of %zu bytes: no ffffffff at the start",
                                payload.size);
    }
    const int32_t claimed = fl_load_i32(payload.data + sizeof(uint32_t));
    size_t meta_size;
    if (!fl_size_from_i32(claimed, &meta_size) || meta_size > payload.size - PREFIX_SIZE) {
        return fl_error_corrupt(err, "Arrow message of %zu bytes: metadata claims %d bytes",
                                payload.size, claimed);
    }
    const fl_slice meta = fl_slice_sub(payload, PREFIX_SIZE, meta_size);
    const size_t room = payload.size - PREFIX_SIZE - meta_size;
    flat_table batch;
    int64_t body_size = 0;
    FL_TRY(read_message(meta, &batch, &body_size, err));
    if (body_size < 0 || (uint64_t)body_size > room) {
        return fl_error_corrupt(err, "Arrow message: body claims %lld bytes, %zu follow",
                                (long long)body_size, room);
    }
    message->body = fl_slice_sub(payload, PREFIX_SIZE + meta_size, (size_t)body_size);
    if (!field_i64(&batch, BATCH_LENGTH, &message->row_count) ||
        !field_entries(&batch, BATCH_NODES, &message->nodes, &message->node_count) ||
        !field_entries(&batch, BATCH_BUFFERS, &message->buffers, &message->buffer_count)) {
        return broken(err, "a part of the record batch");
    }
    if (message->row_count < 0 || message->row_count > INT32_MAX) {
        return fl_error_corrupt(err, "Arrow message: %lld rows, possible are 0 to 2147483647",
                                (long long)message->row_count);
    }
    FL_TRY(read_compression(&batch, message, err));
    return check_buffers(message, err);
}

/* ---- writing ---- */

enum {
    AT_BODY_SIZE = 0x28,
    AT_BATCH_VTABLE = 0x30,
    AT_TO_NODES = 0x40,
    AT_ROW_COUNT = 0x48,
    AT_TO_COMPRESSION = 0x50,
    AT_BUFFER_COUNT = 0x54,
    AT_BUFFERS = FL_ARROW_BUFFERS_AT
};

/* The metadata up to the buffers, without compression; what is zero here is filled in. */
static const char plain_head[AT_BUFFERS + 1] =
    "\xff\xff\xff\xff\0\0\0\0"
    "\x14\0\0\0\0\0\0\0"
    "\x0c\0\x16\0\x06\0\x05\0\x08\0\x0c\0" /* 10: vtable of Message */
    "\x0c\0\0\0\0\x03\x04\0\x18\0\0\0"     /* 1c: Message: RecordBatch, V5 */
    "\0\0\0\0\0\0\0\0"                     /* 28: body size */
    "\0\0\x0a\0\x18\0\x0c\0\x04\0\x08\0"   /* 32: vtable of RecordBatch */
    "\x0a\0\0\0\0\0\0\0\x10\0\0\0";        /* 3c: RecordBatch: to buffers 10 */

/* With compression: a vtable of one field more, from 30 on, and the distance back to it. */
static const char compressed_batch[] = "\x0c\0\x18\0\x0c\0\x04\0\x08\0\x14\0"
                                       "\x0c";

size_t fl_arrow_head_nodes_at(const fl_arrow_head *head)
{
    return AT_BUFFERS + head->buffer_count * FL_ARROW_ENTRY_SIZE + 2 * sizeof(uint32_t);
}

size_t fl_arrow_head_size(const fl_arrow_head *head)
{
    return fl_arrow_head_nodes_at(head) + head->node_count * FL_ARROW_ENTRY_SIZE +
           (head->compression == FL_COMPRESS_NONE ? 0 : COMPRESSION_SIZE);
}

void fl_arrow_head_store(const fl_arrow_head *head, int64_t row_count, int64_t body_size,
                         uint8_t *to)
{
    const size_t nodes_at = fl_arrow_head_nodes_at(head);
    memcpy(to, plain_head, AT_BUFFERS);
    fl_store_i32(to + sizeof(uint32_t), (int32_t)(fl_arrow_head_size(head) - PREFIX_SIZE));
    fl_store_i64(to + AT_BODY_SIZE, body_size);
    fl_store_u32(to + AT_TO_NODES, (uint32_t)(nodes_at - sizeof(uint32_t) - AT_TO_NODES));
    fl_store_i64(to + AT_ROW_COUNT, row_count);
    fl_store_u32(to + AT_BUFFER_COUNT, (uint32_t)head->buffer_count);
    fl_store_u32(to + nodes_at - 2 * sizeof(uint32_t), 0);
    fl_store_u32(to + nodes_at - sizeof(uint32_t), (uint32_t)head->node_count);
    if (head->compression == FL_COMPRESS_NONE) {
        return;
    }
    memcpy(to + AT_BATCH_VTABLE, compressed_batch, sizeof(compressed_batch) - 1);
    const size_t table_at = nodes_at + head->node_count * FL_ARROW_ENTRY_SIZE + sizeof(uint64_t);
    fl_store_u32(to + AT_TO_COMPRESSION, (uint32_t)(table_at - AT_TO_COMPRESSION));
    uint8_t table[COMPRESSION_SIZE] = "\x08\0\x06\0\x04\0\x05\0" /* vtable */
                                      "\x08\0\0\0";
    table[12] = (uint8_t)head->compression;
    table[13] = METHOD_BUFFER;
    memcpy(to + table_at - sizeof(uint64_t), table, sizeof(table));
}
