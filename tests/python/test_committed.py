# SPDX-License-Identifier: Apache-2.0
"""Committed offsets: who starts anew goes on exactly where it was, no row twice and none lost.

Goal and method: each way of reading hands out some rows, commits, and is given up; another
connection goes on. All rows together must be the table. `FLUSS_BOOTSTRAP_SERVERS` runs the same
against another server.
"""

import asyncio
import logging
import os
import random
import subprocess
import sys
import textwrap
import threading
import time

import fluss
import pyarrow as pa
import pytest

S_MAX = 30
ID = pa.schema([("id", pa.int64())])
OFFSETS = "fluss_committed_offsets"


@pytest.fixture
def connect(servers):
    """Makes connections of small polls."""
    made = []

    def one(**settings):
        settings = {"bootstrap_servers": servers, "scanner_log_max_poll_records": 7, **settings}
        made.append(fluss.FlussConnection.create(**settings).result(S_MAX))
        return made[-1]

    yield one
    for connection in made:
        connection.close().result(S_MAX)


def make(connection, database, name="read", schema=ID, keys=None, **options):
    path = fluss.TablePath(database, name)
    descriptor = fluss.TableDescriptor(fluss.Schema(schema, keys), **{"bucket_count": 3, **options})
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


def fill(table, ids, **more):
    """Rows of a column id, a few in a batch."""
    ids, schema = list(ids), table.arrow_schema
    with table.new_append().create_writer() as writer:
        for start in range(0, len(ids), 4):
            part = ids[start : start + 4]
            rows = [{"id": n, **more} for n in part]
            writer.write_arrow_batch(pa.RecordBatch.from_pylist(rows, schema)).wait().result(S_MAX)


def scanner_of(connection, table, batches=False):
    path = table.get_table_path()
    scan = connection.get_table(path).result(S_MAX).new_scan()
    if batches:
        return scan.create_record_batch_log_scanner().result(S_MAX)
    return scan.create_log_scanner().result(S_MAX)


# --- ways to get some of the rows that are there ---


def by_poll(scanner):
    return [record.row["id"] for record in scanner.poll(2000)]


def by_iteration(scanner):
    return [next(scanner).row["id"] for _ in range(5)]


def by_async_iteration(scanner):
    async def some():
        found = []
        async for record in scanner:
            found.append(record.row["id"])
            if len(found) == 5:
                return found

    return asyncio.run(asyncio.wait_for(some(), S_MAX))


def by_changelog(scanner):
    return scanner.poll_changelog(2000)["id"].to_pylist()


def by_arrow(scanner):
    return scanner.poll_arrow(2000)["id"].to_pylist()


def by_batches(scanner):
    return next(scanner).batch["id"].to_pylist()


def by_bounded_read(scanner):
    return scanner.to_arrow()["id"].to_pylist()


def by_reader(scanner):
    reader = scanner.to_arrow_batch_reader()
    return reader.read_next_batch()["id"].to_pylist()


RECORDS = [by_poll, by_iteration, by_async_iteration, by_changelog]
BATCHES = [by_arrow, by_batches, by_bounded_read, by_reader]


@pytest.mark.parametrize("read", RECORDS + BATCHES)
def test_the_next_reader_goes_on_where_the_last_one_was(connect, connection, database, read):
    table = make(connection, database)
    fill(table, range(100))
    found = []
    while len(found) < 100:
        scanner = scanner_of(connect(), table, batches=read in BATCHES)
        scanner.subscribe_committed("job")
        some = read(scanner)
        assert some
        found += some
        kept = scanner.commit("job").result(S_MAX)
        assert scanner.committed("job") == kept
    assert sorted(found) == list(range(100))
    fill(table, range(100, 140))
    scanner = scanner_of(connect(), table, batches=True)
    scanner.subscribe_committed("job")
    assert sorted(scanner.to_arrow()["id"].to_pylist()) == list(range(100, 140))


def test_rows_that_were_not_handed_out_are_not_committed(connect, connection, database):
    table = make(connection, database, bucket_count=1)
    fill(table, range(40))
    scanner = scanner_of(connect(), table)
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    scanner.subscribe_all()
    assert len(scanner.poll(2000)) == 7
    ready = scanner.poll(2000)
    done = threading.Event()
    ready.add_done_callback(lambda _: done.set())
    assert ready.done() or done.wait(S_MAX)
    assert scanner.position(0) == 7
    assert scanner.commit("job").result(S_MAX) == {bucket: 7}
    assert len(ready) == 7
    assert scanner.commit("job").result(S_MAX) == {bucket: 14}
    dropped = scanner.poll(2000)
    dropped.cancel()
    assert scanner.commit("job").result(S_MAX) == {bucket: 14}
    assert next(scanner).offset == 14
    assert scanner.subscribed_buckets() == {bucket: 15}  # six more are held
    assert scanner.commit("job").result(S_MAX) == {bucket: 15}
    scanner.seek(0, 30)
    assert scanner.commit("job").result(S_MAX) == {bucket: 30}
    scanner.subscribe_all()
    assert scanner.commit("job").result(S_MAX) == {bucket: 0}


def test_a_poll_that_waits_is_not_committed(connect, connection, database):
    table = make(connection, database, bucket_count=1)
    scanner = scanner_of(connect(), table)
    scanner.subscribe_all()

    async def main():
        poll = scanner.poll(60_000)
        kept = await scanner.commit("job")
        assert list(kept.values()) == [0]
        await table.new_append().create_writer().append([1]).wait()
        assert [record.row["id"] for record in await poll] == [1]
        assert list((await scanner.commit("job")).values()) == [1]
        assert list((await scanner.committed("job")).values()) == [1]

    asyncio.run(asyncio.wait_for(main(), S_MAX))


@pytest.mark.parametrize("begun", [False, True])
def test_a_bounded_read_that_failed_is_not_committed(connect, connection, database, begun):
    table = make(connection, database, bucket_count=2)
    fill(table, range(40))
    scanner = scanner_of(connect(), table, batches=True)
    scanner.subscribe_all()
    first = next(scanner).batch["id"].to_pylist() if begun else []
    fill(table, range(40, 80))

    def fail(done, _total):
        if done:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        scanner.to_arrow(progress=fail).result(S_MAX)
    kept = scanner.commit("job").result(S_MAX)
    assert sum(kept.values()) == len(first)
    rest = scanner.to_arrow()["id"].to_pylist()
    assert sorted(first + rest) == list(range(80))


def test_a_commit_waits_for_the_read_before_it(connect, connection, database):
    table = make(connection, database, bucket_count=1)
    fill(table, range(40))
    scanner = scanner_of(connect(), table, batches=True)
    scanner.subscribe_all()
    go = threading.Event()
    table_read = scanner.to_arrow(progress=lambda *_: go.wait(S_MAX))
    commit = scanner.commit("job")
    assert not commit.done()
    go.set()
    assert list(commit.result(S_MAX).values()) == [40]
    assert len(table_read) == 40


def test_a_live_reader_refuses_commits(connect, connection, database):
    table = make(connection, database)
    fill(table, range(40))
    scanner = scanner_of(connect(), table, batches=True)
    scanner.subscribe_all()
    reader = scanner.to_arrow_batch_reader()
    with pytest.raises(fluss.FlussError, match="finish or drop it first"):
        scanner.commit("job")
    rows = reader.read_all().num_rows
    assert rows == 40
    assert sum(scanner.commit("job").result(S_MAX).values()) == 40


def test_partitions_come_and_go(connect, connection, database):
    schema = pa.schema([("id", pa.int64()), ("day", pa.string())])
    table = make(connection, database, schema=schema, partition_keys=["day"], bucket_count=2)
    admin, path = connection.get_admin(), table.get_table_path()
    scanner = scanner_of(connect(), table)
    scanner.subscribe_committed("job")
    assert scanner.commit("job").result(S_MAX) == {}
    for day in ("1", "2"):
        admin.create_partition(path, {"day": day}).result(S_MAX)
        fill(table, range(5), day=day)
    scanner.subscribe_new()
    assert len(poll_all(scanner, 10)) == 10
    kept = scanner.commit("job").result(S_MAX)
    assert sum(kept.values()) == 10 and len(kept) == 4
    admin.drop_partition(path, {"day": "1"}).result(S_MAX)
    admin.create_partition(path, {"day": "3"}).result(S_MAX)
    fill(table, range(5, 7), day="2")
    fill(table, range(5), day="3")
    scanner = scanner_of(connect(), table)
    scanner.subscribe_committed("job")
    found = [(record.row["day"], record.row["id"]) for record in poll_all(scanner, 7)]
    assert sorted(found) == [("2", 5), ("2", 6), *(("3", n) for n in range(5))]


def poll_all(scanner, count):
    found, until = [], time.monotonic() + S_MAX
    while len(found) < count and time.monotonic() < until:
        found += scanner.poll(500)
    return found


def test_a_table_that_was_made_again_has_no_offsets(connect, connection, database):
    table = make(connection, database)
    fill(table, range(10))
    scanner = scanner_of(connection, table)
    scanner.subscribe_all()
    assert len(poll_all(scanner, 10)) == 10
    scanner.commit("job").result(S_MAX)
    connection.get_admin().drop_table(table.get_table_path()).result(S_MAX)
    table = make(connection, database)
    fill(table, range(10))
    scanner = scanner_of(connect(), table)
    assert scanner.committed("job") == {}
    scanner.subscribe_committed("job")
    assert len(poll_all(scanner, 10)) == 10
    scanner.commit("job").result(S_MAX)
    scanner.delete_committed("job").result(S_MAX)
    store = connection.get_table(fluss.TablePath(database, OFFSETS)).result(S_MAX)
    assert store.to_arrow().num_rows == 0  # also of the dropped one


def test_names_are_apart_and_the_last_commit_wins(connect, connection, database):
    table = make(connection, database, bucket_count=1)
    fill(table, range(10))
    ours, theirs = scanner_of(connect(), table), scanner_of(connect(), table)
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    ours.commit("a", {0: 3}).result(S_MAX)
    theirs.commit("a", {bucket: 5}).result(S_MAX)
    ours.commit("b", {bucket: 8}).result(S_MAX)
    assert ours.committed("a") == theirs.committed("a") == {bucket: 5}
    assert theirs.committed("b").result(S_MAX) == {bucket: 8}
    for offset in range(10):  # not awaited: in order all the same
        ours.commit("a", {0: offset})
    assert ours.committed("a") == {bucket: 9}
    ours.delete_committed("a").result(S_MAX)
    assert theirs.committed("a") == {} and theirs.committed("b") == {bucket: 8}
    ours.delete_committed("never was").result(S_MAX)


def test_offsets_that_the_log_has_not(connect, connection, database, caplog):
    table = make(connection, database, bucket_count=2)
    fill(table, range(20))
    scanner = scanner_of(connect(), table)
    scanner.commit("job", {0: 10**6}).result(S_MAX)
    with caplog.at_level(logging.WARNING, "fluss.scanner"):
        scanner.subscribe_committed("job")
    assert "committed offset 1000000 is not in the log" in caplog.text
    assert set(scanner.subscribed_buckets().values()) == {fluss.EARLIEST_OFFSET}
    scanner.subscribe_committed("job", start_offset=fluss.LATEST_OFFSET)
    assert sum(scanner.subscribed_buckets().values()) == 20
    scanner.subscribe_committed("another", start_offset=fluss.OffsetSpec.timestamp(0))
    assert set(scanner.subscribed_buckets().values()) == {0}


def test_changelog_of_a_primary_key_table(connect, connection, database):
    table = make(connection, database, keys=["id"], bucket_count=1)
    with table.new_upsert().create_writer() as writer:
        for n in range(10):
            writer.upsert([n])
    scanner = scanner_of(connection, table)
    scanner.subscribe_committed("job")
    assert [next(scanner).row["id"] for _ in range(4)] == [0, 1, 2, 3]
    scanner.commit("job").result(S_MAX)
    scanner = scanner_of(connect(), table)
    scanner.subscribe_committed("job")
    assert [record.row["id"] for record in poll_all(scanner, 6)] == [4, 5, 6, 7, 8, 9]


def test_the_table_of_offsets(connect, connection, database):
    table = make(connection, database, bucket_count=2)
    admin, path = connection.get_admin(), fluss.TablePath(database, OFFSETS)
    scanner = scanner_of(connect(), table)
    assert scanner.committed("job") == {}
    assert not admin.table_exists(path).result(S_MAX)  # readers make nothing
    scanner.commit("job", {0: 3, 1: 4}).result(S_MAX)
    store = connection.get_table(path).result(S_MAX)
    rows = store.to_arrow().to_pylist()
    assert [(row["reader"], row["table_name"], row["log_offset"]) for row in rows] == [
        ("job", "read", 3),
        ("job", "read", 4),
    ]
    age_s = time.time() - rows[0]["committed_at"].timestamp()
    assert -60 < age_s < 60
    admin.drop_table(path).result(S_MAX)
    until = time.monotonic() + S_MAX
    while scanner.committed("job") and time.monotonic() < until:
        pass  # a cluster drops it in the background
    assert scanner.committed("job") == {}
    scanner.commit("job", {0: 5}).result(S_MAX)  # made again
    assert list(scanner.committed("job").values()) == [5]
    admin.drop_table(path).result(S_MAX)
    make(connection, database, OFFSETS, keys=["id"])
    scanner = scanner_of(connect(), table)
    for call in (lambda: scanner.commit("job", {0: 1}), lambda: scanner.committed("job")):
        with pytest.raises(fluss.FlussError, match="is no table of committed offsets"):
            call().result(S_MAX)


def test_many_buckets_are_one_commit(connect, connection, database):
    schema = pa.schema([("id", pa.int64()), ("day", pa.string())])
    table = make(connection, database, schema=schema, partition_keys=["day"], bucket_count=50)
    admin = connection.get_admin()
    for day in range(4):
        admin.create_partition(table.get_table_path(), {"day": f"d{day}"}).result(S_MAX)
    scanner = scanner_of(connect(), table)
    scanner.subscribe_all()
    kept = scanner.commit("job").result(S_MAX)
    assert len(kept) == 200 and set(kept.values()) == {0}
    store = connection.get_table(fluss.TablePath(database, OFFSETS)).result(S_MAX)
    assert len(set(store.to_arrow()["committed_at"].to_pylist())) == 1
    scanner.subscribe_committed("job")
    assert scanner.subscribed_buckets() == kept


@pytest.mark.parametrize("name", [None, 5, b"job", ["job"]])
def test_names_that_are_none(connect, connection, database, name):
    scanner = scanner_of(connection, make(connection, database))
    calls = ("commit", "committed", "subscribe_committed", "delete_committed")
    for call in calls:
        with pytest.raises(TypeError, match="name must be str"):
            getattr(scanner, call)(name)
        with pytest.raises(fluss.FlussError, match="name must not be empty"):
            getattr(scanner, call)("")


def test_offsets_that_are_none(connection, database):
    scanner = scanner_of(connection, make(connection, database))
    bad = [
        ({0: -1}, fluss.FlussError, "must not be negative"),
        ({0: 2**63}, OverflowError, "64 bits"),
        ({0: "1"}, TypeError, "must be int"),
        ({"0": 1}, TypeError, "offsets key must be int"),
        ({3: 1}, fluss.FlussError, "bucket id 3 is out of range"),
        ({fluss.TableBucket(10**9, 0): 1}, fluss.FlussError, "is not of table"),
        ([1], TypeError, "offsets must be a dict"),
    ]
    for offsets, kind, text in bad:
        with pytest.raises(kind, match=text):
            scanner.commit("job", offsets)
    with pytest.raises(TypeError, match="start_offset must be int"):
        scanner.subscribe_committed("job", start_offset="0")
    scanner.close()
    with pytest.raises(fluss.FlussError, match="closed"):
        scanner.commit("job")


def test_rights_that_are_missing_are_named(tmp_path):
    users = {"admin": "admin-secret", "alice": "alice-secret"}
    settings = {
        "bind.listeners": "FLUSS://127.0.0.1:0,SASL://127.0.0.1:0",
        "security.protocol.map": "SASL:SASL",
        "security.sasl.plain.credentials": ",".join(":".join(user) for user in users.items()),
        "authorizer.enabled": True,
        "super.users": "User:admin",
    }
    with fluss.Server(tmp_path, settings=settings) as server:
        who = {
            name: fluss.FlussConnection.create(
                bootstrap_servers=server.sasl_bootstrap_servers,
                security_protocol="sasl",
                security_sasl_username=name,
                security_sasl_password=password,
            ).result(S_MAX)
            for name, password in users.items()
        }
        admin = who["admin"].get_admin()

        def allow(kind, resource, operation):
            acl = {"resource_type": kind, "resource": resource, "principal": "alice"}
            admin.create_acls([{**acl, "operation": operation}]).result(S_MAX)

        admin.create_database("d").result(S_MAX)
        table = make(who["admin"], "d")
        allow("TABLE", "d.read", "READ")
        scanner = scanner_of(who["alice"], table)
        steps = [None, ("DATABASE", "d", "CREATE"), ("TABLE", f"d.{OFFSETS}", "WRITE")]
        for step in steps:
            if step is not None:
                allow(*step)
            with pytest.raises(fluss.FlussError) as told:
                scanner.commit("job", {0: 1}).result(S_MAX)
                scanner.committed("job").result(S_MAX)
            assert told.value.error_code == fluss.ErrorCode.AUTHORIZATION_EXCEPTION
            assert "committing needs READ and WRITE on d.fluss_comm" in told.value.message
        allow("TABLE", f"d.{OFFSETS}", "READ")
        scanner.commit("job", {0: 1}).result(S_MAX)
        assert list(scanner.committed("job").values()) == [1]
        for connection in who.values():
            connection.close().result(S_MAX)


def test_a_killed_reader_lost_nothing(servers, connect, connection, database):
    table = make(connection, database, bucket_count=2)
    total = 200
    fill(table, range(total))
    program = """
        import sys, fluss
        conn = fluss.FlussConnection.create(
            bootstrap_servers=sys.argv[1], scanner_log_max_poll_records=7).result()
        table = conn.get_table(fluss.TablePath(sys.argv[2], "read")).result()
        scanner = table.new_scan().create_log_scanner().result()
        scanner.subscribe_committed("job")
        while True:
            for record in scanner.poll(1000):
                print(record.row["id"])
            kept = scanner.commit("job").result()
            print("kept", sum(kept.values()), flush=True)
    """
    seed = int(os.environ.get("FLUSS_TEST_SEED", "20261130"))
    chance, found, kept = random.Random(seed), [], 0
    while kept < total:
        reader = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program), servers, database],
            stdout=subprocess.PIPE,
            text=True,
        )
        pending, commits = [], chance.randrange(8, 20)
        for line in reader.stdout:
            if line.startswith("kept"):
                kept = int(line.split()[1])
                found += pending
                pending = []
                commits -= 1
                if commits <= 0 or kept == total:
                    break
            else:
                pending.append(int(line))
        reader.kill()
        rest = reader.stdout.read().splitlines()
        reader.wait()
        # A commit that was made and not seen counts with the rows before it.
        for line in rest:
            if line.startswith("kept"):
                kept, pending = int(line.split()[1]), found.extend(pending) or []
            elif line.isdigit():
                pending.append(int(line))
        now = scanner_of(connection, table).committed("job").result(S_MAX)
        if sum(now.values()) > kept:  # made, not told
            kept = sum(now.values())
            found += pending[: kept - len(found)]
    assert sorted(found) == list(range(total)), f"seed {seed}"
