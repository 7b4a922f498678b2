/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of a compressed Arrow body. */
#ifndef FL_ARROW_COMPRESS_H
#define FL_ARROW_COMPRESS_H
#include "format/arrow.h"

typedef struct fl_compressor {
    fl_arrow_write_opts opts;
    void *zstd; /* ZSTD_CCtx, from the first use on */
} fl_compressor;

void fl_compressor_deinit(fl_compressor *compressor);
/** Append a non-empty buffer: size and compressed frame, or -1 and the bytes as they are when that
 * is not longer. */
FLUSS_CHECKED fluss_code_t fl_compress_buffer(fl_compressor *compressor, fl_slice raw, fl_buf *out,
                                              fluss_error_t *err);

/** What a stored buffer of a compressed body holds. */
typedef struct fl_compressed {
    fl_slice bytes; /* views the stored buffer */
    bool is_raw;
    size_t size; /* of the content */
} fl_compressed;
/** Split a stored buffer. The claimed size is checked against what the codec can reach.
 * @return FLUSS_E_CORRUPT_MESSAGE */
FLUSS_CHECKED fluss_code_t fl_compressed_open(fl_compression codec, fl_slice stored,
                                              fl_compressed *compressed, fluss_error_t *err);

/** Decompression contexts, made at the first use of each codec. */
typedef struct fl_decompressor {
    fl_frame *zstd_room;
    void *zstd, *lz4;
} fl_decompressor;
void fl_decompressor_deinit(fl_decompressor *decompressor);
/** Fill `to` with exactly the content of a buffer that is not raw.
 * @return FLUSS_E_CORRUPT_MESSAGE */
FLUSS_CHECKED fluss_code_t fl_decompress(fl_decompressor *decompressor, fl_compression codec,
                                         const fl_compressed *compressed, uint8_t *to,
                                         fluss_error_t *err);
#endif
