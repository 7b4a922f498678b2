# SPDX-License-Identifier: Apache-2.0
"""Threads, tasks and futures on slow and silent servers: waiting holds nothing up.

Goal and method: one known fault of this field a test, by its id.
"""

import asyncio
import gc
import itertools
import random
import threading
import time

import fluss
import pytest
from stub import Hold

from client import LIMIT_S, PATIENT, Client, drain, ids, outcome, share

LOG = {"id": "INTEGER", "note": "STRING"}


@pytest.fixture
def log(stub):
    return stub.create_table("log", LOG)


def run(coroutine):
    async def limited():
        return await asyncio.wait_for(coroutine, LIMIT_S)

    return asyncio.run(limited())


async def open_table(stub, name="log"):
    config = fluss.Config({"bootstrap.servers": stub.address, **PATIENT})
    connection = await fluss.FlussConnection.create(config)
    return connection, await connection.get_table(fluss.TablePath("fluss", name))


def test_k01_polling_does_not_hold_the_loop(stub, log):
    async def work():
        connection, table = await open_table(stub)
        scanner = await table.new_scan().create_log_scanner()
        scanner.subscribe(0, 0)
        polling = scanner.poll(2 * LIMIT_S * 1000)
        for _ in range(40):
            await asyncio.sleep(0.01)
            assert not polling.done()
        await table.new_append().create_writer().append({"id": 1, "note": ""})
        assert [record.offset for record in await polling] == [0]
        await connection.close()

    run(work())


def test_k02_cancelled_calls_lose_nothing(stub, log):
    """Polls, flushes and lookups are cancelled at any moment; every row still comes, once."""
    stub.create_table("pk", LOG, primary_key=["id"])
    rng = random.Random(7)

    async def work():
        connection, table = await open_table(stub)
        keyed = await connection.get_table(fluss.TablePath("fluss", "pk"))
        lookuper = keyed.new_lookup().create_lookuper()
        writer = table.new_append().create_writer()
        scanner = await table.new_scan().create_log_scanner()
        scanner.subscribe(0, 0)
        found = []
        for i in range(300):
            writer.append({"id": i, "note": ""})
            call = rng.choice(
                [
                    lambda: scanner.poll(60_000),
                    lambda: writer.flush(),
                    lambda: lookuper.lookup({"id": 1}),
                ]
            )()
            try:
                got = await asyncio.wait_for(call, rng.choice([0.0001, 0.001, 0.002]))
            except (asyncio.TimeoutError, TimeoutError):
                continue
            if isinstance(got, fluss.ScanRecords) or hasattr(got, "buckets"):
                found += [record.offset for record in got]
        await writer.flush()
        while len(found) < 300:
            found += [record.offset for record in await scanner.poll(1000)]
        await connection.close()
        return found

    assert run(work()) == list(range(300))


@pytest.mark.full
def test_k04_waiting_leaves_the_interpreter_free(stub, connect, log):
    """A thread counts while another waits for an answer, and next to nothing else uses a core."""
    client = connect(stub, request_timeout=20000)
    writer = client.writer("log")
    hold = Hold()
    stub.on("PRODUCE_LOG", hold, times=1)
    writer.append({"id": 1, "note": ""})
    flushing = threading.Thread(target=lambda: writer.flush().result(LIMIT_S))
    flushing.start()
    stub.wait_for("PRODUCE_LOG")
    whole, mine = time.process_time(), time.thread_time()
    while time.thread_time() - mine < 0.3:
        pass
    others = time.process_time() - whole - (time.thread_time() - mine)
    assert flushing.is_alive()
    hold.release(stub)
    flushing.join(LIMIT_S)
    assert not flushing.is_alive()
    assert others < 0.1


def test_k05_close_while_another_thread_polls(stub, log):
    for _ in range(5):
        with Client(stub) as client:
            scanner = client.scanner("log")
            ended = []

            def poll(scanner=scanner, ended=ended):
                try:
                    ended.append(len(scanner.poll(60_000).result(LIMIT_S)))
                except fluss.FlussError as error:
                    ended.append(error)

            polling = threading.Thread(target=poll)
            polling.start()
            stub.wait_for("FETCH_LOG")
            client.connection.close().result(LIMIT_S)
            polling.join(LIMIT_S)
            assert len(ended) == 1
            assert ended[0] == 0 or "closed" in str(ended[0])
            client.connection.close().result(LIMIT_S)


@pytest.mark.parametrize("order", share(itertools.permutations(range(4)), 4))
def test_k06_references_dropped_in_any_order(stub, log, order):
    config = fluss.Config({"bootstrap.servers": stub.address})
    connection = fluss.FlussConnection.create(config).result(LIMIT_S)
    table = connection.get_table(fluss.TablePath("fluss", "log")).result(LIMIT_S)
    writer = table.new_append().create_writer()
    scanner = table.new_scan().create_log_scanner().result(LIMIT_S)
    scanner.subscribe(0, 0)
    writer.append({"id": 1, "note": ""})
    held = [connection, table, writer, scanner]
    del connection, table, writer, scanner
    for i in order:
        held[i] = None
        gc.collect()
    stub.wait_until(lambda: log.of(0).end >= 1, "the row that was queued")


def test_k09_many_threads_on_one_writer(stub, connect, log):
    writer = connect(stub).writer("log")
    errors = []

    def guarded(body):
        def run_body():
            try:
                body()
            except Exception as error:
                errors.append(error)

        return threading.Thread(target=run_body)

    def append(number):
        for i in range(200):
            writer.append({"id": number * 200 + i, "note": ""})

    def flush():
        for _ in range(20):
            writer.flush().result(LIMIT_S)

    threads = [guarded(lambda n=n: append(n)) for n in range(16)]
    threads += [guarded(flush) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    writer.flush().result(LIMIT_S)
    assert errors == []
    found = ids(log)
    assert sorted(found) == list(range(3200))
    for number in range(16):  # each thread's rows in its order
        own = [i for i in found if i // 200 == number]
        assert own == sorted(own)


def test_k10_a_connection_in_two_loops(stub, log):
    connection, table = run(open_table(stub))

    async def write():
        writer = table.new_append().create_writer()
        await writer.append({"id": 1, "note": ""})

    run(write())
    run(write())
    connection.close().result(LIMIT_S)
    assert log.of(0).end == 2


def test_k11_waiting_polls_hold_no_thread(stub, log):
    """A hundred polls wait; a lookup, a flush and a close beside them end at once."""
    stub.create_table("pk", LOG, primary_key=["id"])

    async def work():
        connection, table = await open_table(stub)
        keyed = await connection.get_table(fluss.TablePath("fluss", "pk"))
        polls = []
        for _ in range(100):
            scanner = await table.new_scan().create_log_scanner()
            scanner.subscribe(0, 0)
            polls.append(asyncio.ensure_future(scanner.poll(60_000)))
        await asyncio.sleep(0)
        started = time.monotonic()
        assert await keyed.new_lookup().create_lookuper().lookup({"id": 1}) is None
        await table.new_append().create_writer().flush()
        await connection.close()
        took = time.monotonic() - started
        await asyncio.gather(*polls, return_exceptions=True)
        return took

    assert run(work()) < LIMIT_S / 2


def test_callers_of_a_silent_server_wait_apart(cluster, connect):
    """One of three servers answers nothing: calls to the others are not held up."""
    table = cluster.create_table("t", LOG, buckets=3, bucket_key=["id"])
    client = connect(cluster, client_bucket_hash="java", request_timeout=30000)
    writer = client.writer("t")
    handles = [writer.append({"id": i, "note": ""}) for i in range(30)]
    assert {outcome(handle) for handle in handles} == {None}
    hold = Hold()
    cluster.on("PRODUCE_LOG", hold, when=lambda exchange: exchange.server.id == 2)
    started = time.monotonic()
    handles = [writer.append({"id": i, "note": ""}) for i in range(30)]
    others = [h for h, before in zip(handles, ids_of(table)) if before != 2]
    assert {outcome(handle) for handle in others} == {None}
    assert time.monotonic() - started < LIMIT_S / 2
    cluster.off()
    hold.release(cluster)
    assert {outcome(handle) for handle in handles} == {None}


def ids_of(table):
    """The bucket of each id from 0 on."""
    where = {}
    for bucket in range(3):
        for i in ids(table, bucket):
            where[i] = bucket
    return [where[i] for i in range(30)]


def test_drain_is_bounded(stub, connect, log):
    assert drain(connect(stub).scanner("log"), 1, limit_s=0.3) == []
