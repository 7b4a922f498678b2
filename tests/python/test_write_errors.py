# SPDX-License-Identifier: Apache-2.0
"""A write that fails is never silent: its handle says so, or the next flush, or closing does."""

import asyncio
import os
import subprocess
import sys

import fluss
import pyarrow as pa
import pytest
from server_process import server_process

CALL_S_MAX = 60
SCHEMA = pa.schema([("id", pa.int32()), ("score", pa.int64())])


@pytest.fixture
def writer(connection, database):
    """Of a table that forbids deletes, so that the server refuses them."""
    path = fluss.TablePath(database, "no_deletes")
    description = fluss.TableDescriptor(
        fluss.Schema(SCHEMA, primary_keys=["id"]),
        bucket_count=2,
        properties={"table.delete.behavior": "DISABLE"},
    )
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    table = connection.get_table(path).result(CALL_S_MAX)
    return table.new_upsert().create_writer()


KEYS = pa.record_batch([pa.array([1, 2, 3, 4], pa.int32())], names=["id"])
WAYS = {"row": lambda w: w.delete({"id": 1}), "arrow": lambda w: w.delete_arrow(KEYS)}


@pytest.mark.parametrize("way", WAYS)
def test_flush_raises_for_a_dropped_handle(writer, way):
    WAYS[way](writer)
    with pytest.raises(fluss.FlussError) as caught:
        writer.flush().result(CALL_S_MAX)
    assert caught.value.error_code == fluss.ErrorCode.DELETION_DISABLED_EXCEPTION
    writer.upsert({"id": 1, "score": 2})
    writer.flush().result(CALL_S_MAX)  # said once; the writer goes on


@pytest.mark.parametrize("way", WAYS)
def test_a_handle_that_is_kept_raises_itself(writer, way):
    handle = WAYS[way](writer)
    with pytest.raises(fluss.FlussError):
        handle.wait().result(CALL_S_MAX)
    writer.flush().result(CALL_S_MAX)


def test_the_wait_for_a_missing_partition_ends(servers, database):
    config = fluss.Config({"bootstrap.servers": servers, "writer.partition-wait-timeout-ms": "300"})
    connection = fluss.FlussConnection.create(config).result(CALL_S_MAX)
    path = fluss.TablePath(database, "partitioned")
    schema = pa.schema([("id", pa.int32()), ("region", pa.string())])
    description = fluss.TableDescriptor(fluss.Schema(schema), partition_keys=["region"])
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    table = connection.get_table(path).result(CALL_S_MAX)
    handle = table.new_append().create_writer().append({"id": 1, "region": "nowhere"})
    with pytest.raises(fluss.FlussError) as caught:
        handle.wait().result(CALL_S_MAX)
    assert caught.value.error_code == fluss.ErrorCode.PARTITION_NOT_EXISTS
    connection.close().result(CALL_S_MAX)


def test_a_batch_above_the_servers_limit_is_given_up(tmp_path):
    """The server hangs up on it each time, and what it says may be lost; the writer goes on."""
    codes = (fluss.ErrorCode.RECORD_TOO_LARGE_EXCEPTION, fluss.ErrorCode.UNKNOWN_SERVER_ERROR)
    limit = "netty.server.max-request-size=11mb"
    with server_process(tmp_path / "data", "-o", limit) as server:
        config = fluss.Config({"bootstrap.servers": server.address})
        connection = fluss.FlussConnection.create(config).result(CALL_S_MAX)
        path = fluss.TablePath("fluss", "large")
        schema = fluss.Schema(pa.schema([("data", pa.binary())]))
        admin = connection.get_admin()
        admin.create_table(path, fluss.TableDescriptor(schema)).result(CALL_S_MAX)
        table = connection.get_table(path).result(CALL_S_MAX)
        writer = table.new_append().create_writer()
        handle = writer.append({"data": os.urandom(12 << 20)})
        with pytest.raises(fluss.FlussError, match="netty.server.max-request-size") as caught:
            handle.wait().result(CALL_S_MAX)
        assert caught.value.error_code in codes
        writer.append({"data": b"small"})
        writer.flush().result(CALL_S_MAX)
        connection.close()


LOST = {"id": 1, "region": "nowhere"}


@pytest.fixture
def closing(servers, database):
    """A connection of its own, and a table on it whose partitions are all missing."""
    config = fluss.Config({"bootstrap.servers": servers, "writer.partition-wait-timeout-ms": "300"})
    connection = fluss.FlussConnection.create(config).result(CALL_S_MAX)
    path = fluss.TablePath(database, "closing")
    schema = pa.schema([("id", pa.int32()), ("region", pa.string())])
    description = fluss.TableDescriptor(fluss.Schema(schema), partition_keys=["region"])
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    return connection, connection.get_table(path).result(CALL_S_MAX)


def test_closing_tells_once_of_rows_that_nobody_waited_for(closing, database):
    connection, table = closing
    writer = table.new_append().create_writer()
    writer.append(LOST)
    writer.append(LOST)
    with pytest.raises(
        fluss.FlussError, match=f"2 rows of {database}.closing were not acknowledged: "
    ) as caught:
        connection.close()
    assert caught.value.error_code == fluss.ErrorCode.PARTITION_NOT_EXISTS
    connection.close()
    with pytest.raises(fluss.FlussError, match="closed"):
        writer.append(LOST)


def test_closing_tells_of_a_writer_that_is_gone(closing, database):
    connection, table = closing
    for _ in range(3):
        table.new_append().create_writer().append(LOST)
    with pytest.raises(fluss.FlussError, match=f"3 rows of {database}.closing were not"):
        connection.close()


def test_closing_tells_at_the_end_of_a_block(closing):
    connection, table = closing

    async def leave():
        async with connection:
            table.new_append().create_writer().append(LOST)

    with pytest.raises(fluss.FlussError, match="1 row of "):
        asyncio.run(leave())
    connection.close()


def test_an_exception_of_the_block_wins(closing):
    connection, table = closing
    with pytest.raises(KeyError), connection:
        table.new_append().create_writer().append(LOST)
        raise KeyError


def test_closing_is_silent_about_what_was_told(closing):
    connection, table = closing
    writer = table.new_append().create_writer()
    kept = writer.append(LOST)
    writer.append({"id": 2, "region": "elsewhere"})
    with pytest.raises(fluss.FlussError):
        writer.flush().result(CALL_S_MAX)
    with pytest.raises(fluss.FlussError):
        kept.wait().result(CALL_S_MAX)
    connection.close()


def test_closing_says_when_its_time_is_over(servers, closing):
    config = fluss.Config({"bootstrap.servers": servers, "request-timeout": "500"})
    connection = fluss.FlussConnection.create(config).result(CALL_S_MAX)
    table = connection.get_table(closing[1].get_table_info().table_path).result(CALL_S_MAX)
    table.new_append().create_writer().append(LOST)
    with pytest.raises(fluss.FlussError, match=r"1 row of .* after 500 ms \(request-timeout\)"):
        connection.close()
    closing[0].close()


LEFT_OPEN = """
import fluss
settings = {"bootstrap.servers": SERVERS, "writer.partition-wait-timeout-ms": "300"}
connection = fluss.FlussConnection.create(fluss.Config(settings)).result()
table = connection.get_table(fluss.TablePath(DATABASE, "closing")).result()
table.new_append().create_writer().append({"id": 1, "region": "nowhere"})
"""


def test_the_end_of_the_program_warns(servers, database, closing):
    program = LEFT_OPEN.replace("SERVERS", repr(servers)).replace("DATABASE", repr(database))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=CALL_S_MAX
    )
    assert done.returncode == 0, done.stderr
    assert f"1 row of {database}.closing was not acknowledged: " in done.stderr
    closing[0].close()
