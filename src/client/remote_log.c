/* SPDX-License-Identifier: Apache-2.0 */
/* Tiered logs: DIRECTORY/SEGMENT-ID/START-OFFSET.log, the start offset in 20 digits, holds the
 * bytes that the server's own segment had. They are read in steps of bounded size straight from
 * there; a position is asked of the server anew for each step, so nothing is kept between steps,
 * and a segment that was dropped meanwhile is only a step that failed.
 * Source: FlussPaths.remoteLogSegmentFile, RemoteLogDownloader, Fluss 1.0. */
#include "client/remote_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "format/log_batch.h"

enum { PATH_SIZE_MAX = 4096, SEGMENT_COUNT_MAX = 1 << 20, UUID_LENGTH = 36 };

/* ---- what the server said ---- */

/* The path of "file:///p", "file:/p", "file://localhost/p" or "/p"; size 0: another file system. */
static fl_slice local_path(fl_slice directory)
{
    static const char scheme[] = "file:", host[] = "//localhost/";
    fl_slice path = directory;
    if (path.size >= sizeof(scheme) - 1 && memcmp(path.data, scheme, sizeof(scheme) - 1) == 0) {
        path = fl_slice_sub(path, sizeof(scheme) - 1, path.size - (sizeof(scheme) - 1));
        if (path.size >= sizeof(host) - 1 && memcmp(path.data, host, sizeof(host) - 1) == 0) {
            path = fl_slice_sub(path, sizeof(host) - 2, path.size - (sizeof(host) - 2));
        }
    }
    const bool is_local =
        path.size > 0 && path.data[0] == '/' && memchr(path.data, '\0', path.size) == NULL;
    return is_local ? path : (fl_slice){0};
}

/* A segment's id becomes part of a path: nothing but a UUID is one. */
static bool is_uuid(fl_slice id)
{
    for (size_t i = 0; i < id.size; i++) {
        const uint8_t c = id.data[i];
        const bool is_hex =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!is_hex && c != '-') {
            return false;
        }
    }
    return id.size == UUID_LENGTH;
}

fluss_code_t fl_remote_log_init(fl_remote_log *remote, const fl_msg_pb_remote_log_fetch_info *info,
                                fluss_error_t *err)
{
    *remote = (fl_remote_log){0};
    if (local_path(info->remote_log_tablet_dir).size == 0) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                        "the log is tiered to %.*s; this client reads tiered logs from file: and "
                        "plain paths",
                        (int)info->remote_log_tablet_dir.size,
                        (const char *)info->remote_log_tablet_dir.data);
    }
    const size_t count = info->remote_log_segments_count;
    if (count == 0 || count > SEGMENT_COUNT_MAX || info->first_start_pos < 0) {
        return fl_error_corrupt(err, "a tiered log of %zu segments, read from position %d", count,
                                info->first_start_pos);
    }
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_remote_log_segment *segment = &info->remote_log_segments[i];
        if (!is_uuid(segment->remote_log_segment_id) || segment->remote_log_start_offset < 0) {
            return fl_error_corrupt(err, "segment %zu of a tiered log: id '%.*s', offset %lld", i,
                                    (int)segment->remote_log_segment_id.size,
                                    (const char *)segment->remote_log_segment_id.data,
                                    (long long)segment->remote_log_start_offset);
        }
    }
    remote->segments = fl_calloc(count, sizeof(*remote->segments));
    if (remote->segments == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(remote->segments, info->remote_log_segments, count * sizeof(*remote->segments));
    remote->directory = info->remote_log_tablet_dir;
    remote->segment_count = count;
    remote->first_position = info->has_first_start_pos ? (size_t)info->first_start_pos : 0;
    return 0;
}

void fl_remote_log_deinit(fl_remote_log *remote)
{
    fl_free(remote->segments);
    *remote = (fl_remote_log){0};
}

/* ---- one segment ---- */

typedef struct segment_file {
    char path[PATH_SIZE_MAX];
    int fd;
    size_t size;
} segment_file;

static fluss_code_t storage_error(fluss_error_t *err, const char *path, const char *what,
                                  const char *why)
{
    return fl_error(err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                    "tiered segment %.600s: %s: %s", path, what, why);
}

static fluss_code_t open_segment(const fl_remote_log *remote,
                                 const fl_msg_pb_remote_log_segment *segment, segment_file *file,
                                 fluss_error_t *err)
{
    const fl_slice directory = local_path(remote->directory);
    const int length =
        snprintf(file->path, sizeof(file->path), "%.*s/%.*s/%020lld.log", (int)directory.size,
                 (const char *)directory.data, (int)segment->remote_log_segment_id.size,
                 (const char *)segment->remote_log_segment_id.data,
                 (long long)segment->remote_log_start_offset);
    if (length < 0 || (size_t)length >= sizeof(file->path)) {
        return storage_error(err, file->path, "open", strerror(ENAMETOOLONG));
    }
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0) {
        return storage_error(err, file->path, "open", strerror(errno));
    }
    struct stat status;
    const bool is_known = fstat(file->fd, &status) == 0;
    if (!is_known || !S_ISREG(status.st_mode)) {
        (void)close(file->fd);
        return storage_error(err, file->path, "open", is_known ? "not a file" : strerror(errno));
    }
    file->size = status.st_size > 0 ? (size_t)status.st_size : 0;
    if (segment->segment_size_in_bytes > 0 && file->size < (size_t)segment->segment_size_in_bytes) {
        (void)close(file->fd);
        return fl_error(err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_CORRUPT,
                        "tiered segment %.600s: %zu bytes, %d were written", file->path, file->size,
                        segment->segment_size_in_bytes);
    }
    return 0;
}

/* All of `size` bytes. */
static fluss_code_t read_at(const segment_file *file, size_t position, uint8_t *to, size_t size,
                            fluss_error_t *err)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t count = pread(file->fd, to + done, size - done, (off_t)(position + done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return storage_error(err, file->path, "read",
                                 count < 0 ? strerror(errno) : "it ends too early");
        }
        done += (size_t)count;
    }
    return 0;
}

/* ---- a step ---- */

typedef struct step {
    int64_t offset; /* batches that end before it are not wanted */
    size_t size_max;
    fl_buf kept;
} step;

/* Keep the whole batches of `bytes` that are wanted. @param used bytes of whole batches; 0: not
 * even one, *needed says how many one takes */
static fluss_code_t keep_batches(step *s, fl_slice bytes, size_t *used, size_t *needed,
                                 fluss_error_t *err)
{
    *used = *needed = 0;
    while (*used < bytes.size) {
        const fl_slice rest = fl_slice_sub(bytes, *used, bytes.size - *used);
        size_t size;
        FL_TRY(fl_log_batch_claimed_size(rest, &size, err));
        *needed = size != 0 ? size : FL_LOG_BATCH_HEADER_SIZE_MIN;
        if (*needed > rest.size) {
            return 0;
        }
        fl_log_batch batch;
        FL_TRY(fl_log_batch_open(fl_slice_sub(rest, 0, size), false, &batch, err));
        if (fl_log_batch_next_offset(&batch) > s->offset) {
            FL_TRY(fl_buf_append(&s->kept, rest.data, size, err));
        }
        *used += size;
    }
    return 0;
}

static fluss_code_t read_segment(step *s, const segment_file *file, size_t position,
                                 fluss_error_t *err)
{
    fluss_code_t rc = 0;
    size_t room = s->size_max;
    uint8_t *bytes = NULL;
    while (position < file->size && s->kept.size < s->size_max) {
        const size_t left = file->size - position;
        const size_t wanted = room < left ? room : left;
        size_t used, needed;
        uint8_t *grown = fl_realloc(bytes, wanted);
        if (grown == NULL) {
            rc = fl_error_nomem(err);
            goto out;
        }
        bytes = grown;
        FL_TRY_OUT(read_at(file, position, bytes, wanted, err));
        FL_TRY_OUT(keep_batches(s, fl_slice_of(bytes, wanted), &used, &needed, err));
        if (used == 0 && needed > left) {
            rc = storage_error(err, file->path, "read", "it ends within a batch");
            goto out;
        }
        room = used != 0 ? s->size_max : needed;
        position += used;
    }
out:
    fl_free(bytes);
    if (rc != 0 && err != NULL && err->code != FLUSS_E_STORAGE_EXCEPTION &&
        err->kind == FLUSS_KIND_CORRUPT) {
        char at[64];
        (void)snprintf(at, sizeof(at), ", position %zu: ", position);
        fl_error_prefix(err, "tiered segment %.600s%s", file->path, at);
    }
    return rc;
}

fluss_code_t fl_remote_log_read(const fl_remote_log *remote, int64_t offset, size_t size_max,
                                fl_frame **frame, fluss_error_t *err)
{
    step s = {.offset = offset,
              .size_max = size_max > FL_LOG_BATCH_HEADER_SIZE_MIN ? size_max
                                                                  : FL_LOG_BATCH_HEADER_SIZE_MIN};
    fluss_code_t rc = 0;
    *frame = NULL;
    fl_buf_init(&s.kept, INT32_MAX);
    for (size_t i = 0; i < remote->segment_count && s.kept.size < s.size_max && rc == 0; i++) {
        segment_file file;
        rc = open_segment(remote, &remote->segments[i], &file, err);
        if (rc == 0) {
            rc = read_segment(&s, &file, i == 0 ? remote->first_position : 0, err);
            (void)close(file.fd);
        }
    }
    if (rc != 0 && s.kept.size > 0) {
        rc = 0; /* what came before the fault is good; the next step meets it again */
    }
    if (rc == 0) {
        *frame = fl_frame_new(s.kept.size);
        rc = *frame != NULL ? 0 : fl_error_nomem(err);
    }
    if (rc == 0 && s.kept.size > 0) {
        memcpy((*frame)->data, s.kept.data, s.kept.size);
        (*frame)->size = s.kept.size;
    }
    fl_buf_deinit(&s.kept);
    return rc;
}
