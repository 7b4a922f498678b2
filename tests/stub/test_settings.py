# SPDX-License-Identifier: Apache-2.0
"""Every setting of a connection takes effect.

Goal and method: a test for each key of src/client/settings.def, named after it, that sees at the
stub or at the caller what the setting changes; the last test finds keys without one.
"""

import threading
import time
from pathlib import Path

import fluss
import pyarrow as pa
import pytest
from stub import Hold, bucket_error, change, delay
from wire import BATCH

from client import LIMIT_S, Client, drain, outcome

TOP = Path(__file__).resolve().parents[2]
LOG = {"id": "INTEGER", "note": "STRING"}

# Keys whose effect is shown elsewhere: (file, words of the test that shows it).
ELSEWHERE = {
    "bootstrap.servers": ("test_m_connection.py", "def test_m03_several_bootstrap_addresses"),
    "connect-timeout": ("test_m_connection.py", "def test_m07_address_that_swallows_everything"),
    "request-timeout": ("test_m_connection.py", "def test_m07_requests_that_are_not_answered"),
    "security.protocol": ("test_m_connection.py", "def test_sasl_signs_in_on_every_connection"),
    "security.sasl.username": ("test_m_connection.py", "def test_sasl_wrong_password"),
    "security.sasl.password": ("test_m_connection.py", "def test_sasl_wrong_password"),
    "security.sasl.mechanism": ("test_m_connection.py", "def test_sasl_mechanism_that_the_client"),
    "scanner.log.max-poll-records": ("test_d_scanner.py", "def test_d03_rest_of_a_fetch_is_kept"),
    "writer.dynamic-create-partition.enabled": (
        "test_m_connection.py",
        "def test_partitions_are_made_while_writing",
    ),
}
# Keys of the official clients that are taken although the work they steer is done otherwise here;
# docs/configuration.md says so.
WITHOUT_EFFECT = {"scanner.remote-log.read-concurrency"}
TIERED = {  # test_tiered.py, tests/unit/client/test_remote_reads.c
    "scanner.remote-log.prefetch-num",
    "remote-file.download-thread-num",
}


@pytest.fixture
def log(stub):
    return stub.create_table("log", LOG)


@pytest.fixture
def pk(stub):
    return stub.create_table("pk", LOG, primary_key=["id"])


def rows(count, size=1):
    return pa.record_batch(
        [pa.array(range(count), pa.int32()), pa.array(["n" * size] * count)], names=["id", "note"]
    )


def looker(client, name="pk"):
    return client.open(name).new_lookup().create_lookuper()


def until_it_fails(call):
    with pytest.raises(fluss.FlussError) as caught:
        call()
    return caught.value


# ---- the connection ----


def test_client_bucket_hash(stub, connect):
    stub.create_table("wide", LOG, buckets=16, bucket_key=["id"])
    places = {}
    for kind in ("java", "rust"):
        writer = connect(stub, client_bucket_hash=kind).writer("wide")
        handles = [writer.append({"id": i, "note": ""}) for i in range(100, 200)]
        assert {outcome(handle) for handle in handles} == {None}
        places[kind] = [handle.bucket.bucket_id for handle in handles]
    assert places["java"][:28] == places["rust"][:28]  # below 128 the two agree
    assert places["java"][28:] != places["rust"][28:]


def test_client_id(stub, connect):
    client = connect(stub, client_id='a "b"')
    assert {row["labels"] for row in client.connection.list_metrics()} == {'client_id="a \\"b\\""'}


# ---- writers ----


@pytest.mark.parametrize("acks, sent", [("all", -1), ("-1", -1), ("1", 1), ("0", 0)])
def test_writer_acks(stub, connect, log, acks, sent):
    settings = dict(writer_enable_idempotence="false", request_timeout=17_000)
    client = connect(stub, writer_acks=acks, **settings)
    assert outcome(client.writer("log").append({"id": 1, "note": ""})) is None
    assert [e.message["acks"] for e in stub.asked("PRODUCE_LOG")] == [sent]
    assert stub.asked("PRODUCE_LOG")[0].message["timeout_ms"] == 17_000


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_writer_retries(stub, connect, log, retries):
    client = connect(stub, writer_retries=retries, writer_enable_idempotence="false")
    stub.on("PRODUCE_LOG", bucket_error(14))
    assert outcome(client.writer("log").append({"id": 1, "note": ""})) == 14
    assert len(stub.asked("PRODUCE_LOG")) == retries + 1


def test_writer_batch_size(stub, connect, log):
    client = connect(stub, writer_batch_size=20_000, writer_dynamic_batch_size_min=1000)
    writer = client.writer("log")
    hold = Hold()
    stub.on("PRODUCE_LOG", hold, times=1)
    writer.append({"id": -1, "note": ""})
    stub.wait_for("PRODUCE_LOG")
    for i in range(1000):
        writer.append({"id": i, "note": "n" * 100})
    hold.release(stub)
    writer.flush().result(LIMIT_S)
    counts = [count for _, count, _ in log.of(0).log]
    assert sum(counts) == 1001
    assert max(counts) < 250 and len(counts) >= 5


@pytest.mark.parametrize("enabled", ["true", "false"])
@pytest.mark.full
def test_writer_dynamic_batch_size_enabled(stub, connect, log, enabled):
    """After many small batches that waited, a large write is cut at what those taught, or not."""
    client = connect(
        stub,
        writer_batch_size=200_000,
        writer_dynamic_batch_size_min=2000,
        writer_dynamic_batch_size_enabled=enabled,
        writer_batch_timeout_ms=1,
        writer_max_inflight_requests_per_bucket=2,
    )
    writer = client.writer("log")
    stub.on("PRODUCE_LOG", delay(0.004))  # rows gather behind it until their time is over
    for _ in range(120):
        before = len(stub.asked("PRODUCE_LOG"))
        handles = [writer.append({"id": 0, "note": ""})]
        stub.wait_for("PRODUCE_LOG", before + 1)
        handles.append(writer.append({"id": 0, "note": ""}))
        assert {outcome(handle) for handle in handles} == {None}
    before = len(log.of(0).log)
    for i in range(2000):
        writer.append({"id": i, "note": "n" * 200})
    writer.flush().result(LIMIT_S)
    largest = max(count for _, count, _ in log.of(0).log[before:])
    assert (largest < 500) == (enabled == "true")  # 1000 rows are the whole batch size


def test_writer_dynamic_batch_size_min(stub):
    client = Client(stub, writer_batch_size=1000, writer_dynamic_batch_size_min=2000)
    failure = until_it_fails(client.__enter__)
    assert "dynamic-batch-size-min" in failure.message


@pytest.mark.parametrize("timeout_ms", [0, 300, 60_000])
def test_writer_batch_timeout_ms(stub, connect, log, timeout_ms):
    """Rows wait so long behind a request that is under way."""
    client = connect(stub, writer_batch_timeout_ms=timeout_ms, request_timeout=20000)
    writer = client.writer("log")
    hold = Hold()
    stub.on("PRODUCE_LOG", hold, times=1)
    first = writer.append({"id": 0, "note": ""})
    stub.wait_for("PRODUCE_LOG")
    started = time.monotonic()
    second = writer.append({"id": 1, "note": ""})
    if timeout_ms < 60_000:
        stub.wait_for("PRODUCE_LOG", 2)
        waited_ms = (time.monotonic() - started) * 1000
        assert timeout_ms - 20 <= waited_ms < timeout_ms + 8000
        hold.release(stub)
    else:
        assert client.admin.list_databases().result(LIMIT_S)  # a round trip, and nothing more comes
        assert len(stub.asked("PRODUCE_LOG")) == 1
        hold.release(stub)
    assert {outcome(first), outcome(second)} == {None}
    assert time.monotonic() - started < LIMIT_S


def test_writer_request_max_size(stub, connect):
    stub.create_table("wide", LOG, buckets=8, bucket_key=["id"])
    for size, wanted in ((10_000, "many"), (10_000_000, "one")):
        client = connect(
            stub,
            client_bucket_hash="java",
            writer_batch_size=10_000,
            writer_dynamic_batch_size_min=1000,
            writer_request_max_size=size,
        )
        writer = client.writer("wide")
        hold = Hold()
        rule = stub.on("PRODUCE_LOG", hold)
        for i in range(64):
            writer.append({"id": i, "note": "n" * 200})
        stub.wait_until(lambda rule=rule: rule.hits > 0, "the first requests")
        for i in range(64):
            writer.append({"id": i, "note": "n" * 200})
        flushed = writer.flush()
        stub.off(rule)
        before = len(stub.asked("PRODUCE_LOG"))
        hold.release(stub)
        flushed.result(LIMIT_S)
        for exchange in stub.asked("PRODUCE_LOG")[before:]:
            parts = exchange.message["buckets_req"]
            assert len(parts) == 1 or sum(len(p["records"]) for p in parts) <= size
        assert wanted


def test_writer_enable_idempotence(stub, connect, log):
    client = connect(stub, writer_enable_idempotence="false")
    assert outcome(client.writer("log").append({"id": 1, "note": ""})) is None
    assert not stub.asked("INIT_WRITER")
    head = BATCH.unpack_from(log.of(0).log[0][2])
    assert head[8:10] == (-1, -1)
    numbered = connect(stub)
    assert outcome(numbered.writer("log").append({"id": 1, "note": ""})) is None
    assert BATCH.unpack_from(log.of(0).log[1][2])[8:10] == (1, 0)
    for key, value in (
        ("writer.acks", "1"),
        ("writer.retries", "0"),
        ("writer.max-inflight-requests-per-bucket", "6"),
    ):
        config = fluss.Config({"bootstrap.servers": stub.address, key: value})
        failure = until_it_fails(lambda c=config: fluss.FlussConnection.create(c).result(LIMIT_S))
        assert "idempotence" in failure.message


@pytest.mark.parametrize("limit", [1, 3, 5])
def test_writer_max_inflight_requests_per_bucket(stub, connect, log, limit):
    client = connect(stub, writer_max_inflight_requests_per_bucket=limit, request_timeout=20000)
    writer = client.writer("log")
    hold = Hold()
    rule = stub.on("PRODUCE_LOG", hold)
    handles = [writer.write_arrow_batch(rows(1)) for _ in range(10)]
    stub.wait_until(lambda: rule.hits == limit, "a full pipeline")
    assert client.admin.list_databases().result(LIMIT_S)  # a round trip: nothing more comes
    assert rule.hits == limit
    stub.off()
    hold.release(stub)
    assert {outcome(handle) for handle in handles} == {None}


@pytest.mark.parametrize("kind", ["sticky", "round_robin"])
def test_writer_bucket_no_key_assigner(stub, connect, kind):
    table = stub.create_table("wide", LOG, buckets=4)
    writer = connect(stub, writer_bucket_no_key_assigner=kind).writer("wide")
    hold = Hold()
    stub.on("PRODUCE_LOG", hold, times=8)
    for i in range(400):
        writer.append({"id": i, "note": ""})
    flushed = writer.flush()
    stub.off()
    stub.wait_for("PRODUCE_LOG")
    hold.release(stub)
    flushed.result(LIMIT_S)
    ends = [table.of(i).end for i in range(4)]
    assert sum(ends) == 400
    assert (ends == [100] * 4) == (kind == "round_robin")


def full_buffer(stub, connect, **more):
    """A writer whose buffer is full: the server answers nothing."""
    client = connect(
        stub,
        writer_buffer_memory_size=20_000,
        writer_batch_size=10_000,
        writer_dynamic_batch_size_min=1000,
        request_timeout=20000,
        **more,
    )
    hold = Hold()
    stub.on("PRODUCE_LOG", hold)
    writer = client.writer("log")
    return client, writer, hold


def test_writer_buffer_memory_size(stub, connect, log):
    client, writer, hold = full_buffer(stub, connect, writer_buffer_wait_timeout_ms=200)
    until_it_fails(lambda: [writer.append({"id": i, "note": "n" * 500}) for i in range(1000)])
    used = client.metric("fluss_client_writer_buffer_bytes")
    assert 10_000 < used < 22_000
    stub.off()
    hold.release(stub)
    writer.flush().result(LIMIT_S)
    assert client.metric("fluss_client_writer_buffer_bytes") == 0


@pytest.mark.parametrize("limit_ms", [0, 300])
def test_writer_buffer_wait_timeout_ms(stub, connect, log, limit_ms):
    client, writer, hold = full_buffer(stub, connect, writer_buffer_wait_timeout_ms=limit_ms)
    started = None

    def fill():
        nonlocal started
        for i in range(1000):
            started = time.monotonic()
            writer.append({"id": i, "note": "n" * 500})

    failure = until_it_fails(fill)
    waited_ms = (time.monotonic() - started) * 1000
    assert "buffer" in failure.message
    assert limit_ms - 20 <= waited_ms < limit_ms + 8000
    stub.off()
    hold.release(stub)
    writer.flush().result(LIMIT_S)
    assert outcome(writer.append({"id": 1, "note": ""})) is None


@pytest.mark.parametrize("limit_ms", [0, 400])
def test_writer_kv_backpressure_max_throttle_ms(stub, connect, pk, limit_ms):
    """A server under pressure p is left alone for limit * p * p; one that refuses, longer."""
    client = connect(stub, writer_kv_backpressure_max_throttle_ms=limit_ms)
    writer = client.writer("pk")

    def press(message):
        for part in message["buckets_resp"]:
            part["pressure"] = 0.9

    stub.on("PUT_KV", change(press), times=1)
    assert outcome(writer.upsert({"id": 1, "note": ""})) is None
    started = time.monotonic()
    assert outcome(writer.upsert({"id": 2, "note": ""})) is None
    assert limit_ms * 0.8 <= (time.monotonic() - started) * 1000 < limit_ms + 2000
    stub.on("PUT_KV", bucket_error(72), times=1)
    started = time.monotonic()
    assert outcome(writer.upsert({"id": 3, "note": ""})) is None
    assert limit_ms * 0.5 <= (time.monotonic() - started) * 1000 < limit_ms + 1400


def test_writer_partition_wait_timeout_ms(stub, connect):
    stub.create_table("parted", {"id": "INTEGER", "day": "STRING"}, partition_key=["day"])
    writer = connect(stub, writer_partition_wait_timeout_ms=200).writer("parted")
    started = time.monotonic()
    assert outcome(writer.append({"id": 1, "day": "never"})) == 36
    assert 0.15 < time.monotonic() - started < LIMIT_S / 2


# ---- lookups ----


def test_lookup_queue_size(stub, connect, pk):
    """Keys that may wait: beyond them fluss_lookup waits for room, and in the end says so."""
    client = connect(stub, lookup_queue_size=5, lookup_max_inflight_requests=1, request_timeout=600)
    lookup = looker(client)
    assert lookup.lookup({"id": 1}).result(LIMIT_S) is None
    hold = Hold()
    rule = stub.on("LOOKUP", hold)
    futures = [lookup.lookup({"id": 0})]
    stub.wait_until(lambda: rule.hits == 1, "the request under way")
    futures += [lookup.lookup({"id": i}) for i in range(5)]
    started = time.monotonic()
    releasing = threading.Timer(0.2, lambda: (stub.off(), hold.release(stub)))
    releasing.start()
    futures.append(lookup.lookup({"id": 9}))  # waits until the queue moves
    assert 0.1 < time.monotonic() - started < LIMIT_S / 2
    assert [future.result(LIMIT_S) for future in futures] == [None] * 7
    releasing.join()
    stub.on("LOOKUP", Hold())
    futures = [lookup.lookup({"id": i}) for i in range(7)]
    failure = until_it_fails(lambda: futures[-1].result(LIMIT_S))
    assert failure.is_retriable
    stub.off()


def test_lookup_queue_size_lets_one_large_call_through(stub, connect, pk):
    lookup = looker(connect(stub, lookup_queue_size=5))
    assert lookup.lookup_many([{"id": i} for i in range(500)]).result(LIMIT_S) == [None] * 500


def test_lookup_max_batch_size(stub, connect, pk):
    lookup = looker(connect(stub, lookup_max_batch_size=7))
    keys = [{"id": i} for i in range(100)]
    assert lookup.lookup_many(keys).result(LIMIT_S) == [None] * 100
    sizes = [len(e.message["buckets_req"][0]["keys"]) for e in stub.asked("LOOKUP")]
    assert max(sizes) == 7 and sum(sizes) == 100


@pytest.mark.parametrize("timeout_ms", [0, 300])
def test_lookup_batch_timeout_ms(stub, connect, pk, timeout_ms):
    """Once several requests are under way at a server, keys wait for more, at most so long."""
    client = connect(stub, lookup_batch_timeout_ms=timeout_ms, request_timeout=20000)
    lookup = looker(client)
    hold = Hold()
    rule = stub.on("LOOKUP", hold)
    futures = []
    for i in range(4):
        futures.append(lookup.lookup({"id": i}))
        stub.wait_until(lambda wanted=i + 1: rule.hits == wanted, "a request")
    started = time.monotonic()
    futures += [lookup.lookup({"id": i}) for i in range(4, 8)]
    stub.wait_until(lambda: rule.hits >= 5, "the next request")
    assert timeout_ms - 20 <= (time.monotonic() - started) * 1000 < timeout_ms + 8000
    if timeout_ms:
        assert len(stub.asked("LOOKUP")[-1].message["buckets_req"][0]["keys"]) == 4
    stub.off()
    hold.release(stub)
    assert [future.result(LIMIT_S) for future in futures] == [None] * 8


def test_lookup_max_inflight_requests(stub, connect, pk):
    client = connect(
        stub,
        lookup_max_inflight_requests=3,
        lookup_max_batch_size=1,
        lookup_batch_timeout_ms=0,
        request_timeout=20000,
    )
    hold = Hold()
    rule = stub.on("LOOKUP", hold)
    future = looker(client).lookup_many([{"id": i} for i in range(20)])
    stub.wait_until(lambda: rule.hits == 3, "three requests")
    assert client.admin.list_databases().result(LIMIT_S)
    assert rule.hits == 3
    stub.off()
    hold.release(stub)
    assert future.result(LIMIT_S) == [None] * 20


@pytest.mark.parametrize("retries", [0, 2])
def test_lookup_max_retries(stub, connect, pk, retries):
    client = connect(stub, lookup_max_retries=retries)
    stub.on("LOOKUP", bucket_error(11))
    failure = until_it_fails(lambda: looker(client).lookup({"id": 1}).result(LIMIT_S))
    assert failure.error_code == 11
    assert len(stub.asked("LOOKUP")) == retries + 1


# ---- scanners ----


@pytest.mark.parametrize("check", ["true", "false"])
def test_scanner_log_check_crc(stub, connect, log, check):
    client = connect(stub, scanner_log_check_crc=check)
    client.writer("log").append({"id": 1, "note": "x"})

    def damage(message):
        part = message["tables_resp"][0]["buckets_resp"][0]
        data = bytearray(part["records"])
        if data:
            data[21] ^= 0xFF  # of the checksum itself
        part["records"] = bytes(data)

    stub.on("FETCH_LOG", change(damage))
    scanner = client.scanner("log")
    if check == "false":
        assert len(drain(scanner, 1)) == 1
    else:
        failure = until_it_fails(lambda: [scanner.poll(500).result(LIMIT_S) for _ in range(20)])
        assert failure.error_code in (3, 14)


def fetches(stub, connect, **settings):
    stub.create_table("log", LOG)
    client = connect(stub, **settings)
    client.writer("log").append({"id": 1, "note": "x"})
    assert len(drain(client.scanner("log"), 1)) == 1
    return [exchange.message for exchange in stub.asked("FETCH_LOG")]


def test_scanner_log_fetch_max_bytes(stub, connect):
    sent = fetches(
        stub,
        connect,
        scanner_log_fetch_max_bytes=77_777,
        scanner_log_fetch_max_bytes_for_bucket=5000,
    )
    assert {message["max_bytes"] for message in sent} == {77_777}


def test_scanner_log_fetch_max_bytes_for_bucket(stub, connect):
    sent = fetches(stub, connect, scanner_log_fetch_max_bytes_for_bucket=5555)
    parts = [message["tables_req"][0]["buckets_req"][0] for message in sent]
    assert {part["max_fetch_bytes"] for part in parts} == {5555}


def test_scanner_log_fetch_min_bytes(stub, connect):
    sent = fetches(
        stub,
        connect,
        scanner_log_fetch_min_bytes=3000,
        scanner_log_fetch_wait_max_time_ms=100,
    )
    assert {message["min_bytes"] for message in sent} == {3000}


def test_scanner_log_fetch_wait_max_time_ms(stub, connect):
    sent = fetches(stub, connect, scanner_log_fetch_wait_max_time_ms=123)
    assert {message["max_wait_ms"] for message in sent} == {123}


# ---- keys ----


def test_o01_unknown_key_is_answered_with_the_nearest(stub):
    for wrong, near in (
        ("writer.batch-sise", "writer.batch-size"),
        ("lookup.que-size", "lookup.queue-size"),
        ("bootstrap.serverz", "bootstrap.servers"),
    ):
        failure = until_it_fails(lambda key=wrong: fluss.Config({key: "1"}))
        assert near in failure.message


def test_every_key_has_its_test():
    mine = Path(__file__).read_text()
    for key in fluss._core.config_keys():
        if key in WITHOUT_EFFECT | TIERED:
            continue
        if key in ELSEWHERE:
            name, words = ELSEWHERE[key]
            assert words in (Path(__file__).parent / name).read_text(), key
        else:
            assert f"def test_{key.replace('.', '_').replace('-', '_')}" in mine, key
    page = (TOP / "docs" / "configuration.md").read_text()
    for key in WITHOUT_EFFECT:
        assert f"| `{key}` " in page and "without effect" in page.split(f"`{key}`")[1][:60]
