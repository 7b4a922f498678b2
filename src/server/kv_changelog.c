/* SPDX-License-Identifier: Apache-2.0 */
/* The changelog batch of one KV batch: change types and rows in the table's log format. The whole
 * KV batch becomes one batch (magic 0, attributes 0); without any change it is an empty one, which
 * takes a log offset, so that the writer's batch sequence moves on. */
#include <nanoarrow/nanoarrow.h>

#include "format/log_batch.h"
#include "server/kv_tablet_private.h"

enum { NANOS_PER_MS = 1000000, NANOS_PER_US = 1000, MICROSECOND_PRECISION = 6 };

void fl_kv_changelog_init(fl_kv_changelog *changelog)
{
    *changelog = (fl_kv_changelog){0};
    fl_buf_init(&changelog->change_types, INT32_MAX);
    fl_buf_init(&changelog->row, INT32_MAX);
}

void fl_kv_changelog_deinit(fl_kv_changelog *changelog)
{
    fl_arrow_builder_free(changelog->builder);
    fl_arrow_writer_free(changelog->writer);
    fl_buf_deinit(&changelog->change_types);
    fl_buf_deinit(&changelog->row);
    fl_kv_changelog_init(changelog);
}

static bool is_arrow(const fl_kv_tablet *tablet)
{
    return tablet->settings.log_format == FL_LOG_FORMAT_ARROW;
}

fluss_code_t fl_kv_changelog_prepare(fl_kv_tablet *tablet, fluss_error_t *err)
{
    fl_kv_changelog *changelog = &tablet->changelog;
    fl_kv_changelog_deinit(changelog);
    if (!is_arrow(tablet)) {
        return 0;
    }
    changelog->writer = fl_arrow_writer_new((fl_arrow_write_opts){
        .compression = tablet->settings.compression, .level = tablet->settings.compression_level});
    if (changelog->writer == NULL) {
        return fl_error_nomem(err);
    }
    return fl_arrow_builder_new(fl_kv_latest(tablet), &changelog->builder, err);
}

fluss_code_t fl_kv_changelog_reset(fl_kv_tablet *tablet, fluss_error_t *err)
{
    fl_kv_changelog *changelog = &tablet->changelog;
    const bool has_rows = changelog->record_count != 0; /* of a batch that failed */
    changelog->record_count = 0;
    fl_buf_reset(&changelog->change_types);
    fl_buf_reset(&tablet->changes);
    if (!is_arrow(tablet)) {
        return fl_row_log_builder_init(&changelog->rows, &tablet->changes, err);
    }
    if (has_rows) {
        fl_arrow_builder_free(changelog->builder);
        changelog->builder = NULL;
    }
    return changelog->builder != NULL
               ? 0
               : fl_arrow_builder_new(fl_kv_latest(tablet), &changelog->builder, err);
}

static fluss_code_t add_row(fl_kv_tablet *tablet, fluss_change_t change,
                            const fluss_datum_t *values, fluss_error_t *err)
{
    fl_kv_changelog *changelog = &tablet->changelog;
    const fl_kv_version *version = &tablet->versions[tablet->version_count - 1];
    const fl_row_format format =
        tablet->settings.log_format == FL_LOG_FORMAT_INDEXED ? FL_ROW_INDEXED : FL_ROW_COMPACTED;
    fl_buf_reset(&changelog->row);
    FL_TRY(fl_row_encode(format, version->types, values, version->schema->column_count,
                         &changelog->row, err));
    return fl_row_log_builder_add(&changelog->rows, change, fl_buf_slice(&changelog->row), err);
}

/* Arrow counts the nanoseconds of a TIMESTAMP(7..9) in 64 bits. A client that has microseconds only
 * rounds the ends of that range to just outside of it; such a value is logged as the end. What is
 * further out is refused: the log could not give it back. */
static fluss_code_t fit_timestamp(const fl_column *column, fluss_datum_t *value, fluss_error_t *err)
{
    const __int128 exact = (__int128)value->v.i * NANOS_PER_MS + value->nanos;
    if (exact >= INT64_MIN && exact <= INT64_MAX) {
        return 0;
    }
    const int64_t end = exact < 0 ? INT64_MIN : INT64_MAX;
    const __int128 beyond = exact < 0 ? end - exact : exact - end;
    if (beyond >= NANOS_PER_US) {
        return fl_error(err, FLUSS_E_INVALID_TIMESTAMP, FLUSS_KIND_SERVER,
                        "column '%s': a timestamp of %lld ms does not fit the 64-bit nanoseconds "
                        "of its changelog, which reach from 1677 to 2262",
                        column->name, (long long)value->v.i);
    }
    value->v.i = end / NANOS_PER_MS - (end % NANOS_PER_MS < 0);
    value->nanos = (int32_t)(end - (__int128)value->v.i * NANOS_PER_MS);
    return 0;
}

/* The row as the changelog can hold it: `values`, or a copy of them from the tablet's arena. */
static fluss_code_t fit_row(fl_kv_tablet *tablet, const fluss_datum_t **values, fluss_error_t *err)
{
    const fl_schema *schema = fl_kv_latest(tablet);
    fluss_datum_t *copy = NULL;
    for (size_t i = 0; i < schema->column_count; i++) {
        const fl_type *type = &schema->columns[i].type;
        const bool is_timestamp =
            type->root == FLUSS_TIMESTAMP || type->root == FLUSS_TIMESTAMP_LTZ;
        if (!is_timestamp || type->precision <= MICROSECOND_PRECISION ||
            (*values)[i].type == FLUSS_NULL) {
            continue;
        }
        if (copy == NULL) {
            copy = fl_arena_array(&tablet->arena, schema->column_count, sizeof(*copy));
            if (copy == NULL) {
                return fl_error_nomem(err);
            }
            memcpy(copy, *values, schema->column_count * sizeof(*copy));
            *values = copy;
        }
        FL_TRY(fit_timestamp(&schema->columns[i], &copy[i], err));
    }
    return 0;
}

fluss_code_t fl_kv_changelog_add(fl_kv_tablet *tablet, fluss_change_t change,
                                 const fluss_datum_t *values, fluss_error_t *err)
{
    fl_kv_changelog *changelog = &tablet->changelog;
    if (changelog->record_count == INT32_MAX) {
        return fl_error(err, FLUSS_E_RECORD_TOO_LARGE, FLUSS_KIND_SERVER,
                        "a batch has too many records");
    }
    changelog->record_count++;
    if (!is_arrow(tablet)) {
        return add_row(tablet, change, values, err);
    }
    FL_TRY(fit_row(tablet, &values, err));
    FL_TRY(fl_buf_append_byte(&changelog->change_types, (uint8_t)change, err));
    return fl_arrow_builder_append(changelog->builder, values, err);
}

/* Header's room, change types, Arrow message. */
static fluss_code_t write_arrow(fl_kv_tablet *tablet, fluss_error_t *err)
{
    fl_kv_changelog *changelog = &tablet->changelog;
    struct ArrowArray columns;
    FL_TRY(fl_buf_append_zeros(&tablet->changes, fl_log_batch_header_size(0, 0), err));
    if (changelog->record_count == 0) {
        return 0;
    }
    FL_TRY(fl_buf_append_slice(&tablet->changes, fl_buf_slice(&changelog->change_types), err));
    FL_TRY(fl_arrow_builder_finish(changelog->builder, &columns, err));
    const fluss_code_t rc = fl_arrow_write(changelog->writer, fl_kv_latest(tablet), &columns, 0,
                                           changelog->record_count, &tablet->changes, err);
    ArrowArrayRelease(&columns);
    return rc;
}

fluss_code_t fl_kv_changelog_finish(fl_kv_tablet *tablet, int64_t writer_id, int32_t batch_sequence,
                                    fluss_error_t *err)
{
    fl_kv_changelog *changelog = &tablet->changelog;
    const fl_log_batch_spec spec = {.magic = 0,
                                    .schema_id = (int16_t)fl_kv_latest_id(tablet),
                                    .record_count = changelog->record_count,
                                    .writer_id = writer_id,
                                    .batch_sequence = batch_sequence};
    if (is_arrow(tablet)) {
        FL_TRY(write_arrow(tablet, err));
        fl_log_batch_finish(tablet->changes.data, tablet->changes.size, &spec);
    } else {
        fl_row_log_builder_finish(&changelog->rows, &spec);
    }
    changelog->record_count = 0;
    return 0;
}
