# SPDX-License-Identifier: Apache-2.0
"""What is copied, and what is not.

Columns of a fetched batch lie in the memory that the batch was received in: their buffers are few
bytes apart, all of them within one stretch as long as the message. Columns that are written are
shared with whoever made them until they are copied, once, into the memory that is sent."""

import gc

import fluss
import heap
import numpy as np
import pyarrow as pa
import pytest
from server_process import server_process

CALL_S_MAX = 60
SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.float64()), ("data", pa.binary())])
ROWS = 50_000


def make_rows(count=ROWS):
    data = pa.array([b"0123456789abcdef"] * count, pa.binary())
    return pa.record_batch(
        [pa.array(np.arange(count)), pa.array(np.arange(count) * 0.5), data], schema=SCHEMA
    )


def make_table(connection, database, name, rows=None, **properties):
    path = fluss.TablePath(database, name)
    schema = fluss.Schema(SCHEMA)
    plain = {"table.log.arrow.compression.type": "NONE"}
    description = fluss.TableDescriptor(schema, bucket_count=1, properties={**plain, **properties})
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    table = connection.get_table(path).result(CALL_S_MAX)
    if rows is not None:
        writer = table.new_append().create_writer()
        writer.write_arrow_batch(rows)
        writer.flush().result(CALL_S_MAX)
    return table


def batch_scanner(table):
    scanner = table.new_scan().create_record_batch_log_scanner().result()
    scanner.subscribe_all()
    return scanner


def buffers_of(batch):
    return [b for column in batch.columns for b in column.buffers() if b is not None and b.size]


def assert_in_one_message(batch):
    buffers = buffers_of(batch)
    first = min(buffer.address for buffer in buffers)
    last = max(buffer.address + buffer.size for buffer in buffers)
    content = sum(buffer.size for buffer in buffers)
    assert last - first < content + 64 * len(buffers) + 4096


# --- reading ---


def test_columns_of_a_fetched_batch_lie_in_one_message(connection, database):
    table = make_table(connection, database, "one_message", make_rows())
    found = batch_scanner(table).poll_record_batch(20_000).result()
    assert found
    for batch in found:
        assert_in_one_message(batch.batch)
        addresses = [b.address for b in buffers_of(batch.batch)]
        assert [b.address for b in buffers_of(batch.batch)] == addresses


def test_tables_and_exports_share_the_buffers_of_their_batches(connection, database):
    table = make_table(connection, database, "shared", make_rows())
    found = batch_scanner(table).poll_record_batch(20_000).result()
    addresses = {b.address for batch in found for b in buffers_of(batch.batch)}
    for batch in found:
        assert {b.address for b in buffers_of(pa.record_batch(batch))} <= addresses
    whole = fluss._arrow.to_table([batch.batch for batch in found], None)
    assert {b.address for part in whole.to_batches() for b in buffers_of(part)} == addresses


READS = {
    "to_arrow": lambda table, scan: table.to_arrow().to_batches(),
    "to_arrow of a scanner": lambda table, scan: batch_scanner(table).to_arrow().to_batches(),
    "poll_arrow": lambda table, scan: batch_scanner(table).poll_arrow(20_000).to_batches(),
    "batch reader": lambda table, scan: list(batch_scanner(table).to_arrow_batch_reader()),
    "stream of a table": lambda table, scan: pa.table(table).to_batches(),
    "collect_all_batches": lambda table, scan: [
        batch.batch for batch in scan.collect_all_batches().result(CALL_S_MAX)
    ],
    "to_arrow of a bucket": lambda table, scan: scan.to_arrow().to_batches(),
}


@pytest.mark.parametrize("read", READS)
def test_no_way_of_reading_a_log_copies_its_columns(read, connection, database):
    table = make_table(connection, database, "ways", make_rows())
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    scan = table.new_scan().limit(ROWS).create_bucket_batch_scanner(bucket)
    batches = READS[read](table, scan)
    assert sum(batch.num_rows for batch in batches) == ROWS
    for batch in batches:
        assert_in_one_message(batch)


def test_columns_of_a_lookup_are_made_once(connection, database):
    path = fluss.TablePath(database, "looked_up")
    schema = fluss.Schema(SCHEMA, primary_keys=["id"])
    connection.get_admin().create_table(path, fluss.TableDescriptor(schema)).result(CALL_S_MAX)
    table = connection.get_table(path).result(CALL_S_MAX)
    writer = table.new_upsert().create_writer()
    writer.write_arrow_batch(make_rows(100))
    writer.flush().result(CALL_S_MAX)
    lookuper = table.new_lookup().create_lookuper()
    found = lookuper.lookup_arrow([[i] for i in range(100)]).result(CALL_S_MAX)
    addresses = [b.address for b in buffers_of(pa.record_batch(found))]
    assert [b.address for b in buffers_of(pa.record_batch(found))] == addresses
    assert pa.record_batch(found).column("id").to_pylist() == list(range(100))


def test_dropping_the_last_user_frees_the_message(connection, database):
    """The memory of 20 times 1.6 MB would be seen; one column keeps its message, no more."""
    table = make_table(connection, database, "freed", make_rows())

    def resident_bytes():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def read_once():
        return table.new_scan().to_arrow().result(CALL_S_MAX)

    for _ in range(5):
        read_once()
    before = resident_bytes()
    for _ in range(20):
        kept = read_once().column("id")
        assert kept[ROWS - 1].as_py() == ROWS - 1
    del kept
    assert resident_bytes() - before < 8 << 20


# --- writing ---


@pytest.mark.skipif(not heap.IS_KNOWN, reason="a sanitizer has a heap of its own")
def test_written_columns_are_copied_once(tmp_path):
    """The server is halted, so that all that is allocated for the rows is there at the end."""
    rows = make_rows(1_000_000)
    with server_process(tmp_path / "data") as server:
        connection = fluss.FlussConnection.create(
            bootstrap_servers=server.address,
            writer_request_max_size=1 << 27,
            writer_batch_size=1 << 26,
        ).result(CALL_S_MAX)
        table = make_table(connection, "fluss", "copied_once", make_rows(1))
        writer = table.new_append().create_writer()
        server.halt()
        before = heap.heap_bytes()
        prepared = writer._check(rows, False)
        checked = heap.heap_bytes() - before
        writer._write(prepared)
        del prepared
        written = heap.heap_bytes() - before
        held = connection.metrics()["fluss_client_writer_buffer_bytes"]
        server.go_on()
        writer.flush().result(CALL_S_MAX)
        assert table.new_scan().to_arrow().slice(1).to_batches()[0].equals(rows)
        connection.close().result(CALL_S_MAX)
    assert checked < rows.nbytes // 100
    assert rows.nbytes <= held < rows.nbytes * 1.01
    assert rows.nbytes <= written < rows.nbytes * 1.05


def test_written_columns_are_read_where_they_lie_and_free_afterwards(connection, database):
    table = make_table(connection, database, "where_they_lie")
    writer = table.new_append().create_writer()
    ids = np.arange(ROWS)
    value, data = make_rows().columns[1:]
    rows = pa.record_batch([pa.array(ids), value, data], schema=SCHEMA)
    assert rows.column("id").buffers()[1].address == ids.ctypes.data
    prepared = writer._check(rows, False)
    ids[0] = -1  # seen: nothing has been copied so far
    writer._write(prepared)
    ids[1] = -1  # not seen: the memory is the user's again
    writer.flush().result(CALL_S_MAX)
    assert table.to_arrow().column("id").slice(0, 3).to_pylist() == [-1, 1, 2]
