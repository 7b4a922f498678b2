/* SPDX-License-Identifier: Apache-2.0 */
/* What the log itself needs of a record batch, read from its first bytes while the rest may still
 * be on disk. */
#ifndef FL_BATCH_HEAD_H
#define FL_BATCH_HEAD_H
#include "base/error.h"
#include "base/slice.h"

/* The head of every version fits; the smallest batch is as large as the head of version 0. */
enum { FL_BATCH_HEAD_SIZE_MAX = 56, FL_BATCH_SIZE_MIN = 48 };

typedef struct fl_batch_head {
    size_t size; /* bytes of the whole batch */
    int64_t base_offset, next_offset, commit_timestamp_ms, writer_id;
    int32_t batch_sequence;
    uint32_t crc, crc_from; /* stored checksum; position of the first byte that it covers */
} fl_batch_head;

/** Read a head. @param bytes from the start of the batch, FL_BATCH_SIZE_MIN bytes at least and all
 * the head of its version unless the batch ends before
 * @return FLUSS_E_CORRUPT_RECORD: unknown magic, impossible length or offsets */
FLUSS_CHECKED fluss_code_t fl_batch_head_read(fl_slice bytes, fl_batch_head *head,
                                              fluss_error_t *err);
/** Compare the checksum. @param batch all its bytes */
FLUSS_CHECKED fluss_code_t fl_batch_head_check_crc(const fl_batch_head *head, fl_slice batch,
                                                   fluss_error_t *err);
#endif
