/* SPDX-License-Identifier: Apache-2.0 */
/* How long the message codec takes for the two responses that matter: lookups (many small values)
 * and fetches (few large ones).
 *
 * Expected per message: a lookup of 512 values is two walks over 512 tags and an array of 12 KiB to
 * clear, a few microseconds; a fetch of 4 MiB touches no record byte either way. Prints the best of
 * several rounds, in nanoseconds. */
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "protocol/messages.h"

enum { VALUE_COUNT = 512, VALUE_SIZE = 100, BATCH_COUNT = 4, BATCH_SIZE = 1 << 20 };
enum { ROUND_COUNT = 500, CALLS_IN_A_ROUND = 50, TABLE_COUNT = 64 };

static uint8_t payload[BATCH_SIZE];

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static fl_slice flatten(const fl_gather *gather)
{
    uint8_t *bytes = fl_alloc(gather->size);
    FL_ASSERT(bytes != NULL);
    size_t position = 0;
    struct iovec part;
    while (fl_gather_iov(gather, position, &part, 1) != 0) {
        memcpy(bytes + position, part.iov_base, part.iov_len);
        position += part.iov_len;
    }
    return fl_slice_of(bytes, position);
}

static double best_of_encode(const fl_msg_desc *desc, const void *message)
{
    double best = 1e18;
    fluss_error_t err;
    for (int round = 0; round < ROUND_COUNT; round++) {
        const double start = now_ns();
        for (int i = 0; i < CALLS_IN_A_ROUND; i++) {
            fl_gather out;
            fl_gather_init(&out);
            FL_ASSERT(fl_msg_encode(desc, message, &out, &err) == 0);
            fl_gather_deinit(&out);
        }
        const double each = (now_ns() - start) / CALLS_IN_A_ROUND;
        best = each < best ? each : best;
    }
    return best;
}

static double best_of_decode(const fl_msg_desc *desc, fl_slice bytes)
{
    double best = 1e18;
    fluss_error_t err;
    fl_arena arena;
    fl_arena_init(&arena);
    void *message = fl_alloc(fl_msg_struct_size(desc));
    FL_ASSERT(message != NULL);
    for (int round = 0; round < ROUND_COUNT; round++) {
        const double start = now_ns();
        for (int i = 0; i < CALLS_IN_A_ROUND; i++) {
            FL_ASSERT(fl_msg_decode(desc, bytes, &arena, message, &err) == 0);
            fl_arena_reset(&arena);
        }
        const double each = (now_ns() - start) / CALLS_IN_A_ROUND;
        best = each < best ? each : best;
    }
    fl_free(message);
    fl_arena_deinit(&arena);
    return best;
}

static void measure(const char *what, const fl_msg_desc *desc, const void *message)
{
    fl_gather out;
    fl_gather_init(&out);
    FL_ASSERT(fl_msg_encode(desc, message, &out, NULL) == 0);
    const fl_slice bytes = flatten(&out);
    fl_gather_deinit(&out);
    (void)printf("%-44s %9zu bytes  encode %8.0f ns  decode %8.0f ns\n", what, bytes.size,
                 best_of_encode(desc, message), best_of_decode(desc, bytes));
    fl_free((void *)(uintptr_t)bytes.data);
}

static void measure_lookup(void)
{
    static fl_msg_pb_value values[VALUE_COUNT];
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        values[i].has_values = true;
        values[i].values = fl_slice_of(payload, VALUE_SIZE);
    }
    fl_msg_pb_lookup_resp_for_bucket bucket = {.values = values, .values_count = VALUE_COUNT};
    const fl_msg_lookup_response message = {.buckets_resp = &bucket, .buckets_resp_count = 1};
    measure("LookupResponse, 512 values of 100 bytes", &fl_msg_desc_lookup_response, &message);
}

static void measure_fetch(void)
{
    fl_msg_pb_fetch_log_resp_for_bucket buckets[BATCH_COUNT] = {0};
    for (int32_t i = 0; i < BATCH_COUNT; i++) {
        buckets[i].bucket_id = i;
        buckets[i].has_high_watermark = true;
        buckets[i].high_watermark = 123456789;
        buckets[i].has_records = true;
        buckets[i].records = fl_slice_of(payload, BATCH_SIZE);
    }
    fl_msg_pb_fetch_log_resp_for_table table = {
        .table_id = 1, .buckets_resp = buckets, .buckets_resp_count = BATCH_COUNT};
    const fl_msg_fetch_log_response message = {.tables_resp = &table, .tables_resp_count = 1};
    measure("FetchLogResponse, 4 batches of 1 MiB", &fl_msg_desc_fetch_log_response, &message);
}

static void measure_produce(void)
{
    fl_msg_pb_produce_log_req_for_bucket bucket = {.records = fl_slice_of(payload, VALUE_SIZE)};
    const fl_msg_produce_log_request message = {.acks = -1,
                                                .table_id = 1,
                                                .timeout_ms = 30000,
                                                .buckets_req = &bucket,
                                                .buckets_req_count = 1};
    measure("ProduceLogRequest, 1 batch of 100 bytes", &fl_msg_desc_produce_log_request, &message);
}

static void measure_metadata(void)
{
    static fl_msg_pb_table_metadata tables[TABLE_COUNT];
    static fl_msg_pb_bucket_metadata buckets[16];
    static int32_t replicas[3] = {0, 1, 2};
    for (int32_t i = 0; i < (int32_t)FL_COUNT_OF(buckets); i++) {
        buckets[i] = (fl_msg_pb_bucket_metadata){
            .bucket_id = i, .has_leader_id = true, .replica_id = replicas, .replica_id_count = 3};
    }
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        tables[i] = (fl_msg_pb_table_metadata){
            .table_path = {.database_name = fl_slice_str("fluss"),
                           .table_name = fl_slice_str("a_table_of_this_database")},
            .table_json = fl_slice_of(payload, 600),
            .bucket_metadata = buckets,
            .bucket_metadata_count = FL_COUNT_OF(buckets),
        };
    }
    const fl_msg_metadata_response message = {.table_metadata = tables,
                                              .table_metadata_count = TABLE_COUNT};
    measure("MetadataResponse, 64 tables of 16 buckets", &fl_msg_desc_metadata_response, &message);
}

int main(void)
{
    memset(payload, 'x', sizeof(payload));
    measure_lookup();
    measure_fetch();
    measure_produce();
    measure_metadata();
    return 0;
}
