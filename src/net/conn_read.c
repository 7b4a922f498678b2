/* SPDX-License-Identifier: Apache-2.0 */
/* Reading frames. One readv fills the rest of the frame at hand and the loop's scratch buffer, so
 * that many small frames come with one call and a large frame is received in place, without a copy.
 * What follows in the scratch buffer is cut into frames at once; it is kept (held) only when the
 * receiver pauses in between. */
#include <errno.h>
#include <sys/uio.h>

#include "net/conn_private.h"

enum { READS_PER_TURN_MAX = 16 };

static void deliver(fl_conn *conn)
{
    fl_frame *frame = conn->frame;
    conn->frame = NULL;
    conn->prefix_filled = 0;
    conn->events->on_frame(conn, frame, conn->context);
}

static void refuse_length(fl_conn *conn, int32_t length)
{
    conn->is_paused = true; /* no more input is understood */
    if (conn->events->on_bad_length != NULL) {
        conn->events->on_bad_length(conn, length, conn->context);
    } else {
        fluss_error_t why;
        (void)fl_error(&why, FLUSS_E_CORRUPT_MESSAGE, FLUSS_KIND_CORRUPT,
                       "%s announced a frame of %d bytes, allowed are %zu to %zu", conn->peer,
                       (int)length, conn->opts.frame_size_min, conn->opts.frame_size_max);
        fl_conn_fail(conn, &why);
    }
    conn->prefix_filled = 0;
}

/* The prefix is complete: make room for the frame it announces. false: it can't be received. */
static bool begin_frame(fl_conn *conn)
{
    const int32_t length = (int32_t)fl_load_be32(conn->prefix);
    size_t size;
    if (!fl_size_from_i32(length, &size) || size < conn->opts.frame_size_min ||
        size > conn->opts.frame_size_max) {
        refuse_length(conn, length);
        return false;
    }
    conn->frame = fl_frame_new(size);
    conn->frame_size = size;
    if (conn->frame == NULL) {
        fluss_error_t why;
        (void)fl_error_nomem(&why);
        fl_conn_fail(conn, &why);
        return false;
    }
    return true;
}

/* Cut bytes into frames. Returns how many were used: all, unless the receiver paused or closed. */
static size_t cut_frames(fl_conn *conn, const uint8_t *data, size_t size)
{
    size_t used = 0;
    while (used < size && !conn->is_paused && conn->state == FL_CONN_OPEN) {
        if (conn->frame == NULL) {
            conn->prefix[conn->prefix_filled++] = data[used++];
            if (conn->prefix_filled < sizeof(conn->prefix) || !begin_frame(conn)) {
                continue;
            }
        }
        const size_t missing = conn->frame_size - conn->frame->size;
        const size_t step = missing < size - used ? missing : size - used;
        if (step != 0) {
            memcpy(conn->frame->data + conn->frame->size, data + used, step);
        }
        conn->frame->size += step;
        used += step;
        if (conn->frame->size == conn->frame_size) {
            deliver(conn);
        }
    }
    return used;
}

/* One readv. false when the socket has no more, or the connection is no longer open. */
static bool read_once(fl_conn *conn)
{
    fl_loop *loop = conn->loop;
    struct iovec iov[2];
    int count = 0;
    size_t asked = FL_LOOP_SCRATCH_SIZE, missing = 0;
    if (conn->frame != NULL) {
        missing = conn->frame_size - conn->frame->size;
        iov[count++] = (struct iovec){conn->frame->data + conn->frame->size, missing};
        asked += missing;
    }
    iov[count++] = (struct iovec){loop->scratch, FL_LOOP_SCRATCH_SIZE};
    const ssize_t got = readv(conn->fd, iov, count);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return errno == EINTR;
    }
    if (got <= 0) {
        fluss_error_t why;
        (void)fl_error(&why, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK, "connection to %s: %s",
                       conn->peer, got == 0 ? "closed by the other side" : strerror(errno));
        fl_conn_fail(conn, &why);
        return false;
    }
    conn->last_active_ms = fl_clock_ms();
    size_t in_scratch = (size_t)got;
    if (missing != 0) {
        const size_t in_frame = in_scratch < missing ? in_scratch : missing;
        conn->frame->size += in_frame;
        in_scratch -= in_frame;
        if (conn->frame->size == conn->frame_size) {
            deliver(conn);
        }
    }
    const size_t used = cut_frames(conn, loop->scratch, in_scratch);
    if (used < in_scratch && conn->state == FL_CONN_OPEN) {
        fluss_error_t why;
        if (fl_buf_append(&conn->held, loop->scratch + used, in_scratch - used, &why) != 0) {
            fl_conn_fail(conn, &why);
        }
    }
    return (size_t)got == asked && !conn->is_paused && conn->state == FL_CONN_OPEN;
}

void fl_conn_on_readable(fl_conn *conn)
{
    for (int i = 0; i < READS_PER_TURN_MAX && !conn->is_paused && read_once(conn); i++) {
    }
}

void fl_conn_pause(fl_conn *conn)
{
    conn->is_paused = true;
    fl_conn_update_interest(conn);
}

void fl_conn_resume(fl_conn *conn)
{
    if (!conn->is_paused || conn->state != FL_CONN_OPEN) {
        return;
    }
    if (conn->held.size == 0 && !conn->is_resume_posted) {
        conn->is_paused = false;
        fl_conn_update_interest(conn);
    } else if (!conn->is_resume_posted) {
        conn->is_resume_posted =
            true; /* held frames come from the loop, not from inside this call */
        conn->pins++;
        fl_loop_post(conn->loop, &conn->resume);
    }
}

void fl_conn_run_resume(fl_task *task)
{
    fl_conn *conn = FL_CONTAINER_OF(task, fl_conn, resume);
    conn->is_resume_posted = false;
    if (conn->state == FL_CONN_OPEN) {
        conn->is_paused = false;
        const size_t used = cut_frames(conn, conn->held.data, conn->held.size);
        memmove(conn->held.data, conn->held.data + used, conn->held.size - used);
        conn->held.size -= used;
        fl_conn_update_interest(conn);
    }
    fl_conn_unpin(conn);
}

void fl_conn_drop_input(fl_conn *conn)
{
    fl_frame_unref(conn->frame);
    conn->frame = NULL;
}
