/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of names and tables that a server holds its clients to,
 * and a table's settings in typed form. Pure functions: no clock, no zone files, no catalog.
 *
 * The order of CREATE_TABLE: fl_table_desc_from_json, fl_table_desc_check,
 * fl_table_rules_fill_defaults, fl_table_rules_check_create. */
#ifndef FL_TABLE_RULES_H
#define FL_TABLE_RULES_H
#include "format/arrow.h"
#include "format/bucketing.h"
#include "format/row_codec.h"
#include "format/table_desc.h"
#include "format/table_property.h"

/* ---- names ---- */
enum { FL_NAME_SIZE_MAX = 200 };
/** Check the name of a database (FLUSS_E_INVALID_DATABASE), table (FLUSS_E_INVALID_TABLE) or one
 * value of a partition (FLUSS_E_PARTITION_SPEC_INVALID): 1 to 200 characters of A-Z a-z 0-9 _ -,
 * not "." or "..", no "__" in front. The message names character and place. */
FLUSS_CHECKED fluss_code_t fl_rules_check_database_name(fl_slice name, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_rules_check_table_name(fl_slice name, fluss_error_t *err);
/** @param is_create  also refuse the reserved "__" in front */
FLUSS_CHECKED fluss_code_t fl_rules_check_partition_value(fl_slice value, bool is_create,
                                                          fluss_error_t *err);
/** Names of columns that Fluss keeps to itself. */
bool fl_rules_is_system_column(const char *name);

/* ---- CREATE_TABLE ---- */
typedef struct fl_table_limits {
    int32_t bucket_count_max; /* max.bucket.num */
    int32_t server_count;     /* replication factor may be at most this */
    bool allow_log_tables, allow_primary_key_tables;
    bool has_lake; /* the cluster has a lake: table.datalake.enabled is possible */
    fl_lake_format lake_format;
} fl_table_limits;
/** Everything that CREATE_TABLE checks, beyond what fl_table_desc_check did.
 * @return the official codes: 15, 17, 39, 49, -1 */
FLUSS_CHECKED fluss_code_t fl_table_rules_check_create(const fl_table_desc *desc,
                                                       const fl_table_limits *limits,
                                                       fluss_error_t *err);

typedef struct fl_table_defaults {
    int32_t bucket_count;       /* default.bucket.number */
    int32_t replication_factor; /* default.replication.factor */
    fl_lake_format lake_format; /* NONE: the cluster has no lake */
} fl_table_defaults;
/** Write into the descriptor what a server writes: bucket count, table.replication.factor, format
 * version, standby replica, delete behaviour, auto-partition precreate; and the canonical spelling
 * of formats. Values that are wrong stay as they are, for the check to name. */
FLUSS_CHECKED fluss_code_t fl_table_rules_fill_defaults(fl_table_desc *desc,
                                                        const fl_table_defaults *defaults,
                                                        fluss_error_t *err);
/** ALTER_TABLE of one property; a key without "table." in front is the user's own and may change.
 * @param value NULL: reset
 * @return FLUSS_E_INVALID_CONFIG: unknown or a bad value; FLUSS_E_INVALID_ALTER_TABLE: can't be
 * altered (on this table) */
FLUSS_CHECKED fluss_code_t fl_table_rules_check_alter_property(const fl_table_desc *desc,
                                                               const char *key, const char *value,
                                                               fluss_error_t *err);

/* ---- typed settings ---- */
typedef enum { FL_LOG_FORMAT_ARROW, FL_LOG_FORMAT_INDEXED, FL_LOG_FORMAT_COMPACTED } fl_log_format;
typedef enum {
    FL_MERGE_NONE,
    FL_MERGE_FIRST_ROW,
    FL_MERGE_VERSIONED,
    FL_MERGE_AGGREGATION
} fl_merge_engine;
typedef enum { FL_DELETE_ALLOW, FL_DELETE_IGNORE, FL_DELETE_DISABLE } fl_delete_behavior;
typedef enum { FL_CHANGELOG_FULL, FL_CHANGELOG_WAL } fl_changelog_image;
typedef enum {
    FL_TIME_UNIT_YEAR,
    FL_TIME_UNIT_QUARTER,
    FL_TIME_UNIT_MONTH,
    FL_TIME_UNIT_DAY,
    FL_TIME_UNIT_HOUR
} fl_time_unit;

typedef struct fl_auto_partition {
    bool enabled;
    int32_t key_index; /* of the partition keys: the time column; -1: none */
    fl_time_unit time_unit;
    const char *time_format;                  /* NULL: by unit */
    const char *time_zone;                    /* NULL: the server's */
    int32_t precreate_count, retention_count; /* retention < 0: keep all */
} fl_auto_partition;

typedef struct fl_table_settings {
    int32_t replication_factor; /* 0: not set */
    fl_log_format log_format;
    fl_compression compression;
    int compression_level;
    fl_row_format kv_format;
    int32_t kv_format_version;
    int64_t log_ttl_ms;       /* -1: for ever */
    int64_t log_local_ttl_ms; /* -1: not set */
    int32_t tiered_local_segments;
    fl_merge_engine merge_engine;
    int32_t version_column; /* index; -1: none */
    fl_delete_behavior delete_behavior;
    fl_changelog_image changelog_image;
    int64_t auto_increment_cache_size;
    fl_auto_partition auto_partition;
    fl_lake_format lake_format;
    bool lake_enabled;
    /* table.statistics.columns as column indexes. */
    uint32_t *statistics_columns;
    size_t statistics_column_count;
    /* The encoders of keys. */
    fl_key_format key_format, bucket_key_format;
    bool is_default_bucket_key;
} fl_table_settings;
/**
 * Read a table's settings; what is not set has its default.
 *
 * @param arena   takes the statistics columns; texts view desc
 * @return FLUSS_E_INVALID_CONFIG naming key and value
 */
FLUSS_CHECKED fluss_code_t fl_table_settings_read(const fl_table_desc *desc, fl_arena *arena,
                                                  fl_table_settings *settings, fluss_error_t *err);
/** Parts of the checks above that also serve ALTER_TABLE: aggregation functions of the columns
 * (39, or 15 on a key column), and a time format against its unit (15). */
FLUSS_CHECKED fluss_code_t fl_table_rules_check_aggregation(const fl_schema *schema,
                                                            fl_merge_engine engine,
                                                            fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_rules_check_time_format(const char *format, fl_time_unit unit,
                                                      fluss_error_t *err);
/** Column indexes of the physical primary key (primary key without partition keys, in key order)
 * or, for a log table, none. @param columns room for primary_key_count */
size_t fl_table_physical_key(const fl_table_desc *desc, uint32_t *columns);
#endif
