# SPDX-License-Identifier: Apache-2.0
"""Writers. Rows are converted and queued by the extension; here are Arrow, pandas and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from . import _arrow, _core, _types
from ._handles import Managed, Uncopied
from ._typing import Any
from .errors import FlussError
from .futures import FlussFuture, settled

WriteResultHandle = _core.WriteResultHandle
# Formats of timestamps in the Arrow C data interface: seconds to nanoseconds.
_UNITS = {f"ts{unit}": i for i, unit in enumerate("smun")}
_UNIT_NAMES = ("s", "ms", "us", "ns")
_TIMESTAMPS = {_types.CODES[name] for name in ("TIMESTAMP", "TIMESTAMP_LTZ")}


class _Writer(Managed, Uncopied, _core.Writer):
    """What append and upsert writers have in common."""

    _another = "create_writer()"

    def flush(self) -> FlussFuture:
        """Wait for everything that was written before; fails with the first error of a write
        whose handle was not waited for."""
        return self._flush()

    def _put(self, batch: Any, deletes: bool = False) -> Any:
        """Write the rows of one Arrow batch."""
        batch = settled(batch)
        if not hasattr(batch, "__arrow_c_array__"):
            if not hasattr(batch, "__arrow_c_stream__"):
                raise FlussError(
                    f"batch must be an Arrow record batch, got {_type_of(batch)}{_advice(batch)}"
                )
            batch = _arrow.one_batch(batch)
        if getattr(batch, "num_rows", 1) == 0:
            self._require_fields(_schema_of(batch), deletes)
            return _core.done_handle()
        return self._write(self._check(batch, deletes))

    def _check(self, batch: Any, deletes: bool) -> Any:
        """A batch in the form of the table, with nothing written yet."""
        schema, array = _capsules(batch)
        if self._require_fields(schema, deletes):
            keys = self._batch_columns(deletes)
            schema, array = _arrow.to_batch(batch).select(keys).__arrow_c_array__()
        return self._prepare(schema, array, deletes)

    def _require_fields(self, schema: Any, deletes: bool) -> bool:
        """Refuse batches with missing or additional columns, and timestamps in a finer unit than
        the column's, of which it would depend on the rows whether digits are lost.

        Returns:
            Whether a batch of deletes has columns besides the key, which are left out.
        """
        fields = _core.arrow_fields(schema)
        names = [name for name, _ in fields]
        wanted = self._batch_columns(deletes)
        given, known = set(names), set(wanted)
        missing = [name for name in wanted if name not in given]
        extra = [] if deletes else [name for name in names if name not in known]
        if missing or extra:
            lacks = f"lacks the columns {missing}" if missing else ""
            has = f"has columns that the table has not, {extra}" if extra else ""
            what = " and ".join(filter(None, (lacks, has)))
            raise FlussError(f"Arrow batch {what}; expected columns: {wanted}")
        if len(given) != len(names):
            raise FlussError(f"Arrow batch has several columns of one name: {names}")
        for name, arrow in fields:
            if name in known:
                self._require_unit(name, arrow)
        return len(names) > len(wanted)

    def _require_unit(self, name: str, arrow: str) -> None:
        code, precision = self._table._trees[name][:2]
        given = _UNITS.get(arrow[:3])
        if code in _TIMESTAMPS and given is not None and given > (precision + 2) // 3:
            declared = self._table.arrow_schema.field(name).type
            raise FlussError(
                f"Arrow column {name!r} is in {_UNIT_NAMES[given]}, but the table declares "
                f"{declared}; cast it to the table's arrow_schema"
            )

    def _batch_columns(self, deletes: bool) -> list[str]:
        return self._table._all_columns()

    def _put_all(self, table: Any, deletes: bool = False) -> None:
        """Write what has a length as a whole or not at all, and a stream batch by batch."""
        table = settled(table)
        if not hasattr(type(table), "__len__"):
            for batch in _batches(table):
                self._put(batch, deletes)
            return
        checked = [
            self._check(batch, deletes)
            for batch in _batches(table)
            if getattr(batch, "num_rows", 1) != 0
        ]
        if not checked:
            self._require_fields(_schema_of(table), deletes)
        for batch in checked:
            self._write(batch)

    def _leave(self) -> None:
        self.flush().result()

    def _start_leaving(self) -> FlussFuture:
        return self.flush()


def _batches(table: Any) -> Iterator[Any]:
    """The record batches of a table or stream."""
    if hasattr(table, "__arrow_c_stream__"):
        stream = _core.open_stream(table.__arrow_c_stream__())
        while (batch := stream.next_batch()) is not None:
            yield batch
    elif hasattr(table, "__arrow_c_array__"):
        yield table
    else:
        raise FlussError(f"table must be an Arrow table, got {_type_of(table)}{_advice(table)}")


def _capsules(batch: Any) -> tuple[Any, Any]:
    """The schema and the array of a batch."""
    capsules = batch.__arrow_c_array__()
    if not isinstance(capsules, tuple) or len(capsules) != 2:
        raise TypeError(f"__arrow_c_array__() of {_type_of(batch)} must give two capsules")
    return capsules


def _schema_of(table: Any) -> Any:
    """The schema of a table without rows."""
    if hasattr(table, "__arrow_c_schema__"):
        return table.__arrow_c_schema__()
    if hasattr(table, "__arrow_c_stream__"):
        return _core.open_stream(table.__arrow_c_stream__()).__arrow_c_schema__()
    return _capsules(table)[0]


def _type_of(value: Any) -> str:
    return type(value).__name__


def _advice(value: Any) -> str:
    """How to make Arrow of something that is none but can be made one."""
    methods = {
        "collect": "collect()",  # lazy frames
        "to_frame": "to_frame()",  # series
        "to_reader": "to_reader()",  # scanners of datasets
        "scanner": "scanner().to_reader()",  # datasets
        "to_arrow_reader": "to_arrow_reader()",  # connections of DuckDB
        "to_arrow": "to_arrow()",
    }
    for method, call in methods.items():
        if callable(getattr(value, method, None)):
            return f": give its {call}"
    if isinstance(value, (Mapping, list, tuple)) or hasattr(value, "dtype"):
        return ": make it one with pyarrow.table(), or write rows with append() or upsert()"
    return ""


def _frame(df: Any, schema: Any) -> Any:
    """A pandas.DataFrame as a pyarrow.Table of these columns."""
    import pyarrow

    df = settled(df)
    if not (hasattr(df, "columns") and hasattr(df, "index")):
        is_table = hasattr(df, "__arrow_c_stream__") and not hasattr(df, "to_frame")
        advice = "; write_arrow() takes it" if is_table else _advice(df)
        raise TypeError(f"df must be a pandas.DataFrame, not {_type_of(df)}{advice}")
    table = pyarrow.Table.from_pandas(df, schema=schema)
    types = pyarrow.types
    for field in schema:
        if field.name not in df.columns:
            continue
        if types.is_float32(field.type):
            _require_finite(field.name, df[field.name], table[field.name])
        elif types.is_date(field.type) or types.is_time(field.type):
            _require_whole(field.name, df[field.name], table[field.name])
        elif types.is_timestamp(field.type) and field.type.tz is None:
            _require_no_zone(field.name, df[field.name])
    return table


def _require_whole(name: str, given: Any, stored: Any) -> None:
    """A time of day would be cut off by a DATE, a date by a TIME, and so would fine digits."""
    import pyarrow

    whole = pyarrow.chunked_array([pyarrow.array(given, from_pandas=True)])
    types = pyarrow.types
    is_same = types.is_null(whole.type) or whole.type == stored.type
    if is_same or not (types.is_timestamp(whole.type) or types.is_time(whole.type)):
        return
    has_date = types.is_timestamp(whole.type) and types.is_time(stored.type)
    if has_date or not stored.cast(whole.type).equals(whole):
        raise FlussError(
            f"column {name!r} of the frame is {whole.type}, "
            f"of which {stored.type} would lose a part"
        )


def _require_no_zone(name: str, given: Any) -> None:
    """A TIMESTAMP would take moments for what a clock shows at them."""
    import pyarrow

    kind = pyarrow.chunked_array([pyarrow.array(given, from_pandas=True)]).type
    if pyarrow.types.is_timestamp(kind) and kind.tz is not None:
        raise FlussError(
            f"column {name!r} of the frame is {kind}, but TIMESTAMP has no time zone: take it away "
            "with dt.tz_localize(None), or declare TIMESTAMP_LTZ"
        )


def _require_finite(name: str, given: Any, stored: Any) -> None:
    """A number that is too large for a FLOAT would become infinite."""
    import pyarrow.compute

    infinite = pyarrow.compute.sum(pyarrow.compute.is_inf(stored)).as_py() or 0
    if infinite and infinite != int((abs(given.astype("float64")) == float("inf")).sum()):
        raise FlussError(
            f"column {name!r} of the frame has numbers that are out of range for FLOAT"
        )


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
        """Append a table: anything with `__arrow_c_stream__` or `__arrow_c_array__`.

        What has a length (a table, a frame) is checked whole before the first row is queued. A
        stream (a RecordBatchReader) is written batch by batch; when a batch is refused, those
        before it stay.
        """
        self._put_all(table)

    def write_arrow_batch(self, batch: Any) -> Any:
        """Append a record batch: anything with `__arrow_c_array__`. One handle for all rows."""
        return self._put(batch)

    def write_pandas(self, df: Any) -> None:
        """Append a pandas.DataFrame as a whole; its columns are picked by name."""
        self._put_all(_frame(df, self._table.arrow_schema))

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
    def _of(cls, table: Any, columns: Sequence[str] | None, overwrite: bool) -> Any:
        made = _core.new_writer(cls)
        made._table = table
        made._overwrite = overwrite
        made._columns = None if columns is None else list(columns)
        return made

    def _open(self) -> None:
        table = self._table
        columns = table._all_columns() if self._columns is None else self._columns
        known = set(columns)
        missing = [name for name in table._info.get_primary_keys() if name not in known]
        if missing:
            raise FlussError(
                f"the target columns {columns} must contain all primary key columns; "
                f"{missing} is missing"
            )
        numbered = [c for c in table._info.get_schema().get_auto_increment_columns() if c in known]
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
            self._overwrite,
        )

    def _batch_columns(self, deletes: bool) -> list[str]:
        if deletes:
            return self._table._info.get_primary_keys()
        return self._table._all_columns() if self._columns is None else self._columns

    def write_arrow(self, table: Any) -> None:
        """Upsert the rows of a table: anything with `__arrow_c_stream__` or `__arrow_c_array__`; a
        table as a whole, a stream batch by batch."""
        self._put_all(table)

    def write_pandas(self, df: Any) -> None:
        """Upsert the rows of a pandas.DataFrame as a whole; its columns are picked by name."""
        import pyarrow

        full = self._table.arrow_schema
        wanted = self._batch_columns(False)
        self._put_all(_frame(df, pyarrow.schema([full.field(name) for name in wanted])))

    def write_arrow_batch(self, batch: Any) -> Any:
        """Upsert the rows of a record batch. One handle for all rows."""
        return self._put(batch)

    def delete_arrow(self, table: Any) -> Any:
        """Delete by the keys in a table, stream or record batch, which may have other columns too.
        The handle of a record batch stands for all its rows; of others there is none."""
        table = settled(table)
        if hasattr(table, "__arrow_c_array__"):
            return self._put(table, deletes=True)
        return self._put_all(table, deletes=True)

    def __repr__(self) -> str:
        return f"UpsertWriter(table={self._table._name()})"
