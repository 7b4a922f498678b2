# SPDX-License-Identifier: Apache-2.0
"""Calls of a server from event loops and threads: they start by themselves, can be given up without
a loss, share requests, and never need the loop or the interpreter to complete."""

import asyncio
import contextlib
import threading
import time

import fluss
import pyarrow as pa
import pytest

CALL_S_MAX = 60
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


def make_table(connection, database, name, keys=(), buckets=1):
    path = fluss.TablePath(database, name)
    schema = fluss.Schema(SCHEMA, primary_keys=list(keys) or None)
    description = fluss.TableDescriptor(schema, bucket_count=buckets)
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    return connection.get_table(path).result(CALL_S_MAX)


def record_scanner(table, offset=fluss.EARLIEST_OFFSET):
    scanner = table.new_scan().create_log_scanner().result()
    scanner.subscribe_all(offset)
    return scanner


def in_threads(count, work):
    """Runs work(number) in threads; raises what one of them raised."""
    errors = []

    def run_one(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run_one, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(CALL_S_MAX)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_dropped_flush_and_close_still_happen(servers, database, connection, run):
    table = make_table(connection, database, "dropped")

    async def write_and_go():
        other = await fluss.FlussConnection.create(bootstrap_servers=servers)
        writer = (await other.get_table(table.get_table_path())).new_append().create_writer()
        for i in range(100):
            writer.append([i, "x"])
        writer.flush()
        other.close()

    run(write_and_go())
    scanner, found = record_scanner(table), 0
    deadline = time.monotonic() + CALL_S_MAX
    while found < 100 and time.monotonic() < deadline:
        found += len(scanner.poll(1000))
    assert found == 100


def test_second_poll_says_that_the_scanner_is_in_use(connection, database, run):
    scanner = record_scanner(make_table(connection, database, "in_use"))

    async def main():
        first = scanner.poll(60_000)
        with pytest.raises(fluss.FlussError, match="in use"):
            await scanner.poll(1)
        first.cancel()
        assert (await scanner.poll(0)).is_empty()

    run(main())


def test_polls_that_are_dropped_or_cancelled_lose_no_rows(connection, database, run):
    table = make_table(connection, database, "given_up")
    writer, scanner = table.new_append().create_writer(), record_scanner(table)

    async def main():
        seen = []
        for i in range(60):
            writer.append([i, "x"])
            scanner.poll(1000)  # dropped
            task = asyncio.ensure_future(asyncio.wait_for(scanner.poll(1000), 10))
            await asyncio.sleep(0)
            if i % 3 == 0:
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                seen += [record.row["id"] for record in await task]
        await writer.flush()
        while len(seen) < 60:
            seen += [record.row["id"] for record in await scanner.poll(10_000)]
        assert seen == list(range(60))

    run(main())


def test_wait_for_a_poll_times_out_at_once_and_the_next_gets_the_data(connection, database, run):
    table = make_table(connection, database, "timed_out")
    writer, scanner = table.new_append().create_writer(), record_scanner(table)

    async def main():
        for _ in range(20):
            started = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(scanner.poll(60_000), 0.02)
            assert time.monotonic() - started < 10
        writer.append([7, "x"])
        await writer.flush()
        assert [record.row["id"] for record in await scanner.poll(20_000)] == [7]

    run(main())


def test_left_wait_frees_the_scanner(connection, database, run):
    """asyncio.wait() leaves what it waited for alone; nobody has it any more, so it ends."""
    table = make_table(connection, database, "left")
    scanner = record_scanner(table)

    async def main():
        for _ in range(20):
            polling = scanner.poll(60_000)
            polling.add_done_callback(print)
            assert polling.remove_done_callback(print) == 1
            del polling
        assert (await scanner.poll(0)).is_empty()

    run(main())


def test_deferred_value_used_on_the_loop_while_its_writes_are_pending(connection, database, run):
    table = make_table(connection, database, "same_thread")
    writer = table.new_append().create_writer()

    async def main():
        handles = [writer.append([i, "x"]) for i in range(1000)]
        waits = [asyncio.ensure_future(handle.wait()) for handle in handles]
        await asyncio.sleep(0)
        writer.flush().result(CALL_S_MAX)  # blocks the loop
        assert table.new_scan().to_arrow().num_rows == 1000  # and so does this
        await asyncio.gather(*waits)

    run(main())


def test_poll_does_not_hold_the_loop_up(connection, database, run):
    scanner = record_scanner(make_table(connection, database, "ticks"))

    async def main():
        polling = scanner.poll(60_000)
        for _ in range(20):
            await asyncio.sleep(0.01)
            assert not polling.done()
        polling.cancel()

    run(main())


def test_a_hundred_polls_leave_room_for_other_calls(connection, database, run):
    table = make_table(connection, database, "hundred")
    scanners = [record_scanner(table) for _ in range(100)]

    async def main():
        polls = [asyncio.ensure_future(asyncio.wait_for(s.poll(60_000), 50)) for s in scanners]
        await asyncio.sleep(0)
        admin = connection.get_admin()
        for _ in range(10):
            assert await asyncio.wait_for(admin.database_exists(database), 20)
        for poll in polls:
            poll.cancel()
        await asyncio.wait(polls)

    run(main())


def test_gather_of_a_thousand_lookups(connection, database, run):
    table = make_table(connection, database, "lookups", ["id"], 3)
    writer = table.new_upsert().create_writer()
    for i in range(500):
        writer.upsert([i, f"v{i}"])
    writer.flush().result(CALL_S_MAX)
    lookuper = table.new_lookup().create_lookuper()

    async def main():
        found = await asyncio.gather(*[lookuper.lookup([i]) for i in range(1000)])
        assert found == [{"id": i, "text": f"v{i}"} if i < 500 else None for i in range(1000)]

    run(main())


def test_lookups_and_writes_from_eight_threads(connection, database):
    table = make_table(connection, database, "threads", ["id"], 3)
    writer = table.new_upsert().create_writer()
    lookuper = table.new_lookup().create_lookuper()

    def work(number):
        mine = range(number * 1000, number * 1000 + 300)
        for i in mine:
            writer.upsert({"id": i, "text": str(i)})
        writer.flush().result(CALL_S_MAX)
        for i in mine:
            assert lookuper.lookup([i]).result(CALL_S_MAX) == {"id": i, "text": str(i)}

    in_threads(8, work)
    assert table.new_scan().to_arrow().num_rows == 2400


def test_two_loops_in_two_threads_write_and_poll_over_one_connection(connection, database):
    table = make_table(connection, database, "loops")
    writer = table.new_append().create_writer()

    def work(number):
        async def main():
            scanner = await table.new_scan().create_log_scanner()
            scanner.subscribe_all()
            for i in range(100):
                await writer.append([number * 100 + i, "x"]).wait()
            seen = set()
            while len(seen) < 200:
                seen |= {record.row["id"] for record in await scanner.poll(10_000)}
            assert seen == set(range(200))

        asyncio.run(asyncio.wait_for(main(), CALL_S_MAX))

    in_threads(2, work)


def test_close_while_another_thread_polls(servers):
    connection = fluss.FlussConnection.create(bootstrap_servers=servers).result(CALL_S_MAX)
    path = fluss.TablePath("fluss", f"closing_{time.time_ns()}")
    admin = connection.get_admin()
    admin.create_table(path, fluss.TableDescriptor(fluss.Schema(SCHEMA))).result(CALL_S_MAX)
    scanner = record_scanner(connection.get_table(path).result(CALL_S_MAX))
    polling = threading.Event()
    outcome = []

    def poll():
        waiting = scanner.poll(60_000)
        polling.set()
        try:
            outcome.append(len(waiting))
        except fluss.FlussError as error:
            outcome.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    polling.wait(CALL_S_MAX)
    connection.close().result(CALL_S_MAX)
    connection.close().result(CALL_S_MAX)
    thread.join(CALL_S_MAX)
    assert len(outcome) == 1
    assert outcome[0] == 0 or "closed" in str(outcome[0])
