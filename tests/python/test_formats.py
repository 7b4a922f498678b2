# SPDX-License-Identifier: Apache-2.0
"""Every log format and every key-value format, with nested types, on every path.

One set of rows: values of all types, arrays, maps and rows three deep, nulls at each depth, empty
ones and large ones. It is written as rows and as Arrow, and read by all that reads: records, Arrow,
projections, limit scans, lookups, prefix lookups, whole tables, changelogs. Then the Arrow layouts
that are not Fluss's own: lists of one size, runs, and slices of both.
"""

import datetime
import decimal

import fluss
import pyarrow as pa
import pytest

CALL_S_MAX = 60
LOG_FORMATS = ["ARROW", "INDEXED", "COMPACTED"]
# Key-value format and the formats that its changelog may have.
KEYED = [(kv, log) for kv in ("COMPACTED", "INDEXED") for log in LOG_FORMATS]
KEYED.remove(("COMPACTED", "INDEXED"))

POINT = pa.struct([("x", pa.list_(pa.int32())), ("y", pa.decimal128(20, 3))])
SCHEMA = pa.schema(
    [
        pa.field("grp", pa.int32(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("big", pa.int64()),
        ("float", pa.float32()),
        ("text", pa.string()),
        ("mac", pa.binary(6)),
        ("data", pa.binary()),
        ("price", pa.decimal128(10, 2)),
        ("wide", pa.decimal128(38, 18)),
        ("day", pa.date32()),
        ("time", pa.time32("ms")),
        ("ts", pa.timestamp("us")),
        ("ltz", pa.timestamp("ns", "UTC")),
        ("xs", pa.list_(pa.int64())),
        ("texts", pa.list_(pa.string())),
        ("flags", pa.list_(pa.bool_())),
        ("stamps", pa.list_(pa.timestamp("us"))),
        ("counts", pa.map_(pa.string(), pa.int32())),
        ("row", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("lists", pa.list_(pa.list_(pa.string()))),
        ("deep", pa.list_(pa.map_(pa.string(), POINT))),
        (
            "tree",
            pa.struct([("inner", pa.struct([("points", pa.list_(POINT))])), ("n", pa.int8())]),
        ),
    ]
)
NAMES = SCHEMA.names
NESTED = NAMES[NAMES.index("xs") :]
MOMENT = datetime.datetime(2024, 2, 29, 23, 59, 59, 999999)


def point(i):
    return {"x": [i, None, -i], "y": decimal.Decimal(i * 10**12 + 1).scaleb(-3)}


def full(i):
    return {
        "flag": i % 2 == 0,
        "tiny": i % 128,
        "big": -(i**9),
        "float": i / 4,
        "text": "é" * (i % 20),
        "mac": bytes([i % 256, 0, 0, 0, 0, 9]),
        "data": bytes(i % 300),
        "price": decimal.Decimal(i).scaleb(-2),
        "wide": decimal.Decimal(-(10**30) * (i + 1)).scaleb(-18, decimal.Context(prec=40)),
        "day": (MOMENT + datetime.timedelta(days=i)).date(),
        "time": datetime.time(i % 24, 1, 2, 3000),
        "ts": MOMENT + datetime.timedelta(microseconds=i),
        "ltz": MOMENT.replace(tzinfo=datetime.timezone.utc) - datetime.timedelta(days=i),
        "xs": list(range(i % 50)),
        "texts": ["12345678", None, "", "a"][: i % 5],
        "flags": [j % 3 == 0 for j in range(i % 70)],
        "stamps": [MOMENT, None, MOMENT][: i % 4],
        "counts": {f"k{j}": j if j % 3 else None for j in range(i % 6)},
        "row": {"a": i, "b": None if i % 3 else f"b{i}"},
        "lists": [[], None, ["x", None, "yyyyyyyyyyyy"], [f"{i}"]][: i % 5],
        "deep": [{"p": point(i), "q": None}, None, {}][: i % 4],
        "tree": {"inner": {"points": [point(i), None]}, "n": i % 100},
    }


def hollow(i):
    """Everything there and empty, or null one level down."""
    values = {name: None for name in NAMES} | {"text": "", "data": b"", "xs": [], "texts": []}
    inner = {"points": None} if i % 2 else None
    return values | {
        "counts": {},
        "row": {"a": None, "b": None},
        "lists": [[]],
        "deep": [{}],
        "tree": {"inner": inner, "n": None},
    }


def rows():
    made = []
    for i in range(40):
        values = {name: None for name in NAMES}
        if i % 4 < 2:
            values |= full(i)
        elif i % 4 == 2:
            values |= hollow(i)
        made.append(values | {"grp": i % 3, "id": f"id-{i:03d}"})
    large = full(7) | {"grp": 0, "id": "large", "xs": list(range(70_000)), "text": "x" * 200_000}
    large["lists"] = [["y" * 50] * 500] * 20
    return [{name: row[name] for name in NAMES} for row in (*made, large)]


ROWS = rows()


def plain(value):
    """Maps as dicts wherever they are: pyarrow has them as lists of pairs."""
    if value == {}:
        return []  # as pyarrow has an empty map
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {key: plain(item) for key, item in value}
        return [plain(item) for item in value]
    return value


def expected(row, columns=NAMES):
    """Some columns of a row."""
    return {name: row[name] for name in columns}


def same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        a, b = plain(dict(a)), plain(b)
        for name in b:
            assert a[name] == b[name], f"{b.get('id')}, {name}"
        assert list(a) == list(b)


def make(connection, database, name, with_key=False, schema=SCHEMA, **options):
    path = fluss.TablePath(database, name)
    keys = {"bucket_keys": ["grp"]} if with_key else {}
    description = fluss.TableDescriptor(
        fluss.Schema(schema, primary_keys=["grp", "id"] if with_key else None),
        bucket_count=1,
        **keys,
        **options,
    )
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    return connection.get_table(path).result(CALL_S_MAX)


def poll(scanner, count):
    records = []
    while len(records) < count:
        got = scanner.poll(10_000).result(CALL_S_MAX)
        assert len(got) > 0, f"{len(records)} of {count} arrived"
        records += list(got)
    return records


def opened(scan, start=0):
    scanner = scan.create_log_scanner().result(CALL_S_MAX)
    scanner.subscribe(0, start)
    return scanner


@pytest.mark.parametrize("log_format", LOG_FORMATS)
def test_log_tables(connection, database, log_format):
    table = make(connection, database, log_format.lower(), log_format=log_format)
    writer = table.new_append().create_writer()
    half = len(ROWS) // 2
    for row in ROWS[:half]:
        writer.append(row)
    writer.flush().result(CALL_S_MAX)
    writer.write_arrow_batch(pa.RecordBatch.from_pylist(ROWS[half:], schema=SCHEMA))
    writer.flush().result(CALL_S_MAX)

    records = poll(opened(table.new_scan()), len(ROWS))
    same([record.row for record in records], ROWS)
    assert [record.offset for record in records] == list(range(len(ROWS)))
    same([r.row for r in poll(opened(table.new_scan(), 13), len(ROWS) - 13)], ROWS[13:])
    arrow = table.new_scan().to_arrow().result(CALL_S_MAX)
    assert arrow.schema.types == table.arrow_schema.types
    same(arrow.to_pylist(), ROWS)
    for columns in [[name] for name in NESTED] + [["deep", "id", "tree"], ["mac", "counts"]]:
        scan = table.new_scan().project_by_name(columns)
        wanted = [expected(row, columns) for row in ROWS]
        same(scan.to_arrow().result(CALL_S_MAX).to_pylist(), wanted)
        same([r.row for r in poll(opened(scan), len(ROWS))], wanted)
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    for limit in (1, half, 1000):
        scan = table.new_scan().limit(limit)
        if log_format != "ARROW":  # as pyfluss, whose own tests want it so
            with pytest.raises(fluss.FlussError, match=log_format):
                scan.create_bucket_batch_scanner(bucket)
            continue
        scanner = scan.create_bucket_batch_scanner(bucket)
        same(scanner.to_arrow().result(CALL_S_MAX).to_pylist(), ROWS[-limit:])


def changelog(table, count):
    """The kinds of change and rows, as records."""
    records = poll(opened(table.new_scan()), count)
    return [(record.change_type.short_string(), dict(record.row)) for record in records]


@pytest.mark.parametrize(("kv_format", "log_format"), KEYED)
def test_primary_key_tables(connection, database, kv_format, log_format):
    name = f"{kv_format}_{log_format}".lower()
    table = make(connection, database, name, True, kv_format=kv_format, log_format=log_format)
    writer = table.new_upsert().create_writer()
    half = len(ROWS) // 2
    for row in ROWS[:half]:
        writer.upsert(row)
    writer.flush().result(CALL_S_MAX)
    for row in ROWS[half:]:
        writer.upsert(row)
    writer.flush().result(CALL_S_MAX)

    by_key = sorted(ROWS, key=lambda row: (row["grp"], row["id"]))
    lookuper = table.new_lookup().create_lookuper()
    found = [lookuper.lookup({"grp": r["grp"], "id": r["id"]}).result(CALL_S_MAX) for r in ROWS]
    same(found, ROWS)
    prefix = table.new_lookup().lookup_by(["grp"]).create_lookuper()
    for group in range(3):
        got = prefix.lookup({"grp": group}).result(CALL_S_MAX)
        wanted = [row for row in by_key if row["grp"] == group]
        same(sorted(got, key=lambda row: row["id"]), wanted)
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    scanner = table.new_scan().limit(1000).create_bucket_batch_scanner(bucket)
    got = scanner.to_arrow().result(CALL_S_MAX).to_pylist()
    same(sorted(got, key=lambda row: (row["grp"], row["id"])), by_key)
    whole = table.new_scan().to_arrow().result(CALL_S_MAX).to_pylist()
    same(sorted(whole, key=lambda row: (row["grp"], row["id"])), by_key)
    few = table.new_scan().project_by_name(["tree", "id"]).limit(1000)
    got = few.create_bucket_batch_scanner(bucket).to_arrow().result(CALL_S_MAX).to_pylist()
    wanted = [expected(row, ["tree", "id"]) for row in ROWS]
    same(sorted(got, key=lambda row: row["id"]), sorted(wanted, key=lambda row: row["id"]))
    check_changes(table, writer)


def check_changes(table, writer):
    """Updates, partial updates and deletes, and the changelog of all."""
    inserts = [("+I", row) for row in ROWS]
    changed = ROWS[1] | {"deep": [{"z": point(9)}], "lists": None}
    writer.upsert(changed)
    writer.delete({"grp": ROWS[4]["grp"], "id": ROWS[4]["id"]})
    writer.flush().result(CALL_S_MAX)
    part = table.new_upsert().partial_update_by_name(["grp", "id", "tree"]).create_writer()
    partly = ROWS[5] | {"tree": {"inner": None, "n": 1}}
    part.upsert({name: partly[name] for name in ("grp", "id", "tree")})
    part.flush().result(CALL_S_MAX)
    wanted = inserts + [("-U", ROWS[1]), ("+U", changed), ("-D", ROWS[4])]
    wanted += [("-U", ROWS[5]), ("+U", partly)]
    found = changelog(table, len(wanted))
    assert [kind for kind, _ in found] == [kind for kind, _ in wanted]
    same([row for _, row in found], [row for _, row in wanted])
    scan = table.new_scan().project_by_name(["deep", "id"])
    got = [record.row for record in poll(opened(scan), len(wanted))]
    same(got, [expected(row, ["deep", "id"]) for _, row in wanted])


# ---- layouts that Fluss has not got ----

INPUT = pa.schema(
    [
        ("id", pa.int32()),
        ("pair", pa.list_(pa.float64())),
        ("pairs", pa.list_(pa.list_(pa.string()))),
        ("city", pa.string()),
        ("n", pa.int64()),
    ]
)


def runs(values, kind, ends):
    """An array of runs of equal values, and the values it stands for."""
    lengths = [1, 3, 2, 5, 1, 4]
    places, at = [], 0
    for i in range(len(values)):
        at += lengths[i % len(lengths)]
        places.append(at)
    array = pa.RunEndEncodedArray.from_arrays(pa.array(places, ends), pa.array(values, kind))
    plain_values = [v for i, v in enumerate(values) for _ in range(lengths[i % len(lengths)])]
    return array, plain_values


def input_table():
    pair = [[i / 2, None] if i % 3 else None for i in range(22)]
    pairs = [[[f"a{i}", ""], [None, "ccccccccc"]] if i % 4 else None for i in range(22)]
    city, city_values = runs(
        ["Oslo", None, "Rom", "", "Ürümqi", "Oslo", "x", None, "y"], pa.string(), pa.int32()
    )
    n, n_values = runs([1, None, 2**40, 4, 5, 6, 7, 8, 9], pa.int64(), pa.int16())
    array = {
        "id": pa.array(range(22), pa.int32()),
        "pair": pa.array(pair, pa.list_(pa.float64(), 2)),
        "pairs": pa.array(pairs, pa.list_(pa.list_(pa.string(), 2), 2)),
        "city": city,
        "n": n,
    }
    assert len(city) == len(n) == 22
    wanted = [
        {"id": i, "pair": pair[i], "pairs": pairs[i], "city": city_values[i], "n": n_values[i]}
        for i in range(22)
    ]
    return pa.RecordBatch.from_arrays(list(array.values()), names=list(array)), wanted


@pytest.mark.parametrize("log_format", LOG_FORMATS)
@pytest.mark.parametrize(("start", "count"), [(0, 22), (1, 19), (7, 5), (21, 1), (5, 0)])
def test_lists_of_one_size_and_runs_are_taken(connection, database, log_format, start, count):
    batch, wanted = input_table()
    name = f"input_{log_format}_{start}".lower()
    table = make(connection, database, name, schema=INPUT, log_format=log_format)
    writer = table.new_append().create_writer()
    writer.write_arrow_batch(batch.slice(start, count))
    writer.flush().result(CALL_S_MAX)
    found = table.new_scan().to_arrow().result(CALL_S_MAX).to_pylist()
    assert found == wanted[start : start + count]


def test_null_lists_of_one_size_may_span_nulls_of_a_not_null_type(connection, database):
    kind = pa.list_(pa.field("item", pa.int32(), nullable=False))
    table = make(connection, database, "spans", schema=pa.schema([("xs", kind)]))
    writer = table.new_append().create_writer()
    array = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2))
    writer.write_arrow_batch(pa.RecordBatch.from_arrays([array], names=["xs"]))
    writer.flush().result(CALL_S_MAX)
    found = table.new_scan().to_arrow().result(CALL_S_MAX).to_pylist()
    assert [row["xs"] for row in found] == [[1, 2], None, [3, 4]]
    bad = pa.array([[1, None]], pa.list_(pa.int32(), 2))
    with pytest.raises((fluss.FlussError, ValueError), match="null"):
        writer.write_arrow_batch(pa.RecordBatch.from_arrays([bad], names=["xs"]))
        writer.flush().result(CALL_S_MAX)


def test_a_projection_of_many_columns_is_read_as_it_was_written(connection, database):
    wide = pa.schema([(f"c{i}", pa.int32()) for i in range(700)])
    table = make(connection, database, "wide", schema=wide)
    writer = table.new_append().create_writer()
    writer.write_arrow(pa.table([[i] for i in range(700)], wide))
    writer.flush().result(CALL_S_MAX)
    names = wide.names[:0:-1]
    scan = table.new_scan().project_by_name(names).with_fixed_schema(False)
    scanner = scan.create_record_batch_log_scanner().result(CALL_S_MAX)
    scanner.subscribe_buckets({0: fluss.EARLIEST_OFFSET})
    found = scanner.to_arrow().result(CALL_S_MAX)
    assert found.column_names == names
    assert found.to_pylist() == [{f"c{i}": i for i in range(699, 0, -1)}]
