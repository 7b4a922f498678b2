# SPDX-License-Identifier: Apache-2.0
"""No thread is left of what has ended: connections, servers, calls, loops, failures.

Some cases run once before, since they start threads that belong to the process and stay: the pools
of libuv and of RocksDB. After that, each case ends with as many threads as it began with."""

import asyncio
import contextlib
import gc
import os
import socket
import threading
import time

import fluss
import pyarrow as pa
import pytest
from server_process import server_process

CALL_S_MAX = 60
END_S_MAX = 30
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


def connecting(address, timeout_ms=30_000, **more):
    return fluss.FlussConnection.create(
        fluss.Config(
            {
                "bootstrap.servers": address,
                "connect-timeout": timeout_ms,
                "request-timeout": timeout_ms,
                **more,
            }
        )
    )


def connect(address, timeout_ms=30_000):
    return connecting(address, timeout_ms).result(CALL_S_MAX)


def assert_fails(address, **more):
    assert connecting(address, 500, **more).exception(CALL_S_MAX) is not None


@contextlib.contextmanager
def silent_peer():
    """The address of one that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield f"127.0.0.1:{silent.getsockname()[1]}"


def make_table(connection, keys=None):
    path = fluss.TablePath("fluss", f"threads_{time.time_ns()}")
    described = fluss.TableDescriptor(fluss.Schema(SCHEMA, primary_keys=keys), bucket_count=2)
    connection.get_admin().create_table(path, described).result(CALL_S_MAX)
    return connection.get_table(path).result(CALL_S_MAX)


def scanner_of(table, batches=False):
    scan = table.new_scan()
    made = scan.create_record_batch_log_scanner() if batches else scan.create_log_scanner()
    scanner = made.result(CALL_S_MAX)
    scanner.subscribe_all()
    return scanner


def close(connection):
    connection.close().result(CALL_S_MAX)


# --- cases ---


def closed_at_once(address, folder):
    close(connect(address))


def several_at_once(address, folder):
    connections = [connect(address) for _ in range(5)]
    for connection in connections:
        connection.get_admin().list_databases().result(CALL_S_MAX)
    for closing in [connection.close() for connection in connections]:
        closing.result(CALL_S_MAX)


def everything_used(address, folder):
    with connect(address) as connection:
        log, keyed = make_table(connection), make_table(connection, ["id"])
        appender, upserter = log.new_append().create_writer(), keyed.new_upsert().create_writer()
        for i in range(100):
            appender.append([i, "x"])
            upserter.upsert([i, "x"])
        appender.flush().result(CALL_S_MAX)
        upserter.flush().result(CALL_S_MAX)
        assert len(scanner_of(log).poll(10_000)) > 0
        assert scanner_of(log, batches=True).poll_arrow(10_000).num_rows > 0
        assert keyed.to_arrow().num_rows == log.to_arrow().num_rows == 100
        lookup = keyed.new_lookup().create_lookuper()
        assert lookup.lookup([1]).result(CALL_S_MAX)["text"] == "x"
        assert lookup.lookup_arrow([[1], [2]]).result(CALL_S_MAX).num_rows == 2
        bucket = fluss.TableBucket(log.get_table_info().table_id, 0)
        scan = log.new_scan().limit(3).create_bucket_batch_scanner(bucket)
        scan.collect_all_batches().result(CALL_S_MAX)


def closed_with_calls_under_way(address, folder):
    connection = connect(address)
    table = make_table(connection)
    writer = table.new_append().create_writer()
    polls = [scanner_of(table).poll(60_000) for _ in range(3)]
    reading = table.to_arrow()
    for i in range(1000):
        writer.append([i, "x"])
    connection.get_admin().list_databases()
    close(connection)
    for poll in polls:
        with contextlib.suppress(fluss.FlussError):
            poll.result(CALL_S_MAX)
    with contextlib.suppress(fluss.FlussError):
        reading.result(CALL_S_MAX)


def never_closed(address, folder):
    connection = connect(address)
    table = make_table(connection)
    table.new_append().create_writer().append([1, "x"])
    scanner_of(table).poll(60_000)


def half_read(address, folder):
    with connect(address) as connection:
        table = make_table(connection)
        with table.new_append().create_writer() as writer:
            writer.append([1, "x"])
        reader = scanner_of(table, batches=True).to_arrow_batch_reader()
        reader.read_next_batch()
        scanner = scanner_of(table)
        next(iter(scanner))


def cancelled(address, folder):
    with connect(address) as connection:
        table = make_table(connection)

        async def main():
            scanner = scanner_of(table)
            for _ in range(5):
                waiting = asyncio.ensure_future(asyncio.wait_for(scanner.poll(60_000), 0.01))
                with contextlib.suppress(asyncio.TimeoutError):
                    await waiting
            connection.get_admin().list_databases().cancel()

        asyncio.run(main())


def callbacks_without_a_loop(address, folder):
    with connect(address) as connection:
        told = threading.Event()
        connection.get_admin().list_databases().add_done_callback(lambda ended: told.set())
        assert told.wait(CALL_S_MAX)


def loop_closed_early(address, folder):
    connection = connect(address)
    scanner = scanner_of(make_table(connection))

    async def leave_behind():
        scanner.poll(60_000).add_done_callback(lambda ended: None)
        await connection.get_admin().list_databases()

    asyncio.run(leave_behind())
    close(connection)


def loops_in_threads(address, folder):
    with connect(address) as connection:

        async def main():
            await asyncio.gather(*[connection.get_admin().list_databases() for _ in range(10)])

        threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def refused(address, folder):
    assert_fails("127.0.0.1:1")


def unknown_name(address, folder):
    assert_fails("no-such-host.invalid:9123")


def never_answered(address, folder):
    with silent_peer() as silent:
        assert_fails(silent)


def given_up(address, folder):
    with silent_peer() as silent:
        connecting(silent, 1000).cancel()
        connecting(silent, 1000)


def wrong_password(address, folder):
    user = {"security.sasl.username": "nobody", "security.sasl.password": "wrong"}
    assert_fails(address, **{"security.protocol": "sasl", **user})


def server_of_its_own(address, folder):
    with fluss.Server(folder / "own") as server, connect(server.bootstrap_servers) as connection:
        make_table(connection).new_append().create_writer().append([1, "x"])


def server_closed_first(address, folder):
    server = fluss.Server(folder / "first")
    connection = connect(server.bootstrap_servers, 1000)
    scanner_of(make_table(connection)).poll(60_000)
    server.close()
    close(connection)


def server_refused(address, folder):
    with fluss.Server(folder / "locked"), pytest.raises(fluss.FlussError):
        fluss.Server(folder / "locked")


def embedded(address, folder):
    close(connect(f"embedded:{folder / 'embedded'}"))


def embedded_and_never_closed(address, folder):
    make_table(connect(f"embedded:{folder / 'dropped'}"))


CASES = [
    closed_at_once,
    several_at_once,
    everything_used,
    closed_with_calls_under_way,
    never_closed,
    half_read,
    cancelled,
    callbacks_without_a_loop,
    loop_closed_early,
    loops_in_threads,
    refused,
    unknown_name,
    never_answered,
    given_up,
    wrong_password,
    server_of_its_own,
    server_closed_first,
    server_refused,
    embedded,
    embedded_and_never_closed,
]


def thread_names():
    """By id, without those of RocksDB's pool, which starts them when it likes."""
    names = {}
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as file:
            names[task] = file.read().strip()
    return {task: name for task, name in names.items() if not name.startswith("rocksdb")}


def settled(is_enough, limit_s):
    """The threads once they are few enough, or at the limit."""
    gc.collect()
    deadline = time.monotonic() + limit_s
    while not is_enough(found := thread_names()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server, and the threads that stay."""
    folder = tmp_path_factory.mktemp("threads")
    with server_process(folder / "data") as server:
        for case in (everything_used, unknown_name, server_of_its_own, embedded):
            case(server.address, folder)
        yield server.address, settled(lambda found: len(found) <= 1, 1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_no_thread_is_left_of(case, world, tmp_path):
    address, before = world
    case(address, tmp_path)
    left = settled(lambda found: len(found) <= len(before), END_S_MAX)
    assert len(left) <= len(before), {t: n for t, n in left.items() if t not in before}
