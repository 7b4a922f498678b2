/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the storage layer behind one wrapper: descriptors are opened on demand and shared by a
 * bounded least-recently-used cache, short reads and writes are completed, errors name path and
 * reason, and a test can fail the n-th operation. */
#ifndef FL_FILE_H
#define FL_FILE_H
#include <dirent.h>

#include "base/error.h"
#include "base/slice.h"

/** Open descriptors of many logs, at most a stated number. Thread: any. */
typedef struct fl_file_cache fl_file_cache;

enum { FL_FILE_NAME_SIZE = 48, FL_PATH_SIZE = 4096 };

/** One file in a directory, opened when needed. Embedded in its owner; one owner thread. */
typedef struct fl_file {
    fl_file_cache *cache;
    const char *dir; /* views; outlives the file */
    char name[FL_FILE_NAME_SIZE];
    int fd;                      /* -1: closed; cache's lock */
    uint32_t pin_count;          /* users of fd; cache's lock */
    struct fl_file *prev, *next; /* among the open ones, newest first; cache's lock */
} fl_file;

/** Operations that a test can fail. */
typedef enum {
    FL_FILE_OP_OPEN = 1,
    FL_FILE_OP_READ = 2,
    FL_FILE_OP_WRITE = 4,
    FL_FILE_OP_SYNC = 8,
    FL_FILE_OP_TRUNCATE = 16,
    FL_FILE_OP_OTHER = 32, /* stat, rename, unlink, mkdir */
    FL_FILE_OP_ANY = 63
} fl_file_op;

/** @param open_max descriptors to keep open, at least 8; pinned ones may exceed it. NULL: no
 * memory */
fl_file_cache *fl_file_cache_new(size_t open_max) FLUSS_CHECKED;
/** Every file has been closed before. NULL allowed. */
void fl_file_cache_free(fl_file_cache *cache);
size_t fl_file_cache_open_count(fl_file_cache *cache);
/** Test only: of the operations in `ops`, let the n-th from now on fail with `error` (an errno; a
 * write fails after half of its bytes); n = 0: none; `repeat`: all from then on. */
void fl_file_cache_fail_at(fl_file_cache *cache, unsigned ops, uint64_t n, int error, bool repeat);
/** Test only: operations of these kinds since the last fl_file_cache_fail_at. */
uint64_t fl_file_cache_op_count(const fl_file_cache *cache);

/** Name a file; nothing is opened. */
void fl_file_init(fl_file *file, fl_file_cache *cache, const char *dir, const char *name);
/** Close the descriptor; the file may be used again. It is not pinned. */
void fl_file_close(fl_file *file);
/** Open (and with `create` make) the file and keep the descriptor until fl_file_unpin. */
FLUSS_CHECKED fluss_code_t fl_file_pin(fl_file *file, bool create, int *fd, fluss_error_t *err);
void fl_file_unpin(fl_file *file);

/* Each of these opens the file when needed. Errors: FLUSS_E_LOG_STORAGE_EXCEPTION. */
/** Read up to `size` bytes; `got` < size only at the end of the file. */
FLUSS_CHECKED fluss_code_t fl_file_read(fl_file *file, uint64_t position, void *data, size_t size,
                                        size_t *got, fluss_error_t *err);
/** Write all bytes at a position, creating the file; after an error some may be there. */
FLUSS_CHECKED fluss_code_t fl_file_write(fl_file *file, uint64_t position, const void *data,
                                         size_t size, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_file_truncate(fl_file *file, uint64_t size, fluss_error_t *err);
/** Make the content durable. Thread: any, while the file is neither closed nor removed. */
FLUSS_CHECKED fluss_code_t fl_file_sync(fl_file *file, fluss_error_t *err);
/** Ask the system to start writing back a range; a hint. */
void fl_file_start_writeback(fl_file *file, uint64_t position, uint64_t size);
/** @param exists false: there is no such file, size 0 */
FLUSS_CHECKED fluss_code_t fl_file_stat(fl_file *file, bool *exists, uint64_t *size,
                                        fluss_error_t *err);
/** Close and remove; a missing file is no error. */
FLUSS_CHECKED fluss_code_t fl_file_remove(fl_file *file, fluss_error_t *err);
/** Replace the whole content, by a temporary file and a rename. @param durable sync the new content
 * before the rename */
FLUSS_CHECKED fluss_code_t fl_file_replace(fl_file *file, fl_slice content, bool durable,
                                           fluss_error_t *err);
/** The whole content. @param data gives (fl_free); NULL when there is no such file. @param size_max
 * a larger file is an error */
FLUSS_CHECKED fluss_code_t fl_file_load(fl_file *file, size_t size_max, uint8_t **data,
                                        size_t *size, fluss_error_t *err);

/** Make a directory and its parents. @param made how many levels were made */
FLUSS_CHECKED fluss_code_t fl_dir_make(fl_file_cache *cache, const char *path, size_t *made,
                                       fluss_error_t *err);
/** Open a directory to list it. gives (closedir). Thread: any. */
FLUSS_CHECKED fluss_code_t fl_dir_open(fl_file_cache *cache, const char *path, DIR **dir,
                                       fluss_error_t *err);
/** Make the entries of a directory durable. Thread: any. */
FLUSS_CHECKED fluss_code_t fl_dir_sync(fl_file_cache *cache, const char *path, fluss_error_t *err);
/** The directory that holds `path`: "." when it has no slash. */
void fl_dir_parent(const char *path, char parent[static FL_PATH_SIZE]);
/** An I/O error with path and reason (errno). @return FLUSS_E_LOG_STORAGE_EXCEPTION */
fluss_code_t fl_file_error(fluss_error_t *err, const char *action, const char *dir,
                           const char *name, int error);
#endif
