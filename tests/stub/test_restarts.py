# SPDX-License-Identifier: Apache-2.0
"""Our client while our server is killed and started again, in the middle of everything.

Goal and method: threads append, upsert, look up and follow while the server gets SIGKILL again and
again (KILLS times, more where FLUSS_TEST_FULL is set). No call fails; what was acknowledged is
there, once, in order; what is read never goes back.
"""

import collections
import threading
import time

import fluss
import pyarrow as pa
import pytest
from wire import Port, Server

from client import FULL, LIMIT_S

KILLS = 25 if FULL else 4
KEYS = 20


@pytest.fixture
def server(tmp_path):
    with Port() as port:
        options = ("--listen", port.address, "-o", "default.bucket.number=2")
        running = Server(tmp_path / "data", *options).start()
        yield running
        assert running.stop() == 0


class Threads:
    """Threads that work until told to stop; what they raise is kept."""

    def __init__(self, *bodies):
        self.is_over = threading.Event()
        self.errors = []
        self.threads = [threading.Thread(target=self._guard, args=(body,)) for body in bodies]
        for thread in self.threads:
            thread.start()

    def _guard(self, body):
        try:
            body(self.is_over)
        except Exception as error:
            self.errors.append(f"{body.__name__}: {error!r}")

    def finish(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(2 * LIMIT_S)
        assert not any(thread.is_alive() for thread in self.threads)
        assert self.errors == []


def kill_again_and_again(server, condition):
    """Kill and start; each time after `condition` has moved on, so that there is work between."""
    for _ in range(KILLS):
        before, until = condition(), time.monotonic() + LIMIT_S
        while condition() < before + 50:
            assert time.monotonic() < until, "no progress since the last start"
            time.sleep(0.01)
        server.kill()
        server.start()


def tables(connection):
    admin = connection.get_admin()
    made = []
    log = fluss.Schema(pa.schema([("id", pa.int32())]))
    fields = [("id", pa.int32()), ("value", pa.int64())]
    for name, schema in (("log", log), ("pk", fluss.Schema(pa.schema(fields), ["id"]))):
        path = fluss.TablePath("fluss", name)
        admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=2)).result(LIMIT_S)
        made.append(connection.get_table(path).result(LIMIT_S))
    return made


def test_kills_while_writing_reading_and_looking_up(server):
    config = fluss.Config({"bootstrap.servers": server.address})
    connection = fluss.FlussConnection.create(config).result(LIMIT_S)
    log, pk = tables(connection)
    acked, seen = collections.defaultdict(list), collections.defaultdict(list)
    values = {}

    def append(is_over):
        writer = log.new_append().create_writer()
        under_way, number = collections.deque(), 0
        while under_way or not is_over.is_set():
            if len(under_way) < 100 and not is_over.is_set():
                under_way.append((number, writer.append({"id": number})))
                number += 1
            else:
                i, handle = under_way.popleft()
                handle.wait().result(LIMIT_S)
                acked[handle.bucket.bucket_id].append(i)

    def upsert(is_over):
        writer, value = pk.new_upsert().create_writer(), 0
        while not is_over.is_set():
            key, value = value % KEYS, value + 1
            writer.upsert({"id": key, "value": value}).wait().result(LIMIT_S)
            values[key] = value

    def look_up(is_over):
        lookuper = pk.new_lookup().create_lookuper()
        while not is_over.is_set():
            for key in range(KEYS):
                known = values.get(key)
                row = lookuper.lookup({"id": key}).result(LIMIT_S)
                assert known is None or row["value"] >= known

    def follow(is_over):
        scanner = log.new_scan().create_log_scanner().result(LIMIT_S)
        for bucket in (0, 1):
            scanner.subscribe(bucket, fluss.EARLIEST_OFFSET)
        while True:
            for record in scanner.poll(100).result(LIMIT_S):
                assert record.offset == len(seen[record.bucket.bucket_id])
                seen[record.bucket.bucket_id].append(record.row["id"])
            counts = [len(seen[bucket]) >= len(acked[bucket]) for bucket in (0, 1)]
            if not appending.is_alive() and all(counts):
                return

    threads = Threads(append, upsert, look_up, follow)
    appending = threads.threads[0]
    kill_again_and_again(server, lambda: sum(map(len, acked.values())))
    threads.finish()
    assert dict(seen) == dict(acked)
    lookuper = pk.new_lookup().create_lookuper()
    for key, value in values.items():
        assert lookuper.lookup({"id": key}).result(LIMIT_S)["value"] >= value
    connection.close().result(LIMIT_S)


def test_kills_while_administering(server):
    """Reading calls are repeated; a call that may have had its effect says that it is not known."""
    config = fluss.Config({"bootstrap.servers": server.address})
    connection = fluss.FlussConnection.create(config).result(LIMIT_S)
    admin = connection.get_admin()
    count = 0

    def ask(is_over):
        nonlocal count
        while not is_over.is_set():
            assert "fluss" in admin.list_databases().result(LIMIT_S)
            count += 1

    made = []

    def make(is_over):
        number = 0
        while not is_over.is_set():
            number += 1
            try:
                admin.create_database(f"db{number}", None, True).result(LIMIT_S)
                made.append(f"db{number}")
            except fluss.FlussError as error:
                assert error.is_retriable, error

    threads = Threads(ask, make)
    kill_again_and_again(server, lambda: count)
    threads.finish()
    assert set(made) <= set(admin.list_databases().result(LIMIT_S))
    connection.close().result(LIMIT_S)
