# SPDX-License-Identifier: Apache-2.0
"""A read up to now goes its own way: what it shares with iterations, polls and other reads of its
scanner, and what becomes of it when nobody wants its result."""

import asyncio
import copy
import gc
import pickle
import threading

import fluss
import pyarrow as pa
import pytest

CALL_S_MAX = 60
ROWS = list(range(40))


@pytest.fixture
def table(connection, database):
    path = fluss.TablePath(database, "numbers")
    schema = fluss.Schema(pa.schema([("x", pa.int64())]))
    connection.get_admin().create_table(path, fluss.TableDescriptor(schema)).result(CALL_S_MAX)
    made = connection.get_table(path).result(CALL_S_MAX)
    writer = made.new_append().create_writer()
    for first in range(0, 40, 10):
        rows = pa.array(range(first, first + 10), pa.int64())
        writer.write_arrow_batch(pa.record_batch([rows], ["x"]))
        writer.flush().result(CALL_S_MAX)
    return made


@pytest.fixture
def scanner(table):
    made = table.new_scan().create_record_batch_log_scanner().result(CALL_S_MAX)
    made.subscribe_all()
    return made


def position(scanner):
    return next(iter(scanner.subscribed_buckets().values()))


def test_a_read_begins_before_what_an_iteration_holds(scanner):
    first = next(scanner).batch["x"].to_pylist()
    assert first + scanner.to_arrow()["x"].to_pylist() == ROWS
    with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
        next(scanner)


def test_an_iteration_goes_on_after_a_read_that_was_cancelled(scanner):
    found = next(scanner).batch["x"].to_pylist()
    assert scanner.to_arrow().cancel()
    while len(found) < len(ROWS):
        found += next(scanner).batch["x"].to_pylist()
    assert found == ROWS


def test_an_asynchronous_iteration_and_a_read(scanner):
    async def main():
        found = []
        async for batch in scanner:
            found += batch.batch["x"].to_pylist()
            break
        read = scanner.to_arrow()
        with pytest.raises(fluss.FlussError, match="in use"):
            await scanner.__anext__()
        return found + (await read)["x"].to_pylist()

    assert asyncio.run(main()) == ROWS


def test_polls_are_refused_while_a_read_is_under_way(scanner):
    read = scanner.to_arrow()
    with pytest.raises(fluss.FlussError, match="in use"):
        scanner.poll_arrow(0).result(CALL_S_MAX)
    assert read.result(CALL_S_MAX).num_rows == len(ROWS)
    assert scanner.poll_arrow(0).result(CALL_S_MAX).num_rows == 0  # nothing is subscribed


@pytest.mark.parametrize("end", ["cancelled", "dropped"])
def test_a_read_that_nobody_wants_leaves_the_scanner_at_once(scanner, end):
    for _ in range(20):
        read = scanner.to_arrow()
        if end == "cancelled":
            assert read.cancel()
        del read
        gc.collect()
        assert position(scanner) == fluss.EARLIEST_OFFSET
    assert scanner.poll_arrow(10_000).result(CALL_S_MAX).num_rows > 0


@pytest.mark.parametrize("is_ready", [True, False], ids=["ready", "just begun"])
@pytest.mark.parametrize("end", ["cancelled", "dropped", "kept"])
def test_a_read_has_the_rows_of_a_poll_that_nobody_looked_at(table, end, is_ready):
    for _ in range(20):
        with table.new_scan().create_record_batch_log_scanner().result(CALL_S_MAX) as scanner:
            scanner.subscribe_all()
            poll = scanner.poll_arrow(10_000)
            if is_ready or end == "kept":
                ready = threading.Event()
                poll.add_done_callback(lambda _, ready=ready: ready.set())
                assert ready.wait(CALL_S_MAX)
            if end == "cancelled":
                poll.cancel()
            if end != "kept":
                del poll
            assert scanner.to_arrow()["x"].to_pylist() == ROWS


def test_reads_side_by_side_have_the_same_rows(scanner):
    reads = [scanner.to_arrow() for _ in range(5)]
    assert [read["x"].to_pylist() for read in reads] == [ROWS] * 5


def test_a_bucket_that_was_moved_meanwhile_is_still_read(scanner):
    read = scanner.to_arrow()
    scanner.seek(0, 35)
    assert read.result(CALL_S_MAX).num_rows == len(ROWS)
    assert position(scanner) == 35


def test_no_thread_is_started_for_a_table(scanner):
    before = threading.active_count()
    reads = [scanner.to_arrow() for _ in range(20)]
    assert threading.active_count() == before
    assert all(read.num_rows == len(ROWS) for read in reads)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_parts_of_a_connection_are_not_copied(connection, table, scanner, way):
    writer = table.new_append().create_writer()
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    one_bucket = table.new_scan().limit(1).create_bucket_batch_scanner(bucket)
    for whole in (connection, table, scanner, writer, one_bucket):
        with pytest.raises(TypeError, match=f"a {type(whole).__name__} is neither copied nor"):
            way(whole)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_lookups_are_not_copied(connection, database, way):
    path = fluss.TablePath(database, "keyed")
    schema = fluss.Schema(pa.schema([("x", pa.int64())]), primary_keys=["x"])
    connection.get_admin().create_table(path, fluss.TableDescriptor(schema)).result(CALL_S_MAX)
    lookup = connection.get_table(path).result(CALL_S_MAX).new_lookup().create_lookuper()
    with pytest.raises(TypeError, match="a Lookuper is neither copied nor pickled"):
        way(lookup)
