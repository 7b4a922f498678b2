# SPDX-License-Identifier: Apache-2.0
"""Tables that are altered, dropped and made again under the clients that use them.

Goal: rows of a schema that can't be had hold no others up; what was asked for by a table's name is
never taken from, or done to, another table that has the name by now; a table that is gone is told
by its natural code, whatever the server's text. Method: the stub changes its tables at the moment
that matters.
"""

import json
import struct
import time

import fluss
import pytest
from stub import Hold, bucket_error
from test_d_scanner import LOG, code_of_poll, fill, offsets
from wire import crc32c

from client import LIMIT_S, drain, ids, outcome

GONE = fluss.ErrorCode.TABLE_NOT_EXIST
NEWER = 7  # a schema that handles do not know
OTHER = {"other": "STRING", "more": "BIGINT", "id": "INTEGER"}


def set_schema(bucket, at, schema_id=NEWER):
    """Let a batch of a bucket's log be of another schema."""
    base, count, data = bucket.log[at]
    checked = struct.pack("<h", schema_id) + data[27:]
    bucket.log[at] = (base, count, data[:21] + struct.pack("<I", crc32c(checked)) + checked)


def answer_schema(schema_id=NEWER):
    """Give the present table's schema for whatever id is asked for."""

    def act(exchange):
        table = exchange.stub.cluster.table_at(exchange.message["table_path"])
        schema = json.dumps(json.loads(table.json)["schema"]).encode()
        exchange.send(exchange.success({"schema_id": schema_id, "schema_json": schema}))

    return act


def refuse_table(code, text):
    def act(exchange):
        exchange.send(exchange.error(code, text))

    return act


# ---- schemas ----


@pytest.mark.full
def test_a_schema_that_is_not_there_holds_no_other_bucket_up(stub, connect):
    table = stub.create_table("t", LOG, buckets=2, bucket_key=["id"])
    client = connect(stub, client_bucket_hash="java")
    fill(client, "t", 60)
    set_schema(table.of(1), 5)
    before = table.of(1).log[5][0]
    scanner = client.scanner("t", buckets=2)
    found, errors, until = [], [], time.monotonic() + LIMIT_S
    wanted = table.of(0).end + before
    while (len(found) < wanted or not errors) and time.monotonic() < until:
        try:
            found += [(r.bucket.bucket_id, r.offset) for r in scanner.poll(200).result(LIMIT_S)]
        except fluss.FlussError as error:
            errors.append(error)
    expected = [(0, i) for i in range(table.of(0).end)] + [(1, i) for i in range(before)]
    assert sorted(found) == expected
    assert errors[0].error_code == fluss.ErrorCode.SCHEMA_NOT_EXIST
    assert f"bucket 1, schema {NEWER}" in str(errors[0])


def test_another_schema_than_the_one_asked_for_is_told(stub, connect):
    table = stub.create_table("log", LOG)
    client = connect(stub)
    fill(client, "log", 2)
    set_schema(table.of(0), 1)
    rule = stub.on("GET_TABLE_SCHEMA", answer_schema(1))
    scanner = client.scanner("log")
    assert offsets(drain(scanner, 1)) == [0]
    assert f"schema 1 came, {NEWER}" in str(code_of_poll(scanner))
    assert rule.hits < 10


def remake(stub, name, **more):
    with stub.lock:
        del stub.cluster.tables["fluss", name]
        return stub.create_table(name, OTHER, **more)


def remade_meanwhile(name, **more):
    """The table is made again with other columns just before its schema is looked up."""

    def act(exchange):
        if exchange.stub.cluster.tables["fluss", name].json.find(b"other") < 0:
            remake(exchange.stub, name, **more)
        answer_schema()(exchange)

    return act


def test_rows_are_not_read_by_the_schema_of_a_new_table(stub, connect):
    table = stub.create_table("log", LOG)
    client = connect(stub)
    fill(client, "log", 3)
    set_schema(table.of(0), 0)
    stub.on("GET_TABLE_SCHEMA", remade_meanwhile("log"))
    scanner = client.scanner("log")
    assert code_of_poll(scanner).error_code == GONE


def test_lookups_are_not_read_by_the_schema_of_a_new_table(stub, connect):
    table = stub.create_table("pk", LOG, primary_key=["id"])
    client = connect(stub)
    assert outcome(client.writer("pk").upsert({"id": 1, "note": "a"})) is None
    rows = table.of(0).rows
    for key, value in rows.items():
        rows[key] = struct.pack("<h", NEWER) + value[2:]
    stub.on("GET_TABLE_SCHEMA", remade_meanwhile("pk", primary_key=["id"]))
    lookuper = client.open("pk").new_lookup().create_lookuper()
    assert outcome(lookuper.lookup({"id": 1})) == GONE


# ---- partitions ----

PARTED = {"id": "INTEGER", "day": "STRING"}


def test_a_batch_for_a_partition_that_was_made_anew_meanwhile(stub, connect):
    """Its refusal names the id that it was sent to, which the partition has no more."""
    table = stub.create_table("parted", PARTED, buckets=2, bucket_key=["id"], partition_key=["day"])
    client = connect(stub, client_bucket_hash="java")
    with stub.lock:
        stub.cluster.add_partition(table, "a")
    old = table.partitions["a"]
    writer = client.writer("parted")
    first = {}
    for i in range(16):
        handle = writer.append({"id": i, "day": "a"})
        assert outcome(handle) is None
        first.setdefault(handle.bucket.bucket_id, i)
    assert set(first) == {0, 1}
    hold = Hold(applied=False)
    held = stub.on(
        "PRODUCE_LOG", hold, times=1, when=lambda e: e.message["buckets_req"][0]["bucket_id"] == 1
    )
    late = writer.append({"id": first[1], "day": "a"})
    stub.wait_until(lambda: held.hits == 1, "the write to bucket 1")
    with stub.lock:
        del table.partitions["a"]
        for bucket in (0, 1):
            del table.buckets[old, bucket]
        stub.cluster.add_partition(table, "a")
    assert outcome(writer.append({"id": first[0], "day": "a"})) is None
    hold.release(stub)
    assert outcome(late) is None
    new = table.partitions["a"]
    assert late.bucket.partition_id == new != old
    assert ids(table, 0, new) + ids(table, 1, new) == [first[0], first[1]]


def test_no_partition_is_made_in_a_new_table_of_the_name(stub, connect):
    stub.create_table("parted", PARTED, partition_key=["day"])
    client = connect(stub, writer_dynamic_create_partition_enabled="true")
    writer = client.writer("parted")
    assert outcome(writer.append({"id": 1, "day": "a"})) is None
    with stub.lock:
        del stub.cluster.tables["fluss", "parted"]
        fresh = stub.create_table("parted", PARTED, partition_key=["day"])
    started = time.monotonic()
    assert outcome(writer.append({"id": 2, "day": "b"})) == GONE
    assert time.monotonic() - started < LIMIT_S / 2
    assert fresh.partitions == {}


def test_a_lookup_in_a_new_table_without_the_partition_is_told(stub, connect):
    keys = {"primary_key": ["id", "day"], "bucket_key": ["id"], "partition_key": ["day"]}
    stub.create_table("parted", PARTED, **keys)
    client = connect(stub)
    lookuper = client.open("parted").new_lookup().create_lookuper()
    assert lookuper.lookup({"id": 1, "day": "none"}).result(LIMIT_S) is None
    with stub.lock:
        del stub.cluster.tables["fluss", "parted"]
        stub.create_table("parted", PARTED, **keys)
    assert outcome(lookuper.lookup({"id": 1, "day": "none"})) == GONE


# ---- the code ----


@pytest.mark.full
def test_a_dropped_table_has_its_code_behind_a_long_trace(stub, connect):
    """The official server tells it by a cause, after a trace that is longer than a message."""
    stub.create_table("log", LOG)
    client = connect(stub)
    fill(client, "log", 2)
    scanner = client.scanner("log")
    assert offsets(drain(scanner, 2)) == [0, 1]
    frames = "".join(f"\n\tat org.example.Deep.call(Deep.java:{i})" for i in range(60))
    cause = "org.apache.fluss.exception.TableNotExistException: Table 'fluss.log' does not exist."
    text = f"org.example.RuntimeException: Failed.{frames}\nCaused by: {cause}\n\t... 3 more"
    with stub.lock:
        stub.cluster.tables.clear()
    stub.on("GET_METADATA", refuse_table(-1, text), when=lambda e: e.message["table_path"])
    assert code_of_poll(scanner).error_code == GONE


# ---- readers of several buckets ----


def test_a_failure_is_told_although_other_buckets_have_rows(stub, connect):
    """By the poll after the one that could have told it: rows never come to an end here."""
    table = stub.create_table("t", LOG, buckets=2, bucket_key=["id"])
    client = connect(stub, client_bucket_hash="java", scanner_log_max_poll_records=10)
    fill(client, "t", 4000, apart=4000)
    failing = stub.on("FETCH_LOG", bucket_error(19, bucket=1))
    scanner = client.scanner("t", 0, table.of(1).end, buckets=2)
    polls, found = 0, []
    with pytest.raises(fluss.FlussError) as caught:
        while len(found) < table.of(0).end:
            found += [r.offset for r in scanner.poll(200).result(LIMIT_S)]
            polls += failing.hits > 0
    assert caught.value.error_code == fluss.ErrorCode.LOG_OFFSET_OUT_OF_RANGE_EXCEPTION
    assert polls <= 3
    stub.off(failing)
    found += offsets(drain(scanner, table.of(0).end - len(found)))
    assert found == list(range(table.of(0).end))
