/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow: Fluss types to and from Arrow schemas, the Arrow payload of a batch to and from arrays,
 * rows in and out of arrays. struct ArrowSchema and ArrowArray are those of the C data interface.
 * Nothing here copies a buffer that can be shared. */
#ifndef FL_ARROW_H
#define FL_ARROW_H
#include "base/frame.h"
#include "format/datum.h"
#include "format/log_batch.h"

struct ArrowSchema;
struct ArrowArray;

/* ---- schemas ---- */
/** A struct schema of the columns, names, nullability and comments ("comment" in the field's
 * metadata). gives (release). */
FLUSS_CHECKED fluss_code_t fl_arrow_schema_from(const fl_schema *schema, struct ArrowSchema *out,
                                                fluss_error_t *err);
/** The columns of a struct schema as a new fl_schema without keys. @return FLUSS_KIND_ARGUMENT
 * naming field and type */
FLUSS_CHECKED fluss_code_t fl_arrow_schema_to(const struct ArrowSchema *in, fl_schema **schema,
                                              fluss_error_t *err);

/* ---- writing ---- */
typedef enum {
    FL_COMPRESS_NONE = -1,
    FL_COMPRESS_LZ4_FRAME = 0,
    FL_COMPRESS_ZSTD = 1
} fl_compression;
typedef struct fl_arrow_write_opts {
    fl_compression compression;
    int level; /* ZSTD, 1..22 */
} fl_arrow_write_opts;
/** Compressor state, reusable; one thread at a time. gives. NULL: out of memory. */
typedef struct fl_arrow_writer fl_arrow_writer;
fl_arrow_writer *fl_arrow_writer_new(fl_arrow_write_opts opts) FLUSS_CHECKED;
void fl_arrow_writer_free(fl_arrow_writer *writer);
/**
 * Append the Arrow message of rows [row_from, row_from + row_count) of a struct array whose columns
 * have exactly the table's types. Padding 8; validity elided when a column has no nulls; a buffer
 * that does not shrink is stored raw; LZ4 frames of independent 64 KiB blocks. Cost: one pass over
 * each buffer.
 */
FLUSS_CHECKED fluss_code_t fl_arrow_write(fl_arrow_writer *writer, const fl_schema *schema,
                                          const struct ArrowArray *array, int64_t row_from,
                                          int64_t row_count, fl_buf *out, fluss_error_t *err);
/** Bytes that fl_arrow_write appends at most, for these arguments, when nothing is compressed. */
size_t fl_arrow_write_size_max(const fl_schema *schema, const struct ArrowArray *array,
                               int64_t row_from, int64_t row_count);

/* ---- rows into columns ---- */
/** Columns under construction. One thread at a time. gives. */
typedef struct fl_arrow_builder fl_arrow_builder;
FLUSS_CHECKED fluss_code_t fl_arrow_builder_new(const fl_schema *schema, fl_arrow_builder **builder,
                                                fluss_error_t *err);
void fl_arrow_builder_free(fl_arrow_builder *builder);
/** Append a row of coerced values. All or nothing. @return FLUSS_KIND_ARGUMENT naming the field: a
 * value of another kind, a null in a NOT NULL field, a timestamp that its precision can't hold */
FLUSS_CHECKED fluss_code_t fl_arrow_builder_append(fl_arrow_builder *builder,
                                                   const fluss_datum_t *values, fluss_error_t *err);
/** Rows so far, and about how many bytes their buffers hold. */
int64_t fl_arrow_builder_rows(const fl_arrow_builder *builder);
size_t fl_arrow_builder_bytes(const fl_arrow_builder *builder);
/** Close the columns and move them out; the builder is empty and reusable. gives (release). */
FLUSS_CHECKED fluss_code_t fl_arrow_builder_finish(fl_arrow_builder *builder,
                                                   struct ArrowArray *array, fluss_error_t *err);

/* ---- reading ---- */
/**
 * Read a batch's Arrow payload as a struct array. Uncompressed buffers point into the frame, which
 * the array keeps alive, when they are aligned to 8 (64 is not needed); other buffers are copied or
 * decompressed, at most 512 MiB of them. Everything is checked: offsets, lengths, UTF-8 of strings.
 * A column moved out of the array keeps the memory of all columns.
 *
 * @param frame  holds payload; shared by the array; NULL: copy
 * @param schema the (projected) schema that the batch was written with
 * @return FLUSS_E_CORRUPT_MESSAGE, for any bytes
 */
FLUSS_CHECKED fluss_code_t fl_arrow_read(const fl_schema *schema, fl_slice payload, fl_frame *frame,
                                         struct ArrowArray *array, fluss_error_t *err);
/** Reads values out of a struct array. views it. */
typedef struct fl_arrow_rows fl_arrow_rows;
FLUSS_CHECKED fluss_code_t fl_arrow_rows_new(const fl_schema *schema,
                                             const struct ArrowArray *array, fl_arrow_rows **rows,
                                             fluss_error_t *err);
void fl_arrow_rows_free(fl_arrow_rows *rows);
/** One value. @param arena takes nested values; strings and bytes view the array */
FLUSS_CHECKED fluss_code_t fl_arrow_rows_get(const fl_arrow_rows *rows, int64_t row, size_t column,
                                             fl_arena *arena, fluss_datum_t *out,
                                             fluss_error_t *err);

/* ---- arrays of users ---- */
/**
 * Bring a user's struct array into the table's columns: matched by name in any order; converted
 * where lossless (string and binary layouts, dictionaries, integer widths and time units that lose
 * nothing, float to double, naive times as UTC); shared where nothing is to be done. The result has
 * no missing buffers, ascending offsets and UTF-8 text, whoever made the array.
 *
 * @param array moved from on success
 * @return FLUSS_KIND_ARGUMENT: a missing or surplus column, a type that can't be converted (column
 * and both types), a value that would lose, a null in a NOT NULL column
 */
FLUSS_CHECKED fluss_code_t fl_arrow_convert(const struct ArrowSchema *from,
                                            struct ArrowArray *array, const fl_schema *schema,
                                            struct ArrowArray *out, fluss_error_t *err);
/** The rows at `indexes` as a new array (split by bucket or partition). gives. */
FLUSS_CHECKED fluss_code_t fl_arrow_take(const fl_schema *schema, const struct ArrowArray *array,
                                         const int64_t *indexes, size_t count,
                                         struct ArrowArray *out, fluss_error_t *err);
/** Rows [from, from + count) without copying. takes `array`: the result keeps it, and releasing the
 * result releases it. */
FLUSS_CHECKED fluss_code_t fl_arrow_slice(struct ArrowArray *array, int64_t from, int64_t count,
                                          struct ArrowArray *out, fluss_error_t *err);
/** Columns of `from` (written under an older or wider schema) arranged as `to`, matched by column
 * id; missing ones are null. `array` moved from. */
FLUSS_CHECKED fluss_code_t fl_arrow_realign(const fl_schema *from, struct ArrowArray *array,
                                            const fl_schema *to, struct ArrowArray *out,
                                            fluss_error_t *err);
#endif
