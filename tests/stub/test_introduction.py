# SPDX-License-Identifier: Apache-2.0
"""What docs/introduction.md says of failing writes, row by row of its table.

Goal and method: a test for each row, found by the row's first cell, makes the failure happen and
looks at what the row promises: what the client does, and what its user sees. A row without a test,
or a test without a row, is a failure.
"""

import base64
import random
import re
import time
from pathlib import Path

import fluss
import pytest
from stub import bucket_error, error, lose, reset
from wire import BATCH

from client import LIMIT_S, LOST_MS, Client, ids, outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "introduction.md"
COLUMNS = {"id": "INTEGER", "note": "STRING"}
UNKNOWN_TABLE, NOT_LEADER, TOO_LARGE, NO_RIGHT = 7, 12, 13, 48
UNKNOWN_WRITER, TIME_OUT, BUSY, DISK_FULL = 33, 25, 72, 70
RETRIES = "fluss_client_writer_retries_total"


def failures():
    """The rows of the table: first cell, the others."""
    table = PAGE.read_text().partition("### When a write fails\n\n")[2].partition("\n\n")[0]
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in table.splitlines()[2:]]
    return {cells[0]: cells[1:] for cells in rows}


@pytest.fixture
def log(stub):
    return stub.create_table("log", COLUMNS)


def row_of(i, note="x"):
    return {"id": i, "note": note}


def numbers(stub):
    """(writer id, sequence) of each batch that came."""
    return [
        BATCH.unpack_from(part["records"])[8:10]
        for exchange in stub.asked("PRODUCE_LOG")
        for part in exchange.message["buckets_req"]
    ]


def misfit(stub, log, connect):
    writer = connect(stub).writer("log")
    with pytest.raises(fluss.FlussError, match="id"):
        writer.append({"id": "one", "note": "x"})
    writer.flush().result(LIMIT_S)
    assert stub.asked("PRODUCE_LOG") == []


def passing(stub, log, connect):
    client = connect(stub, request_timeout=LOST_MS)
    writer = client.writer("log")
    troubles = [reset(), lose(applied=False), bucket_error(NOT_LEADER), error(TIME_OUT)]
    troubles += [bucket_error(BUSY), error(DISK_FULL)]
    for i, trouble in enumerate(troubles):
        stub.on("PRODUCE_LOG", trouble, times=1)
        assert outcome(writer.append(row_of(i))) is None
    assert ids(log) == list(range(len(troubles)))
    sent = numbers(stub)
    assert sent[::2] == sent[1::2], "each batch twice, with the same number"
    assert client.metric(RETRIES) == len(troubles)


def lost_answer(stub, log, connect):
    writer = connect(stub, request_timeout=LOST_MS).writer("log")
    for i, trouble in enumerate([reset(applied=True), lose(applied=True)]):
        stub.on("PRODUCE_LOG", trouble, times=1)
        assert outcome(writer.append(row_of(i))) is None
    assert ids(log) == [0, 1]
    assert len(stub.asked("PRODUCE_LOG")) == 4


def forgotten_writer(stub, log, connect):
    writer = connect(stub).writer("log")
    assert outcome(writer.append(row_of(0))) is None
    stub.on("PRODUCE_LOG", bucket_error(UNKNOWN_WRITER), times=1)
    handles = [writer.append(row_of(i)) for i in range(1, 20)]
    assert {outcome(handle) for handle in handles} == {None}
    assert ids(log) == list(range(20))
    first, *_, last = numbers(stub)
    assert first[0] != last[0]
    assert [n for writer_id, n in numbers(stub) if writer_id == last[0]][0] == 0


def hung_up(stub, log, connect):
    writer = connect(stub).writer("log")
    rule = stub.on("PRODUCE_LOG", reset())
    noise = random.Random(1).randbytes(12 << 20)  # no codec shortens it much
    handle = writer.append(row_of(1, base64.b64encode(noise).decode()))
    with pytest.raises(fluss.FlussError, match="netty.server.max-request-size") as failure:
        handle.wait().result(LIMIT_S)
    assert failure.value.error_code == TOO_LARGE
    assert len(stub.asked("PRODUCE_LOG")) == 5
    stub.off(rule)
    assert outcome(writer.append(row_of(2))) is None
    assert ids(log) == [2]


def hopeless(stub, log, connect):
    client = connect(stub)
    writer = client.writer("log")
    for code in (UNKNOWN_TABLE, NO_RIGHT, TOO_LARGE):
        rule = stub.on("PRODUCE_LOG", bucket_error(code))
        assert outcome(writer.append(row_of(1))) == code
        writer.append(row_of(2))
        with pytest.raises(fluss.FlussError) as failure:
            writer.flush().result(LIMIT_S)
        assert failure.value.error_code == code
        stub.off(rule)
    assert client.metric(RETRIES) == 0
    assert log.of(0).end == 0


def used_up(stub, log, connect):
    client = connect(stub, writer_retries=2)
    writer = client.writer("log")
    stub.on("PRODUCE_LOG", bucket_error(NOT_LEADER))
    with pytest.raises(fluss.FlussError) as failure:
        writer.append(row_of(1)).wait().result(LIMIT_S)
    assert failure.value.error_code == NOT_LEADER
    assert failure.value.is_retriable
    assert len(stub.asked("PRODUCE_LOG")) == 3


def out_of_time(stub, log, connect):
    with Client(stub, request_timeout=LOST_MS) as client:
        writer = client.writer("log")
        stub.on("PRODUCE_LOG", lose(applied=False))
        handles = [writer.append(row_of(i)) for i in range(10)]
        started = time.monotonic()
    assert time.monotonic() - started < LIMIT_S / 2
    for handle in handles:
        with pytest.raises(fluss.FlussError, match="closed"):
            handle.wait().result(LIMIT_S)
    assert log.of(0).end == 0


TESTS = {
    "a row does not fit the table": misfit,
    "connection lost, time out, leader moved, server busy": passing,
    "the answer was lost": lost_answer,
    "the server does not know the writer any more": forgotten_writer,
    "the server hangs up each time on a batch of 10 MiB or more": hung_up,
    "table dropped, no rights, row too large": hopeless,
    "retries used up": used_up,
    "`fluss_close` runs out of time, or the process ends": out_of_time,
}


def test_each_row_has_a_test():
    assert list(failures()) == list(TESTS)


@pytest.mark.parametrize("row", TESTS)
def test_row(row, stub, log, connect):
    TESTS[row](stub, log, connect)
