# SPDX-License-Identifier: Apache-2.0
"""Arrow data between this package and pyarrow, which is imported when it is first needed."""

from __future__ import annotations

import sys
from collections import Counter

from . import _core
from ._arguments import require_plain
from ._typing import Any
from .errors import FlussError


class _SchemaCapsule:
    """Hands a capsule to pyarrow."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __arrow_c_schema__(self) -> Any:
        return self.capsule


def to_schema(capsule: Any) -> Any:
    """A pyarrow.Schema from a capsule."""
    import pyarrow

    return pyarrow.schema(_SchemaCapsule(capsule))


def require_plain_names(schema: Any, argument: str) -> None:
    """Refuse a pyarrow.Schema with a NUL in a name, at which pyarrow would cut it for others."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(schema, pyarrow.Schema):
        text = schema.to_string(show_field_metadata=False, show_schema_metadata=False)
        require_plain(text, f"a name in {argument}")


def to_batch(batch: Any) -> Any:
    """A pyarrow.RecordBatch from anything with the PyCapsule protocol, without a copy."""
    import pyarrow

    return pyarrow.record_batch(batch)


def one_batch(stream: Any) -> Any:
    """All rows of anything with `__arrow_c_stream__`, as one pyarrow.RecordBatch."""
    import pyarrow

    table = pyarrow.table(stream).combine_chunks()
    return (table.to_batches() or [pyarrow.RecordBatch.from_pylist([], table.schema)])[0]


def is_column(value: Any) -> bool:
    """Whether a value is a series or array of one of the libraries, not a frame."""
    kind = type(value)
    is_list = hasattr(kind, "to_pylist") and not hasattr(kind, "columns")
    return hasattr(kind, "to_frame") or (is_list and _gives_arrow(kind))


def is_frame(value: Any) -> bool:
    """Whether a value has columns by name: a table, a batch, a stream, or a frame of pandas."""
    return _gives_arrow(type(value)) and not is_column(value)


def _gives_arrow(kind: type) -> bool:
    methods = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
    return any(hasattr(kind, name) for name in methods)


def rows_of(frame: Any, argument: str, names: list[str]) -> tuple:
    """The values of these columns, which are found by name, as a tuple for each row."""
    import pyarrow

    if hasattr(frame, "__arrow_c_array__") and not hasattr(frame, "__arrow_c_stream__"):
        frame = to_batch(frame)
    elif not isinstance(frame, pyarrow.Table):
        frame = pyarrow.table(frame)
    given = Counter(frame.schema.names)
    missing = [name for name in names if name not in given]
    if missing:
        raise FlussError(f"{argument} lacks the columns {missing}; expected columns: {names}")
    if any(given[name] > 1 for name in names):
        raise FlussError(f"{argument} has several columns of one name: {frame.schema.names}")
    return tuple(zip(*(frame.column(name).to_pylist() for name in names)))


def to_table(batches: list, schema: Any) -> Any:
    """A pyarrow.Table of batches; schemas of several versions of the table are merged."""
    import pyarrow

    arrays = [batch.batch if hasattr(batch, "batch") else batch for batch in batches]
    if not arrays:
        return schema.empty_table()
    if all(array.schema.equals(arrays[0].schema) for array in arrays):
        return pyarrow.Table.from_batches(arrays)
    tables = [pyarrow.Table.from_batches([array]) for array in arrays]
    return pyarrow.concat_tables(tables, promote_options="default")


def is_installed(name: str) -> bool:
    """Whether a library can be imported, which this does not do."""
    import importlib.util

    return sys.modules.get(name) is not None or importlib.util.find_spec(name) is not None


def require_library(name: str, method: str) -> None:
    """Refuse a call before it reads anything when the library of its answer is not installed."""
    if not is_installed(name):
        raise ModuleNotFoundError(
            f"{method}() needs {name}, which is not installed: pip install {name}", name=name
        )


def to_pandas(table: Any) -> Any:
    """A pandas.DataFrame of a pyarrow.Table."""
    return table.to_pandas()


def to_polars(table: Any) -> Any:
    """A polars.DataFrame of a pyarrow.Table."""
    import polars

    return polars.from_arrow(table)


_CHANGES = ("+A", "+I", "-U", "+U", "-D")


def _change_fields() -> list:
    """What a changelog has besides the table's columns."""
    import pyarrow

    return [
        pyarrow.field("_change_type", pyarrow.string(), nullable=False),
        pyarrow.field("_log_offset", pyarrow.int64(), nullable=False),
        pyarrow.field("_commit_timestamp", pyarrow.timestamp("ms", tz="UTC"), nullable=False),
    ]


def changes_to_table(parts: list, schema: Any) -> Any:
    """Changes as the extension gives them, as one pyarrow.Table.

    Args:
        schema: of the table's columns.
    """
    import pyarrow

    whole = pyarrow.schema([*_change_fields(), *schema])
    tables = [_changes_of(part, whole) for part in parts]
    if not tables:
        return whole.empty_table()
    return pyarrow.concat_tables(tables, promote_options="default")


def _changes_of(part: tuple, schema: Any) -> Any:
    import pyarrow

    batch, offsets, timestamps, changes = part
    rows = to_batch(batch)
    count = rows.num_rows

    def numbers(kind: Any, values: bytes) -> Any:
        return pyarrow.Array.from_buffers(kind, count, [None, pyarrow.py_buffer(values)])

    beside = [
        pyarrow.array(_CHANGES).take(numbers(pyarrow.uint8(), changes)),
        numbers(pyarrow.int64(), offsets),
        numbers(schema.field("_commit_timestamp").type, timestamps),
    ]
    fields = [*_change_fields(), *rows.schema]
    return pyarrow.Table.from_arrays([*beside, *rows.columns], schema=pyarrow.schema(fields))


def merge(batches: list) -> Any:
    """Batches of one bucket as one; None when there are no rows."""
    found = [batch for batch in batches if batch.num_rows]
    if len(found) < 2:
        return found[0] if found else None
    table = to_table(found, None).combine_chunks()
    schema, array = table.to_batches()[0].__arrow_c_array__()
    bucket = found[0].bucket
    place = (bucket.table_id, bucket.partition_id, bucket.bucket_id)
    return _core.new_batch(
        schema,
        array,
        tuple(-1 if part is None else part for part in place),
        found[0].base_offset,
        found[-1].last_offset,
    )
