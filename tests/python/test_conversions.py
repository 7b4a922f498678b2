# SPDX-License-Identifier: Apache-2.0
"""Python values to rows and back, without a server: what is stored of a value, and what is refused.

A codec of the extension encodes a row and decodes what it encoded."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import warnings
from typing import NamedTuple

import fluss
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from fluss import _core, _type_texts

D = decimal.Decimal
UTC = datetime.timezone.utc
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
T = datetime.datetime


def stored(type_text, value):
    """What a column of that type gives back for a value."""
    codec = _core.codec([("x", _type_texts.parse(type_text))])
    return codec.round_trip({"x": value})["x"]


class Colour(enum.Enum):
    RED = "red"


class Text(str, enum.Enum):
    A = "a"


class Level(enum.Enum):
    HIGH = 3


class Number(enum.IntEnum):
    TWO = 2


@dataclasses.dataclass
class Plain:
    a: int
    b: str


class Reversed(NamedTuple):
    b: str
    a: int


KEPT = [
    ("BOOLEAN", True, True),
    ("BOOLEAN", np.bool_(False), False),
    ("TINYINT", -128, -128),
    ("SMALLINT", 32767, 32767),
    ("INT", np.int64(77), 77),
    ("BIGINT", -(2**63), -(2**63)),
    ("FLOAT", 3.14, 3.140000104904175),
    ("FLOAT", math.inf, math.inf),
    ("FLOAT", 2**24, 16777216.0),
    ("FLOAT", D("3.14"), 3.140000104904175),
    ("FLOAT", np.float16(0.5), 0.5),
    ("DOUBLE", 7, 7.0),
    ("DOUBLE", D("2.5"), 2.5),
    ("DOUBLE", D("0.1"), 0.1),
    ("DOUBLE", D("Infinity"), math.inf),
    ("DOUBLE", 2**53, 9007199254740992.0),
    ("DOUBLE", 2**60, 1152921504606846976.0),
    ("DOUBLE", fractions.Fraction(1, 4), 0.25),
    ("DOUBLE", np.longdouble(1.5), 1.5),
    ("STRING", Colour.RED, "red"),
    ("STRING", Text.A, "a"),
    ("STRING", np.str_("n"), "n"),
    ("BYTES", np.bytes_(b"n"), b"n"),
    ("INT", Level.HIGH, 3),
    ("INT", Number.TWO, 2),
    ("INT", pd.NA, None),
    ("STRING", pd.NA, None),
    ("DATE", pd.NaT, None),
    ("DATE", np.datetime64("2024-02-29"), datetime.date(2024, 2, 29)),
    ("ARRAY<STRING>", [Colour.RED, None, pd.NA], ["red", None, None]),
    ("DOUBLE", np.float32(1.25), 1.25),
    ("STRING", "a\x00ü流🎉", "a\x00ü流🎉"),
    ("STRING", "", ""),
    ("BYTES", bytearray(b"ba"), b"ba"),
    ("BYTES", memoryview(b"xyz")[::2], b"xz"),
    ("BINARY(3)", b"abc", b"abc"),
    ("DECIMAL(10,2)", D("1.225"), D("1.23")),
    ("DECIMAL(10,2)", D("-1.235"), D("-1.24")),
    ("DECIMAL(10,2)", D("1E+3"), D("1000.00")),
    ("DECIMAL(10,2)", D("0"), D("0.00")),
    ("DECIMAL(10,2)", D("0.001"), D("0.00")),
    ("DECIMAL(38,38)", D("0." + "9" * 38), D("0." + "9" * 38)),
    ("DECIMAL(38,0)", D("-" + "9" * 38), D("-" + "9" * 38)),
    ("DATE", datetime.date(1, 1, 1), datetime.date(1, 1, 1)),
    ("DATE", datetime.date(9999, 12, 31), datetime.date(9999, 12, 31)),
    ("DATE", datetime.date(1900, 2, 28), datetime.date(1900, 2, 28)),
    ("TIME(3)", datetime.time(23, 59, 59, 999000), datetime.time(23, 59, 59, 999000)),
    ("TIME(3)", datetime.time(1, tzinfo=UTC), datetime.time(1)),
    ("TIMESTAMP(6)", T(1969, 12, 31, 23, 59, 59, 999999), T(1969, 12, 31, 23, 59, 59, 999999)),
    ("TIMESTAMP(6)", T(9999, 12, 31, 23, 59, 59, 999999), T(9999, 12, 31, 23, 59, 59, 999999)),
    ("TIMESTAMP(6)", T(1, 1, 1, 0, 0, 0, 1), T(1, 1, 1, 0, 0, 0, 1)),
    ("TIMESTAMP(0)", T(1969, 12, 31, 23, 59, 59, 999999), T(1969, 12, 31, 23, 59, 59)),
    ("TIMESTAMP(3)", T(2024, 2, 29, 1, 2, 3, 999999), T(2024, 2, 29, 1, 2, 3, 999000)),
    ("TIMESTAMP(6)", pd.Timestamp("2024-02-29T01:02:03.5"), T(2024, 2, 29, 1, 2, 3, 500000)),
    ("TIMESTAMP(6)", np.datetime64("2024-02-29T12:34:56"), T(2024, 2, 29, 12, 34, 56)),
    ("TIMESTAMP(6)", pd.NaT, None),
    ("TIMESTAMP(6)", np.datetime64("NaT"), None),
    ("TIMESTAMP_LTZ(6)", T(2024, 1, 1, 2), T(2024, 1, 1, 2, tzinfo=UTC)),
    ("TIMESTAMP_LTZ(6)", T(2024, 1, 1, 2, tzinfo=EAST), T(2023, 12, 31, 20, 30, tzinfo=UTC)),
    ("ARRAY<INT>", (1, None, 3), [1, None, 3]),
    ("ARRAY<INT>", range(3), [0, 1, 2]),
    ("ARRAY<INT>", np.array([1, 2]), [1, 2]),
    ("ARRAY<INT>", b"ab", [97, 98]),
    ("ARRAY<INT>", [], []),
    ("MAP<STRING, INT>", {"a": 1, "b": None}, [("a", 1), ("b", None)]),
    ("MAP<STRING, INT>", [("a", 1), ["a", 2]], [("a", 1), ("a", 2)]),
    ("MAP<STRING, INT>", {}, []),
    ("ROW<a INT, b STRING>", {"a": 1}, {"a": 1, "b": None}),
    ("ROW<a INT, b STRING>", (1, "x"), {"a": 1, "b": "x"}),
    ("ROW<a INT, b STRING>", Plain(b="x", a=1), {"a": 1, "b": "x"}),
    ("ROW<a INT, b STRING>", Reversed(b="x", a=1), {"a": 1, "b": "x"}),
    ("ARRAY<ROW<m MAP<INT, ARRAY<INT>>>>", [{"m": {1: [2]}}], [{"m": [(1, [2])]}]),
    ("INT", None, None),
]


@pytest.mark.filterwarnings("ignore::fluss.PrecisionWarning")
@pytest.mark.parametrize(("type_text", "value", "expected"), KEPT)
def test_value_is_kept(type_text, value, expected):
    found = stored(type_text, value)
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(expected, D):
        assert str(found) == str(expected)


def test_nan_and_minus_zero_are_kept():
    assert math.isnan(stored("DOUBLE", math.nan))
    assert math.copysign(1, stored("DOUBLE", -0.0)) == -1


REFUSED = [
    ("BOOLEAN", 1, "Expected bool, got int"),
    ("INT", True, "Expected int, got bool"),
    ("INT", 1.0, "Expected int, got float"),
    ("INT", "1", "Expected int, got str"),
    ("INT", 2**31, "out of range"),
    ("TINYINT", -129, "out of range"),
    ("BIGINT", 2**63, "out of range"),
    ("DOUBLE", "1", "Expected float, got str"),
    ("DOUBLE", 10**400, "without losing digits"),
    ("DOUBLE", 2**53 + 1, "without losing digits"),
    ("DOUBLE", np.int64(2**53 + 1), "without losing digits"),
    ("DOUBLE", D("0.12345678901234567890"), "without losing digits"),
    ("DOUBLE", fractions.Fraction(1, 3), "without losing digits"),
    ("DOUBLE", complex(1, 0), "Expected float, got complex"),
    ("FLOAT", 1e300, "1e+300 is out of range for FLOAT"),
    ("FLOAT", -3.5e38, "out of range for FLOAT"),
    ("FLOAT", 1e-60, "out of range for FLOAT"),
    ("FLOAT", 2**24 + 1, "without losing digits"),
    ("FLOAT", 10**39, "without losing digits"),
    ("FLOAT", D("0.1234567890"), "without losing digits"),
    ("INT", D("1"), "Expected int, got Decimal"),
    ("INT", np.float64(1), "Expected int, got float64"),
    ("INT", Colour.RED, "Expected int, got str"),
    ("TIMESTAMP(6)", np.datetime64(1, "ps"), "Expected datetime.datetime"),
    ("TIMESTAMP(6)", np.datetime64(10**9, "Y"), "Expected datetime.datetime"),
    ("STRING", b"a", "Expected str, got bytes"),
    ("STRING", "\ud800", "surrogate"),
    ("BYTES", "a", "Expected bytes, got str"),
    ("BYTES", [1], "Expected bytes, got list"),
    ("BINARY(4)", b"abc", "exactly 4"),
    ("DECIMAL(3,1)", D("100"), "more digits"),
    ("DECIMAL(3,1)", D("99.95"), "more digits"),
    ("DECIMAL(3,1)", D("1E+99999"), "more digits"),
    ("DECIMAL(3,1)", D("NaN"), "finite"),
    ("DECIMAL(3,1)", D("-Infinity"), "finite"),
    ("DECIMAL(3,1)", 1, "Expected decimal.Decimal, got int"),
    ("DATE", T(2024, 1, 1), "Expected datetime.date, got datetime"),
    ("DATE", "2024-01-01", "Expected datetime.date, got str"),
    ("TIME(3)", datetime.time(1, 2, 3, 4), "millisecond"),
    ("TIME(0)", datetime.time(1, 2, 3, 4000), "TIME(0)"),
    ("TIMESTAMP(9)", T(2300, 1, 1), "64 bits"),
    ("TIMESTAMP(6)", T(2024, 1, 1, tzinfo=UTC), "no time zone"),
    ("TIMESTAMP(6)", datetime.date(2024, 1, 1), "Expected datetime.datetime, got date"),
    ("TIMESTAMP_LTZ(6)", 5, "Expected datetime.datetime, got int"),
    ("ARRAY<INT>", "abc", "Expected sequence for Array column"),
    ("ARRAY<INT>", {1}, "Expected sequence for Array column"),
    ("ARRAY<INT NOT NULL>", [None], "non-nullable"),
    ("MAP<STRING, INT>", [(None, 1)], "None as the key"),
    ("MAP<STRING, INT>", [("a", 1, 2)], "pairs"),
    ("MAP<STRING, INT>", "ab", "Map"),
    ("ROW<a INT, b STRING NOT NULL>", {"a": 1}, "non-nullable row field 'b'"),
    ("ROW<a INT, b STRING NOT NULL>", {"a": 1, "b": None}, "non-nullable row field 'b'"),
    ("ROW<a INT>", {"z": 1}, "unknown field 'z'"),
    ("ROW<a INT>", (1, 2), "Expected 1 elements"),
    ("INT NOT NULL", None, "non-nullable"),
]


@pytest.mark.parametrize(("type_text", "value", "message"), REFUSED)
def test_value_is_refused_with_the_columns_name_or_reason(type_text, value, message):
    with pytest.raises(fluss.FlussError) as caught:
        stored(type_text, value)
    assert message in caught.value.message
    assert caught.value.error_code == fluss.ErrorCode.CLIENT_ERROR
    assert not caught.value.is_retriable


def two_columns():
    return _core.codec(
        [("a", _type_texts.parse("INT NOT NULL")), ("b", _type_texts.parse("STRING"))]
    )


@pytest.mark.parametrize(
    "row",
    [
        {"a": 1, "b": "x"},
        [1, "x"],
        (1, "x"),
        collections.namedtuple("Row", "a b")(1, "x"),
        collections.OrderedDict(b="x", a=1),
        collections.UserDict(a=1, b="x"),
        collections.UserList([1, "x"]),
        Plain(a=1, b="x"),
        Reversed(b="x", a=1),
        collections.namedtuple("Other", "x y")(1, "x"),
    ],
)
def test_row_may_be_any_mapping_or_sequence(row):
    assert two_columns().round_trip(row) == {"a": 1, "b": "x"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": 1, "z": 2}, "unknown field 'z'; expected fields: ['a', 'b']"),
        ({"b": "x"}, "Missing value for non-nullable field 'a'"),
        ({"a": 1, 5: 2}, "keys must be str"),
        ([1], "Expected 2 elements, got 1"),
        ("ab", "Row must be a dict, list, or tuple; got str"),
        (5, "Row must be a dict, list, or tuple; got int"),
    ],
)
def test_row_of_the_wrong_shape_is_refused(row, message):
    with pytest.raises(fluss.FlussError) as caught:
        two_columns().round_trip(row)
    assert message in caught.value.message


LOST = [
    ("DECIMAL(10,2)", D("1.225"), D("1.23")),
    ("DECIMAL(10,2)", D("0.001"), D("0.00")),
    ("DECIMAL(10,2)", D("1E-200"), D("0.00")),
    ("TIMESTAMP(0)", T(1969, 12, 31, 23, 59, 59, 999999), T(1969, 12, 31, 23, 59, 59)),
    ("TIMESTAMP(6)", pd.Timestamp(1, unit="ns"), T(1970, 1, 1)),
    ("TIMESTAMP(3)", np.datetime64(1001, "us"), T(1970, 1, 1, 0, 0, 0, 1000)),
    ("TIMESTAMP_LTZ(3)", T(2024, 1, 1, 2, 3, 4, 1, UTC), T(2024, 1, 1, 2, 3, 4, 0, UTC)),
]


@pytest.mark.parametrize(("type_text", "value", "expected"), LOST)
def test_digits_are_never_lost_in_silence(type_text, value, expected):
    with pytest.warns(fluss.PrecisionWarning, match="'x'"):
        assert stored(type_text, value) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("error", fluss.PrecisionWarning)
        with pytest.raises(fluss.PrecisionWarning):
            stored(type_text, value)


@pytest.mark.parametrize(
    ("type_text", "value"),
    [
        ("DECIMAL(10,2)", D("1.2300000")),
        ("TIMESTAMP(3)", T(2024, 1, 1, 0, 0, 0, 5000)),
        ("TIMESTAMP(9)", pd.Timestamp(1, unit="ns")),
        ("FLOAT", 0.1),  # the nearest number of FLOAT, as everywhere
    ],
)
def test_nothing_is_said_where_nothing_is_lost(type_text, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stored(type_text, value)


def test_missing_nullable_column_is_null():
    assert two_columns().round_trip({"a": 1}) == {"a": 1, "b": None}


def test_many_columns_and_nested_values_use_memory_beyond_the_inline_room():
    columns = [(f"c{i}", _type_texts.parse("ARRAY<STRING>")) for i in range(200)]
    row = {name: [f"{name}-{k}" for k in range(20)] for name, _ in columns}
    assert _core.codec(columns).round_trip(row) == row


TYPE_TEXTS = [
    (pa.int32(), "int"),
    (pa.uint8(), "tinyint"),
    (pa.uint16(), "smallint"),
    (pa.uint32(), "int"),
    (pa.uint64(), "bigint"),
    (pa.large_string(), "string"),
    (pa.binary(4), "binary(4)"),
    (pa.timestamp("us"), "timestamp"),
    (pa.timestamp("ms"), "timestamp(3)"),
    (pa.timestamp("ns", tz="UTC"), "timestamp_ltz(9)"),
    (pa.time32("s"), "time"),
    (pa.decimal128(5, 2), "decimal(5,2)"),
    (pa.list_(pa.field("item", pa.string(), nullable=False)), "array<string NOT NULL>"),
    (pa.map_(pa.string(), pa.int32()), "map<string NOT NULL,int>"),
    (
        pa.struct([("a", pa.int32()), pa.field("b", pa.string(), nullable=False)]),
        "row<a: int, b: string NOT NULL>",
    ),
    (pa.dictionary(pa.int8(), pa.string()), "string"),
]


@pytest.mark.parametrize(("arrow", "text"), TYPE_TEXTS)
def test_arrow_type_becomes_a_fluss_type(arrow, text):
    assert fluss.Schema(pa.schema([("x", arrow)])).get_column_types() == [text]


def test_field_names_with_quotes_survive_the_type_text():
    arrow = pa.struct([("odd `name` 'x' <int>", pa.int32())])
    schema = fluss.Schema(pa.schema([("x", arrow)]))
    assert schema.to_arrow().field("x").type.field(0).name == "odd `name` 'x' <int>"
    assert schema.get_column_types() == ["row<odd `name` 'x' <int>: int>"]


EDGES = [
    T.min,
    T.max,
    T(1969, 12, 31, 23, 59, 59, 999999),
    T(1970, 1, 1),
    T(2000, 2, 29, 12, 0, 0, 65536),
    T(2024, 12, 31, 0, 0, 0, 255),
]


class Derived(datetime.datetime):
    """What a library makes of a datetime."""


@pytest.mark.parametrize("moment", EDGES)
def test_moments_keep_every_field(moment):
    assert stored("TIMESTAMP(6)", moment) == moment
    assert stored("TIMESTAMP_LTZ(6)", moment.replace(tzinfo=UTC)) == moment.replace(tzinfo=UTC)
    assert stored("TIMESTAMP_LTZ(6)", moment.replace(tzinfo=UTC)).tzinfo is UTC
    assert stored("DATE", moment.date()) == moment.date()
    assert stored("TIME(3)", moment.time().replace(microsecond=999000)) == moment.time().replace(
        microsecond=999000
    )
    derived = Derived(*moment.timetuple()[:6], moment.microsecond)
    assert stored("TIMESTAMP(6)", derived) == moment


def test_the_second_pass_of_an_hour_is_the_later_one():
    zoneinfo = pytest.importorskip("zoneinfo")
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    first = T(2024, 10, 27, 2, 30, tzinfo=berlin)
    assert stored("TIMESTAMP_LTZ(6)", first) == T(2024, 10, 27, 0, 30, tzinfo=UTC)
    assert stored("TIMESTAMP_LTZ(6)", first.replace(fold=1)) == T(2024, 10, 27, 1, 30, tzinfo=UTC)
