# SPDX-License-Identifier: Apache-2.0
"""Primary-key tables at size: a million rows in sixteen buckets, values of a megabyte, keys of
every permitted type with their columns anywhere in the schema. Everything written is read back by
lookup, limit scan and full read."""

import datetime
import decimal

import fluss
import pyarrow as pa
import pytest

CALL_S_MAX = 120
ROW_COUNT = 1_000_000
BUCKET_COUNT = 16


def make_table(connection, database, name, schema, keys, buckets=1):
    path = fluss.TablePath(database, name)
    description = fluss.TableDescriptor(
        fluss.Schema(schema, primary_keys=keys), bucket_count=buckets
    )
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    return connection.get_table(path).result(CALL_S_MAX)


def test_a_million_rows_in_sixteen_buckets(connection, database):
    schema = pa.schema([("name", pa.string()), ("id", pa.int32()), ("score", pa.int64())])
    table = make_table(connection, database, "million", schema, ["id"], BUCKET_COUNT)
    writer = table.new_upsert().create_writer()
    step = 50_000
    for start in range(0, ROW_COUNT, step):
        ids = pa.array(range(start, start + step), pa.int32())
        names = pa.array([f"n{i}" for i in range(start, start + step)])
        scores = pa.array(range(start * 7, (start + step) * 7, 7), pa.int64())
        writer.write_arrow_batch(pa.record_batch([names, ids, scores], schema=schema))
    gone = pa.record_batch([pa.array(range(0, ROW_COUNT, 10), pa.int32())], names=["id"])
    writer.delete_arrow(gone)
    writer.flush().result(CALL_S_MAX)

    left = [i for i in range(ROW_COUNT) if i % 10 != 0]
    rows = table.new_scan().to_arrow()
    assert rows.num_rows == len(left)
    assert sorted(rows.column("id").to_pylist()) == left
    assert sum(rows.column("score").to_pylist()) == 7 * sum(left)

    keys = [{"id": i} for i in range(0, ROW_COUNT, 997)]
    found = table.new_lookup().create_lookuper().lookup_many(keys).result(CALL_S_MAX)
    for key, row in zip(keys, found, strict=True):
        i = key["id"]
        wanted = None if i % 10 == 0 else {"name": f"n{i}", "id": i, "score": i * 7}
        assert row == wanted

    table_id = table.get_table_info().table_id
    for bucket in range(BUCKET_COUNT):
        scanner = (
            table.new_scan()
            .limit(100)
            .create_bucket_batch_scanner(fluss.TableBucket(table_id, bucket))
        )
        some = scanner.to_arrow().result(CALL_S_MAX)
        assert some.num_rows == 100
        assert all(i % 10 != 0 for i in some.column("id").to_pylist())


def test_values_of_a_megabyte(connection, database):
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("data", pa.binary())])
    table = make_table(connection, database, "large", schema, ["id"])
    writer = table.new_upsert().create_writer()
    rows = [
        {"id": i, "text": chr(97 + i) * (1 << 20), "data": bytes([i]) * (1 << 20)} for i in range(8)
    ]
    for row in rows:
        writer.upsert(row)
    writer.flush().result(CALL_S_MAX)
    lookuper = table.new_lookup().create_lookuper()
    for row in rows:
        assert lookuper.lookup({"id": row["id"]}).result(CALL_S_MAX) == row


KEYS = {
    "boolean": (pa.bool_(), [False, True]),
    "tinyint": (pa.int8(), [-128, 127]),
    "smallint": (pa.int16(), [-32768, 32767]),
    "int": (pa.int32(), [-(2**31), 128, 2**31 - 1]),
    "bigint": (pa.int64(), [-(2**63), 300, 2**63 - 1]),
    "float": (pa.float32(), [-0.5, 0.0, 1.5]),
    "double": (pa.float64(), [-1e300, 0.1]),
    "string": (pa.string(), ["", "a", "ä\0b"]),
    "bytes": (pa.binary(), [b"\x00\xff", b"k"]),
    "binary": (pa.binary(3), [b"\x00\x01\x02", b"\xff\xfe\xfd"]),
    "decimal": (pa.decimal128(10, 2), [decimal.Decimal("-1.50"), decimal.Decimal("12345678.90")]),
    "wide decimal": (
        pa.decimal128(30, 5),
        [decimal.Decimal("-1.50000"), decimal.Decimal("99999999999999999999.00000")],
    ),
    "date": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(2026, 11, 29)]),
    "time": (pa.time32("ms"), [datetime.time(0), datetime.time(23, 59, 59, 999000)]),
    "timestamp": (
        pa.timestamp("us"),
        [
            datetime.datetime(1969, 12, 31, 23, 59, 59, 1),
            datetime.datetime(2026, 11, 29, 1, 2, 3, 4),
        ],
    ),
}


@pytest.mark.parametrize("kind", KEYS)
def test_composite_keys_anywhere_in_the_schema(connection, database, kind):
    key_type, values = KEYS[kind]
    schema = pa.schema(
        [("note", pa.string()), ("k", key_type), ("n", pa.int64()), ("part", pa.string())]
    )
    table = make_table(connection, database, "composite", schema, ["part", "k"], 4)
    writer = table.new_upsert().create_writer()
    rows = [
        {"note": f"{part}{i}", "k": value, "n": i, "part": part}
        for part in ("x", "y")
        for i, value in enumerate(values)
    ]
    for row in rows:
        writer.upsert(dict(row, note="first"))
    for row in rows:
        writer.upsert(row)
    writer.delete({"part": "y", "k": values[-1]})
    writer.flush().result(CALL_S_MAX)
    lookuper = table.new_lookup().create_lookuper()
    for row in rows:
        wanted = None if row["part"] == "y" and row["k"] == values[-1] else row
        assert lookuper.lookup([row["part"], row["k"]]).result(CALL_S_MAX) == wanted
    assert table.new_scan().to_arrow().num_rows == len(rows) - 1
