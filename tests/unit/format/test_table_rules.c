/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: names, properties and new tables are held to the official rules, with the official codes
 * and messages that help. Method: tables of descriptors, each wrong in one place. */
#include "format/table_rules.h"

#include "value_support.h"

enum { PAIRS_MAX = 4 };

static const fl_table_limits limits = {.bucket_count_max = 4096,
                                       .server_count = 1,
                                       .allow_log_tables = true,
                                       .allow_primary_key_tables = true};
static const fl_table_defaults defaults = {.bucket_count = 1, .replication_factor = 1};

typedef struct table_case {
    const char *primary_key, *bucket_key;      /* NULL: none */
    const char *partition_keys[3];             /* NULL: end */
    int32_t bucket_count;                      /* 0: not given */
    const char *properties[PAIRS_MAX * 2 + 1]; /* key, value …, NULL */
    fluss_code_t code;
    const char *text; /* in the message */
} table_case;

static fl_table_desc *desc_of(const table_case *c)
{
    fl_schema *schema = SCHEMA("k INT", "s STRING", "d DATE", "dec DECIMAL(5,2)", "arr ARRAY<INT>",
                               "ts TIMESTAMP", "by BYTES");
    if (c->primary_key != NULL) {
        const char *key[] = {c->primary_key, c->partition_keys[0], c->partition_keys[1]};
        const size_t count = c->partition_keys[0] == NULL   ? 1
                             : c->partition_keys[1] == NULL ? 2
                                                            : 3;
        OK(fl_schema_set_primary_key(schema, key, count, &error));
    }
    fl_table_desc *desc = fl_table_desc_new(schema);
    fl_schema_unref(schema);
    size_t partition_key_count = 0;
    while (c->partition_keys[partition_key_count] != NULL) {
        partition_key_count++;
    }
    OK(fl_table_desc_set_partition_keys(desc, c->partition_keys, partition_key_count, &error));
    if (c->bucket_key != NULL) {
        OK(fl_table_desc_set_bucket_keys(desc, &c->bucket_key, 1, &error));
    }
    desc->bucket_count = c->bucket_count;
    for (size_t i = 0; c->properties[i] != NULL; i += 2) {
        OK(fl_table_desc_set_property(desc, c->properties[i], c->properties[i + 1], &error));
    }
    return desc;
}

static fluss_code_t create(fl_table_desc *desc)
{
    FL_TRY(fl_table_desc_check(desc, &error));
    FL_TRY(fl_table_rules_fill_defaults(desc, &defaults, &error));
    return fl_table_rules_check_create(desc, &limits, &error);
}

static const table_case cases[] = {
    {.code = 0},
    {.primary_key = "k", .code = 0},
    {.bucket_count = 4096, .code = 0},
    {.bucket_count = 4097, .code = FLUSS_E_BUCKET_MAX_NUM, .text = "4097"},
    {.bucket_count = -1, .code = -1, .text = "bucket count"},
    {.properties = {"table.log.formt", "ARROW"}, .code = 39, .text = "'table.log.format'"},
    {.properties = {"table.nothing.like.this.at.all", "1"}, .code = 39, .text = "no table"},
    {.properties = {"owner", "me"}, .code = 39, .text = "custom property"},
    {.properties = {"table.log.ttl", "soon"}, .code = 39, .text = "'soon', expected a duration"},
    {.properties = {"table.log.format", "parquet"}, .code = 39, .text = "ARROW|INDEXED"},
    {.properties = {"table.replication.factor", "0"}, .code = 17, .text = "1 or more"},
    {.partition_keys = {"s"},
     .properties = {"table.replication.factor", "0"},
     .code = 39,
     .text = "1 or more"},
    {.properties = {"table.replication.factor", "3"}, .code = 17, .text = "is 3"},
    {.properties = {"table.log.arrow.compression.zstd.level", "23"}, .code = 39, .text = "22"},
    {.properties = {"table.log.tiered.local-segments", "0"}, .code = 39, .text = "from 1"},
    {.properties = {"table.log.ttl", "1h", "table.log.local-ttl", "2 h"},
     .code = 39,
     .text = "local-ttl"},
    {.properties = {"table.log.ttl", "0ms", "table.log.local-ttl", "2 h"}, .code = 0},
    {.properties = {"table.merge-engine", "first_row"}, .code = 39, .text = "primary key"},
    {.properties = {"table.delete.behavior", "allow"}, .code = 39, .text = "primary key"},
    {.primary_key = "k",
     .properties = {"table.log.format", "indexed"},
     .code = 39,
     .text = "INDEXED"},
    {.primary_key = "k",
     .properties = {"table.log.format", "indexed", "table.kv.format", "indexed"},
     .code = 0},
    {.primary_key = "k",
     .properties = {"table.kv.format-version", "3"},
     .code = 39,
     .text = "format-version"},
    {.primary_key = "arr", .code = 15, .text = "ARRAY"},
    {.bucket_key = "arr", .code = 15, .text = "ARRAY"},
    {.partition_keys = {"dec"}, .code = 15, .text = "DECIMAL"},
    {.partition_keys = {"nope"}, .code = 15, .text = "'nope'"},
    {.bucket_key = "s", .partition_keys = {"s"}, .code = 15, .text = "is a partition key"},
    {.primary_key = "k", .bucket_key = "s", .code = 15, .text = "not part of the primary key"},
    {.primary_key = "k",
     .properties = {"table.merge-engine", "versioned"},
     .code = 39,
     .text = "ver-column"},
    {.primary_key = "k",
     .properties = {"table.merge-engine", "versioned", "table.merge-engine.versioned.ver-column",
                    "s"},
     .code = 39,
     .text = "is STRING"},
    {.primary_key = "k",
     .properties = {"table.merge-engine", "VERSIONED", "table.merge-engine.versioned.ver-column",
                    "ts"},
     .code = 0},
    {.primary_key = "k",
     .properties = {"table.merge-engine", "first_row", "table.delete.behavior", "ALLOW"},
     .code = 39,
     .text = "IGNORE or DISABLE"},
    {.primary_key = "k",
     .properties = {"table.merge-engine", "aggregation", "table.changelog.image", "wal"},
     .code = 39,
     .text = "FULL"},
    {.properties = {"table.auto-partition.enabled", "true"}, .code = 39, .text = "partition key"},
    {.partition_keys = {"s"}, .properties = {"table.auto-partition.enabled", "true"}, .code = 0},
    {.partition_keys = {"s", "k"},
     .properties = {"table.auto-partition.enabled", "true"},
     .code = 15,
     .text = "table.auto-partition.key"},
    {.partition_keys = {"s", "k"},
     .properties = {"table.auto-partition.enabled", "true", "table.auto-partition.key", "d"},
     .code = 15,
     .text = "no partition key"},
    {.partition_keys = {"s", "k"},
     .properties = {"table.auto-partition.enabled", "true", "table.auto-partition.key", "s",
                    "table.auto-partition.num-precreate", "2"},
     .code = 15,
     .text = "must be 0"},
    {.partition_keys = {"d"},
     .properties = {"table.auto-partition.enabled", "true"},
     .code = 15,
     .text = "yyyy-MM-dd"},
    {.partition_keys = {"d"},
     .properties = {"table.auto-partition.enabled", "true", "table.auto-partition.time-format",
                    "yyyy-MM-dd"},
     .code = 0},
    {.partition_keys = {"s"},
     .properties = {"table.auto-partition.time-format", "yyyy/MM/dd"},
     .code = 15,
     .text = "literal"},
    {.partition_keys = {"s"},
     .properties = {"table.auto-partition.time-format", "yyyyMM"},
     .code = 15,
     .text = "missing"},
    {.partition_keys = {"s"},
     .properties = {"table.auto-partition.time-format", "yyyy'Q'Q",
                    "table.auto-partition.time-unit", "quarter"},
     .code = 0},
    {.partition_keys = {"s"},
     .properties = {"table.auto-partition.time-format", "uuuu-LL", "table.auto-partition.time-unit",
                    "month"},
     .code = 0},
    {.partition_keys = {"s"},
     .properties = {"table.auto-partition.time-format", "_'_'yyyyMMdd"},
     .code = 15,
     .text = "reserved"},
    {.partition_keys = {"s"},
     .properties = {"table.auto-partition.time-format",
                    "--------------------------------------------------"
                    "--------------------------------------------------yyyyMMdd"},
     .code = 15,
     .text = "at most 100"},
    {.properties = {"table.datalake.enabled", "true"}, .code = 15, .text = "data lake"},
    {.properties = {"table.statistics.columns", "*"}, .code = 0},
    {.properties = {"table.statistics.columns", "k, s"}, .code = 0},
    {.properties = {"table.statistics.columns", "k,zz"}, .code = 39, .text = "'zz'"},
    {.properties = {"table.statistics.columns", "arr"}, .code = 39, .text = "no statistics"},
    {.properties = {"table.statistics.columns", " "}, .code = 39, .text = "no column"},
    {.primary_key = "k",
     .properties = {"table.statistics.columns", "*"},
     .code = 39,
     .text = "log tables"},
};

static void wrong_tables_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fl_table_desc *desc = desc_of(&cases[i]);
        error.message[0] = '\0';
        const fluss_code_t rc = create(desc);
        if (rc != cases[i].code ||
            (rc != 0 && (error.code != rc || strstr(error.message, cases[i].text) == NULL))) {
            fail_msg("case %zu: code %d, message \"%s\"", i, rc, error.message);
        }
        fl_table_desc_free(desc);
    }
}

static void assert_property(const fl_table_desc *desc, const char *key, const char *wanted)
{
    const char *found = fl_table_desc_property(desc, key);
    if (wanted == NULL ? found != NULL : found == NULL || strcmp(found, wanted) != 0) {
        fail_msg("%s is %s, wanted %s", key, found, wanted);
    }
}

static void the_server_fills_in_what_is_missing(void **state)
{
    (void)state;
    static const table_case log_case = {.properties = {"table.log.format", "arrow"}};
    fl_table_desc *desc = desc_of(&log_case);
    OK(create(desc));
    assert_int_equal(desc->bucket_count, 1);
    assert_int_equal(desc->property_count, 2);
    assert_property(desc, "table.replication.factor", "1");
    assert_property(desc, "table.log.format", "ARROW");
    fl_table_desc_free(desc);
    static const table_case key_case = {
        .primary_key = "k",
        .partition_keys = {"s", "d"},
        .properties = {"table.kv.format", "compacted", "table.merge-engine", "first_row",
                       "table.auto-partition.enabled", "true", "table.auto-partition.key", "s"}};
    desc = desc_of(&key_case);
    OK(create(desc));
    assert_property(desc, "table.kv.format", "COMPACTED");
    assert_property(desc, "table.delete.behavior", "IGNORE");
    assert_property(desc, "table.kv.format-version", "2");
    assert_property(desc, "table.kv.standby-replica.enabled", "true");
    assert_property(desc, "table.auto-partition.num-precreate", "0");
    assert_int_equal(desc->bucket_key_count, 1);
    assert_string_equal(desc->bucket_keys[0], "k");
    fl_table_desc_free(desc);
}

static void settings_have_types_and_defaults(void **state)
{
    (void)state;
    static const table_case plain = {.primary_key = "k"};
    fl_arena arena;
    fl_arena_init(&arena);
    fl_table_settings settings;
    fl_table_desc *desc = desc_of(&plain);
    OK(create(desc));
    OK(fl_table_settings_read(desc, &arena, &settings, &error));
    assert_int_equal(settings.log_format, FL_LOG_FORMAT_ARROW);
    assert_int_equal(settings.compression, FL_COMPRESS_ZSTD);
    assert_int_equal(settings.compression_level, 3);
    assert_int_equal(settings.kv_format, FL_ROW_COMPACTED);
    assert_int_equal(settings.kv_format_version, 2);
    assert_int_equal(settings.log_ttl_ms, 7 * 86400000LL);
    assert_int_equal(settings.merge_engine, FL_MERGE_NONE);
    assert_int_equal(settings.delete_behavior, FL_DELETE_ALLOW);
    assert_int_equal(settings.auto_increment_cache_size, 100000);
    assert_int_equal(settings.key_format, FL_KEY_COMPACTED);
    assert_true(settings.is_default_bucket_key);
    OK(fl_table_desc_set_property(desc, "table.log.ttl", "0ms", &error));
    OK(fl_table_desc_set_property(desc, "table.log.arrow.compression.type", "none", &error));
    OK(fl_table_desc_set_property(desc, "table.changelog.image", "wal", &error));
    OK(fl_table_desc_set_property(desc, "table.datalake.format", "Paimon", &error));
    OK(fl_table_settings_read(desc, &arena, &settings, &error));
    assert_int_equal(settings.log_ttl_ms, -1);
    assert_int_equal(settings.compression, FL_COMPRESS_NONE);
    assert_int_equal(settings.changelog_image, FL_CHANGELOG_WAL);
    assert_int_equal(settings.lake_format, FL_LAKE_PAIMON);
    assert_int_equal(settings.key_format, FL_KEY_PAIMON);
    fl_table_desc_free(desc);
    static const table_case statistics = {.properties = {"table.statistics.columns", "s,k"}};
    desc = desc_of(&statistics);
    OK(fl_table_settings_read(desc, &arena, &settings, &error));
    assert_int_equal(settings.statistics_column_count, 2);
    assert_int_equal(settings.statistics_columns[0], 1);
    fl_table_desc_free(desc);
    fl_arena_deinit(&arena);
}

static void quantities_are_read_as_fluss_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } durations[] = {{"7 d", 604800000},
                     {"500ms", 500},
                     {"1h", 3600000},
                     {"3 min", 180000},
                     {"12", 12},
                     {"90 S", 90000},
                     {"1500 us", 1},
                     {"2 Days ", 172800000},
                     {"", -1},
                     {"d", -1},
                     {"-1s", -1},
                     {"1 week", -1},
                     {"1 2 s", -1},
                     {"1.5h", -1},
                     {"99999999999999999999", -1},
                     {"9999999999999999 d", -1}};
    for (size_t i = 0; i < FL_COUNT_OF(durations); i++) {
        int64_t ms = -1;
        const bool is_read = fl_text_to_duration_ms(durations[i].text, &ms);
        assert_int_equal(is_read, durations[i].ms >= 0);
        if (is_read) {
            assert_int_equal(ms, durations[i].ms);
        }
    }
    int64_t bytes;
    assert_true(fl_text_to_size_bytes("64 mb", &bytes) && bytes == 64 << 20);
    assert_true(fl_text_to_size_bytes("1KiB", &bytes) && bytes == 1024);
    assert_true(fl_text_to_size_bytes("10", &bytes) && bytes == 10);
    assert_false(fl_text_to_size_bytes("10 pb", &bytes));
}

static void names_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } rows[] = {{"a-Z_9", NULL},
                {"", "empty"},
                {"a b", "' ' at position 2"},
                {".", "'.'"},
                {"..", "'..'"},
                {"__x", "reserved"},
                {"añ", "'ñ' at position 2"},
                {"a\n", "byte 0x0a at position 2"},
                {"a\xff", "byte 0xff"},
                {"_x", NULL}};
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fl_slice name = fl_slice_str(rows[i].name);
        const fluss_code_t rc = fl_rules_check_table_name(name, &error);
        assert_int_equal(rc, rows[i].text == NULL ? 0 : FLUSS_E_INVALID_TABLE);
        if (rc != 0 && strstr(error.message, rows[i].text) == NULL) {
            fail_msg("\"%s\": \"%s\"", rows[i].name, error.message);
        }
        assert_int_equal(fl_rules_check_database_name(name, NULL),
                         rc == 0 ? 0 : FLUSS_E_INVALID_DATABASE);
        assert_int_equal(fl_rules_check_partition_value(name, true, NULL),
                         rc == 0 ? 0 : FLUSS_E_PARTITION_SPEC_INVALID);
    }
    OK(fl_rules_check_partition_value(fl_slice_str("__x"), false, &error));
    char longest[FL_NAME_SIZE_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    OK(fl_rules_check_table_name(fl_slice_of(longest, FL_NAME_SIZE_MAX), &error));
    assert_int_equal(fl_rules_check_table_name(fl_slice_of(longest, sizeof(longest)), &error),
                     FLUSS_E_INVALID_TABLE);
}

static void only_some_properties_can_be_altered(void **state)
{
    (void)state;
    static const table_case plain = {.code = 0};
    fl_table_desc *desc = desc_of(&plain);
    static const struct {
        const char *key, *value;
        fluss_code_t code;
    } rows[] = {{"table.log.ttl", "1d", 0},
                {"table.log.ttl", NULL, 0},
                {"table.log.ttl", "x", FLUSS_E_INVALID_CONFIG},
                {"table.log.format", "INDEXED", FLUSS_E_INVALID_ALTER_TABLE},
                {"table.nope", "1", FLUSS_E_INVALID_ALTER_TABLE},
                {"table.datalake.enabled", "true", FLUSS_E_INVALID_ALTER_TABLE},
                {"table.datalake.enabled", "false", 0},
                {"mine", "1", 0},
                {"table.kv.standby-replica.enabled", "false", FLUSS_E_INVALID_ALTER_TABLE},
                {"table.datalake.freshness", "1min", FLUSS_E_INVALID_ALTER_TABLE}};
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        assert_int_equal(
            fl_table_rules_check_alter_property(desc, rows[i].key, rows[i].value, &error),
            rows[i].code);
    }
    fl_table_desc_free(desc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_tables_are_refused),
        cmocka_unit_test(the_server_fills_in_what_is_missing),
        cmocka_unit_test(settings_have_types_and_defaults),
        cmocka_unit_test(quantities_are_read_as_fluss_reads_them),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(only_some_properties_can_be_altered),
    };
    return cmocka_run_group_tests(tests, NULL, free_types);
}
