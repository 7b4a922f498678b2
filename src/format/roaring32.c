/* SPDX-License-Identifier: Apache-2.0 */
/* Bitmaps of 32-bit integers, little endian:
 *
 *   without runs  12346 u32 · container count u32
 *   with runs     12347 u16 · container count - 1 u16 · a bit for each container that is runs
 *   then          (high bits u16, cardinality - 1 u16) for each container
 *   then          where each container begins, u32; not for fewer than 4 containers with runs
 *   then          the containers
 *
 * A container that is not runs is an array of up to 4,096 values, or a bitmap. Keys ascend. */
#include "format/roaring_private.h"

enum {
    COOKIE = 12347,
    COOKIE_WITHOUT_RUNS = 12346,
    OFFSETS_MIN = 4, /* containers */
    HEAD_SIZE = 4    /* of a container */
};

typedef struct bitmap32 {
    size_t count;
    uint16_t *keys;
    fl_roaring_container *containers;
} bitmap32;

static fluss_code_t make_room(bitmap32 *bitmap, size_t count, fl_arena *arena, fluss_error_t *err)
{
    bitmap->count = 0;
    bitmap->keys = fl_arena_array(arena, count, sizeof(bitmap->keys[0]));
    bitmap->containers = fl_arena_array(arena, count, sizeof(bitmap->containers[0]));
    return bitmap->keys != NULL && bitmap->containers != NULL ? 0 : fl_error_nomem(err);
}

/* The count of containers; run_flags: size 0 when none is runs. */
static fluss_code_t read_head(fl_roaring_reader *reader, size_t *count, fl_slice *run_flags,
                              fluss_error_t *err)
{
    fl_slice cookie = {0}, number = {0};
    *run_flags = fl_slice_of(NULL, 0);
    FL_TRY(fl_roaring_take(reader, 4, &cookie, err));
    if (fl_load_u16(cookie.data) == COOKIE) {
        *count = fl_load_u16(cookie.data + 2) + 1u;
        return fl_roaring_take(reader, (*count + 7) / 8, run_flags, err);
    }
    if (fl_load_u32(cookie.data) != COOKIE_WITHOUT_RUNS) {
        return fl_roaring_refuse(reader, "it does not begin as a bitmap of 32-bit integers", err);
    }
    FL_TRY(fl_roaring_take(reader, 4, &number, err));
    *count = fl_load_u32(number.data);
    if (*count > FL_ROARING_VALUES_MAX) {
        return fl_roaring_refuse(reader, "more than 65536 containers", err);
    }
    return 0;
}

static fluss_code_t read_bitmap(fl_slice bytes, fl_arena *arena, bitmap32 *bitmap,
                                fluss_error_t *err)
{
    fl_roaring_reader reader = {.rest = bytes, .start = bytes.data};
    fl_slice run_flags = {0}, heads = {0}, offsets = {0};
    size_t count = 0;
    FL_TRY(read_head(&reader, &count, &run_flags, err));
    FL_TRY(fl_roaring_take(&reader, count * HEAD_SIZE, &heads, err));
    if (run_flags.size == 0 || count >= OFFSETS_MIN) {
        FL_TRY(fl_roaring_take(&reader, count * sizeof(uint32_t), &offsets, err));
    }
    FL_TRY(make_room(bitmap, count, arena, err));
    for (size_t i = 0; i < count; i++) {
        const uint8_t *head = heads.data + i * HEAD_SIZE;
        const uint32_t cardinality = fl_load_u16(head + 2) + 1u;
        const bool is_runs = run_flags.size != 0 && (run_flags.data[i / 8] >> (i % 8) & 1) != 0;
        fl_roaring_form form =
            cardinality <= FL_ROARING_ARRAY_MAX ? FL_ROARING_ARRAY : FL_ROARING_BITMAP;
        form = is_runs ? FL_ROARING_RUN : form;
        bitmap->keys[i] = fl_load_u16(head);
        if (i != 0 && bitmap->keys[i] <= bitmap->keys[i - 1]) {
            return fl_roaring_refuse(&reader, "the containers are not in order", err);
        }
        FL_TRY(fl_roaring_read(&reader, form, cardinality, &bitmap->containers[i], err));
    }
    bitmap->count = count;
    return 0;
}

static fluss_code_t write_head(const bitmap32 *bitmap, bool has_runs, fl_buf *out,
                               fluss_error_t *err)
{
    uint8_t head[8];
    if (!has_runs) {
        fl_store_u32(head, COOKIE_WITHOUT_RUNS);
        fl_store_u32(head + 4, (uint32_t)bitmap->count);
        return fl_buf_append(out, head, sizeof(head), err);
    }
    fl_store_u16(head, COOKIE);
    fl_store_u16(head + 2, (uint16_t)(bitmap->count - 1));
    FL_TRY(fl_buf_append(out, head, 4, err));
    for (size_t i = 0; i < bitmap->count; i += 8) {
        uint8_t flags = 0;
        for (size_t j = i; j < bitmap->count && j < i + 8; j++) {
            flags |= (uint8_t)((bitmap->containers[j].form == FL_ROARING_RUN) << (j - i));
        }
        FL_TRY(fl_buf_append_byte(out, flags, err));
    }
    return 0;
}

static fluss_code_t write_bitmap(const bitmap32 *bitmap, fl_buf *out, fluss_error_t *err)
{
    const size_t start = out->size;
    bool has_runs = false;
    uint8_t bytes[4];
    for (size_t i = 0; i < bitmap->count; i++) {
        has_runs = has_runs || bitmap->containers[i].form == FL_ROARING_RUN;
    }
    FL_TRY(write_head(bitmap, has_runs, out, err));
    for (size_t i = 0; i < bitmap->count; i++) {
        fl_store_u16(bytes, bitmap->keys[i]);
        fl_store_u16(bytes + 2, (uint16_t)(bitmap->containers[i].cardinality - 1));
        FL_TRY(fl_buf_append(out, bytes, sizeof(bytes), err));
    }
    if (!has_runs || bitmap->count >= OFFSETS_MIN) {
        size_t position = out->size - start + bitmap->count * sizeof(uint32_t);
        for (size_t i = 0; i < bitmap->count; i++) {
            fl_store_u32(bytes, (uint32_t)position);
            FL_TRY(fl_buf_append(out, bytes, sizeof(bytes), err));
            position += bitmap->containers[i].bytes.size;
        }
    }
    for (size_t i = 0; i < bitmap->count; i++) {
        FL_TRY(fl_buf_append_slice(out, bitmap->containers[i].bytes, err));
    }
    return 0;
}

fluss_code_t fl_roaring32_or(fl_slice a, fl_slice b, fl_arena *arena, fl_buf *out,
                             fluss_error_t *err)
{
    bitmap32 left, right, both;
    FL_TRY(read_bitmap(a, arena, &left, err));
    FL_TRY(read_bitmap(b, arena, &right, err));
    FL_TRY(make_room(&both, left.count + right.count, arena, err));
    for (size_t i = 0, j = 0; i < left.count || j < right.count;) {
        const bool has_left = i < left.count && (j == right.count || left.keys[i] <= right.keys[j]);
        const bool has_right =
            j < right.count && (i == left.count || right.keys[j] <= left.keys[i]);
        const fl_roaring_container *first = has_left ? &left.containers[i] : &right.containers[j];
        const fl_roaring_container *second = has_left && has_right ? &right.containers[j] : NULL;
        both.keys[both.count] = has_left ? left.keys[i] : right.keys[j];
        FL_TRY(fl_roaring_unite(first, second, false, arena, &both.containers[both.count], err));
        both.count++;
        i += has_left;
        j += has_right;
    }
    return write_bitmap(&both, out, err);
}
