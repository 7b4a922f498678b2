# SPDX-License-Identifier: Apache-2.0
"""Our codec against python-protobuf, for every message of the schema, and the schema against the
official one.

Goal: for any message, both codecs write the same bytes and read each other's. Method: descriptors
built from messages.schema at run time; random messages from a seed that a failure prints
(FLUSS_TEST_SEED repeats it).
"""

import math
import os
import random
import re
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "protocol"))
from codec_tool import CodecError, CodecTool, load_schema  # noqa: E402

descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
from google.protobuf import descriptor_pool, message_factory  # noqa: E402

SCHEMA = load_schema()
SEED = int(os.environ.get("FLUSS_TEST_SEED", "20261129"))
MESSAGES_EACH = 40
DEPTH_MAX = 4
FILE_TYPES = {
    "bool": "TYPE_BOOL",
    "int32": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float": "TYPE_FLOAT",
    "double": "TYPE_DOUBLE",
    "string": "TYPE_STRING",
    "bytes": "TYPE_BYTES",
}
SECRETS = ("token", "challenge")
OFFICIAL_FIELD = re.compile(
    r"(required|optional|repeated)\s+(\w+)\s+(\w+)\s*=\s*(\d+)\s*(\[packed\s*=\s*true\])?\s*;"
)
SCALARS = ("int32", "int64", "bool", "float", "double")


def make_classes():
    """{name: python-protobuf class}, and the same with the packed fields declared unpacked and the
    other way round."""
    pools = []
    for turned in (False, True):
        file = descriptor_pb2.FileDescriptorProto(
            name="fluss.proto", package="fluss", syntax="proto2"
        )
        for message in SCHEMA.values():
            made = file.message_type.add(name=message.name)
            for f in message.fields:
                field = made.field.add(name=f.name, number=f.number)
                label = "LABEL_REPEATED" if f.is_repeated else f"LABEL_{f.label}"
                field.label = getattr(descriptor_pb2.FieldDescriptorProto, label)
                kind = FILE_TYPES.get(f.type, "TYPE_MESSAGE")
                field.type = getattr(descriptor_pb2.FieldDescriptorProto, kind)
                if f.is_message:
                    field.type_name = f".fluss.{f.type}"
                elif f.is_repeated and f.type not in ("string", "bytes"):
                    field.options.packed = (f.label == "PACKED") != turned
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        pools.append(
            {
                name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"fluss.{name}"))
                for name in SCHEMA
            }
        )
    return pools


CLASSES, TURNED_CLASSES = make_classes()


@pytest.fixture(scope="module")
def codec():
    with CodecTool() as tool:
        yield tool


def random_int(rng, bits):
    if rng.random() < 0.5:
        return rng.choice([0, 1, -1, 127, 128, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))])
    return rng.getrandbits(rng.randrange(1, bits)) * rng.choice((1, -1))


def random_float(rng, form):
    value = rng.choice([0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, rng.uniform(-1e30, 1e30)])
    return struct.unpack(form, struct.pack(form, value))[0]


def random_text(rng):
    return "".join(rng.choice('ab"\\\0\n ä€😀') for _ in range(rng.choice([0, 1, 5, 200])))


def random_scalar(rng, kind):
    return {
        "bool": lambda: rng.random() < 0.5,
        "int32": lambda: random_int(rng, 32),
        "int64": lambda: random_int(rng, 64),
        "float": lambda: random_float(rng, "f"),
        "double": lambda: random_float(rng, "d"),
        "string": lambda: random_text(rng),
        "bytes": lambda: rng.randbytes(rng.choice([0, 1, 30, 127, 128, 1023, 1024, 3000])),
    }[kind]()


def fill(rng, message, name, depth=1):
    """Give every required field a value, and some of the others."""
    for f in SCHEMA[name].fields:
        if f.label != "REQUIRED" and (rng.random() < 0.4 or (depth >= DEPTH_MAX and f.is_message)):
            continue
        count = rng.choice([1, 2, 3, 20]) if f.is_repeated and depth < 3 else 1
        for _ in range(count):
            if f.is_message:
                target = getattr(message, f.name)
                inner = target.add() if f.is_repeated else target
                inner.SetInParent()
                fill(rng, inner, f.type, depth + 1)
            elif f.is_repeated:
                getattr(message, f.name).append(random_scalar(rng, f.type))
            else:
                setattr(message, f.name, random_scalar(rng, f.type))
    return message


def as_json(message, name):
    """A python-protobuf message as fl_msg_to_json shows it."""

    def value_of(f, value):
        if f.is_message:
            return as_json(value, f.type)
        if f.type == "bytes":
            return f"<{len(value)} bytes>" if f.name in SECRETS else value.hex()
        if f.type in ("float", "double") and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value

    shown = {}
    for f in SCHEMA[name].fields:
        value = getattr(message, f.name)
        if f.is_repeated and len(value):
            shown[f.name] = [value_of(f, item) for item in value]
        elif not f.is_repeated and message.HasField(f.name):
            shown[f.name] = value_of(f, value)
    return shown


def single_precision(shown):
    """Round the floats, which the text gives with nine digits."""
    if isinstance(shown, dict):
        return {key: single_precision(value) for key, value in shown.items()}
    if isinstance(shown, list):
        return [single_precision(value) for value in shown]
    if isinstance(shown, float) and abs(shown) < 3e38:
        return struct.unpack("f", struct.pack("f", shown))[0]
    return shown


def cases(name, salt):
    rng = random.Random(f"{SEED} {salt} {name}")
    for _ in range(MESSAGES_EACH):
        yield fill(rng, CLASSES[name](), name)


@pytest.mark.parametrize("name", SCHEMA)
def test_both_codecs_write_the_same_bytes_and_read_the_same_values(codec, name):
    for message in cases(name, "same"):
        encoded = message.SerializeToString(deterministic=True)
        again, shown = codec.message(name, encoded)
        assert again == encoded, f"seed {SEED}"
        assert single_precision(shown) == single_precision(as_json(message, name)), f"seed {SEED}"
        back = CLASSES[name].FromString(again)
        assert back.SerializeToString(deterministic=True) == encoded


WITH_REPEATED_SCALARS = [
    m.name for m in SCHEMA.values() if any(f.is_repeated and f.type in SCALARS for f in m.fields)
]


@pytest.mark.parametrize("name", WITH_REPEATED_SCALARS)
def test_packed_and_unpacked_forms_are_read_alike(codec, name):
    for message in cases(name, "turned"):
        encoded = message.SerializeToString(deterministic=True)
        turned = TURNED_CLASSES[name].FromString(encoded).SerializeToString(deterministic=True)
        assert codec.message(name, turned)[0] == encoded, f"seed {SEED}"


@pytest.mark.parametrize("name", SCHEMA)
def test_damaged_bytes_are_refused_or_read_as_protobuf_reads_them(codec, name):
    """Where both codecs accept damaged bytes, they find the same message. Ours may refuse more:
    wrong wire types, groups, text that is not UTF-8."""
    rng = random.Random(f"{SEED} damage {name}")
    for message in cases(name, "damage"):
        damaged = bytearray(message.SerializeToString(deterministic=True))
        for _ in range(rng.randrange(1, 4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        damaged = bytes(damaged[: rng.randrange(len(damaged) + 1)])
        try:
            again, _ = codec.message(name, damaged)
        except CodecError:
            continue
        theirs = CLASSES[name].FromString(damaged)
        theirs.DiscardUnknownFields()
        ours = CLASSES[name].FromString(again)
        if ours != theirs:
            # One difference is on purpose: the last of two single messages replaces the first,
            # where protobuf merges them; and NaN is equal to nothing.
            excused = has_doubled_message(name, damaged) or "nan" in str(ours)
            assert excused, f"seed {SEED}: {damaged.hex()}"


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value & (2**64 - 1), at


def has_doubled_message(name, data):
    """Whether a single message field occurs twice, at any depth of decodable bytes."""
    at, seen = 0, set()
    fields = {f.number: f for f in SCHEMA[name].fields}
    while at < len(data):
        tag, at = read_varint(data, at)
        f = fields.get(tag >> 3)
        if tag & 7 == 2:
            size, at = read_varint(data, at)
            if f is not None and f.is_message:
                is_doubled = f.number in seen and not f.is_repeated
                if is_doubled or has_doubled_message(f.type, data[at : at + size]):
                    return True
                seen.add(f.number)
            at += size
        elif tag & 7 == 0:
            _, at = read_varint(data, at)
        else:
            at += 8 if tag & 7 == 1 else 4
    return False


def test_api_table_names_a_request_and_a_response_for_every_key(codec):
    apis = codec.apis()
    assert [api["key"] for api in apis] == list(range(1000, 1065))
    for api in apis:
        assert api["request"] in SCHEMA and api["response"] in SCHEMA
        assert api["request"].removesuffix("Request") == api["response"].removesuffix("Response")


def official_schema(text):
    """{message: {number: (name, type, label)}} of the official .proto file."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    found = {}
    for name, body in re.findall(r"message\s+(\w+)\s*\{([^}]*)\}", text):
        fields = {}
        for label, kind, field, number, packed in OFFICIAL_FIELD.findall(body):
            snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", field).lower()
            fields[int(number)] = (snake, kind, "PACKED" if packed else label.upper())
        assert len(fields) == body.count(";"), name
        found[name] = fields
    return found


def test_schema_equals_the_official_one():
    path = os.environ.get("FLUSS_PYFLUSS_PROTO")
    if not path:
        pytest.skip("FLUSS_PYFLUSS_PROTO names no FlussApi.proto of pyfluss's source package")
    official = official_schema(Path(path).read_text())
    ours = {
        m.name: {f.number: (f.name, f.type, f.label) for f in m.fields} for m in SCHEMA.values()
    }
    assert len(official) > 200
    assert ours == official
