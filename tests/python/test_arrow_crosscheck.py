# SPDX-License-Identifier: Apache-2.0
"""Our Arrow messages against pyarrow's, both ways.

Goal: what we write, pyarrow reads as the same values, and the other way round, for every type,
codec, share of nulls and number of rows; users' arrays are converted only where nothing is lost.
Method: the format module behind ctypes, arrays handed over by the C data interface.
"""

import datetime
import decimal
import functools
import random
import struct

import pytest

pa = pytest.importorskip("pyarrow")
import arrow_crosscheck as fluss  # noqa: E402

CODECS = {"none": fluss.NONE, "lz4": fluss.LZ4, "zstd": fluss.ZSTD}
PA_CODECS = {"none": None, "lz4": "lz4", "zstd": "zstd"}
ROWS = [0, 1, 7, 8, 9, 10000]
NULLS = {"nowhere": 0.0, "some": 0.25, "everywhere": 1.0}
UNITS = ["s", "ms", "us", "ns"]
DAY = 86400

TYPES = {
    "b": pa.bool_(),
    "i8": pa.int8(),
    "i16": pa.int16(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "s": pa.string(),
    "by": pa.binary(),
    "bin": pa.binary(3),
    "d1": pa.decimal128(10, 2),
    "d2": pa.decimal128(38, 18),
    "d": pa.date32(),
    "t0": pa.time32("s"),
    "t3": pa.time32("ms"),
    "t6": pa.time64("us"),
    "t9": pa.time64("ns"),
    **{f"ts_{unit}": pa.timestamp(unit) for unit in UNITS},
    **{f"lt_{unit}": pa.timestamp(unit, "UTC") for unit in UNITS},
    "arr": pa.list_(pa.int32()),
    "arr2": pa.list_(pa.list_(pa.string())),
    "m": pa.map_(pa.string(), pa.int32()),
    "m2": pa.map_(pa.int32(), pa.struct([("x", pa.string()), ("y", pa.bool_())])),
    "r": pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.list_(pa.bool_()))]))]),
    "ar": pa.list_(pa.struct([("x", pa.int64()), ("y", pa.decimal128(20, 3))])),
}


def value_of(kind, rng, nulls):
    """A random value as pyarrow takes it; numbers of days, times and timestamps as integers."""
    if rng.random() < nulls:
        return None
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_integer(kind):
        return rng.randrange(-(1 << kind.bit_width - 1), 1 << kind.bit_width - 1)
    if pa.types.is_float32(kind):
        return rng.choice([0.0, -0.0, 1.5, float("inf"), -(2.0**30), 2.0**-126])
    if pa.types.is_float64(kind):
        return rng.choice([0.0, -1e300, 5e-324, 3.25, float("-inf")])
    if pa.types.is_string(kind):
        return rng.choice(["", "a", "né", "日本語", "x" * 40, "\0"])
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return rng.randbytes(kind.byte_width)
    if pa.types.is_binary(kind):
        return rng.randbytes(rng.randrange(20))
    if pa.types.is_decimal(kind):
        digits = rng.randrange(1, kind.precision + 1)
        return decimal.Decimal(rng.randrange(-(10**digits) + 1, 10**digits)).scaleb(
            -kind.scale, decimal.Context(prec=50)
        )
    if pa.types.is_date32(kind):
        return rng.randrange(-100000, 100000)
    if pa.types.is_time(kind):
        per_second = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[kind.unit]
        return rng.randrange(0, DAY) * per_second
    if pa.types.is_timestamp(kind):
        return rng.choice([0, -1, -123456789, 1700000000123456789, rng.randrange(-(2**40), 2**40)])
    if pa.types.is_struct(kind):
        return {f.name: value_of(f.type, rng, nulls) for f in kind}
    count = rng.choice([0, 1, 3])
    if pa.types.is_map(kind):
        return [
            (value_of(kind.key_type, rng, 0.0), value_of(kind.item_type, rng, nulls))
            for _ in range(count)
        ]
    return [value_of(kind.value_type, rng, nulls) for _ in range(count)]


def column_of(kind, rows, rng, nulls):
    values = [value_of(kind, rng, nulls) for _ in range(rows)]
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


@functools.lru_cache
def batch_of(rows, nulls, seed=1):
    rng = random.Random(seed)
    columns = [column_of(kind, rows, rng, nulls) for kind in TYPES.values()]
    return pa.record_batch(columns, names=list(TYPES))


def same(ours, theirs):
    """Equal values; names of list elements and map entries, and NOT NULL of keys, may differ."""
    assert ours.num_rows == theirs.num_rows
    ours.validate(full=True)
    for name in theirs.schema.names:
        left, right = ours.column(name), theirs.column(name)
        if pa.types.is_nested(right.type):
            assert left.cast(right.type).equals(right), name
        else:
            assert left.type == right.type, name
            assert left.equals(right), name


def read_by_pyarrow(schema, message):
    return pa.ipc.read_record_batch(pa.py_buffer(message), schema)


def written_by_pyarrow(batch, codec, alignment):
    """The record batch message alone, without its schema."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=PA_CODECS[codec])
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    messages = pa.ipc.MessageReader.open_stream(sink.getvalue())
    messages.read_next_message()
    return messages.read_next_message().serialize(alignment=alignment).to_pybytes()


@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("codec", CODECS)
def test_pyarrow_reads_what_we_write(codec, rows, nulls):
    batch = batch_of(rows, NULLS[nulls])
    message = fluss.write(batch, CODECS[codec])
    assert len(message) % 8 == 0
    same(read_by_pyarrow(batch.schema, message), batch)


@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("codec", CODECS)
def test_we_read_what_pyarrow_writes(codec, rows, nulls):
    batch = batch_of(rows, NULLS[nulls], seed=2)
    for alignment in (8, 64):
        message = written_by_pyarrow(batch, codec, alignment)
        for lead in (0, 3, 8):
            same(fluss.read(batch.schema, message, lead), batch)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("part", [(3, 5), (8, 64), (7, 9), (1, 998), (999, 1), (500, 0)])
def test_slices_carry_their_rows_only(codec, part):
    whole = batch_of(1000, 0.2, seed=3)
    sliced = whole.slice(*part)
    message = fluss.write(sliced, CODECS[codec])
    same(read_by_pyarrow(whole.schema, message), sliced)
    again = fluss.write(whole, CODECS[codec], row_from=part[0], row_count=part[1])
    same(read_by_pyarrow(whole.schema, again), sliced)
    assert len(message) < len(fluss.write(whole)) or part[1] > 900


def realign_to_64(message):
    """The same message as arrow-rs writes it: each buffer at a multiple of 64. Only for one without
    compression, with the entries where our writer puts them."""
    size = struct.unpack_from("<i", message, 4)[0]
    head, body = bytearray(message[: 8 + size]), message[8 + size :]
    count = struct.unpack_from("<I", head, 0x54)[0]
    made = b""
    for i in range(count):
        at, length = struct.unpack_from("<qq", head, 0x58 + 16 * i)
        struct.pack_into("<q", head, 0x58 + 16 * i, len(made))
        made += body[at : at + length] + b"\0" * (-length % 64)
    struct.pack_into("<q", head, 0x28, len(made))
    head += b"\0" * (-len(head) % 64)
    struct.pack_into("<i", head, 4, len(head) - 8)
    return bytes(head) + made


def test_buffers_at_multiples_of_64_are_read():
    batch = batch_of(100, 0.2, seed=4)
    message = realign_to_64(fluss.write(batch))
    same(read_by_pyarrow(batch.schema, message), batch)
    same(fluss.read(batch.schema, message), batch)


def test_lz4_frames_have_independent_blocks():
    """Java refuses linked blocks, liblz4's default from the second block on."""
    batch = pa.record_batch({"x": pa.array([b"fluss " * 60000])})
    message = fluss.write(batch, fluss.LZ4)
    size = struct.unpack_from("<i", message, 4)[0]
    body = message[8 + size :]
    at = body.index(b"\x04\x22\x4d\x18")
    assert body[at + 4] == 0x60, "FLG: version 1, independent blocks, no sizes or checksums"
    assert body[at + 5] == 0x40, "BD: blocks of 64 KiB"
    assert len(message) < 10000
    same(read_by_pyarrow(batch.schema, message), batch)


@pytest.mark.parametrize("level", [1, 3, 9, 19])
def test_what_does_not_shrink_is_stored_as_it_is(level):
    noise = random.Random(5).randbytes(65536)
    batch = pa.record_batch({"x": pa.array([noise]), "s": pa.array(["y" * 40000])})
    message = fluss.write(batch, fluss.ZSTD, level)
    assert len(noise) < len(message) < len(noise) + 1000
    same(read_by_pyarrow(batch.schema, message), batch)


def test_take_is_pyarrows_take():
    batch = batch_of(500, 0.2, seed=6)
    rng = random.Random(7)
    for source in (batch, batch.slice(13, 300)):
        indexes = [rng.randrange(source.num_rows) for _ in range(700)]
        wanted = pa.table(source).take(indexes).combine_chunks().to_batches()[0]
        same(fluss.take(source, indexes), wanted)
        same(fluss.take(source, []), source.slice(0, 0))
    with pytest.raises(fluss.FormatError, match="row 500 of an Arrow array of 500"):
        fluss.take(batch, [500])


def test_schema_keeps_comments_and_not_null():
    fields = [pa.field("id", pa.int32(), nullable=False, metadata={"comment": "the key"})]
    inner = pa.struct([pa.field("x", pa.int8(), nullable=False)])
    fields.append(pa.field("r", pa.list_(pa.field("item", inner, nullable=False))))
    schema = pa.schema(fields)
    batch = pa.record_batch([[1], [[{"x": 2}]]], schema=schema)
    assert fluss.convert(batch, schema).schema.equals(schema, check_metadata=True)


# ---- conversion -------------------------------------------------------------------------------


def one(values, kind, nullable=True):
    return pa.record_batch(
        [pa.array(values, kind)], schema=pa.schema([pa.field("x", kind, nullable)])
    )


ACCEPTED = [
    ("large_string", ["a", None, "né"], pa.large_string(), pa.string(), None),
    ("string_view", ["a", None, "long enough for a buffer"], pa.string_view(), pa.string(), None),
    ("large_binary", [b"\xff", None], pa.large_binary(), pa.binary(), None),
    ("binary_view", [b"\xff", b"x" * 20], pa.binary_view(), pa.binary(), None),
    ("binary as text", [b"abc"], pa.binary(), pa.string(), ["abc"]),
    ("text as binary", ["abc"], pa.string(), pa.binary(), [b"abc"]),
    ("binary(n)", [b"abc", None], pa.binary(), pa.binary(3), None),
    ("int8 wider", [-128, None, 127], pa.int8(), pa.int64(), None),
    ("int32 wider", [-5, 7], pa.int32(), pa.int64(), None),
    ("int64 that fits", [2**31 - 1, -(2**31), None], pa.int64(), pa.int32(), None),
    ("uint64 that fits", [2**63 - 1], pa.uint64(), pa.int64(), None),
    ("uint8", [255], pa.uint8(), pa.int16(), None),
    ("int as double", [2**53], pa.int64(), pa.float64(), None),
    ("float wider", [1.5, None, float("inf")], pa.float32(), pa.float64(), None),
    ("double exact as float", [0.5, -2.0], pa.float64(), pa.float32(), None),
    ("half float", [1.5], pa.float16(), pa.float32(), None),
    ("decimal wider", [decimal.Decimal("1.20")], pa.decimal128(5, 2), pa.decimal128(20, 4), None),
    (
        "decimal that fits",
        [decimal.Decimal("1.20")],
        pa.decimal128(20, 4),
        pa.decimal128(3, 2),
        None,
    ),
    (
        "decimal 64 bits",
        [decimal.Decimal("-1.20")],
        pa.decimal64(10, 2),
        pa.decimal128(10, 2),
        None,
    ),
    (
        "date64",
        [0, 86400000 * 3],
        pa.date64(),
        pa.date32(),
        [datetime.date(1970, 1, 1), datetime.date(1970, 1, 4)],
    ),
    ("time ms to ns", [1001], pa.time32("ms"), pa.time64("ns"), None),
    ("timestamp s to us", [-1], pa.timestamp("s"), pa.timestamp("us"), None),
    ("timestamp ns to ms, exact", [-1000000], pa.timestamp("ns"), pa.timestamp("ms"), None),
    ("naive as instant", [5], pa.timestamp("us"), pa.timestamp("us", "UTC"), None),
    ("any zone as instant", [5], pa.timestamp("us", "Asia/Tokyo"), pa.timestamp("us", "UTC"), None),
    ("null type", [None, None], pa.null(), pa.string(), None),
    ("null type, fixed", [None, None], pa.null(), pa.decimal128(9, 1), None),
    ("null type, nested", [None], pa.null(), pa.struct([("a", pa.list_(pa.int32()))]), None),
    ("large_list", [[1, 2], None, []], pa.large_list(pa.int32()), pa.list_(pa.int32()), None),
    (
        "list of large text",
        [["a"], None, ["b", "c"]],
        pa.list_(pa.large_string()),
        pa.list_(pa.string()),
        None,
    ),
    (
        "struct of int64",
        [{"a": 1, "b": "x"}, None],
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        None,
    ),
    (
        "struct by name",
        [{"b": 1, "a": "x"}],
        pa.struct([("b", pa.int32()), ("a", pa.string())]),
        pa.struct([("a", pa.string()), ("b", pa.int32())]),
        None,
    ),
    (
        "map of int64",
        [[("k", 1)], None],
        pa.map_(pa.large_string(), pa.int64()),
        pa.map_(pa.string(), pa.int32()),
        None,
    ),
]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case[0])
@pytest.mark.parametrize("sliced", [False, True])
def test_lossless_conversions(case, sliced):
    _, values, kind, wanted, result = case
    batch = one(values, kind)
    if sliced:
        batch = pa.record_batch([pa.concat_arrays([batch.column(0)] * 3)], names=["x"])
        batch = batch.slice(len(values), len(values))
    fitted = fluss.convert(batch, pa.schema([("x", wanted)]))
    fitted.validate(full=True)
    assert str(fitted.column(0).type).replace("element", "item") == str(wanted).replace(
        "element", "item"
    )
    if result is None and (pa.types.is_temporal(wanted)):
        result = batch.column(0).cast(wanted).to_pylist()
    assert fitted.column(0).to_pylist() == (values if result is None else result)


@pytest.mark.parametrize("index", [pa.int8(), pa.uint32(), pa.int64()])
@pytest.mark.parametrize("values", [["a", "b"], [1, 2], [decimal.Decimal("1.0"), None]])
def test_dictionaries_are_looked_up(index, values):
    indexes = pa.array([1, None, 0, 1], index)
    array = pa.DictionaryArray.from_arrays(indexes, pa.array(values))
    wanted = {str: pa.string(), int: pa.int64(), decimal.Decimal: pa.decimal128(5, 1)}
    schema = pa.schema([("x", wanted[type(values[0])])])
    fitted = fluss.convert(pa.record_batch([array], names=["x"]), schema)
    assert fitted.column(0).to_pylist() == [values[1], None, values[0], values[1]]
    again = fluss.convert(pa.record_batch([array], names=["x"]).slice(1, 2), schema)
    assert again.column(0).to_pylist() == [None, values[0]]


REFUSED = [
    (
        "int64 too large",
        [1, 2**31],
        pa.int64(),
        pa.int32(),
        r"Field 'x': row 1: 2147483648 is out of range",
    ),
    ("uint64 too large", [2**63], pa.uint64(), pa.int64(), r"9223372036854775808 is out of range"),
    ("not UTF-8", [b"\xff"], pa.binary(), pa.string(), r"Field 'x': .*not UTF-8"),
    ("not UTF-8, large", [b"\xff"], pa.large_binary(), pa.string(), r"not UTF-8"),
    ("binary(n) short", [b"ab"], pa.binary(), pa.binary(3), r"row 0: 2 bytes.*exactly 3"),
    ("double not exact", [0.1], pa.float64(), pa.float32(), r"row 0: .*lose"),
    ("int not exact", [2**53 + 1], pa.int64(), pa.float64(), r"row 0: .*no exact value"),
    (
        "decimal digits",
        [decimal.Decimal("1.25")],
        pa.decimal128(5, 2),
        pa.decimal128(5, 1),
        r"row 0: .*lose",
    ),
    (
        "decimal size",
        [decimal.Decimal("123.0")],
        pa.decimal128(5, 1),
        pa.decimal128(3, 1),
        r"row 0: 123.0 does not fit",
    ),
    ("timestamp digits", [1], pa.timestamp("ns"), pa.timestamp("us"), r"row 0: .*lose"),
    ("timestamp range", [2**62], pa.timestamp("s"), pa.timestamp("ms"), r"row 0: "),
    ("timestamp range ns", [2**60], pa.timestamp("ms"), pa.timestamp("ns"), r"row 0: "),
    ("time digits", [1], pa.time64("us"), pa.time32("ms"), r"row 0: .*lose"),
    (
        "zone as wall clock",
        [1],
        pa.timestamp("us", "Asia/Tokyo"),
        pa.timestamp("us"),
        r"can't become TIMESTAMP",
    ),
    (
        "int as text",
        [1],
        pa.int32(),
        pa.string(),
        r"Field 'x': Arrow type int32 can't become STRING",
    ),
    ("text as int", ["1"], pa.string(), pa.int32(), r"Arrow type string can't become INT"),
    ("bool as int", [True], pa.bool_(), pa.int32(), r"Arrow type bool can't become INT"),
    ("duration", [1], pa.duration("s"), pa.int64(), r"can't become BIGINT"),
    (
        "struct, less",
        [{"a": 1}],
        pa.struct([("a", pa.int32())]),
        pa.struct([("a", pa.int32()), ("b", pa.int32())]),
        r"can't become ROW",
    ),
    (
        "struct, other name",
        [{"a": 1}],
        pa.struct([("a", pa.int32())]),
        pa.struct([("b", pa.int32())]),
        r"no field 'b'",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_what_would_lose_is_refused(case):
    _, values, kind, wanted, message = case
    with pytest.raises(fluss.FormatError, match=message):
        fluss.convert(one(values, kind), pa.schema([("x", wanted)]))


def test_columns_go_by_name():
    table = pa.schema([("a", pa.string()), ("b", pa.int64())])
    batch = pa.record_batch({"b": pa.array([1, 2]), "a": pa.array([None, None])})
    assert fluss.convert(batch, table).to_pydict() == {"a": [None, None], "b": [1, 2]}
    with pytest.raises(fluss.FormatError, match="no column 'b'"):
        fluss.convert(batch.select(["a"]), table)
    with pytest.raises(fluss.FormatError, match="a column 'c' that the table has not"):
        fluss.convert(batch.append_column("c", pa.array([1, 2])), table)
    twice = pa.record_batch([[1], [2], ["x"]], names=["b", "b", "a"])
    with pytest.raises(fluss.FormatError, match="column 'b' twice"):
        fluss.convert(twice, table)


def test_nulls_where_the_table_has_none():
    kind = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    loose = pa.struct([pa.field("a", pa.int32())])
    table = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    for source in (pa.int64(), pa.int32()):
        with pytest.raises(fluss.FormatError, match="Field 'x': row 1 is null"):
            fluss.convert(one([7, None, 9], source), table)
    with pytest.raises(fluss.FormatError, match="Field 'x': .*null.*NOT NULL"):
        fluss.convert(
            one(["a", None], pa.string_view()), pa.schema([pa.field("x", pa.string(), False)])
        )
    nested = pa.schema([("x", kind)])
    with pytest.raises(fluss.FormatError, match="Field 'x': field 'a': row 0 is null"):
        fluss.convert(one([{"a": None}], loose), nested)
    # Under a null row, its fields are null too, whatever they allow.
    assert fluss.convert(one([None, {"a": 1}], loose), nested).column(0).to_pylist() == [
        None,
        {"a": 1},
    ]


def test_offsets_that_go_back_are_refused():
    offsets = pa.py_buffer(struct.pack("<4i", 0, 2, 1, 3))
    array = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(fluss.FormatError, match="offsets"):
        fluss.convert(pa.record_batch([array], names=["x"]), pa.schema([("x", pa.string())]))


def test_same_columns_are_shared_not_copied():
    batch = batch_of(1000, 0.2, seed=8)
    fitted = fluss.convert(batch, batch.schema)
    same(fitted, batch)
    for name in batch.schema.names:
        theirs = [b.address for b in batch.column(name).buffers() if b is not None and b.size]
        ours = [b.address for b in fitted.column(name).buffers() if b is not None and b.size]
        assert set(ours) <= set(theirs), name


def test_nothing_is_left_allocated():
    before = fluss.LIB.crosscheck_live_count()
    batch = batch_of(50, 0.2, seed=9)
    for _ in range(3):
        message = fluss.write(batch, fluss.ZSTD)
        read = fluss.read(batch.schema, message)
        del read
        with pytest.raises(fluss.FormatError):
            fluss.read(batch.schema, message[:-8])
    after = fluss.LIB.crosscheck_live_count()
    for _ in range(30):
        fluss.read(batch.schema, fluss.write(batch, fluss.ZSTD))
    assert fluss.LIB.crosscheck_live_count() <= after + 2, "only pooled frames may stay"
    assert before <= after
