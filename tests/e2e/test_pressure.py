# SPDX-License-Identifier: Apache-2.0
"""A disk that stands still: waits end in time, memory stays bounded, nothing is lost.

Goal: a write with acks -1 is answered within its timeout_ms, and rows that wait for the disk take
no more than kv.prewrite-buffer.size; above it writes are refused with codes after which clients try
again, as ours does. Method: slow_disk.c holds every fdatasync of the server while a test holds the
gate.
"""

import contextlib
import fcntl
import re
import sys
import time

import pytest
from rows import Table
from wire import BUILD, Server, batch, create_table, produce, read_log

TIME_OUT, KV_STORAGE, BACKPRESSURE = 25, 11, 72
TIMEOUT_MS, ANSWER_S_MAX = 200, 10
LIMIT_S = 30
ROW_SIZE = 16 << 10
BOUND = 256 << 10
COLUMNS = [("id", "INT"), ("v", "BYTES")]


class Gate:
    def __init__(self, path):
        self.path = path
        path.touch()

    @contextlib.contextmanager
    def closed(self):
        """The disk stands still meanwhile."""
        with open(self.path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path / "gate")


def slow_server(folder, gate, *options, log=None, **environment):
    shim = (BUILD / "tests" / "e2e" / "libslow_disk.so").resolve()
    environment |= {"LD_PRELOAD": str(shim), "SLOW_DISK_GATE": str(gate.path)}
    settings = [word for option in options for word in ("-o", option)]
    return Server(folder / "data", *settings, environment=environment, log=log)


@pytest.fixture
def server(tmp_path, gate):
    with slow_server(tmp_path, gate, f"kv.prewrite-buffer.size={BOUND}") as started:
        yield started


@pytest.fixture
def connection(server):
    with server.connect() as opened:
        yield opened


def codes(answer):
    return [bucket.get("error_code", 0) for bucket in answer["buckets_resp"]]


def asked_in_time(connection, api, request):
    started = time.monotonic()
    answer = connection.ask(api, request)
    # The server's clock counts milliseconds: one may have been nearly over when it asked for it.
    assert (TIMEOUT_MS - 2) / 1000 <= time.monotonic() - started < ANSWER_S_MAX
    return answer


def test_a_log_write_waits_no_longer_than_it_says(connection, gate):
    table_id = create_table(connection, "slow", buckets=3)
    connection.ask("PRODUCE_LOG", produce(table_id, batch(b"first")))
    with gate.closed():
        request = produce(table_id, batch(b"second"))
        buckets = [{**request["buckets_req"][0], "bucket_id": i} for i in range(3)]
        request.update(timeout_ms=TIMEOUT_MS, buckets_req=buckets)
        answer = asked_in_time(connection, "PRODUCE_LOG", request)
        assert codes(answer) == [TIME_OUT] * 3
        assert "base_offset" not in answer["buckets_resp"][0]
    connection.ask("PRODUCE_LOG", produce(table_id, batch(b"third")))
    payloads = [found["payload"] for found in read_log(connection, table_id)]
    assert payloads == [b"first", b"second", b"third"], "what was written stays"


def test_rows_wait_no_longer_than_they_say(connection, gate):
    table = Table("slow_rows", COLUMNS).create(connection)
    connection.ask("PUT_KV", table.put([([1, b"a"], False)]))
    with gate.closed():
        request = table.put([([2, b"b"], False)], timeout_ms=TIMEOUT_MS)
        assert codes(asked_in_time(connection, "PUT_KV", request)) == [TIME_OUT]
        insert = {**table.lookup([[3, None]]), "insert_if_not_exists": True}
        insert.update(acks=-1, timeout_ms=TIMEOUT_MS)
        assert codes(asked_in_time(connection, "LOOKUP", insert)) == [TIME_OUT]
        found = connection.ask("LOOKUP", table.lookup([[1, None], [2, None]]))
        (first, second) = found["buckets_resp"][0]["values"]
        assert "values" in first, "reads go on"
        assert "values" not in second, "what is not on disk is not shown"
    connection.ask("PUT_KV", table.put([([4, b"d"], False)]))
    rows = [values for _, _, values in table.changelog(connection)]
    assert rows == [[1, b"a"], [2, b"b"], [3, None], [4, b"d"]]


@pytest.mark.parametrize("version, refusal", [(0, KV_STORAGE), (1, KV_STORAGE), (2, BACKPRESSURE)])
def test_rows_that_wait_take_bounded_memory(connection, gate, version, refusal):
    table = Table(f"full_{version}", COLUMNS).create(connection)
    connection.ask("PUT_KV", table.put([([-1, b""], False)]))
    requests = [table.put([([i, bytes(ROW_SIZE)], False)]) for i in range(40)]
    with gate.closed():
        sent = [connection.send("PUT_KV", request, version=version) for request in requests]
        _, last = connection.answer(sent[-1])  # at once: it is refused
        assert codes(last) == [refusal]
        keys = [[i, None] for i in range(1000, 3000)]
        insert = {**table.lookup(keys), "insert_if_not_exists": True}
        insert.update(acks=-1, timeout_ms=TIMEOUT_MS)
        assert codes(connection.ask("LOOKUP", insert)) == [KV_STORAGE]
        taken = []
    for i, request_id in enumerate(sent[:-1]):
        _, answer = connection.answer(request_id)
        assert codes(answer) in ([0], [refusal]), "no other outcome"
        if codes(answer) == [0]:
            taken.append(i)
            pressure = answer["buckets_resp"][0].get("pressure")
            assert pressure is None or (version == 2 and 0 < pressure < 1)
    assert taken == list(range(len(taken))), "all before the bound, none behind it"
    assert BOUND // 2 < len(taken) * ROW_SIZE <= BOUND
    for i in set(range(40)) - set(taken):  # a second try, when the disk is back
        assert codes(connection.ask("PUT_KV", requests[i])) == [0]
    found = connection.ask("LOOKUP", table.lookup([[i, None] for i in range(40)]))
    assert all("values" in value for value in found["buckets_resp"][0]["values"])


def test_clients_of_version_2_are_asked_to_slow_down(connection, gate):
    table = Table("pressed", COLUMNS).create(connection)
    connection.ask("PUT_KV", table.put([([-1, b""], False)]))
    with gate.closed():
        request = table.put([([0, bytes(ROW_SIZE)], False)], acks=1)
        pressures = []
        for _ in range(40):
            _, answer = connection.answer(connection.send("PUT_KV", request, version=2))
            pressures.append(answer["buckets_resp"][0].get("pressure"))
    told = [pressure for pressure in pressures if pressure is not None]
    assert told and pressures[0] is None
    assert told == sorted(told) and told[0] > 0 and told[-1] < 1


def test_a_batch_above_the_bound_is_taken_when_nothing_waits(connection):
    table = Table("large", COLUMNS).create(connection)
    assert codes(connection.ask("PUT_KV", table.put([([1, bytes(2 * BOUND)], False)]))) == [0]


def test_our_client_tries_again(server, connection, gate):
    sys.path.insert(0, str((BUILD / "python").resolve()))
    import fluss

    table = Table("client", COLUMNS).create(connection, buckets=4)
    sizes = {"writer.batch-size": "16kb", "writer.dynamic-batch-size-min": "16kb"}
    settings = {"bootstrap.servers": server.address, **sizes}
    client = fluss.FlussConnection.create(fluss.Config(settings)).result(LIMIT_S)
    writer = client.get_table(fluss.TablePath("fluss", "client")).result(LIMIT_S).new_upsert()
    writer = writer.create_writer()
    writer.upsert({"id": -1, "v": b""}).wait().result(LIMIT_S)
    probe = table.put([([-2, bytes(ROW_SIZE)], False)], acks=1)
    with gate.closed():
        handles = [writer.upsert({"id": i, "v": bytes(ROW_SIZE // 2)}) for i in range(100)]
        deadline = time.monotonic() + LIMIT_S
        while codes(connection.ask("PUT_KV", probe)) == [0]:  # its rows fill the memory too
            assert time.monotonic() < deadline
    for handle in handles:
        handle.wait().result(LIMIT_S)
    lookuper = client.get_table(fluss.TablePath("fluss", "client")).result(LIMIT_S).new_lookup()
    rows = lookuper.create_lookuper().lookup_many([{"id": i} for i in range(100)]).result(LIMIT_S)
    assert [row["id"] for row in rows] == list(range(100))
    client.close().result(LIMIT_S)


@pytest.mark.parametrize("flush", ["ack", "os"])
def test_a_store_that_stands_still_holds_up_nothing_else(tmp_path, gate, flush):
    """RocksDB cannot write its files: puts wait, or are refused; logs and lookups go on."""
    options = ("server.shards=1", "kv.rocksdb.writebuffer.size=64kb", f"log.flush={flush}")
    log = tmp_path / "log"
    with (
        log.open("wb") as stream,
        slow_server(tmp_path, gate, *options, log=stream, SLOW_DISK_ONLY=".sst") as server,
        server.connect() as connection,
        server.connect() as other,
    ):
        table = Table("rows", COLUMNS).create(connection)
        log_table = create_table(connection, "log")
        connection.ask("PUT_KV", table.put([([-1, b"there"], False)]))
        requests = [table.put([([i, bytes(ROW_SIZE)], False)]) for i in range(99)]
        probe = table.put([([-2, b""], False)], acks=1)

        def wait_for(code):
            deadline = time.monotonic() + LIMIT_S
            while codes(other.ask("PUT_KV", probe, version=2)) != [code]:
                assert time.monotonic() < deadline

        with gate.closed():
            sent = [connection.send("PUT_KV", request, version=2) for request in requests]
            wait_for(BACKPRESSURE)
            for i in range(20):
                answer = other.ask("PRODUCE_LOG", produce(log_table, batch(b"%d" % i)))
                assert codes(answer) == [0]
                found = other.ask("LOOKUP", table.lookup([[-1, None]]))
                assert "values" in found["buckets_resp"][0]["values"][0]
        for i, request_id in enumerate(sent):
            _, answer = connection.answer(request_id)
            assert codes(answer) in ([0], [BACKPRESSURE])
            found = other.ask("LOOKUP", table.lookup([[i, None]]))["buckets_resp"][0]["values"][0]
            assert ("values" in found) == (codes(answer) == [0]), "what is answered can be read"
        wait_for(0)
    told = re.findall("takes no rows|takes rows again", log.read_text())
    assert told[::2] == ["takes no rows"] * len(told[::2]), "each time once"
    assert told[1::2] == ["takes rows again"] * len(told[1::2])
