# SPDX-License-Identifier: Apache-2.0
"""Arrow data between this package and pyarrow, which is imported when it is first needed."""

from __future__ import annotations

from typing import Any

from . import _core


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


def to_batch(batch: Any) -> Any:
    """A pyarrow.RecordBatch from anything with the PyCapsule protocol, without a copy."""
    import pyarrow

    return pyarrow.record_batch(batch)


def one_batch(stream: Any) -> Any:
    """All rows of anything with `__arrow_c_stream__`, as one pyarrow.RecordBatch."""
    import pyarrow

    table = pyarrow.table(stream).combine_chunks()
    return (table.to_batches() or [pyarrow.RecordBatch.from_pylist([], table.schema)])[0]


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
