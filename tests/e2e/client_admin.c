/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: every administrative call of the C client does what it says, or fails with the code of the
 * server. Method: two servers inside the process: one where everyone may everything, and one with
 * users and ACLs. tools/api_coverage names a test of this file for each API. */
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include <fluss/fluss_arrow.h>
#include <fluss/fluss_server.h>

enum { BUCKETS = 3 };

static const fluss_path_t log_path = {.database = "admin", .table = "log"};
static const fluss_path_t pk_path = {.database = "admin", .table = "pk"};
static const fluss_path_t parts_path = {.database = "admin", .table = "parts"};

typedef struct world {
    fluss_server_t *open, *secure;
    fluss_conn_t *conn, *admin, *alice;
} world;

/* ---- answers ---- */

static int64_t number(fluss_future_t *future)
{
    fluss_error_t err;
    int64_t value = -1;
    must(fluss_await_i64(future, WAIT_MS, &value, &err), &err);
    return value;
}

static fluss_result_t *rows(fluss_future_t *future)
{
    fluss_error_t err;
    fluss_result_t *result = NULL;
    must(fluss_await_result(future, WAIT_MS, &result, &err), &err);
    return result;
}

/* The number of rows of an answer. */
static size_t count(fluss_future_t *future)
{
    fluss_result_t *result = rows(future);
    const size_t n = fluss_result_rows(result);
    fluss_result_free(result);
    return n;
}

static void refused(fluss_future_t *future, fluss_code_t code)
{
    fluss_error_t err;
    assert_int_equal(fluss_await(future, WAIT_MS, &err), code);
    assert_int_not_equal(err.message[0], '\0');
}

/* ---- life ---- */

static fluss_conn_t *connect_to(const char *servers, const char *user, const char *password)
{
    fluss_error_t err;
    fluss_conn_t *conn = NULL;
    fluss_config_t *config = fluss_config_new();
    must(fluss_config_set(config, "bootstrap.servers", servers, &err), &err);
    if (user != NULL) {
        must(fluss_config_set(config, "client.security.protocol", "SASL", &err), &err);
        must(fluss_config_set(config, "client.security.sasl.username", user, &err), &err);
        must(fluss_config_set(config, "client.security.sasl.password", password, &err), &err);
    }
    must(fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, &err), &err);
    fluss_config_free(config);
    return conn;
}

static fluss_server_t *serve(const fluss_kv_t *settings, size_t n)
{
    fluss_error_t err;
    fluss_server_t *server = NULL;
    must(fluss_server_start(settings, n, &server, &err), &err);
    return server;
}

static void make_table(fluss_conn_t *conn, fluss_path_t path, const char *key,
                       const char *partition)
{
    fluss_error_t err;
    fluss_desc_t *desc = NULL;
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "id", "INT", NULL, &err), &err);
    must(fluss_schema_add(schema, "region", "STRING", NULL, &err), &err);
    if (key != NULL) {
        must(fluss_schema_primary_key(schema, &key, 1, &err), &err);
    }
    must(fluss_desc_new(schema,
                        FLUSS_OPTS(fluss_desc_opts_t, .buckets = BUCKETS,
                                   .partition_keys = &partition,
                                   .n_partition_keys = partition != NULL ? 1 : 0),
                        &desc, &err),
         &err);
    done(fluss_create_table(conn, path, desc, 0));
    fluss_desc_free(desc);
    fluss_schema_free(schema);
}

static int set_up(void **state)
{
    static world w;
    static const fluss_kv_t open_settings[] = {{"bind.listeners", "FLUSS://127.0.0.1:0"}};
    static const fluss_kv_t secure_settings[] = {
        {"bind.listeners", "FLUSS://127.0.0.1:0,SASL://127.0.0.1:0"},
        {"security.protocol.map", "SASL:SASL"},
        {"security.sasl.plain.credentials", "admin:secret,alice:secret"},
        {"authorizer.enabled", "true"},
        {"super.users", "User:admin"}};
    w.open = serve(open_settings, 1);
    w.secure = serve(secure_settings, 5);
    w.conn = connect_to(fluss_server_endpoint(w.open), NULL, NULL);
    w.admin = connect_to(fluss_server_sasl_endpoint(w.secure), "admin", "secret");
    w.alice = connect_to(fluss_server_sasl_endpoint(w.secure), "alice", "secret");
    done(fluss_create_database(w.conn, "admin", "of the tests", NULL, 0, 0));
    make_table(w.conn, log_path, NULL, NULL);
    make_table(w.conn, pk_path, "id", NULL);
    make_table(w.conn, parts_path, NULL, "region");
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    const world *w = *state;
    fluss_conn_free(w->conn);
    fluss_conn_free(w->admin);
    fluss_conn_free(w->alice);
    fluss_server_free(w->open);
    fluss_server_free(w->secure);
    return 0;
}

static int64_t table_id(fluss_conn_t *conn, fluss_path_t path)
{
    fluss_error_t err;
    fluss_table_t *table = NULL;
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err), &err);
    const int64_t id = fluss_table_info(table)->table_id;
    fluss_table_free(table);
    return id;
}

/* ---- connecting ---- */

static void users_connect_with_their_password(void **state)
{
    const world *w = *state;
    fluss_error_t err;
    fluss_conn_t *conn = NULL;
    fluss_config_t *config = fluss_config_new();
    const char *servers = fluss_server_sasl_endpoint(w->secure);
    must(fluss_config_set(config, "bootstrap.servers", servers, &err), &err);
    must(fluss_config_set(config, "client.security.protocol", "SASL", &err), &err);
    must(fluss_config_set(config, "client.security.sasl.username", "alice", &err), &err);
    must(fluss_config_set(config, "client.security.sasl.password", "wrong", &err), &err);
    assert_int_equal(fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, &err),
                     FLUSS_E_AUTHENTICATE_EXCEPTION);
    must(fluss_config_set(config, "client.security.sasl.password", "secret", &err), &err);
    must(fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, &err), &err);
    fluss_conn_free(conn);
    fluss_config_free(config);
}

static void the_servers_are_named(void **state)
{
    const world *w = *state;
    fluss_result_t *nodes = rows(fluss_server_nodes(w->conn));
    assert_int_equal(fluss_result_rows(nodes), 2);
    assert_string_equal(fluss_result_str(nodes, 0, "host"), "127.0.0.1");
    fluss_result_free(nodes);
}

/* ---- databases ---- */

static void databases_come_and_go(void **state)
{
    const world *w = *state;
    static const fluss_kv_t props[] = {{"owner", "me"}};
    static const fluss_kv_t change[] = {{"owner", NULL}, {NULL, "another comment"}};
    done(fluss_create_database(w->conn, "d", "a comment", props, 1, 0));
    refused(fluss_create_database(w->conn, "d", NULL, NULL, 0, 0), FLUSS_E_DATABASE_ALREADY_EXIST);
    done(fluss_create_database(w->conn, "d", NULL, NULL, 0, FLUSS_IF_NOT_EXISTS));
    assert_int_equal(number(fluss_database_exists(w->conn, "d")), 1);
    assert_int_equal(count(fluss_list_databases(w->conn)), 3);
    fluss_result_t *info = rows(fluss_describe_database(w->conn, "d"));
    assert_string_equal(fluss_result_str(info, 0, "comment"), "a comment");
    assert_string_equal(fluss_result_str(info, 0, "value"), "me");
    fluss_result_free(info);
    done(fluss_alter_database(w->conn, "d", change, 2, 0));
    info = rows(fluss_describe_database(w->conn, "d"));
    assert_string_equal(fluss_result_str(info, 0, "comment"), "another comment");
    assert_null(fluss_result_str(info, 0, "property"));
    fluss_result_free(info);
    refused(fluss_alter_database(w->conn, "no", change, 2, 0), FLUSS_E_DATABASE_NOT_EXIST);
    done(fluss_drop_database(w->conn, "d", 0));
    refused(fluss_drop_database(w->conn, "d", 0), FLUSS_E_DATABASE_NOT_EXIST);
    refused(fluss_describe_database(w->conn, "d"), FLUSS_E_DATABASE_NOT_EXIST);
    refused(fluss_drop_database(w->conn, "admin", 0), FLUSS_E_DATABASE_NOT_EMPTY);
    assert_int_equal(number(fluss_database_exists(w->conn, "d")), 0);
}

/* ---- tables ---- */

static void tables_come_and_go(void **state)
{
    const world *w = *state;
    const fluss_path_t path = {.database = "admin", .table = "t"};
    const fluss_table_change_t add = {
        .what = FLUSS_ADD_COLUMN, .name = "more", .type = "BIGINT", .comment = "added"};
    fluss_error_t err;
    fluss_schema_t *schema = NULL;
    int32_t id = -1;
    make_table(w->conn, path, NULL, NULL);
    assert_int_equal(number(fluss_table_exists(w->conn, path)), 1);
    assert_int_equal(count(fluss_list_tables(w->conn, "admin")), 4);
    assert_true(table_id(w->conn, path) >= 0);
    done(fluss_alter_table(w->conn, path, &add, 1, 0));
    must(fluss_await_schema(fluss_get_schema(w->conn, path, -1), WAIT_MS, &schema, &id, &err),
         &err);
    assert_int_equal(id, 2);
    fluss_schema_free(schema);
    done(fluss_drop_table(w->conn, path, 0));
    refused(fluss_drop_table(w->conn, path, 0), FLUSS_E_TABLE_NOT_EXIST);
    refused(fluss_alter_table(w->conn, path, &add, 1, 0), FLUSS_E_TABLE_NOT_EXIST);
    assert_int_equal(number(fluss_table_exists(w->conn, path)), 0);
}

static void partitions_come_and_go(void **state)
{
    const world *w = *state;
    static const fluss_kv_t eu[] = {{"region", "EU"}}, wrong[] = {{"area", "EU"}};
    done(fluss_create_partition(w->conn, parts_path, eu, 1, 0));
    refused(fluss_create_partition(w->conn, parts_path, eu, 1, 0),
            FLUSS_E_PARTITION_ALREADY_EXISTS);
    refused(fluss_create_partition(w->conn, parts_path, wrong, 1, 0),
            FLUSS_E_PARTITION_SPEC_INVALID);
    fluss_result_t *found = rows(fluss_list_partitions(w->conn, parts_path, NULL, 0));
    assert_int_equal(fluss_result_rows(found), 1);
    assert_string_equal(fluss_result_str(found, 0, "name"), "EU");
    const int64_t id = fluss_result_i64(found, 0, "partition_id", -1);
    fluss_result_free(found);
    found = rows(fluss_table_stats(w->conn, parts_path));
    assert_int_equal(fluss_result_rows(found), BUCKETS);
    assert_int_equal(fluss_result_i64(found, 0, "partition_id", -1), id);
    assert_int_equal(fluss_result_i64(found, 0, "row_count", -1), 0);
    fluss_result_free(found);
    refused(fluss_list_partitions(w->conn, log_path, NULL, 0), FLUSS_E_TABLE_NOT_PARTITIONED);
    done(fluss_drop_partition(w->conn, parts_path, eu, 1, 0));
    refused(fluss_drop_partition(w->conn, parts_path, eu, 1, 0), FLUSS_E_PARTITION_NOT_EXISTS);
    assert_int_equal(count(fluss_table_stats(w->conn, parts_path)), 0);
}

/* ---- rows: what is written is counted, found and read ---- */

enum { LOG_ROWS = 40 };

static fluss_table_t *open_table(fluss_conn_t *conn, fluss_path_t path)
{
    fluss_error_t err;
    fluss_table_t *table = NULL;
    must(fluss_await_table(fluss_open_table(conn, path), WAIT_MS, &table, &err), &err);
    return table;
}

static void appended_rows_have_offsets_and_are_scanned(void **state)
{
    const world *w = *state;
    fluss_error_t err;
    fluss_writer_t *writer = NULL;
    fluss_scanner_t *scanner = NULL;
    fluss_batches_t *batches = NULL;
    fluss_table_t *table = open_table(w->conn, log_path);
    must(fluss_append_open(table, &writer, &err), &err);
    for (int32_t i = 0; i < LOG_ROWS; i++) {
        must(fluss_append(writer, FLUSS_ROW(fluss_int(i), fluss_str("r")), NULL, &err), &err);
    }
    done(fluss_flush(writer));
    fluss_writer_free(writer);
    fluss_result_t *ends = rows(fluss_list_offsets(w->conn, log_path, NULL, NULL, 0, FLUSS_LATEST));
    fluss_result_t *stats = rows(fluss_table_stats(w->conn, log_path));
    int64_t end = 0, counted = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        end += fluss_result_i64(ends, i, "offset", -1);
        counted += fluss_result_i64(stats, i, "row_count", -1);
    }
    assert_int_equal(end, LOG_ROWS);
    assert_int_equal(counted, LOG_ROWS);
    fluss_result_free(ends);
    fluss_result_free(stats);
    must(fluss_scanner_open(&table, 1, NULL, &scanner, &err), &err);
    done(fluss_subscribe_all(scanner, FLUSS_EARLIEST));
    for (size_t seen = 0; seen < LOG_ROWS;) {
        fluss_records_t *records = NULL;
        must(fluss_await_records(fluss_poll(scanner, WAIT_MS), WAIT_MS, &records, &err), &err);
        assert_true(fluss_records_count(records) > 0);
        seen += fluss_records_count(records);
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
    const fluss_bucket_t bucket = {fluss_table_info(table)->table_id, -1, 0};
    must(fluss_await_batches(
             fluss_scan_bucket(table, bucket, FLUSS_OPTS(fluss_scan_opts_t, .limit = 5)), WAIT_MS,
             &batches, &err),
         &err);
    fluss_batches_free(batches);
    fluss_table_free(table);
}

/* Rows of a bucket, and how many batches they came in. */
static int64_t scan_whole(fluss_table_t *table, int32_t bucket, size_t *batch_count)
{
    fluss_error_t err;
    fluss_batches_t *batches = NULL;
    int64_t found = 0;
    const fluss_bucket_t which = {fluss_table_info(table)->table_id, -1, bucket};
    must(fluss_await_batches(fluss_scan_bucket(table, which, NULL), WAIT_MS, &batches, &err), &err);
    *batch_count += fluss_batches_count(batches);
    for (size_t i = 0; i < fluss_batches_count(batches); i++) {
        struct ArrowSchema schema = {0};
        struct ArrowArray array = {0};
        must(fluss_batches_take(batches, i, &schema, &array, NULL, NULL, &err), &err);
        found += array.length;
        array.release(&array);
        schema.release(&schema);
    }
    fluss_batches_free(batches);
    return found;
}

static void upserted_rows_are_looked_up_and_scanned_whole(void **state)
{
    enum { PK_ROWS = 9000, TEXT_SIZE = 2000 };
    const world *w = *state;
    fluss_error_t err;
    fluss_writer_t *writer = NULL;
    fluss_lookup_t *lookup = NULL;
    fluss_records_t *records = NULL;
    char text[TEXT_SIZE + 1];
    fluss_table_t *table = open_table(w->conn, pk_path);
    memset(text, 'x', TEXT_SIZE);
    text[TEXT_SIZE] = '\0';
    must(fluss_upsert_open(table, NULL, &writer, &err), &err);
    for (int32_t i = 0; i < PK_ROWS; i++) {
        must(fluss_upsert(writer, FLUSS_ROW(fluss_int(i), fluss_str(text)), NULL, &err), &err);
    }
    done(fluss_flush(writer));
    fluss_writer_free(writer);
    must(fluss_lookup_open(table, NULL, &lookup, &err), &err);
    const fluss_datum_t key = fluss_int(77);
    must(fluss_await_records(fluss_lookup(lookup, &key, 1, 1), WAIT_MS, &records, &err), &err);
    assert_int_equal(fluss_records_count(records), 1);
    fluss_records_free(records);
    fluss_lookup_free(lookup);
    int64_t found = 0;
    size_t batch_count = 0;
    for (int32_t i = 0; i < BUCKETS; i++) {
        found += scan_whole(table, i, &batch_count);
    }
    assert_int_equal(found, PK_ROWS);
    assert_true(batch_count > BUCKETS); /* one batch a bucket would be a single request */
    fluss_table_free(table);
}

/* ---- snapshots and remote files, of which there are none ---- */

static void there_are_no_snapshots(void **state)
{
    const world *w = *state;
    const int64_t id = table_id(w->conn, pk_path);
    const fluss_bucket_t bucket = {id, -1, 1};
    const fluss_position_t wanted = {.bucket = bucket, .offset = 5};
    fluss_result_t *latest = rows(fluss_kv_snapshots(w->conn, pk_path, NULL, -1, 0));
    assert_int_equal(fluss_result_rows(latest), BUCKETS);
    assert_null(fluss_result_str(latest, 0, "snapshot_id"));
    fluss_result_free(latest);
    refused(fluss_kv_snapshots(w->conn, pk_path, NULL, 5, 0), FLUSS_E_KV_SNAPSHOT_NOT_EXIST);
    refused(fluss_kv_snapshots(w->conn, log_path, NULL, -1, 0), FLUSS_E_NON_PRIMARY_KEY_TABLE);
    assert_int_equal(count(fluss_list_kv_snapshots(w->conn, id, -1)), 0);
    refused(fluss_list_kv_snapshots(w->conn, id, 7), FLUSS_E_PARTITION_NOT_EXISTS);
    fluss_result_t *gone = rows(fluss_lease_snapshots(w->conn, "lease", 1000, &wanted, 1));
    assert_int_equal(fluss_result_rows(gone), 1);
    assert_int_equal(fluss_result_i64(gone, 0, "snapshot_id", -1), 5);
    fluss_result_free(gone);
    done(fluss_release_snapshots(w->conn, "lease", &bucket, 1));
    done(fluss_release_snapshots(w->conn, "lease", NULL, 0));
    refused(fluss_lake_snapshot(w->conn, pk_path, -1, 0), FLUSS_E_LAKE_SNAPSHOT_NOT_EXIST);
}

static void no_log_is_remote_and_files_need_no_token(void **state)
{
    const world *w = *state;
    const int64_t id = table_id(w->conn, log_path);
    assert_int_equal(count(fluss_remote_log_manifests(w->conn, id, -1)), 0);
    refused(fluss_remote_log_manifests(w->conn, id, 7), FLUSS_E_PARTITION_NOT_EXISTS);
    fluss_result_t *token = rows(fluss_file_system_token(w->conn));
    assert_int_equal(fluss_result_rows(token), 1);
    assert_string_equal(fluss_result_str(token, 0, "scheme"), "file");
    assert_string_equal(fluss_result_str(token, 0, "token"), "");
    assert_null(fluss_result_str(token, 0, "expires_ms"));
    fluss_result_free(token);
}

/* ---- the cluster ---- */

static void the_cluster_is_healthy(void **state)
{
    const world *w = *state;
    fluss_result_t *health = rows(fluss_cluster_health(w->conn));
    assert_string_equal(fluss_result_str(health, 0, "status"), "GREEN");
    assert_int_equal(fluss_result_i64(health, 0, "replicas", -1),
                     fluss_result_i64(health, 0, "active_leaders", -2));
    fluss_result_free(health);
}

static const char *config_value(fluss_result_t *configs, const char *key)
{
    for (size_t i = 0; i < fluss_result_rows(configs); i++) {
        if (strcmp(fluss_result_str(configs, i, "key"), key) == 0) {
            return fluss_result_str(configs, i, "value");
        }
    }
    return NULL;
}

static void settings_change_at_run_time(void **state)
{
    const world *w = *state;
    const fluss_kv_t set[] = {{"kv.snapshot.interval", "2 min"}};
    const fluss_kv_t reset[] = {{"kv.snapshot.interval", NULL}};
    const fluss_kv_t wrong[] = {{"kv.snapshot.interval", "2 min"}, {"data.dir", "/x"}};
    done(fluss_alter_cluster_configs(w->conn, set, 1));
    fluss_result_t *configs = rows(fluss_cluster_configs(w->conn));
    assert_string_equal(config_value(configs, "kv.snapshot.interval"), "2 min");
    fluss_result_free(configs);
    done(fluss_alter_cluster_configs(w->conn, reset, 1));
    refused(fluss_alter_cluster_configs(w->conn, wrong, 2), FLUSS_E_CONFIG_EXCEPTION);
    configs = rows(fluss_cluster_configs(w->conn));
    assert_null(config_value(configs, "kv.snapshot.interval"));
    fluss_result_free(configs);
}

static void the_server_has_one_tag_or_none(void **state)
{
    const world *w = *state;
    const int32_t ours = 0, unknown = 5;
    done(fluss_add_server_tag(w->conn, &ours, 1, 1));
    refused(fluss_add_server_tag(w->conn, &ours, 1, 0), FLUSS_E_SERVER_TAG_ALREADY_EXIST);
    refused(fluss_add_server_tag(w->conn, &unknown, 1, 0), FLUSS_E_SERVER_NOT_EXIST);
    refused(fluss_remove_server_tag(w->conn, &ours, 1, 0), FLUSS_E_SERVER_TAG_NOT_EXIST);
    done(fluss_remove_server_tag(w->conn, &ours, 1, 1));
    done(fluss_remove_server_tag(w->conn, &unknown, 1, 1));
}

static void one_server_has_nothing_to_rebalance(void **state)
{
    const world *w = *state;
    const int32_t goal = 0;
    assert_int_equal(count(fluss_rebalance_progress(w->conn, NULL)), 0);
    fluss_result_t *begun = rows(fluss_rebalance(w->conn, &goal, 1));
    fluss_result_t *progress =
        rows(fluss_rebalance_progress(w->conn, fluss_result_str(begun, 0, "id")));
    assert_string_equal(fluss_result_str(progress, 0, "id"), fluss_result_str(begun, 0, "id"));
    assert_int_equal(fluss_result_i64(progress, 0, "status", -1), 3); /* completed */
    done(fluss_cancel_rebalance(w->conn, fluss_result_str(begun, 0, "id")));
    refused(fluss_cancel_rebalance(w->conn, "another"), FLUSS_E_NO_REBALANCE_IN_PROGRESS);
    fluss_result_free(progress);
    fluss_result_free(begun);
}

static void producer_offsets_are_kept_once(void **state)
{
    const world *w = *state;
    const fluss_bucket_t bucket = {table_id(w->conn, log_path), -1, 2};
    const fluss_position_t first = {.bucket = bucket, .offset = 11};
    const fluss_position_t second = {.bucket = bucket, .offset = 22};
    done(fluss_set_producer_offsets(w->conn, "job", &first, 1));
    done(fluss_set_producer_offsets(w->conn, "job", &second, 1));
    fluss_result_t *kept = rows(fluss_get_producer_offsets(w->conn, "job"));
    assert_int_equal(fluss_result_rows(kept), 1);
    assert_int_equal(fluss_result_i64(kept, 0, "offset", -1), 11);
    fluss_result_free(kept);
    done(fluss_delete_producer_offsets(w->conn, "job"));
    assert_int_equal(count(fluss_get_producer_offsets(w->conn, "job")), 0);
    refused(fluss_get_producer_offsets(w->conn, ""), FLUSS_E_INVALID_PRODUCER_ID);
}

/* ---- rights ---- */

static void acls_say_what_users_may(void **state)
{
    const world *w = *state;
    const fluss_acl_t read = {.resource_type = "DATABASE",
                              .resource = "fluss",
                              .principal = "alice",
                              .operation = "READ"};
    const fluss_acl_t any = {0};
    const fluss_acl_t wrong = {
        .resource_type = "DATABASE", .resource = "d", .principal = "alice", .operation = "SING"};
    assert_int_equal(count(fluss_list_databases(w->alice)), 0);
    refused(fluss_create_database(w->alice, "x", NULL, NULL, 0, 0),
            FLUSS_E_AUTHORIZATION_EXCEPTION);
    refused(fluss_create_acls(w->alice, &read, 1), FLUSS_E_AUTHORIZATION_EXCEPTION);
    fluss_result_t *made = rows(fluss_create_acls(w->admin, &read, 1));
    assert_int_equal(fluss_result_i64(made, 0, "code", -1), 0);
    fluss_result_free(made);
    fluss_result_t *listed = rows(fluss_list_acls(w->admin, NULL));
    assert_int_equal(fluss_result_rows(listed), 1);
    assert_string_equal(fluss_result_str(listed, 0, "principal"), "alice");
    assert_string_equal(fluss_result_str(listed, 0, "operation"), "READ");
    fluss_result_free(listed);
    assert_int_equal(count(fluss_list_databases(w->alice)), 1);
    assert_int_equal(count(fluss_drop_acls(w->admin, &any, 1)), 1);
    assert_int_equal(count(fluss_list_acls(w->admin, NULL)), 0);
    assert_int_equal(count(fluss_list_databases(w->alice)), 0);
    refused(fluss_create_acls(w->admin, &wrong, 1), FLUSS_E_CLIENT);
    refused(fluss_list_acls(w->conn, NULL), FLUSS_E_SECURITY_DISABLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_connect_with_their_password),
        cmocka_unit_test(the_servers_are_named),
        cmocka_unit_test(databases_come_and_go),
        cmocka_unit_test(tables_come_and_go),
        cmocka_unit_test(partitions_come_and_go),
        cmocka_unit_test(appended_rows_have_offsets_and_are_scanned),
        cmocka_unit_test(upserted_rows_are_looked_up_and_scanned_whole),
        cmocka_unit_test(there_are_no_snapshots),
        cmocka_unit_test(no_log_is_remote_and_files_need_no_token),
        cmocka_unit_test(the_cluster_is_healthy),
        cmocka_unit_test(settings_change_at_run_time),
        cmocka_unit_test(the_server_has_one_tag_or_none),
        cmocka_unit_test(one_server_has_nothing_to_rebalance),
        cmocka_unit_test(producer_offsets_are_kept_once),
        cmocka_unit_test(acls_say_what_users_may),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
