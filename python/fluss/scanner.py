# SPDX-License-Identifier: Apache-2.0
"""Reading tables: scans, log scanners, limit scans of a bucket."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _arrow, _core
from .errors import ErrorCode, FlussError
from .filters import Predicate
from .futures import (
    Deferred,
    DeferredFrame,
    DeferredList,
    DeferredTable,
    FlussFuture,
    failed,
    in_thread,
    resolved,
)
from .records import ScanRecords
from .schema import names_of
from .values import EARLIEST_OFFSET, LATEST_OFFSET, TableBucket, _Answer, make_bucket, require

_POLL_MS = 1000


class TableScan(_Answer):
    """Builds scanners. Each setter changes the scan and returns it."""

    @classmethod
    def _of(cls, table: Any) -> TableScan:
        return cls._make(
            _table=table, _columns=None, _fixed=None, _limit=None, _predicate=None, _exact=False
        )

    def project(self, indices: Sequence[int]) -> TableScan:
        """Read these columns only, in this order."""
        if isinstance(indices, (str, bytes)):
            raise TypeError("indices must be a list of int")
        for index in indices:
            require(index, int, "column index")
            if index < 0:
                raise OverflowError(f"column index {index} is negative")
        self._columns = list(indices)
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
        require(n, int, "n")
        if n <= 0:
            raise FlussError(f"limit must be positive, not {n}")
        if n >= 2**31:
            raise OverflowError("limit does not fit 32 bits")
        self._limit = n
        return self

    def filter(self, predicate: Predicate, *, exact: bool = False) -> TableScan:
        """Let the server leave out batches without a matching row; `exact` also filters here."""
        require(predicate, Predicate, "predicate")
        self._predicate = predicate
        self._exact = exact
        return self

    def _names(self) -> list[str]:
        """The wanted columns by name."""
        every = self._table._all_columns()
        if self._columns is None:
            return every
        if not self._columns:
            raise FlussError("the projection is empty: name at least one column")
        for column in self._columns:
            if isinstance(column, str) and column not in every:
                raise FlussError(f"Column '{column}' not found; the table has {every}")
            if isinstance(column, int) and column >= len(every):
                raise FlussError(f"column index {column} is out of range: below {len(every)}")
        return [every[c] if isinstance(c, int) else c for c in self._columns]

    def _open(self, batches: bool) -> Any:
        table, names = self._table, self._names()
        pred = None if self._predicate is None else self._predicate._build(table._trees)
        wanted = None if self._columns is None else names
        as_written = batches and self._fixed is False

        def open_handle(written: bool) -> Any:
            return _core.open_scanner(table._handle, batches, written, self._exact, wanted, pred)

        aligned = (lambda: open_handle(False)) if as_written else None
        return LogScanner._of(table, open_handle(as_written), names, batches, aligned)

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
        if bucket.table_id != info.table_id:
            raise FlussError(f"{bucket} is not of table {info.table_id}, {self._table._name()}")
        if not 0 <= bucket.bucket_id < info.num_buckets:
            raise FlussError(
                f"bucket id {bucket.bucket_id} is out of range: below {info.num_buckets}"
            )
        if info.is_partitioned() != (bucket.partition_id is not None):
            word = "has" if bucket.partition_id is None else "has no"
            raise FlussError(f"the table {word} partitions; {bucket} does not fit")
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

    def _read_rows(self, kind: type, convert: Callable[[Any], Any]) -> Any:
        """The current rows of a primary-key table; all buckets are read side by side."""
        if self._predicate is not None:
            raise FlussError("a filter is for log tables, not for the rows of a primary-key table")
        import pyarrow

        names = self._names()
        limit = self._limit or 0

        def work(_future: Any) -> Any:
            scanners = [
                BatchScanner._of(self._table, bucket, limit, names, self._columns)
                for bucket in self._buckets()
            ]
            schema = pyarrow.schema([self._table.arrow_schema.field(name) for name in names])
            parts = [part.result() for part in [scanner.to_arrow() for scanner in scanners]]
            rows = pyarrow.concat_tables([schema.empty_table(), *parts])
            return convert(rows.slice(0, limit) if limit else rows)

        return in_thread(kind, work)

    def to_arrow(self) -> Any:
        """All rows as one pyarrow.Table: of a log table up to now, of a primary-key table those
        that are current."""
        if self._table.has_primary_key():
            return self._read_rows(DeferredTable, lambda rows: rows)
        scanner = self._scan_all()
        return scanner.to_arrow() if scanner._is_subscribed() else scanner._nothing(DeferredTable)

    def to_pandas(self) -> Any:
        """The same as one pandas.DataFrame."""
        if self._table.has_primary_key():
            return self._read_rows(DeferredFrame, lambda rows: rows.to_pandas())
        scanner = self._scan_all()
        return scanner.to_pandas() if scanner._is_subscribed() else scanner._nothing(DeferredFrame)

    def to_polars(self) -> FlussFuture:
        """The same as a future of one polars.DataFrame."""
        if self._table.has_primary_key():
            return self._read_rows(FlussFuture, _to_polars)
        scanner = self._scan_all()
        return scanner.to_polars() if scanner._is_subscribed() else scanner._nothing(FlussFuture)

    def __repr__(self) -> str:
        return f"TableScan(table={self._table._name()})"


class LogScanner(_Answer):
    """Reads the log of a table. One call at a time."""

    @classmethod
    def _of(
        cls, table: Any, handle: Any, names: list[str], batches: bool, aligned: Callable | None
    ) -> LogScanner:
        return cls._make(
            _table=table,
            _handle=handle,
            _names=names,
            _batches=batches,
            _aligned=aligned,
            _codec=None if batches else table._codec(names),
            _schema=None,
            _backlog=deque(),
            _memory=None,
            _reader=None,
            _reading=None,
            _partitions=frozenset(),
        )

    # --- subscriptions ---

    def subscribe(self, bucket_id: int, start_offset: int) -> None:
        """Read a bucket from an offset on: >= 0, EARLIEST_OFFSET or LATEST_OFFSET."""
        self._require_kind(False, "subscribe_partition")
        self._subscribe([(-1, bucket_id, start_offset)])

    def subscribe_buckets(self, bucket_offsets: Mapping[int, int]) -> None:
        self._require_kind(False, "subscribe_partition_buckets")
        self._subscribe([(-1, b, offset) for b, offset in self._entries(bucket_offsets)])

    def subscribe_partition(self, partition_id: int, bucket_id: int, start_offset: int) -> None:
        self._require_kind(True, "subscribe")
        self._subscribe([(partition_id, bucket_id, start_offset)])

    def subscribe_partition_buckets(
        self, partition_bucket_offsets: Mapping[tuple[int, int], int]
    ) -> None:
        self._require_kind(True, "subscribe_buckets")
        entries = self._entries(partition_bucket_offsets)
        self._subscribe([(partition, b, offset) for (partition, b), offset in entries])

    def subscribe_all(self, start_offset: int = EARLIEST_OFFSET) -> None:
        """Read every bucket, of every partition that exists now."""
        info = self._table._info
        partitions = [-1]
        if info.is_partitioned():
            admin = self._table._connection.get_admin()
            listed = admin.list_partition_infos(info.table_path).result()
            partitions = [partition.partition_id for partition in listed]
        every = [(p, b, start_offset) for p in partitions for b in range(info.num_buckets)]
        if every:
            self._subscribe(every)

    def unsubscribe(self, bucket_id: int) -> None:
        """Stop reading a bucket; nothing happens when it is not read."""
        self._require_kind(False, "unsubscribe_partition")
        self._unsubscribe(-1, bucket_id)

    def unsubscribe_partition(self, partition_id: int, bucket_id: int) -> None:
        self._require_kind(True, "unsubscribe")
        self._unsubscribe(partition_id, bucket_id)

    def subscribed_buckets(self) -> dict[TableBucket, int]:
        """The next offset of every bucket that is read."""
        found = _core.positions(self._open_handle())
        return {make_bucket(*entry[:3]): entry[3] for entry in found}

    @staticmethod
    def _entries(offsets: Mapping) -> list:
        if not isinstance(offsets, Mapping):
            raise TypeError(f"expected a dict, not {type(offsets).__name__}")
        if not offsets:
            raise FlussError("no buckets given: the dict is empty")
        return list(offsets.items())

    def _require_kind(self, partitioned: bool, other: str) -> None:
        if self._table._info.is_partitioned() != partitioned:
            kind = "is not partitioned" if partitioned else "is partitioned"
            raise FlussError(f"{self._table._name()} {kind}: use {other}()")

    def _require_no_reader(self) -> None:
        if self._reader is not None and self._reader() is not None:
            raise FlussError("a RecordBatchLogReader is active: finish or drop it first")

    def _subscribe(self, entries: list[tuple[int, int, int]]) -> None:
        self._require_no_reader()
        info = self._table._info
        for partition, bucket, offset in entries:
            require(partition, int, "partition_id")
            require(bucket, int, "bucket_id")
            require(offset, int, "start_offset")
            if not 0 <= bucket < info.num_buckets:
                raise FlussError(f"bucket id {bucket} is out of range: below {info.num_buckets}")
            if offset < 0 and offset not in (EARLIEST_OFFSET, LATEST_OFFSET):
                raise FlussError(f"start_offset {offset} is neither >= 0 nor a known constant")
        self._require_partitions({partition for partition, _, _ in entries})
        positions = [(info.table_id, p, bucket, offset) for p, bucket, offset in entries]
        _core.subscribe(self._open_handle(), positions)
        self._memory = None
        self._forget({entry[:3] for entry in positions})

    def _require_partitions(self, wanted: set[int]) -> None:
        info = self._table._info
        if not info.is_partitioned() or wanted <= self._partitions:
            return
        listed = self._table._connection.get_admin().list_partition_infos(info.table_path)
        self._partitions = frozenset(partition.partition_id for partition in listed.result())
        for partition in sorted(wanted - self._partitions):
            raise FlussError(
                f"partition id {partition} does not exist in {self._table._name()}",
                ErrorCode.PARTITION_NOT_EXISTS,
            )

    def _unsubscribe(self, partition: int, bucket: int) -> None:
        self._require_no_reader()
        require(partition, int, "partition_id")
        require(bucket, int, "bucket_id")
        key = (self._table._info.table_id, partition, bucket)
        for entry in _core.positions(self._open_handle()):
            if entry[:3] == key:
                _core.unsubscribe(self._handle, [entry])
                self._memory = None
        self._forget({key})

    def _forget(self, keys: set[tuple]) -> None:
        """Drop rows of buckets that an iteration fetched and did not deliver."""
        if self._backlog:
            gone = {make_bucket(*key) for key in keys}
            self._backlog = deque(x for x in self._backlog if x.bucket not in gone)

    # --- polling ---

    def poll(self, timeout_ms: int) -> ScanRecords:
        """Records that are there, or come within the time; awaitable and usable at once."""
        self._require_mode(False, "poll", "poll_arrow() or poll_record_batch()")
        self._require_timeout(timeout_ms)
        if self._backlog:
            records, self._backlog = list(self._backlog), deque()
            return ScanRecords._of_list(records, resolved(None))
        if not self._is_subscribed():
            return ScanRecords._of_list([], resolved(None))
        return ScanRecords._of_future(_core.poll(self._handle, timeout_ms, self._codec))

    def poll_record_batch(self, timeout_ms: int) -> Any:
        """Arrow batches that are there, or come within the time: a list of `RecordBatch`."""
        return self._poll_batches(timeout_ms, "poll_record_batch", DeferredList, None)

    poll_batches = poll_record_batch

    def poll_arrow(self, timeout_ms: int) -> Any:
        """As `poll_record_batch`, as one pyarrow.Table."""
        schema = self._arrow_schema()
        return self._poll_batches(
            timeout_ms, "poll_arrow", DeferredTable, lambda found: _arrow.to_table(found, schema)
        )

    def _poll_batches(
        self, timeout_ms: int, method: str, kind: type[Deferred], convert: Callable | None
    ) -> Any:
        self._require_mode(True, method, "poll()")
        self._require_timeout(timeout_ms)
        if self._backlog or not self._is_subscribed():
            found, self._backlog = list(self._backlog), deque()
            return resolved(convert(found) if convert else found, kind)
        return _core.rebind(kind, _core.poll(self._handle, timeout_ms, None), convert)

    def _open_handle(self) -> Any:
        if self._handle is None:
            raise FlussError("the scanner is closed")
        return self._handle

    def _is_subscribed(self) -> bool:
        return bool(_core.positions(self._open_handle()))

    def _require_mode(self, batches: bool, method: str, other: str) -> None:
        self._open_handle()
        if self._batches != batches:
            kind = "batches" if self._batches else "records"
            raise FlussError(f"{method}() does not fit a scanner of {kind}: use {other}")

    @staticmethod
    def _require_timeout(timeout_ms: int) -> None:
        require(timeout_ms, int, "timeout_ms")
        if timeout_ms < 0:
            raise FlussError(f"timeout_ms must not be negative, not {timeout_ms}")
        if timeout_ms >= 2**63:
            raise OverflowError("timeout_ms does not fit 64 bits")

    def _arrow_schema(self) -> Any:
        """The schema of the wanted columns, as they are now."""
        if self._schema is None:
            import pyarrow

            full = self._table.arrow_schema
            self._schema = pyarrow.schema([full.field(name) for name in self._names])
        return self._schema

    # --- bounded reads ---

    def to_arrow(self) -> Any:
        """All rows of the subscribed buckets up to now, as one pyarrow.Table."""
        self._require_mode(True, "to_arrow", "poll()")
        return self._start_reading(DeferredTable, lambda table: table)

    def to_pandas(self) -> Any:
        """All rows of the subscribed buckets up to now, as one pandas.DataFrame."""
        self._require_mode(True, "to_pandas", "poll()")
        return self._start_reading(DeferredFrame, lambda table: table.to_pandas())

    def to_polars(self) -> FlussFuture:
        """A future of all rows of the subscribed buckets up to now, as one polars.DataFrame."""
        self._require_mode(True, "to_polars", "poll()")
        return self._start_reading(FlussFuture, _to_polars)

    def _nothing(self, kind: type) -> Any:
        """The answer of a bounded read of a table without partitions."""
        empty = self._arrow_schema().empty_table()
        if kind is DeferredFrame:
            return resolved(empty.to_pandas(), kind)
        return resolved(_to_polars(empty) if kind is FlussFuture else empty, kind)

    def _start_reading(self, kind: type, convert: Callable[[Any], Any]) -> Any:
        """Read in a thread, after a read that is under way: older programs ask for a table and a
        frame one after the other and look at both later."""
        schema, before = self._arrow_schema(), self._reading

        def work(future: Any) -> Any:
            if before is not None:
                with contextlib.suppress(asyncio.CancelledError):
                    FlussFuture.exception(before)
            return convert(self._read_all(schema, future))

        self._reading = in_thread(kind, work)
        return self._reading

    def _start_read(self, remembered: bool) -> tuple[Any, list[tuple]]:
        """Begin to read up to now: the stream, and the positions it starts from."""
        self._require_no_reader()
        positions = _core.positions(self._open_handle())
        if not positions and remembered and self._memory:
            _core.subscribe(self._handle, self._memory)
            positions = self._memory
        if not positions:
            raise FlussError("No buckets subscribed: call subscribe() first")
        reader = self._handle
        if self._aligned is not None:
            reader = self._aligned()
            _core.subscribe(reader, positions)
        return _core.read(reader, None), positions

    def _read_all(self, schema: Any, future: Any) -> Any:
        stream, positions = self._start_read(remembered=True)
        found = list(self._backlog)
        self._backlog = deque()
        done = False
        try:
            while not FlussFuture.cancelled(future):
                batch = stream.next_batch()
                if batch is None:
                    done = True
                    break
                found.append(batch)
        finally:
            stream.close()
        if done:
            self._finish(positions)
            self._memory = positions
        return _arrow.to_table(found, schema)

    def _finish(self, positions: list[tuple]) -> None:
        """Stop reading buckets that were read to their end."""
        keys = {entry[:3] for entry in positions}
        left = [entry for entry in _core.positions(self._handle) if entry[:3] in keys]
        if left:
            _core.unsubscribe(self._handle, left)

    def to_arrow_batch_reader(self) -> Any:
        """As `to_arrow`, batch by batch: a pyarrow.RecordBatchReader. Each step waits."""
        import weakref

        import pyarrow

        self._require_mode(True, "to_arrow_batch_reader", "poll()")
        schema = self._arrow_schema()
        stream, positions = self._start_read(remembered=False)
        feed = _Feed(self, stream, positions)
        self._reader = weakref.ref(feed)
        return pyarrow.RecordBatchReader.from_batches(schema, feed)

    # --- iteration, life ---

    def __aiter__(self) -> LogScanner:
        return self

    async def __anext__(self) -> Any:
        while not self._backlog:
            if self._batches:
                self._backlog.extend(await self.poll_record_batch(_POLL_MS))
            else:
                self._backlog.extend(await self.poll(_POLL_MS))
        return self._backlog.popleft()

    def close(self) -> None:
        """Stop reading."""
        if self._handle is not None:
            _core.wake(self._handle)
        self._handle = None

    def __enter__(self) -> LogScanner:
        return self

    def __exit__(self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None) -> bool:
        self.close()
        return False

    async def __aenter__(self) -> LogScanner:
        return self

    async def __aexit__(
        self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None
    ) -> bool:
        self.close()
        return False

    def __repr__(self) -> str:
        return f"LogScanner(table={self._table._name()})"


def _to_polars(table: Any) -> Any:
    import polars

    return polars.from_arrow(table)


class _Feed:
    """Gives batches to a pyarrow reader; when the reader goes, so does the subscription."""

    def __init__(self, scanner: LogScanner, stream: Any, positions: list[tuple]) -> None:
        self._scanner = scanner
        self._stream = stream
        self._positions = positions

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> Any:
        if self._stream is None:
            raise StopIteration
        batch = self._stream.next_batch()
        if batch is None:
            self._end()
            raise StopIteration
        return _arrow.to_batch(batch)

    def _end(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
            self._scanner._finish(self._positions)
            self._scanner._reader = None

    def __del__(self) -> None:
        self._end()


class BatchScanner(_Answer):
    """Rows of one bucket, read at once."""

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
        import pyarrow

        full = self._table.arrow_schema
        return pyarrow.schema([full.field(name) for name in self._names])

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
        schema = self._schema()
        return self._read(DeferredFrame, lambda found: _arrow.to_table(found, schema).to_pandas())

    def __repr__(self) -> str:
        return f"BatchScanner(bucket={self._bucket})"
