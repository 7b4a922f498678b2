# SPDX-License-Identifier: Apache-2.0
"""Scanners on a bad network: every row once, in order, and positions that errors do not move.

Goal and method: one known fault of this field a test, by its id. What a cluster's own clock and
retention do is asked of our server; all else of a stub.
"""

import threading
import time

import fluss
import pyarrow as pa
import pytest
from stub import Hold, bucket_error, change, close, cut_body, error, forge, lose, reset
from wire import BATCH, Server

from client import LIMIT_S, LOST_MS, drain

LOG = {"id": "INTEGER", "note": "STRING"}


@pytest.fixture
def log(stub):
    return stub.create_table("log", LOG)


def fill(client, name, rows, note="x", apart=1):
    """Write rows in batches of `apart`."""
    writer = client.writer(name)
    for start in range(0, rows, apart):
        numbers = list(range(start, min(start + apart, rows)))
        batch = pa.record_batch(
            [pa.array(numbers, pa.int32()), pa.array([note] * len(numbers))], names=["id", "note"]
        )
        writer.write_arrow_batch(batch)
    writer.flush().result(LIMIT_S)


def offsets(found):
    return [offset for _, offset, _ in found]


def code_of_poll(scanner):
    """The first error that polls raise."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        try:
            scanner.poll(200).result(LIMIT_S)
        except fluss.FlussError as error:
            return error
    raise AssertionError("polls stay empty and silent")


def test_d01_first_poll_has_the_rows(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 10, apart=10)
    started = time.monotonic()
    assert len(client.scanner("log").poll(2 * LIMIT_S * 1000).result(LIMIT_S)) == 10
    assert time.monotonic() - started < LIMIT_S / 4


def test_d03_rest_of_a_fetch_is_kept(stub, connect, log):
    client = connect(stub, scanner_log_max_poll_records=7)
    fill(client, "log", 1000, apart=1000)
    scanner = client.scanner("log")
    polls, found = 0, []
    while len(found) < 1000:
        records = scanner.poll(5000).result(LIMIT_S)
        found += [record.offset for record in records]
        polls += 1
    assert polls == 143
    assert found == list(range(1000))
    assert len(stub.asked("FETCH_LOG")) < 10


def test_d04_offset_below_the_start_of_the_log(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 5)
    with stub.lock:
        log.of(0).start = 3
    failure = code_of_poll(client.scanner("log", 0))
    assert failure.error_code == fluss.ErrorCode.LOG_OFFSET_OUT_OF_RANGE_EXCEPTION
    assert "offset 0" in failure.message and "[3, 5)" in failure.message
    assert offsets(drain(client.scanner("log"), 2)) == [3, 4]


def test_d05_offsets_that_are_none(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 3)
    table = client.open("log")

    def scanner_at(offset):
        scanner = table.new_scan().create_log_scanner().result(LIMIT_S)
        scanner.subscribe(0, offset)
        return scanner

    assert offsets(drain(scanner_at(-2), 3)) == [0, 1, 2]
    with pytest.raises(fluss.FlussError):
        scanner_at(-3)
    failure = code_of_poll(scanner_at(10**15))
    assert failure.error_code == fluss.ErrorCode.LOG_OFFSET_OUT_OF_RANGE_EXCEPTION
    sent = [
        part["fetch_offset"]
        for exchange in stub.asked("FETCH_LOG")
        for wanted in exchange.message["tables_req"]
        for part in wanted["buckets_req"]
    ]
    assert all(offset >= 0 or offset == -2 for offset in sent)


def test_d06_answer_cut_inside_a_batch(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 20, note="n" * 500)

    def cut(message):
        part = message["tables_resp"][0]["buckets_resp"][0]
        part["records"] = part["records"][: len(part["records"]) * 2 // 3]

    stub.on("FETCH_LOG", change(cut), when=has_many)
    assert offsets(drain(client.scanner("log"), 20)) == list(range(20))


def has_many(exchange):
    """Whether the fetch starts before the last batches."""
    return exchange.message["tables_req"][0]["buckets_req"][0]["fetch_offset"] < 18


def test_d06_batch_larger_than_the_limit(stub, connect, log):
    client = connect(
        stub, scanner_log_fetch_max_bytes=65536, scanner_log_fetch_max_bytes_for_bucket=8192
    )
    writer = client.writer("log")
    for i in range(6):
        note = "".join(chr(33 + (i * j * j) % 90) for j in range(50_000))
        writer.append({"id": i, "note": note})
        writer.flush().result(LIMIT_S)
    assert offsets(drain(client.scanner("log"), 6)) == list(range(6))


def test_d07_empty_batches_move_the_position(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 1)
    empty = BATCH.pack(0, 36, 0, 0, 0, 1, 0, 0, -1, -1, 0)
    with stub.lock:
        for _ in range(50):
            log.of(0).append(0, _with_crc(empty), -1, -1)
    table = client.open("log")
    scanner = table.new_scan().create_record_batch_log_scanner().result(LIMIT_S)
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    assert scanner.to_arrow().result(LIMIT_S).num_rows == 1
    assert scanner.poll_arrow(0).result(LIMIT_S).num_rows == 0
    assert log.of(0).end == 51


def _with_crc(data):
    import struct

    from wire import crc32c

    return data[:21] + struct.pack("<I", crc32c(data[25:])) + data[25:]


def test_d08_offsets_by_time(tmp_path):
    """On our server: before, between, at and after the times of records."""
    with Server(tmp_path / "data") as server:
        config = fluss.Config({"bootstrap.servers": server.address})
        connection = fluss.FlussConnection.create(config).result(LIMIT_S)
        path = fluss.TablePath("fluss", "t")
        schema = fluss.Schema(pa.schema([("id", pa.int32())]))
        admin = connection.get_admin()
        admin.create_table(path, fluss.TableDescriptor(schema)).result(LIMIT_S)

        def at(ms):
            spec = fluss.OffsetSpec.timestamp(ms)
            return admin.list_offsets(path, [0], spec).result(LIMIT_S)[0]

        assert at(0) == 0
        table = connection.get_table(path).result(LIMIT_S)
        writer = table.new_append().create_writer()
        for i in range(2):
            writer.append({"id": i})
            writer.flush().result(LIMIT_S)
            if i == 0:
                first_ms = int(time.time() * 1000)
                while int(time.time() * 1000) <= first_ms + 2:
                    pass  # the second record gets a later time
        scanner = table.new_scan().create_log_scanner().result(LIMIT_S)
        scanner.subscribe(0, 0)
        times = []
        while len(times) < 2:
            times += [record.timestamp for record in scanner.poll(1000).result(LIMIT_S)]
        assert [at(0), at(times[0]), at(times[0] + 1), at(times[1])] == [0, 0, 1, 1]
        with pytest.raises(fluss.FlussError) as caught:
            at(int(time.time() * 1000) + 3_600_000)
        assert caught.value.error_code == fluss.ErrorCode.INVALID_TIMESTAMP_EXCEPTION
        connection.close().result(LIMIT_S)


def test_d10_subscribing_while_polling(stub, connect):
    stub.create_table("wide", LOG, buckets=8)
    client = connect(stub)
    fill(client, "wide", 100)
    scanner = client.scanner("wide")
    is_over = threading.Event()

    def poll():
        while not is_over.is_set():
            scanner.poll(1).result(LIMIT_S)

    polling = threading.Thread(target=poll)
    polling.start()
    started = time.monotonic()
    for i in range(1000):
        scanner.subscribe(1 + i % 7, 0)
        scanner.unsubscribe(1 + i % 7)
    is_over.set()
    polling.join(LIMIT_S)
    assert not polling.is_alive() and time.monotonic() - started < LIMIT_S


def test_d11_leader_away_for_a_while(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 3)
    scanner = client.scanner("log")
    assert offsets(drain(scanner, 3)) == [0, 1, 2]
    with stub.lock:
        log.of(0).leader = None
    stub.on("FETCH_LOG", bucket_error(12), times=1)
    asked = len(stub.asked("GET_METADATA"))
    polled = scanner.poll(LIMIT_S * 1000)
    stub.wait_for("GET_METADATA", asked + 4)
    first, last = (stub.asked("GET_METADATA")[i].at_s for i in (asked, asked + 3))
    assert last - first > 0.02  # with a back-off between
    with stub.lock:
        log.of(0).leader = 0
    fill(client, "log", 2)
    found = [record.offset for record in polled.result(LIMIT_S)]
    assert found + offsets(drain(scanner, 2 - len(found))) == [3, 4]


TROUBLES = {
    "not leader": bucket_error(12),
    "corrupt": bucket_error(3),
    "storage": bucket_error(10),
    "unknown": bucket_error(-1),
    "fenced": bucket_error(24),
    "refused": error(26),
    "closed": close(),
    "cut frame": reset(after=30),
    "lost": lose(),
    "bucket left out": change(lambda m: {"tables_resp": []}),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_d12_errors_do_not_move_the_position(stub, connect, log, name):
    client = connect(stub, request_timeout=LOST_MS)
    fill(client, "log", 10, apart=2)
    stub.on("FETCH_LOG", TROUBLES[name], times=2)
    scanner = client.scanner("log", 4)
    assert offsets(drain(scanner, 6)) == [4, 5, 6, 7, 8, 9]
    fill(client, "log", 2)
    assert offsets(drain(scanner, 2)) == [10, 11]
    assert len(stub.asked("FETCH_LOG")) < 12


@pytest.mark.parametrize("times", [1, 2])
def test_d12_an_answer_that_cannot_be_read(stub, connect, log, times):
    """It is told once a time, and the rows come all the same."""
    client = connect(stub)
    fill(client, "log", 4, apart=2)
    stub.on("FETCH_LOG", cut_body(20), times=times)
    scanner = client.scanner("log")
    found, told = [], 0
    until = time.monotonic() + LIMIT_S
    while len(found) < 4 and time.monotonic() < until:
        try:
            found += [record.offset for record in scanner.poll(200).result(LIMIT_S)]
        except fluss.FlussError as error:
            assert error.error_code == fluss.ErrorCode.CORRUPT_MESSAGE
            told += 1
    assert found == [0, 1, 2, 3] and told <= times


def test_d12_a_damaged_batch_is_told(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 4, apart=2)

    def damage(message):
        part = message["tables_resp"][0]["buckets_resp"][0]
        part["records"] = part["records"][:-3] + b"\xee" + part["records"][-2:]

    stub.on("FETCH_LOG", change(damage), times=1)
    scanner = client.scanner("log")
    found, told = [], 0
    until = time.monotonic() + LIMIT_S
    while len(found) < 4 and time.monotonic() < until:
        try:
            found += [record.offset for record in scanner.poll(200).result(LIMIT_S)]
        except fluss.FlussError as error:
            assert "checksum" in error.message.lower() or "crc" in error.message.lower()
            told += 1
    assert found == [0, 1, 2, 3] and told == 1


def test_d13_unsubscribed_while_a_fetch_is_under_way(stub, connect):
    table = stub.create_table("two", LOG, buckets=2, bucket_key=["id"])
    client = connect(stub)
    fill(client, "two", 40)
    hold = Hold()
    rule = stub.on("FETCH_LOG", hold, times=1)
    scanner = client.scanner("two", buckets=2)
    polled = scanner.poll(LIMIT_S * 1000)
    stub.wait_until(lambda: rule.hits == 1, "the fetch")
    scanner.unsubscribe(1)
    hold.release(stub)
    found = [(r.bucket.bucket_id, r.offset) for r in polled.result(LIMIT_S)]
    while len(found) < table.of(0).end:
        found += [(r.bucket.bucket_id, r.offset) for r in scanner.poll(200).result(LIMIT_S)]
    assert {bucket for bucket, _ in found} == {0}
    scanner.subscribe(1, 5)
    again = drain(scanner, table.of(1).end - 5)
    assert [offset for bucket, offset, _ in again if bucket == 1] == list(range(5, table.of(1).end))


def test_the_moved_position_wins_over_an_answer_under_way(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 10)
    hold = Hold()
    rule = stub.on("FETCH_LOG", hold, times=1)
    scanner = client.scanner("log", 0)
    polled = scanner.poll(LIMIT_S * 1000)
    stub.wait_until(lambda: rule.hits == 1, "the fetch")
    scanner.subscribe(0, 7)
    hold.release(stub)
    found = [record.offset for record in polled.result(LIMIT_S)]
    while len(found) < 3:
        found += [record.offset for record in scanner.poll(200).result(LIMIT_S)]
    assert found == [7, 8, 9]


def test_a_server_that_always_fails_is_told(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 2)
    rule = stub.on("FETCH_LOG", bucket_error(-1))
    scanner = client.scanner("log")
    assert code_of_poll(scanner).error_code == -1
    stub.off(rule)
    assert offsets(drain(scanner, 2)) == [0, 1]


@pytest.mark.parametrize("remade", [True, False])
def test_a_table_that_is_gone_is_told(stub, connect, log, remade):
    client = connect(stub)
    fill(client, "log", 2)
    scanner = client.scanner("log")
    assert offsets(drain(scanner, 2)) == [0, 1]
    with stub.lock:
        stub.cluster.tables.clear()
        if remade:
            stub.create_table("log", {"other": "STRING"})
    assert code_of_poll(scanner).error_code == fluss.ErrorCode.TABLE_NOT_EXIST


def test_a_lost_bucket_holds_no_other_up(cluster, connect):
    table = cluster.create_table("t", LOG, buckets=3, bucket_key=["id"])
    client = connect(cluster, client_bucket_hash="java")
    fill(client, "t", 60)
    cluster.servers[2].stop()
    scanner = client.scanner("t", buckets=3)
    ends = [table.of(i).end for i in range(3)]
    found = drain(scanner, ends[0] + ends[1])
    assert {bucket for bucket, _, _ in found} == {0, 1}
    cluster.servers[2].start()
    assert len(drain(scanner, ends[2])) == ends[2]


def test_answers_for_other_buckets_are_thrown_away(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 4)

    def misplace(message):
        part = dict(message["tables_resp"][0]["buckets_resp"][0], bucket_id=77)
        message["tables_resp"][0]["buckets_resp"].insert(0, part)
        message["tables_resp"].append({"table_id": 999, "buckets_resp": [part]})

    stub.on("FETCH_LOG", change(misplace))
    assert offsets(drain(client.scanner("log"), 4)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "second", [{"error_code": 44, "error_message": "no"}, {"records": None}, {}]
)
def test_the_first_answer_for_a_bucket_counts(stub, connect, log, second):
    client = connect(stub)
    fill(client, "log", 4)

    def repeat(message):
        parts = message["tables_resp"][0]["buckets_resp"]
        parts += [{**part, **second} for part in parts]

    stub.on("FETCH_LOG", change(repeat))
    assert offsets(drain(client.scanner("log"), 4)) == [0, 1, 2, 3]


def test_a_frame_of_noise_ends_the_connection_only(stub, connect, log):
    client = connect(stub)
    fill(client, "log", 4)
    stub.on("FETCH_LOG", forge(lambda e: b"\x00\x00\x00\x06\x09noise"), times=1)
    assert offsets(drain(client.scanner("log"), 4)) == [0, 1, 2, 3]
