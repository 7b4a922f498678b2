# SPDX-License-Identifier: Apache-2.0
"""Writers on a bad network: no acknowledged row lost, none twice, order kept per bucket.

Goal and method: one known fault of this field a test, by its id; the stub loses, refuses or delays
answers, and its log tells what really arrived.
"""

import asyncio
import threading
import time

import fluss
import pyarrow as pa
import pytest
from stub import Hold, bucket_error, change, close, cut_body, error, lose, reset
from wire import BATCH, Port, Server, batches

from client import LIMIT_S, LOST_MS, Client, drain, ids, outcome, share

LOG = {"id": "INTEGER", "note": "STRING"}
NONE_FAILED = {None}


def sequences(stub, api="PRODUCE_LOG"):
    """(writer id, sequence) of each batch that came, in order."""
    return [
        BATCH.unpack_from(part["records"])[8:10]
        for exchange in stub.asked(api)
        for part in exchange.message["buckets_req"]
    ]


def write_apart(stub, writer, rows, start=0):
    """Write rows so that each is a batch of its own; gives the handles."""
    handles = []
    for i in range(start, start + rows):
        before = len(stub.asked("PRODUCE_LOG"))
        handles.append(writer.write_arrow_batch(one_row(i)))
        stub.wait_for("PRODUCE_LOG", before + 1)
    return handles


def one_row(i, note="x"):
    return pa.record_batch([pa.array([i], pa.int32()), pa.array([note])], names=["id", "note"])


@pytest.fixture
def log(stub):
    return stub.create_table("log", LOG)


def test_e01_lost_reply(stub, connect, log):
    """The reply to batch 0 is lost, 1 to 4 are acknowledged: nothing is refused for ever."""
    writer = connect(stub, request_timeout=LOST_MS).writer("log")
    stub.on("PRODUCE_LOG", lose(), times=1)
    handles = write_apart(stub, writer, 5)
    assert {outcome(h) for h in handles} == NONE_FAILED
    assert ids(log) == [0, 1, 2, 3, 4]
    assert len(stub.asked("PRODUCE_LOG")) <= 8


def test_e01_lost_reply_of_one_bucket_disturbs_no_other(stub, connect):
    """A server that answers others is alive: only the request that it left out is asked again."""
    table = stub.create_table("two", LOG)
    other = stub.create_table("other", LOG)
    client = connect(stub, request_timeout=LOST_MS)
    writer, second = client.writer("two"), client.writer("other")
    stub.on("PRODUCE_LOG", lose(), times=1)
    lost = writer.append({"id": 0, "note": "x"})
    stub.wait_for("PRODUCE_LOG")
    hold = Hold()
    until = time.monotonic() + 1.5
    rule = stub.on("PRODUCE_LOG", hold, when=lambda e: e.message["table_id"] == other.id, times=1)
    slow = second.append({"id": 7, "note": "x"})
    stub.wait_until(lambda: rule.hits == 1, "the other table's request")
    while time.monotonic() < until:  # the lost request's time passes meanwhile
        assert client.connection.get_admin().list_databases().result(LIMIT_S)
    hold.release(stub)
    assert outcome(lost) is None and outcome(slow) is None
    assert len(stub.servers[0].connections()) == 1
    assert client.metric("fluss_client_connects_total") == 1
    assert (ids(table), ids(other)) == ([0], [7])


def test_e02_stale_out_of_order_leaves_the_writer_id(stub, connect, log):
    writer = connect(stub).writer("log")
    hold = Hold()
    stub.on("PRODUCE_LOG", hold, times=3)
    stub.on("PRODUCE_LOG", bucket_error(31), times=1)
    handles = write_apart(stub, writer, 3)
    handles.append(writer.write_arrow_batch(one_row(3)))
    stub.wait_for("PRODUCE_LOG", 4)
    hold.release(stub)
    assert {outcome(h) for h in handles} == NONE_FAILED
    assert ids(log) == [0, 1, 2, 3]
    assert len({writer_id for writer_id, _ in sequences(stub)}) == 1
    assert sequences(stub)[-1] == sequences(stub)[3]


@pytest.mark.parametrize("api", ["PRODUCE_LOG", "PUT_KV"])
def test_e05_table_made_again_under_the_writer(stub, connect, api):
    key = {"primary_key": ["a"]} if api == "PUT_KV" else {}
    stub.create_table("t", {"a": "INTEGER"}, **key)
    client = connect(stub)
    writer = client.writer("t")
    put = writer.upsert if key else writer.append
    assert outcome(put({"a": 1})) is None
    hold = Hold(applied=False)
    rule = stub.on(api, hold, times=1)
    handles = [put({"a": 2})]
    stub.wait_until(lambda: rule.hits == 1, "the write")
    handles += [put({"a": i}) for i in range(3, 10)]
    with stub.lock:
        del stub.cluster.tables["fluss", "t"]
        fresh = stub.create_table("t", {"b": "STRING"}, **({"primary_key": ["b"]} if key else {}))
    hold.release(stub)
    assert {outcome(h) for h in handles} == {fluss.ErrorCode.TABLE_NOT_EXIST}
    assert fresh.of(0).end == 0
    again = client.writer("t")
    assert outcome((again.upsert if key else again.append)({"b": "new"})) is None


@pytest.mark.full
def test_e05_dropped_table_ends_the_wait(stub, connect, log):
    client = connect(stub)
    writer = client.writer("log")
    assert outcome(writer.append({"id": 1, "note": ""})) is None
    with stub.lock:
        stub.cluster.tables.clear()
    started = time.monotonic()
    assert outcome(writer.append({"id": 2, "note": ""})) == fluss.ErrorCode.TABLE_NOT_EXIST
    assert time.monotonic() - started < LIMIT_S / 2


def test_e06_unknown_writer_id_on_a_retried_batch(stub, connect, log):
    """The batch is stamped anew, with its checksum, and arrives once."""
    writer = connect(stub).writer("log")
    assert outcome(writer.append({"id": 0, "note": "x"})) is None
    stub.on("PRODUCE_LOG", bucket_error(14), times=1)
    stub.on("PRODUCE_LOG", bucket_error(33), times=1)
    first = writer.append({"id": 1, "note": "y" * 100})
    assert outcome(first) is None
    second = writer.append({"id": 2, "note": "z"})
    assert outcome(second) is None
    assert ids(log) == [0, 1, 2]
    assert len({writer_id for writer_id, _ in sequences(stub)}) == 2


def test_e07_slow_reader_gets_what_was_closed(stub, connect, log):
    """Memory of a batch is not reused while its bytes still wait for the socket."""
    client = connect(
        stub,
        request_timeout=20000,
        writer_buffer_memory_size=32768,
        writer_batch_size=4096,
        writer_dynamic_batch_size_min=1024,
    )
    writer = client.writer("log")
    stub.servers[0].read_rate = 400_000
    noise = [bytes((i * j) % 251 for j in range(1, 400)).hex() for i in range(50)]
    handles = [writer.append({"id": i, "note": noise[i % 50]}) for i in range(1000)]
    writer.flush().result(LIMIT_S)
    assert {outcome(h) for h in handles} == NONE_FAILED
    stub.servers[0].read_rate = None
    assert len(log.of(0).log) >= 50
    assert ids(log) == list(range(1000))


@pytest.mark.parametrize("in_flight", share([5, 1], 1))
@pytest.mark.parametrize("code", [12, 25, 31, 33])
def test_e08_every_seventh_reply_an_error(stub, connect, log, in_flight, code):
    """Full pipelines and lost writer ids never leave the sender standing."""
    client = connect(
        stub,
        writer_max_inflight_requests_per_bucket=in_flight,
        writer_batch_size=1024,
        writer_dynamic_batch_size_min=512,
    )
    writer = client.writer("log")
    count = 0

    def is_seventh(exchange):
        nonlocal count
        count += 1
        return count % 7 == 0

    stub.on("PRODUCE_LOG", bucket_error(code), times=3, when=is_seventh)
    handles = []
    for i in range(60):
        handles.append(writer.write_arrow_batch(one_row(i)))
    result = [outcome(h) for h in handles]
    assert set(result) <= {None, code}
    if code != 31:
        assert set(result) == NONE_FAILED
    assert ids(log) == [i for i in range(60) if result[i] is None]


@pytest.mark.full
def test_e09_idle_writer_costs_nothing(stub, connect, log):
    client = connect(stub)
    writer = client.writer("log")
    assert outcome(writer.append({"id": 0, "note": ""})) is None
    before = len(stub.requests)
    used = time.process_time()
    until = threading.Event()
    until.wait(2)  # the claim is about what happens in a span of time
    assert time.process_time() - used < 0.1
    assert len(stub.requests) == before


@pytest.mark.parametrize("code", [48, 7])
def test_e10_no_writer_id(stub, connect, log, code):
    client = connect(stub)
    writer = client.writer("log")
    stub.on("INIT_WRITER", error(code))
    handles = [writer.append({"id": i, "note": ""}) for i in range(50)]
    assert {outcome(h) for h in handles} == {code}
    client.connection.close().result(LIMIT_S)


@pytest.fixture
def port():
    with Port() as kept:
        yield kept


def test_e11_write_without_effect_uses_its_sequence(tmp_path, port):
    """On our server: the delete of a key that is not there, then upserts, over a restart."""
    server = Server(tmp_path / "data", "--listen", port.address).start()
    config = fluss.Config({"bootstrap.servers": server.address})
    connection = fluss.FlussConnection.create(config).result(LIMIT_S)
    path = fluss.TablePath("fluss", "t")
    schema = fluss.Schema(pa.schema([("id", pa.int32())]), primary_keys=["id"])
    admin = connection.get_admin()
    admin.create_table(path, fluss.TableDescriptor(schema)).result(LIMIT_S)
    writer = connection.get_table(path).result(LIMIT_S).new_upsert().create_writer()
    assert outcome(writer.delete({"id": 42})) is None
    assert {outcome(writer.upsert({"id": i})) for i in range(5)} == NONE_FAILED
    server.kill()
    server.start()
    assert {outcome(writer.upsert({"id": i})) for i in range(5, 10)} == NONE_FAILED
    connection.close().result(LIMIT_S)
    assert server.stop() == 0


@pytest.mark.full
def test_e13_tables_that_are_not_written_to(stub, connect):
    for name in ("a", "b", "c"):
        stub.create_table(name, LOG)
    client = connect(stub)
    writers = [client.writer(name) for name in ("a", "b", "c")]
    used = time.process_time()
    for i in range(300):
        writers[0].append({"id": i, "note": ""})
        for writer in writers:
            writer.flush().result(LIMIT_S)
    assert time.process_time() - used < 5
    assert len(stub.asked("PRODUCE_LOG")) == 300


def test_e14_lingering_goes_on_after_a_failed_flush(stub, connect, log):
    client = connect(stub)
    writer = client.writer("log")
    stub.on("PRODUCE_LOG", bucket_error(48), times=1)
    writer.append({"id": -1, "note": ""})
    with pytest.raises(fluss.FlussError):
        writer.flush().result(LIMIT_S)
    before = len(stub.asked("PRODUCE_LOG"))
    for i in range(10_000):
        writer.append({"id": i, "note": ""})
    writer.flush().result(LIMIT_S)
    assert len(stub.asked("PRODUCE_LOG")) - before < 200
    assert ids(log) == list(range(10_000))


def test_e15_appends_flush_and_close_at_once(stub, log):
    async def round_of(i):
        config = fluss.Config({"bootstrap.servers": stub.address})
        connection = await fluss.FlussConnection.create(config)
        table = await connection.get_table(fluss.TablePath("fluss", "log"))
        writer = table.new_append().create_writer()

        async def one(j):
            await writer.append({"id": i * 64 + j, "note": ""})

        await asyncio.gather(*(one(j) for j in range(64)), writer.flush())
        await connection.close()

    async def all_rounds():
        for i in range(10):
            await asyncio.wait_for(round_of(i), LIMIT_S)

    asyncio.run(all_rounds())
    assert log.of(0).end == 640


def test_e16_rows_larger_than_a_batch(stub, connect, log):
    client = connect(stub, writer_batch_size=1 << 20, request_timeout=20000)
    writer = client.writer("log")
    handles = [writer.append({"id": i, "note": "n" * (3 << 20)}) for i in range(10)]
    assert {outcome(h) for h in handles} == NONE_FAILED
    assert [count for _, count, _ in log.of(0).log] == [1] * 10


def test_e16_row_larger_than_the_buffer(stub, connect, log):
    client = connect(
        stub,
        writer_buffer_memory_size=65536,
        writer_batch_size=16384,
        writer_dynamic_batch_size_min=1024,
    )
    writer = client.writer("log")
    with pytest.raises(fluss.FlussError, match="65536") as caught:
        writer.append({"id": 1, "note": "n" * 100_000})
    assert caught.value.error_code == fluss.ErrorCode.RECORD_TOO_LARGE_EXCEPTION
    assert outcome(writer.append({"id": 2, "note": "small"})) is None
    assert client.metric("fluss_client_writer_buffer_bytes") == 0
    assert ids(log) == [2]


def test_e17_table_unknown_for_a_moment(stub, connect, log):
    """The metadata's word that a table is gone is not believed at once; each handle resolves."""
    client = connect(stub)
    writer = client.writer("log")
    stub.on("PRODUCE_LOG", bucket_error(12), times=1)
    stub.on("GET_METADATA", error(-1, "TableNotExistException: gone"), times=1)
    handles = [writer.append({"id": i, "note": ""}) for i in range(100)]
    assert {outcome(h) for h in handles} == NONE_FAILED
    assert ids(log) == list(range(100))


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("trouble", [bucket_error(14), close(), reset(), close(applied=True)])
def test_e18_retries_are_the_same_bytes(stub, connect, log, trouble, idempotent):
    client = connect(stub, writer_enable_idempotence="true" if idempotent else "false")
    writer = client.writer("log")
    stub.on("PRODUCE_LOG", trouble, times=1)
    handles = write_apart(stub, writer, 3)
    assert {outcome(h) for h in handles} == NONE_FAILED
    sent = {}
    for exchange in stub.asked("PRODUCE_LOG"):
        for part in exchange.message["buckets_req"]:
            for batch in batches(part["records"]):
                sent.setdefault(batch["payload"], set()).add(batch["bytes"])
    assert len(sent) == 3 and all(len(versions) == 1 for versions in sent.values())


@pytest.mark.parametrize("idempotent", [True, False])
def test_e18_order_is_kept_when_a_full_pipeline_breaks(stub, connect, log, idempotent):
    client = connect(stub, writer_enable_idempotence="true" if idempotent else "false")
    writer = client.writer("log")
    held = Hold(applied=False)
    rule = stub.on("PRODUCE_LOG", held, times=5)
    handles = [writer.write_arrow_batch(one_row(i)) for i in range(5)]
    stub.wait_until(lambda: rule.hits == 5, "five requests in flight")
    with stub.lock:
        for connection in stub.servers[0].connections():
            connection.reset()
    handles += [writer.write_arrow_batch(one_row(i)) for i in range(5, 10)]
    assert {outcome(h) for h in handles} == NONE_FAILED
    assert ids(log) == list(range(10))


def test_e19_close_sends_what_is_queued(stub, log):
    with Client(stub) as client:
        writer = client.writer("log")
        for i in range(1000):
            writer.append({"id": i, "note": ""})
    assert log.of(0).end == 1000


def test_e19_close_ends_although_nothing_is_answered(stub, log):
    with Client(stub, request_timeout=LOST_MS) as client:
        writer = client.writer("log")
        stub.on("PRODUCE_LOG", lose(applied=False))
        handles = [writer.append({"id": i, "note": ""}) for i in range(10)]
        started = time.monotonic()
    assert time.monotonic() - started < LIMIT_S / 2
    assert None not in {outcome(h) for h in handles}


def test_e19_error_inside_async_with_is_kept(stub, log):
    async def work():
        config = fluss.Config({"bootstrap.servers": stub.address})
        async with await fluss.FlussConnection.create(config) as connection:
            table = await connection.get_table(fluss.TablePath("fluss", "log"))
            async with table.new_append().create_writer() as writer:
                writer.append({"id": 1, "note": ""})
                raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(work())
    assert log.of(0).end == 1


# ---- the whole kind: answers that cannot be read, and failures that may have had an effect ----


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    "trouble",
    {
        "undecodable": cut_body(3),
        "bucket left out": change(lambda m: {"buckets_resp": []}),
        "closed after": close(applied=True),
        "cut frame": reset(applied=True, after=7),
        "timed out": bucket_error(25, applied=True),
        "replicas lost": bucket_error(28, applied=True),
    }.items(),
    ids=lambda item: item[0].replace(" ", "_"),
)
def test_an_answer_that_is_lost_after_the_effect(stub, connect, trouble, keyed):
    """The batch is sent again under the same number: it is there once, and so are the others."""
    key = {"primary_key": ["id"]} if keyed else {}
    table = stub.create_table("t", LOG, **key)
    writer = connect(stub).writer("t")
    put = writer.upsert if keyed else writer.append
    stub.on("PUT_KV" if keyed else "PRODUCE_LOG", trouble[1], times=1)
    results = [outcome(put({"id": i, "note": "x"})) for i in range(5)]
    assert results == [None] * 5
    assert table.of(0).end == 5


@pytest.mark.parametrize("code", [-1, 10, 11, 26])
def test_a_failure_that_had_an_effect_takes_no_other_row_along(stub, connect, log, code):
    """The server says error although it has the batch: the rows after it must not pass for it."""
    client = connect(stub, writer_retries=1)
    writer = client.writer("log")
    stub.on("PRODUCE_LOG", bucket_error(code, applied=True), times=1)
    stub.on("PRODUCE_LOG", bucket_error(code), times=1)
    handles = write_apart(stub, writer, 1) + [writer.append({"id": 1, "note": ""})]
    results = [outcome(h) for h in handles]
    later = [outcome(writer.append({"id": i, "note": ""})) for i in range(2, 6)]
    assert later == [None] * 4
    found = ids(log)
    assert [i for i in found if i >= 2] == [2, 3, 4, 5]
    assert len(found) == len(set(found))
    assert all(i in found for i, result in enumerate(results) if result is None)


def test_trouble_of_one_bucket_stays_its_own(cluster, connect):
    """A bucket whose writer id is lost takes a new one; the others keep theirs, and their rows."""
    table = cluster.create_table("t", LOG, buckets=3, bucket_key=["id"])
    client = connect(cluster, client_bucket_hash="java")
    writer = client.writer("t")
    assert {outcome(writer.append({"id": i, "note": ""})) for i in range(30)} == NONE_FAILED
    for _ in range(3):
        cluster.on("PRODUCE_LOG", bucket_error(31, bucket=0), times=1, when=leads(0))
        results = [outcome(writer.append({"id": i, "note": ""})) for i in range(30)]
        assert results.count(31) == 1
    writers = {bucket: set() for bucket in range(3)}
    for exchange in cluster.asked("PRODUCE_LOG"):
        for part in exchange.message["buckets_req"]:
            writers[part["bucket_id"]].add(BATCH.unpack_from(part["records"])[8])
    assert len(writers[0]) == 4 and len(writers[1]) == len(writers[2]) == 1
    assert sum(table.of(i).end for i in range(3)) == 30 * 4 - 3


def leads(server_id):
    return lambda exchange: exchange.server.id == server_id


def test_order_is_kept_over_a_lost_writer_id(stub, connect, log):
    """Batches that were under way when the id was lost go out again, in order, before new ones."""
    writer = connect(stub).writer("log")
    assert outcome(writer.append({"id": 0, "note": ""})) is None
    with stub.lock:
        log.of(0).writers.clear()  # the server has forgotten it: every number but 0 is refused
    held = Hold()
    rule = stub.on("PRODUCE_LOG", held, times=4)
    handles = [writer.write_arrow_batch(one_row(i)) for i in range(1, 5)]
    stub.wait_until(lambda: rule.hits == 4, "four requests in flight")
    handles += [writer.write_arrow_batch(one_row(i)) for i in range(5, 9)]
    held.release(stub)
    results = [outcome(h) for h in handles]
    assert results[0] == 31 and set(results[1:]) == NONE_FAILED
    assert ids(log) == [0, *range(2, 9)]


def test_sequences_go_on_after_the_queue_of_a_bucket_failed(stub, connect, log):
    """A numbered batch that is given up leaves no hole that blocks the bucket for ever."""
    writer = connect(stub).writer("log")
    assert outcome(writer.append({"id": 0, "note": ""})) is None
    stub.on("PRODUCE_LOG", close(), times=1)
    stub.on("GET_METADATA", error(48, "no right to see it"), times=1)
    first = outcome(writer.append({"id": 1, "note": ""}))
    assert first in (None, 48)
    assert [outcome(writer.append({"id": i, "note": ""})) for i in range(2, 5)] == [None] * 3
    assert ids(log) == [0, *([1] if first is None else []), 2, 3, 4]


def test_drain_reads_what_was_written(stub, connect, log):
    client = connect(stub)
    client.writer("log").append({"id": 5, "note": "five"})
    assert drain(client.scanner("log"), 1) == [(0, 0, {"id": 5, "note": "five"})]


@pytest.mark.parametrize("kind", ["sticky", "round_robin"])
def test_rows_without_a_key_go_where_a_leader_is(cluster, connect, kind):
    """A bucket without a leader keeps what it has, and gets no more until it has one."""
    table = cluster.create_table("t", LOG, buckets=3)
    client = connect(cluster, writer_bucket_no_key_assigner=kind)
    writer = client.writer("t")
    assert {outcome(writer.append({"id": -1, "note": ""})) for _ in range(12)} == {None}
    with cluster.lock:
        table.of(1).leader = None
    refreshed = len(cluster.asked("GET_METADATA"))
    early = [writer.write_arrow_batch(one_row(i)) for i in range(60)]  # "sticky" draws: 1 in 2 each
    cluster.wait_until(lambda: len(cluster.asked("GET_METADATA")) > refreshed, "the client noticed")
    assert {outcome(writer.append({"id": i, "note": ""})) for i in range(60, 120)} == {None}
    with cluster.lock:
        table.of(1).leader = 2
    assert {outcome(handle) for handle in early} == NONE_FAILED
    assert sum(table.of(i).end for i in range(3)) == 12 + 120
