# SPDX-License-Identifier: Apache-2.0
"""Every log batch of the recordings: pyfluss's requests and the official server's answers.

Goal: our reader gives the rows that were meant, the CRC is right where it must be, and our
projection holds what the server's does. Method: each batch through the format module, compared with
pyarrow's reading of the same bytes, with what was produced, and with a few rows written down here.
"""

import base64
import contextlib
import datetime
import decimal
import json
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import arrow_crosscheck as fluss  # noqa: E402

FRAMES = Path(__file__).resolve().parent / "frames"
UNITS = ["s", "ms", "us", "ns"]
CHANGES = {0: "+A", 1: "+I", 2: "-U", 3: "+U", 4: "-D"}
PLAIN = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "CHAR": pa.string(),
    "STRING": pa.string(),
    "BYTES": pa.binary(),
    "DATE": pa.date32(),
}


def arrow_type(kind):
    name = kind["type"]
    unit = UNITS[min(kind.get("precision", 6) + 2, 11) // 3]
    if name in PLAIN:
        return PLAIN[name]
    if name == "BINARY":
        return pa.binary(kind["length"])
    if name == "DECIMAL":
        return pa.decimal128(kind["precision"], kind["scale"])
    if name == "TIME_WITHOUT_TIME_ZONE":
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if name == "TIMESTAMP_WITHOUT_TIME_ZONE":
        return pa.timestamp(unit)
    if name == "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
        return pa.timestamp(unit, "UTC")
    if name == "ARRAY":
        return pa.list_(arrow_type(kind["element_type"]))
    if name == "MAP":
        return pa.map_(arrow_type(kind["key_type"]), arrow_type(kind["value_type"]))
    return pa.struct([(f["name"], arrow_type(f["field_type"])) for f in kind["fields"]])


def frames():
    for path in sorted(FRAMES.glob("*.jsonl")):
        for line in path.read_text().splitlines()[1:]:
            frame = json.loads(line)
            yield path.stem, frame, frame.get("message") or {}


def tables():
    """{table id: Arrow schema}; the server gives no id twice."""
    found = {}
    for _, _, message in frames():
        for info in [message, *message.get("table_metadata", [])]:
            if "table_json" in info and "table_id" in info:
                columns = json.loads(base64.b64decode(info["table_json"]))["schema"]["columns"]
                found[info["table_id"]] = pa.schema(
                    [pa.field(c["name"], arrow_type(c["data_type"])) for c in columns]
                )
    return found


TABLES = tables()


def split(records):
    """The whole batches of a records field."""
    while len(records) >= 48:
        batch = fluss.open_batch(records, check_crc=False)
        yield records[: batch.size]
        records = records[batch.size :]


def batches():
    """(scenario, "produce" or "fetch", table id, projected columns or None, bytes)."""
    projected = {}
    for scenario, frame, message in frames():
        if frame["api"] == "PRODUCE_LOG" and frame["dir"] == "request":
            for bucket in message["buckets_req"]:
                for data in split(base64.b64decode(bucket["records"])):
                    yield scenario, "produce", message["table_id"], None, data
        if frame["api"] == "FETCH_LOG" and frame["dir"] == "request":
            columns = message["tables_req"][0].get("projected_fields")
            projected[frame["conn"], frame["request_id"]] = columns
        if frame["api"] == "FETCH_LOG" and frame["dir"] == "response":
            columns = projected.get((frame["conn"], frame["request_id"]))
            for table in message.get("tables_resp", []):
                for bucket in table["buckets_resp"]:
                    for data in split(base64.b64decode(bucket.get("records", ""))):
                        yield scenario, "fetch", table["table_id"], columns, data


BATCHES = list(batches())


def schema_of(table_id, columns):
    schema = TABLES[table_id]
    return schema if columns is None else pa.schema([schema.field(c) for c in columns])


def payload_of(data):
    batch = fluss.open_batch(data, check_crc=False)
    return data[batch.payload_at : batch.payload_at + batch.payload_size]


def rows_of(data, schema):
    batch = fluss.open_batch(data, check_crc=False)
    if batch.record_count == 0:
        return []
    rows = fluss.read(schema, payload_of(data), lead=5).to_pylist()
    assert len(rows) == batch.record_count
    return rows


def test_there_is_something_to_check():
    kinds = [(scenario, kind) for scenario, kind, *_ in BATCHES]
    for codec in ("none", "lz4_frame", "zstd"):
        assert (f"log_arrow_{codec}", "produce") in kinds
        assert (f"log_arrow_{codec}", "fetch") in kinds
    assert ("pk_full", "fetch") in kinds
    assert ("log_projection", "fetch") in kinds


@pytest.mark.parametrize("index", range(len(BATCHES)))
def test_batch(index):
    scenario, _, table_id, columns, data = BATCHES[index]
    if columns is None:
        batch = fluss.open_batch(data, check_crc=True)
    else:  # the server leaves the CRC of the whole batch
        with pytest.raises(fluss.FormatError, match="CRC"):
            fluss.open_batch(data, check_crc=True)
        batch = fluss.open_batch(data, check_crc=False)
    assert batch.size == len(data)
    if batch.record_count == 0:
        assert batch.last_offset_delta == 0
        return
    assert batch.last_offset_delta == batch.record_count - 1
    assert batch.is_append_only == (not scenario.startswith("pk_"))
    schema = schema_of(table_id, columns)
    theirs = pa.ipc.read_record_batch(pa.py_buffer(payload_of(data)), schema)
    ours = fluss.read(schema, payload_of(data), lead=3)
    ours.validate(full=True)
    assert ours.num_rows == batch.record_count
    for name in schema.names:
        assert ours.column(name).to_pylist() == theirs.column(name).to_pylist(), name
        if not pa.types.is_nested(schema.field(name).type):
            assert ours.column(name).equals(theirs.column(name)), name
    # Flipped bytes of real batches: an error or other values, never a crash.
    for at in range(0, len(data), 37):
        broken = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        with contextlib.suppress(fluss.FormatError, AssertionError, OverflowError, ValueError):
            rows_of(broken, schema)


@pytest.mark.parametrize("codec", ["none", "lz4_frame", "zstd"])
def test_what_was_produced_is_fetched(codec):
    mine = [b for b in BATCHES if b[0] == f"log_arrow_{codec}"]
    schema = schema_of(mine[0][2], None)
    produced = [row for b in mine if b[1] == "produce" for row in rows_of(b[4], schema)]
    fetched = [row for b in mine if b[1] == "fetch" for row in rows_of(b[4], schema)]
    assert produced == fetched
    assert len(produced) == 6
    for i, row in enumerate(produced):
        if i in (2, 5):  # all null
            assert set(row.values()) == {None}
            continue
        assert row["i32"] == -320000 - i
        assert row["s"] == f"row-{i}-é"
    first = produced[0]
    assert first["b"] is True and first["i8"] == -8 and first["i64"] == 1 << 40
    assert first["bin"] == bytes(range(5)) and first["fixed"] == b"\x00\x01\xfe\xff"
    assert first["dec_small"] == decimal.Decimal("12345.67")
    assert first["dec_big"] == decimal.Decimal("123456789012345678901.54321")
    assert first["d"] == datetime.date(2024, 2, 28)
    assert first["t_ms"] == datetime.time(1, 2, 3, 4000)
    assert first["ts_us"] == datetime.datetime(1969, 12, 31, 23, 59, 59, 123000)


def test_our_projection_holds_what_the_servers_does():
    whole = [b for b in BATCHES if b[0] == "log_arrow_none" and b[1] == "produce"]
    projected = [b for b in BATCHES if b[0] == "log_projection"]
    checked = 0
    for _, _, table_id, columns, data in projected:
        theirs = fluss.open_batch(data, check_crc=False)
        schema = TABLES[table_id]
        for source in whole:
            ours = fluss.project(schema, source[4], columns)
            facts = fluss.open_batch(ours, check_crc=False)
            if facts.batch_sequence != theirs.batch_sequence:
                continue
            narrow = schema_of(table_id, columns)
            assert rows_of(ours, narrow) == rows_of(data, narrow)
            assert ours[21:48] == data[21:48], "all header fields from the CRC on"
            checked += 1
    assert checked == len(projected) > 0


def test_change_types_of_a_changelog():
    found = []
    for scenario, kind, _, columns, data in BATCHES:
        if scenario == "pk_full" and kind == "fetch" and columns is None:
            batch = fluss.open_batch(data)
            at = batch.change_types_at
            found += [CHANGES[c] for c in data[at : at + batch.change_types_size]]
    assert " ".join(found) == "+I +I +I -U +U -D -U +U -U +U +I -U +U"
