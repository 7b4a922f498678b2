# SPDX-License-Identifier: Apache-2.0
"""Arrow by PyCapsule, in and out: any producer is written, any consumer reads.

Goal: users of pyarrow, polars, DuckDB, pandas and nothing of these are at home. Method: each kind
of object is written to a log table and to a primary-key table and read back."""

import datetime
import decimal
import subprocess
import sys
import threading
import time

import duckdb
import fluss
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

S_MAX = 30
SCHEMA = pa.schema([("id", pa.int32()), ("name", pa.string()), ("score", pa.float64())])
ROWS = [{"id": n, "name": f"row {n}", "score": n / 4} for n in range(10)]
TABLE = pa.Table.from_pylist(ROWS, schema=SCHEMA)


class ArrayOnly:
    """A foreign object that knows __arrow_c_array__ and nothing else."""

    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


class StreamOnly:
    """A foreign object that knows __arrow_c_stream__ and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


PRODUCERS = {
    "pyarrow.Table": lambda: TABLE,
    "pyarrow.Table of chunks": lambda: pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3)]),
    "pyarrow.RecordBatch": lambda: TABLE.to_batches()[0],
    "pyarrow.RecordBatchReader": lambda: TABLE.to_reader(max_chunksize=4),
    "polars.DataFrame": lambda: pl.DataFrame(TABLE),
    "pandas.DataFrame": lambda: pd.DataFrame(ROWS).astype({"id": "int32"}),
    "duckdb relation": lambda: duckdb.sql(
        "select i::int as id, 'row ' || i as name, i / 4 as score from range(10) t(i)"
    ),
    "array capsules": lambda: ArrayOnly(TABLE.to_batches()[0]),
    "stream capsule": lambda: StreamOnly(TABLE),
    "columns in another order": lambda: TABLE.select(["score", "id", "name"]),
}


def make(connection, database, schema=SCHEMA, keys=None, **options):
    path = fluss.TablePath(database, f"t{time.monotonic_ns()}")
    options = {"bucket_count": 1, **options}
    descriptor = fluss.TableDescriptor(fluss.Schema(schema, keys), **options)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


def rows_of(table):
    return table.new_scan().to_arrow().result(S_MAX).sort_by("id").to_pylist()


# --- in ---


@pytest.mark.parametrize("producer", PRODUCERS)
def test_any_producer_is_appended(connection, database, producer):
    table = make(connection, database)
    writer = table.new_append().create_writer()
    writer.write_arrow(PRODUCERS[producer]())
    writer.flush().result(S_MAX)
    assert rows_of(table) == ROWS


@pytest.mark.parametrize("producer", PRODUCERS)
def test_any_producer_is_upserted_and_deleted(connection, database, producer):
    table = make(connection, database, keys=["id"])
    writer = table.new_upsert().create_writer()
    writer.write_arrow(PRODUCERS[producer]())
    writer.flush().result(S_MAX)
    assert rows_of(table) == ROWS
    writer.delete_arrow(PRODUCERS[producer]())  # other columns than the key are left out
    writer.flush().result(S_MAX)
    assert rows_of(table) == []


@pytest.mark.parametrize("producer", PRODUCERS)
def test_any_producer_is_one_batch(connection, database, producer):
    table = make(connection, database)
    handle = table.new_append().create_writer().write_arrow_batch(PRODUCERS[producer]())
    handle.wait().result(S_MAX)
    assert (handle.bucket.bucket_id, handle.log_end_offset) == (0, 10)
    assert rows_of(table) == ROWS


def test_what_the_package_reads_it_writes(connection, database):
    """Batches, scanners and lookups are producers themselves."""
    source = make(connection, database)
    writer = source.new_append().create_writer()
    writer.write_arrow(TABLE)
    writer.flush().result(S_MAX)
    target = make(connection, database, keys=["id"])
    upsert = target.new_upsert().create_writer()
    upsert.write_arrow(source.new_scan())
    upsert.flush().result(S_MAX)
    assert rows_of(target) == ROWS
    found = target.new_lookup().lookup_arrow([(1,), (3,)]).result(S_MAX)
    upsert.delete_arrow(found).wait().result(S_MAX)
    assert [row["id"] for row in rows_of(target)] == [0, 2, 4, 5, 6, 7, 8, 9]


RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 6], pa.int32()), ["a", None, "b"])
LAYOUTS = {
    "sliced": pa.array(["x", None, "longer than a view", "z", "w"]).slice(1, 3),
    "dictionary": pa.array(["a", None, "a", "b"]).dictionary_encode(),
    "sliced dictionary": pa.array(["q", "a", None, "a"]).dictionary_encode()[1:],
    "dictionary of large strings": pa.array(["a", "b", "a"], pa.large_string()).dictionary_encode(),
    "large string": pa.array(["a", None, ""], pa.large_string()),
    "string view": pa.array(["a", None, "longer than twelve bytes"]).cast("string_view"),
    "sliced string view": pa.array(["q", None, "longer than twelve bytes"]).cast("string_view")[1:],
    "runs": RUNS,
    "sliced runs": RUNS.slice(1, 4),
    "chunks": pa.chunked_array([["a"], [], [None, "b"]]),
    "no rows": pa.array([], pa.string()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("keyed", [False, True])
def test_layouts_of_text(connection, database, layout, keyed):
    column = LAYOUTS[layout]
    given = pa.table({"id": pa.array(range(len(column)), pa.int32()), "v": column})
    schema = pa.schema([("id", pa.int32()), ("v", pa.string())])
    table = make(connection, database, schema, ["id"] if keyed else None)
    writer = table.new_upsert() if keyed else table.new_append()
    writer.write_arrow(given)
    writer.flush().result(S_MAX)
    assert [row["v"] for row in rows_of(table)] == column.to_pylist()


INTS = pa.list_(pa.int32())
NESTED = {
    "list": (INTS, pa.array([[9], [1, None], None, []], INTS).slice(1)),
    "large list": (INTS, pa.array([[9], [1, 2], None], pa.large_list(pa.int32())).slice(1)),
    "list of one size": (
        INTS,
        pa.array([[9, 9], [1, 2], None, [3, None]], pa.list_(pa.int32(), 2)),
    ),
    "sliced list of one size": (
        INTS,
        pa.array([[9, 9], [1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)).slice(1),
    ),
    "runs of numbers": (
        pa.int64(),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int16()), pa.array([7, None])),
    ),
    "binary": (pa.binary(), pa.array([b"a", None, b""], pa.large_binary())),
    "struct": (
        pa.struct([("a", pa.int32())]),
        pa.array([{"a": 7}, {"a": 1}, None], pa.struct([("a", pa.int32())])).slice(1),
    ),
    "map": (
        pa.map_(pa.string(), pa.int32()),
        pa.array([[("q", 0)], [("k", 1)], None], pa.map_("string", "int32")).slice(1),
    ),
    "dictionary in a list": (
        pa.list_(pa.string()),
        pa.ListArray.from_arrays([0, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
    ),
}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("keyed", [False, True])
def test_nested_layouts(connection, database, kind, keyed):
    declared, column = NESTED[kind]
    given = pa.table({"id": pa.array(range(len(column)), pa.int32()), "v": column})
    schema = pa.schema([("id", pa.int32()), ("v", declared)])
    table = make(connection, database, schema, ["id"] if keyed else None)
    writer = table.new_upsert() if keyed else table.new_append()
    with writer.create_writer() as opened:
        opened.write_arrow(given)
    assert [row["v"] for row in rows_of(table)] == column.to_pylist()


LOSSLESS = [
    (pa.int64(), pa.array([1, 2**31], pa.uint32())),
    (pa.int8(), pa.array([-128, 127], pa.int64())),
    (pa.float64(), pa.array([2**53, None], pa.int64())),
    (pa.float64(), pa.array([1.5], pa.float32())),
    (pa.float32(), pa.array([1.5, float("nan"), float("inf")])),
    (pa.decimal128(10, 2), pa.array([decimal.Decimal("1.200")], pa.decimal128(10, 3))),
    (
        pa.timestamp("us"),
        pa.array([datetime.datetime(1969, 12, 31, 23, 59, 59)], pa.timestamp("s")),
    ),
    (pa.date32(), pa.array([datetime.date(1, 1, 1)], pa.date64())),
]


@pytest.mark.parametrize(("declared", "column"), LOSSLESS)
def test_other_types_are_converted_where_nothing_is_lost(connection, database, declared, column):
    table = make(connection, database, pa.schema([("id", pa.int32()), ("v", declared)]))
    writer = table.new_append().create_writer()
    writer.write_arrow(pa.table({"id": pa.array(range(len(column)), pa.int32()), "v": column}))
    writer.flush().result(S_MAX)
    found = [row["v"] for row in rows_of(table)]
    expected = column.cast(declared).to_pylist()
    assert [str(v) for v in found] == [str(v) for v in expected]


UNSIGNED = [(pa.uint8(), 2**7), (pa.uint16(), 2**15), (pa.uint32(), 2**31), (pa.uint64(), 2**63)]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(("declared", "first_too_large"), UNSIGNED)
def test_unsigned_column_is_signed_and_wraps_nothing(
    connection, database, declared, first_too_large, keyed
):
    schema = pa.schema([("id", pa.int32()), ("v", declared)])
    table = make(connection, database, schema, ["id"] if keyed else None)
    writer = (table.new_upsert() if keyed else table.new_append()).create_writer()
    write_row = writer.upsert if keyed else writer.append
    for value in (first_too_large, 2 * first_too_large - 1):
        with pytest.raises(fluss.FlussError, match=f"'v': {value} is out of range"):
            write_row((9, value))
        with pytest.raises(fluss.FlussError, match=f"'v': row 0: {value} is out of range"):
            writer.write_arrow(pa.table({"id": [9], "v": [value]}, schema))
    write_row((0, first_too_large - 1))
    writer.write_arrow(pa.table({"id": [1], "v": [first_too_large - 1]}, schema))
    writer.flush().result(S_MAX)
    assert sorted(row["v"] for row in rows_of(table)) == [first_too_large - 1] * 2
    assert str(table.to_arrow()["v"].type) == str(declared).lstrip("u")


LOSSY = [
    (pa.int8(), pa.array([128], pa.int64())),
    (pa.int64(), pa.array([1.0])),
    (pa.float64(), pa.array([2**53 + 1], pa.int64())),
    (pa.float32(), pa.array([0.1])),
    (pa.float32(), pa.array([1e300])),
    (pa.decimal128(10, 2), pa.array([decimal.Decimal("1.225")], pa.decimal128(10, 3))),
    (pa.timestamp("us"), pa.array([1000], pa.timestamp("ns"))),
    (pa.timestamp("us"), pa.array([1], pa.timestamp("us", tz="Asia/Kolkata"))),
    (pa.string(), pa.array([b"\xff"], pa.binary())),
    (pa.string(), pa.array([1])),
]


@pytest.mark.parametrize(("declared", "column"), LOSSY)
def test_types_that_lose_something_are_refused_with_the_columns_name(
    connection, database, declared, column
):
    table = make(connection, database, pa.schema([("id", pa.int32()), ("v", declared)]))
    writer = table.new_append().create_writer()
    given = pa.table({"id": pa.array(range(len(column)), pa.int32()), "v": column})
    for form in (given, StreamOnly(given)):
        with pytest.raises(fluss.FlussError, match="'v'"):
            writer.write_arrow(form)
    writer.flush().result(S_MAX)
    assert rows_of(table) == []


# --- all or nothing ---


@pytest.mark.parametrize("keyed", [False, True])
def test_table_is_written_whole_or_not_at_all(connection, database, keyed):
    schema = pa.schema([("id", pa.int8()), ("v", pa.string())])
    table = make(connection, database, schema, ["id"] if keyed else None, bucket_count=3)
    writer = table.new_upsert().create_writer() if keyed else table.new_append().create_writer()
    chunks = [pa.table({"id": [n], "v": ["x"]}) for n in range(5)]
    bad = pa.concat_tables([*chunks, pa.table({"id": [1000], "v": ["too large"]})])
    assert len(bad.to_batches()) == 6
    with pytest.raises(fluss.FlussError, match="'id'"):
        writer.write_arrow(bad)
    with pytest.raises(fluss.FlussError, match="'id'"):
        writer.write_arrow(pl.from_arrow(bad, rechunk=False))
    writer.flush().result(S_MAX)
    assert rows_of(table) == []
    with pytest.raises(fluss.FlussError, match="'id'"):
        writer.write_arrow(bad.to_reader())  # a stream: what came before is written
    writer.flush().result(S_MAX)
    assert [row["id"] for row in rows_of(table)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("keyed", [False, True])
def test_bad_partition_value_in_a_later_row_leaves_nothing(connection, database, keyed):
    schema = pa.schema([("id", pa.int32()), ("region", pa.string())])
    keys = ["id", "region"] if keyed else None
    table = make(connection, database, schema, keys, partition_keys=["region"])
    path, admin = table.get_table_path(), connection.get_admin()
    admin.create_partition(path, {"region": "EU"}).result(S_MAX)
    writer = table.new_upsert().create_writer() if keyed else table.new_append().create_writer()
    given = pa.table({"id": pa.array([1, 2], pa.int32()), "region": ["EU", "not/valid"]})
    with pytest.raises(fluss.FlussError, match="row 1"):
        writer.write_arrow(given)
    writer.flush().result(S_MAX)
    assert rows_of(table) == []


def test_pandas_frame_is_written_whole_or_not_at_all(connection, database):
    table = make(connection, database)
    writer = table.new_append().create_writer()
    with pytest.raises(ValueError, match="id|convert|range"):
        writer.write_pandas(pd.DataFrame({"id": [1, 2**40], "name": ["a", "b"], "score": [1, 2]}))
    with pytest.raises(KeyError, match="score"):
        writer.write_pandas(pd.DataFrame({"id": [1], "name": ["a"]}))
    with pytest.raises(TypeError, match="df must be a pandas.DataFrame, not int"):
        writer.write_pandas(5)
    writer.flush().result(S_MAX)
    assert rows_of(table) == []


def test_pandas_number_that_is_too_large_for_a_float_is_refused(connection, database):
    table = make(connection, database, pa.schema([("id", pa.int32()), ("v", pa.float32())]))
    writer = table.new_append().create_writer()
    writer.write_pandas(pd.DataFrame({"id": [1, 2], "v": [0.1, np.inf]}))
    with pytest.raises(fluss.FlussError, match="'v'.*FLOAT"):
        writer.write_pandas(pd.DataFrame({"id": [3, 4], "v": [1e300, np.inf]}))
    writer.flush().result(S_MAX)
    assert [row["v"] for row in rows_of(table)] == [float(np.float32(0.1)), np.inf]


def test_arrow_write_waits_for_room_and_goes_on_where_it_stopped(servers, database):
    """A table larger than the buffer, to a partition that comes later: no row twice, none lost."""
    sizes = dict(writer_buffer_memory_size=200_000, writer_request_max_size=100_000)
    sizes.update(writer_batch_size=50_000, writer_dynamic_batch_size_min=1000)
    schema = pa.schema([("id", pa.int32()), ("region", pa.string())])
    connection = fluss.FlussConnection.create(bootstrap_servers=servers, **sizes).result(S_MAX)
    with connection:
        table = make(connection, database, schema, partition_keys=["region"])
        writer = table.new_append().create_writer()
        count, path = 50_000, table.get_table_path()
        given = pa.table({"id": pa.array(range(count), pa.int32()), "region": ["EU"] * count})
        thread = threading.Thread(target=writer.write_arrow, args=(given,))
        thread.start()
        thread.join(0.7)  # longer than one slice of the wait
        assert thread.is_alive()
        connection.get_admin().create_partition(path, {"region": "EU"}).result(S_MAX)
        thread.join(S_MAX)
        assert not thread.is_alive()
        writer.flush().result(S_MAX)
        found = table.new_scan().to_arrow().result(S_MAX)["id"].to_pylist()
        assert found == list(range(count))


# --- out ---


@pytest.fixture
def filled(connection, database):
    table = make(connection, database)
    writer = table.new_append().create_writer()
    writer.write_arrow(TABLE)
    writer.flush().result(S_MAX)
    return table


def scanner_of(table):
    scanner = table.new_scan().create_record_batch_log_scanner().result(S_MAX)
    scanner.subscribe_all()
    return scanner


SOURCES = {
    "table": lambda table: table,
    "scan": lambda table: table.new_scan(),
    "scanner": scanner_of,
    "batch": lambda table: scanner_of(table).poll_record_batch(5000)[0],
    "whole table": lambda table: table.to_arrow(),
    "bucket scan": lambda table: (
        table.new_scan()
        .limit(100)
        .create_bucket_batch_scanner(fluss.TableBucket(table.get_table_info().table_id, 0))
    ),
}
CONSUMERS = {
    "pyarrow": lambda x: (
        pa.Table.from_batches([pa.record_batch(x)])
        if hasattr(x, "__arrow_c_array__")
        else pa.table(x)
    ).to_pylist(),
    "polars": lambda x: pl.DataFrame(x).to_dicts(),
    "pandas": lambda x: (
        pd.DataFrame.from_arrow(x)
        if hasattr(pd.DataFrame, "from_arrow")
        else pa.table(x).to_pandas()
    ).to_dict("records"),
    "duckdb": lambda x: duckdb.from_arrow(x).fetchdf().to_dict("records"),
    "duckdb by name": lambda x: duckdb.sql("SELECT * FROM x").fetchdf().to_dict("records"),
}


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("source", SOURCES)
def test_any_consumer_reads(filled, source, consumer):
    assert CONSUMERS[consumer](SOURCES[source](filled)) == ROWS


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "batch"])
def test_columns_are_told_before_anything_is_read(filled, source):
    given = SOURCES[source](filled)
    assert pa.schema(given) == filled.arrow_schema
    assert pa.table(given).num_rows == 10
    if source == "scan":
        assert pa.schema(given.project_by_name(["id"])).names == ["id"]


def test_a_scanner_of_records_has_no_arrow(filled):
    scanner = filled.new_scan().create_log_scanner().result(S_MAX)
    for method in (scanner.__arrow_c_schema__, scanner.__arrow_c_stream__):
        with pytest.raises(fluss.FlussError, match="does not fit a scanner of records"):
            method()


# What users hand over that is no Arrow data yet, and what they are told to do.
NEARLY_ARROW = {
    "lazy frame": (lambda: pl.LazyFrame({"id": [1]}), r"got LazyFrame: give its collect\(\)"),
    "dataset": (lambda: pyarrow.dataset.dataset(TABLE), r"give its scanner\(\).to_reader\(\)"),
    "dataset scanner": (
        lambda: pyarrow.dataset.dataset(TABLE).scanner(),
        r"got Scanner: give its to_reader\(\)",
    ),
    "duckdb cursor": (
        lambda: duckdb.connect().execute("SELECT 1"),
        r"got DuckDBPyConnection: give its to_arrow",
    ),
    "dict": (lambda: {"id": [1]}, r"got dict: make it one with pyarrow.table\(\)"),
    "rows": (lambda: [{"id": 1}], r"got list: .* write rows with append\(\) or upsert\(\)"),
    "numpy": (lambda: np.array([1]), r"got ndarray: make it one with pyarrow.table\(\)"),
    "none": (lambda: None, "got NoneType$"),
}


@pytest.mark.parametrize("kind", NEARLY_ARROW)
def test_what_is_nearly_arrow_is_told_how_to_become_it(filled, kind):
    make_it, text = NEARLY_ARROW[kind]
    writer = filled.new_append().create_writer()
    for write in (writer.write_arrow, writer.write_arrow_batch):
        with pytest.raises(fluss.FlussError, match=text):
            write(make_it())
    for frame in (pl.DataFrame({"id": [1]}), TABLE):
        with pytest.raises(TypeError, match=r"not \w+; write_arrow\(\) takes it"):
            writer.write_pandas(frame)
    for series in (pd.Series([1]), pl.Series([1])):
        with pytest.raises(TypeError, match=r"not Series: give its to_frame\(\)"):
            writer.write_pandas(series)


WHOLE = "2024-01-01"
TIMES = {
    "whole days": ("DATE", pd.to_datetime([WHOLE, None]), None),
    "time of day in a date": ("DATE", pd.to_datetime([f"{WHOLE}T12:00", None]), "lose a part"),
    "objects with a time": ("DATE", [pd.Timestamp(f"{WHOLE}T12:00")], "lose a part"),
    "midnight elsewhere": (
        "DATE",
        pd.to_datetime([WHOLE]).tz_localize("Europe/Oslo"),
        "lose a part",
    ),
    "dates": ("DATE", [datetime.date(2024, 1, 1), None], None),
    "date in a time": ("TIME", pd.to_datetime([WHOLE]), "lose a part"),
    "times": ("TIME", [datetime.time(1, 2, 3), None], None),
    "fine times": ("TIME(3)", [datetime.time(1, 2, 3, 456789)], "lose a part"),
    "nothing": ("DATE", [None, None], None),
}


@pytest.mark.parametrize("case", TIMES)
def test_frames_lose_no_part_of_a_time(connection, database, case):
    kind, values, text = TIMES[case]
    path = fluss.TablePath(database, "times")
    descriptor = fluss.TableDescriptor(fluss.Schema.from_text(f"t {kind}"), bucket_count=1)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    table = connection.get_table(path).result(S_MAX)
    writer, frame = table.new_append().create_writer(), pd.DataFrame({"t": values})
    if text is not None:
        with pytest.raises(fluss.FlussError, match=text):
            writer.write_pandas(frame)
        return
    writer.write_pandas(frame)
    writer.flush().result(S_MAX)
    assert len(table.to_arrow()) == len(frame)


def test_columns_of_nulls_fit_every_type(connection, database):
    path = fluss.TablePath(database, "nulls")
    schema = fluss.Schema.from_text("a INT, b STRING, c ARRAY<INT>, d ROW<x BIGINT>")
    connection.get_admin().create_table(path, fluss.TableDescriptor(schema)).result(S_MAX)
    table = connection.get_table(path).result(S_MAX)
    rows = {"a": [None] * 3, "b": [None] * 3, "c": [[], [None], None], "d": [{"x": None}] * 3}
    writer = table.new_append().create_writer()
    for frame in (pl.DataFrame(rows), pl.DataFrame(rows)[1:], pa.table(rows)):
        writer.write_arrow(frame)
    writer.write_pandas(pd.DataFrame(rows))
    writer.flush().result(S_MAX)
    expected = pa.table(rows).to_pylist()
    assert table.to_arrow().to_pylist() == expected + expected[1:] + expected + expected


def test_times_of_polars_fit_where_nothing_is_lost(connection, database):
    path = fluss.TablePath(database, "times")
    descriptor = fluss.TableDescriptor(fluss.Schema.from_text("t TIME(3)"), bucket_count=1)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_append().create_writer()
    given = [datetime.time(1, 2, 3, 456000), None]
    writer.write_arrow(pl.DataFrame({"t": given}))  # in nanoseconds
    with pytest.raises(fluss.FlussError, match="would lose digits"):
        writer.write_arrow(pl.DataFrame({"t": [datetime.time(1, 2, 3, 456001)]}))
    writer.flush().result(S_MAX)
    assert table.to_polars().result(S_MAX)["t"].to_list() == given


def test_polars_pandas_and_duckdb_round_trip(filled):
    frame = filled.to_polars().result(S_MAX)
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dicts() == ROWS
    assert list(filled.to_pandas()["id"]) == list(range(10))
    writer = filled.new_append().create_writer()
    writer.write_arrow(frame.with_columns(id=pl.col("id") + 10))
    writer.write_pandas(
        filled.to_pandas().result(S_MAX).assign(id=np.arange(20, 40, dtype="int32"))
    )
    writer.write_arrow(duckdb.from_arrow(filled.to_arrow().result(S_MAX)).filter("id < 1"))
    writer.flush().result(S_MAX)
    assert sorted(filled.to_arrow()["id"].to_pylist()) == sorted([0, *range(40)])


def test_columns_of_a_batch_lie_where_they_were_received(connection, database):
    """Uncompressed columns are not copied on their way to pyarrow: their addresses say so."""
    schema = pa.schema([("id", pa.int64())])
    properties = {"table.log.arrow.compression.type": "NONE"}
    table = make(connection, database, schema, properties=properties)
    writer = table.new_append().create_writer()
    writer.write_arrow(pa.table({"id": pa.array(range(1000))}))
    writer.flush().result(S_MAX)
    batch = scanner_of(table).poll_record_batch(5000)[0]
    addresses = {
        pa.record_batch(batch)["id"].buffers()[1].address,
        batch.batch["id"].buffers()[1].address,
        pa.table(pa.RecordBatchReader.from_batches(schema, [pa.record_batch(batch)]))["id"]
        .chunk(0)
        .buffers()[1]
        .address,
    }
    assert len(addresses) == 1
    kept = batch.batch["id"]
    del batch
    assert kept.to_pylist() == list(range(1000))


PROGRAM = """
import sys
import fluss

class Rows:
    def __init__(self, batch):
        self.batch = batch
    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__()

with fluss.Server() as server:
    connection = fluss.FlussConnection.create(bootstrap_servers=server.bootstrap_servers).result()
    admin, path = connection.get_admin(), fluss.TablePath("fluss", "t")
    schema = fluss.Schema.from_text("id INT NOT NULL, name STRING")
    admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=1)).result()
    table = connection.get_table(path).result()
    writer = table.new_append().create_writer()
    writer.append((1, "a"))
    writer.flush().result()
    scanner = table.new_scan().create_record_batch_log_scanner().result()
    scanner.subscribe_all()
    writer.write_arrow_batch(Rows(scanner.poll_record_batch(5000)[0])).wait().result()
    writer.write_arrow(table.new_scan())
    writer.flush().result()
    records = table.new_scan().create_log_scanner().result()
    records.subscribe_all()
    found = []
    while len(found) < 4:
        found += [record.row for record in records.poll(5000)]
    assert found == [{"id": 1, "name": "a"}] * 4, found
    connection.close().result()
loaded = {"pyarrow", "pandas", "polars", "numpy"} & set(sys.modules)
assert not loaded, loaded
"""


def test_other_libraries_are_imported_only_when_they_are_wanted():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
