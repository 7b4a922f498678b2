/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of CREATE_TABLE and ALTER_TABLE, in the official order where two faults meet: unknown
 * properties, bucket count, keys, then one group of properties after the other. Codes are the
 * official ones. Source: TableDescriptorValidation, Fluss 1.0. */
#include "format/table_rules.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct checker {
    const fl_table_desc *desc;
    const fl_table_limits *limits;
    const fl_table_settings *settings;
    bool has_primary_key;
    fluss_error_t *err;
} checker;

static fluss_code_t refuse(const checker *check, fluss_code_t code, const char *format,
                           va_list values)
{
    char text[512];
    (void)vsnprintf(text, sizeof(text), format, values);
    return fl_error(check->err, code, FLUSS_KIND_ARGUMENT, "%s", text);
}

FL_PRINTF(2, 3)
static fluss_code_t invalid_table(const checker *check, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const fluss_code_t rc = refuse(check, FLUSS_E_INVALID_TABLE, format, values);
    va_end(values);
    return rc;
}

FL_PRINTF(2, 3)
static fluss_code_t invalid_config(const checker *check, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const fluss_code_t rc = refuse(check, FLUSS_E_INVALID_CONFIG, format, values);
    va_end(values);
    return rc;
}

static const fl_column *column_named(const checker *check, const char *name)
{
    const ptrdiff_t index = fl_schema_find(check->desc->schema, name, strlen(name));
    return index < 0 ? NULL : &check->desc->schema->columns[index];
}

static fluss_code_t check_properties(const fl_table_desc *desc, fluss_error_t *err)
{
    for (size_t i = 0; i < desc->property_count; i++) {
        const fl_property *property = fl_property_find(desc->properties[i].key);
        if (property == NULL) {
            return fl_property_unknown(desc->properties[i].key, err);
        }
        FL_TRY(fl_property_check(property, desc->properties[i].value, err));
    }
    return 0;
}

/* ---- buckets and keys ---- */

static fluss_code_t check_bucket_count(const checker *check)
{
    const int32_t count = check->desc->bucket_count;
    if (count < 1) {
        return fl_error(check->err, FLUSS_E_UNKNOWN_SERVER_ERROR, FLUSS_KIND_ARGUMENT,
                        "bucket count must be 1 or more");
    }
    if (count > check->limits->bucket_count_max) {
        return fl_error(check->err, FLUSS_E_BUCKET_MAX_NUM, FLUSS_KIND_ARGUMENT,
                        "bucket count is %d, at most %d are allowed for a table or partition",
                        count, check->limits->bucket_count_max);
    }
    return 0;
}

static fluss_code_t check_key_type(const checker *check, const char *what, const fl_column *column)
{
    return column != NULL && fl_type_root_is_nested(column->type.root)
               ? invalid_table(check, "%s '%s' is %s; a key can't be ARRAY, MAP or ROW", what,
                               column->name, fl_type_root_name(column->type.root))
               : 0;
}

static fluss_code_t check_key_types(const checker *check)
{
    const fl_table_desc *desc = check->desc;
    for (size_t i = 0; i < desc->bucket_key_count; i++) {
        FL_TRY(check_key_type(check, "bucket key", column_named(check, desc->bucket_keys[i])));
    }
    for (size_t i = 0; i < desc->schema->primary_key_count; i++) {
        FL_TRY(check_key_type(check, "primary key column",
                              &desc->schema->columns[desc->schema->primary_key[i]]));
    }
    return 0;
}

static fluss_code_t check_columns(const checker *check)
{
    const fl_schema *schema = check->desc->schema;
    for (size_t i = 0; i < schema->column_count; i++) {
        if (fl_rules_is_system_column(schema->columns[i].name)) {
            return invalid_table(check,
                                 "column name '%s' is reserved, as are __offset, "
                                 "__timestamp, __bucket, _change_type, _log_offset and "
                                 "_commit_timestamp",
                                 schema->columns[i].name);
        }
    }
    return 0;
}

static fluss_code_t check_replication(const checker *check)
{
    const int32_t factor = check->settings->replication_factor;
    if (factor < 1) {
        /* The official server places the replicas of a table without partitions before it looks
         * at the properties, and it is the placing that refuses. */
        return fl_error(check->err,
                        check->desc->partition_key_count > 0 ? FLUSS_E_INVALID_CONFIG
                                                             : FLUSS_E_INVALID_REPLICATION_FACTOR,
                        FLUSS_KIND_ARGUMENT, "'table.replication.factor' is %d, expected 1 or more",
                        factor);
    }
    if (factor > check->limits->server_count) {
        return fl_error(check->err, FLUSS_E_INVALID_REPLICATION_FACTOR, FLUSS_KIND_ARGUMENT,
                        "'table.replication.factor' is %d, but there %s %d server%s", factor,
                        check->limits->server_count == 1 ? "is" : "are",
                        check->limits->server_count, check->limits->server_count == 1 ? "" : "s");
    }
    return 0;
}

/* ---- log and merge ---- */

static fluss_code_t check_log(const checker *check)
{
    const fl_table_settings *settings = check->settings;
    if (check->has_primary_key && settings->kv_format == FL_ROW_COMPACTED &&
        settings->log_format == FL_LOG_FORMAT_INDEXED) {
        return invalid_config(check, "'table.log.format' INDEXED does not go with "
                                     "'table.kv.format' COMPACTED; use ARROW or COMPACTED");
    }
    const int64_t local = settings->log_local_ttl_ms;
    if (local > 0 && settings->log_ttl_ms > 0 && local > settings->log_ttl_ms) {
        return invalid_config(check,
                              "'table.log.local-ttl' is %lld ms, more than "
                              "'table.log.ttl', %lld ms",
                              (long long)local, (long long)settings->log_ttl_ms);
    }
    return 0;
}

static fluss_code_t check_version_column(const checker *check)
{
    static const char key[] = "table.merge-engine.versioned.ver-column";
    const char *name = fl_table_desc_property(check->desc, key);
    if (name == NULL) {
        return invalid_config(check, "merge engine versioned needs '%s'", key);
    }
    const fl_column *column = column_named(check, name);
    if (column == NULL) {
        return invalid_config(check, "'%s': the table has no column '%.200s'", key, name);
    }
    const uint8_t root = column->type.root;
    if (root != FLUSS_INT && root != FLUSS_BIGINT && root != FLUSS_TIMESTAMP &&
        root != FLUSS_TIMESTAMP_LTZ) {
        return invalid_config(check,
                              "'%s': column '%s' is %s, expected INT, BIGINT, TIMESTAMP or "
                              "TIMESTAMP_LTZ",
                              key, name, fl_type_root_name(root));
    }
    return 0;
}

static fluss_code_t check_merge(const checker *check)
{
    const fl_table_settings *settings = check->settings;
    const bool has_behavior = fl_table_desc_property(check->desc, "table.delete.behavior") != NULL;
    if (!check->has_primary_key && settings->merge_engine != FL_MERGE_NONE) {
        return invalid_config(check, "'table.merge-engine' is for tables with a primary key");
    }
    if (!check->has_primary_key && has_behavior) {
        return invalid_config(check, "'table.delete.behavior' is for tables with a primary key");
    }
    if (settings->merge_engine == FL_MERGE_VERSIONED) {
        FL_TRY(check_version_column(check));
    }
    if ((settings->merge_engine == FL_MERGE_FIRST_ROW ||
         settings->merge_engine == FL_MERGE_VERSIONED) &&
        settings->delete_behavior == FL_DELETE_ALLOW) {
        return invalid_config(check,
                              "'table.delete.behavior' ALLOW does not go with merge engine "
                              "%s; use IGNORE or DISABLE",
                              settings->merge_engine == FL_MERGE_FIRST_ROW ? "first_row"
                                                                           : "versioned");
    }
    if (settings->merge_engine == FL_MERGE_AGGREGATION &&
        settings->changelog_image == FL_CHANGELOG_WAL) {
        return invalid_config(check, "'table.changelog.image' WAL does not go with merge engine "
                                     "aggregation; use FULL");
    }
    return fl_table_rules_check_aggregation(check->desc->schema, settings->merge_engine,
                                            check->err);
}

/* ---- partitions ---- */

static bool is_partition_type(uint8_t root)
{
    return root != FLUSS_DECIMAL && !fl_type_root_is_nested(root);
}

static fluss_code_t check_date_key(const checker *check)
{
    const fl_auto_partition *strategy = &check->settings->auto_partition;
    if (strategy->key_index < 0) {
        return 0;
    }
    const char *name = check->desc->partition_keys[strategy->key_index];
    const fl_column *column = column_named(check, name);
    if (column == NULL || column->type.root != FLUSS_DATE) {
        return 0;
    }
    if (strategy->time_unit != FL_TIME_UNIT_DAY || strategy->time_format == NULL ||
        strcmp(strategy->time_format, "yyyy-MM-dd") != 0) {
        return invalid_table(check,
                             "auto-partition key '%s' is DATE, so "
                             "'table.auto-partition.time-unit' must be DAY and "
                             "'table.auto-partition.time-format' 'yyyy-MM-dd'",
                             name);
    }
    return 0;
}

static fluss_code_t check_auto_partition(const checker *check)
{
    const fl_auto_partition *strategy = &check->settings->auto_partition;
    const char *key = fl_table_desc_property(check->desc, "table.auto-partition.key");
    if (check->desc->partition_key_count > 1) {
        if (key == NULL || *key == '\0') {
            return invalid_table(check, "a table with several partition keys needs "
                                        "'table.auto-partition.key'");
        }
        if (strategy->key_index < 0) {
            return invalid_table(check, "'table.auto-partition.key' '%.200s' is no partition key",
                                 key);
        }
        if (strategy->precreate_count > 0) {
            return invalid_table(check,
                                 "'table.auto-partition.num-precreate' is %d; with several "
                                 "partition keys it must be 0",
                                 strategy->precreate_count);
        }
    }
    return check_date_key(check);
}

static fluss_code_t check_partitions(const checker *check)
{
    const fl_auto_partition *strategy = &check->settings->auto_partition;
    const fl_table_desc *desc = check->desc;
    if (desc->partition_key_count == 0) {
        return strategy->enabled
                   ? invalid_config(check, "'table.auto-partition.enabled' is for tables with a "
                                           "partition key")
                   : 0;
    }
    for (size_t i = 0; i < desc->partition_key_count; i++) {
        const fl_column *column = column_named(check, desc->partition_keys[i]);
        if (column != NULL && !is_partition_type(column->type.root)) {
            return invalid_table(check,
                                 "partition key '%s' is %s; DECIMAL, ARRAY, MAP and ROW "
                                 "can't be partition keys",
                                 column->name, fl_type_root_name(column->type.root));
        }
    }
    if (strategy->time_format != NULL) {
        FL_TRY(fl_rules_check_time_format(strategy->time_format, strategy->time_unit, check->err));
    }
    return strategy->enabled ? check_auto_partition(check) : 0;
}

/* ---- lake ---- */

static fluss_code_t check_lake(const checker *check)
{
    const fl_table_settings *settings = check->settings;
    const char *historical =
        fl_table_desc_property(check->desc, "table.datalake.historical-partition.enabled");
    bool is_historical = false;
    if (historical != NULL && fl_text_to_bool(historical, &is_historical) && is_historical &&
        (!settings->auto_partition.enabled || !settings->lake_enabled ||
         settings->lake_format != FL_LAKE_PAIMON || !check->has_primary_key ||
         check->desc->partition_key_count != 1)) {
        return invalid_config(check, "'table.datalake.historical-partition.enabled' needs "
                                     "auto-partition, datalake paimon, a primary key and exactly "
                                     "one partition key");
    }
    if (!settings->lake_enabled) {
        return 0;
    }
    if (!check->limits->has_lake) {
        return invalid_table(check, "'table.datalake.enabled' is true, but this server has no "
                                    "data lake");
    }
    if (settings->lake_format != check->limits->lake_format) {
        return invalid_config(check, "'table.datalake.format' differs from the cluster's");
    }
    return 0;
}

static fluss_code_t check_allowed(const checker *check)
{
    if (check->has_primary_key && !check->limits->allow_primary_key_tables) {
        return invalid_table(check, "this server allows no tables with a primary key "
                                    "(allow.create.kv.tables)");
    }
    if (!check->has_primary_key && !check->limits->allow_log_tables) {
        return invalid_table(check, "this server allows no log tables (allow.create.log.tables)");
    }
    return 0;
}

static fluss_code_t check_statistics(const checker *check)
{
    return check->has_primary_key && check->settings->statistics_column_count != 0
               ? invalid_config(check, "'table.statistics.columns' is for log tables")
               : 0;
}

fluss_code_t fl_table_rules_check_create(const fl_table_desc *desc, const fl_table_limits *limits,
                                         fluss_error_t *err)
{
    FL_TRY(check_properties(desc, err));
    fl_table_settings settings;
    checker check = {.desc = desc,
                     .limits = limits,
                     .settings = &settings,
                     .has_primary_key = fl_schema_has_primary_key(desc->schema),
                     .err = err};
    FL_TRY(check_allowed(&check));
    FL_TRY(check_bucket_count(&check));
    FL_TRY(check_key_types(&check));
    FL_TRY(check_columns(&check));
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_code_t rc = fl_table_settings_read(desc, &arena, &settings, err);
    fluss_code_t (*const checks[])(const checker *) = {
        check_replication, check_log, check_merge, check_partitions, check_lake, check_statistics};
    for (size_t i = 0; rc == 0 && i < FL_COUNT_OF(checks); i++) {
        rc = checks[i](&check);
    }
    fl_arena_deinit(&arena);
    return rc;
}

/* ---- altering ---- */

fluss_code_t fl_table_rules_check_alter_property(const fl_table_desc *desc, const char *key,
                                                 const char *value, fluss_error_t *err)
{
    if (strncmp(key, "table.", 6) != 0) {
        return 0;
    }
    const fl_property *property = fl_property_find(key);
    if (property == NULL) {
        (void)fl_property_unknown(key, err);
        if (err != NULL) {
            err->code = FLUSS_E_INVALID_ALTER_TABLE;
        }
        return FLUSS_E_INVALID_ALTER_TABLE;
    }
    if (!property->is_alterable) {
        return fl_error(err, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_KIND_ARGUMENT,
                        "'%s' can't be altered", key);
    }
    const bool has_primary_key = fl_schema_has_primary_key(desc->schema);
    if (!has_primary_key && strcmp(key, "table.kv.standby-replica.enabled") == 0) {
        return fl_error(err, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_KIND_ARGUMENT,
                        "'%s' is for tables with a primary key", key);
    }
    const bool is_lake = strncmp(key, "table.datalake.", 15) == 0;
    const bool is_free = !has_primary_key && desc->bucket_key_count == 0 &&
                         strcmp(key, "table.datalake.enabled") == 0;
    if (is_lake && !is_free && fl_table_desc_property(desc, "table.datalake.format") == NULL) {
        return fl_error(err, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_KIND_ARGUMENT,
                        "'%s' can't be altered: the table was created without a data lake", key);
    }
    if (value == NULL) {
        return 0;
    }
    FL_TRY(fl_property_check(property, value, err));
    bool is_on = false;
    if (strcmp(key, "table.datalake.enabled") == 0 && fl_text_to_bool(value, &is_on) && is_on &&
        fl_table_desc_property(desc, "table.datalake.format") == NULL) {
        return fl_error(err, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_KIND_ARGUMENT,
                        "'%s' can't be turned on: this server has no data lake", key);
    }
    return 0;
}
