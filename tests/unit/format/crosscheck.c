/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that lets Python put Arrow arrays through the format module by the C data
 * interface (tests/python/test_arrow_crosscheck.py, tests/golden/test_batches.py). Each function
 * returns the code of an error and puts its message into `message`, 1,016 bytes. */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "base/alloc.h"
#include "format/arrow.h"
#include "format/projection.h"
#include "format/statistics.h"

#define EXPORT __attribute__((visibility("default")))

enum { BUF_MAX = 1 << 30, COLUMNS_MAX = 1000 };

EXPORT int crosscheck_write(struct ArrowSchema *from, struct ArrowArray *array, int codec,
                            int level, int64_t row_from, int64_t row_count, uint8_t **bytes,
                            size_t *size, char *message);
EXPORT int crosscheck_read(struct ArrowSchema *types, const uint8_t *bytes, size_t size,
                           size_t lead, struct ArrowSchema *out_schema, struct ArrowArray *out,
                           char *message);
EXPORT int crosscheck_convert(struct ArrowSchema *from, struct ArrowArray *array,
                              struct ArrowSchema *wanted, struct ArrowSchema *out_schema,
                              struct ArrowArray *out, char *message);
EXPORT int crosscheck_take(struct ArrowSchema *from, struct ArrowArray *array,
                           const int64_t *indexes, size_t count, struct ArrowSchema *out_schema,
                           struct ArrowArray *out, char *message);
EXPORT int crosscheck_batch(const uint8_t *bytes, size_t size, int is_arrow, int check_crc,
                            int64_t *facts, char *message);
EXPORT int crosscheck_project(struct ArrowSchema *types, const uint8_t *bytes, size_t size,
                              const uint32_t *columns, size_t count, uint8_t **out,
                              size_t *out_size, char *message);
EXPORT int crosscheck_statistics(struct ArrowSchema *types, struct ArrowArray *array,
                                 const uint32_t *columns, size_t count, uint8_t **out,
                                 size_t *out_size, char *message);
EXPORT void crosscheck_free(void *bytes);
EXPORT int64_t crosscheck_live_count(void);

static int end(fluss_code_t rc, const fluss_error_t *error, char *message)
{
    (void)snprintf(message, sizeof(error->message), "%s", rc != 0 ? error->message : "");
    return rc;
}

static void release(struct ArrowArray *array)
{
    if (array->release != NULL) {
        array->release(array);
    }
}

int crosscheck_write(struct ArrowSchema *from, struct ArrowArray *array, int codec, int level,
                     int64_t row_from, int64_t row_count, uint8_t **bytes, size_t *size,
                     char *message)
{
    fluss_error_t error;
    fl_schema *schema = NULL;
    struct ArrowArray fitted = {.release = NULL};
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    fl_arrow_writer *writer = fl_arrow_writer_new(
        (fl_arrow_write_opts){.compression = (fl_compression)codec, .level = level});
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_schema_to(from, &schema, &error));
    FL_TRY_OUT(fl_arrow_convert(from, array, schema, &fitted, &error));
    FL_TRY_OUT(fl_arrow_write(writer, schema, &fitted, row_from, row_count, &out, &error));
    *bytes = fl_buf_take(&out, size);
out:
    fl_arrow_writer_free(writer);
    fl_buf_deinit(&out);
    release(&fitted);
    fl_schema_unref(schema);
    return end(rc, &error, message);
}

int crosscheck_read(struct ArrowSchema *types, const uint8_t *bytes, size_t size, size_t lead,
                    struct ArrowSchema *out_schema, struct ArrowArray *out, char *message)
{
    fluss_error_t error;
    fl_schema *schema = NULL;
    fl_frame *frame = fl_frame_new(size + lead);
    memcpy(frame->data + lead, bytes, size);
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_schema_to(types, &schema, &error));
    FL_TRY_OUT(fl_arrow_read(schema, fl_slice_of(frame->data + lead, size), frame, out, &error));
    rc = fl_arrow_schema_from(schema, out_schema, &error);
out:
    fl_frame_unref(frame);
    fl_schema_unref(schema);
    return end(rc, &error, message);
}

int crosscheck_convert(struct ArrowSchema *from, struct ArrowArray *array,
                       struct ArrowSchema *wanted, struct ArrowSchema *out_schema,
                       struct ArrowArray *out, char *message)
{
    fluss_error_t error;
    fl_schema *schema = NULL;
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_schema_to(wanted, &schema, &error));
    FL_TRY_OUT(fl_arrow_convert(from, array, schema, out, &error));
    rc = fl_arrow_schema_from(schema, out_schema, &error);
out:
    fl_schema_unref(schema);
    return end(rc, &error, message);
}

int crosscheck_take(struct ArrowSchema *from, struct ArrowArray *array, const int64_t *indexes,
                    size_t count, struct ArrowSchema *out_schema, struct ArrowArray *out,
                    char *message)
{
    fluss_error_t error;
    fl_schema *schema = NULL;
    struct ArrowArray fitted = {.release = NULL};
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_schema_to(from, &schema, &error));
    FL_TRY_OUT(fl_arrow_convert(from, array, schema, &fitted, &error));
    FL_TRY_OUT(fl_arrow_take(schema, &fitted, indexes, count, out, &error));
    rc = fl_arrow_schema_from(schema, out_schema, &error);
out:
    release(&fitted);
    fl_schema_unref(schema);
    return end(rc, &error, message);
}

/* Facts: size, magic, append-only, schema id, base offset, last delta, writer id, sequence,
 * records, position of change types, their size, position of the payload, its size, statistics
 * size. */
int crosscheck_batch(const uint8_t *bytes, size_t size, int is_arrow, int check_crc, int64_t *facts,
                     char *message)
{
    fluss_error_t error;
    fl_log_batch batch;
    fluss_code_t rc;
    FL_TRY_OUT(fl_log_batch_open(fl_slice_of(bytes, size), is_arrow != 0, &batch, &error));
    if (check_crc != 0) {
        FL_TRY_OUT(fl_log_batch_check_crc(&batch, &error));
    }
    const int64_t found[] = {
        (int64_t)batch.bytes.size,
        batch.magic,
        batch.is_append_only,
        batch.schema_id,
        batch.base_offset,
        batch.last_offset_delta,
        batch.writer_id,
        batch.batch_sequence,
        batch.record_count,
        batch.change_types.size != 0 ? batch.change_types.data - bytes : 0,
        (int64_t)batch.change_types.size,
        batch.payload.size != 0 ? batch.payload.data - bytes : 0,
        (int64_t)batch.payload.size,
        (int64_t)batch.statistics.size,
    };
    memcpy(facts, found, sizeof(found));
out:
    return end(rc, &error, message);
}

int crosscheck_project(struct ArrowSchema *types, const uint8_t *bytes, size_t size,
                       const uint32_t *columns, size_t count, uint8_t **out, size_t *out_size,
                       char *message)
{
    fluss_error_t error;
    fl_schema *schema = NULL;
    fl_log_batch batch;
    fl_buf buf;
    fl_buf_init(&buf, BUF_MAX);
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_schema_to(types, &schema, &error));
    FL_TRY_OUT(fl_log_batch_open(fl_slice_of(bytes, size), true, &batch, &error));
    FL_TRY_OUT(fl_log_batch_project(&batch, &(fl_projection){schema, schema, columns, count}, &buf,
                                    &error));
    *out = fl_buf_take(&buf, out_size);
out:
    fl_buf_deinit(&buf);
    fl_schema_unref(schema);
    return end(rc, &error, message);
}

int crosscheck_statistics(struct ArrowSchema *types, struct ArrowArray *array,
                          const uint32_t *columns, size_t count, uint8_t **out, size_t *out_size,
                          char *message)
{
    fluss_error_t error;
    fl_schema *schema = NULL;
    struct ArrowArray fitted = {.release = NULL};
    fl_buf buf;
    fl_buf_init(&buf, BUF_MAX);
    fluss_code_t rc;
    FL_TRY_OUT(fl_arrow_schema_to(types, &schema, &error));
    FL_TRY_OUT(fl_arrow_convert(types, array, schema, &fitted, &error));
    FL_TRY_OUT(
        fl_statistics_write(schema, &fitted, 0, fitted.length, columns, count, &buf, &error));
    *out = fl_buf_take(&buf, out_size);
out:
    fl_buf_deinit(&buf);
    release(&fitted);
    fl_schema_unref(schema);
    return end(rc, &error, message);
}

void crosscheck_free(void *bytes)
{
    fl_free(bytes);
}

int64_t crosscheck_live_count(void)
{
    return fl_alloc_live_count();
}
