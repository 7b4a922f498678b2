#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_log_batch into corpus/fuzz_log_batch: batches and payloads of each of
its schemas and codecs, small. Needs pyarrow and the library of tests/python/arrow_crosscheck.py
($FLUSS_BUILD)."""

import struct
import sys
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import arrow_crosscheck as fluss  # noqa: E402

CORPUS = Path(__file__).resolve().parent / "corpus" / "fuzz_log_batch"
INNER = pa.struct([("x", pa.decimal128(5, 1)), ("y", pa.map_(pa.int32(), pa.binary()))])
SCHEMAS = [
    {"a": pa.int32(), "b": pa.string()},
    {
        "a": pa.bool_(), "b": pa.int64(), "c": pa.float64(), "d": pa.string(), "e": pa.binary(5),
        "f": pa.binary(), "g": pa.decimal128(20, 3), "h": pa.time64("ns"),
        "i": pa.timestamp("us"), "j": pa.timestamp("s", "UTC"),
    },
    {
        "a": pa.list_(pa.string()), "b": pa.map_(pa.string(), pa.int32()),
        "c": pa.struct([("x", pa.int8()), ("y", pa.list_(pa.bool_()))]),
    },
    {"a": pa.timestamp("ns"), "b": pa.list_(INNER)},
]  # fmt: skip


def column(kind, rows):
    """Plain values of a type: empty ones, and a null in the middle."""
    made = pa.nulls(rows, kind)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        made = pa.array([None if i == 1 else i * 7 for i in range(rows)], pa.int64())
        return made.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    if pa.types.is_string(kind):
        return pa.array([None if i == 1 else "é" * (i * 20) for i in range(rows)])
    if pa.types.is_list(kind):
        flat = column(kind.value_type, rows * 2)
        return pa.ListArray.from_arrays(pa.array(range(0, rows * 2 + 1, 2), pa.int32()), flat)
    return made


def header(payload, rows, magic):
    """A batch with this payload; its CRC is not set."""
    tail = struct.pack("<hBiqii", 1, 1, rows - 1, 7, 0, rows)
    tail += struct.pack("<i", 0) if magic else b""
    rest = struct.pack("<BqI", magic, 0, 0) + tail + payload
    return struct.pack("<qi", 0, len(rest)) + rest


def main():
    CORPUS.mkdir(parents=True, exist_ok=True)
    for index, types in enumerate(SCHEMAS):
        batch = pa.record_batch([column(t, 3) for t in types.values()], names=list(types))
        for codec in (fluss.NONE, fluss.LZ4, fluss.ZSTD):
            payload = fluss.write(batch, codec)
            name = f"schema{index}_codec{codec + 1}"
            (CORPUS / f"{name}_payload").write_bytes(bytes([index + 8]) + payload)
            data = header(payload, 3, index % 2)
            (CORPUS / f"{name}_batch").write_bytes(bytes([index]) + data)
    batch = pa.record_batch([[1, 2, 3], ["a", None, "ccc"]], names=["a", "b"])
    block = fluss.statistics(batch.cast(pa.schema(SCHEMAS[0].items())), [0, 1])
    (CORPUS / "statistics").write_bytes(bytes([12]) + block)


if __name__ == "__main__":
    main()
