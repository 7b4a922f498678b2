# SPDX-License-Identifier: Apache-2.0
"""A bounded read that is cancelled or interrupted leaves its scanner at once, also when the server
answers nothing: the scanner is where it was, and the next read has every row."""

import asyncio
import os
import signal
import sys
import threading

import fluss
import pyarrow as pa
import pytest
from server_process import server_process

CALL_S_MAX = 60
BATCHES, BATCH_ROWS = 60, 1000
ROWS = BATCHES * BATCH_ROWS


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server, and a table whose rows take many answers to read."""
    with server_process(tmp_path_factory.mktemp("data")) as server:
        connection = fluss.FlussConnection.create(
            bootstrap_servers=server.address,
            scanner_log_fetch_max_bytes=8192,
            scanner_log_fetch_max_bytes_for_bucket=8192,
        ).result(CALL_S_MAX)
        path = fluss.TablePath("fluss", "numbers")
        schema = fluss.Schema(pa.schema([("x", pa.int64())]))
        admin = connection.get_admin()
        admin.create_table(path, fluss.TableDescriptor(schema)).result(CALL_S_MAX)
        table = connection.get_table(path).result(CALL_S_MAX)
        writer = table.new_append().create_writer()
        for first in range(0, ROWS, BATCH_ROWS):
            rows = pa.array(range(first, first + BATCH_ROWS))
            writer.write_arrow_batch(pa.record_batch([rows], ["x"]))
            writer.flush().result(CALL_S_MAX)
        yield server, table
        server.go_on()
        connection.close().result(CALL_S_MAX)


@pytest.fixture
def scanner(world):
    server, table = world
    with table.new_scan().create_record_batch_log_scanner().result(CALL_S_MAX) as made:
        made.subscribe(0, fluss.EARLIEST_OFFSET)
        made.poll_arrow(10_000).result(CALL_S_MAX)
        made.seek(0, 0)
        yield made
        server.go_on()


def cancel(start):
    read = start()
    assert read.cancel()


def interrupt(start):
    read = start()
    begin = threading.Event()

    def send():
        begin.wait()
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(CALL_S_MAX)  # the sender gets its turn when the read waits, not before
    try:
        with pytest.raises(KeyboardInterrupt):
            begin.set()
            read.result(CALL_S_MAX)
    finally:
        sys.setswitchinterval(interval)
    sender.join()
    assert read.cancelled()


def time_out(start):
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(start(), 0.2)

    asyncio.run(main())


@pytest.mark.parametrize("stop", [cancel, interrupt, time_out])
@pytest.mark.parametrize("when", ["before the first answer", "between two batches"])
def test_read_that_is_stopped_leaves_its_scanner(world, scanner, stop, when):
    server, _ = world
    halted = threading.Event()

    def halt(rows, total):
        if 0 < rows < total and not halted.is_set():
            server.halt()
            halted.set()

    def start():
        if when == "before the first answer":
            server.halt()
            return scanner.to_arrow()
        read = scanner.to_arrow(progress=halt)
        assert halted.wait(CALL_S_MAX)
        return read

    stop(start)
    assert list(scanner.subscribed_buckets().values()) == [0]
    next_read = scanner.to_arrow()  # refused when the scanner is in use
    server.go_on()
    assert next_read.result(CALL_S_MAX)["x"].to_pylist() == list(range(ROWS))


def test_read_that_is_cancelled_before_its_turn_does_not_begin(world, scanner):
    server, _ = world
    read, go_on = threading.Event(), threading.Event()

    def wait_at_the_end(rows, total):
        if rows == total:
            read.set()
            assert go_on.wait(CALL_S_MAX)

    first, second = scanner.to_arrow(progress=wait_at_the_end), scanner.to_arrow()
    assert read.wait(CALL_S_MAX)
    server.halt()
    assert second.cancel()
    go_on.set()
    assert first.result(CALL_S_MAX).num_rows == ROWS
    for thread in threading.enumerate():
        if thread.name == "fluss-read":
            thread.join(5)
            assert not thread.is_alive()
