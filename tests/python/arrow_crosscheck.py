# SPDX-License-Identifier: Apache-2.0
"""The format module behind ctypes, for tests: Arrow in and out by the C data interface, batches and
projections as bytes. The library is libformat_crosscheck of the build in $FLUSS_BUILD."""

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FLUSS_BUILD", TOP / "build"))
LIBRARY = BUILD / "tests" / "unit" / "format" / "libformat_crosscheck.so"
NONE, LZ4, ZSTD = -1, 0, 1
MESSAGE_SIZE = 1016


class FormatError(Exception):
    """An error of the format module."""


@dataclass
class Batch:
    size: int
    magic: int
    is_append_only: int
    schema_id: int
    base_offset: int
    last_offset_delta: int
    writer_id: int
    batch_sequence: int
    record_count: int
    change_types_at: int
    change_types_size: int
    payload_at: int
    payload_size: int
    statistics_size: int


def _load():
    library = ctypes.CDLL(str(LIBRARY))
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    wide, out = ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p)
    number = ctypes.c_int
    library.crosscheck_write.argtypes = [
        pointer, pointer, number, number, wide, wide, out, ctypes.POINTER(size), text,
    ]  # fmt: skip
    library.crosscheck_read.argtypes = [pointer, text, size, size, pointer, pointer, text]
    library.crosscheck_convert.argtypes = [pointer, pointer, pointer, pointer, pointer, text]
    library.crosscheck_take.argtypes = [pointer, pointer, pointer, size, pointer, pointer, text]
    library.crosscheck_batch.argtypes = [text, size, number, number, pointer, text]
    library.crosscheck_project.argtypes = [
        pointer, text, size, pointer, size, out, ctypes.POINTER(size), text,
    ]  # fmt: skip
    library.crosscheck_statistics.argtypes = [
        pointer, pointer, pointer, size, out, ctypes.POINTER(size), text,
    ]  # fmt: skip
    library.crosscheck_free.argtypes = [pointer]
    library.crosscheck_free.restype = None
    library.crosscheck_live_count.restype = wide
    return library


LIB = _load()


class _Struct:
    """Room for a struct ArrowSchema or ArrowArray."""

    def __init__(self, exporter=None):
        self.room = (ctypes.c_uint8 * 128)()
        self.address = ctypes.addressof(self.room)
        if exporter is not None:
            exporter(self.address)


def _call(function, *arguments):
    message = ctypes.create_string_buffer(MESSAGE_SIZE)
    if function(*arguments, message) != 0:
        raise FormatError(message.value.decode())


def _exported(batch):
    """A record batch as (array, schema)."""
    schema, array = _Struct(), _Struct()
    batch._export_to_c(array.address, schema.address)
    return array, schema


def _end(array, schema):
    """Release what was exported and not taken, by importing it."""
    return pa.RecordBatch._import_from_c(array.address, schema.address)


def _is_live(array):
    return int.from_bytes(bytes(array.room[64:72]), "little") != 0


def _drop(array, schema):
    if _is_live(array):
        _end(array, schema)
    else:
        pa.Schema._import_from_c(schema.address)


def _taken(pointer, size):
    taken = ctypes.string_at(pointer.value, size.value)
    LIB.crosscheck_free(pointer)
    return taken


def write(batch, codec=NONE, level=3, row_from=0, row_count=None):
    """The Arrow message of (some) rows of a record batch."""
    array, schema = _exported(batch)
    pointer, size = ctypes.c_void_p(), ctypes.c_size_t()
    count = batch.num_rows - row_from if row_count is None else row_count
    try:
        _call(
            LIB.crosscheck_write, schema.address, array.address, codec, level, row_from, count,
            ctypes.byref(pointer), ctypes.byref(size),
        )  # fmt: skip
    finally:
        _drop(array, schema)
    return _taken(pointer, size)


def read(schema, message, lead=0):
    """The record batch in an Arrow message, which lies `lead` bytes after a multiple of 64."""
    types = _Struct(schema._export_to_c)
    out_schema, out = _Struct(), _Struct()
    try:
        _call(
            LIB.crosscheck_read, types.address, message, len(message), lead, out_schema.address,
            out.address,
        )  # fmt: skip
    finally:
        pa.Schema._import_from_c(types.address)
    return pa.RecordBatch._import_from_c(out.address, out_schema.address)


def convert(batch, schema):
    """A record batch in the columns of a table with this schema."""
    array, from_schema = _exported(batch)
    wanted, out_schema, out = _Struct(schema._export_to_c), _Struct(), _Struct()
    try:
        _call(
            LIB.crosscheck_convert, from_schema.address, array.address, wanted.address,
            out_schema.address, out.address,
        )  # fmt: skip
    finally:
        _drop(array, from_schema)
        pa.Schema._import_from_c(wanted.address)
    return pa.RecordBatch._import_from_c(out.address, out_schema.address)


def take(batch, indexes):
    array, schema = _exported(batch)
    out_schema, out = _Struct(), _Struct()
    rows = (ctypes.c_int64 * len(indexes))(*indexes)
    try:
        _call(
            LIB.crosscheck_take, schema.address, array.address, ctypes.addressof(rows),
            len(indexes), out_schema.address, out.address,
        )  # fmt: skip
    finally:
        _drop(array, schema)
    return pa.RecordBatch._import_from_c(out.address, out_schema.address)


def open_batch(data, is_arrow=True, check_crc=True):
    facts = (ctypes.c_int64 * 14)()
    _call(LIB.crosscheck_batch, data, len(data), is_arrow, check_crc, ctypes.addressof(facts))
    return Batch(*facts)


def project(schema, data, columns):
    """The projection of a log batch to columns by index."""
    types = _Struct(schema._export_to_c)
    pointer, size = ctypes.c_void_p(), ctypes.c_size_t()
    chosen = (ctypes.c_uint32 * len(columns))(*columns)
    try:
        _call(
            LIB.crosscheck_project, types.address, data, len(data), ctypes.addressof(chosen),
            len(columns), ctypes.byref(pointer), ctypes.byref(size),
        )  # fmt: skip
    finally:
        pa.Schema._import_from_c(types.address)
    return _taken(pointer, size)


def statistics(batch, columns):
    """The statistics block of a record batch."""
    array, schema = _exported(batch)
    pointer, size = ctypes.c_void_p(), ctypes.c_size_t()
    chosen = (ctypes.c_uint32 * len(columns))(*columns)
    try:
        _call(
            LIB.crosscheck_statistics, schema.address, array.address, ctypes.addressof(chosen),
            len(columns), ctypes.byref(pointer), ctypes.byref(size),
        )  # fmt: skip
    finally:
        _drop(array, schema)
    return _taken(pointer, size)
