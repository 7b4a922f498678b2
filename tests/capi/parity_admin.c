/* SPDX-License-Identifier: Apache-2.0 */
/* Parity, administration: a test a row of docs/parity.md, named after it. What one server of ours
 * has not (lake storage, other servers) answers with the code that the protocol has for it. */
#include <stdio.h>
#include <string.h>

#include "parity.h"

#define VOID(call) must(fluss_await((call), WAIT_MS, &err))

static void parity_databases(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const fluss_kv_t props[] = {{"owner", "me"}};
    VOID(fluss_drop_database(conn, "pdb", FLUSS_IF_EXISTS | FLUSS_CASCADE));
    VOID(fluss_create_database(conn, "pdb", "a comment", props, 1, 0));
    VOID(fluss_create_database(conn, "pdb", NULL, NULL, 0, FLUSS_IF_NOT_EXISTS));
    expect(fluss_await(fluss_create_database(conn, "pdb", NULL, NULL, 0, 0), WAIT_MS, &err) ==
           FLUSS_E_DATABASE_ALREADY_EXIST);
    fluss_result_t *found = answer_of(fluss_describe_database(conn, "pdb"));
    expect(strcmp(fluss_result_str(found, 0, "comment"), "a comment") == 0);
    expect(strcmp(fluss_result_str(found, 0, "value"), "me") == 0);
    fluss_result_free(found);
    found = answer_of(fluss_list_databases(conn));
    expect(count_rows(found, "name", "pdb") == 1);
    fluss_result_free(found);
    int64_t exists;
    must(fluss_await_i64(fluss_database_exists(conn, "pdb"), WAIT_MS, &exists, &err));
    expect(exists == 1);
    VOID(fluss_drop_database(conn, "pdb", 0));
    expect(fluss_await(fluss_drop_database(conn, "pdb", 0), WAIT_MS, &err) ==
           FLUSS_E_DATABASE_NOT_EXIST);
}

static void parity_alter_database_and_summaries(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const fluss_kv_t changes[] = {{"owner", "you"}, {NULL, "other comment"}};
    VOID(fluss_drop_database(conn, "adb", FLUSS_IF_EXISTS | FLUSS_CASCADE));
    VOID(fluss_create_database(conn, "adb", NULL, NULL, 0, 0));
    VOID(fluss_alter_database(conn, "adb", changes, 2, 0));
    fluss_result_t *found = answer_of(fluss_describe_database(conn, "adb"));
    expect(strcmp(fluss_result_str(found, 0, "comment"), "other comment") == 0);
    expect(strcmp(fluss_result_str(found, 0, "value"), "you") == 0);
    fluss_result_free(found);
    found = answer_of(fluss_list_databases(conn));
    for (size_t i = 0; i < fluss_result_rows(found); i++) {
        if (strcmp(fluss_result_str(found, i, "name"), "adb") == 0) {
            expect(fluss_result_i64(found, i, "table_count", -1) == 0);
            expect(fluss_result_i64(found, i, "created_ms", 0) > 0);
        }
    }
    fluss_result_free(found);
    VOID(fluss_drop_database(conn, "adb", 0));
}

static void parity_tables(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const fluss_path_t path = {"fluss", "atable"};
    fluss_table_t *table = make_table(conn, "atable", "n INT, text STRING", "n", NULL);
    const fluss_table_info_t *info = fluss_table_info(table);
    expect(info->n_primary_keys == 1 && strcmp(info->primary_keys[0], "n") == 0);
    expect(fluss_schema_columns(info->schema) == 2 && info->table_id >= 0);
    fluss_result_t *found = answer_of(fluss_list_tables(conn, "fluss"));
    expect(count_rows(found, "name", "atable") == 1);
    fluss_result_free(found);
    int64_t exists;
    must(fluss_await_i64(fluss_table_exists(conn, path), WAIT_MS, &exists, &err));
    expect(exists == 1);
    VOID(fluss_drop_table(conn, path, 0));
    must(fluss_await_i64(fluss_table_exists(conn, path), WAIT_MS, &exists, &err));
    expect(exists == 0);
    expect(fluss_await(fluss_open_table(conn, path), WAIT_MS, &err) == FLUSS_E_TABLE_NOT_EXIST);
    fluss_table_free(table);
}

static void parity_auto_increment(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_desc_t *desc;
    fluss_table_t *table;
    const fluss_path_t path = {"fluss", "numbered"};
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "name", "STRING", NULL, &err));
    must(fluss_schema_add(schema, "n", "BIGINT", NULL, &err));
    must(fluss_schema_primary_key(schema, (const char *const[]){"name"}, 1, &err));
    must(fluss_schema_auto_increment(schema, "n", &err));
    must(fluss_desc_new(schema, NULL, &desc, &err));
    VOID(fluss_create_table(conn, path, desc, 0));
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err));
    expect(strcmp(fluss_schema_auto_increment_column(fluss_table_info(table)->schema), "n") == 0);
    fluss_lookup_t *lookup;
    must(fluss_lookup_open(table, FLUSS_OPTS(fluss_lookup_opts_t, .insert_if_absent = true),
                           &lookup, &err));
    const fluss_datum_t keys[] = {fluss_str("a"), fluss_str("b")};
    int64_t numbers[2];
    for (size_t i = 0; i < 2; i++) {
        fluss_record_t record;
        fluss_records_t *found = look_up(lookup, &keys[i], 1, 1);
        fluss_records_get(found, 0, &record);
        numbers[i] = fluss_row_i64(record.row, "n", -1);
        fluss_records_free(found);
    }
    expect(numbers[0] >= 0 && numbers[1] > numbers[0]);
    fluss_lookup_free(lookup);
    fluss_table_free(table);
    fluss_desc_free(desc);
    fluss_schema_free(schema);
}

static void parity_alter_table(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const fluss_path_t path = {"fluss", "altered"};
    fluss_table_free(make_table(conn, "altered", "n INT, text STRING", NULL, NULL));
    const fluss_table_change_t add = {.what = FLUSS_ADD_COLUMN, .name = "more", .type = "BIGINT"};
    VOID(fluss_alter_table(conn, path, &add, 1, 0));
    const fluss_table_change_t set = {.what = FLUSS_SET_OPTION, .name = "mine", .value = "yes"};
    VOID(fluss_alter_table(conn, path, &set, 1, 0));
    fluss_table_t *table;
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err));
    const fluss_table_info_t *info = fluss_table_info(table);
    expect(fluss_schema_columns(info->schema) == 3);
    bool is_set = false;
    for (size_t i = 0; i < info->n_custom; i++) {
        is_set = is_set || strcmp(info->custom[i].key, "mine") == 0;
    }
    expect(is_set);
    fluss_table_free(table);
}

static void parity_schema_by_id(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    const fluss_path_t path = {"fluss", "versions"};
    fluss_table_free(make_table(conn, "versions", "n INT, text STRING", NULL, NULL));
    const fluss_table_change_t add = {.what = FLUSS_ADD_COLUMN, .name = "more", .type = "BIGINT"};
    VOID(fluss_alter_table(conn, path, &add, 1, 0));
    fluss_schema_t *first, *latest;
    int32_t first_id, latest_id;
    must(fluss_await_schema(fluss_get_schema(conn, path, 1), WAIT_MS, &first, &first_id, &err));
    must(fluss_await_schema(fluss_get_schema(conn, path, -1), WAIT_MS, &latest, &latest_id, &err));
    expect(first_id == 1 && latest_id == 2);
    expect(fluss_schema_columns(first) == 2 && fluss_schema_columns(latest) == 3);
    fluss_schema_free(first);
    fluss_schema_free(latest);
}

static void parity_table_stats(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "counted", "n INT, text STRING", NULL,
                                      FLUSS_OPTS(fluss_desc_opts_t, .buckets = 3));
    fill(table, 0, 30);
    fluss_result_t *found = answer_of(fluss_table_stats(conn, fluss_table_info(table)->path));
    int64_t rows = 0;
    for (size_t i = 0; i < fluss_result_rows(found); i++) {
        rows += fluss_result_i64(found, i, "row_count", -100);
    }
    expect(fluss_result_rows(found) == 3 && rows == 30);
    fluss_result_free(found);
    fluss_table_free(table);
}

static void parity_partitions(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "parted", "n INT, p STRING", NULL,
                                      FLUSS_OPTS(fluss_desc_opts_t, .n_partition_keys = 1,
                                                 .partition_keys = (const char *const[]){"p"}));
    const fluss_path_t path = fluss_table_info(table)->path;
    const fluss_kv_t one = {"p", "one"}, two = {"p", "two"};
    VOID(fluss_create_partition(conn, path, &one, 1, 0));
    VOID(fluss_create_partition(conn, path, &two, 1, 0));
    VOID(fluss_create_partition(conn, path, &two, 1, FLUSS_IF_NOT_EXISTS));
    fluss_result_t *all = answer_of(fluss_list_partitions(conn, path, NULL, 0));
    fluss_result_t *some = answer_of(fluss_list_partitions(conn, path, &two, 1));
    expect(fluss_result_rows(all) == 2 && fluss_result_rows(some) == 1);
    expect(strcmp(fluss_result_str(some, 0, "value"), "two") == 0);
    fluss_result_free(all);
    fluss_result_free(some);
    VOID(fluss_drop_partition(conn, path, &one, 1, 0));
    expect(fluss_await(fluss_drop_partition(conn, path, &one, 1, 0), WAIT_MS, &err) ==
           FLUSS_E_PARTITION_NOT_EXISTS);
    fluss_table_free(table);
}

static void parity_offsets(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "offsets", "n INT, text STRING", NULL, NULL);
    const fluss_path_t path = fluss_table_info(table)->path;
    fill(table, 0, 12);
    const int64_t kinds[] = {FLUSS_EARLIEST, FLUSS_LATEST, 1};
    const int64_t expected[] = {0, 12, 0};
    for (size_t i = 0; i < 3; i++) {
        fluss_result_t *found = answer_of(fluss_list_offsets(conn, path, NULL, NULL, 0, kinds[i]));
        expect(fluss_result_i64(found, 0, "offset", -1) == expected[i]);
        fluss_result_free(found);
    }
    fluss_table_free(table);
}

/* The code of a call, whatever its answer is. */
static fluss_code_t code_of(fluss_future_t *future, fluss_error_t *err)
{
    fluss_result_t *result = NULL;
    const fluss_code_t rc = fluss_await_result(future, WAIT_MS, &result, err);
    fluss_result_free(result);
    return rc;
}

static void parity_latest_lake_snapshot(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "lakeless", "n INT, text STRING", NULL, NULL);
    const fluss_path_t path = fluss_table_info(table)->path;
    const fluss_code_t rc = code_of(fluss_lake_snapshot(conn, path, -1, 0), &err);
    expect(rc == FLUSS_E_LAKE_SNAPSHOT_NOT_EXIST || rc == FLUSS_E_LAKE_STORAGE_NOT_CONFIGURED);
    fluss_table_free(table);
}

static void parity_lake_snapshot_by_id(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "lakeless", "n INT, text STRING", NULL, NULL);
    const fluss_path_t path = fluss_table_info(table)->path;
    fluss_code_t rc = code_of(fluss_lake_snapshot(conn, path, 7, 0), &err);
    expect(rc == FLUSS_E_LAKE_SNAPSHOT_NOT_EXIST || rc == FLUSS_E_LAKE_STORAGE_NOT_CONFIGURED);
    rc = code_of(fluss_lake_snapshot(conn, path, -1, FLUSS_READABLE), &err);
    expect(rc == FLUSS_E_LAKE_SNAPSHOT_NOT_EXIST || rc == FLUSS_E_LAKE_STORAGE_NOT_CONFIGURED);
    fluss_table_free(table);
}

static void parity_kv_snapshots_and_leases(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "snapped", "n INT, text STRING", "n", NULL);
    const fluss_path_t path = fluss_table_info(table)->path;
    fluss_code_t rc = code_of(fluss_kv_snapshots(conn, path, NULL, -1, 0), &err);
    expect(rc == 0 || rc == FLUSS_E_KV_SNAPSHOT_NOT_EXIST);
    rc = code_of(fluss_kv_snapshots(conn, path, NULL, 99, 0), &err);
    expect(rc == FLUSS_E_KV_SNAPSHOT_NOT_EXIST);
    const fluss_position_t snapshot = {bucket_of(table, 0), 99};
    rc = code_of(fluss_lease_snapshots(conn, "lease", 1000, &snapshot, 1), &err);
    expect(rc >= 0);
    rc = fluss_await(fluss_release_snapshots(conn, "lease", NULL, 0), WAIT_MS, &err);
    expect(rc >= 0);
    fluss_table_free(table);
}

static void parity_remote_log_manifests(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_table_t *table = make_table(conn, "remote", "n INT, text STRING", NULL, NULL);
    fluss_result_free(
        answer_of(fluss_remote_log_manifests(conn, fluss_table_info(table)->table_id, -1)));
    fluss_table_free(table);
}

static void parity_server_nodes(const char *servers, fluss_conn_t *conn)
{
    fluss_result_t *found = answer_of(fluss_server_nodes(conn));
    expect(count_rows(found, "role", "tablet") == 1 &&
           count_rows(found, "role", "coordinator") == 1);
    expect(strstr(servers, fluss_result_str(found, 0, "host")) != NULL);
    fluss_result_free(found);
}

static void parity_cluster_health_and_configs(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_result_t *health = answer_of(fluss_cluster_health(conn));
    expect(count_rows(health, "status", "GREEN") == 1);
    fluss_result_free(health);
    fluss_result_t *configs = answer_of(fluss_cluster_configs(conn));
    expect(fluss_result_column(configs, 2) != NULL);
    fluss_result_free(configs);
    fluss_error_t err = {0};
    const fluss_kv_t wrong = {"no.such.setting", "1"};
    expect(fluss_await(fluss_alter_cluster_configs(conn, &wrong, 1), WAIT_MS, &err) > 0);
}

static void parity_acls_tags_rebalance_producers(const char *servers, fluss_conn_t *conn)
{
    (void)servers;
    fluss_error_t err = {0};
    fluss_table_t *table = make_table(conn, "produced", "n INT, text STRING", NULL, NULL);
    const fluss_acl_t acl = {"TABLE", "fluss.produced", "User", "bob", "*", "READ", "ALLOW"};
    expect(code_of(fluss_create_acls(conn, &acl, 1), &err) == FLUSS_E_SECURITY_DISABLED);
    expect(code_of(fluss_list_acls(conn, NULL), &err) == FLUSS_E_SECURITY_DISABLED);
    expect(code_of(fluss_drop_acls(conn, &acl, 1), &err) == FLUSS_E_SECURITY_DISABLED);
    const int32_t nobody = 4711, goal = 0;
    expect(fluss_await(fluss_add_server_tag(conn, &nobody, 1, 0), WAIT_MS, &err) ==
           FLUSS_E_SERVER_NOT_EXIST);
    expect(fluss_await(fluss_remove_server_tag(conn, &nobody, 1, 0), WAIT_MS, &err) >= 0);
    expect(code_of(fluss_rebalance(conn, &goal, 1), &err) >= 0);
    expect(code_of(fluss_rebalance_progress(conn, NULL), &err) >= 0);
    expect(fluss_await(fluss_cancel_rebalance(conn, NULL), WAIT_MS, &err) >= 0);
    const fluss_position_t position = {bucket_of(table, 0), 3};
    VOID(fluss_set_producer_offsets(conn, "producer", &position, 1));
    fluss_result_t *kept = answer_of(fluss_get_producer_offsets(conn, "producer"));
    expect(fluss_result_i64(kept, 0, "offset", -1) == 3);
    fluss_result_free(kept);
    VOID(fluss_delete_producer_offsets(conn, "producer"));
    fluss_table_free(table);
}

int main(int argc, char **argv)
{
    static const parity_test tests[] = {
        PARITY(databases),
        PARITY(alter_database_and_summaries),
        PARITY(tables),
        PARITY(auto_increment),
        PARITY(alter_table),
        PARITY(schema_by_id),
        PARITY(table_stats),
        PARITY(partitions),
        PARITY(offsets),
        PARITY(latest_lake_snapshot),
        PARITY(lake_snapshot_by_id),
        PARITY(kv_snapshots_and_leases),
        PARITY(remote_log_manifests),
        PARITY(server_nodes),
        PARITY(cluster_health_and_configs),
        PARITY(acls_tags_rebalance_producers),
    };
    return parity_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
