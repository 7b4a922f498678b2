# SPDX-License-Identifier: Apache-2.0
"""Scans of primary-key buckets that go on over several requests (SCAN_KV).

Goal: a scan gives every row of its moment once, whatever is written meanwhile; what is asked
wrongly has its code; scans are bounded in number and time, and end with the server. Method: raw
frames, a batch of a byte, so that each answer has one row. Rights and drops: test_access.py.
"""

import time

import pytest
from rows import Table, value_records
from wire import LIMIT_S, Server

EXPIRED, UNKNOWN, INVALID, TOO_MANY = 66, 67, 68, 69
ROWS = 9
PER_BUCKET, PER_SERVER = 2, 3


@pytest.fixture
def server(tmp_path, request):
    settings = {
        "kv.scanner.max-per-bucket": str(PER_BUCKET),
        "kv.scanner.max-per-server": str(PER_SERVER),
        **getattr(request, "param", {}),
    }
    options = [word for pair in settings.items() for word in ("-o", "=".join(pair))]
    with Server(tmp_path / "data", *options) as started:
        yield started


@pytest.fixture
def connection(server):
    with server.connect() as opened:
        yield opened


@pytest.fixture
def table(connection):
    made = Table("rows", [("id", "INT")]).create(connection, buckets=3)
    for bucket in range(3):
        records = [([i], False) for i in range(ROWS)]
        connection.ask("PUT_KV", made.put(records, bucket=bucket))
    return made


def opening(table, bucket=0, **more):
    scan = {"table_id": table.id, "bucket_id": bucket, **more}
    return {"bucket_scan_req": scan, "call_seq_id": 0, "batch_size_bytes": 1}


def going_on(answer, call, **more):
    return {
        "scanner_id": answer["scanner_id"],
        "call_seq_id": call,
        "batch_size_bytes": 1,
        **more,
    }


def code_of(connection, request):
    return connection.ask("SCAN_KV", request).get("error_code")


def test_a_scan_gives_the_rows_of_its_moment_once(connection, table):
    answers = [connection.ask("SCAN_KV", opening(table))]
    connection.ask("PUT_KV", table.put([([100], False), ([0], True), ([8], True)]))
    while answers[-1]["has_more_results"]:
        answers.append(connection.ask("SCAN_KV", going_on(answers[0], len(answers))))
    assert [len(value_records(answer["records"])) for answer in answers] == [1] * ROWS
    assert len({answer["records"] for answer in answers}) == ROWS
    assert code_of(connection, going_on(answers[0], ROWS)) == UNKNOWN, "it has ended"


def test_a_limit_ends_a_scan(connection, table):
    assert not connection.ask("SCAN_KV", opening(table, limit=1))["has_more_results"]
    assert connection.ask("SCAN_KV", opening(table, limit=2))["has_more_results"]
    assert code_of(connection, opening(table, limit=-1)) == INVALID


def test_what_is_asked_wrongly_leaves_the_scan_as_it_is(connection, table):
    first = connection.ask("SCAN_KV", opening(table))
    wrong = [
        going_on(first, 0),
        going_on(first, 2),
        going_on(first, -1),
        going_on(first, None),
        going_on(first, 1, batch_size_bytes=0),
        going_on(first, 1, batch_size_bytes=-5),
        {**opening(table), **going_on(first, 1)},
        {"call_seq_id": 0, "batch_size_bytes": 1},
        {**opening(table), "call_seq_id": 1},
    ]
    assert [code_of(connection, request) for request in wrong] == [INVALID] * len(wrong)
    for scanner_id in (b"", b"x", b"0" * 32, b"\xff" * 32, first["scanner_id"][:-1]):
        request = {**going_on(first, 1), "scanner_id": scanner_id}
        assert code_of(connection, request) == UNKNOWN
    assert connection.ask("SCAN_KV", going_on(first, 1))["has_more_results"]
    assert code_of(connection, going_on(first, 1)) == INVALID, "each call once"


def test_open_scans_are_bounded_and_closing_makes_room(connection, table):
    first = connection.ask("SCAN_KV", opening(table))
    assert code_of(connection, opening(table)) is None
    assert code_of(connection, opening(table)) == TOO_MANY, "of the bucket"
    assert code_of(connection, opening(table, bucket=1)) is None
    assert code_of(connection, opening(table, bucket=2)) == TOO_MANY, "of the server"
    assert code_of(connection, going_on(first, 1, close_scanner=True)) is None
    assert code_of(connection, going_on(first, 1, close_scanner=True)) == UNKNOWN
    assert code_of(connection, opening(table, bucket=2)) is None


@pytest.mark.parametrize("server", [{"kv.scanner.ttl": "200ms"}], indirect=True)
def test_a_scan_that_is_left_alone_ends_and_makes_room(connection, table):
    first = connection.ask("SCAN_KV", opening(table))
    assert code_of(connection, opening(table)) is None
    deadline = time.monotonic() + LIMIT_S
    while code_of(connection, opening(table)) == TOO_MANY:
        assert time.monotonic() < deadline
    assert code_of(connection, going_on(first, 1)) in (EXPIRED, UNKNOWN)


def test_a_scan_ends_with_the_server(server, connection, table):
    first = connection.ask("SCAN_KV", opening(table))
    server.kill()
    with server.start().connect() as again:
        assert code_of(again, going_on(first, 1)) == UNKNOWN
        assert code_of(again, opening(table)) is None
