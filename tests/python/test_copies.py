# SPDX-License-Identifier: Apache-2.0
"""What is not copied, and what does not hold the interpreter.

Columns of a fetched batch lie in the memory that the batch was received in: their buffers are few
bytes apart, all of them within one stretch as long as the message. Calls that wait or copy rows let
other threads run: a thread that counts gets on meanwhile."""

import gc
import sys
import threading
import time

import fluss
import numpy as np
import pyarrow as pa
import pytest

CALL_S_MAX = 60
SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.float64()), ("data", pa.binary())])
ROWS = 50_000


def make_rows(count=ROWS):
    data = pa.array([b"0123456789abcdef"] * count, pa.binary())
    return pa.record_batch(
        [pa.array(np.arange(count)), pa.array(np.arange(count) * 0.5), data], schema=SCHEMA
    )


def make_table(connection, database, name, rows=None, **properties):
    path = fluss.TablePath(database, name)
    schema = fluss.Schema(SCHEMA)
    plain = {"table.log.arrow.compression.type": "NONE"}
    description = fluss.TableDescriptor(schema, bucket_count=1, properties={**plain, **properties})
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    table = connection.get_table(path).result(CALL_S_MAX)
    if rows is not None:
        writer = table.new_append().create_writer()
        writer.write_arrow_batch(rows)
        writer.flush().result(CALL_S_MAX)
    return table


def batch_scanner(table):
    scanner = table.new_scan().create_record_batch_log_scanner().result()
    scanner.subscribe_all()
    return scanner


def buffers_of(batch):
    return [b for column in batch.columns for b in column.buffers() if b is not None and b.size]


# --- no copies ---


def test_columns_of_a_fetched_batch_lie_in_one_message(connection, database):
    table = make_table(connection, database, "one_message", make_rows())
    found = batch_scanner(table).poll_record_batch(20_000).result()
    assert found
    for batch in found:
        buffers = buffers_of(batch.batch)
        first = min(buffer.address for buffer in buffers)
        last = max(buffer.address + buffer.size for buffer in buffers)
        content = sum(buffer.size for buffer in buffers)
        assert last - first < content + 64 * len(buffers) + 4096
        again = buffers_of(batch.batch)
        assert [b.address for b in again] == [b.address for b in buffers]


def test_tables_and_exports_share_the_buffers_of_their_batches(connection, database):
    table = make_table(connection, database, "shared", make_rows())
    found = batch_scanner(table).poll_record_batch(20_000).result()
    addresses = {b.address for batch in found for b in buffers_of(batch.batch)}
    for batch in found:
        assert {b.address for b in buffers_of(pa.record_batch(batch))} <= addresses
    whole = fluss._arrow.to_table([batch.batch for batch in found], None)
    assert {b.address for part in whole.to_batches() for b in buffers_of(part)} == addresses


def test_dropping_the_last_user_frees_the_message(connection, database):
    """The memory of 20 times 1.6 MB would be seen; one column keeps its message, no more."""
    table = make_table(connection, database, "freed", make_rows())

    def resident_bytes():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def read_once():
        return table.new_scan().to_arrow().result(CALL_S_MAX)

    for _ in range(5):
        read_once()
    before = resident_bytes()
    for _ in range(20):
        kept = read_once().column("id")
        assert kept[ROWS - 1].as_py() == ROWS - 1
    del kept
    assert resident_bytes() - before < 8 << 20


# --- the interpreter ---


class Counter(threading.Thread):
    """Counts while it can, and notes the longest time that it could not."""

    def __init__(self):
        super().__init__(daemon=True)
        self.is_over = False
        self.started = threading.Event()
        self.count = 0

    def run(self):
        self.started.set()
        while not self.is_over:
            self.count += 1
            time.sleep(0)  # offers the interpreter to the other thread each time

    def __enter__(self):
        self.start()
        self.started.wait()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.join()


def test_waiting_calls_let_others_run(connection, database):
    table = make_table(connection, database, "waits")
    scanner = table.new_scan().create_log_scanner().result()
    scanner.subscribe_all()
    waits = {
        "poll": lambda: len(scanner.poll(300)),
        "result": lambda: scanner.poll(300).result(),
        "poll_arrow": lambda: batch_scanner(table).poll_arrow(300).num_rows,
    }
    for name, wait in waits.items():
        with Counter() as counter:
            before = counter.count
            wait()
            assert counter.count - before > 100, name


@pytest.mark.parametrize("call", ["write_arrow_batch", "to_arrow"])
def test_copying_calls_let_others_run(call, connection, database):
    """The calls are so long that a thread which waits for them would be seen: it gets a turn inside
    of a single call, which alone, with a switch interval of a minute, hands nothing over."""
    rows = make_rows(400_000)
    table = make_table(connection, database, f"copies_{call}", rows)
    writer = table.new_append().create_writer()
    prepared = writer._check(rows, False)
    interval = sys.getswitchinterval()
    scanner = batch_scanner(table)
    sys.setswitchinterval(60)
    try:
        with Counter() as counter:
            before = counter.count
            if call == "write_arrow_batch":
                writer._write(prepared)
            else:
                scanner.poll_record_batch(20_000).result()
            assert counter.count > before
    finally:
        sys.setswitchinterval(interval)
    writer.flush().result(CALL_S_MAX)
