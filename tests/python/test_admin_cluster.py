# SPDX-License-Identifier: Apache-2.0
"""Administration of a cluster from Python: rights, settings, tags, snapshots, producers' offsets.

Goal: every call of FlussAdmin that test_guide.py has not, with its result or its typed error.
Method: two servers in this process, one where everyone may everything, one with users and ACLs.
"""

import pytest
from outcomes import S_MAX, refused

USERS = {"admin": "admin-secret", "alice": "alice-secret"}
SECURE = {
    "bind.listeners": "FLUSS://127.0.0.1:0,SASL://127.0.0.1:0",
    "security.protocol.map": "SASL:SASL",
    "security.sasl.plain.credentials": ",".join(":".join(user) for user in USERS.items()),
    "authorizer.enabled": True,
    "super.users": "User:admin",
}


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A server with users and ACLs."""
    import fluss

    with fluss.Server(tmp_path_factory.mktemp("secure"), settings=SECURE) as server:
        yield server


def connect(server, user):
    import fluss

    config = fluss.Config(
        {
            "bootstrap.servers": server.sasl_bootstrap_servers,
            "client.security.protocol": "SASL",
            "client.security.sasl.mechanism": "PLAIN",
            "client.security.sasl.username": user,
            "client.security.sasl.password": USERS[user],
        }
    )
    return fluss.FlussConnection.create(config).result(S_MAX)


@pytest.fixture
def users(secure):
    """The administrations of both users."""
    connections = {user: connect(secure, user) for user in USERS}
    yield {user: made.get_admin() for user, made in connections.items()}
    connections["admin"].get_admin().drop_acls([{}]).result(S_MAX)
    for made in connections.values():
        made.close().result(S_MAX)


def make_table(admin, database, name, columns, **more):
    """Make a table; gives its path and info."""
    import fluss
    import pyarrow as pa

    fields = [pa.field(column, kind) for column, kind in columns.items()]
    keys = more.pop("primary_keys", None)
    schema = fluss.Schema(pa.schema(fields), primary_keys=keys)
    path = fluss.TablePath(database, name)
    admin.create_table(path, fluss.TableDescriptor(schema, **more)).result(S_MAX)
    return path, admin.get_table_info(path).result(S_MAX)


@pytest.fixture
def pk(admin, database):
    import pyarrow as pa

    columns = {"id": pa.int32(), "v": pa.string()}
    return make_table(admin, database, "pk", columns, primary_keys=["id"], bucket_count=3)


def upsert(connection, path, rows):
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_upsert().create_writer()
    for row in rows:
        writer.upsert(row)
    writer.flush().result(S_MAX)


# ---- rights ----

READ = {
    "resource_type": "TABLE",
    "resource": "fluss.t",
    "principal_type": "User",
    "principal": "alice",
    "host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}


def test_acls_are_made_listed_and_dropped(users):
    admin = users["admin"]
    made = admin.create_acls([READ, {**READ, "operation": "WRITE"}]).result(S_MAX)
    assert [row["code"] for row in made] == [0, 0]
    assert admin.list_acls({"operation": "READ"}).result(S_MAX) == [READ]
    assert len(admin.list_acls().result(S_MAX)) == 2
    dropped = admin.drop_acls([{"principal_type": "User", "principal": "alice"}]).result(S_MAX)
    assert sorted(row["operation"] for row in dropped) == ["READ", "WRITE"]
    assert {row["filter"] for row in dropped} == {0}
    assert admin.list_acls().result(S_MAX) == []


def test_an_acl_of_no_known_operation_is_refused_here(users):
    import fluss

    with pytest.raises(fluss.FlussError, match="operation 'SING'"):
        users["admin"].create_acls([{**READ, "operation": "SING"}]).result(S_MAX)


def test_rights_count_for_the_users_they_are_given_to(users):
    import fluss
    import pyarrow as pa

    admin, alice = users["admin"], users["alice"]
    path, _ = make_table(admin, "fluss", "t", {"id": pa.int32()})
    text = refused(alice.get_table_info(path), fluss.ErrorCode.AUTHORIZATION_EXCEPTION)
    assert "alice" in text and "DESCRIBE" in text and "fluss.t" in text
    assert alice.list_tables("fluss").result(S_MAX) == []
    assert alice.table_exists(path).result(S_MAX) is False
    admin.create_acls([READ]).result(S_MAX)
    assert alice.get_table_info(path).result(S_MAX).table_path == path
    assert alice.list_tables("fluss").result(S_MAX) == ["t"]
    refused(alice.drop_table(path), fluss.ErrorCode.AUTHORIZATION_EXCEPTION)
    refused(alice.create_database("mine"), fluss.ErrorCode.AUTHORIZATION_EXCEPTION)
    refused(alice.create_acls([READ]), fluss.ErrorCode.AUTHORIZATION_EXCEPTION)
    admin.drop_table(path).result(S_MAX)


def test_reading_and_writing_need_their_rights(secure, users):
    import fluss
    import pyarrow as pa

    admin = users["admin"]
    path, _ = make_table(admin, "fluss", "data", {"id": pa.int32()})
    describe = {**READ, "resource": "fluss.data", "operation": "DESCRIBE"}
    admin.create_acls([describe]).result(S_MAX)
    connection = connect(secure, "alice")
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_append().create_writer()
    with pytest.raises(fluss.FlussError) as caught:
        writer.append({"id": 1})
        writer.flush().result(S_MAX)
    assert caught.value.error_code == fluss.ErrorCode.AUTHORIZATION_EXCEPTION
    admin.create_acls([{**describe, "operation": "WRITE"}]).result(S_MAX)
    writer = table.new_append().create_writer()
    writer.append({"id": 2})
    writer.flush().result(S_MAX)
    scanner = table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(0, 0)
    with pytest.raises(fluss.FlussError) as caught:
        scanner.poll(10_000).result(S_MAX)
    assert caught.value.error_code == fluss.ErrorCode.AUTHORIZATION_EXCEPTION
    admin.create_acls([{**describe, "operation": "READ"}]).result(S_MAX)
    scanner = table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(0, 0)
    assert [record.row["id"] for record in scanner.poll(10_000).result(S_MAX)] == [2]
    connection.close().result(S_MAX)
    admin.drop_table(path).result(S_MAX)


def test_without_an_authorizer_there_are_no_acls(admin):
    import fluss

    for call in (admin.create_acls([READ]), admin.list_acls(), admin.drop_acls([{}])):
        refused(call, fluss.ErrorCode.SECURITY_DISABLED_EXCEPTION)


# ---- the cluster ----


def test_the_cluster_is_healthy(admin, pk):
    health = admin.get_cluster_health().result(S_MAX)
    assert health["status"] == "GREEN"
    assert health["replicas"] == health["in_sync_replicas"] == health["leaders"] >= 3


def test_settings_are_changed_shown_and_reset(admin):
    import fluss

    key = "kv.snapshot.interval"
    admin.alter_cluster_configs({key: "3 min"}).result(S_MAX)
    shown = {row["key"]: row for row in admin.describe_cluster_configs().result(S_MAX)}
    assert (shown[key]["value"], shown[key]["source"]) == ("3 min", "DYNAMIC_SERVER_CONFIG")
    refused(admin.alter_cluster_configs({key: "soon"}), fluss.ErrorCode.CONFIG_EXCEPTION)
    refused(admin.alter_cluster_configs({"data.dir": "/x"}), fluss.ErrorCode.CONFIG_EXCEPTION)
    admin.alter_cluster_configs({key: None}).result(S_MAX)
    assert key not in {row["key"] for row in admin.describe_cluster_configs().result(S_MAX)}


def test_the_server_is_tagged_and_untagged(admin):
    import fluss

    admin.add_server_tag([0], 1).result(S_MAX)
    admin.add_server_tag([0], 1).result(S_MAX)
    refused(admin.add_server_tag([0], 0), fluss.ErrorCode.SERVER_TAG_ALREADY_EXIST_EXCEPTION)
    refused(admin.add_server_tag([9], 0), fluss.ErrorCode.SERVER_NOT_EXIST_EXCEPTION)
    refused(admin.remove_server_tag([0], 0), fluss.ErrorCode.SERVER_TAG_NOT_EXIST_EXCEPTION)
    admin.remove_server_tag([0], 1).result(S_MAX)
    admin.add_server_tag([0], 0).result(S_MAX)
    admin.remove_server_tag([0], 0).result(S_MAX)


def test_one_server_has_nothing_to_rebalance(admin):
    import fluss

    begun = admin.rebalance([0]).result(S_MAX)
    progress = admin.list_rebalance_progress(begun).result(S_MAX)
    assert [(row["id"], row["status"], row["bucket"]) for row in progress] == [(begun, 3, None)]
    admin.cancel_rebalance(begun).result(S_MAX)
    code = fluss.ErrorCode.NO_REBALANCE_IN_PROGRESS_EXCEPTION
    refused(admin.cancel_rebalance("another"), code)
    refused(admin.list_rebalance_progress("another"), code)


# ---- snapshots and remote files ----


def test_there_are_no_kv_snapshots(admin, pk):
    import fluss

    path, info = pk
    latest = admin.get_latest_kv_snapshots(path).result(S_MAX)
    assert [(row["bucket"], row["snapshot_id"]) for row in latest] == [(i, None) for i in range(3)]
    assert admin.list_kv_snapshots(info.table_id).result(S_MAX) == []
    missing = fluss.ErrorCode.KV_SNAPSHOT_NOT_EXIST
    refused(admin.get_kv_snapshot_files(path, 0, 7), missing)
    refused(admin.list_kv_snapshots(10**9), fluss.ErrorCode.TABLE_NOT_EXIST)
    refused(admin.list_kv_snapshots(info.table_id, 5), fluss.ErrorCode.PARTITION_NOT_EXISTS)


def test_a_lease_on_snapshots_that_are_gone_says_so(admin, pk):
    import fluss

    _, info = pk
    bucket = fluss.TableBucket(info.table_id, 1)
    gone = admin.acquire_kv_snapshot_lease("lease", {bucket: 4}, 60_000).result(S_MAX)
    assert [(row["bucket"], row["snapshot_id"]) for row in gone] == [(1, 4)]
    admin.release_kv_snapshot_lease("lease", [bucket]).result(S_MAX)
    admin.release_kv_snapshot_lease("lease").result(S_MAX)


def test_leases_are_for_primary_key_tables(admin, database):
    import fluss
    import pyarrow as pa

    _, info = make_table(admin, database, "log", {"id": pa.int32()})
    bucket = fluss.TableBucket(info.table_id, 0)
    code = fluss.ErrorCode.NON_PRIMARY_KEY_TABLE_EXCEPTION
    refused(admin.acquire_kv_snapshot_lease("lease", {bucket: 1}, 1000), code)
    refused(admin.release_kv_snapshot_lease("lease", [bucket]), code)


def test_no_log_is_remote(admin, pk):
    import fluss

    _, info = pk
    assert admin.list_remote_log_manifests(info.table_id).result(S_MAX) == []
    refused(admin.list_remote_log_manifests(info.table_id, 5), fluss.ErrorCode.PARTITION_NOT_EXISTS)


def test_there_is_no_lake(admin, pk):
    import fluss

    code = fluss.ErrorCode.LAKE_SNAPSHOT_NOT_EXIST
    refused(admin.get_latest_lake_snapshot(pk[0]), code)
    refused(admin.get_lake_snapshot(pk[0], 1), code)
    refused(admin.get_readable_lake_snapshot(pk[0]), code)


def test_local_files_need_no_token(admin):
    token = admin.get_file_system_security_token().result(S_MAX)
    assert token == {"scheme": "file", "token": "", "expires_ms": None, "properties": {}}


# ---- producers' offsets and statistics ----


def test_producer_offsets_are_kept_once(admin, pk):
    import fluss

    _, info = pk
    first = {fluss.TableBucket(info.table_id, i): 10 + i for i in range(3)}
    admin.register_producer_offsets("job-1", first).result(S_MAX)
    admin.register_producer_offsets("job-1", {fluss.TableBucket(info.table_id, 0): 99}).result(
        S_MAX
    )
    kept = admin.get_producer_offsets("job-1").result(S_MAX)
    assert {row["bucket"]: row["offset"] for row in kept} == {0: 10, 1: 11, 2: 12}
    assert all(row["expires_ms"] > 0 for row in kept)
    admin.delete_producer_offsets("job-1").result(S_MAX)
    assert admin.get_producer_offsets("job-1").result(S_MAX) == []
    refused(admin.get_producer_offsets(""), fluss.ErrorCode.INVALID_PRODUCER_ID_EXCEPTION)


def test_statistics_count_rows_and_not_changes(connection, admin, pk):
    path, _ = pk
    upsert(connection, path, [{"id": i % 10, "v": str(i)} for i in range(30)])
    stats = admin.get_table_stats(path).result(S_MAX)
    assert [row["bucket"] for row in stats] == [0, 1, 2]
    assert sum(row["row_count"] for row in stats) == 10


def test_statistics_of_a_partitioned_table(connection, admin, database):
    import pyarrow as pa

    columns = {"id": pa.int32(), "region": pa.string()}
    path, _ = make_table(
        admin, database, "parts", columns, partition_keys=["region"], bucket_count=2
    )
    assert admin.get_table_stats(path).result(S_MAX) == []
    for region in ("EU", "US", "none"):
        admin.create_partition(path, {"region": region}).result(S_MAX)
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_append().create_writer()
    for i in range(30):
        writer.append({"id": i, "region": "EU" if i % 3 else "US"})
    writer.flush().result(S_MAX)
    ids = {
        info.partition_name: info.partition_id
        for info in admin.list_partition_infos(path).result(S_MAX)
    }
    counts = {}
    for row in admin.get_table_stats(path).result(S_MAX):
        counts.setdefault(row["partition_id"], []).append(row["row_count"])
    assert {name: sum(counts[ids[name]]) for name in ids} == {"EU": 20, "US": 10, "none": 0}
    assert all(len(found) == 2 for found in counts.values())
