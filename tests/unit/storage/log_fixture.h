/* SPDX-License-Identifier: Apache-2.0 */
/* What the storage tests share: a temporary directory, batches with known content, and a check that
 * a log holds exactly the batches it should. */
#ifndef FL_TEST_LOG_FIXTURE_H
#define FL_TEST_LOG_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four that it needs */
#include <cmocka.h>

#include "storage/file.h"
#include "storage/log.h"

enum { DAY_MS = 24 * 3600 * 1000 };

/** A directory of a test's own, and a path in it that is not there yet. */
typedef struct folder {
    char root[64], dir[96];
} folder;
/** @param name of `dir`, below the root */
void folder_make(folder *made, const char *name);
/** Set a test up and end it: its state is `size` zeroed bytes that begin with a folder. */
void *folder_state(size_t size, const char *name);
int folder_tear_down(void **state);
/** Remove a directory with all that is in it. */
void remove_tree(const char *path);

/** A batch of `count` records whose payload is `payload_size` bytes made from `seed`.
 * @return its size; it is written to `bytes` */
size_t make_batch(uint8_t *bytes, int32_t count, size_t payload_size, uint8_t seed,
                  int64_t writer_id, int32_t sequence);
/** Append a batch of a writer, fail the test on an error. @return its base offset */
int64_t append_batch(fl_log_store *store, int32_t count, size_t payload_size, uint8_t seed,
                     int64_t writer_id, int32_t sequence, int64_t now_ms);
/** Append one without a writer. */
int64_t append_rows(fl_log_store *store, int32_t count, size_t payload_size, int64_t now_ms);
fl_log_store *open_log(const char *dir, const fl_log_store_opts *opts, int64_t now_ms);
/** Make durable by a ticket. */
void sync_log(fl_log_store *store);

/** What a walk over a log found. */
typedef struct log_content {
    size_t batch_count;
    int64_t start_offset, end_offset;
    uint32_t crc; /* over the bytes of all batches */
} log_content;
/** Read all by reads of size_max bytes; offsets must follow without a gap, checksums be right. */
log_content read_log(fl_log_store *store, size_t size_max);

/** Whole files, for damage. */
uint8_t *load_file(const char *dir, const char *name, size_t *size);
void store_file(const char *dir, const char *name, const uint8_t *data, size_t size);
bool has_file(const char *dir, const char *name);
void delete_file(const char *dir, const char *name);
/** Copy the plain files of a directory to a new one. */
void copy_files(const char *from, const char *to);
#endif
