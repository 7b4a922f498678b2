/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of KV batches, value batches and row records. The first byte picks one, the
 * rest is its bytes.
 *
 * What must hold for any input: no access outside it, an error with a text or records; a KV batch
 * that is read to its end is built anew with the same record bytes. */
#include "base/alloc.h"
#include "format/kv_batch.h"
#include "format/row_log.h"
#include "format/value_batch.h"

enum { BATCH_SIZE_MAX = 1 << 26 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fluss_code_t copy_kv(const fl_kv_batch *batch, fl_kv_builder *builder, fluss_error_t *err)
{
    fl_kv_batch_iter iter;
    fl_kv_record record;
    bool is_end = false;
    fl_kv_batch_iter_init(&iter, batch);
    while (true) {
        FL_TRY(fl_kv_batch_next(&iter, &record, &is_end, err));
        if (is_end) {
            return 0;
        }
        const fluss_code_t rc = record.is_delete
                                    ? fl_kv_builder_delete(builder, record.key, err)
                                    : fl_kv_builder_upsert(builder, record.key, record.row, err);
        FL_ASSERT(rc == 0);
    }
}

static fluss_code_t check_kv(fl_slice bytes, fluss_error_t *err)
{
    fl_kv_batch batch;
    fl_kv_builder builder;
    FL_TRY(fl_kv_batch_open(bytes, &batch, err));
    (void)!fl_kv_batch_check_crc(&batch, NULL);
    fl_buf out;
    fl_buf_init(&out, BATCH_SIZE_MAX);
    fluss_code_t rc = fl_kv_builder_init(&builder, &out, err);
    FL_ASSERT(rc == 0);
    rc = copy_kv(&batch, &builder, err);
    if (rc == 0) {
        fl_kv_builder_finish(&builder, batch.schema_id, batch.writer_id, batch.batch_sequence);
        rc = fl_kv_batch_open(fl_buf_slice(&out), &batch, err);
        FL_ASSERT(rc == 0);
        rc = fl_kv_batch_check_crc(&batch, err);
        FL_ASSERT(rc == 0);
    }
    fl_buf_deinit(&out);
    return rc;
}

static fluss_code_t check_values(fl_slice bytes, fluss_error_t *err)
{
    fl_value_batch_iter iter;
    int16_t schema_id;
    fl_slice row;
    bool is_end = false;
    FL_TRY(fl_value_batch_open(bytes, &iter, err));
    while (!is_end) {
        FL_TRY(fl_value_batch_next(&iter, &schema_id, &row, &is_end, err));
    }
    return 0;
}

static fluss_code_t check_rows(fl_slice bytes, fluss_error_t *err)
{
    fl_log_batch batch;
    fl_row_log_iter iter;
    fl_row_log_record record;
    bool is_end = false;
    FL_TRY(fl_log_batch_open(bytes, false, &batch, err));
    fl_row_log_iter_init(&iter, &batch);
    while (!is_end) {
        FL_TRY(fl_row_log_next(&iter, &record, &is_end, err));
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fluss_code_t (*const checks[])(fl_slice, fluss_error_t *) = {check_kv, check_values,
                                                                        check_rows};
    if (size == 0) {
        return 0;
    }
    fluss_error_t err;
    err.message[0] = '\0';
    const fluss_code_t rc =
        checks[data[0] % FL_COUNT_OF(checks)](fl_slice_of(data + 1, size - 1), &err);
    FL_ASSERT(rc == 0 || err.message[0] != '\0');
    return 0;
}
