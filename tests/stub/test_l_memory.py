# SPDX-License-Identifier: Apache-2.0
"""Memory and back-pressure: bounded by the settings, given back, and never a reason to stand still.

Goal and method: one known fault of this field a test, by its id; sizes are small by setting.
"""

import os
import resource
import struct
import threading
import time

import fluss
import pyarrow as pa
import pytest
from stub import bucket_error, change, forge
from wire import SUCCESS, crc32c

from client import FULL, LIMIT_S, drain, ids, outcome

LOG = {"id": "INTEGER", "note": "STRING"}
ROWS = 100_000 if FULL else 20_000
ROUNDS = 1000 if FULL else 150
ATTEMPTS = 10
SMALL = dict(
    writer_buffer_memory_size=16_384,
    writer_batch_size=8192,
    writer_dynamic_batch_size_min=1024,
)


@pytest.fixture
def log(stub):
    return stub.create_table("log", LOG)


def test_l01_small_buffers_are_slow_but_sufficient(stub, connect):
    table = stub.create_table("wide", LOG, buckets=20, bucket_key=["id"])
    client = connect(stub, client_bucket_hash="java", request_timeout=8000, **SMALL)
    writer = client.writer("wide")
    for i in range(ROWS):
        writer.append({"id": i, "note": "n"})
    writer.flush().result(LIMIT_S)
    assert sum(table.of(i).end for i in range(20)) == ROWS
    assert client.metric("fluss_client_writer_buffer_bytes") == 0


@pytest.mark.parametrize("code", [48, 14])
def test_l02_failed_batches_give_their_memory_back(stub, connect, log, code):
    client = connect(stub, writer_retries=1, writer_buffer_wait_timeout_ms=2000, **SMALL)
    writer = client.writer("log")
    stub.on("PRODUCE_LOG", bucket_error(code))
    for i in range(ROUNDS):
        assert outcome(writer.append({"id": i, "note": "n" * 1000})) == code
    stub.off()
    assert client.metric("fluss_client_writer_buffer_bytes") == 0
    assert outcome(writer.append({"id": 1, "note": ""})) is None


def test_l05_a_busy_store_keeps_order_and_writer_id(stub, connect):
    """Refused for pressure, again and again: the same batches, in order, under one writer id."""
    table = stub.create_table("pk", LOG, primary_key=["id"])
    client = connect(stub, writer_kv_backpressure_max_throttle_ms=30)
    writer = client.writer("pk")
    stub.on("PUT_KV", bucket_error(72), times=6, skip=1)
    handles = [writer.upsert({"id": 1, "note": str(i)}) for i in range(200)]
    assert {outcome(handle) for handle in handles} == {None}
    assert len(table.of(0).writers) == 1
    lookup = client.open("pk").new_lookup().create_lookuper()
    assert lookup.lookup({"id": 1}).result(LIMIT_S)["note"] == "199"


FORGED = {
    "records": lambda data: data[:44] + struct.pack("<i", 2**31 - 1) + data[48:],
    "negative records": lambda data: data[:44] + struct.pack("<i", -5) + data[48:],
    "length": lambda data: data[:8] + struct.pack("<i", 2**31 - 1) + data[12:],
    "length 0": lambda data: data[:8] + struct.pack("<i", 0) + data[12:],
    "negative length": lambda data: data[:8] + struct.pack("<i", -1) + data[12:],
    "magic": lambda data: data[:12] + b"\x63" + data[13:],
    "Arrow metadata": lambda data: data[:52] + struct.pack("<i", 2**30) + data[56:],
    "schema id": lambda data: data[:25] + struct.pack("<h", 999) + data[27:],
}


@pytest.mark.parametrize("what", FORGED)
def test_l07_forged_batches_are_told_and_cost_nothing(stub, connect, log, what):
    client = connect(stub)
    assert outcome(client.writer("log").append({"id": 1, "note": "x"})) is None

    def put(message):
        part = message["tables_resp"][0]["buckets_resp"][0]
        if part["records"]:
            data = FORGED[what](part["records"])
            part["records"] = data[:21] + struct.pack("<I", crc32c(data[25:])) + data[25:]

    rule = stub.on("FETCH_LOG", change(put))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scanner = client.scanner("log")
    told, until = None, time.monotonic() + 8
    while told is None and time.monotonic() < until:
        try:
            assert len(scanner.poll(200).result(LIMIT_S)) == 0
        except fluss.FlussError as error:
            told = error
    assert told is not None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
    assert len(stub.asked("FETCH_LOG")) < 500
    stub.off(rule)
    assert drain(scanner, 1) == [(0, 0, {"id": 1, "note": "x"})]


@pytest.mark.parametrize(
    "body",
    {
        "field beyond the frame": b"\x0a\xff\xff\xff\x7f",
        "varint of 11 bytes": b"\x08" + b"\xff" * 11,
        "group": b"\x0b\x0c",
        "wire type 6": b"\x0e\x01\x02\x03\x04",
        "nested without end": b"\x0a\x7d" * 2000,
    }.items(),
    ids=lambda item: item[0].replace(" ", "_"),
)
def test_l07_forged_messages(stub, connect, body):
    client = connect(stub)
    damage = forge(lambda e: e.frame(SUCCESS, body[1]))
    stub.on("LIST_DATABASES", damage, times=1)
    assert client.admin.list_databases().result(LIMIT_S) == ["fluss"]  # asked again
    stub.on("CREATE_DATABASE", damage, times=1)
    with pytest.raises(fluss.FlussError) as caught:
        client.admin.create_database("mine").result(LIMIT_S)  # which may be there: not repeated
    assert caught.value.error_code == fluss.ErrorCode.CORRUPT_MESSAGE
    assert len(stub.asked("CREATE_DATABASE")) == 1


@pytest.mark.full
def test_l08_threads_do_not_get_in_each_others_way(stub, connect, log):
    """Eight threads write Arrow batches at least about as fast as one; other programs take the
    processor at their own times, so a few attempts are made."""
    client = connect(stub, request_timeout=8000)
    batch = pa.record_batch(
        [pa.array(range(2000), pa.int32()), pa.array(["n" * 20] * 2000)], names=["id", "note"]
    )

    def rate(thread_count, rounds):
        writer = client.writer("log")

        def write():
            for _ in range(rounds):
                writer.write_arrow_batch(batch)

        started = time.monotonic()
        threads = [threading.Thread(target=write) for _ in range(thread_count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        writer.flush().result(LIMIT_S)
        return thread_count * rounds / (time.monotonic() - started)

    rate(1, 5)
    found = []
    while not any(eight > one * 0.4 for eight, one in found):
        assert len(found) < ATTEMPTS, found
        found.append((rate(8, 10), rate(1, 80)))


@pytest.mark.full
def test_l09_slow_reader_is_fetched_ahead_for_within_bounds(stub, connect):
    table = stub.create_table("wide", LOG, buckets=50, bucket_key=["id"])
    client = connect(
        stub,
        client_bucket_hash="java",
        scanner_log_fetch_max_bytes=65_536,
        scanner_log_fetch_max_bytes_for_bucket=4096,
    )
    writer = client.writer("wide")
    noise = [os.urandom(300).hex() for _ in range(50)]
    for i in range(5000):
        writer.append({"id": i, "note": noise[i % 50]})
        if i % 500 == 499:
            writer.flush().result(LIMIT_S)
    stored = sum(len(data) for i in range(50) for _, _, data in table.of(i).log)
    received = client.metric("fluss_client_bytes_received_total")
    scanner = client.scanner("wide", buckets=50)
    first = len(scanner.poll(5000).result(LIMIT_S))
    assert first > 0
    last, still = -1, 0
    while still < 5:  # until nothing more is fetched
        now = client.metric("fluss_client_bytes_received_total")
        still = still + 1 if now == last else 0
        last = now
        threading.Event().wait(0.05)
    ahead = last - received
    assert ahead < 65_536 * 4 < stored
    assert first + len(drain(scanner, 5000 - first)) == 5000


def test_writers_bounded_memory_is_that_of_all_tables(stub, connect):
    tables = [stub.create_table(f"t{i}", LOG) for i in range(8)]
    client = connect(stub, request_timeout=8000, **SMALL)
    writers = [client.writer(f"t{i}") for i in range(8)]
    highest = 0
    for i in range(400):
        for writer in writers:
            writer.append({"id": i, "note": "n" * 200})
        highest = max(highest, client.metric("fluss_client_writer_buffer_bytes"))
    for writer in writers:
        writer.flush().result(LIMIT_S)
    assert highest < 16_384 * 2
    assert [ids(table) for table in tables] == [list(range(400))] * 8
