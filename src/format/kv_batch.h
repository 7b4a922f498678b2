/* SPDX-License-Identifier: Apache-2.0 */
/* KvRecordBatch, what PUT_KV carries: upserts and deletes by encoded key, for
 * one bucket under one schema. And the bytes of stored values. */
#ifndef FL_KV_BATCH_H
#define FL_KV_BATCH_H
#include "base/buf.h"
#include "format/log_batch.h"

enum { FL_KV_BATCH_HEADER_SIZE = 28, FL_VALUE_HEADER_SIZE = 2 };

/* ---- reading ---- */
typedef struct fl_kv_batch {
    fl_slice bytes; /* the whole batch; views */
    int16_t schema_id;
    int32_t batch_sequence; /* FL_NO_SEQUENCE: none */
    int32_t record_count;
    int64_t writer_id; /* FL_NO_WRITER_ID: none */
    fl_slice records;
} fl_kv_batch;
/** Read the header of a batch that `bytes` holds exactly. Checks lengths and count, not the CRC.
 * @return FLUSS_E_CORRUPT_RECORD with position and numbers */
FLUSS_CHECKED fluss_code_t fl_kv_batch_open(fl_slice bytes, fl_kv_batch *batch, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_kv_batch_check_crc(const fl_kv_batch *batch, fluss_error_t *err);

/** One record; views the batch. */
typedef struct fl_kv_record {
    fl_slice key;
    fl_slice row;   /* in the table's KV format, full width */
    bool is_delete; /* there is no row */
} fl_kv_record;
typedef struct fl_kv_batch_iter {
    fl_slice left;
    int32_t index, count; /* of the next record; of all */
} fl_kv_batch_iter;
void fl_kv_batch_iter_init(fl_kv_batch_iter *iter, const fl_kv_batch *batch);
/** The next record. @param is_end true: there is none, all bytes were read
 * @return FLUSS_E_CORRUPT_RECORD: names the record */
FLUSS_CHECKED fluss_code_t fl_kv_batch_next(fl_kv_batch_iter *iter, fl_kv_record *record,
                                            bool *is_end, fluss_error_t *err);

/* ---- writing ---- */
/** A batch under construction, at the end of a caller's buffer, which is its storage. */
typedef struct fl_kv_builder {
    fl_buf *out;
    size_t base; /* of the batch in out */
    int32_t record_count;
} fl_kv_builder;
/** Begin at the end of `out`, which is borrowed until finish. */
FLUSS_CHECKED fluss_code_t fl_kv_builder_init(fl_kv_builder *builder, fl_buf *out,
                                              fluss_error_t *err);
/** Append a record. All or nothing: after a failure the batch is as before.
 * @param row an encoded row, never empty */
FLUSS_CHECKED fluss_code_t fl_kv_builder_upsert(fl_kv_builder *builder, fl_slice key, fl_slice row,
                                                fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_kv_builder_delete(fl_kv_builder *builder, fl_slice key,
                                                fluss_error_t *err);
/** Bytes of a record with these sizes, for a writer that watches its batch size. row_size 0: delete
 */
size_t fl_kv_record_size(size_t key_size, size_t row_size);
/** Fill the header and CRC; the batch is out[base .. end). More records may follow, and another
 * finish. @param writer_id FL_NO_WRITER_ID and batch_sequence FL_NO_SEQUENCE: not idempotent */
void fl_kv_builder_finish(const fl_kv_builder *builder, int16_t schema_id, int64_t writer_id,
                          int32_t batch_sequence);
/** Set writer id and batch sequence of a whole batch and renew the CRC. */
void fl_kv_batch_set_writer(uint8_t *bytes, size_t size, int64_t writer_id, int32_t batch_sequence);

/* ---- stored values: i16 schema id, row ---- */
/** Append a value. */
FLUSS_CHECKED fluss_code_t fl_value_encode(int16_t schema_id, fl_slice row, fl_buf *out,
                                           fluss_error_t *err);
/** Split a value. @param row views @return FLUSS_E_CORRUPT_RECORD: too short or a negative id */
FLUSS_CHECKED fluss_code_t fl_value_open(fl_slice value, int16_t *schema_id, fl_slice *row,
                                         fluss_error_t *err);
#endif
