/* SPDX-License-Identifier: Apache-2.0 */
/* Immutable facts of a table. The JSON texts lie in frames, because responses refer to them and may
 * be written after the table is gone. */
#include "server/table_info.h"

#include <stdio.h>

#include "base/alloc.h"

enum { JSON_SIZE_MAX = 64 << 20 };

fl_frame *fl_frame_copy(fl_slice bytes)
{
    fl_frame *frame = fl_frame_new(bytes.size);
    if (frame != NULL) {
        if (bytes.size != 0) {
            memcpy(frame->data, bytes.data, bytes.size);
        }
        frame->size = bytes.size;
    }
    return frame;
}

static fluss_code_t frame_of(const fl_buf *buf, fl_frame **frame, fluss_error_t *err)
{
    *frame = fl_frame_copy(fl_buf_slice(buf));
    return *frame != NULL ? 0 : fl_error_nomem(err);
}

static fluss_code_t schema_json(const fl_schema *schema, fl_frame **frame, fluss_error_t *err)
{
    fl_buf buf;
    fl_buf_init(&buf, JSON_SIZE_MAX);
    fluss_code_t rc = fl_schema_to_json(schema, &buf, err);
    if (rc == 0) {
        rc = frame_of(&buf, frame, err);
    }
    fl_buf_deinit(&buf);
    return rc;
}

static fluss_code_t desc_json(const fl_table_desc *desc, fl_frame **frame, fluss_error_t *err)
{
    fl_buf buf;
    fl_buf_init(&buf, JSON_SIZE_MAX);
    fluss_code_t rc = fl_table_desc_to_json(desc, &buf, err);
    if (rc == 0) {
        rc = frame_of(&buf, frame, err);
    }
    fl_buf_deinit(&buf);
    return rc;
}

static fluss_code_t add_schemas(fl_table_info *info, const fl_table_desc *desc,
                                const fl_slice *older, size_t older_count, fluss_error_t *err)
{
    info->schemas = fl_calloc(older_count + 1, sizeof(fl_schema_version));
    if (info->schemas == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i <= older_count; i++) {
        fl_schema_version *version = &info->schemas[i];
        info->schema_count++;
        if (i < older_count) {
            FL_TRY(fl_schema_from_json(older[i], &version->schema, err));
        } else {
            version->schema = fl_schema_ref(desc->schema);
        }
        FL_TRY(schema_json(version->schema, &version->json, err));
    }
    return 0;
}

static fluss_code_t set_facts(fl_table_info *info, fl_table_desc *desc, fluss_error_t *err)
{
    FL_TRY(fl_table_settings_read(desc, &desc->arena, &info->settings, err));
    info->bucket_count = desc->bucket_count;
    info->has_primary_key = fl_schema_has_primary_key(desc->schema);
    info->is_partitioned = desc->partition_key_count != 0;
    info->is_arrow_log = info->settings.log_format == FL_LOG_FORMAT_ARROW;
    return 0;
}

fluss_code_t fl_table_info_new(const fl_table_info_spec *spec, fl_table_desc *desc,
                               const fl_slice *older, size_t older_count, fl_table_info **out,
                               fluss_error_t *err)
{
    fluss_code_t rc = 0;
    *out = NULL;
    fl_table_info *info = fl_calloc(1, sizeof(*info));
    if (info == NULL) {
        return fl_error_nomem(err);
    }
    atomic_init(&info->ref_count, 1);
    info->table_id = spec->table_id;
    info->created_ms = spec->created_ms;
    info->modified_ms = spec->modified_ms;
    info->database = fl_strndup(spec->database.data, spec->database.size);
    info->name = fl_strndup(spec->name.data, spec->name.size);
    if (info->database == NULL || info->name == NULL) {
        rc = fl_error_nomem(err);
        goto out;
    }
    FL_TRY_OUT(desc_json(desc, &info->json, err));
    FL_TRY_OUT(add_schemas(info, desc, older, older_count, err));
    FL_TRY_OUT(set_facts(info, desc, err));
    info->desc = desc;
    *out = info;
    return 0;
out:
    fl_table_info_unref(info);
    return rc;
}

fl_table_info *fl_table_info_ref(fl_table_info *info)
{
    atomic_fetch_add(&info->ref_count, 1);
    return info;
}

void fl_table_info_unref(fl_table_info *info)
{
    if (info == NULL || atomic_fetch_sub(&info->ref_count, 1) != 1) {
        return;
    }
    for (int32_t i = 0; i < info->schema_count; i++) {
        fl_schema_unref(info->schemas[i].schema);
        fl_frame_unref(info->schemas[i].json);
    }
    fl_free(info->schemas);
    fl_frame_unref(info->json);
    fl_table_desc_free(info->desc);
    fl_free(info->database);
    fl_free(info->name);
    fl_free(info);
}

const fl_schema_version *fl_table_info_schema(const fl_table_info *info, int32_t schema_id)
{
    return schema_id >= 1 && schema_id <= info->schema_count ? &info->schemas[schema_id - 1] : NULL;
}

fluss_code_t fl_table_info_no_partition(const fl_table_info *info, fl_slice name,
                                        fluss_error_t *err)
{
    char keys[256] = "";
    for (size_t i = 0; i < info->desc->partition_key_count; i++) {
        const size_t used = strlen(keys);
        (void)snprintf(keys + used, sizeof(keys) - used, "%s%s", used != 0 ? "$" : "",
                       info->desc->partition_keys[i]);
    }
    return fl_error(err, FLUSS_E_PARTITION_NOT_EXISTS, FLUSS_KIND_SERVER,
                    "Table partition '%s.%s(%s=%.*s)' does not exist.", info->database, info->name,
                    keys[0] != '\0' ? keys : "p", (int)name.size, (const char *)name.data);
}
