# SPDX-License-Identifier: Apache-2.0
"""Frames where keys or rows are expected, and timestamps with and without a zone.

Goal: a frame of keys is looked up row by row, whichever library made it; where one row is expected,
a frame is refused, never taken for its columns. No zone of a column is dropped in silence."""

import datetime
import decimal

import duckdb
import fluss
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

S_MAX = 20
UTC = datetime.timezone.utc  # noqa: UP017 - the package serves Python 3.9
SCHEMA = pa.schema([("region", pa.string()), ("id", pa.int32()), ("v", pa.string())])
ROWS = [("EU", 1, "a"), ("EU", 2, "b"), ("US", 1, "c")]
# The key columns are neither the first ones nor in key order.
KEYS = pa.table({"more": [7, 8, 9], "id": [1, 5, 1], "region": ["US", "EU", "EU"]})
FOUND = ["c", None, "a"]


def make(connection, database, schema, keys=None, **options):
    path = fluss.TablePath(database, "t")
    descriptor = fluss.TableDescriptor(fluss.Schema(schema, primary_keys=keys), **options)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


@pytest.fixture
def table(connection, database):
    made = make(connection, database, SCHEMA, ["region", "id"], bucket_keys=["region"])
    writer = made.new_upsert().create_writer()
    for row in ROWS:
        writer.upsert(row)
    writer.flush().result(S_MAX)
    return made


def relation(table):
    return duckdb.connect().from_arrow(table)


FORMS = {
    "table": lambda table: table,
    "chunks": lambda table: pa.concat_tables([table[:1], table[1:]]),
    "batch": lambda table: pa.record_batch(table.combine_chunks().to_pydict(), table.schema),
    "reader": lambda table: table.to_reader(),
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(),
    "pandas index": lambda table: table.to_pandas().set_index(["region", "id"]),
    "duckdb": relation,
}


@pytest.mark.parametrize("form", FORMS)
def test_frame_of_keys_is_looked_up_row_by_row(table, form):
    lookuper = table.new_lookup().create_lookuper()
    many = lookuper.lookup_many(FORMS[form](KEYS)).result(S_MAX)
    assert [row and row["v"] for row in many] == FOUND
    found = lookuper.lookup_arrow(FORMS[form](KEYS)).result(S_MAX)
    assert sorted(found.batch["v"].to_pylist()) == ["a", "c"]
    assert lookuper.lookup_many(FORMS[form](KEYS[:0])).result(S_MAX) == []


def test_answers_of_the_package_are_frames_of_keys(table):
    lookuper = table.new_lookup().create_lookuper()
    assert len(lookuper.lookup_many(table.to_arrow()).result(S_MAX)) == len(ROWS)
    batch = lookuper.lookup_arrow([("EU", 2)]).result(S_MAX)
    assert lookuper.lookup_many(batch).result(S_MAX)[0]["v"] == "b"


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (KEYS.drop_columns(["id"]), r"pks lacks the columns \['id'\].*expected columns"),
        (KEYS.rename_columns(["id", "id", "region"]), "several columns of one name"),
        (pa.table({"region": ["EU"], "id": pa.array([None], pa.int32())}), "'id'"),
        (pa.table({"region": ["EU"], "id": [1.5]}), "'id'"),
        (pa.table({"region": ["EU"], "id": [2**31]}), "'id'"),
    ],
)
def test_frames_that_are_no_keys_are_refused(table, keys, text):
    lookuper = table.new_lookup().create_lookuper()
    for call in (lookuper.lookup_many, lookuper.lookup_arrow):
        with pytest.raises(fluss.FlussError, match=text):
            call(keys)


@pytest.mark.parametrize(
    "keys",
    [
        pd.Series([("EU", 1)]),
        pl.Series([["EU", "1"]]),
        pa.array([1, 2]),
        pa.chunked_array([[1, 2]]),
        {"region": ["EU"], "id": [1]},
        "EU",
        pl.DataFrame({"region": ["EU"], "id": [1]}).lazy(),
    ],
    ids=lambda keys: type(keys).__name__,
)
def test_what_is_no_frame_is_a_type_error(table, keys):
    lookuper = table.new_lookup().create_lookuper()
    for call in (lookuper.lookup_many, lookuper.lookup_arrow):
        with pytest.raises(TypeError, match="pks must be a list of keys or an Arrow table"):
            call(keys)


KEY_TYPES = {
    pa.decimal128(10, 2): [decimal.Decimal("1.20")],
    pa.date32(): [datetime.date(2024, 1, 2)],
    pa.timestamp("us"): [datetime.datetime(2024, 1, 2, 3, 4, 5, 6)],
    pa.timestamp("ns"): [pd.Timestamp("2024-01-02T03:04:05.000000007")],
    pa.timestamp("us", "UTC"): [datetime.datetime(2024, 1, 2, tzinfo=UTC)],
    pa.binary(): [b"\0x"],
    pa.dictionary(pa.int8(), pa.string()): ["x"],
}


@pytest.mark.parametrize("kind", KEY_TYPES, ids=str)
def test_keys_of_frames_are_those_of_single_lookups(connection, database, kind):
    column = pa.array(KEY_TYPES[kind], kind)
    plain = column.dictionary_decode() if pa.types.is_dictionary(kind) else column
    schema = pa.schema([("k", plain.type), ("v", pa.int32())])
    table = make(connection, database, schema, ["k"])
    writer = table.new_upsert().create_writer()
    writer.upsert((KEY_TYPES[kind][0], 7)).wait().result(S_MAX)
    lookuper = table.new_lookup().create_lookuper()
    one = lookuper.lookup((KEY_TYPES[kind][0],)).result(S_MAX)
    assert lookuper.lookup_many(pa.table({"k": column})).result(S_MAX) == [one]
    assert one["v"] == 7


@pytest.mark.parametrize("form", [form for form in FORMS if form != "reader"])
def test_frame_is_no_row_and_no_key(table, form):
    upsert = table.new_upsert().create_writer()
    frame = FORMS[form](pa.table({"region": ["EU"] * 3, "id": [1] * 3, "v": ["x"] * 3}))
    keys = FORMS[form](KEYS.select(["region", "id"]))
    prefix = table.new_lookup().lookup_by(["region"]).create_lookuper()
    for call, given in (
        (upsert.upsert, frame),
        (upsert.delete, keys),
        (table.new_lookup().create_lookuper().lookup, keys),
        (prefix.lookup, KEYS.select(["region"])),
    ):
        with pytest.raises(fluss.FlussError, match=r"got \w+, which may hold many rows: .*arrow"):
            call(given)


def test_frame_is_no_row_even_where_its_columns_are_lists(connection, database):
    schema = pa.schema([("a", pa.list_(pa.int32())), ("b", pa.list_(pa.int32()))])
    writer = make(connection, database, schema).new_append().create_writer()
    for frame in (pa.table({"a": [1, 2], "b": [3, 4]}), pl.DataFrame({"a": [1], "b": [2]})):
        with pytest.raises(fluss.FlussError, match=r"write_arrow\(\)"):
            writer.append(frame)


def test_rows_of_a_frame_are_rows(table):
    upsert = table.new_upsert().create_writer()
    frame = pd.DataFrame({"region": ["EU"], "id": [9], "v": ["row"]})
    for _, row in frame.iterrows():
        upsert.upsert(row)
    upsert.flush().result(S_MAX)
    assert table.new_lookup().create_lookuper().lookup(("EU", 9)).result(S_MAX)["v"] == "row"


# --- zones ---


@pytest.mark.parametrize("zone", ["UTC", "utc", "Etc/UTC", "Z", "+00:00", "GMT", "Europe/Berlin"])
@pytest.mark.parametrize("nested", [False, True])
def test_zone_of_a_column_is_not_dropped(connection, database, zone, nested):
    kind, given = pa.timestamp("us"), pa.array([5], pa.timestamp("us", zone))
    if nested:
        kind, given = pa.list_(kind), pa.array([[5]], pa.list_(given.type))
    table = make(connection, database, pa.schema([("t", kind)]))
    writer = table.new_append().create_writer()
    with pytest.raises(fluss.FlussError, match=r"'t'.*time zone.*TIMESTAMP_LTZ"):
        writer.write_arrow(pa.table({"t": given}))
    with pytest.raises(fluss.FlussError, match=r"'t'.*time zone.*TIMESTAMP_LTZ"):
        writer.write_arrow_batch(pa.record_batch({"t": given}))
    assert table.to_arrow().num_rows == 0


@pytest.mark.parametrize("values", ["column", "objects"])
def test_zone_of_a_pandas_column_is_not_dropped(connection, database, values):
    table = make(connection, database, pa.schema([("t", pa.timestamp("us"))]))
    column = pd.to_datetime(["2024-01-01T00:00Z", None])
    frame = pd.DataFrame({"t": column.astype(object) if values == "objects" else column})
    writer = table.new_append().create_writer()
    with pytest.raises(fluss.FlussError, match="'t'.*time zone.*TIMESTAMP_LTZ"):
        writer.write_pandas(frame)
    writer.write_pandas(frame.assign(t=column.tz_localize(None)))
    writer.flush().result(S_MAX)
    assert table.to_arrow().num_rows == 2


def test_column_without_a_zone_is_utc_in_a_column_of_instants(connection, database):
    table = make(connection, database, pa.schema([("t", pa.timestamp("us", "UTC"))]))
    writer = table.new_append().create_writer()
    writer.write_arrow(pa.table({"t": pa.array([5], pa.timestamp("us"))}))
    writer.append((datetime.datetime(1970, 1, 1, 0, 0, 0, 5),))
    writer.flush().result(S_MAX)
    moment = datetime.datetime(1970, 1, 1, 0, 0, 0, 5, UTC)
    assert table.to_arrow()["t"].to_pylist() == [moment] * 2


# --- a future that was not awaited ---


def test_missing_attribute_of_a_future_says_to_await_it(connection):
    future = connection.get_admin().list_databases()
    with pytest.raises(AttributeError, match=r"no attribute 'new_scan'.*await.*result\(\)") as told:
        future.new_scan()
    assert told.value.name == "new_scan" and told.value.obj is future
    assert not hasattr(future, "new_scan") and getattr(future, "other", 5) == 5
    with pytest.raises(AttributeError, match="'_x'$"):
        future._x  # noqa: B018 - it is the access that raises
    future.result(S_MAX)
