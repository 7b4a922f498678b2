# SPDX-License-Identifier: Apache-2.0
"""Arguments and rows that are objects of a user's class which lies, fails, or changes things while
it is looked at.

Goal: such an object costs its call, never the process, the time of a day, or another object's data.
Values of rows are tried with a codec of the extension, which is what writers use, arguments with a
server of the test session."""

import collections.abc
import datetime
import decimal
import enum
import gc
import itertools
import math
import pickle
import threading

import fluss
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from fluss import _core, _type_texts

S_MAX = 20
D = decimal.Decimal
T = datetime.datetime
EAST = datetime.timezone(datetime.timedelta(hours=5))


class Own(Exception):
    """An error of the user's object."""


def fails(*_arguments, **_keywords):
    raise Own


class Fails:
    __len__ = __getitem__ = __iter__ = __index__ = __float__ = __bool__ = fails
    __eq__ = __hash__ = __str__ = __repr__ = fails


class FailsAtAttributes:
    __getattribute__ = fails


class OfNoName(type):
    """A metaclass whose classes have something else for a name."""

    __name__ = property(lambda cls: 5)


class Unnamed(metaclass=OfNoName):
    pass


class LongerThanMemory:
    def __len__(self):
        return 2**40

    def __getitem__(self, index):
        if index > 1:
            raise IndexError
        return index


class FromElsewhere:
    def __init__(self, value):
        self.value = value

    def to_pydatetime(self):
        return self.value


class Claims:
    def __init__(self, kind):
        object.__setattr__(self, "kind", kind)

    __class__ = property(lambda self: self.kind)


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class FieldsOfNoDataclass:
    __dataclass_fields__ = 5


class LateYear(T):
    year = property(lambda self: 10**12)


class FarZone(T):
    def utcoffset(self):
        return pd.Timedelta(days=10**5)


class WordsOfItsOwn(D):
    def __str__(self):
        return "9.99"


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def holds_itself():
    found = []
    found.append(found)
    return found


HOSTILE = [
    *[Fails(), FailsAtAttributes(), Unnamed(), LongerThanMemory(), FieldsOfNoDataclass()],
    *[FromElsewhere(value) for value in (5, (1, 2, 3), ("a", 2), (2**70, 0), pd.NaT)],
    *[Claims(kind) for kind in (int, str, bytes, list, dict, T, D)],
    *[Index(value) for value in (2**70, "x", None)],
    *[LateYear(2024, 1, 1), FarZone(2024, 1, 1, tzinfo=EAST)],
    *[nested(5000), holds_itself(), range(2**70), memoryview(b"ab").cast("B", (1, 2))],
    *[np.array(["a"], dtype=object), np.array(5), np.array("a"), np.ma.masked, np.void(b"a")],
    *[pd.Series([1]), pd.DatetimeIndex(["2024-01-01"]), pa.scalar(None), pa.array([1])],
    *[pa.table({"a": [1]}), pa.scalar(T(2024, 1, 1)), fluss.TablePath("a", "b"), fluss.col("a")],
    *[int, Ellipsis, NotImplemented, 1j, D("sNaN"), slice(1), {"a": {"a": {}}}, iter(())],
]
TYPES = [
    *["BOOLEAN", "INT", "FLOAT", "DOUBLE", "CHAR(3)", "STRING", "BYTES", "BINARY(2)"],
    *["DECIMAL(5,2)", "DATE", "TIME(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(9)", "ARRAY<INT>"],
    *["MAP<STRING, INT>", "ROW<a INT, b STRING>", "ARRAY<ARRAY<STRING>>"],
]
NATURAL = (fluss.FlussError, Own)


def codec(**columns):
    return _core.codec([(name, _type_texts.parse(text)) for name, text in columns.items()])


@pytest.mark.parametrize("type_text", TYPES)
def test_a_hostile_value_costs_its_row(type_text):
    column = codec(x=type_text)
    for value in HOSTILE:
        try:
            column.round_trip({"x": value})
        except fluss.FlussError as error:
            assert "'x'" in error.message or "datetime can hold" in error.message, error
        except Own:
            pass


def test_a_hostile_row_costs_its_call():
    columns = codec(a="INT NOT NULL", b="STRING")
    for row in HOSTILE:
        with pytest.raises(NATURAL):
            columns.round_trip(row)


class Takes:
    """Takes a row apart when its own value is asked for."""

    def __init__(self, take, value):
        self.take, self.value = take, value

    def __index__(self):
        self.take()
        gc.collect()
        return self.value


@pytest.mark.parametrize("value", [5, "x", 2**70, None])
def test_a_row_that_its_value_takes_apart(value):
    columns = codec(a="INT NOT NULL", b="STRING")
    row = {"b": "x"}
    row["a"] = Takes(row.clear, value)
    with pytest.raises(fluss.FlussError, match="changed while it was read|Field 'a'"):
        columns.round_trip(row)
    assert row == {}
    items = [None, "x"]
    items[0] = Takes(items.clear, value)
    try:
        assert columns.round_trip(items) == {"a": 5, "b": "x"}
    except fluss.FlussError as error:
        assert "Field 'a'" in error.message


def test_a_row_that_loses_and_gets_keys_while_it_is_read():
    columns = codec(a="INT", b="INT")
    row = {"a": 1}
    row["b"] = Takes(lambda: row.pop("a"), 2)
    with pytest.raises(fluss.FlussError, match="Row changed while it was read"):
        columns.round_trip(row)
    row = {"a": 1}
    row["b"] = Takes(lambda: row.update(z=1), 2)
    with pytest.raises(fluss.FlussError, match="unknown field 'z'"):
        columns.round_trip(row)


def test_what_a_derived_class_says_of_itself_does_not_change_its_value():
    assert codec(x="DECIMAL(5,2)").round_trip([WordsOfItsOwn("1.00")]) == {"x": D("1.00")}
    for moment in (LateYear(2024, 1, 1), FarZone(2024, 1, 1, tzinfo=EAST)):
        with pytest.raises(fluss.FlussError, match="Field 'x': .* of a moment"):
            codec(x="TIMESTAMP_LTZ(6)").round_trip([moment])


def test_an_error_does_not_write_out_a_value_of_millions():
    with pytest.raises(fluss.FlussError) as told:
        codec(x="MAP<STRING, INT>").round_trip([[list(range(100_000))]])
    assert "'x'" in told.value.message and len(told.value.message) < 200


# --- arguments ---


class Acks(str, enum.Enum):
    ALL = "all"


class Format(str, enum.Enum):
    ARROW = "arrow"


class Once(collections.abc.Sequence):
    """Something else when it is looked at again."""

    def __init__(self, first, later):
        self.answers = itertools.chain([first], itertools.repeat(later))

    def __len__(self):
        return 1

    def __getitem__(self, index):
        if index > 0:
            raise IndexError
        return next(self.answers)


class Unequal(int):
    __lt__ = __gt__ = lambda self, other: False
    __le__ = __ge__ = lambda self, other: True


def test_an_enumeration_of_texts_is_its_texts():
    assert fluss.Config({"writer.acks": Acks.ALL}).writer_acks == "all"
    config = fluss.Config()
    config.writer_acks = Acks.ALL
    assert config.writer_acks == "all" and type(config.writer_acks) is str
    schema = fluss.Schema.from_text("a INT")
    made = fluss.TableDescriptor(schema, log_format=Format.ARROW, properties={"k": Format.ARROW})
    assert made == fluss.TableDescriptor(schema, log_format="arrow", properties={"k": "arrow"})


def test_a_list_is_looked_at_once():
    assert fluss.Schema(PLAIN, Once("a", 5)).get_primary_keys() == ["a"]
    made = describe(partition_keys=Once("b", 5))
    assert made == describe(partition_keys=["b"])


def test_a_refused_word_leaves_the_setting_as_it_was():
    config = fluss.Config()
    for word in ("7", "-7", "²", "some"):
        with pytest.raises(fluss.FlussError, match=r"writer.acks"):
            config.writer_acks = word
        assert config.writer_acks == "all"


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, Index])
def test_what_stands_for_an_int_is_one(connection, kind):
    """As in pyfluss: numbers of numpy and all that have __index__."""
    bucket = fluss.TableBucket(kind(3), kind(0))
    assert bucket == fluss.TableBucket(3, 0) and type(bucket.table_id) is int
    assert repr(fluss.OffsetSpec.timestamp(kind(5))) == "OffsetSpec.timestamp(5)"
    admin, path = connection.get_admin(), fluss.TablePath("fluss", "ints")
    descriptor = fluss.TableDescriptor(fluss.Schema.from_text("a INT"), bucket_count=kind(1))
    admin.create_table(path, descriptor, True).result(S_MAX)
    assert admin.list_offsets(path, [kind(0)], "latest").result(S_MAX) == {0: 0}
    table = connection.get_table(path).result(S_MAX)
    scanner = table.new_scan().project([kind(0)]).create_log_scanner().result(S_MAX)
    scanner.subscribe(kind(0), kind(0))
    scanner.subscribe_buckets({kind(0): kind(0)})
    scanner.seek(kind(0), kind(0))
    assert scanner.poll(kind(1)).is_empty()
    scanner.unsubscribe(kind(0))
    admin.drop_table(path).result(S_MAX)


@pytest.mark.parametrize(
    ("call", "kind", "name"),
    [
        (lambda: fluss.TableBucket(Unequal(2**70), 0), OverflowError, "table_id"),
        (lambda: fluss.TableBucket(1, Claims(int)), TypeError, "bucket"),
        (lambda: fluss.TableBucket(1, Index("x")), TypeError, "bucket"),
        (lambda: fluss.TablePath(Claims(str), "t"), TypeError, "database_name"),
        (lambda: fluss.LakeSnapshot(2**70), OverflowError, "snapshot_id"),
        (lambda: describe(properties={"k": 10**5000}), OverflowError, r"properties\['k'\]"),
        (lambda: fluss.col("a") == np.datetime64(1, "ns"), TypeError, "value"),
        (lambda: fluss.col("a") == np.longdouble(1), TypeError, "value"),
        (lambda: fluss.col("a") == np.array([5]), TypeError, "value"),
        (lambda: fluss.col("a").is_in(itertools.count()), fluss.FlussError, "values"),
        (lambda: setattr(fluss.Config(), "writer_retries", Index("x")), TypeError, "retries"),
    ],
)
def test_the_error_names_the_argument_that_is_no_such_thing(call, kind, name):
    with pytest.raises(kind, match=name):
        call()


PLAIN = pa.schema([("a", pa.int32()), ("b", pa.string())])


def describe(**more):
    return fluss.TableDescriptor(fluss.Schema(PLAIN), **more)


@pytest.mark.parametrize(
    ("call", "kind", "name"),
    [
        (lambda a: a.list_offsets(PATH, range(2**70), "latest"), ValueError, "bucket_ids"),
        (lambda a: a.list_offsets(PATH, memoryview(b"ab"), "latest"), TypeError, "bucket_ids"),
        (lambda a: a.list_offsets(PATH, [0], "timestamp", 2**70), OverflowError, "timestamp"),
        (lambda a: a.list_offsets(PATH, [0], "timestamp", -(10**5000)), OverflowError, "timestamp"),
        (lambda a: a.get_table_schema(PATH, -5), fluss.FlussError, "schema_id"),
        (lambda a: a.list_kv_snapshots(1, -1), fluss.FlussError, "partition_id"),
        (lambda a: a.alter_table(PATH, a.list_databases()), TypeError, "changes.*await it"),
        (lambda a: a.create_acls(itertools.repeat(5)), TypeError, "acls element"),
        (lambda a: a.list_acls(pd.DataFrame({"a": [1]})), TypeError, "filter"),
        (lambda a: a.release_kv_snapshot_lease("x", [[]]), TypeError, "buckets element"),
        (lambda a: a.list_databases().result(math.nan), ValueError, "timeout"),
        (lambda a: a.list_databases().result(10**400), OverflowError, "timeout"),
        (lambda a: a.list_databases().exception(Index("x")), TypeError, "timeout"),
        (lambda a: a.list_databases().add_done_callback(5), TypeError, "fn"),
        (lambda a: a.list_databases().add_done_callback(print, context=5), TypeError, "context"),
    ],
)
def test_a_call_is_refused_at_once_by_the_name_of_the_argument(connection, call, kind, name):
    with pytest.raises(kind, match=name):
        call(connection.get_admin())


PATH = fluss.TablePath("fluss", "absent")


def test_a_scanner_is_no_list_of_changes(connection, database):
    table = make_table(connection, database)
    scanner = table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe_all()
    with pytest.raises(TypeError, match="changes must be a list of dicts, not LogScanner"):
        connection.get_admin().alter_table(PATH, scanner)


def test_a_bucket_of_an_odd_partition_survives_pickling():
    for bucket in (fluss.TableBucket.with_partition(1, -5, 0), fluss.TableBucket(1, 0)):
        assert pickle.loads(pickle.dumps(bucket)) == bucket


def make_table(connection, database, columns="a INT, b DECIMAL(20, 2)", keys=None):
    path = fluss.TablePath(database, "t")
    descriptor = fluss.TableDescriptor(fluss.Schema.from_text(columns, keys), bucket_count=1)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


class NoCapsules:
    def __init__(self, answer):
        self.answer = answer

    def __arrow_c_array__(self, requested_schema=None):
        return self.answer


def test_arrow_data_that_is_none(connection, database):
    writer = make_table(connection, database).new_append().create_writer()
    swapped = pa.record_batch({"a": [1]}).__arrow_c_array__()[::-1]
    for answer in (5, (5, 6), swapped, ()):
        for write in (writer.write_arrow_batch, writer.write_arrow):
            with pytest.raises(TypeError, match="capsule"):
                write(NoCapsules(answer))
    with pytest.raises(fluss.FlussError, match=r"with columns \(a struct\)"):
        writer.write_arrow_batch(pa.array([1]))


# --- in the middle of something ---


def test_a_row_that_is_asked_for_while_it_is_made(connection, database):
    """As another thread, or a collection of garbage, may do."""
    table = make_table(connection, database, "a ARRAY<ARRAY<INT>>, b DECIMAL(20, 2)")
    row = {"a": [[i] for i in range(50)], "b": D("1.25")}
    table.new_append_writer().append(row).wait().result(S_MAX)
    scanner = table.new_scan().create_log_scanner().result(S_MAX)
    scanner.subscribe_all()
    (record,) = scanner.poll(5000)
    found, before = [], gc.get_threshold()

    def ask(phase, _info):
        if phase == "start" and not found:
            found.append(None)
            found[0] = record.row

    gc.callbacks.append(ask)
    gc.set_threshold(1)
    try:
        outer = record.row
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(ask)
    assert outer == row
    assert record.row is outer and (not found or found[0] is outer)


class RemovesAll:
    """A callback that removes others when it is compared."""

    def __init__(self, future):
        self.future = future

    def __call__(self, _future):
        pass

    def __eq__(self, other):
        future, self.future = self.future, None
        if future is not None:
            future.remove_done_callback(print)
            future.cancel()
        return True

    __hash__ = None


def test_callbacks_that_change_the_callbacks():
    future = _core.promise(fluss.FlussFuture)
    for fn in (print, RemovesAll(future), print):
        future.add_done_callback(fn)
    future.remove_done_callback(5)
    assert future.cancelled()


def test_a_result_that_asks_for_itself_is_an_error_not_a_hang(connection):
    def convert(_names):
        return future.result()

    listed = connection.get_admin().list_databases()
    future = _core.rebind(fluss.FlussFuture, listed, convert)
    with pytest.raises(RuntimeError, match="by this very thread"):
        future.result(S_MAX)


def test_a_writer_that_two_threads_open_at_once(connection, database, monkeypatch):
    table = make_table(connection, database, "a INT NOT NULL, b INT", ["a"])
    writer, meeting = table.new_upsert(), threading.Barrier(2)
    openings, plain = [], type(writer)._open

    def slow_open(self):
        openings.append(1)
        meeting.wait(S_MAX)
        plain(self)

    monkeypatch.setattr(type(writer), "_open", slow_open)
    threads = [threading.Thread(target=writer.upsert, args=((i, i),)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(S_MAX)
    assert len(openings) == 2
    writer.flush().result(S_MAX)
    assert sorted(table.to_arrow()["a"].to_pylist()) == [0, 1]
