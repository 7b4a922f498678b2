# SPDX-License-Identifier: Apache-2.0
"""Bytes that no client sends.

Goal: garbage never kills the server, never makes it grow, never hangs another connection, and what
can be answered gets a typed error. Method: one server for all tests; after each, an ordinary
request on a connection of its own. FLUSS_TEST_SEED draws others.
"""

import contextlib
import os
import random
import socket
import struct

import pytest
from wire import (
    API,
    FAILURE,
    SCHEMA,
    SUCCESS,
    Connection,
    Server,
    ServerError,
    batch,
    create_table,
    decode,
    encode,
    fetch,
    fetched,
    path_of,
    produce,
    varint,
)

SEED = int(os.environ.get("FLUSS_TEST_SEED", "20261130"))
RSS_GROWTH_KIB_MAX = 128 << 10  # far below what each test asks for, also with sanitizers


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("garbage") / "data") as running:
        with running.connect() as connection:
            running.table_id = create_table(connection, "victim", buckets=2)
            connection.ask("PRODUCE_LOG", produce(running.table_id, batch(b"row")))
        yield running


@pytest.fixture(autouse=True)
def unharmed(server):
    """After each test the server answers others, and has not grown."""
    print(f"FLUSS_TEST_SEED={SEED}")
    before = server.rss_kib()
    yield
    assert server.is_alive()
    with server.connect() as connection:
        assert "fluss" in connection.ask("LIST_DATABASES")["database_name"]
        answer = fetched(connection.ask("FETCH_LOG", fetch(server.table_id, 0)))
        assert answer["high_watermark"] >= 1
    assert server.rss_kib() - before < RSS_GROWTH_KIB_MAX


def drained(connection):
    """What the server still says until it closes; an error when it does not close."""
    frames = []
    with contextlib.suppress(ConnectionError):
        while True:
            frames.append(connection.frame())
    return frames


@pytest.mark.parametrize("length", [2**31 - 1, -1, -(2**31), 0, 7, 100 << 20])
def test_a_length_no_request_can_have_is_refused_and_closed(server, length):
    with server.connect() as connection:
        connection.send_raw(struct.pack(">i", length))
        ((kind, _, body),) = drained(connection)
        assert kind == FAILURE
        assert decode("ErrorResponse", body)["error_code"] == -1


def test_many_announced_frames_cost_nothing(server):
    """200 connections that each announce almost 100 MiB and send nothing of it."""
    before = server.rss_kib()
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            connection = stack.enter_context(server.connect())
            connection.send_raw(struct.pack(">ihhi", (100 << 20) - 8, 1014, 0, 0))
        with server.connect() as connection:
            connection.ask("LIST_DATABASES")
        assert server.rss_kib() - before < RSS_GROWTH_KIB_MAX


def test_random_bytes(server):
    chance = random.Random(SEED)
    for _ in range(200):
        with server.connect() as connection, contextlib.suppress(OSError):
            connection.send_raw(chance.randbytes(chance.choice((1, 4, 12, 100, 5000))))


def test_half_frames_cut_at_each_byte(server):
    whole = struct.pack(">ihhi", 8, API["LIST_DATABASES"][0], 0, 0)
    for size in range(1, len(whole)):
        with server.connect() as connection:
            connection.send_raw(whole[:size])
            connection.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )


def test_a_frame_in_single_bytes_is_answered(server):
    with server.connect() as connection:
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in struct.pack(">ihhi", 8, API["LIST_DATABASES"][0], 0, 5):
            connection.send_raw(bytes([byte]))
        assert connection.frame()[:2] == (SUCCESS, 5)


def test_an_unknown_key_is_answered_and_the_connection_stays(server):
    with server.connect() as connection:
        for key in (0, 1, 999, 1013, 1065, -1, 32767):
            connection.send_raw(struct.pack(">ihhi", 8, key, 0, 77))
            kind, request_id, body = connection.frame()
            assert (kind, request_id) == (1, 77)
            assert decode("ErrorResponse", body)["error_code"] == 2
        connection.ask("LIST_DATABASES")


def test_a_malformed_message_is_answered_and_the_connection_stays(server):
    with server.connect() as connection:
        for body in (b"\xff" * 20, b"\x0a\x7f", b"\x08" + b"\xff" * 11, b"\x0a\x02\xff\xfe"):
            with pytest.raises(ServerError) as caught:
                connection.ask("TABLE_EXISTS", body=body)
            assert caught.value.code == -1
            assert "TABLE_EXISTS" in caught.value.text
        connection.ask("LIST_DATABASES")


def test_a_missing_required_field_is_named(server):
    with server.connect() as connection, pytest.raises(ServerError, match="database_name"):
        connection.ask("GET_DATABASE_INFO", {})


def test_deeply_nested_predicates(server):
    with server.connect() as connection:
        for depth in (10, 100, 2000):
            nested = b""
            for _ in range(depth):
                inner = b"\x08\x00" + b"\x12" + _size(nested) + nested
                nested = b"\x08\x01\x1a" + _size(inner) + inner
            table = encode(
                "PbFetchLogReqForTable",
                {"table_id": server.table_id, "projection_pushdown_enabled": False},
            )
            table += b"\x2a" + _size(nested) + nested
            body = encode("FetchLogRequest", {"follower_server_id": -1, "max_bytes": 1})
            body += b"\x1a" + _size(table) + table
            kind, _ = connection.answer(connection.send("FETCH_LOG", body=body))
            assert kind in (0, 1)


def _size(data):
    return varint(len(data))


# ---- every message with random fields ----


def random_message(chance, name, depth=0):
    out = {}
    for f in SCHEMA[name].fields:
        if chance.random() < 0.1 or (f.is_message and depth > 4):
            continue
        count = chance.choice((0, 1, 1, 2, 5)) if f.is_repeated else 1
        values = [random_value(chance, f, depth) for _ in range(count)]
        out[f.name] = values if f.is_repeated else values[0]
    return out


INTERESTING = [0, 1, -1, -2, 2, 7, 2**31 - 1, -(2**31), 1 << 40, 2**63 - 1, -(2**63)]
TEXTS = ["", "fluss", "victim", "a" * 201, "__x", "..", "ä", "a.b", "day", "x" * 5000]


def random_value(chance, f, depth):
    if f.is_message:
        return random_message(chance, f.type, depth + 1)
    if f.type == "string":
        return chance.choice(TEXTS)
    if f.type == "bytes":
        return chance.choice(
            (b"", b"{}", b"[1,", batch(b"x"), batch(b"x", 5, 3, 0)[:40], chance.randbytes(60))
        )
    if f.type == "bool":
        return chance.random() < 0.5
    if f.type in ("float", "double"):
        return chance.random()
    value = chance.choice(INTERESTING)
    return max(min(value, 2**31 - 1), -(2**31)) if f.type == "int32" else value


#: Waits that long, and answers to nobody.
QUIET = {"FETCH_LOG": {"max_wait_ms": 0}}


@pytest.mark.parametrize("api", sorted(API))
def test_random_fields(server, api):
    chance = random.Random(f"{SEED} {api}")
    with server.connect() as connection:
        for _ in range(40):
            message = {**random_message(chance, API[api][1]), **QUIET.get(api, {})}
            if api in ("DROP_TABLE", "DROP_DATABASE"):
                message["ignore_if_not_exists"] = True
                message.pop("table_path", None)
                message["database_name"] = "nothing"
            if api == "DROP_TABLE":
                message.pop("database_name")
                message["table_path"] = path_of("nothing")
            kind, answer = connection.answer(connection.send(api, message))
            assert kind in (0, 1), answer


# ---- many and slow ----


def test_a_thousand_connects(server):
    for _ in range(10):
        with contextlib.ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(server.connect())


def test_a_reader_that_does_not_read_is_held_back(server):
    """Requests for half a gigabyte of responses, none of which is read."""
    with server.connect() as connection:
        data = batch(bytes(900_000))
        for _ in range(4):
            connection.ask("PRODUCE_LOG", produce(server.table_id, data, bucket=1))
    before = server.rss_kib()
    with server.connect() as slow:
        slow.socket.settimeout(2)
        with contextlib.suppress(TimeoutError):
            for _ in range(200):
                for _ in range(10):
                    slow.send("FETCH_LOG", fetch(server.table_id, 0, bucket=1))
                with server.connect() as other:
                    other.ask("LIST_DATABASES")
        assert server.rss_kib() - before < 256 << 10


def test_waiting_fetches_of_gone_clients_are_dropped(server):
    for _ in range(20):
        with server.connect() as connection:
            for _ in range(20):
                connection.send("FETCH_LOG", fetch(server.table_id, 1, wait_ms=600_000))
    with server.connect() as connection:
        connection.ask("PRODUCE_LOG", produce(server.table_id, batch(b"more")))


def test_more_requests_than_allowed_in_flight_wait_their_turn(server):
    """600 fetches that wait, then a request behind them: it is answered when they are."""
    with server.connect() as connection:
        end = fetched(connection.ask("FETCH_LOG", fetch(server.table_id, 0)))["high_watermark"]
        waiting = [
            connection.send("FETCH_LOG", fetch(server.table_id, end, wait_ms=300))
            for _ in range(600)
        ]
        last = connection.send("LIST_DATABASES")
        assert connection.answer(last)[0] == SUCCESS
        for request_id in waiting:
            assert fetched(connection.answer(request_id)[1])["records"] == b""


def test_a_wrong_length_behind_requests_that_wait_their_turn_is_refused(server):
    waiting = fetch(server.table_id, 0, bucket=1, wait_ms=200)
    key, request, _ = API["FETCH_LOG"]
    body = encode(request, waiting)
    asked = struct.pack(">ihhi", 8 + len(body), key, 0, 1) + body
    with server.connect() as connection:
        connection.send_raw(asked * 300 + struct.pack(">i", -1) + asked)
        kinds = [kind for kind, _, _ in drained(connection)]
        assert kinds[0] == SUCCESS
        assert kinds[-1] == FAILURE
        assert kinds.count(FAILURE) == 1


def test_a_batch_larger_than_the_fetch_limit_is_served(server):
    with server.connect() as connection:
        data = batch(bytes(2 << 20))
        answer = connection.ask("PRODUCE_LOG", produce(server.table_id, data, bucket=1))
        assert "error_code" not in answer["buckets_resp"][0]
        with Connection(server.address) as reader:
            at = answer["buckets_resp"][0]["base_offset"]
            got = fetched(reader.ask("FETCH_LOG", fetch(server.table_id, at, bucket=1)))
            assert got["records"][21:] == data[21:]


def test_requests_of_many_tiny_parts_are_refused_before_they_cost_memory(server):
    """100 MiB of two-byte fields would decode to gigabytes."""
    tiny = {
        "PRODUCE_LOG": (b"\x22\x00" * (20 << 20), "parts"),
        "LIST_OFFSETS": (b"\x2a" + _size(bytes(1 << 20)) + bytes(1 << 20), "buckets"),
        "GET_METADATA": (b"\x1a" + _size(bytes(1 << 20)) + bytes(1 << 20), "at most"),
        "LOOKUP": (
            b"\x12\x00" * (9 << 20),
            "LOOKUP: a request of 18874368 bytes that is not a write",
        ),
    }
    for api, (body, words) in tiny.items():
        if api == "LIST_OFFSETS":
            request = {"follower_server_id": -1, "offset_type": 0, "table_id": 0}
            body = encode("ListOffsetsRequest", request) + body
        with server.connect() as connection:
            with pytest.raises(ServerError, match=words) as caught:
                connection.ask(api, body=body)
            assert caught.value.code == -1
            connection.ask("LIST_DATABASES")
