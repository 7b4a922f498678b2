/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of logs share a few hundred descriptors: an fl_file is a name until it is used, and the
 * cache closes the descriptor that was used longest ago when a new one would exceed the limit.
 * Pinning keeps a descriptor open while a system call runs, outside the cache's lock. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

enum { MAKE_ATTEMPTS_MAX = 16 };

struct fl_file_cache {
    pthread_mutex_t lock; /* guards: newest, oldest, open_count; fd, pins and links of the files */
    fl_file *newest, *oldest;
    size_t open_count, open_max;
    /* The failure that a test asked for. */
    atomic_uint fail_ops;
    atomic_int fail_error;
    atomic_bool fail_repeat;
    atomic_uint_fast64_t fail_at, op_count;
};

fl_file_cache *fl_file_cache_new(size_t open_max)
{
    fl_file_cache *cache = fl_calloc(1, sizeof(*cache));
    if (cache != NULL) {
        cache->open_max = open_max < 8 ? 8 : open_max;
        pthread_mutex_init(&cache->lock, NULL);
    }
    return cache;
}

void fl_file_cache_free(fl_file_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    FL_ASSERT(cache->open_count == 0);
    pthread_mutex_destroy(&cache->lock);
    fl_free(cache);
}

size_t fl_file_cache_open_count(fl_file_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const size_t count = cache->open_count;
    pthread_mutex_unlock(&cache->lock);
    return count;
}

void fl_file_cache_fail_at(fl_file_cache *cache, unsigned ops, uint64_t n, int error, bool repeat)
{
    atomic_store(&cache->fail_ops, ops);
    atomic_store(&cache->fail_error, error);
    atomic_store(&cache->fail_repeat, repeat);
    atomic_store(&cache->op_count, 0);
    atomic_store(&cache->fail_at, n);
}

uint64_t fl_file_cache_op_count(const fl_file_cache *cache)
{
    return atomic_load(&cache->op_count);
}

/** 0, or the errno with which this operation is to fail. */
static int injected_error(fl_file_cache *cache, fl_file_op op)
{
    if (FL_LIKELY((atomic_load_explicit(&cache->fail_ops, memory_order_relaxed) & op) == 0)) {
        return 0;
    }
    const uint64_t count = atomic_fetch_add(&cache->op_count, 1) + 1;
    const uint64_t fail_at = atomic_load(&cache->fail_at);
    const bool fails =
        fail_at != 0 && (count == fail_at || (count > fail_at && cache->fail_repeat));
    return fails ? atomic_load(&cache->fail_error) : 0;
}

fluss_code_t fl_file_error(fluss_error_t *err, const char *action, const char *dir,
                           const char *name, int error)
{
    char text[128];
    return fl_error(err, FLUSS_E_LOG_STORAGE_EXCEPTION, FLUSS_KIND_SERVER, "cannot %s %s%s%s: %s",
                    action, dir, name == NULL ? "" : "/", name == NULL ? "" : name,
                    strerror_r(error, text, sizeof(text)));
}

static fluss_code_t file_error(const fl_file *file, const char *action, int error,
                               fluss_error_t *err)
{
    return fl_file_error(err, action, file->dir, file->name, error);
}

static bool file_path(const fl_file *file, const char *suffix, char path[static FL_PATH_SIZE])
{
    const int size = snprintf(path, FL_PATH_SIZE, "%s/%s%s", file->dir, file->name, suffix);
    return size > 0 && size < FL_PATH_SIZE;
}

/* The list of open files. */

static void unlink_open(fl_file_cache *cache, fl_file *file)
{
    *(file->prev != NULL ? &file->prev->next : &cache->newest) = file->next;
    *(file->next != NULL ? &file->next->prev : &cache->oldest) = file->prev;
    file->prev = file->next = NULL;
    cache->open_count--;
}

static void link_newest(fl_file_cache *cache, fl_file *file)
{
    file->prev = NULL;
    file->next = cache->newest;
    *(cache->newest != NULL ? &cache->newest->prev : &cache->oldest) = file;
    cache->newest = file;
    cache->open_count++;
}

static void close_locked(fl_file_cache *cache, fl_file *file)
{
    unlink_open(cache, file);
    close(file->fd);
    file->fd = -1;
}

static void close_oldest_unpinned(fl_file_cache *cache)
{
    fl_file *file = cache->oldest;
    while (file != NULL && file->pin_count > 0) {
        file = file->prev;
    }
    if (file != NULL) {
        close_locked(cache, file);
    }
}

void fl_file_init(fl_file *file, fl_file_cache *cache, const char *dir, const char *name)
{
    *file = (fl_file){.cache = cache, .dir = dir, .fd = -1};
    FL_ASSERT(strlen(name) < sizeof(file->name));
    memcpy(file->name, name, strlen(name) + 1);
}

void fl_file_close(fl_file *file)
{
    if (file->cache == NULL) {
        return;
    }
    pthread_mutex_lock(&file->cache->lock);
    FL_ASSERT(file->pin_count == 0);
    if (file->fd >= 0) {
        close_locked(file->cache, file);
    }
    pthread_mutex_unlock(&file->cache->lock);
}

/** open(2) with the lock held; when the process has no descriptor left, once more without the file
 * that was used longest ago. */
static int open_path_locked(fl_file_cache *cache, const char *path, int flags)
{
    const int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) {
        return fd;
    }
    close_oldest_unpinned(cache);
    return open(path, flags | O_CLOEXEC, 0644);
}

static int open_path(fl_file_cache *cache, const char *path, int flags)
{
    pthread_mutex_lock(&cache->lock);
    const int fd = open_path_locked(cache, path, flags);
    const int error = errno;
    pthread_mutex_unlock(&cache->lock);
    errno = error;
    return fd;
}

/** Open with the lock held; 0 or an errno. */
static int open_locked(fl_file_cache *cache, fl_file *file, bool create)
{
    char path[FL_PATH_SIZE];
    if (!file_path(file, "", path)) {
        return ENAMETOOLONG;
    }
    while (cache->open_count >= cache->open_max) {
        const size_t before = cache->open_count;
        close_oldest_unpinned(cache);
        if (cache->open_count == before) {
            break;
        }
    }
    const int fd = open_path_locked(cache, path, O_RDWR | (create ? O_CREAT : 0));
    if (fd < 0) {
        return errno;
    }
    file->fd = fd;
    link_newest(cache, file);
    return 0;
}

/** Pin the open descriptor; 0 or an errno. */
static int pin(fl_file *file, bool create, int *fd)
{
    fl_file_cache *cache = file->cache;
    int error = 0;
    pthread_mutex_lock(&cache->lock);
    if (file->fd < 0) {
        error = injected_error(cache, FL_FILE_OP_OPEN);
        error = error != 0 ? error : open_locked(cache, file, create);
    } else if (cache->newest != file) {
        unlink_open(cache, file);
        link_newest(cache, file);
    }
    if (error == 0) {
        file->pin_count++;
        *fd = file->fd;
    }
    pthread_mutex_unlock(&cache->lock);
    return error;
}

fluss_code_t fl_file_pin(fl_file *file, bool create, int *fd, fluss_error_t *err)
{
    const int error = pin(file, create, fd);
    return error == 0 ? 0 : file_error(file, "open", error, err);
}

void fl_file_unpin(fl_file *file)
{
    pthread_mutex_lock(&file->cache->lock);
    FL_ASSERT(file->pin_count > 0);
    file->pin_count--;
    pthread_mutex_unlock(&file->cache->lock);
}

/* Reading and writing. */

static int read_all(fl_file *file, int fd, uint64_t position, uint8_t *data, size_t size,
                    size_t *got)
{
    *got = 0;
    const int injected = injected_error(file->cache, FL_FILE_OP_READ);
    while (injected == 0 && *got < size) {
        const ssize_t rc = pread(fd, data + *got, size - *got, (off_t)(position + *got));
        if (rc == 0) {
            break;
        }
        if (rc < 0 && errno != EINTR) {
            return errno;
        }
        *got += rc > 0 ? (size_t)rc : 0;
    }
    return injected;
}

fluss_code_t fl_file_read(fl_file *file, uint64_t position, void *data, size_t size, size_t *got,
                          fluss_error_t *err)
{
    int fd;
    *got = 0;
    FL_TRY(fl_file_pin(file, false, &fd, err));
    const int error = read_all(file, fd, position, data, size, got);
    fl_file_unpin(file);
    return error == 0 ? 0 : file_error(file, "read", error, err);
}

static int write_all(fl_file *file, int fd, uint64_t position, const uint8_t *data, size_t size)
{
    const int injected = injected_error(file->cache, FL_FILE_OP_WRITE);
    const size_t wanted = injected == 0 ? size : size / 2;
    size_t done = 0;
    while (done < wanted) {
        const ssize_t rc = pwrite(fd, data + done, wanted - done, (off_t)(position + done));
        if (rc == 0) {
            return ENOSPC;
        }
        if (rc < 0 && errno != EINTR) {
            return errno;
        }
        done += rc > 0 ? (size_t)rc : 0;
    }
    return injected;
}

fluss_code_t fl_file_write(fl_file *file, uint64_t position, const void *data, size_t size,
                           fluss_error_t *err)
{
    int fd;
    FL_TRY(fl_file_pin(file, true, &fd, err));
    const int error = write_all(file, fd, position, data, size);
    fl_file_unpin(file);
    return error == 0 ? 0 : file_error(file, "write", error, err);
}

fluss_code_t fl_file_truncate(fl_file *file, uint64_t size, fluss_error_t *err)
{
    int fd;
    FL_TRY(fl_file_pin(file, true, &fd, err));
    int error = injected_error(file->cache, FL_FILE_OP_TRUNCATE);
    if (error == 0 && ftruncate(fd, (off_t)size) != 0) {
        error = errno;
    }
    fl_file_unpin(file);
    return error == 0 ? 0 : file_error(file, "truncate", error, err);
}

fluss_code_t fl_file_sync(fl_file *file, fluss_error_t *err)
{
    int fd;
    FL_TRY(fl_file_pin(file, false, &fd, err));
    int error = injected_error(file->cache, FL_FILE_OP_SYNC);
    if (error == 0 && fdatasync(fd) != 0) {
        error = errno;
    }
    fl_file_unpin(file);
    return error == 0 ? 0 : file_error(file, "sync", error, err);
}

void fl_file_start_writeback(fl_file *file, uint64_t position, uint64_t size)
{
#ifdef __linux__
    int fd;
    if (pin(file, false, &fd) == 0) {
        (void)sync_file_range(fd, (off_t)position, (off_t)size, SYNC_FILE_RANGE_WRITE);
        fl_file_unpin(file);
    }
#else
    (void)file, (void)position, (void)size;
#endif
}

fluss_code_t fl_file_stat(fl_file *file, bool *exists, uint64_t *size, fluss_error_t *err)
{
    char path[FL_PATH_SIZE];
    struct stat info = {0};
    *exists = false;
    *size = 0;
    int error = injected_error(file->cache, FL_FILE_OP_OTHER);
    if (error == 0 && !file_path(file, "", path)) {
        error = ENAMETOOLONG;
    }
    if (error == 0 && stat(path, &info) != 0) {
        error = errno;
    }
    if (error == 0) {
        *exists = true;
        *size = (uint64_t)info.st_size;
    }
    return error == 0 || error == ENOENT ? 0 : file_error(file, "look at", error, err);
}

fluss_code_t fl_file_remove(fl_file *file, fluss_error_t *err)
{
    char path[FL_PATH_SIZE];
    fl_file_close(file);
    int error = injected_error(file->cache, FL_FILE_OP_OTHER);
    if (error == 0 && !file_path(file, "", path)) {
        error = ENAMETOOLONG;
    }
    if (error == 0 && unlink(path) != 0 && errno != ENOENT) {
        error = errno;
    }
    return error == 0 ? 0 : file_error(file, "remove", error, err);
}

static int write_new(fl_file *file, const char *path, fl_slice content, bool durable)
{
    int error = injected_error(file->cache, FL_FILE_OP_OPEN);
    const int fd = error == 0 ? open_path(file->cache, path, O_WRONLY | O_CREAT | O_TRUNC) : -1;
    if (fd < 0) {
        return error != 0 ? error : errno;
    }
    error = write_all(file, fd, 0, content.data, content.size);
    if (error == 0 && durable) {
        error = injected_error(file->cache, FL_FILE_OP_SYNC);
        error = error == 0 && fdatasync(fd) != 0 ? errno : error;
    }
    return close(fd) != 0 && error == 0 ? errno : error;
}

fluss_code_t fl_file_replace(fl_file *file, fl_slice content, bool durable, fluss_error_t *err)
{
    char path[FL_PATH_SIZE], temporary[FL_PATH_SIZE];
    if (!file_path(file, "", path) || !file_path(file, ".tmp", temporary)) {
        return file_error(file, "write", ENAMETOOLONG, err);
    }
    fl_file_close(file);
    int error = write_new(file, temporary, content, durable);
    if (error == 0) {
        error = injected_error(file->cache, FL_FILE_OP_OTHER);
        error = error == 0 && rename(temporary, path) != 0 ? errno : error;
    }
    if (error != 0) {
        (void)unlink(temporary);
        return file_error(file, "write", error, err);
    }
    return 0;
}

fluss_code_t fl_file_load(fl_file *file, size_t size_max, uint8_t **data, size_t *size,
                          fluss_error_t *err)
{
    bool exists;
    uint64_t file_size;
    *data = NULL;
    *size = 0;
    FL_TRY(fl_file_stat(file, &exists, &file_size, err));
    if (!exists) {
        return 0;
    }
    if (file_size > size_max) {
        return file_error(file, "read", EFBIG, err);
    }
    *data = fl_alloc((size_t)file_size + 1);
    if (*data == NULL) {
        return fl_error_nomem(err);
    }
    const fluss_code_t rc = fl_file_read(file, 0, *data, (size_t)file_size, size, err);
    fl_file_close(file);
    if (rc != 0) {
        fl_free(*data);
        *data = NULL;
        *size = 0;
    }
    return rc;
}

/* Directories. */

/* Make each level of `text`, which comes back as it was. @return 0 or an errno */
static int make_levels(fl_file_cache *cache, char *text, size_t size, size_t *made)
{
    for (size_t i = 1; i <= size; i++) {
        if (text[i] != '/' && text[i] != '\0') {
            continue;
        }
        const char kept = text[i];
        text[i] = '\0';
        int error = injected_error(cache, FL_FILE_OP_OTHER);
        if (error == 0 && mkdir(text, 0755) != 0) {
            error = errno;
        } else if (error == 0) {
            *made += 1;
        }
        struct stat info;
        const bool is_there = error != 0 && stat(text, &info) == 0;
        if (is_there && S_ISDIR(info.st_mode)) {
            error = error == EEXIST || error == EROFS || error == EACCES ? 0 : error;
        } else if (is_there) {
            error = ENOTDIR;
        }
        if (error != 0) {
            return error;
        }
        text[i] = kept;
    }
    return 0;
}

fluss_code_t fl_dir_make(fl_file_cache *cache, const char *path, size_t *made, fluss_error_t *err)
{
    char text[FL_PATH_SIZE];
    const size_t size = strlen(path);
    *made = 0;
    if (size == 0 || size >= sizeof(text)) {
        return fl_file_error(err, "make directory", path, NULL, size == 0 ? ENOENT : ENAMETOOLONG);
    }
    int error = ENOENT;
    /* Another thread may remove a level that is empty, of something dropped; then once more. */
    for (int i = 0; i < MAKE_ATTEMPTS_MAX && (error == ENOENT || error == EEXIST); i++) {
        memcpy(text, path, size + 1);
        error = make_levels(cache, text, size, made);
    }
    return error == 0 ? 0 : fl_file_error(err, "make directory", text, NULL, error);
}

fluss_code_t fl_dir_open(fl_file_cache *cache, const char *path, DIR **dir, fluss_error_t *err)
{
    const int fd = open_path(cache, path, O_RDONLY | O_DIRECTORY);
    *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (*dir != NULL) {
        return 0;
    }
    const int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    return fl_file_error(err, "open directory", path, NULL, error);
}

fluss_code_t fl_dir_sync(fl_file_cache *cache, const char *path, fluss_error_t *err)
{
    int error = injected_error(cache, FL_FILE_OP_SYNC);
    const int fd = error == 0 ? open_path(cache, path, O_RDONLY | O_DIRECTORY) : -1;
    if (fd >= 0) {
        error = fsync(fd) != 0 ? errno : 0;
        close(fd);
    } else if (error == 0) {
        error = errno;
    }
    return error == 0 ? 0 : fl_file_error(err, "sync directory", path, NULL, error);
}

void fl_dir_parent(const char *path, char parent[static FL_PATH_SIZE])
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') {
        size--;
    }
    while (size > 0 && path[size - 1] != '/') {
        size--;
    }
    while (size > 1 && path[size - 1] == '/') {
        size--;
    }
    if (size == 0 || size >= FL_PATH_SIZE) {
        memcpy(parent, ".", 2);
        return;
    }
    memcpy(parent, path, size);
    parent[size] = '\0';
}
