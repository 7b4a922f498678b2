/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: KV batches, value batches and row records of log batches have the official bytes, and no
 * bytes break their readers. Method: the worked examples in batch_vectors.h, taken
 * apart and built anew; every cut and every flipped bit of them. */
#include "format/kv_batch.h"

#include "batch_vectors.h"
#include "format/row_log.h"
#include "format/value_batch.h"
#include "value_support.h"

enum { SIZE_MAX_TEST = 1 << 16 };

static const char kv_compacted[] =
    "410000000041d43dd8010000070000000000000000000000030000000b0000000101000105616c6963656410"
    "00000002ac0202ac02ffffffffffffffffff01020000000101";
static const char kv_indexed[] =
    "3b00000000c5e6ba1d01000007000000000000000000000002000000180000000101000500000001000000616c"
    "69636564000000000000000300000002ac02";
static const char kv_empty[] = "180000000078416f16010000ffffffffffffffffffffffff00000000";
static const char value_batch[] =
    "2700000000020000000b0000000100000105616c696365640f000000020002ac02ffffffffffffffffff01";

typedef struct kv_vector {
    const char *hex;
    int64_t writer_id;
    int32_t batch_sequence, record_count;
} kv_vector;
static const kv_vector kv_vectors[] = {
    {kv_compacted, 7, 0, 3}, {kv_indexed, 7, 0, 2}, {kv_empty, -1, -1, 0}};

static void kv_batches_are_read_and_built_anew(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT_OF(kv_vectors); i++) {
        const fl_slice bytes = from_hex(kv_vectors[i].hex);
        fl_kv_batch batch;
        OK(fl_kv_batch_open(bytes, &batch, &error));
        OK(fl_kv_batch_check_crc(&batch, &error));
        assert_int_equal(batch.schema_id, 1);
        assert_int_equal(batch.writer_id, kv_vectors[i].writer_id);
        assert_int_equal(batch.batch_sequence, kv_vectors[i].batch_sequence);
        assert_int_equal(batch.record_count, kv_vectors[i].record_count);
        fl_buf out;
        fl_buf_init(&out, SIZE_MAX_TEST);
        OK(fl_buf_append_byte(&out, 0xEE, &error)); /* a batch need not begin the buffer */
        fl_kv_builder builder;
        OK(fl_kv_builder_init(&builder, &out, &error));
        fl_kv_batch_iter iter;
        fl_kv_record record;
        bool is_end;
        fl_kv_batch_iter_init(&iter, &batch);
        OK(fl_kv_batch_next(&iter, &record, &is_end, &error));
        while (!is_end) {
            const size_t size = out.size;
            OK(record.is_delete ? fl_kv_builder_delete(&builder, record.key, &error)
                                : fl_kv_builder_upsert(&builder, record.key, record.row, &error));
            assert_int_equal(out.size - size, fl_kv_record_size(record.key.size, record.row.size));
            OK(fl_kv_batch_next(&iter, &record, &is_end, &error));
        }
        fl_kv_builder_finish(&builder, 1, FL_NO_WRITER_ID, FL_NO_SEQUENCE);
        fl_kv_batch_set_writer(out.data + builder.base, out.size - builder.base,
                               kv_vectors[i].writer_id, kv_vectors[i].batch_sequence);
        assert_hex("batch", fl_slice_of(out.data + 1, out.size - 1), kv_vectors[i].hex);
        fl_buf_deinit(&out);
        free_bytes(bytes);
    }
}

static void records_of_the_example(void **state)
{
    (void)state;
    static const struct {
        const char *key, *row;
    } wanted[] = {{"01", "000105616c69636564"}, {"ac02", "02ac02ffffffffffffffffff01"}, {"01", ""}};
    const fl_slice bytes = from_hex(kv_compacted);
    fl_kv_batch batch;
    OK(fl_kv_batch_open(bytes, &batch, &error));
    fl_kv_batch_iter iter;
    fl_kv_record record;
    bool is_end;
    fl_kv_batch_iter_init(&iter, &batch);
    for (size_t i = 0; i < FL_COUNT_OF(wanted); i++) {
        OK(fl_kv_batch_next(&iter, &record, &is_end, &error));
        assert_false(is_end);
        assert_hex("key", record.key, wanted[i].key);
        assert_hex("row", record.row, wanted[i].row);
        assert_int_equal(record.is_delete, i == 2);
    }
    OK(fl_kv_batch_next(&iter, &record, &is_end, &error));
    assert_true(is_end);
    free_bytes(bytes);
}

static void value_batches_are_read_and_built_anew(void **state)
{
    (void)state;
    const fl_slice bytes = from_hex(value_batch);
    fl_value_batch_iter iter;
    OK(fl_value_batch_open(bytes, &iter, &error));
    assert_int_equal(iter.count, 2);
    fl_buf out;
    fl_buf value;
    fl_buf_init(&out, SIZE_MAX_TEST);
    fl_buf_init(&value, SIZE_MAX_TEST);
    fl_value_builder builder;
    OK(fl_value_builder_init(&builder, &out, &error));
    for (int16_t i = 1; i <= 3; i++) {
        int16_t schema_id;
        fl_slice row;
        bool is_end;
        OK(fl_value_batch_next(&iter, &schema_id, &row, &is_end, &error));
        assert_int_equal(is_end, i == 3);
        if (!is_end) {
            assert_int_equal(schema_id, i);
            fl_buf_reset(&value);
            OK(fl_value_encode(schema_id, row, &value, &error));
            OK(fl_value_builder_add(&builder, fl_buf_slice(&value), &error));
        }
    }
    fl_value_builder_finish(&builder);
    assert_hex("value batch", fl_buf_slice(&out), value_batch);
    fl_buf_deinit(&value);
    fl_buf_deinit(&out);
    free_bytes(bytes);
}

static void row_records_are_read_and_built_anew(void **state)
{
    (void)state;
    static const char *const vectors[] = {BATCH_INDEXED, BATCH_COMPACTED};
    static const fluss_change_t changes[][2] = {{FLUSS_INSERT, FLUSS_DELETE}, {FLUSS_APPEND_ONLY}};
    for (size_t i = 0; i < FL_COUNT_OF(vectors); i++) {
        const fl_slice bytes = from_hex(vectors[i]);
        fl_log_batch batch;
        OK(fl_log_batch_open(bytes, false, &batch, &error));
        fl_buf out;
        fl_buf_init(&out, SIZE_MAX_TEST);
        fl_row_log_builder builder;
        OK(fl_row_log_builder_init(&builder, &out, &error));
        fl_row_log_iter iter;
        fl_row_log_record record;
        bool is_end;
        fl_row_log_iter_init(&iter, &batch);
        OK(fl_row_log_next(&iter, &record, &is_end, &error));
        for (size_t index = 0; !is_end; index++) {
            assert_int_equal(record.log_offset, index);
            assert_int_equal(record.change_type, changes[i][index]);
            OK(fl_row_log_builder_add(&builder, record.change_type, record.row, &error));
            OK(fl_row_log_next(&iter, &record, &is_end, &error));
        }
        const fl_log_batch_spec spec = {.is_append_only = batch.is_append_only,
                                        .schema_id = 1,
                                        .writer_id = 7,
                                        .batch_sequence = 3};
        fl_row_log_builder_finish(&builder, &spec);
        assert_hex("log batch", fl_buf_slice(&out), vectors[i]);
        fl_buf_deinit(&out);
        free_bytes(bytes);
    }
}

/* Read everything; 0 only when all of it is well formed. */
static fluss_code_t read_kv(fl_slice bytes)
{
    fl_kv_batch batch;
    fl_kv_batch_iter iter;
    fl_kv_record record;
    bool is_end = false;
    FL_TRY(fl_kv_batch_open(bytes, &batch, &error));
    fl_kv_batch_iter_init(&iter, &batch);
    while (!is_end) {
        FL_TRY(fl_kv_batch_next(&iter, &record, &is_end, &error));
    }
    return fl_kv_batch_check_crc(&batch, &error);
}

static fluss_code_t read_values(fl_slice bytes)
{
    fl_value_batch_iter iter;
    int16_t schema_id;
    fl_slice row;
    bool is_end = false;
    FL_TRY(fl_value_batch_open(bytes, &iter, &error));
    while (!is_end) {
        FL_TRY(fl_value_batch_next(&iter, &schema_id, &row, &is_end, &error));
    }
    return 0;
}

/* Every cut of a well-formed batch is refused. The copy lets the sanitizer see reads past it. */
static void check_cuts(const char *hex, fluss_code_t (*read)(fl_slice))
{
    const fl_slice whole = from_hex(hex);
    for (size_t size = 0; size < whole.size; size++) {
        uint8_t *copy = fl_alloc(size);
        memcpy(copy, whole.data, size);
        assert_int_not_equal(read(fl_slice_of(copy, size)), 0);
        fl_free(copy);
    }
    free_bytes(whole);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    check_cuts(kv_compacted, read_kv);
    check_cuts(kv_indexed, read_kv);
    check_cuts(kv_empty, read_kv);
    check_cuts(value_batch, read_values);
}

static void every_flipped_bit_of_a_kv_batch_is_seen(void **state)
{
    (void)state;
    const fl_slice whole = from_hex(kv_compacted);
    uint8_t *copy = fl_alloc(whole.size);
    memcpy(copy, whole.data, whole.size);
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_not_equal(read_kv(fl_slice_of(copy, whole.size)), 0);
        copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    fl_free(copy);
    free_bytes(whole);
}

static void every_flipped_bit_of_a_value_batch_is_survived(void **state)
{
    (void)state;
    const fl_slice whole = from_hex(value_batch);
    uint8_t *copy = fl_alloc(whole.size);
    memcpy(copy, whole.data, whole.size);
    size_t refused = 0;
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        refused += read_values(fl_slice_of(copy, whole.size)) != 0;
        copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    /* All of header and sizes, 17 bytes, and the sign of two schema ids. */
    assert_int_equal(refused, 17 * 8 + 2);
    fl_free(copy);
    free_bytes(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kv_batches_are_read_and_built_anew),
        cmocka_unit_test(records_of_the_example),
        cmocka_unit_test(value_batches_are_read_and_built_anew),
        cmocka_unit_test(row_records_are_read_and_built_anew),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_flipped_bit_of_a_kv_batch_is_seen),
        cmocka_unit_test(every_flipped_bit_of_a_value_batch_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
