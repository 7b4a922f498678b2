/* SPDX-License-Identifier: Apache-2.0 */
/* A walk through a segment file by a window: small batches are read many at a time, of large ones
 * only the head unless the walk is to check them. */
#include "segment.h"

enum { HEADS_WINDOW_SIZE = 8 << 10, WHOLE_WINDOW_SIZE = 256 << 10 };

void fl_segment_cursor_init(fl_segment_cursor *cursor, fl_segment *segment, uint64_t position,
                            uint64_t limit, bool is_whole)
{
    *cursor = (fl_segment_cursor){
        .segment = segment, .position = position, .limit = limit, .is_whole = is_whole};
}

void fl_segment_cursor_deinit(fl_segment_cursor *cursor)
{
    fl_frame_unref(cursor->window);
    cursor->window = NULL;
}

/** Have `size` bytes from `position` on in the window; fewer only where the file ends. */
static fluss_code_t fill_window(fl_segment_cursor *cursor, size_t size, fl_slice *bytes,
                                fluss_error_t *err)
{
    fl_frame *window = cursor->window;
    if (window == NULL || cursor->position < cursor->window_position ||
        cursor->position + size > cursor->window_position + window->size) {
        size_t wanted = cursor->is_whole ? WHOLE_WINDOW_SIZE : HEADS_WINDOW_SIZE;
        wanted = size > wanted ? size : wanted;
        if (wanted > cursor->limit - cursor->position) {
            wanted = (size_t)(cursor->limit - cursor->position);
        }
        if (window == NULL || window->capacity < wanted) {
            fl_frame_unref(window);
            cursor->window = window = fl_frame_new(wanted);
            if (window == NULL) {
                return fl_error_nomem(err);
            }
        }
        window->size = 0;
        cursor->window_position = cursor->position;
        FL_TRY(fl_file_read(&cursor->segment->log, cursor->position, window->data, wanted,
                            &window->size, err));
    }
    const size_t from = (size_t)(cursor->position - cursor->window_position);
    const size_t there = window->size > from ? window->size - from : 0;
    *bytes = fl_slice_of(window->data + from, size < there ? size : there);
    return 0;
}

static fluss_code_t cut_short(const fl_segment_cursor *cursor, size_t size, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                    "record batch of %zu bytes is cut short: the segment ends at %llu", size,
                    (unsigned long long)cursor->limit);
}

static fluss_code_t read_batch(fl_segment_cursor *cursor, fluss_error_t *err)
{
    const uint64_t rest = cursor->limit - cursor->position;
    if (rest < FL_BATCH_SIZE_MIN) {
        return cut_short(cursor, FL_BATCH_SIZE_MIN, err);
    }
    fl_slice bytes;
    const size_t head_size = rest < FL_BATCH_HEAD_SIZE_MAX ? (size_t)rest : FL_BATCH_HEAD_SIZE_MAX;
    FL_TRY(fill_window(cursor, head_size, &bytes, err));
    if (bytes.size < head_size) {
        return cut_short(cursor, head_size, err);
    }
    FL_TRY(fl_batch_head_read(bytes, &cursor->head, err));
    if (cursor->head.size > rest) {
        return cut_short(cursor, cursor->head.size, err);
    }
    if (cursor->is_whole) {
        FL_TRY(fill_window(cursor, cursor->head.size, &cursor->batch, err));
        if (cursor->batch.size < cursor->head.size) {
            return cut_short(cursor, cursor->head.size, err);
        }
        FL_TRY(fl_batch_head_check_crc(&cursor->head, cursor->batch, err));
    }
    return 0;
}

fluss_code_t fl_segment_cursor_next(fl_segment_cursor *cursor, bool *found, fluss_error_t *err)
{
    *found = cursor->position < cursor->limit;
    if (!*found) {
        return 0;
    }
    const fluss_code_t rc = read_batch(cursor, err);
    if (rc == FLUSS_E_CORRUPT_RECORD) {
        fl_error_prefix(err, "%s/%s at position %llu: ", cursor->segment->log.dir,
                        cursor->segment->log.name, (unsigned long long)cursor->position);
    }
    if (rc == 0) {
        cursor->batch_position = cursor->position;
        cursor->position += cursor->head.size;
    }
    *found = rc == 0;
    return rc;
}
