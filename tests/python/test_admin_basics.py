# SPDX-License-Identifier: Apache-2.0
"""Databases, tables, partitions and rows through the package, one call of each kind.

Goal: a test in Python for each API that test_admin_cluster.py has not; tests/api_coverage.txt names
them. Method: a server in this process; right calls with their results, wrong ones with their code.
"""

import pyarrow as pa
from outcomes import S_MAX, refused

COLUMNS = pa.schema([("id", pa.int32()), ("region", pa.string())])


def make(admin, database, name, schema=COLUMNS, primary_keys=None, **more):
    import fluss

    path = fluss.TablePath(database, name)
    descriptor = fluss.TableDescriptor(fluss.Schema(schema, primary_keys=primary_keys), **more)
    admin.create_table(path, descriptor).result(S_MAX)
    return path


def test_users_connect_with_their_password(tmp_path):
    import fluss

    settings = {
        "bind.listeners": "FLUSS://127.0.0.1:0,SASL://127.0.0.1:0",
        "security.protocol.map": "SASL:SASL",
        "security.sasl.plain.credentials": "alice:secret",
    }
    with fluss.Server(tmp_path, settings=settings) as server:
        options = {
            "bootstrap.servers": server.sasl_bootstrap_servers,
            "client.security.protocol": "SASL",
            "client.security.sasl.username": "alice",
            "client.security.sasl.password": "wrong",
        }
        wrong = fluss.FlussConnection.create(fluss.Config(options))
        refused(wrong, fluss.ErrorCode.AUTHENTICATE_EXCEPTION)
        options["client.security.sasl.password"] = "secret"
        with fluss.FlussConnection.create(fluss.Config(options)).result(S_MAX) as connection:
            assert connection.get_admin().list_databases().result(S_MAX) == ["fluss"]


def test_the_servers_are_named(admin):
    nodes = admin.get_server_nodes().result(S_MAX)
    assert sorted(node.server_type for node in nodes) == ["CoordinatorServer", "TabletServer"]


def test_databases_come_and_go(admin, database):
    import fluss

    name = f"{database}_more"
    descriptor = fluss.DatabaseDescriptor("a comment", {"owner": "me"})
    admin.create_database(name, descriptor).result(S_MAX)
    refused(admin.create_database(name), fluss.ErrorCode.DATABASE_ALREADY_EXIST)
    assert admin.database_exists(name).result(S_MAX) is True
    assert {database, name} <= set(admin.list_databases().result(S_MAX))
    assert (
        admin.get_database_info(name).result(S_MAX).get_database_descriptor().comment == "a comment"
    )
    admin.alter_database(name, {"owner": None}, comment="another").result(S_MAX)
    changed = admin.get_database_info(name).result(S_MAX).get_database_descriptor()
    assert (changed.comment, changed.get_custom_properties()) == ("another", {})
    admin.drop_database(name).result(S_MAX)
    assert admin.database_exists(name).result(S_MAX) is False
    refused(admin.get_database_info(name), fluss.ErrorCode.DATABASE_NOT_EXIST)
    refused(admin.drop_database(name), fluss.ErrorCode.DATABASE_NOT_EXIST)


def test_tables_come_and_go(admin, database):
    import fluss

    path = make(admin, database, "t")
    assert admin.table_exists(path).result(S_MAX) is True
    assert admin.list_tables(database).result(S_MAX) == ["t"]
    assert admin.get_table_info(path).result(S_MAX).schema_id == 1
    change = {"change": "add_column", "name": "more", "type": "BIGINT"}
    admin.alter_table(path, [change]).result(S_MAX)
    schema, schema_id = admin.get_table_schema(path).result(S_MAX)
    assert (schema.get_column_names(), schema_id) == (["id", "region", "more"], 2)
    admin.drop_table(path).result(S_MAX)
    assert admin.table_exists(path).result(S_MAX) is False
    refused(admin.get_table_info(path), fluss.ErrorCode.TABLE_NOT_EXIST)
    refused(admin.drop_table(path), fluss.ErrorCode.TABLE_NOT_EXIST)


def test_partitions_come_and_go(admin, database):
    import fluss

    path = make(admin, database, "parts", partition_keys=["region"])
    admin.create_partition(path, {"region": "EU"}).result(S_MAX)
    code = fluss.ErrorCode.PARTITION_ALREADY_EXISTS
    refused(admin.create_partition(path, {"region": "EU"}), code)
    found = admin.list_partition_infos(path).result(S_MAX)
    assert [info.partition_name for info in found] == ["EU"]
    admin.drop_partition(path, {"region": "EU"}).result(S_MAX)
    assert admin.list_partition_infos(path).result(S_MAX) == []
    code = fluss.ErrorCode.PARTITION_NOT_EXISTS
    refused(admin.drop_partition(path, {"region": "EU"}), code)


def test_appended_rows_have_offsets_and_are_scanned(connection, admin, database):
    import fluss

    path = make(admin, database, "log")
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_append().create_writer()
    for i in range(10):
        writer.append({"id": i, "region": "EU"})
    writer.flush().result(S_MAX)
    assert admin.list_offsets(path, [0], fluss.OffsetSpec.latest()).result(S_MAX) == {0: 10}
    scanner = table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(0, 0)
    seen = []
    while len(seen) < 10:
        seen += [record.row["id"] for record in scanner.poll(10_000).result(S_MAX)]
    assert seen == list(range(10))


def test_some_rows_are_scanned_at_once(connection, admin, database):
    import fluss

    path = make(admin, database, "log")
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_append().create_writer()
    for i in range(10):
        writer.append({"id": i, "region": "EU"})
    writer.flush().result(S_MAX)
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    scanner = table.new_scan().limit(3).create_bucket_batch_scanner(bucket)
    assert scanner.to_arrow().result(S_MAX)["id"].to_pylist() == [7, 8, 9]


def test_upserted_rows_are_looked_up_and_scanned_whole(connection, admin, database):
    path = make(admin, database, "pk", primary_keys=["id"], bucket_count=2)
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_upsert().create_writer()
    rows = 4000
    for i in range(rows):  # more than one batch of a scan
        writer.upsert({"id": i, "region": "x" * 3000})
    writer.flush().result(S_MAX)
    found = table.new_lookup().create_lookuper().lookup({"id": 7}).result(S_MAX)
    assert found["region"] == "x" * 3000
    whole = table.new_scan().to_arrow().result(S_MAX)
    assert sorted(whole["id"].to_pylist()) == list(range(rows))


def test_prefixes_find_their_groups(connection, admin, database):
    keys = pa.schema([("user", pa.int32()), ("order", pa.int32()), ("item", pa.string())])
    more = {"bucket_keys": ["user"], "bucket_count": 2}
    path = make(admin, database, "orders", keys, ["user", "order"], **more)
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_upsert().create_writer()
    for user in range(3):
        for order in range(4):
            writer.upsert({"user": user, "order": order, "item": "cup"})
    writer.flush().result(S_MAX)
    lookuper = table.new_lookup().lookup_by(["user"]).create_lookuper()
    assert [row["order"] for row in lookuper.lookup({"user": 1}).result(S_MAX)] == [0, 1, 2, 3]
