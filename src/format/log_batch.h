/* SPDX-License-Identifier: Apache-2.0 */
/* Log record batches V0, V1, V2: the header, read in place. */
#ifndef FL_LOG_BATCH_H
#define FL_LOG_BATCH_H
#include "base/error.h"
#include "base/slice.h"

enum { FL_LOG_BATCH_HEADER_SIZE_MIN = 48 };
enum { FL_NO_WRITER_ID = -1, FL_NO_SEQUENCE = -1 };

typedef struct fl_log_batch {
    fl_slice bytes; /* the whole batch; views */
    uint8_t magic;
    bool is_append_only; /* attribute bit 0 */
    int16_t schema_id;
    int32_t last_offset_delta;
    int32_t batch_sequence;
    int32_t record_count;
    int64_t base_offset, commit_timestamp_ms, writer_id;
    fl_slice statistics;   /* empty: none */
    fl_slice change_types; /* empty: append-only, or a row format */
    fl_slice payload;      /* Arrow message, or row records */
} fl_log_batch;

/** Size of the batch at the start of `bytes`; 0: incomplete. @return FLUSS_E_CORRUPT_RECORD:
 * impossible length or magic */
FLUSS_CHECKED fluss_code_t fl_log_batch_size(fl_slice bytes, size_t *size, fluss_error_t *err);
/** The size that the batch at the start of `bytes` says it has, also when it is not there whole; 0:
 * not even its start is. */
FLUSS_CHECKED fluss_code_t fl_log_batch_claimed_size(fl_slice bytes, size_t *size,
                                                     fluss_error_t *err);
/** Read the batch at the start of `bytes`, which holds it whole. Checks lengths and counts, not the
 * CRC.
 * @param is_arrow  where the change types of a changelog batch lie: before an Arrow message, or
 * inside row records
 * @return FLUSS_E_CORRUPT_RECORD with position and numbers */
FLUSS_CHECKED fluss_code_t fl_log_batch_open(fl_slice bytes, bool is_arrow, fl_log_batch *batch,
                                             fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_log_batch_check_crc(const fl_log_batch *batch, fluss_error_t *err);
static inline int64_t fl_log_batch_next_offset(const fl_log_batch *batch)
{
    return batch->base_offset + batch->last_offset_delta + 1;
}
/** Set what the server sets; outside the CRC. @param bytes a whole valid batch, changed in place */
void fl_log_batch_stamp(uint8_t *bytes, int64_t base_offset, int64_t commit_timestamp_ms);
/** Set writer id and batch sequence and renew the CRC (the sender does so when it numbers or
 * renumbers a batch). */
void fl_log_batch_set_writer(uint8_t *bytes, size_t size, int64_t writer_id,
                             int32_t batch_sequence);

/** What a new batch's header says. */
typedef struct fl_log_batch_spec {
    uint8_t magic; /* 0, 1 when there are statistics, 2 */
    bool is_append_only;
    int16_t schema_id;
    int32_t record_count;
    int64_t writer_id;
    int32_t batch_sequence;
    fl_slice statistics;
} fl_log_batch_spec;
/** Bytes before the change types and payload. */
size_t fl_log_batch_header_size(uint8_t magic, size_t statistics_size);
/** Fill header, statistics and CRC of a batch whose change types and payload are in place already:
 * `bytes` of `size`. */
void fl_log_batch_finish(uint8_t *bytes, size_t size, const fl_log_batch_spec *spec);
#endif
