/* SPDX-License-Identifier: Apache-2.0 */
/* A table's properties in typed form. Choices of the registry stand in the order of the C enums, so
 * a choice's index is the enum, or one below it where the enum begins with NONE. */
#include <ctype.h>

#include "format/statistics.h"
#include "format/table_rules.h"

typedef struct reader {
    const fl_table_desc *desc;
    fluss_error_t *err;
} reader;

/* Value of a property, or its default; NULL: neither. A value that is set is checked. */
static fluss_code_t value_of(const reader *from, const char *key, const fl_property **property,
                             const char **value)
{
    *property = fl_property_find(key);
    FL_ASSERT(*property != NULL);
    *value = fl_table_desc_property(from->desc, key);
    if (*value == NULL) {
        *value = (*property)->fallback;
        return 0;
    }
    return fl_property_check(*property, *value, from->err);
}

static fluss_code_t read_i64(const reader *from, const char *key, int64_t unset, int64_t *number)
{
    const fl_property *property;
    const char *value;
    FL_TRY(value_of(from, key, &property, &value));
    *number = unset;
    if (value != NULL) {
        (void)fl_text_to_i64(value, property->min, property->max, number);
    }
    return 0;
}

static fluss_code_t read_int(const reader *from, const char *key, int32_t unset, int32_t *number)
{
    int64_t wide;
    FL_TRY(read_i64(from, key, unset, &wide));
    *number = (int32_t)wide;
    return 0;
}

static fluss_code_t read_bool(const reader *from, const char *key, bool *flag)
{
    const fl_property *property;
    const char *value;
    FL_TRY(value_of(from, key, &property, &value));
    *flag = false;
    if (value != NULL) {
        (void)fl_text_to_bool(value, flag);
    }
    return 0;
}

static fluss_code_t read_duration(const reader *from, const char *key, int64_t unset, int64_t *ms)
{
    const fl_property *property;
    const char *value;
    FL_TRY(value_of(from, key, &property, &value));
    *ms = unset;
    if (value != NULL) {
        (void)fl_text_to_duration_ms(value, ms);
    }
    return 0;
}

/* Index of the choice, -1: not set. */
static fluss_code_t read_choice(const reader *from, const char *key, int *index)
{
    const fl_property *property;
    const char *value;
    FL_TRY(value_of(from, key, &property, &value));
    *index = value == NULL ? -1 : fl_property_choice(property, value);
    return 0;
}

static fluss_code_t read_formats(const reader *from, fl_table_settings *settings)
{
    int index;
    FL_TRY(read_choice(from, "table.log.format", &index));
    settings->log_format = (fl_log_format)index;
    FL_TRY(read_choice(from, "table.log.arrow.compression.type", &index));
    settings->compression = (fl_compression)(index - 1);
    FL_TRY(
        read_int(from, "table.log.arrow.compression.zstd.level", 3, &settings->compression_level));
    FL_TRY(read_choice(from, "table.kv.format", &index));
    settings->kv_format = (fl_row_format)index;
    FL_TRY(read_int(from, "table.kv.format-version", 1, &settings->kv_format_version));
    FL_TRY(read_int(from, "table.replication.factor", 0, &settings->replication_factor));
    FL_TRY(read_choice(from, "table.datalake.format", &index));
    settings->lake_format = (fl_lake_format)(index + 1);
    return read_bool(from, "table.datalake.enabled", &settings->lake_enabled);
}

static fluss_code_t read_log(const reader *from, fl_table_settings *settings)
{
    FL_TRY(read_duration(from, "table.log.ttl", 0, &settings->log_ttl_ms));
    if (settings->log_ttl_ms == 0) {
        settings->log_ttl_ms = -1;
    }
    FL_TRY(read_duration(from, "table.log.local-ttl", -1, &settings->log_local_ttl_ms));
    return read_int(from, "table.log.tiered.local-segments", 2, &settings->tiered_local_segments);
}

static fluss_code_t read_merge(const reader *from, fl_table_settings *settings)
{
    int index;
    FL_TRY(read_choice(from, "table.merge-engine", &index));
    settings->merge_engine = (fl_merge_engine)(index + 1);
    FL_TRY(read_choice(from, "table.delete.behavior", &index));
    settings->delete_behavior = (fl_delete_behavior)index;
    const bool is_set = fl_table_desc_property(from->desc, "table.delete.behavior") != NULL;
    if (!is_set && settings->merge_engine != FL_MERGE_NONE) {
        settings->delete_behavior = FL_DELETE_IGNORE;
    }
    FL_TRY(read_choice(from, "table.changelog.image", &index));
    settings->changelog_image = (fl_changelog_image)index;
    settings->version_column = -1;
    const char *column =
        fl_table_desc_property(from->desc, "table.merge-engine.versioned.ver-column");
    if (column != NULL) {
        settings->version_column =
            (int32_t)fl_schema_find(from->desc->schema, column, strlen(column));
    }
    return read_i64(from, "table.auto-increment.cache-size", 100000,
                    &settings->auto_increment_cache_size);
}

static fluss_code_t read_auto_partition(const reader *from, fl_auto_partition *strategy)
{
    const fl_table_desc *desc = from->desc;
    int index;
    FL_TRY(read_bool(from, "table.auto-partition.enabled", &strategy->enabled));
    FL_TRY(read_choice(from, "table.auto-partition.time-unit", &index));
    strategy->time_unit = (fl_time_unit)index;
    FL_TRY(read_int(from, "table.auto-partition.num-precreate", 2, &strategy->precreate_count));
    FL_TRY(read_int(from, "table.auto-partition.num-retention", 7, &strategy->retention_count));
    strategy->time_format = fl_table_desc_property(desc, "table.auto-partition.time-format");
    strategy->time_zone = fl_table_desc_property(desc, "table.auto-partition.time-zone");
    const char *key = fl_table_desc_property(desc, "table.auto-partition.key");
    strategy->key_index = key == NULL && desc->partition_key_count == 1 ? 0 : -1;
    for (size_t i = 0; key != NULL && i < desc->partition_key_count; i++) {
        if (strcmp(desc->partition_keys[i], key) == 0) {
            strategy->key_index = (int32_t)i;
        }
    }
    return 0;
}

/* ---- statistics columns ---- */

/* The columns as they are named, each of them once. */
typedef struct statistics_reader {
    const fl_schema *schema;
    fl_table_settings *settings;
    bool *is_chosen; /* of each column */
    fluss_error_t *err;
} statistics_reader;

static fluss_code_t add_statistics_column(const statistics_reader *chosen, const char *name,
                                          size_t size)
{
    const fl_schema *schema = chosen->schema;
    fluss_error_t *err = chosen->err;
    const ptrdiff_t index = fl_schema_find(schema, name, size);
    if (index < 0) {
        return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                        "'table.statistics.columns': the table has no column '%.*s'",
                        (int)(size > 200 ? 200 : size), name);
    }
    const fl_type *type = &schema->columns[index].type;
    if (!fl_statistics_supports(type)) {
        return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                        "'table.statistics.columns': column '%s' is %s, which has no statistics",
                        schema->columns[index].name, fl_type_root_name(type->root));
    }
    if (!chosen->is_chosen[index]) {
        fl_table_settings *settings = chosen->settings;
        settings->statistics_columns[settings->statistics_column_count++] = (uint32_t)index;
        chosen->is_chosen[index] = true;
    }
    return 0;
}

static fluss_code_t read_statistics(const reader *from, fl_arena *arena,
                                    fl_table_settings *settings)
{
    const fl_schema *schema = from->desc->schema;
    const char *at = fl_table_desc_property(from->desc, "table.statistics.columns");
    if (at == NULL) {
        return 0;
    }
    settings->statistics_columns = fl_arena_array(arena, schema->column_count, sizeof(uint32_t));
    const statistics_reader chosen = {
        .schema = schema,
        .settings = settings,
        .is_chosen = fl_arena_array(arena, schema->column_count, sizeof(bool)),
        .err = from->err,
    };
    if (settings->statistics_columns == NULL || chosen.is_chosen == NULL) {
        return fl_error_nomem(from->err);
    }
    while (at != NULL) {
        const char *comma = strchr(at, ',');
        const char *end = comma == NULL ? at + strlen(at) : comma;
        while (at < end && isspace((unsigned char)*at)) {
            at++;
        }
        while (end > at && isspace((unsigned char)end[-1])) {
            end--;
        }
        const bool is_all = end - at == 1 && *at == '*';
        for (size_t i = 0; is_all && i < schema->column_count; i++) {
            if (fl_statistics_supports(&schema->columns[i].type)) {
                const char *name = schema->columns[i].name;
                FL_TRY(add_statistics_column(&chosen, name, strlen(name)));
            }
        }
        if (!is_all && end > at) {
            FL_TRY(add_statistics_column(&chosen, at, (size_t)(end - at)));
        }
        at = comma == NULL ? NULL : comma + 1;
    }
    if (settings->statistics_column_count == 0) {
        return fl_error(from->err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                        "'table.statistics.columns' names no column; '*' means all");
    }
    return 0;
}

/* ---- keys ---- */

size_t fl_table_physical_key(const fl_table_desc *desc, uint32_t *columns)
{
    const fl_schema *schema = desc->schema;
    size_t count = 0;
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        const uint32_t column = schema->primary_key[i];
        bool is_partition_key = false;
        for (size_t j = 0; j < desc->partition_key_count; j++) {
            is_partition_key |= strcmp(schema->columns[column].name, desc->partition_keys[j]) == 0;
        }
        if (!is_partition_key) {
            columns[count++] = column;
        }
    }
    return count;
}

/* Whether the bucket keys are the physical primary key, in its order. */
static fluss_code_t read_bucket_key_rule(const reader *from, fl_arena *arena, bool *is_default)
{
    const fl_table_desc *desc = from->desc;
    uint32_t *key = fl_arena_array(arena, desc->schema->primary_key_count, sizeof(*key));
    if (key == NULL) {
        return fl_error_nomem(from->err);
    }
    const size_t count = fl_table_physical_key(desc, key);
    *is_default = desc->bucket_key_count == 0 || desc->bucket_key_count == count;
    for (size_t i = 0; *is_default && i < desc->bucket_key_count; i++) {
        *is_default = strcmp(desc->schema->columns[key[i]].name, desc->bucket_keys[i]) == 0;
    }
    return 0;
}

static void choose_encoders(fl_table_settings *settings)
{
    settings->key_format = FL_KEY_COMPACTED;
    settings->bucket_key_format = FL_KEY_COMPACTED;
    if (settings->lake_format == FL_LAKE_HUDI) {
        settings->bucket_key_format = FL_KEY_HUDI;
    } else if (settings->lake_format == FL_LAKE_PAIMON ||
               settings->lake_format == FL_LAKE_ICEBERG) {
        settings->bucket_key_format =
            settings->lake_format == FL_LAKE_PAIMON ? FL_KEY_PAIMON : FL_KEY_ICEBERG;
        if (settings->kv_format_version < 2 || settings->is_default_bucket_key) {
            settings->key_format = settings->bucket_key_format;
        }
    }
}

fluss_code_t fl_table_settings_read(const fl_table_desc *desc, fl_arena *arena,
                                    fl_table_settings *settings, fluss_error_t *err)
{
    *settings = (fl_table_settings){0};
    const reader from = {.desc = desc, .err = err};
    FL_TRY(read_formats(&from, settings));
    FL_TRY(read_log(&from, settings));
    FL_TRY(read_merge(&from, settings));
    FL_TRY(read_auto_partition(&from, &settings->auto_partition));
    FL_TRY(read_statistics(&from, arena, settings));
    FL_TRY(read_bucket_key_rule(&from, arena, &settings->is_default_bucket_key));
    choose_encoders(settings);
    return 0;
}
