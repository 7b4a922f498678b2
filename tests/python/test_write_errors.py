# SPDX-License-Identifier: Apache-2.0
"""A write that fails is never silent: its handle says so, or the next flush does."""

import fluss
import pyarrow as pa
import pytest

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
