/* SPDX-License-Identifier: Apache-2.0 */
/* What the server knows of a table at one moment: immutable and shared, so that tablets on all
 * shards can use it without a lock. A change of the table makes a new one. */
#ifndef FL_TABLE_INFO_H
#define FL_TABLE_INFO_H
#include <stdatomic.h>

#include "base/frame.h"
#include "format/table_rules.h"

typedef struct fl_schema_version {
    fl_schema *schema;
    fl_frame *json; /* as GET_TABLE_SCHEMA answers it */
} fl_schema_version;

typedef struct fl_table_info {
    atomic_int ref_count;
    int64_t table_id;
    char *database, *name;
    fl_table_desc *desc;
    fl_frame *json;             /* desc as it is stored and answered */
    fl_schema_version *schemas; /* schema id i + 1 is at i */
    int32_t schema_count;       /* also the latest schema id */
    int32_t bucket_count;
    int64_t created_ms, modified_ms; /* since 1970 */
    fl_table_settings settings;      /* views desc */
    bool has_primary_key, is_partitioned;
    bool is_arrow_log; /* table.log.format */
} fl_table_info;

/** What makes a table's info. */
typedef struct fl_table_info_spec {
    int64_t table_id;
    fl_slice database, name; /* borrowed */
    int64_t created_ms, modified_ms;
} fl_table_info_spec;

/**
 * Make the info of a table.
 *
 * @param desc    complete and checked, its schema is the latest; takes, on success
 * @param older   JSON texts of the schemas before the latest, ids from 1; borrowed
 * @param info    gives (fl_table_info_unref)
 * Thread: any.
 */
FLUSS_CHECKED fluss_code_t fl_table_info_new(const fl_table_info_spec *spec, fl_table_desc *desc,
                                             const fl_slice *older, size_t older_count,
                                             fl_table_info **info, fluss_error_t *err);
/** shares. Thread: any. */
fl_table_info *fl_table_info_ref(fl_table_info *info);
void fl_table_info_unref(fl_table_info *info); /* NULL allowed */
/** The schema of an id; NULL: unknown. Borrowed from info. */
const fl_schema_version *fl_table_info_schema(const fl_table_info *info, int32_t schema_id);
/** Say that a table has no partition of a name, by its partition columns. Always an error. */
fluss_code_t fl_table_info_no_partition(const fl_table_info *info, fl_slice name,
                                        fluss_error_t *err);
/** The content of a JSON frame. */
static inline fl_slice fl_frame_slice(const fl_frame *frame)
{
    return fl_slice_of(frame->data, frame->size);
}
/** A frame with a copy of the bytes; NULL: out of memory. gives. */
fl_frame *fl_frame_copy(fl_slice bytes) FLUSS_CHECKED;
#endif
