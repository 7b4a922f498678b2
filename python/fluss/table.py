# SPDX-License-Identifier: Apache-2.0
"""Open tables, and the builders of writers and lookups."""

from __future__ import annotations

from collections.abc import Sequence

from . import _arrow, _core
from ._arguments import numbers
from ._handles import Uncopied
from ._typing import Any, Progressing
from .errors import FlussError
from .futures import FlussFuture
from .lookup import Lookuper, PrefixLookuper, columns_of
from .scan import TableScan
from .schema import TableInfo, names_of
from .values import TableBucket, TablePath, _Answer, require
from .writer import AppendWriter, UpsertWriter


class FlussTable(Uncopied, _Answer):
    """A table as it was when it was opened."""

    _another = "get_table() of a connection"

    @classmethod
    def _of(cls, connection: Any, handle: Any) -> FlussTable:
        info = TableInfo._of(_core.describe_table(handle))
        return cls._make(
            _connection=connection,
            _handle=handle,
            _info=info,
            _trees=info.get_schema()._trees(),
            _codecs={},
            _schema=None,
        )

    def _codec(self, names: Sequence[str]) -> Any:
        """The codec of some columns, in that order."""
        key = tuple(names)
        if key not in self._codecs:
            self._codecs[key] = _core.codec([(name, self._trees[name]) for name in key])
        return self._codecs[key]

    def _all_columns(self) -> list[str]:
        return list(self._trees)

    def new_scan(self) -> TableScan:
        """Read the table."""
        return TableScan._of(self)

    def to_arrow(self, *, progress: Progressing = None) -> Any:
        """All rows as one pyarrow.Table; see `TableScan.to_arrow`."""
        return self.new_scan().to_arrow(progress=progress)

    def to_pandas(self, *, progress: Progressing = None) -> Any:
        """All rows as one pandas.DataFrame."""
        return self.new_scan().to_pandas(progress=progress)

    def to_polars(self, *, progress: Progressing = None) -> FlussFuture:
        """A future of all rows as one polars.DataFrame."""
        return self.new_scan().to_polars(progress=progress)

    def __arrow_c_schema__(self) -> Any:
        """The columns, for consumers that ask for them before they read."""
        return _core.table_to_arrow(self._handle)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All rows as a stream, which the consumer pulls."""
        return self.new_scan().__arrow_c_stream__(requested_schema)

    def new_append(self) -> TableAppend:
        """Write to a log table."""
        if self.has_primary_key():
            raise FlussError(
                f"{self._name()} has a primary key: write to it with new_upsert(), not new_append()"
            )
        return TableAppend._of(self)

    def new_append_writer(self) -> AppendWriter:
        """The older form of `new_append().create_writer()`; may be awaited."""
        return self.new_append().create_writer()

    def new_upsert(
        self,
        columns: Sequence[str] | None = None,
        column_indices: Sequence[int] | None = None,
        *,
        overwrite: bool = False,
    ) -> TableUpsert:
        """Write to a table with a primary key: whole rows, or some columns of them.

        Args:
            columns, column_indices: the target columns, by name or by number; the others stay.
            overwrite: replace rows as they are given, past the table's merge engine.
        """
        self._require_key("new_upsert")
        require(overwrite, bool, "overwrite")
        if columns is not None and column_indices is not None:
            raise FlussError("give columns or column_indices, not both")
        upsert = TableUpsert._of(self, None, overwrite)
        if columns is not None:
            return upsert.partial_update_by_name(columns)
        if column_indices is not None:
            return upsert.partial_update_by_index(column_indices)
        return upsert

    def new_lookup(self, *, insert_if_absent: bool = False) -> TableLookup:
        """Find rows by key.

        Args:
            insert_if_absent: a row that is not there is inserted with its key, nulls and numbers of
                the server, and returned.
        """
        self._require_key("new_lookup")
        require(insert_if_absent, bool, "insert_if_absent")
        return TableLookup._of(self, insert_if_absent)

    def _require_key(self, method: str) -> None:
        if not self.has_primary_key():
            raise FlussError(f"{self._name()} has no primary key, which {method}() needs")

    def _require_bucket(self, bucket: TableBucket) -> None:
        info = self._info
        if bucket.table_id != info.table_id:
            raise FlussError(f"{bucket} is not of table {info.table_id}, {self._name()}")
        if not 0 <= bucket.bucket_id < info.num_buckets:
            raise FlussError(
                f"bucket id {bucket.bucket_id} is out of range: below {info.num_buckets}"
            )
        if info.is_partitioned() != (bucket.partition_id is not None):
            word = "has" if bucket.partition_id is None else "has no"
            raise FlussError(f"the table {word} partitions; {bucket} does not fit")

    @property
    def arrow_schema(self) -> Any:
        """The columns as a pyarrow.Schema."""
        if self._schema is None:
            self._schema = _arrow.to_schema(_core.table_to_arrow(self._handle))
        return self._schema

    def _arrow_schema_of(self, names: Sequence[str]) -> Any:
        """Some columns, in that order, as a pyarrow.Schema."""
        import pyarrow

        return pyarrow.schema([self.arrow_schema.field(name) for name in names])

    def get_table_info(self) -> TableInfo:
        return self._info

    def get_table_path(self) -> TablePath:
        return self._info.table_path

    def has_primary_key(self) -> bool:
        return self._info.has_primary_key()

    def _name(self) -> str:
        return self._info.table_path.table_path_str()

    def __repr__(self) -> str:
        return f"FlussTable(path={self._name()})"


class TableAppend(AppendWriter):
    """Builds append writers; also is one."""

    @classmethod
    def _of(cls, table: FlussTable) -> TableAppend:
        made = _core.new_writer(cls)
        made._table = table
        return made

    def create_writer(self) -> AppendWriter:
        return AppendWriter._of(self._table)

    def __repr__(self) -> str:
        return f"TableAppend(table={self._table._name()})"


class TableUpsert(UpsertWriter):
    """Builds upsert writers; also is one, as in older versions."""

    def partial_update_by_name(self, columns: Sequence[str]) -> TableUpsert:
        """Write these columns only; the others stay as they are."""
        names = names_of(columns, "columns") or []
        for name in names:
            if name not in self._table._trees:
                raise FlussError(f"Unknown column name: {name!r}")
        return TableUpsert._of(self._table, names, self._overwrite)

    def partial_update_by_index(self, column_indices: Sequence[int]) -> TableUpsert:
        every = self._table._all_columns()
        names = []
        for index in numbers(column_indices, "column_indices"):
            if not 0 <= index < len(every):
                raise FlussError(f"column index {index} is not below {len(every)}")
            names.append(every[index])
        return TableUpsert._of(self._table, names, self._overwrite)

    def create_writer(self) -> UpsertWriter:
        made = UpsertWriter._of(self._table, self._columns, self._overwrite)
        made._open()
        return made

    def __repr__(self) -> str:
        return f"TableUpsert(table={self._table._name()})"


class TableLookup(Lookuper):
    """Builds lookups; also is one, as in older versions."""

    def create_lookuper(self) -> Lookuper:
        return Lookuper._of(self._table, self._insert)._opened()

    def lookup_by(self, column_names: Sequence[str]) -> TablePrefixLookup:
        """Find rows by a prefix of the key: the partition keys and the bucket keys."""
        return TablePrefixLookup._make(
            _table=self._table, _columns=names_of(column_names, "column_names") or []
        )

    def __repr__(self) -> str:
        return f"TableLookup(table={self._table._name()})"


class TablePrefixLookup(_Answer):
    """Builds lookups by a prefix of the key."""

    def create_lookuper(self) -> PrefixLookuper:
        columns_of(self._table, self._columns)
        return PrefixLookuper._of(self._table, self._columns)

    def __repr__(self) -> str:
        return f"TablePrefixLookup(table={self._table._name()}, columns={self._columns})"
