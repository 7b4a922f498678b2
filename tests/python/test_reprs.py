# SPDX-License-Identifier: Apache-2.0
"""repr() tells what an object is and never raises, whatever has become of the object: debuggers,
logs and test reports ask at the worst of times. Other uses of a call that failed do raise."""

import asyncio
import copy
import uuid

import fluss
import pyarrow as pa
import pytest

CALL_S_MAX = 60


@pytest.fixture
def table(connection):
    path = fluss.TablePath("fluss", f"reprs_{uuid.uuid4().hex}")
    schema = fluss.Schema(pa.schema([("id", pa.int32())]), primary_keys=["id"])
    admin = connection.get_admin()
    admin.create_table(path, fluss.TableDescriptor(schema)).result(CALL_S_MAX)
    return connection.get_table(path).result(CALL_S_MAX)


@pytest.fixture
def scanner(table):
    made = table.new_scan().create_log_scanner().result(CALL_S_MAX)
    made.subscribe(0, fluss.EARLIEST_OFFSET)
    return made


def test_poll_that_failed_says_why(scanner):
    waiting, failed = scanner.poll(60_000), scanner.poll(0)
    assert repr(failed).startswith("<ScanRecords failed: FlussError('the scanner is in use")
    with pytest.raises(fluss.FlussError, match="in use"):
        len(failed)
    waiting.cancel()


def test_poll_that_was_cancelled_says_so(scanner):
    records = scanner.poll(60_000)
    records.cancel()
    assert repr(records) == str(records) == "<ScanRecords cancelled>"
    with pytest.raises(asyncio.CancelledError):
        bool(records)


def test_deferred_value_that_failed_says_why(table, scanner):
    waiting, failed = scanner.poll(60_000), scanner.poll_changelog(0)
    assert repr(failed).startswith("<DeferredTable failed: FlussError('the scanner is in use")
    with pytest.raises(fluss.FlussError, match="in use"):
        str(failed)
    waiting.cancel()


def test_deferred_value_that_was_cancelled_says_so(scanner):
    changes = scanner.poll_changelog(60_000)
    changes.cancel()
    assert repr(changes) == "<DeferredTable cancelled>"


def test_server_that_did_not_start_has_a_repr():
    server = object.__new__(fluss.Server)
    with pytest.raises(TypeError):
        server.__init__(listen=7)
    assert repr(server) == "Server(closed)"


def test_what_is_left_after_the_connection_has_a_repr(servers):
    connection = fluss.FlussConnection.create(bootstrap_servers=servers).result(CALL_S_MAX)
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", f"reprs_{uuid.uuid4().hex}")
    schema = fluss.Schema(pa.schema([("id", pa.int32())]), primary_keys=["id"])
    admin.create_table(path, fluss.TableDescriptor(schema)).result(CALL_S_MAX)
    table = connection.get_table(path).result(CALL_S_MAX)
    writer = table.new_upsert().create_writer()
    lookuper = table.new_lookup().create_lookuper()
    scanner = table.new_scan().create_log_scanner().result(CALL_S_MAX)
    scanner.subscribe_all()
    held = [connection, admin, table, writer, lookuper, scanner, table.get_table_info()]
    held += [table.new_scan(), table.new_upsert(), table.new_lookup(), writer.upsert({"id": 1})]
    before = [repr(thing) for thing in held]
    scanner.close()
    connection.close().result(CALL_S_MAX)
    assert [repr(thing) for thing in held] == before
    lookup = lookuper.lookup({"id": 1})
    assert isinstance(lookup.exception(CALL_S_MAX), fluss.FlussError)
    assert repr(lookup) == "<FlussFuture failed>"
    for thing in held:
        assert bool(thing) and hash(thing) == hash(thing) and dir(thing)


def test_deferred_value_can_be_copied(table):
    read = table.new_scan().to_arrow()
    for copied in (copy.copy(read), copy.deepcopy(read)):
        assert type(copied) is pa.Table and copied.equals(read.result())
