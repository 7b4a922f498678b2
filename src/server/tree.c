/* SPDX-License-Identifier: Apache-2.0 */
/* Removing directories. Names are walked with directory descriptors, so that a link put there in
 * between leads nowhere; the depth is bounded. */
#include "server/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum { DEPTH_MAX = 8, PATH_SIZE = 4096 };

/* Remove everything in the directory `fd`, which is closed. 0 or an errno. */
static int clear(int fd, int depth)
{
    DIR *entries = fdopendir(fd);
    if (entries == NULL) {
        const int error = errno;
        (void)close(fd);
        return error;
    }
    int error = 0;
    for (struct dirent *entry; error == 0 && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(fd, entry->d_name, 0) == 0) {
            continue;
        }
        const int inner =
            depth < DEPTH_MAX
                ? openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                : -1;
        if (inner < 0) {
            error = errno;
            break;
        }
        error = clear(inner, depth + 1);
        if (error == 0 && unlinkat(fd, entry->d_name, AT_REMOVEDIR) != 0) {
            error = errno;
        }
    }
    (void)closedir(entries);
    return error;
}

fluss_code_t fl_tree_remove(const char *dir, fluss_error_t *err)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = fd >= 0 ? clear(fd, 0) : errno;
    if (error == 0 && rmdir(dir) != 0) {
        error = errno;
    }
    return error == 0 || error == ENOENT
               ? 0
               : fl_error(err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_SERVER, "can't remove %s: %s",
                          dir, strerror(error));
}

void fl_tree_remove_empty_parents(const char *dir, const char *root)
{
    char path[PATH_SIZE];
    const size_t root_size = strlen(root);
    if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path) ||
        strncmp(path, root, root_size) != 0) {
        return;
    }
    for (char *slash; (slash = strrchr(path, '/')) != NULL && slash > path + root_size;) {
        *slash = '\0';
        if (rmdir(path) != 0) {
            return;
        }
    }
}

/* The number after the last `mark` of a name, such as 12 of "orders-12"; -1: there is none. */
static int64_t id_of(const char *name, const char *mark)
{
    const char *at = NULL;
    for (const char *next = strstr(name, mark); next != NULL; next = strstr(next + 1, mark)) {
        at = next;
    }
    if (at == NULL || at == name) {
        return -1;
    }
    at += strlen(mark);
    char *end = NULL;
    errno = 0;
    const long long id = strtoll(at, &end, 10);
    const bool is_number = *at >= '0' && *at <= '9' && *end == '\0' && errno == 0;
    return is_number ? id : -1;
}

typedef struct sweep {
    fl_tree_fate_of fate_of;
    void *context;
    bool removes; /* else it only looks */
} sweep;

static fluss_code_t sweep_dir(const sweep *self, const char *dir, int level, int64_t table_id,
                              fluss_error_t *err);

static fluss_code_t refuse(const char *path, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_SERVER,
                    "%s holds rows of something that the catalog (kv.rocksdb) never made: the "
                    "catalog has lost records, or belongs to another data directory; nothing was "
                    "removed. Put back the kv.rocksdb that belongs here, or take %s away",
                    path, path);
}

/* level 0: a database, 1: a table, 2: a partition or a log. */
static fluss_code_t sweep_entry(const sweep *self, const char *path, const char *name, int level,
                                int64_t table_id, fluss_error_t *err)
{
    const int64_t id = level == 1 ? id_of(name, "-") : level == 2 ? id_of(name, "-p") : 0;
    const fl_tree_fate fate = level == 0 || id < 0 ? FL_TREE_EXISTS
                              : level == 1         ? self->fate_of(self->context, id, -1)
                                                   : self->fate_of(self->context, table_id, id);
    if (fate == FL_TREE_NEVER_MADE) {
        return refuse(path, err);
    }
    if (fate == FL_TREE_DROPPED && self->removes) {
        fl_log(FL_LOG_INFO, "server", "removing %s, of something dropped", path);
        return fl_tree_remove(path, err);
    }
    if (level == 0 || (level == 1 && id >= 0)) {
        FL_TRY(sweep_dir(self, path, level + 1, id, err));
        if (self->removes) {
            (void)rmdir(path); /* when it is empty; it is made again when needed */
        }
    }
    return 0;
}

static fluss_code_t sweep_dir(const sweep *self, const char *dir, int level, int64_t table_id,
                              fluss_error_t *err)
{
    char path[PATH_SIZE];
    struct stat status;
    fluss_code_t rc = 0;
    DIR *entries = opendir(dir);
    if (entries == NULL) {
        return fl_error(err, FLUSS_E_STORAGE_EXCEPTION, FLUSS_KIND_SERVER, "can't read %s: %s", dir,
                        strerror(errno));
    }
    for (struct dirent *entry; rc == 0 && (entry = readdir(entries)) != NULL;) {
        /* No name of Fluss has a dot: what has one is the server's own. */
        if (strchr(entry->d_name, '.') != NULL ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= sizeof(path) ||
            lstat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
            continue;
        }
        rc = sweep_entry(self, path, entry->d_name, level, table_id, err);
    }
    (void)closedir(entries);
    return rc;
}

fluss_code_t fl_tree_sweep(const char *data_dir, fl_tree_fate_of fate_of, void *context,
                           fluss_error_t *err)
{
    sweep self = {.fate_of = fate_of, .context = context};
    FL_TRY(sweep_dir(&self, data_dir, 0, -1, err));
    self.removes = true;
    return sweep_dir(&self, data_dir, 0, -1, err);
}
