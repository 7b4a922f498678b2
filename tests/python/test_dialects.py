# SPDX-License-Identifier: Apache-2.0
"""One package for programs of pyfluss 1.0 and of the API before it: the same objects serve both.

The acceptance kit runs the guides; here is what lies between their lines."""

import asyncio
import gc
import pickle
import subprocess
import sys
import textwrap
import threading
import time

import fluss
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

LOG = pa.schema([("id", pa.int32()), ("name", pa.string())])
ROWS = [{"id": n, "name": f"row {n}"} for n in range(10)]
S_MAX = 30


@pytest.fixture
def log_table(connection, database):
    """An open log table of one bucket."""
    path = fluss.TablePath(database, "log")
    descriptor = fluss.TableDescriptor(fluss.Schema(LOG), bucket_count=1)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


@pytest.fixture
def key_table(connection, database):
    """An open table with primary key (name, id) of one bucket."""
    path = fluss.TablePath(database, "keyed")
    schema = pa.schema([("id", pa.int32()), ("name", pa.string()), ("age", pa.int64())])
    descriptor = fluss.TableDescriptor(fluss.Schema(schema, ["name", "id"]), bucket_count=1)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


def fill(table, rows=ROWS):
    writer = table.new_append().create_writer()
    for row in rows:
        writer.append(row)
    writer.flush().result(S_MAX)


def batch_scanner(table, offset=fluss.EARLIEST_OFFSET):
    scanner = table.new_scan().create_record_batch_log_scanner().result(S_MAX)
    scanner.subscribe(0, offset)
    return scanner


def record_scanner(table, offset=fluss.EARLIEST_OFFSET):
    scanner = table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe(0, offset)
    return scanner


def poll_all(scanner, count):
    found, deadline = [], time.monotonic() + S_MAX
    while len(found) < count:
        assert time.monotonic() < deadline, found
        found += scanner.poll(500)
    return found


# --- reading ---


def test_whole_log_is_read_at_once_awaited_and_twice(log_table, run):
    fill(log_table)
    assert batch_scanner(log_table).to_arrow().to_pylist() == ROWS

    async def main():
        scanner = await log_table.new_scan().create_batch_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        first, second = scanner.to_arrow(), scanner.to_pandas()  # older: one after the other
        assert (await first).num_rows == len(await second) == len(ROWS)
        assert isinstance(await scanner.to_pandas(), pd.DataFrame)

    run(main())


def test_second_read_sees_what_came_meanwhile(log_table):
    fill(log_table)
    scanner = batch_scanner(log_table)
    assert len(scanner.to_arrow()) == 10
    fill(log_table)
    assert len(scanner.to_arrow()) == 20


def test_nothing_subscribed_is_an_error_in_each_form(log_table, run):
    scanner = log_table.new_scan().create_batch_scanner().result()
    with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
        len(scanner.to_arrow())
    with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
        scanner.to_arrow_batch_reader()

    async def main():
        with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
            await scanner.to_arrow()

    run(main())


def test_reader_holds_the_scanner_and_gives_it_up(log_table):
    fill(log_table)
    scanner = batch_scanner(log_table)
    reader = scanner.to_arrow_batch_reader()
    with pytest.raises(fluss.FlussError, match="RecordBatchLogReader is active"):
        scanner.subscribe(0, 0)
    assert reader.read_all().to_pylist() == ROWS
    scanner.subscribe(0, 5)
    reader = scanner.to_arrow_batch_reader()
    del reader
    gc.collect()
    with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
        scanner.to_arrow_batch_reader()


def test_poll_fills_itself(log_table, run):
    fill(log_table)
    records = record_scanner(log_table).poll(timeout_ms=5000)
    assert type(records) is fluss.ScanRecords
    assert not asyncio.isfuture(records)
    bucket = records.buckets()[0]
    assert [record.row for record in records] == ROWS
    assert records.count() == len(records) == 10 and records and not records.is_empty()
    assert records[0].offset == 0 and records[-1].row == ROWS[-1]
    assert [record.offset for record in records[2:8:3]] == [2, 5]
    assert records[bucket] == records.records(bucket) == list(records)
    assert bucket in records and records == records.to_list()
    with pytest.raises(IndexError):
        records[10]
    with pytest.raises(TypeError):
        records["x"]
    with pytest.raises(TypeError):
        0 in records  # noqa: B015
    assert repr(records) == "ScanRecords(records=10, buckets=1)"
    record = records[3]
    assert record.row is record.row and record.bucket == bucket
    assert record.change_type == fluss.ChangeType.AppendOnly == 0
    assert str(record.change_type) == "+A"

    async def main():
        pending = record_scanner(log_table).poll(5000)
        assert await pending is pending
        assert (await asyncio.gather(record_scanner(log_table).poll(5000)))[0].count() == 10

    run(main())


def test_poll_that_was_given_up_loses_nothing(log_table, run):
    async def main():
        scanner = await log_table.new_scan().create_log_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(scanner.poll(20_000), 0.05)
        scanner.poll(20_000)  # dropped
        await asyncio.get_running_loop().run_in_executor(None, fill, log_table)
        assert [record.row for record in await asyncio.to_thread(poll_all, scanner, 10)] == ROWS

    run(main())


def test_second_poll_at_the_same_time_is_refused(log_table):
    scanner = record_scanner(log_table)
    first = scanner.poll(20_000)
    with pytest.raises(fluss.FlussError, match="in use"):
        scanner.poll(10).count()
    first.cancel()


def test_iteration_is_endless_and_keeps_what_it_did_not_deliver(log_table, run):
    fill(log_table)

    async def main():
        scanner = await log_table.new_scan().create_log_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        async for record in scanner:
            if record.offset == 3:
                break
        assert [record.offset for record in await scanner.poll(1000)] == list(range(4, 10))

    run(main())


def test_latest_is_resolved_when_subscribing(log_table):
    fill(log_table)
    scanner = record_scanner(log_table, fluss.LATEST_OFFSET)
    fill(log_table, ROWS[:2])
    assert [record.offset for record in poll_all(scanner, 2)] == [10, 11]


def test_wrong_use_of_a_scanner_is_refused_at_the_call(log_table):
    batches, records = batch_scanner(log_table), record_scanner(log_table)
    for call in (
        lambda: batches.poll(1),
        lambda: records.poll_arrow(1),
        lambda: records.to_arrow(),
        lambda: records.poll(-1),
        lambda: records.subscribe_buckets({}),
        lambda: records.subscribe(9, 0),
        lambda: records.subscribe_partition(1, 0, 0),
        lambda: log_table.new_scan().limit(0),
        lambda: log_table.new_scan().limit(1).create_log_scanner(),
        lambda: log_table.new_upsert(),
        lambda: log_table.new_lookup(),
    ):
        with pytest.raises(fluss.FlussError) as caught:
            call()
        assert caught.value.error_code == -2
    records.unsubscribe(7)


def test_batches_go_to_any_arrow_library(log_table):
    fill(log_table)
    batch = batch_scanner(log_table).poll_record_batch(5000)[0]
    assert (batch.base_offset, batch.last_offset, batch.num_rows) == (0, 9, 10)
    assert batch.batch.to_pylist() == ROWS
    assert pa.record_batch(batch) == batch.batch  # more than once
    assert pl.DataFrame(batch.batch).height == 10
    assert pl.DataFrame(batch_scanner(log_table).poll_arrow(5000).result()).height == 10


# --- writing ---


def test_any_arrow_producer_is_written(log_table, run):
    table = pa.Table.from_pylist(ROWS, schema=LOG)

    async def main():
        writer = await log_table.new_append_writer()  # older: awaited
        writer.write_arrow(table)
        await writer.write_arrow_batch(table.to_batches()[0])  # a handle is awaitable
        writer.write_pandas(table.to_pandas())
        writer.write_arrow(pl.DataFrame(table))
        writer.write_arrow(table.select(["name", "id"]))
        await writer.write_arrow_batch(
            table.slice(0, 0).to_batches() or pa.record_batch([[], []], LOG)
        )
        await writer.flush()
        assert (await batch_scanner(log_table).to_arrow()).num_rows == 50

    with pytest.raises(fluss.FlussError, match="record batch"):
        log_table.new_append_writer().write_arrow_batch([1])
    run(main())


def test_handle_may_be_waited_for_again(log_table, run):
    async def main():
        writer = log_table.new_append().create_writer()
        handle = writer.append(ROWS[0])
        assert repr(handle) == "WriteResultHandle(pending)"
        assert await handle.wait() is None
        assert await handle is None
        assert repr(handle) == "WriteResultHandle(consumed)"
        assert handle.bucket.bucket_id == 0 and handle.log_end_offset >= 0
        other = writer.append(ROWS[1])
        other.wait().cancel()
        await other.wait()

    run(main())


def test_writers_of_many_threads(log_table):
    writer = log_table.new_append().create_writer()

    def write(thread):
        for n in range(200):
            writer.append((thread * 1000 + n, "x"))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(S_MAX)
    writer.flush().result(S_MAX)
    ids = batch_scanner(log_table).to_arrow()["id"].to_pylist()
    assert sorted(ids) == sorted(t * 1000 + n for t in range(8) for n in range(200))


# --- tables with a primary key ---


def test_builder_is_the_worker_too(key_table, run):
    async def main():
        older = key_table.new_upsert()
        assert isinstance(older, fluss.UpsertWriter)
        await older.flush()  # nothing was written: done
        older.upsert({"id": 1, "name": "a", "age": 30})
        await older.flush()
        newer = older.create_writer()
        await newer.upsert([2, "b", 40]).wait()
        partial = older.partial_update_by_name(["name", "id", "age"]).create_writer()
        await partial.upsert(("a", 1, 31)).wait()
        found = key_table.new_lookup()
        assert isinstance(found, fluss.Lookuper)
        assert await found.lookup({"id": 1, "name": "a"}) == {"id": 1, "name": "a", "age": 31}
        lookup = found.create_lookuper()
        assert await lookup.lookup(("b", 2)) == {"id": 2, "name": "b", "age": 40}
        assert await lookup.lookup_many([("b", 2), ("z", 9)]) == [
            {"id": 2, "name": "b", "age": 40},
            None,
        ]
        await newer.delete(["b", 2]).wait()
        assert await lookup.lookup({"id": 2, "name": "b"}) is None
        assert (
            await asyncio.gather(*[lookup.lookup(("a", 1)) for _ in range(1000)])
            == [{"id": 1, "name": "a", "age": 31}] * 1000
        )

    run(main())


def test_older_form_of_a_partial_update(key_table):
    key_table.new_upsert().upsert([1, "a", 30]).wait().result(S_MAX)
    writer = key_table.new_upsert(column_indices=[0, 1, 2])
    writer.upsert({"id": 1, "name": "a"}).wait().result(S_MAX)
    assert key_table.new_lookup().lookup(("a", 1)).result(S_MAX)["age"] is None
    with pytest.raises(fluss.FlussError):
        key_table.new_upsert(columns=["id"], column_indices=[0])
    with pytest.raises(fluss.FlussError, match="Unknown column name"):
        key_table.new_upsert(columns=["nope"])
    with pytest.raises(fluss.FlussError, match="primary key"):
        key_table.new_upsert(columns=["id", "age"]).upsert((1, 2))


def test_key_dict_must_hold_the_key_and_nothing_else(key_table):
    lookup = key_table.new_lookup()
    with pytest.raises(fluss.FlussError, match="age"):
        lookup.lookup({"id": 1, "name": "a", "age": 1})
    with pytest.raises(fluss.FlussError, match="Missing value"):
        lookup.lookup({"id": 1})
    with pytest.raises(fluss.FlussError, match="append"):
        key_table.new_append()


def test_arrow_upserts_and_deletes(key_table):
    rows = [{"id": n, "name": "x", "age": n} for n in range(5)]
    batch = pa.RecordBatch.from_pylist(rows, schema=key_table.arrow_schema)
    writer = key_table.new_upsert().create_writer()
    writer.write_arrow_batch(batch).wait().result(S_MAX)
    writer.delete_arrow(batch.slice(0, 2)).wait().result(S_MAX)
    bucket = fluss.TableBucket(key_table.get_table_info().table_id, 0)
    scanner = key_table.new_scan().limit(10).create_bucket_batch_scanner(bucket)
    left = scanner.to_arrow()
    assert sorted(left["id"].to_pylist()) == [2, 3, 4]
    assert scanner.next_batch().result(S_MAX) is None  # spent


# --- administration ---


def test_arguments_of_create_database_in_both_orders(connection, database):
    admin = connection.get_admin()
    descriptor = fluss.DatabaseDescriptor("about", {"k": "v"})
    for n, arguments in enumerate([(descriptor, True), (True, descriptor), (descriptor,)]):
        name = f"{database}_{n}"
        admin.create_database(name, *arguments).result(S_MAX)
        info = admin.get_database_info(name).result(S_MAX)
        assert info.get_database_descriptor().comment == "about"
        assert info.get_database_descriptor().get_custom_properties() == {"k": "v"}
        admin.drop_database(name).result(S_MAX)


def test_forms_of_list_offsets(connection, log_table):
    fill(log_table)
    admin, path = connection.get_admin(), log_table.get_table_path()
    latest = fluss.OffsetSpec.latest()
    for found in (
        admin.list_offsets(path, [0], latest),
        admin.list_offsets(path, [0], "latest"),
        admin.list_offsets(path, [0], offset_spec=latest),
        admin.list_offsets(path, bucket_ids=[0], offset_type="LATEST"),
    ):
        assert found.result(S_MAX) == {0: 10}
    assert admin.list_offsets(path, [0], "timestamp", 5).result(S_MAX) == {0: 0}
    for call in (
        lambda: admin.list_offsets(path, [0]),
        lambda: admin.list_offsets(path, [0], latest, offset_type="latest"),
        lambda: admin.list_offsets(path, [0], "timestamp"),
        lambda: admin.list_offsets(path, [0], "sometime"),
        lambda: admin.list_offsets(path, [-1], latest),
        lambda: admin.list_offsets(path, [], latest),
    ):
        with pytest.raises(fluss.FlussError) as caught:
            call()
        assert caught.value.error_code == -2


def test_table_comes_back_as_it_was_described(connection, database):
    admin, path = connection.get_admin(), fluss.TablePath(database, "described")
    field = pa.field("id", pa.int32(), metadata={"comment": "a number"})
    schema = fluss.Schema(pa.schema([field, ("day", pa.string())]), primary_keys=["id", "day"])
    descriptor = fluss.TableDescriptor(
        schema,
        partition_keys=["day"],
        bucket_count=3,
        comment="about",
        kv_format="COMPACTED",
        custom_properties={"mine": 1},
    )
    admin.create_table(path, descriptor).result(S_MAX)
    info = admin.get_table_info(path).result(S_MAX)
    assert info.table_path == path and info.num_buckets == 3 and info.comment == "about"
    assert info.get_primary_keys() == ["id", "day"] and info.has_primary_key()
    assert info.get_partition_keys() == ["day"] and info.is_partitioned()
    assert info.get_bucket_keys() == ["id"]
    assert info.get_custom_properties() == {"mine": "1"}
    assert info.get_schema().get_column_comments() == ["a number", None]
    assert info.get_schema().get_columns() == [("id", "int NOT NULL"), ("day", "string NOT NULL")]
    admin.create_partition(path, {"day": "d1"}).result(S_MAX)
    found = admin.list_partition_infos(path).result(S_MAX)
    assert [partition.partition_name for partition in found] == ["d1"]
    assert admin.list_partition_infos(path, {"day": "d2"}).result(S_MAX) == []


# --- life ---


def test_closed_connection_refuses_work(servers, database):
    connection = fluss.FlussConnection.create(bootstrap_servers=servers).result(S_MAX)
    path = fluss.TablePath(database, "t")
    descriptor = fluss.TableDescriptor(fluss.Schema(LOG), bucket_count=1)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    writer = connection.get_table(path).result(S_MAX).new_append().create_writer()
    connection.close()
    connection.close()
    with pytest.raises(fluss.FlussError, match="writer is closed"):
        writer.append(ROWS[0])
    with pytest.raises(fluss.FlussError):
        connection.get_admin().list_databases().result(S_MAX)


def test_context_managers_close_and_keep_the_error_of_the_body(servers, run):
    async def main():
        config = fluss.Config({"bootstrap.servers": servers})
        with await fluss.FlussConnection.connect(config) as connection:
            await connection.get_admin().list_databases()
        with pytest.raises(fluss.FlussError):
            await connection.get_admin().list_databases()
        with pytest.raises(KeyError):
            async with await fluss.FlussConnection.create(config):
                raise KeyError("mine")

    run(main())


SCRIPTS = {
    "writes are sent though nobody closes": """
        writer = table.new_append().create_writer()
        writer.append({"id": 1, "name": "left"})
    """,
    "a poll is under way": """
        scanner = table.new_scan().create_log_scanner().result()
        scanner.subscribe(0, 0)
        poll = scanner.poll(100000)
    """,
    "a reader is alive": """
        scanner = table.new_scan().create_batch_scanner().result()
        scanner.subscribe(0, 0)
        reader = scanner.to_arrow_batch_reader()
    """,
    "a fork": """
        import os
        child = os.fork()
        if child == 0:
            try:
                connection.get_admin().list_databases().result(5)
            except fluss.FlussError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        table.new_append().create_writer().append({"id": 1, "name": "parent"}).wait().result(10)
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_program_ends_in_time_and_without_a_word(name, servers, log_table):
    path = log_table.get_table_path()
    head = f"""
        import fluss
        connection = fluss.FlussConnection.create(bootstrap_servers={servers!r}).result()
        table = connection.get_table(
            fluss.TablePath({path.database_name!r}, {path.table_name!r})
        ).result()
    """
    script = textwrap.dedent(head) + textwrap.dedent(SCRIPTS[name])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=S_MAX,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    if "writes" in name:
        assert poll_all(record_scanner(log_table), 1)[0].row == {"id": 1, "name": "left"}


def test_values_survive_pickling(log_table):
    fill(log_table, ROWS[:1])
    record = poll_all(record_scanner(log_table), 1)[0]
    copied = pickle.loads(pickle.dumps(record))
    assert (copied.offset, copied.row, copied.bucket) == (0, ROWS[0], record.bucket)
    bucket = fluss.TableBucket.with_partition(1, 2, 3)
    error = fluss.FlussError("x", 7)
    for value in (bucket, fluss.TablePath("a", "b"), fluss.OffsetSpec.timestamp(5)):
        assert pickle.loads(pickle.dumps(value)) == value
    assert pickle.loads(pickle.dumps(error)).error_code == 7
    config = fluss.Config({"security.sasl.password": "secret", "writer.acks": "1"})
    assert "secret" not in repr(config)
    assert pickle.loads(pickle.dumps(config)).security_sasl_password == ""


def test_public_classes_are_of_the_package():
    for name in fluss.__all__:
        value = getattr(fluss, name)
        if isinstance(value, type):
            assert value.__module__ == "fluss", name
    assert len(list(fluss.ChangeType)) == 5


def test_scan_reads_a_whole_table_into_any_library(log_table, run):
    fill(log_table)
    assert log_table.new_scan().to_arrow().to_pylist() == ROWS
    assert len(log_table.new_scan().project_by_name(["id"]).to_pandas()) == 10

    async def main():
        frame = await log_table.new_scan().to_polars()
        assert isinstance(frame, pl.DataFrame) and frame.height == 10

    run(main())


def test_finer_unit_than_the_columns_is_refused(connection, database):
    path = fluss.TablePath(database, "times")
    descriptor = fluss.TableDescriptor(fluss.Schema(pa.schema([("t", pa.timestamp("ms"))])))
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    writer = connection.get_table(path).result(S_MAX).new_append().create_writer()
    with pytest.raises(fluss.FlussError, match="but the table declares"):
        writer.write_arrow_batch(pa.record_batch({"t": pa.array([1], pa.timestamp("us"))}))
    writer.write_arrow_batch(pa.record_batch({"t": pa.array([1], pa.timestamp("s"))}))
    writer.flush().result(S_MAX)


def test_limit_scan_gives_its_rows_as_one_batch(log_table):
    fill(log_table)
    fill(log_table)
    bucket = fluss.TableBucket(log_table.get_table_info().table_id, 0)
    scanner = log_table.new_scan().limit(15).create_bucket_batch_scanner(bucket)
    batch = scanner.next_batch().result(S_MAX)
    assert batch.num_rows == batch.batch.num_rows == 15 and batch.bucket == bucket
    assert scanner.next_batch().result(S_MAX) is None
    assert len(scanner.to_arrow()) == 0


def test_filter_refuses_what_it_cannot_mean(log_table):
    for predicate, text in (
        (fluss.col("nope") == 1, "not found"),
        (fluss.col("id") == "abc", "does not match"),
        (fluss.col("id") == True, "does not match"),  # noqa: E712
    ):
        with pytest.raises(fluss.FlussError, match=text):
            log_table.new_scan().filter(predicate).create_log_scanner().result(S_MAX)
    with pytest.raises(TypeError, match="Unsupported filter literal"):
        fluss.col("id") == object()  # noqa: B015
    for use in (lambda: bool(fluss.col("id")), lambda: bool(fluss.col("id") == 1)):
        with pytest.raises(TypeError, match="no truth value"):
            use()
    fill(log_table)
    scan = log_table.new_scan().filter((fluss.col("id") > 3) & (fluss.col("id") <= 5), exact=True)
    scanner = scan.create_log_scanner().result(S_MAX)
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    assert [record.row["id"] for record in poll_all(scanner, 2)] == [4, 5]
