/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer of a compressed Arrow body is empty, or an i64 with the size of its content and one
 * frame of the codec, or an i64 -1 and the content as it is.
 *
 * LZ4 frames must be of independent blocks of 64 KiB: the Java reader refuses linked blocks, which
 * are liblz4's default as soon as there is more than one block.
 *
 * A claimed content size is believed only as far as the codec can reach: an LZ4 byte stands for at
 * most 255, and a ZSTD block of at least 4 bytes for at most 128 KiB. */
#define ZSTD_STATIC_LINKING_ONLY
#include "format/arrow_compress.h"

#include <lz4frame.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    PREFIX_SIZE = sizeof(int64_t),
    IS_RAW = -1,
    TOO_SMALL = 32, /* bytes that no frame makes shorter, or hardly */
    LZ4_RATIO_MAX = 255,
    ZSTD_RATIO_MAX = ZSTD_BLOCKSIZE_MAX / 4,
    ZSTD_LEVEL_DEFAULT = 3
};

void fl_compressor_deinit(fl_compressor *compressor)
{
    (void)ZSTD_freeCCtx(compressor->zstd);
    compressor->zstd = NULL;
}

/* Both put a frame of `raw` at `to`; size 0: it needs more than the room. */
static fluss_code_t zstd_frame(fl_compressor *compressor, fl_slice raw, uint8_t *to, size_t room,
                               size_t *size, fluss_error_t *err)
{
    if (compressor->zstd == NULL) {
        compressor->zstd = ZSTD_createCCtx();
        if (compressor->zstd == NULL) {
            return fl_error_nomem(err);
        }
    }
    const int level = compressor->opts.level != 0 ? compressor->opts.level : ZSTD_LEVEL_DEFAULT;
    *size = ZSTD_compressCCtx(compressor->zstd, to, room, raw.data, raw.size, level);
    if (ZSTD_isError(*size)) {
        if (ZSTD_getErrorCode(*size) == ZSTD_error_memory_allocation) {
            return fl_error_nomem(err);
        }
        *size = 0;
    }
    return 0;
}

static fluss_code_t lz4_frame(fl_slice raw, uint8_t *to, size_t room, size_t *size,
                              fluss_error_t *err)
{
    const LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max64KB, .blockMode = LZ4F_blockIndependent}};
    *size = LZ4F_compressFrame(to, room, raw.data, raw.size, &preferences);
    if (LZ4F_isError(*size)) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "LZ4 compression of %zu bytes: %s",
                        raw.size, LZ4F_getErrorName(*size));
    }
    return 0;
}

static size_t frame_size_max(fl_compression codec, size_t raw_size)
{
    if (codec == FL_COMPRESS_ZSTD) {
        return ZSTD_compressBound(raw_size);
    }
    const LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max64KB, .blockMode = LZ4F_blockIndependent}};
    return LZ4F_compressFrameBound(raw_size, &preferences);
}

fluss_code_t fl_compress_buffer(fl_compressor *compressor, fl_slice raw, fl_buf *out,
                                fluss_error_t *err)
{
    const fl_compression codec = compressor->opts.compression;
    if (raw.size >= TOO_SMALL) {
        const size_t room = frame_size_max(codec, raw.size);
        FL_TRY(fl_buf_reserve(out, PREFIX_SIZE + room, err));
        uint8_t *to = out->data + out->size;
        size_t size = 0;
        if (codec == FL_COMPRESS_ZSTD) {
            FL_TRY(zstd_frame(compressor, raw, to + PREFIX_SIZE, room, &size, err));
        } else {
            FL_TRY(lz4_frame(raw, to + PREFIX_SIZE, room, &size, err));
        }
        if (size != 0 && size < raw.size) {
            fl_store_i64(to, (int64_t)raw.size);
            out->size += PREFIX_SIZE + size;
            return 0;
        }
    }
    FL_TRY(fl_buf_reserve(out, PREFIX_SIZE + raw.size, err));
    fl_store_i64(out->data + out->size, IS_RAW);
    out->size += PREFIX_SIZE;
    return fl_buf_append_slice(out, raw, err);
}

fluss_code_t fl_compressed_open(fl_compression codec, fl_slice stored, fl_compressed *compressed,
                                fluss_error_t *err)
{
    *compressed = (fl_compressed){.bytes = stored, .is_raw = true};
    if (stored.size == 0) {
        return 0;
    }
    if (stored.size < PREFIX_SIZE) {
        return fl_error_corrupt(err, "compressed buffer of %zu bytes has no room for its size",
                                stored.size);
    }
    const int64_t claimed = fl_load_i64(stored.data);
    compressed->bytes = fl_slice_sub(stored, PREFIX_SIZE, stored.size - PREFIX_SIZE);
    compressed->is_raw = claimed == IS_RAW || claimed == 0;
    if (claimed == IS_RAW) {
        compressed->size = compressed->bytes.size;
        return 0;
    }
    const size_t ratio = codec == FL_COMPRESS_ZSTD ? ZSTD_RATIO_MAX : LZ4_RATIO_MAX;
    const uint64_t reachable = (uint64_t)compressed->bytes.size * ratio;
    if (claimed < 0 || (uint64_t)claimed > reachable) {
        return fl_error_corrupt(err,
                                "compressed buffer of %zu bytes claims a content of %lld bytes, "
                                "possible are %llu",
                                compressed->bytes.size, (long long)claimed,
                                (unsigned long long)reachable);
    }
    compressed->size = (size_t)claimed;
    if (claimed == 0) {
        compressed->bytes.size = 0;
    }
    return 0;
}

void fl_decompressor_deinit(fl_decompressor *decompressor)
{
    fl_frame_unref(decompressor->zstd_room);
    if (decompressor->lz4 != NULL) {
        (void)LZ4F_freeDecompressionContext(decompressor->lz4);
    }
    *decompressor = (fl_decompressor){0};
}

/* The context lives in a pooled frame: making one anew costs next to nothing then. */
static fluss_code_t zstd_prepare(fl_decompressor *decompressor, fluss_error_t *err)
{
    if (decompressor->zstd != NULL) {
        return 0;
    }
    const size_t size = ZSTD_estimateDCtxSize();
    decompressor->zstd_room = fl_frame_new(size);
    if (decompressor->zstd_room == NULL) {
        return fl_error_nomem(err);
    }
    decompressor->zstd = ZSTD_initStaticDCtx(decompressor->zstd_room->data, size);
    return decompressor->zstd != NULL ? 0 : fl_error_nomem(err);
}

static fluss_code_t zstd_content(fl_decompressor *decompressor, const fl_compressed *compressed,
                                 uint8_t *to, fluss_error_t *err)
{
    FL_TRY(zstd_prepare(decompressor, err));
    const size_t size = ZSTD_decompressDCtx(decompressor->zstd, to, compressed->size,
                                            compressed->bytes.data, compressed->bytes.size);
    if (ZSTD_isError(size)) {
        return fl_error_corrupt(err, "ZSTD buffer of %zu bytes, content %zu: %s",
                                compressed->bytes.size, compressed->size, ZSTD_getErrorName(size));
    }
    if (size != compressed->size) {
        return fl_error_corrupt(err, "ZSTD buffer of %zu bytes: content is %zu bytes, claimed %zu",
                                compressed->bytes.size, size, compressed->size);
    }
    return 0;
}

static fluss_code_t lz4_content(fl_decompressor *decompressor, const fl_compressed *compressed,
                                uint8_t *to, fluss_error_t *err)
{
    if (decompressor->lz4 == NULL) {
        LZ4F_dctx *made;
        if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION))) {
            return fl_error_nomem(err);
        }
        decompressor->lz4 = made;
    }
    LZ4F_resetDecompressionContext(decompressor->lz4);
    size_t read = 0, written = 0;
    while (true) {
        size_t room = compressed->size - written;
        size_t left = compressed->bytes.size - read;
        const size_t hint = LZ4F_decompress(decompressor->lz4, to + written, &room,
                                            compressed->bytes.data + read, &left, NULL);
        if (LZ4F_isError(hint)) {
            return fl_error_corrupt(err, "LZ4 buffer of %zu bytes, content %zu: %s",
                                    compressed->bytes.size, compressed->size,
                                    LZ4F_getErrorName(hint));
        }
        read += left;
        written += room;
        if (hint == 0 && written == compressed->size) {
            return 0;
        }
        if (hint == 0 || (room == 0 && left == 0)) {
            return fl_error_corrupt(err,
                                    "LZ4 buffer of %zu bytes: content of %zu bytes claimed, "
                                    "%zu found",
                                    compressed->bytes.size, compressed->size, written);
        }
    }
}

fluss_code_t fl_decompress(fl_decompressor *decompressor, fl_compression codec,
                           const fl_compressed *compressed, uint8_t *to, fluss_error_t *err)
{
    return codec == FL_COMPRESS_ZSTD ? zstd_content(decompressor, compressed, to, err)
                                     : lz4_content(decompressor, compressed, to, err);
}
