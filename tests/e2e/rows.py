# SPDX-License-Identifier: Apache-2.0
"""Rows of primary-key tables for tests: compacted rows and keys, KV batches, changelogs.

Like wire.py it shares no code with the library. Values are what the formats hold: DECIMAL is the
unscaled integer, DATE days, TIME milliseconds, TIMESTAMP and TIMESTAMP_LTZ (milliseconds,
nanoseconds), ROW<INT> and ARRAY<INT> lists. Types are written as in SQL: "DECIMAL(10,2) NOT NULL".
"""

import decimal
import json
import re
import struct

import pyarrow as pa
from wire import batches, crc32c, path_of, read_log, varint

INTEGERS = {"TINYINT": ("<b", pa.int8()), "SMALLINT": ("<h", pa.int16())}
LONG_NAMES = {
    "INT": "INTEGER",
    "TIME": "TIME_WITHOUT_TIME_ZONE",
    "TIMESTAMP": "TIMESTAMP_WITHOUT_TIME_ZONE",
    "TIMESTAMP_LTZ": "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
}
UNITS = ["s", "ms", "ms", "ms", "us", "us", "us", "ns", "ns", "ns"]  # by precision
CHANGES = {1: "+I", 2: "-U", 3: "+U", 4: "-D"}
COMPACT_PRECISION = 18
EXACT = decimal.Context(prec=80)


class Type:
    def __init__(self, text):
        self.text = text
        self.is_nullable = not text.endswith(" NOT NULL")
        found = re.fullmatch(r"(\w+)(?:<INT>)?(?:\((\d+)(?:,(\d+))?\))?", text.split(" NOT")[0])
        self.root = found[1]
        self.size, self.scale = int(found[2] or 0), int(found[3] or 0)

    def json(self):
        out = {"type": LONG_NAMES.get(self.root, self.root)}
        if not self.is_nullable:
            out["nullable"] = False
        if self.root in ("CHAR", "BINARY"):
            out["length"] = self.size
        elif self.root == "DECIMAL":
            out.update(precision=self.size, scale=self.scale)
        elif self.root.startswith("TIME"):
            out["precision"] = self.size
        elif self.root == "ARRAY":
            out["element_type"] = {"type": "INTEGER"}
        elif self.root == "ROW":
            out["fields"] = [{"name": "a", "field_type": {"type": "INTEGER"}, "field_id": -1}]
        return out

    def encode(self, value):
        root = self.root
        if root == "BOOLEAN":
            return bytes([value])
        if root in INTEGERS:
            return struct.pack(INTEGERS[root][0], value)
        if root in ("INT", "DATE", "TIME"):
            return varint(value & 0xFFFFFFFF)
        if root == "BIGINT":
            return varint(value)
        if root in ("FLOAT", "DOUBLE"):
            return struct.pack("<f" if root == "FLOAT" else "<d", value)
        if root == "DECIMAL" and self.size <= COMPACT_PRECISION:
            return varint(value)
        if root.startswith("TIMESTAMP"):
            return varint(value[0]) + (varint(value[1]) if self.size > 3 else b"")
        data = self.encode_bytes(value)
        return varint(len(data)) + data

    def encode_bytes(self, value):
        if self.root in ("CHAR", "STRING"):
            return value.encode()
        if self.root == "DECIMAL":
            bits = value.bit_length() if value >= 0 else (value + 1).bit_length()
            return value.to_bytes(bits // 8 + 1, "big", signed=True)
        if self.root == "ROW":
            return encode_row([Type("INT")], value)
        if self.root == "ARRAY":
            data = struct.pack(f"<i{'I' if value else ''}", len(value), *[0] * bool(value))
            data += struct.pack(f"<{len(value)}i", *value)
            return data + bytes(-len(data) % 8)
        return bytes(value)

    def arrow(self):
        root = self.root
        unit = UNITS[self.size] if root.startswith("TIME") else None
        if root in INTEGERS:
            return INTEGERS[root][1]
        if root == "TIME":
            return pa.time32(unit) if self.size <= 3 else pa.time64(unit)
        if root.startswith("TIMESTAMP"):
            return pa.timestamp(unit)
        if root == "BINARY":
            return pa.binary(self.size)
        if root == "DECIMAL":
            return pa.decimal128(self.size, self.scale)
        return {
            "BOOLEAN": pa.bool_(),
            "INT": pa.int32(),
            "BIGINT": pa.int64(),
            "FLOAT": pa.float32(),
            "DOUBLE": pa.float64(),
            "CHAR": pa.string(),
            "STRING": pa.string(),
            "BYTES": pa.binary(),
            "DATE": pa.date32(),
            "ARRAY": pa.list_(pa.int32()),
            "ROW": pa.struct([("a", pa.int32())]),
        }[root]

    def from_arrow(self, column):
        """The values of an Arrow column."""
        if self.root in ("DATE", "TIME") or self.root.startswith("TIMESTAMP"):
            is_wide = self.root.startswith("TIMESTAMP") or self.size > 3
            values = column.cast(pa.int64() if is_wide else pa.int32()).to_pylist()
            return [None if v is None else self.from_units(v) for v in values]
        if self.root == "DECIMAL":
            return [
                v if v is None else int(v.scaleb(self.scale, EXACT)) for v in column.to_pylist()
            ]
        if self.root == "ROW":
            return [v and [v["a"]] for v in column.to_pylist()]
        return column.to_pylist()

    def from_units(self, value):
        if self.root == "DATE":
            return value
        per_second = 10 ** (3 * ((self.size + 2) // 3))
        nanos = value * (10**9 // per_second)
        if self.root == "TIME":
            return nanos // 10**6
        return (nanos // 10**6, nanos % 10**6)


def encode_row(types, values):
    bits = bytearray((len(types) + 7) // 8)
    out = b""
    for i, (each, value) in enumerate(zip(types, values)):
        if value is None:
            bits[i // 8] |= 1 << i % 8
        else:
            out += each.encode(value)
    return bytes(bits) + out


class Table:
    """A primary-key table: (name, type text, aggregation function or None) a column."""

    def __init__(self, name, columns, key=("id",), **properties):
        self.name, self.key = name, list(key)
        self.names = [column[0] for column in columns]
        self.types = [Type(column[1]) for column in columns]
        self.functions = [column[2] if len(column) > 2 else None for column in columns]
        self.properties = properties
        self.auto_increment = properties.pop("auto_increment", None)
        self.id = None

    def json(self, buckets=1):
        columns, field_id = [], 0
        for name, kind, function in zip(self.names, self.types, self.functions):
            column = {"name": name, "data_type": kind.json(), "id": field_id}
            field_id += 1
            if kind.root == "ROW":
                column["data_type"]["fields"][0]["field_id"] = field_id
                field_id += 1
            if function:
                kind, _, delimiter = function.partition(" ")
                column["agg_function"] = {"type": kind}
                if delimiter:
                    column["agg_function"]["parameters"] = {"delimiter": delimiter}
            columns.append(column)
        schema = {"version": 1, "columns": columns, "primary_key": self.key}
        schema["highest_field_id"] = field_id - 1
        if self.auto_increment:
            schema["auto_increment_column"] = [self.auto_increment]
        properties = {key.replace("__", "-"): value for key, value in self.properties.items()}
        return json.dumps(
            {
                "version": 1,
                "schema": schema,
                "partition_key": [],
                "bucket_key": self.key,
                "bucket_count": buckets,
                "properties": {f"table.{key}": value for key, value in properties.items()},
                "custom_properties": {},
            }
        ).encode()

    def create(self, connection, buckets=1, database="fluss"):
        request = {
            "table_path": path_of(self.name, database),
            "table_json": self.json(buckets),
            "ignore_if_exists": False,
        }
        connection.ask("CREATE_TABLE", request)
        info = connection.ask("GET_TABLE_INFO", {"table_path": request["table_path"]})
        self.id = info["table_id"]
        return self

    def row(self, values):
        return encode_row(self.types, values)

    def encode_key(self, values):
        at = [self.names.index(name) for name in self.key]
        return b"".join(self.types[i].encode(values[i]) for i in at)

    def batch(self, records, writer_id=-1, sequence=-1, schema_id=1):
        """A KV batch of (row values, is delete)."""
        body = b""
        for values, is_delete in records:
            key = self.encode_key(values)
            record = varint(len(key)) + key + (b"" if is_delete else self.row(values))
            body += struct.pack("<i", len(record)) + record
        checked = struct.pack("<hbqii", schema_id, 0, writer_id, sequence, len(records)) + body
        head = struct.pack("<ibI", 5 + len(checked), 0, crc32c(checked))
        return head + checked

    def put(self, records, bucket=0, targets=(), acks=-1, timeout_ms=30000, mode=None, **batch):
        """A PUT_KV request."""
        return {
            "acks": acks,
            "table_id": self.id,
            "timeout_ms": timeout_ms,
            "target_columns": list(targets),
            "buckets_req": [{"bucket_id": bucket, "records": self.batch(records, **batch)}],
            "agg_mode": mode,
        }

    def lookup(self, keys, bucket=0):
        """A LOOKUP request for rows whose key columns are given in full rows."""
        return {
            "table_id": self.id,
            "buckets_req": [{"bucket_id": bucket, "keys": [self.encode_key(k) for k in keys]}],
        }

    def changes(self, batch):
        """(offset, change, values) of each record of an ARROW changelog batch."""
        return list(changes_of(batch, self.types))

    def changelog(self, connection, bucket=0):
        return [c for batch in read_log(connection, self.id, bucket) for c in self.changes(batch)]


def changes_of(batch, types):
    count = batch["records"]
    if count == 0:
        return
    schema = pa.schema([(f"c{i}", kind.arrow()) for i, kind in enumerate(types)])
    message = pa.ipc.read_message(pa.py_buffer(batch["payload"][count:]))
    found = pa.ipc.read_record_batch(message, schema)
    columns = [kind.from_arrow(column) for kind, column in zip(types, found.columns)]
    for i in range(count):
        values = [column[i] for column in columns]
        yield batch["base_offset"] + i, CHANGES[batch["payload"][i]], values


def value_records(data):
    """The stored values of a LIMIT_SCAN answer of a primary-key table."""
    (count,) = struct.unpack_from("<i", data, 5)
    out, at = [], 9
    for _ in range(count):
        (size,) = struct.unpack_from("<i", data, at)
        out.append(bytes(data[at + 4 : at + 4 + size]))
        at += 4 + size
    assert at == len(data)
    return out


__all__ = ["Table", "Type", "batches", "changes_of", "encode_row", "value_records"]
