# SPDX-License-Identifier: Apache-2.0
"""Where pyfluss 1.0 and the API before it contradict each other, one package serves both.

One test for each conflict, C1 to C22: first as the older API has it, then as the newer one does, on
the same objects where that is possible. At the end, what users see of each class: str and repr."""

import asyncio
import datetime
import inspect
import time
import warnings

import fluss
import pandas as pd
import pyarrow as pa
import pytest

S_MAX = 30
LOG = pa.schema([("id", pa.int32()), ("name", pa.string())])
ROWS = [{"id": n, "name": f"row {n}"} for n in range(5)]
OLD_DEFAULTS = {"bootstrap_servers": "127.0.0.1:9123", "writer_acks": "all"}


def config_of(servers):
    return fluss.Config({"bootstrap.servers": servers})


def make(connection, database, name, keys=None, **options):
    path = fluss.TablePath(database, name)
    descriptor = fluss.TableDescriptor(fluss.Schema(LOG, keys), bucket_count=1, **options)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


@pytest.fixture
def log_table(connection, database):
    table = make(connection, database, "log")
    with table.new_append().create_writer() as writer:
        for row in ROWS:
            writer.append(row)
    return table


@pytest.fixture
def key_table(connection, database):
    return make(connection, database, "keyed", ["id"])


def batch_scanner(table):
    scanner = table.new_scan().create_record_batch_log_scanner().result(S_MAX)
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    return scanner


def test_c1_connect_and_create(servers, run):
    async def main():
        for connect in (fluss.FlussConnection.connect, fluss.FlussConnection.create):
            connection = await connect(config_of(servers))
            assert type(connection) is fluss.FlussConnection
            await connection.close()

    run(main())


def test_c2_admin_awaited_and_not(connection, run):
    async def main():
        older, newer = await connection.get_admin(), connection.get_admin()
        assert older is newer and isinstance(newer, fluss.FlussAdmin)
        assert not asyncio.isfuture(newer)

    run(main())


def test_c3_close_at_once_and_awaited(servers, run):
    async def main():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            older = await fluss.FlussConnection.create(config_of(servers))
            older.close()  # starts now, nobody waits
            newer = await fluss.FlussConnection.create(config_of(servers))
            assert await newer.close() is None
            assert await newer.close() is None

    run(main())
    connection = fluss.FlussConnection.create(config_of(servers)).result(S_MAX)
    assert connection.close().done()  # outside of a loop the call waits


def test_c4_with_and_async_with(servers, run):
    async def main():
        with await fluss.FlussConnection.connect(config_of(servers)) as older:
            assert await older.get_admin().list_databases()
        async with await fluss.FlussConnection.create(config_of(servers)) as newer:
            assert await newer.get_admin().list_databases()
        for closed in (older, newer):
            with pytest.raises(fluss.FlussError, match="closed"):
                await closed.get_admin().list_databases()

    run(main())


def test_c5_table_metadata(connection, log_table, run):
    async def main():
        admin, path = connection.get_admin(), log_table.get_table_path()
        for call in (admin.get_table, admin.get_table_info):
            info = await call(path)
            assert isinstance(info, fluss.TableInfo) and info.num_buckets == 1

    run(main())


def test_c6_append_writer(log_table, run):
    async def main():
        older = await log_table.new_append_writer()
        newer = log_table.new_append().create_writer()
        for writer in (older, newer, log_table.new_append_writer()):
            assert isinstance(writer, fluss.AppendWriter)
            await writer.append((9, "x")).wait()

    run(main())


def test_c7_batch_scanners(log_table, run):
    async def main():
        scan = log_table.new_scan
        for create in (scan().create_batch_scanner, scan().create_record_batch_log_scanner):
            assert isinstance(await create(), fluss.LogScanner)

    run(main())


def test_c8_whole_log_at_once_and_awaited(log_table, run):
    assert batch_scanner(log_table).to_arrow().num_rows == 5
    assert str(batch_scanner(log_table).to_pandas()) == str(
        pd.DataFrame(ROWS).astype({"id": "int32"})
    )

    async def main():
        assert (await batch_scanner(log_table).to_arrow()).to_pylist() == ROWS
        assert len(await batch_scanner(log_table).to_pandas()) == 5

    run(main())


def test_c9_polls_at_once_and_awaited(log_table, run):
    def records():
        scanner = log_table.new_scan().create_log_scanner().result(S_MAX)
        scanner.subscribe(0, 0)
        return scanner

    assert [record.row for record in records().poll(timeout_ms=5000)] == ROWS
    assert batch_scanner(log_table).poll_arrow(timeout_ms=5000).num_rows == 5

    async def main():
        found = await records().poll(3000)
        assert isinstance(found, fluss.ScanRecords) and not found.is_empty()
        assert (await batch_scanner(log_table).poll_arrow(5000)).num_rows == 5

    run(main())


def test_c10_batches_under_two_names(log_table, run):
    older = batch_scanner(log_table).poll_batches(5000)
    assert isinstance(older, list) and older[0].batch.num_rows == 5

    async def main():
        newer = await batch_scanner(log_table).poll_record_batch(5000)
        assert type(newer) is list and newer[0].batch.num_rows == 5

    run(main())


def test_c11_bucket_of_a_record(log_table):
    scanner = log_table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(0, 0)
    found = scanner.poll(5000)
    assert [record.bucket for record in found] == found.buckets() * 5


def test_c12_upsert_is_writer_and_builder(key_table, run):
    async def main():
        older = key_table.new_upsert()
        older.upsert({"id": 1, "name": "a"})
        await older.flush()
        newer = key_table.new_upsert().create_writer()
        newer.upsert({"id": 2, "name": "b"})
        await newer.flush()
        assert isinstance(older, fluss.UpsertWriter) and isinstance(older, fluss.TableUpsert)
        assert type(newer) is fluss.UpsertWriter

    run(main())
    assert key_table.to_arrow().num_rows == 2


def test_c13_partial_updates(key_table):
    key_table.new_upsert().upsert((1, "a")).wait().result(S_MAX)
    forms = (
        key_table.new_upsert(columns=["id", "name"]),
        key_table.new_upsert(column_indices=[0, 1]),
        key_table.new_upsert().partial_update_by_name(["id", "name"]).create_writer(),
        key_table.new_upsert().partial_update_by_index([0, 1]).create_writer(),
    )
    for n, writer in enumerate(forms):
        writer.upsert({"id": 1, "name": f"form {n}"}).wait().result(S_MAX)
        found = key_table.new_lookup().lookup({"id": 1}).result(S_MAX)
        assert found == {"id": 1, "name": f"form {n}"}
    with pytest.raises(fluss.FlussError, match="not both"):
        key_table.new_upsert(columns=["id"], column_indices=[0])
    with pytest.raises(fluss.FlussError, match="Unknown column name"):
        key_table.new_upsert(columns=["nope"])
    with pytest.raises(fluss.FlussError, match="primary key"):
        key_table.new_upsert(columns=["name"]).create_writer()


def test_c14_lookup_is_lookuper_and_builder(key_table, run):
    key_table.new_upsert().upsert((1, "a")).wait().result(S_MAX)

    async def main():
        older, newer = key_table.new_lookup(), key_table.new_lookup().create_lookuper()
        assert await older.lookup({"id": 1}) == await newer.lookup({"id": 1})
        assert isinstance(older, fluss.Lookuper) and type(newer) is fluss.Lookuper

    run(main())


def test_c15_offsets_by_type_and_by_spec(connection, log_table, run):
    async def main():
        admin, path = connection.get_admin(), log_table.get_table_path()
        for found in (
            admin.list_offsets(path, bucket_ids=[0], offset_type="latest"),
            admin.list_offsets(path, [0], fluss.OffsetSpec.latest()),
            admin.list_offsets(path, [0], offset_spec=fluss.OffsetSpec.latest()),
        ):
            assert await found == {0: 5}
        ms = 1704067200000
        for found in (
            admin.list_offsets(path, bucket_ids=[0], offset_type="timestamp", timestamp=ms),
            admin.list_offsets(path, [0], fluss.OffsetSpec.timestamp(ms)),
        ):
            assert await found == {0: 0}

    run(main())
    assert fluss.OffsetType.EARLIEST == "earliest"


def test_c16_create_database_in_both_orders(connection, database):
    admin, descriptor = connection.get_admin(), fluss.DatabaseDescriptor("about")
    older, newer = f"{database}_old", f"{database}_new"
    admin.create_database(older, True, descriptor).result(S_MAX)
    admin.create_database(newer, descriptor, True).result(S_MAX)
    admin.create_database(older, True).result(S_MAX)
    with pytest.raises(fluss.FlussError, match="exist"):
        admin.create_database(older, False).result(S_MAX)
    with pytest.raises(TypeError, match="database_descriptor must be"):
        admin.create_database(older, True, True)
    for name in (older, newer):
        info = admin.get_database_info(name).result(S_MAX)
        assert info.get_database_descriptor().comment == "about"
        admin.drop_database(name).result(S_MAX)


@pytest.mark.parametrize(
    "arguments",
    [
        {"bucket_keys": ["name"]},
        {"bucket_keys": ["nope"]},
        {"partition_keys": ["id"]},
        {"partition_keys": ["nope"]},
        {"bucket_count": 0},
        {"log_format": "nope"},
    ],
)
def test_what_no_server_was_asked_has_no_code_of_a_server(arguments):
    columns = pa.schema([("id", pa.int32()), ("name", pa.string())])
    schema = fluss.Schema(columns, primary_keys=["id"])
    with pytest.raises(fluss.FlussError) as told:
        fluss.TableDescriptor(schema, **arguments)
    assert told.value.error_code == fluss.ErrorCode.CLIENT_ERROR
    for keys in (["nope"], ["id", "id"]):
        with pytest.raises(fluss.FlussError, match="Failed to build schema: ") as told:
            fluss.Schema(columns, primary_keys=keys)
        assert told.value.error_code == fluss.ErrorCode.CLIENT_ERROR


def test_c17_latest_offset(log_table):
    assert fluss.LATEST_OFFSET == -1
    scanner = log_table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(bucket_id=0, start_offset=fluss.LATEST_OFFSET)
    log_table.new_append_writer().append((6, "new")).wait().result(S_MAX)
    assert [record.offset for record in scanner.poll(5000)] == [5]


def test_c18_keys_and_properties_of_settings():
    older = fluss.Config({"request.max.size": "1048576", "writer.batch.size": "65536"})
    newer = fluss.Config({"writer.request-max-size": "1048576", "writer.batch-size": "65536"})
    assert older == newer
    assert older.request_max_size == newer.writer_request_max_size == 1048576
    older.bootstrap_server = "a:1"
    assert older.bootstrap_servers == older.bootstrap_server == "a:1"
    for name, value in OLD_DEFAULTS.items():
        assert getattr(fluss.Config(), name) == value


SPELLINGS = [
    *["writer_batch_size", "writer.batch.size", "WRITER.BATCH-SIZE", "client.writer.batch-size"],
    "client_writer_batch_size",
]


@pytest.mark.parametrize("key", SPELLINGS)
def test_a_key_has_the_spellings_that_it_has_in_c(key):
    assert fluss.Config({key: "2mb"}).writer_batch_size == 2 * 1024 * 1024
    assert fluss.Config({key: "1kb"}) == fluss.Config({"writer.batch-size": "1kb"})


def test_a_key_without_its_unit():
    assert fluss.Config({"writer_batch_timeout": "2s"}).writer_batch_timeout_ms == 2000


def test_a_key_that_is_none_is_refused_and_the_nearest_named():
    with pytest.raises(fluss.FlussError, match="writer_bach_size; did you mean 'writer.batch-size"):
        fluss.Config({"writer_bach_size": "1"})
    for key in ("", "client.", "-ms", "writer..batch-size", "writerbatchsize", "batch-size"):
        with pytest.raises(fluss.FlussError, match=f"Unknown property: {key}"):
            fluss.Config({key: "1"})


def test_c19_bad_numbers_are_errors():
    for key in ("request.max.size", "writer.batch-size", "writer.retries"):
        with pytest.raises(fluss.FlussError, match="many"):
            fluss.Config({key: "many"})


def test_c20_error_has_what_both_have(connection):
    with pytest.raises(fluss.FlussError) as caught:
        connection.get_table(fluss.TablePath("fluss", "no such table")).result(S_MAX)
    error = caught.value
    assert error.message and error.message in str(error)
    assert error.error_code == fluss.ErrorCode.TABLE_NOT_EXIST == 7
    assert error.is_retriable is False


def test_c21_ignore_if_exists_of_create_table(connection, log_table):
    create = connection.get_admin().create_table
    assert inspect.signature(create).parameters["ignore_if_exists"].default is None
    path, descriptor = log_table.get_table_path(), fluss.TableDescriptor(fluss.Schema(LOG))
    for given in ({}, {"ignore_if_exists": None}, {"ignore_if_exists": False}):
        with pytest.raises(fluss.FlussError) as caught:
            create(path, descriptor, **given).result(S_MAX)
        assert caught.value.error_code == fluss.ErrorCode.TABLE_ALREADY_EXIST
    assert create(path, descriptor, ignore_if_exists=True).result(S_MAX) is None


def test_c22_whole_log_twice_on_one_scanner(log_table, run):
    scanner = batch_scanner(log_table)
    assert scanner.to_arrow().num_rows == len(scanner.to_pandas()) == 5
    assert scanner.subscribed_buckets() == {}  # as in 1.0: what is finished is unsubscribed

    async def main():
        again = batch_scanner(log_table)
        assert (await again.to_arrow()).num_rows == len(await again.to_pandas()) == 5
        again.unsubscribe(0)
        with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
            again.to_arrow_batch_reader()

    run(main())


def test_no_conflict_number_is_without_a_test():
    numbers = {int(name.split("_")[1][1:]) for name in globals() if name.startswith("test_c")}
    assert numbers == set(range(1, 23))


# --- what users see ---


def shown(connection, log_table, key_table):
    info = log_table.get_table_info()
    name = info.table_path.table_path_str()
    keyed = key_table.get_table_path().table_path_str()
    bucket = fluss.TableBucket(1, 2)
    scanner = log_table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(0, 0)
    records = scanner.poll(5000)
    at = records[0].timestamp
    batch = batch_scanner(log_table).poll_record_batch(5000)[0]
    own = fluss.TableBucket(info.table_id, 0)
    one_bucket = log_table.new_scan().limit(1).create_bucket_batch_scanner(own)
    node = connection.get_admin().get_server_nodes().result(S_MAX)[0]
    keyed_schema = fluss.Schema(LOG, ["id"])
    return [
        (connection, "FlussConnection()"),
        (log_table, f"FlussTable(path={name})"),
        (log_table.new_scan(), f"TableScan(table={name})"),
        (log_table.new_append(), f"TableAppend(table={name})"),
        (log_table.new_append().create_writer(), f"AppendWriter(table={name})"),
        (key_table.new_upsert(), f"TableUpsert(table={keyed})"),
        (key_table.new_upsert().create_writer(), f"UpsertWriter(table={keyed})"),
        (key_table.new_lookup(), f"TableLookup(table={keyed})"),
        (key_table.new_lookup().create_lookuper(), f"Lookuper(table={keyed})"),
        (scanner, f"LogScanner(table={name})"),
        (one_bucket, f"BatchScanner(bucket={own})"),
        (records, "ScanRecords(records=5, buckets=1)"),
        (records[0], f"ScanRecord(offset=0, timestamp={at}, change_type=+A)"),
        (batch, f"RecordBatch(bucket={own}, base_offset=0, last_offset=4, rows=5)"),
        (bucket, "TableBucket(table_id=1, bucket=2)"),
        (
            fluss.TableBucket.with_partition(1, 5, 2),
            "TableBucket(table_id=1, partition_id=5, bucket=2)",
        ),
        (fluss.TablePath("db", "t"), "TablePath('db', 't')"),
        (fluss.OffsetSpec.timestamp(5), "OffsetSpec.timestamp(5)"),
        (fluss.OffsetSpec.earliest(), "OffsetSpec.earliest()"),
        (fluss.LakeSnapshot(3), "LakeSnapshot(snapshot_id=3, buckets_count=0)"),
        (fluss.ChangeType.Insert, "ChangeType.Insert"),
        (keyed_schema, str(keyed_schema)),
        (
            node,
            f"ServerNode(id={node.id}, host={node.host!r}, port={node.port}, "
            f"server_type={node.server_type!r})",
        ),
    ]


def test_repr_of_each_class(connection, log_table, key_table):
    for one, text in shown(connection, log_table, key_table):
        assert repr(one) == text


def test_str_where_it_is_not_repr():
    assert str(fluss.TablePath("db", "t")) == "db.t"
    assert str(fluss.ChangeType.UpdateBefore) == "-U"
    assert str(fluss.FlussError("why")) == "FlussError: why"
    assert str(fluss.FlussError("why", 7)) == "FlussError(code=7): why"
    assert str(fluss.Schema(LOG)) == 'Schema: columns=[("id", "int"), ("name", "string")]'
    config = fluss.Config({"security.sasl.password": "secret"})
    assert "secret" not in repr(config) + str(config)


def test_unknown_keywords_of_a_descriptor_are_refused():
    schema = fluss.Schema(LOG)
    with pytest.raises(TypeError, match="bucket_number"):
        fluss.TableDescriptor(schema, bucket_number=3)
    assert fluss.TableDescriptor(schema, bucket_count=None, comment=None) == fluss.TableDescriptor(
        schema
    )


def test_rows_of_the_newer_api_are_those_of_the_older(log_table):
    """Timestamps of records are milliseconds of now in both."""
    scanner = log_table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(0, 0)
    record = scanner.poll(5000)[0]
    age = datetime.timedelta(seconds=time.time() - record.timestamp / 1000)
    assert abs(age) < datetime.timedelta(minutes=5)
