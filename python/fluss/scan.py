# SPDX-License-Identifier: Apache-2.0
"""Scans of tables: builders of scanners, whole-table reads, limit scans of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import _arrow, _core
from ._arguments import flag, number, numbers
from ._handles import Uncopied
from ._progress import Progress, require_progress
from ._typing import Any, Progressing
from .errors import FlussError
from .filters import Predicate
from .futures import DeferredFrame, DeferredTable, FlussFuture, failed, in_thread, resolved
from .scanner import LogScanner
from .schema import names_of
from .values import TableBucket, _Answer, require


class TableScan(_Answer):
    """Builds scanners. Each setter changes the scan and returns it."""

    @classmethod
    def _of(cls, table: Any) -> TableScan:
        return cls._make(
            _table=table, _columns=None, _fixed=None, _limit=None, _predicate=None, _exact=False
        )

    def project(self, indices: Sequence[int]) -> TableScan:
        """Read these columns only, in this order."""
        self._columns = numbers(indices, "indices")
        for index in self._columns:
            if index < 0:
                raise OverflowError(f"indices element {index} is negative")
        return self

    def project_by_name(self, names: Sequence[str]) -> TableScan:
        self._columns = names_of(names, "names")
        return self

    def with_fixed_schema(self, fixed_schema: bool) -> TableScan:
        """Whether Arrow batches of polls have the schema that the table has now (the default), or
        the one they were written with. Records and bounded reads always have the present one."""
        require(fixed_schema, bool, "fixed_schema")
        self._fixed = fixed_schema
        return self

    def limit(self, n: int) -> TableScan:
        """For `create_bucket_batch_scanner`: at most so many rows."""
        wanted = number(n, "n", 32)
        if wanted <= 0:
            raise FlussError(f"limit must be positive, not {wanted}")
        self._limit = wanted
        return self

    def filter(self, predicate: Predicate, *, exact: bool = False) -> TableScan:
        """Let the server leave out batches without a matching row; `exact` also filters here."""
        require(predicate, Predicate, "predicate")
        self._predicate = predicate
        self._exact = flag(exact, "exact")
        return self

    def _names(self) -> list[str]:
        """The wanted columns by name."""
        every = self._table._all_columns()
        if self._columns is None:
            return every
        if not self._columns:
            raise FlussError("the projection is empty: name at least one column")
        known = set(every)
        for column in self._columns:
            if isinstance(column, str) and column not in known:
                raise FlussError(f"Column '{column}' not found; the table has {every}")
            if isinstance(column, int) and column >= len(every):
                raise FlussError(f"column index {column} is out of range: below {len(every)}")
        return [every[c] if isinstance(c, int) else c for c in self._columns]

    def _open(self, batches: bool) -> Any:
        table, names = self._table, self._names()
        pred = None if self._predicate is None else self._predicate._build(table._trees)
        wanted = None if self._columns is None else names
        exact = self._exact

        def open_handle(as_written: bool) -> Any:
            return _core.open_scanner(table._handle, batches, as_written, exact, wanted, pred)

        return LogScanner._of(table, open_handle, names, batches, batches and self._fixed is False)

    def _create(self, batches: bool) -> FlussFuture:
        if self._limit is not None:
            raise FlussError("a limit is for create_bucket_batch_scanner(), not for log scanners")
        if batches and self._table.has_primary_key():
            raise FlussError(
                f"{self._table._name()} has a primary key: read its changelog with "
                "create_log_scanner()"
            )
        try:
            return resolved(self._open(batches))
        except FlussError as error:
            return failed(error)

    def create_log_scanner(self) -> FlussFuture:
        """A future of a `LogScanner` that delivers records."""
        return self._create(batches=False)

    def create_record_batch_log_scanner(self) -> FlussFuture:
        """A future of a `LogScanner` that delivers Arrow batches."""
        return self._create(batches=True)

    create_batch_scanner = create_record_batch_log_scanner

    def create_bucket_batch_scanner(self, bucket: TableBucket) -> BatchScanner:
        """Read some rows of one bucket at once; needs `limit`."""
        require(bucket, TableBucket, "bucket")
        info = self._table._info
        if self._limit is None:
            raise FlussError("create_bucket_batch_scanner() needs a limit: limit(n)")
        if self._predicate is not None:
            raise FlussError("create_bucket_batch_scanner() takes no filter")
        self._table._require_bucket(bucket)
        log_format = info.get_properties().get("table.log.format", "ARROW")
        if not info.has_primary_key() and log_format.upper() != "ARROW":
            raise FlussError(f"a log table of format {log_format} cannot be read by batches")
        return BatchScanner._of(self._table, bucket, self._limit, self._names(), self._columns)

    def _scan_all(self) -> LogScanner:
        scanner = self.create_record_batch_log_scanner().result()
        scanner.subscribe_all()
        return scanner

    def _buckets(self) -> list[TableBucket]:
        """Every bucket of the table, of every partition that is there now."""
        table, info = self._table, self._table._info
        numbers = range(info.num_buckets)
        if not info.is_partitioned():
            return [TableBucket(info.table_id, number) for number in numbers]
        listed = table._connection.get_admin().list_partition_infos(table.get_table_path())
        return [
            TableBucket.with_partition(info.table_id, partition.partition_id, number)
            for partition in listed.result()
            for number in numbers
        ]

    def _read_rows(self, kind: type, convert: Callable[[Any], Any], progress: Progressing) -> Any:
        """The current rows of a primary-key table; all buckets are read side by side."""
        require_progress(progress)
        if self._predicate is not None:
            raise FlussError("a filter is for log tables, not for the rows of a primary-key table")
        import pyarrow

        names = self._names()
        limit = self._limit or 0

        def work() -> Any:
            scanners = [
                BatchScanner._of(self._table, bucket, limit, names, self._columns)
                for bucket in self._buckets()
            ]
            schema = self._table._arrow_schema_of(names)
            # How many rows there are is known at the end; a bucket is a step.
            title = self._table._name()
            shown = Progress(progress, title, "bucket")
            parts = []
            try:
                shown.start(lambda: len(scanners))
                for pending in [scanner.to_arrow() for scanner in scanners]:
                    parts.append(pending.result())
                    shown.advance(1)
            finally:
                shown.end()
            rows = pyarrow.concat_tables([schema.empty_table(), *parts])
            return convert(rows.slice(0, limit) if limit else rows)

        return in_thread(kind, work)

    def to_arrow(self, *, progress: Progressing = None) -> Any:
        """All rows as one pyarrow.Table: of a log table up to now, of a primary-key table those
        that are current.

        Args:
            progress: a function that is called with the rows that were read and the rows there are
                (of a primary-key table: with buckets instead of rows); True: a bar, drawn with
                tqdm; False: nothing; None: a bar when the read is long, tqdm is installed and
                stderr is a terminal.
        """
        if self._table.has_primary_key():
            return self._read_rows(DeferredTable, lambda rows: rows, progress)
        scanner = self._scan_all()
        if scanner._positions():
            return scanner.to_arrow(progress=progress)
        return scanner._nothing(DeferredTable)

    def to_pandas(self, *, progress: Progressing = None) -> Any:
        """The same as one pandas.DataFrame."""
        _arrow.require_library("pandas", "to_pandas")
        if self._table.has_primary_key():
            return self._read_rows(DeferredFrame, _arrow.to_pandas, progress)
        scanner = self._scan_all()
        if scanner._positions():
            return scanner.to_pandas(progress=progress)
        return scanner._nothing(DeferredFrame)

    def to_polars(self, *, progress: Progressing = None) -> FlussFuture:
        """The same as a future of one polars.DataFrame."""
        _arrow.require_library("polars", "to_polars")
        if self._table.has_primary_key():
            return self._read_rows(FlussFuture, _arrow.to_polars, progress)
        scanner = self._scan_all()
        if scanner._positions():
            return scanner.to_polars(progress=progress)
        return scanner._nothing(FlussFuture)

    def changelog_to_arrow(self, *, progress: Progressing = None) -> Any:
        """All changes up to now as one pyarrow.Table, in the order of each bucket. Before the
        table's columns are `_change_type` ("+A", "+I", "-U", "+U", "-D"), `_log_offset` and
        `_commit_timestamp` (when the server wrote the change)."""
        require_progress(progress)
        scanner = self._create(batches=False).result()
        scanner.subscribe_all()
        return scanner._read_changes(progress)

    def __arrow_c_schema__(self) -> Any:
        """The wanted columns, for consumers that ask for them before they read."""
        return self._table._arrow_schema_of(self._names()).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All rows as a stream that the consumer pulls: for polars, DuckDB, pyarrow and others."""
        if self._table.has_primary_key():
            return self.to_arrow().result().__arrow_c_stream__()
        scanner = self._scan_all()
        if not scanner._positions():
            return scanner._nothing(DeferredTable).result().__arrow_c_stream__()
        return _core.stream_of(scanner._handle)

    def __repr__(self) -> str:
        return f"TableScan(table={self._table._name()})"


class BatchScanner(Uncopied, _Answer):
    """Rows of one bucket, read at once."""

    _another = "create_bucket_batch_scanner()"

    @classmethod
    def _of(
        cls, table: Any, bucket: TableBucket, limit: int, names: list[str], columns: Any
    ) -> BatchScanner:
        return cls._make(
            _table=table,
            _bucket=bucket,
            _limit=limit,
            _names=names,
            _wanted=None if columns is None else names,
            _spent=False,
        )

    @property
    def bucket(self) -> TableBucket:
        return self._bucket

    def _schema(self) -> Any:
        return self._table._arrow_schema_of(self._names)

    def _read(self, kind: type, convert: Callable[[list], Any]) -> Any:
        """Read; nothing when that was done before."""
        if self._spent:
            return resolved(convert([]), kind)
        self._spent = True
        bucket = self._bucket
        partition = -1 if bucket.partition_id is None else bucket.partition_id
        place = (bucket.table_id, partition, bucket.bucket_id)
        started = _core.scan_bucket(self._table._handle, place, self._limit, self._wanted)
        return _core.rebind(kind, started, convert)

    def next_batch(self) -> FlussFuture:
        """A future of the rows as one `RecordBatch`, once; then None."""
        return self._read(FlussFuture, _arrow.merge)

    def collect_all_batches(self) -> FlussFuture:
        """A future of all batches that are left."""
        return self._read(FlussFuture, lambda found: [batch for batch in found if batch.num_rows])

    def to_arrow(self) -> Any:
        """The rows as one pyarrow.Table."""
        schema = self._schema()
        return self._read(DeferredTable, lambda found: _arrow.to_table(found, schema))

    def to_pandas(self) -> Any:
        """The rows as one pandas.DataFrame."""
        _arrow.require_library("pandas", "to_pandas")
        schema = self._schema()
        return self._read(DeferredFrame, lambda found: _arrow.to_table(found, schema).to_pandas())

    def to_polars(self) -> FlussFuture:
        """A future of the rows as one polars.DataFrame."""
        _arrow.require_library("polars", "to_polars")
        schema = self._schema()
        return self._read(
            FlussFuture, lambda found: _arrow.to_polars(_arrow.to_table(found, schema))
        )

    def __arrow_c_schema__(self) -> Any:
        """The columns, for consumers that ask for them before they read."""
        return self._schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as a stream."""
        return self.to_arrow().result().__arrow_c_stream__()

    def __repr__(self) -> str:
        return f"BatchScanner(bucket={self._bucket})"
