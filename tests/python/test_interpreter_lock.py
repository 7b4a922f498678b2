# SPDX-License-Identifier: Apache-2.0
"""No call holds the interpreter while it waits or copies rows.

Calls that wait: the server is halted, and goes on only after another thread has had its turns in
the interpreter, which it gets when the waiting call leaves it and not before. Calls that copy: the
switch interval is a minute, so another thread gets a turn only where a call hands over."""

import contextlib
import subprocess
import sys
import threading
import time

import fluss
import numpy as np
import pyarrow as pa
import pytest
from server_process import server_process

CALL_S_MAX = 60
RESCUE_S = 30  # then a server that was halted goes on whatever happened
TURNS = 200
SWITCH_S = 60
ATTEMPTS = 20
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
ROWS = 1000


def wait(future):
    return future.result(CALL_S_MAX)


def make_rows(count, kind=None):
    kind = kind or pa.string()
    text = pa.array(["0123456789abcdef"] * count, kind)
    return pa.record_batch([pa.array(np.arange(count)), text], names=["id", "text"])


@contextlib.contextmanager
def no_switching():
    """Nobody is asked to hand the interpreter over."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class Turns(threading.Thread):
    """Takes turns in the interpreter from `begin` on; then calls `then`."""

    def __init__(self, then):
        super().__init__(daemon=True)
        self._then = then
        self.begin = threading.Event()
        self.are_over = False

    def run(self):
        self.begin.wait()
        for _ in range(TURNS):
            time.sleep(0)  # offers the interpreter to the other thread each time
        self.are_over = True
        self._then()


class World:
    """Tables with rows on a server in a process of its own, and the calls that wait for it."""

    def __init__(self, server):
        self.server = server
        # Not so much as a thousand rows of a kilobyte wait in the buffer.
        self.settings = {
            "bootstrap_servers": server.address,
            "writer_buffer_memory_size": 1 << 20,
            "writer_batch_size": 1 << 18,
        }
        self.connection = wait(fluss.FlussConnection.create(**self.settings))
        self.admin = self.connection.get_admin()
        self.log = self._table("waits_log", None)
        self.keyed = self._table("waits_keyed", ["id", "text"], bucket_keys=["id"])
        self.parts = self._table("waits_parts", None, partition_keys=["text"])
        wait(self.admin.create_partition(self.parts.get_table_path(), {"text": "one"}))
        [self.part] = wait(self.admin.list_partition_infos(self.parts.get_table_path()))
        self.rows = make_rows(ROWS)
        self.appender = self.log.new_append().create_writer()
        self.upserter = self.keyed.new_upsert().create_writer()
        self.appender.write_arrow_batch(self.rows)
        self.upserter.write_arrow_batch(self.rows)
        wait(self.appender.flush())
        wait(self.upserter.flush())
        self.lookuper = self.keyed.new_lookup().create_lookuper()
        self.prefixes = self.keyed.new_lookup().lookup_by(["id"]).create_lookuper()
        self.turns = None

    def _table(self, name, keys, **more):
        path = fluss.TablePath("fluss", name)
        schema = fluss.Schema(SCHEMA, primary_keys=keys)
        described = fluss.TableDescriptor(schema, bucket_count=1, **more)
        wait(self.admin.create_table(path, described))
        return wait(self.connection.get_table(path))

    def records(self):
        scanner = wait(self.log.new_scan().create_log_scanner())
        scanner.subscribe_all()
        return scanner

    def batches(self):
        scanner = wait(self.log.new_scan().create_record_batch_log_scanner())
        scanner.subscribe_all()
        return scanner

    def bucket(self, table):
        bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
        return table.new_scan().limit(5).create_bucket_batch_scanner(bucket)

    def until_full(self, write):
        """Write until the buffer is full, and room in it comes of the server alone."""
        for _ in range(100_000):
            if self.turns is None or self.turns.are_over:
                return
            write()

    def another(self):
        return wait(fluss.FlussConnection.create(**self.settings))

    def await_in_a_loop(self):
        import asyncio

        async def main():
            await self.admin.list_databases()

        asyncio.run(main())

    def iterate(self):
        for _ in self.records():
            return

    def close_with_rows(self):
        wait(self.closing.close())

    def write_to_another(self):
        self.closing = self.another()
        table = wait(self.closing.get_table(self.log.get_table_path()))
        self.closing_writer = table.new_append().create_writer()


TIMED = fluss.OffsetSpec.timestamp(0)
KEYS = [[1, "0123456789abcdef"], [2, "0123456789abcdef"]]
WAITS = {
    "connect": lambda w: w.another(),
    "get_table": lambda w: wait(w.connection.get_table(w.log.get_table_path())),
    "admin call": lambda w: wait(w.admin.list_databases()),
    "admin call of the leader": lambda w: wait(
        w.admin.list_offsets(w.log.get_table_path(), [0], fluss.OffsetSpec.latest())
    ),
    "exception": lambda w: w.admin.list_databases().exception(CALL_S_MAX),
    "await": lambda w: w.await_in_a_loop(),
    "append": lambda w: w.until_full(lambda: w.appender.append([1, "x" * 1000])),
    "upsert": lambda w: w.until_full(lambda: w.upserter.upsert([1, "x" * 1000])),
    "delete": lambda w: w.until_full(lambda: w.upserter.delete([1, "x" * 1000])),
    "write_arrow": lambda w: w.until_full(
        lambda: w.appender.write_arrow(pa.Table.from_batches([w.rows]))
    ),
    "write_arrow_batch": lambda w: w.until_full(lambda: w.appender.write_arrow_batch(w.rows)),
    "write_pandas": lambda w: w.until_full(lambda: w.appender.write_pandas(w.rows.to_pandas())),
    "upsert of a batch": lambda w: w.until_full(lambda: w.upserter.write_arrow_batch(w.rows)),
    "delete_arrow": lambda w: w.until_full(lambda: w.upserter.delete_arrow(w.rows)),
    "wait of a row": lambda w: wait(w.appender.append([1, "x"]).wait()),
    "wait of a batch": lambda w: wait(w.appender.write_arrow_batch(w.rows).wait()),
    "flush": lambda w: (w.appender.append([1, "x"]), wait(w.appender.flush())),
    "poll": lambda w: len(w.records().poll(60_000)),
    "result of a poll": lambda w: wait(w.records().poll(60_000)),
    "for record in scanner": lambda w: w.iterate(),
    "poll_record_batch": lambda w: len(w.batches().poll_record_batch(60_000)),
    "poll_batches": lambda w: len(w.batches().poll_batches(60_000)),
    "poll_arrow": lambda w: w.batches().poll_arrow(60_000).num_rows,
    "poll_changelog": lambda w: w.records().poll_changelog(60_000).num_rows,
    "to_arrow": lambda w: w.log.to_arrow().num_rows,
    "to_pandas": lambda w: len(w.log.to_pandas()),
    "to_polars": lambda w: wait(w.log.to_polars()),
    "to_arrow of a keyed table": lambda w: w.keyed.to_arrow().num_rows,
    "to_arrow of a scan": lambda w: w.log.new_scan().to_arrow().num_rows,
    "to_arrow of a scanner": lambda w: w.batches().to_arrow().num_rows,
    "to_arrow_batch_reader": lambda w: w.batches().to_arrow_batch_reader().read_all(),
    "stream of a table": lambda w: pa.table(w.log),
    "changelog_to_arrow": lambda w: w.keyed.new_scan().changelog_to_arrow().num_rows,
    "create_log_scanner of a partitioned table": lambda w: wait(
        w.parts.new_scan().create_log_scanner()
    ).subscribe_all(),
    "subscribe_new": lambda w: wait(w.parts.new_scan().create_log_scanner()).subscribe_new(),
    "subscribe at a time": lambda w: wait(w.log.new_scan().create_log_scanner()).subscribe(
        0, TIMED
    ),
    "subscribe_all at a time": lambda w: wait(w.log.new_scan().create_log_scanner()).subscribe_all(
        TIMED
    ),
    "subscribe_partition at a time": lambda w: wait(
        w.parts.new_scan().create_log_scanner()
    ).subscribe_partition(w.part.partition_id, 0, TIMED),
    "seek to a time": lambda w: w.records().seek(0, TIMED),
    "next_batch": lambda w: wait(w.bucket(w.keyed).next_batch()),
    "collect_all_batches": lambda w: wait(w.bucket(w.log).collect_all_batches()),
    "to_arrow of a bucket": lambda w: w.bucket(w.keyed).to_arrow().num_rows,
    "lookup": lambda w: wait(w.lookuper.lookup(KEYS[0])),
    "lookup_many": lambda w: wait(w.lookuper.lookup_many(KEYS)),
    "lookup_arrow": lambda w: wait(w.lookuper.lookup_arrow(KEYS)),
    "lookup by prefix": lambda w: wait(w.prefixes.lookup([1])),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with server_process(tmp_path_factory.mktemp("lock") / "data") as server:
        made = World(server)
        yield made
        wait(made.connection.close())


@contextlib.contextmanager
def turns_before_the_server_goes_on(world):
    """Halts the server; another thread's turns are what it waits for. One that never gets them
    would keep both for ever, therefore a process apart lets the server go on after a while."""
    turns = world.turns = Turns(world.server.go_on)
    turns.start()
    rescue = subprocess.Popen(["sh", "-c", f"sleep {RESCUE_S}; kill -CONT {world.server.pid}"])
    world.server.halt()
    try:
        with no_switching():
            turns.begin.set()
            yield
            were_over = turns.are_over
    finally:
        rescue.terminate()
        rescue.wait()
        turns.join()
        world.turns = None
    assert were_over, "the call ended before another thread had its turns"


@pytest.mark.parametrize("name", WAITS)
def test_others_run_during(name, world):
    WAITS[name](world)  # imports and caches are filled
    with turns_before_the_server_goes_on(world):
        WAITS[name](world)
    wait(world.appender.flush())
    wait(world.upserter.flush())


def test_others_run_while_a_close_waits_for_rows(world):
    closing = world.another()
    table = wait(closing.get_table(world.log.get_table_path()))
    writer = table.new_append().create_writer()
    with turns_before_the_server_goes_on(world):
        writer.append([1, "x"])
        wait(closing.close())


def test_making_objects_waits_for_nobody(world):
    """What needs no answer of the server is there at once, halted as it may be."""
    world.server.halt()
    try:
        for table in (world.log, world.keyed):
            table.new_scan().project([0])
            table.get_table_info()
        world.log.new_append().create_writer()
        world.keyed.new_upsert().create_writer()
        world.keyed.new_lookup().create_lookuper()
        scanner = wait(world.log.new_scan().create_log_scanner())
        scanner.subscribe(0, 5)
        assert scanner.position(0) == 5
        scanner.seek(0, 7)
        assert list(scanner.subscribed_buckets().values()) == [7]
        scanner.unsubscribe(0)
        scanner.close()
        world.connection.metrics()
    finally:
        world.server.go_on()


# --- servers ---


class Counter(threading.Thread):
    """Counts while it can."""

    def __init__(self):
        super().__init__(daemon=True)
        self.is_over = False
        self.started = threading.Event()
        self.count = 0

    def run(self):
        self.started.set()
        while not self.is_over:
            self.count += 1
            time.sleep(0)

    def __enter__(self):
        self.start()
        self.started.wait()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.join()


def turns_during(call):
    """How often a thread that counts gets on during a call that alone hands nothing over."""
    with Counter() as counter, no_switching():
        before = counter.count
        call()
        return counter.count - before


def turns_of(calls, enough):
    """The most turns during each of some calls, which are so long that a thread that waits for them
    would be seen; unless others have the processor meanwhile, so a few attempts are made."""
    most = dict.fromkeys(calls, 0)
    for _ in range(ATTEMPTS):
        for name, call in calls.items():
            most[name] = max(most[name], turns_during(call))
        if min(most.values()) >= enough:
            break
    return most


def test_servers_let_others_run(tmp_path):
    wait(fluss.FlussConnection.create(bootstrap_servers=f"embedded:{tmp_path / 'warm'}")).close()
    made = {}

    def connect():
        made["connection"] = wait(
            fluss.FlussConnection.create(bootstrap_servers=f"embedded:{tmp_path / 'one'}")
        )

    steps = {
        "start": lambda: made.update(server=fluss.Server(tmp_path / "two")),
        "close": lambda: made.pop("server").close(),
        "connect to an embedded one": connect,
        "close the last connection to it": lambda: wait(made.pop("connection").close()),
    }
    turns = turns_of(steps, 11)
    assert min(turns.values()) > 10, turns


# --- copies ---


@pytest.fixture(scope="module")
def copies(servers):
    connection = wait(fluss.FlussConnection.create(bootstrap_servers=servers))
    admin = connection.get_admin()
    database = f"copies_{time.time_ns()}"
    wait(admin.create_database(database))

    def make(name, keys, buckets):
        path = fluss.TablePath(database, name)
        described = fluss.TableDescriptor(
            fluss.Schema(SCHEMA, primary_keys=keys),
            bucket_count=buckets,
            bucket_keys=["id"] if buckets > 1 else None,
        )
        wait(admin.create_table(path, described))
        return wait(connection.get_table(path))

    yield {
        "log": make("log", None, 1),
        "split": make("split", None, 4),
        "keyed": make("keyed", ["id"], 1),
    }
    wait(admin.drop_database(database, True, True))
    wait(connection.close())


COPIES = {  # table, rows, deletes
    "append": ("log", 400_000, False),
    "append by bucket": ("split", 200_000, False),
    "upsert": ("keyed", 20_000, False),
    "delete": ("keyed", 20_000, True),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_let_others_run(name, copies):
    table, count, deletes = COPIES[name]
    table = copies[table]
    writer = (table.new_upsert() if table.has_primary_key() else table.new_append()).create_writer()
    rows = writer._check(make_rows(count), deletes)
    turns = turns_of({name: lambda: writer._write(rows)}, 1)
    wait(writer.flush())
    assert turns[name] > 0


def test_conversions_let_others_run(copies):
    writer = copies["log"].new_append().create_writer()
    rows = make_rows(400_000, pa.dictionary(pa.int32(), pa.string()))
    assert turns_of({"check": lambda: writer._check(rows, False)}, 1)["check"] > 0
