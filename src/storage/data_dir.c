/* SPDX-License-Identifier: Apache-2.0 */
/* Two files make a directory ours:
 *   fluss.format  text: "fluss-data-format N\n", N the version; written once, durable
 *   fluss.lock    locked (flock) while open; holds the number of the process that locked it last
 * A directory is taken when it has a format file, or nothing but a lock file or socket that an
 * interrupted first start left. The version is looked at before anything is made or locked, and
 * again under the lock. */
#include "data_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/file.h"

static const char FORMAT_NAME[] = "fluss.format";
static const char FORMAT_WORD[] = "fluss-data-format ";
static const char LOCK_NAME[] = "fluss.lock";
static const char SOCKET_NAME[] = "fluss.sock";
enum { SMALL_FILE_SIZE = 64, PATH_CHARS_MAX = 3800 };

struct fl_data_dir {
    char *path;
    fl_file_cache *cache;
    int lock_fd; /* -1: none */
};

static fluss_code_t storage_error(fluss_error_t *err, const char *action, const char *path,
                                  int error)
{
    char text[128];
    return fl_error(err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_SERVER,
                    "data directory %s: cannot %s: %s", path, action,
                    strerror_r(error, text, sizeof(text)));
}

static void join(const char *path, const char *name, char joined[static FL_PATH_SIZE])
{
    (void)snprintf(joined, FL_PATH_SIZE, "%s/%s", path, name);
}

/** Read a small text file. @param text terminated; "": missing or empty. @return 0 or an errno */
static int read_small(const char *path, const char *name, char text[static SMALL_FILE_SIZE])
{
    char joined[FL_PATH_SIZE];
    join(path, name, joined);
    text[0] = '\0';
    const int fd = open(joined, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? 0 : errno;
    }
    const ssize_t size = read(fd, text, SMALL_FILE_SIZE - 1);
    const int error = size < 0 ? errno : 0;
    text[size < 0 ? 0 : size] = '\0';
    close(fd);
    return error;
}

/** Check the format file. @param is_ours false: there is none */
static fluss_code_t check_format(const char *path, bool *is_ours, fluss_error_t *err)
{
    char text[SMALL_FILE_SIZE];
    const int error = read_small(path, FORMAT_NAME, text);
    *is_ours = false;
    if (error == ENOTDIR) {
        return fl_error_argument(err, "data directory %s: there is a file of this name", path);
    }
    if (error != 0) {
        return storage_error(err, "read fluss.format", path, error);
    }
    if (text[0] == '\0') {
        return 0;
    }
    const size_t word_size = sizeof(FORMAT_WORD) - 1;
    char *end = text;
    const long version =
        strncmp(text, FORMAT_WORD, word_size) == 0 ? strtol(text + word_size, &end, 10) : 0;
    if (version < 1 || *end != '\n') {
        return fl_error_argument(err,
                                 "data directory %s: its fluss.format does not say \"%s%d\"; it is "
                                 "damaged, or not ours",
                                 path, FORMAT_WORD, FL_DATA_FORMAT_VERSION);
    }
    if (version > FL_DATA_FORMAT_VERSION) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_UNSUPPORTED,
                        "data directory %s has format version %ld; this program knows versions up "
                        "to %d: use a newer one",
                        path, version, FL_DATA_FORMAT_VERSION);
    }
    *is_ours = true;
    return 0;
}

/** A directory without a format file may hold only what a first start makes before it. */
static fluss_code_t check_empty(const char *path, fluss_error_t *err)
{
    DIR *entries = opendir(path);
    if (entries == NULL) {
        return errno == ENOENT ? 0 : storage_error(err, "list it", path, errno);
    }
    fluss_code_t rc = 0;
    const struct dirent *entry;
    while (rc == 0 && (entry = readdir(entries)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, LOCK_NAME) != 0 &&
            strcmp(name, SOCKET_NAME) != 0 &&
            strncmp(name, FORMAT_NAME, strlen(FORMAT_NAME)) != 0) {
            rc = fl_error_argument(err,
                                   "data directory %s holds other things (\"%.100s\") and no "
                                   "fluss.format: name an empty or a new directory",
                                   path, name);
        }
    }
    closedir(entries);
    return rc;
}

static fluss_code_t in_use(const fl_data_dir *dir, fluss_error_t *err)
{
    char text[SMALL_FILE_SIZE];
    const long process = read_small(dir->path, LOCK_NAME, text) == 0 ? strtol(text, NULL, 10) : 0;
    if (process > 0) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                        "data directory %s is in use by process %ld", dir->path, process);
    }
    return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                    "data directory %s is in use by another process", dir->path);
}

static fluss_code_t take_lock(fl_data_dir *dir, fluss_error_t *err)
{
    char joined[FL_PATH_SIZE];
    join(dir->path, LOCK_NAME, joined);
    dir->lock_fd = open(joined, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (dir->lock_fd < 0) {
        return storage_error(err, "write in it", dir->path, errno);
    }
    int rc;
    do {
        rc = flock(dir->lock_fd, LOCK_EX | LOCK_NB);
    } while (rc != 0 && errno == EINTR);
    if (rc != 0) {
        return errno == EWOULDBLOCK ? in_use(dir, err)
                                    : storage_error(err, "lock fluss.lock", dir->path, errno);
    }
    char text[SMALL_FILE_SIZE];
    const int size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (ftruncate(dir->lock_fd, 0) != 0 ||
        pwrite(dir->lock_fd, text, (size_t)size, 0) != (ssize_t)size) {
        return storage_error(err, "write fluss.lock", dir->path, errno == 0 ? ENOSPC : errno);
    }
    return 0;
}

static fluss_code_t write_format(fl_data_dir *dir, fluss_error_t *err)
{
    char text[SMALL_FILE_SIZE];
    const int size = snprintf(text, sizeof(text), "%s%d\n", FORMAT_WORD, FL_DATA_FORMAT_VERSION);
    fl_file file;
    fl_file_init(&file, dir->cache, dir->path, FORMAT_NAME);
    FL_TRY(fl_file_replace(&file, fl_slice_of(text, (size_t)size), true, err));
    return fl_dir_sync(dir->cache, dir->path, err);
}

static fluss_code_t open_dir(fl_data_dir *dir, const char *path, fluss_error_t *err)
{
    dir->path = fl_strdup(path);
    dir->cache = fl_file_cache_new(0);
    if (dir->path == NULL || dir->cache == NULL) {
        return fl_error_nomem(err);
    }
    bool is_ours;
    FL_TRY(check_format(path, &is_ours, err));
    if (!is_ours) {
        FL_TRY(check_empty(path, err));
    }
    size_t made;
    FL_TRY(fl_dir_make(dir->cache, path, &made, err));
    FL_TRY(take_lock(dir, err));
    FL_TRY(check_format(path, &is_ours, err)); /* nobody else changes it from now on */
    if (!is_ours) {
        FL_TRY(write_format(dir, err));
    }
    char level[FL_PATH_SIZE], parent[FL_PATH_SIZE];
    (void)snprintf(level, sizeof(level), "%s", path);
    for (size_t i = 0; i < made; i++) {
        fl_dir_parent(level, parent);
        FL_TRY(fl_dir_sync(dir->cache, parent, err));
        memcpy(level, parent, sizeof(level));
    }
    return 0;
}

fluss_code_t fl_data_dir_open(const char *path, fl_data_dir **dir, fluss_error_t *err)
{
    *dir = NULL;
    const size_t size = strlen(path);
    if (size == 0 || size > PATH_CHARS_MAX) {
        return fl_error_argument(err, "data directory: path of %zu characters, expected 1 to %d",
                                 size, PATH_CHARS_MAX);
    }
    fl_data_dir *opened = fl_calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return fl_error_nomem(err);
    }
    opened->lock_fd = -1;
    const fluss_code_t rc = open_dir(opened, path, err);
    if (rc != 0) {
        fl_data_dir_close(opened);
        return rc;
    }
    *dir = opened;
    return 0;
}

void fl_data_dir_close(fl_data_dir *dir)
{
    if (dir == NULL) {
        return;
    }
    if (dir->lock_fd >= 0) {
        close(dir->lock_fd); /* unlocks */
    }
    fl_file_cache_free(dir->cache);
    fl_free(dir->path);
    fl_free(dir);
}

const char *fl_data_dir_path(const fl_data_dir *dir)
{
    return dir->path;
}
