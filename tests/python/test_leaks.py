# SPDX-License-Identifier: Apache-2.0
"""No operation leaks a reference or memory.

Each kind of operation runs in equal rounds. Between them, after a collection of garbage, are
counted: the blocks of Python's allocator, objects that the collector knows, references to objects
that every operation uses, and, where rounds are long enough for it to tell, resident memory. What
grows with each operation shows as a slope. $FLUSS_LEAK_OPERATIONS is the count of operations of a
kind, 1,000,000 for a thorough run."""

import asyncio
import contextlib
import gc
import os
import sys

import fluss
import pyarrow as pa
import pytest
from fluss import _core

OPERATIONS = int(os.environ.get("FLUSS_LEAK_OPERATIONS", "2000"))
ROUNDS = 5
CALL_S_MAX = 120
CACHED_MAX = 250  # what caches of the interpreter may still gain, however many operations
GROUP = 200
RSS_MATTERS_FROM = 100_000
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


class World:
    """Tables, writers and scanners for the operations."""

    def __init__(self, connection, database):
        self.admin = connection.get_admin()
        self.connection = connection
        log = self._table(database, "leak_log", None)
        keyed = self._table(database, "leak_keyed", ["id"])
        self.appender = log.new_append().create_writer()
        self.upserter = keyed.new_upsert().create_writer()
        self.lookuper = keyed.new_lookup().create_lookuper()
        self.row = pa.record_batch([pa.array([1]), pa.array(["x"])], schema=SCHEMA)
        self.appender.append([1, "x" * 100])
        self.upserter.upsert([1, "x"])
        self.appender.flush().result(CALL_S_MAX)
        self.upserter.flush().result(CALL_S_MAX)
        self.records = log.new_scan().create_log_scanner().result()
        self.records.subscribe_all()
        self.batches = log.new_scan().create_record_batch_log_scanner().result()
        self.batches.subscribe_all()
        self.batch = self.batches.poll_record_batch(20_000).result()[0]
        self.path = log.get_table_path()

    def _table(self, database, name, keys):
        path = fluss.TablePath(database, name)
        schema = fluss.Schema(SCHEMA, primary_keys=keys)
        description = fluss.TableDescriptor(schema, bucket_count=1)
        self.admin.create_table(path, description).result(CALL_S_MAX)
        return self.connection.get_table(path).result(CALL_S_MAX)

    # Each does `count` operations.

    def append(self, count):
        for i in range(count):
            self.appender.append({"id": i, "text": "x"})
        self.appender.flush().result(CALL_S_MAX)

    def append_and_wait(self, count):
        async def main():
            for _ in range(count // GROUP):
                await asyncio.gather(*[self.appender.append([i, "x"]).wait() for i in range(GROUP)])

        asyncio.run(main())

    def upsert(self, count):
        for i in range(count):
            self.upserter.upsert([i % 1000, "x"])
        self.upserter.flush().result(CALL_S_MAX)

    def delete(self, count):
        for i in range(count):
            self.upserter.delete([2 + i % 1000])
        self.upserter.flush().result(CALL_S_MAX)

    def lookup(self, count):
        for _ in range(count // GROUP):
            for future in [self.lookuper.lookup([i % 3]) for i in range(GROUP)]:
                future.result(CALL_S_MAX)

    def poll(self, count):
        for _ in range(count):
            self.records.poll(0).result()

    def admin_call(self, count):
        async def main():
            for _ in range(count // GROUP):
                await asyncio.gather(*[self.admin.database_exists("x") for _ in range(GROUP)])

        asyncio.run(main())

    def future_await(self, count):
        async def main():
            for _ in range(count):
                future = _core.promise(fluss.FlussFuture)
                fluss.FlussFuture._set_result(future, 1)
                await future

        asyncio.run(main())

    def future_result(self, count):
        for _ in range(count):
            future = _core.promise(fluss.FlussFuture)
            fluss.FlussFuture._set_result(future, (1, 2))
            future.result()
            future.exception()

    def future_cancel(self, count):
        async def main():
            for _ in range(count):
                waiting = self.records.poll(60_000)
                waiting.add_done_callback(lambda ended: None)
                waiting.cancel()

        asyncio.run(main())

    def arrow_export(self, count):
        for _ in range(count):
            self.batch.__arrow_c_array__()

    def arrow_import(self, count):
        for i in range(count):
            self.appender.write_arrow_batch(self.row)
            if i % 10_000 == 9_999:
                self.appender.flush().result(CALL_S_MAX)
        self.appender.flush().result(CALL_S_MAX)

    def pyarrow_and_back(self, count):
        for _ in range(count):
            pa.record_batch(self.batch)

    def errors(self, count):
        for _ in range(count):
            with contextlib.suppress(fluss.FlussError):
                self.appender.append(["not a number", "x"])
            with contextlib.suppress(fluss.FlussError):
                self.upserter.delete([1, 2, 3])

    def remote_errors(self, count):
        missing = fluss.TablePath("no_such_database", "no_such_table")
        for _ in range(count // GROUP):
            for future in [self.admin.get_table_info(missing) for _ in range(GROUP)]:
                assert future.exception(CALL_S_MAX).error_code != 0


KINDS = [name for name in vars(World) if not name.startswith("_")]


@pytest.fixture(scope="module")
def world(servers):
    connection = fluss.FlussConnection.create(bootstrap_servers=servers).result(CALL_S_MAX)
    database = f"leaks_{os.getpid()}"
    admin = connection.get_admin()
    admin.create_database(database).result(CALL_S_MAX)
    yield World(connection, database)
    admin.drop_database(database, True, True).result(CALL_S_MAX)
    connection.close().result(CALL_S_MAX)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure():
    gc.collect()
    shared = [None, True, False, fluss.FlussFuture, fluss.WriteResultHandle, fluss.ScanRecords]
    return {
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "references": sum(sys.getrefcount(one) for one in shared),
        "resident bytes": resident_bytes(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_leaks_nothing(kind, world):
    count = max(OPERATIONS // ROUNDS // GROUP, 1) * GROUP
    operate = getattr(world, kind)
    operate(count)  # caches fill
    operate(GROUP)
    found = [measure()]
    for _ in range(ROUNDS):
        operate(count)
        found.append(measure())
    for what, limit in [("blocks", 0.05), ("objects", 0.02), ("references", 0.05)]:
        series = [one[what] for one in found]
        growth = series[-1] - series[1]
        most = CACHED_MAX + limit * count * (ROUNDS - 1)
        assert growth < most, f"{growth} more {what}, expected below {most:.0f}: {series}"
    if count * ROUNDS >= RSS_MATTERS_FROM:
        series = [one["resident bytes"] for one in found]
        slope = (series[-1] - series[2]) / (count * (ROUNDS - 2))
        print(f"{kind}: {slope:.2f} resident bytes an operation, {series[-1] >> 20} MiB")
        assert slope < 16, f"resident memory grows by {slope:.1f} bytes an operation: {series}"
