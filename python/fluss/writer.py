# SPDX-License-Identifier: Apache-2.0
"""Writers. Rows are converted and queued by the extension; here are Arrow, pandas and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from . import _core
from .errors import FlussError
from .futures import FlussFuture, settled

WriteResultHandle = _core.WriteResultHandle
_BATCH_ROWS_MAX = 65536
_UNITS = ("s", "ms", "us", "ns")


class _Writer(_core.Writer):
    """What append and upsert writers have in common."""

    def flush(self) -> FlussFuture:
        """Wait for everything that was written before; fails with the first error of a write
        whose handle was not waited for."""
        return self._flush()

    def _put(self, batch: Any) -> Any:
        """Write the rows of one Arrow batch."""
        batch = settled(batch)
        if not hasattr(batch, "__arrow_c_array__"):
            raise FlussError(f"expected an Arrow record batch, got {type(batch).__name__}")
        self._require_columns(batch)
        if getattr(batch, "num_rows", 1) == 0:
            return _core.done_handle()
        return self._write_arrow(*batch.__arrow_c_array__(), False)

    def _require_columns(self, batch: Any) -> None:
        """Refuse batches with missing or additional columns, where their names can be seen."""
        names = getattr(getattr(batch, "schema", None), "names", None)
        if names is None or not isinstance(names, list):
            return
        wanted = self._batch_columns()
        missing = [name for name in wanted if name not in names]
        extra = [name for name in names if name not in wanted]
        if missing or extra:
            lacks = f"lacks the columns {missing}" if missing else ""
            has = f"has columns that the table has not, {extra}" if extra else ""
            what = " and ".join(filter(None, (lacks, has)))
            raise FlussError(f"Arrow batch {what}; expected columns: {wanted}")
        if len(set(names)) != len(names):
            raise FlussError(f"Arrow batch has several columns of one name: {names}")
        for name in names:
            self._require_unit(name, batch.schema.field(name).type)

    def _require_unit(self, name: str, given: Any) -> None:
        """Refuse times in a finer unit than the column's: whether digits are lost would depend on
        the rows."""
        declared = self._table.arrow_schema.field(name).type
        unit, wanted = getattr(given, "unit", None), getattr(declared, "unit", None)
        if unit in _UNITS and wanted in _UNITS and _UNITS.index(unit) > _UNITS.index(wanted):
            raise FlussError(
                f"Arrow column {name!r} is {given}, but the table declares {declared}; "
                "cast it to the table's arrow_schema"
            )

    def _batch_columns(self) -> list[str]:
        return self._table._all_columns()

    def _put_all(self, table: Any) -> None:
        for batch in _batches(settled(table)):
            self._put(batch)

    async def __aenter__(self):
        return self

    async def __aexit__(
        self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None
    ) -> bool:
        try:
            await self.flush()
        except FlussError:
            if exc_type is None:
                raise
        return False


def _batches(table: Any) -> Iterator[Any]:
    """The record batches of a table or stream."""
    if hasattr(table, "to_batches"):
        yield from table.to_batches(max_chunksize=_BATCH_ROWS_MAX)
    elif hasattr(table, "__arrow_c_stream__"):
        import pyarrow

        yield from pyarrow.RecordBatchReader.from_stream(table)
    elif hasattr(table, "__arrow_c_array__"):
        yield table
    else:
        raise FlussError(f"expected an Arrow table, got {type(table).__name__}")


class AppendWriter(_Writer):
    """Writes to a log table. Every write returns at once, or waits while the buffer is full."""

    append = _core.Writer._append

    @classmethod
    def _of(cls, table: Any) -> AppendWriter:
        made = _core.new_writer(cls)
        made._table = table
        made._open()
        return made

    def _open(self) -> None:
        table = self._table
        self._open_append(
            table._handle, table._codec(table._all_columns()), table._connection._wait_ms_max
        )

    def write_arrow(self, table: Any) -> None:
        """Append a table: anything with `__arrow_c_stream__`."""
        self._put_all(table)

    def write_arrow_batch(self, batch: Any) -> Any:
        """Append a record batch: anything with `__arrow_c_array__`. One handle for all rows."""
        return self._put(batch)

    def write_pandas(self, df: Any) -> None:
        """Append a data frame; its columns are picked by name."""
        import pyarrow

        self._put_all(pyarrow.Table.from_pandas(settled(df), schema=self._table.arrow_schema))

    def __await__(self):
        """Older programs await the writer; it is there already."""
        return self
        yield  # makes this a generator

    def __repr__(self) -> str:
        return f"AppendWriter(table={self._table._name()})"


class UpsertWriter(_Writer):
    """Writes to a table with a primary key: whole rows, or the target columns of the writer."""

    upsert = _core.Writer._upsert
    delete = _core.Writer._delete

    @classmethod
    def _of(cls, table: Any, columns: Sequence[str] | None) -> Any:
        made = _core.new_writer(cls)
        made._table = table
        made._columns = None if columns is None else list(columns)
        return made

    def _open(self) -> None:
        table = self._table
        columns = table._all_columns() if self._columns is None else self._columns
        missing = [name for name in table._info.get_primary_keys() if name not in columns]
        if missing:
            raise FlussError(
                f"the target columns {columns} must contain all primary key columns; "
                f"{missing} is missing"
            )
        numbered = [
            c for c in table._info.get_schema().get_auto_increment_columns() if c in columns
        ]
        if numbered:
            raise FlussError(
                f"the server numbers the auto-increment column {numbered[0]!r}: name the others "
                "with partial_update_by_name()"
            )
        self._open_upsert(
            table._handle,
            table._codec(columns),
            table._codec(table._info.get_primary_keys()),
            table._connection._wait_ms_max,
            self._columns,
            False,
        )

    def _batch_columns(self) -> list[str]:
        return self._table._all_columns() if self._columns is None else self._columns

    def write_arrow(self, table: Any) -> None:
        """Upsert the rows of a table: anything with `__arrow_c_stream__`."""
        self._put_all(table)

    def write_arrow_batch(self, batch: Any) -> Any:
        """Upsert the rows of a record batch. One handle for all rows."""
        return self._put(batch)

    def delete_arrow(self, batch: Any) -> Any:
        """Delete by the keys in a record batch, which may have other columns too. One handle for
        all rows."""
        import pyarrow

        keys = self._table._info.get_primary_keys()
        rows = pyarrow.record_batch(settled(batch))
        missing = [name for name in keys if name not in rows.schema.names]
        if missing:
            raise FlussError(f"Arrow batch lacks the key columns {missing}")
        if rows.num_rows == 0:
            return _core.done_handle()
        return self._write_arrow(*rows.select(keys).__arrow_c_array__(), True)

    def __repr__(self) -> str:
        return f"UpsertWriter(table={self._table._name()})"
