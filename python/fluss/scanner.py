# SPDX-License-Identifier: Apache-2.0
"""Log scanners: positions, polls, bounded reads, iteration."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from . import _arrow, _core
from ._arguments import mapping, natural, number
from ._committing import Committing
from ._progress import Progress, require_progress
from ._typing import Any, Progressing, Start
from .errors import ErrorCode, FlussError
from .futures import (
    Deferred,
    DeferredFrame,
    DeferredList,
    DeferredTable,
    FlussFuture,
    in_thread,
    resolved,
    wait_for,
)
from .records import ScanRecords
from .values import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    OffsetSpec,
    TableBucket,
    make_bucket,
)

_POLL_MS = 1000
_STOP_TRIES, _STOP_S = 50, 0.1


class _Stop:
    """Has a read that is cancelled leave its scanner before cancel() returns."""

    def __init__(self, future: Any) -> None:
        self.reader: Any = None
        self.stream: Any = None
        self._future = future
        self._thread, self._left = get_ident(), allocate_lock()
        self._left.acquire()
        FlussFuture.add_done_callback(future, self._on_end)

    def require_wanted(self) -> None:
        if FlussFuture.cancelled(self._future):
            raise FlussError("the read was cancelled")

    def _on_end(self, future: Any) -> None:
        if not FlussFuture.cancelled(future) or get_ident() == self._thread:
            return
        for _ in range(_STOP_TRIES):  # a wake-up right before the read begins is lost on it
            if self.stream is not None:
                self.stream.close()
            elif self.reader is not None:
                _core.wake(self.reader)
            if self._left.acquire(timeout=_STOP_S):
                break

    def __enter__(self) -> _Stop:
        return self

    def __exit__(self, *_error: object) -> None:
        self._left.release()


class LogScanner(Committing):
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
            _finished={},
            _partitions=frozenset(),
            _store=None,
            _storing=None,
        )

    # --- subscriptions ---

    def subscribe(self, bucket_id: int, start_offset: Start) -> None:
        """Read a bucket from an offset on: >= 0, EARLIEST_OFFSET, LATEST_OFFSET, or an
        `OffsetSpec`, such as `OffsetSpec.timestamp(ms)`, which is resolved now."""
        self._require_kind(False, "subscribe_partition")
        self._subscribe([(-1, bucket_id, start_offset)])

    def subscribe_buckets(self, bucket_offsets: Mapping[int, Start]) -> None:
        self._require_kind(False, "subscribe_partition_buckets")
        entries = self._entries(bucket_offsets, "bucket_offsets")
        self._subscribe([(-1, number(b, "bucket_offsets key"), offset) for b, offset in entries])

    def subscribe_partition(self, partition_id: int, bucket_id: int, start_offset: Start) -> None:
        self._require_kind(True, "subscribe")
        self._subscribe([(partition_id, bucket_id, start_offset)])

    def subscribe_partition_buckets(
        self, partition_bucket_offsets: Mapping[tuple[int, int], Start]
    ) -> None:
        self._require_kind(True, "subscribe_buckets")
        entries = self._entries(partition_bucket_offsets, "partition_bucket_offsets")
        for key, _ in entries:
            if not issubclass(type(key), tuple) or tuple.__len__(key) != 2:
                raise TypeError(
                    "keys of partition_bucket_offsets must be (partition_id, bucket_id), "
                    f"not {type(key).__name__}"
                )
        self._subscribe([(partition, b, offset) for (partition, b), offset in entries])

    def subscribe_all(self, start_offset: Start = EARLIEST_OFFSET) -> None:
        """Read every bucket, of every partition that exists now."""
        start = self._start_of(start_offset)
        self._subscribe_buckets_of(self._present_partitions(), start)

    def subscribe_new(self, start_offset: Start = EARLIEST_OFFSET) -> list[int]:
        """Read every bucket of the partitions that are not read yet, such as those made since the
        last call; gives their ids. What is read stays where it is, so a reader that runs calls
        this now and then."""
        self._require_kind(True, "subscribe_all")
        start = self._start_of(start_offset)
        known = {entry[1] for entry in _core.positions(self._open_handle())}
        new = [partition for partition in self._present_partitions() if partition not in known]
        self._subscribe_buckets_of(new, start)
        return new

    def _present_partitions(self) -> dict[int, str]:
        """The names of all partitions by id; -1 stands for a table without."""
        info = self._table._info
        if not info.is_partitioned():
            return {-1: ""}
        admin = self._table._connection.get_admin()
        listed = admin.list_partition_infos(info.table_path).result()
        return {partition.partition_id: partition.partition_name for partition in listed}

    def _subscribe_buckets_of(self, partitions: Iterable[int], start_offset: Start) -> None:
        buckets = range(self._table._info.num_buckets)
        every = [(p, b, start_offset) for p in partitions for b in buckets]
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
        """The next offset of every bucket that is read: after the rows that were handed out, which
        those of a poll that nobody has looked at were not, nor those that an iteration holds. A
        bucket that was subscribed at EARLIEST_OFFSET stays there until its first rows come."""
        found = _core.positions(self._open_handle())
        reached = {make_bucket(*entry[:3]): entry[3] for entry in found}
        for held in reversed(self._backlog):
            if held.bucket in reached:
                reached[held.bucket] = held.base_offset if self._batches else held.offset
        return reached

    def position(self, bucket: TableBucket | int) -> int:
        """The next offset of a bucket that is read, as in `subscribed_buckets()`; of a table
        without partitions its number will do."""
        reached = self.subscribed_buckets().get(make_bucket(*self._bucket_key(bucket)))
        if reached is None:
            raise FlussError(f"bucket {bucket!r} is not subscribed")
        return reached

    def seek(self, bucket: TableBucket | int, offset: Start) -> None:
        """Go on reading a bucket that is read at another offset."""
        self.position(bucket)
        start = self._start_of(offset, "offset")
        _, partition, index = self._bucket_key(bucket)
        self._subscribe([(partition, index, start)])

    def _bucket_key(self, bucket: TableBucket | int, name: str = "bucket") -> tuple[int, int, int]:
        info = self._table._info
        if isinstance(bucket, TableBucket):
            partition = -1 if bucket.partition_id is None else bucket.partition_id
            return (bucket.table_id, partition, bucket.bucket_id)
        index = number(bucket, name, 32)
        if info.is_partitioned():
            raise FlussError(f"{self._table._name()} is partitioned: give a TableBucket")
        return (info.table_id, -1, index)

    @staticmethod
    def _entries(offsets: Mapping, name: str) -> list:
        entries = mapping(offsets, name)
        if not entries:
            raise FlussError(f"no buckets given: {name} is empty")
        return entries

    def _require_kind(self, partitioned: bool, other: str) -> None:
        if self._table._info.is_partitioned() != partitioned:
            kind = "is not partitioned" if partitioned else "is partitioned"
            raise FlussError(f"{self._table._name()} {kind}: use {other}()")

    def _require_no_reader(self) -> None:
        if self._reader is not None and self._reader() is not None:
            raise FlussError("a RecordBatchLogReader is active: finish or drop it first")

    @staticmethod
    def _start_of(offset: Start, name: str = "start_offset") -> Start:
        if issubclass(type(offset), OffsetSpec):
            return offset
        start = number(offset, name)
        if start < 0 and start not in (EARLIEST_OFFSET, LATEST_OFFSET):
            raise FlussError(f"{name} {start} is neither >= 0 nor a known constant")
        return start

    def _offsets_of(
        self,
        wanted: Sequence[tuple[int, int, OffsetSpec]],
        present: Mapping[int, str] | None = None,
    ) -> list[int]:
        """The offsets of (partition, bucket, spec), which the server is asked for all at once.

        Args:
            present: the partitions that exist, where they are known.
        """
        groups: dict[tuple[int, OffsetSpec], list[int]] = {}
        for partition, bucket, spec in wanted:
            groups.setdefault((partition, spec), []).append(bucket)
        if present is None:
            present = self._present_partitions() if groups else {}
        for partition, _ in groups:
            if partition not in present:
                raise FlussError(
                    f"partition id {partition} is gone", ErrorCode.PARTITION_NOT_EXISTS
                )
        asked = {
            (partition, spec): self._ask_offsets(present[partition], buckets, spec)
            for (partition, spec), buckets in groups.items()
        }
        found = {group: future.result() for group, future in asked.items()}
        return [found[partition, spec][bucket] for partition, bucket, spec in wanted]

    def _resolved(self, entries: Iterable[tuple[int, int, Start]]) -> list[tuple[int, int, int]]:
        """Entries (partition, bucket, start) with the offsets of their OffsetSpecs."""
        entries = list(entries)
        specs = [entry for entry in entries if isinstance(entry[2], OffsetSpec)]
        found = dict(zip(specs, self._offsets_of(specs)))
        return [(*entry[:2], found.get(entry, entry[2])) for entry in entries]

    def _ask_offsets(self, partition_name: str, buckets: list[int], spec: OffsetSpec) -> Any:
        """A future of offsets by bucket; a table without partitions has one of the name ""."""
        admin, path = self._table._connection.get_admin(), self._table.get_table_path()
        if not partition_name:
            return admin.list_offsets(path, buckets, spec)
        return admin.list_partition_offsets(path, partition_name, buckets, spec)

    def _subscribe(self, entries: list[tuple[int, int, Start]]) -> None:
        self._require_no_reader()
        info = self._table._info
        checked = [
            (number(p, "partition_id"), number(b, "bucket_id"), self._start_of(offset))
            for p, b, offset in entries
        ]
        for _, bucket, _ in checked:
            if not 0 <= bucket < info.num_buckets:
                raise FlussError(f"bucket_id {bucket} is out of range: below {info.num_buckets}")
        self._require_partitions({partition for partition, _, _ in checked})
        positions = [(info.table_id, *entry) for entry in self._resolved(checked)]
        _core.subscribe(self._open_handle(), positions)
        self._memory = None
        self._forget({entry[:3] for entry in positions})

    def _require_partitions(self, wanted: set[int]) -> None:
        info = self._table._info
        if not info.is_partitioned() or wanted <= self._partitions:
            return
        self._partitions = frozenset(self._present_partitions())
        for partition in sorted(wanted - self._partitions):
            raise FlussError(
                f"partition id {partition} does not exist in {self._table._name()}",
                ErrorCode.PARTITION_NOT_EXISTS,
            )

    def _unsubscribe(self, partition: int, bucket: int) -> None:
        self._require_no_reader()
        key = (
            self._table._info.table_id,
            number(partition, "partition_id"),
            number(bucket, "bucket_id"),
        )
        for entry in _core.positions(self._open_handle()):
            if entry[:3] == key:
                _core.unsubscribe(self._handle, [entry])
                self._memory = None
        self._forget({key})

    def _forget(self, keys: set[tuple]) -> None:
        """Drop rows of buckets that an iteration fetched and did not deliver, and where a bounded
        read of them ended."""
        gone = {make_bucket(*key) for key in keys}
        for bucket in gone:
            self._finished.pop(bucket, None)
        if self._backlog:
            self._backlog = deque(x for x in self._backlog if x.bucket not in gone)

    # --- polling ---

    def poll(self, timeout_ms: int) -> ScanRecords:
        """Records that are there, or come within the time; awaitable and usable at once."""
        self._require_mode(False, "poll", "poll_arrow() or poll_record_batch()")
        timeout = self._timeout_of(timeout_ms)
        if self._backlog:
            records, self._backlog = list(self._backlog), deque()
            return ScanRecords._of_list(records, resolved(None))
        if not self._is_subscribed():
            return ScanRecords._of_list([], resolved(None))
        return ScanRecords._of_future(_core.poll(self._handle, timeout, self._codec))

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
        timeout = self._timeout_of(timeout_ms)
        if self._backlog or not self._is_subscribed():
            found, self._backlog = list(self._backlog), deque()
            return resolved(convert(found) if convert else found, kind)
        return _core.rebind(kind, _core.poll(self._handle, timeout, None), convert)

    def _open_handle(self) -> Any:
        if self._handle is None:
            raise FlussError("the scanner is closed")
        return self._handle

    def _is_subscribed(self) -> bool:
        return bool(_core.positions(self._open_handle()))

    @staticmethod
    def _require_some(positions: list[tuple]) -> None:
        if not positions:
            raise FlussError("No buckets subscribed: call subscribe() first")

    def _require_mode(self, batches: bool, method: str, other: str) -> None:
        self._open_handle()
        if self._batches != batches:
            kind = "batches" if self._batches else "records"
            raise FlussError(f"{method}() does not fit a scanner of {kind}: use {other}")

    @staticmethod
    def _timeout_of(timeout_ms: int) -> int:
        return natural(timeout_ms, "timeout_ms")

    def _arrow_schema(self) -> Any:
        """The schema of the wanted columns, as they are now."""
        if self._schema is None:
            self._schema = self._table._arrow_schema_of(self._names)
        return self._schema

    def poll_changelog(self, timeout_ms: int) -> Any:
        """As `poll`, as one pyarrow.Table: before the table's columns are `_change_type`,
        `_log_offset` and `_commit_timestamp`. For a scanner of records."""
        self._require_mode(False, "poll_changelog", "poll_arrow()")
        timeout = self._timeout_of(timeout_ms)
        schema = self._arrow_schema()
        if self._backlog:
            raise FlussError("an iteration holds records that poll() delivers: poll first")
        if not self._is_subscribed():
            return resolved(_arrow.changes_to_table([], schema), DeferredTable)
        return _core.rebind(
            DeferredTable,
            _core.poll_changes(self._handle, timeout),
            lambda found: _arrow.changes_to_table([found] if found else [], schema),
        )

    # --- bounded reads ---

    def to_arrow(self, *, progress: Progressing = None) -> Any:
        """All rows of the subscribed buckets up to now, as one pyarrow.Table.

        Args:
            progress: see `TableScan.to_arrow`.
        """
        return self._start_reading("to_arrow", DeferredTable, lambda table: table, progress)

    def to_pandas(self, *, progress: Progressing = None) -> Any:
        """All rows of the subscribed buckets up to now, as one pandas.DataFrame."""
        _arrow.require_library("pandas", "to_pandas")
        return self._start_reading("to_pandas", DeferredFrame, _to_pandas, progress)

    def to_polars(self, *, progress: Progressing = None) -> FlussFuture:
        """A future of all rows of the subscribed buckets up to now, as one polars.DataFrame."""
        _arrow.require_library("polars", "to_polars")
        return self._start_reading("to_polars", FlussFuture, _arrow.to_polars, progress)

    def _nothing(self, kind: type) -> Any:
        """The answer of a bounded read of a table without partitions."""
        empty = self._arrow_schema().empty_table()
        if kind is DeferredFrame:
            return resolved(empty.to_pandas(), kind)
        return resolved(_arrow.to_polars(empty) if kind is FlussFuture else empty, kind)

    def _start_reading(
        self, method: str, kind: type, convert: Callable[[Any], Any], progress: Progressing
    ) -> Any:
        """Read in a thread, after a read that is under way: older programs ask for a table and a
        frame one after the other and look at both later."""
        self._require_mode(True, method, "poll()")
        require_progress(progress)
        schema, before = self._arrow_schema(), self._reading

        def work(future: Any) -> Any:
            wait_for(before)
            return convert(self._read_all(schema, future, progress))

        self._reading = in_thread(kind, work, stoppable=True)
        return self._reading

    def _start_read(self, remembered: bool, stop: _Stop) -> tuple[Any, list[tuple], Any]:
        """Begin to read up to now: the stream, the positions it starts from, what it reads."""
        self._require_no_reader()
        positions = _core.positions(self._open_handle())
        if not positions and remembered and self._memory:
            _core.subscribe(self._handle, self._memory)
            positions = self._memory
        self._require_some(positions)
        reader = self._handle
        if self._aligned is not None:
            reader = self._aligned()
            _core.subscribe(reader, positions)
        stop.reader = reader
        stop.require_wanted()
        stop.stream = _core.read(reader, None)
        return stop.stream, positions, reader

    def _progress(self, wanted: Progressing, positions: list[tuple]) -> Progress:
        def count_rows() -> int:
            latest = OffsetSpec.latest()
            ends = self._offsets_of([(p, b, latest) for _, p, b, _ in positions])
            return sum(max(0, end - max(0, at[3])) for end, at in zip(ends, positions))

        return Progress(wanted, count_rows, self._table._name())

    def _read_all(self, schema: Any, future: Any, progress: Progressing) -> Any:
        with _Stop(future) as stop:
            return self._read_until_stopped(schema, future, progress, stop)

    def _read_until_stopped(
        self, schema: Any, future: Any, progress: Progressing, stop: _Stop
    ) -> Any:
        stream, positions, reader = self._start_read(remembered=True, stop=stop)
        before, self._backlog = self._backlog, deque()
        found = list(before)
        shown = self._progress(progress, positions)
        done = False
        try:
            shown.start()
            while not FlussFuture.cancelled(future):
                batch = stream.next_batch()
                if batch is None:
                    done = True
                    break
                found.append(batch)
                shown.advance(batch.num_rows)
        finally:
            shown.end()
            stream.close()
            if not done:  # nobody gets these rows
                self._backlog = before
                self._go_back(positions)
        if done:
            self._finish(positions, reader)
            self._memory = positions
        return _arrow.to_table(found, schema)

    def _finish(self, positions: list[tuple], reader: Any) -> None:
        """Stop reading buckets that a bounded read has read; how far is what will be committed."""
        keys = {entry[:3] for entry in positions}
        for entry in _core.positions(reader):
            if entry[:3] in keys:
                self._finished[make_bucket(*entry[:3])] = entry[3]
        left = self._still_read(positions)
        if left:
            self._unless_closed(_core.unsubscribe, left)

    def _go_back(self, positions: list[tuple]) -> None:
        """To where a bounded read began that did not end well."""
        self._unless_closed(_core.subscribe, self._still_read(positions))

    def _unless_closed(self, change: Callable, positions: list[tuple]) -> None:
        """Change what is read, which does not matter any more once the connection is closed."""
        import contextlib

        with contextlib.suppress(FlussError):
            change(self._handle, positions)

    def _still_read(self, positions: list[tuple]) -> list[tuple]:
        """Those of the positions whose buckets were not unsubscribed meanwhile."""
        if self._handle is None:
            return []
        now = {entry[:3] for entry in _core.positions(self._handle)}
        return [entry for entry in positions if entry[:3] in now]

    def to_arrow_batch_reader(self) -> Any:
        """As `to_arrow`, batch by batch: a pyarrow.RecordBatchReader. Each step waits."""
        import weakref

        import pyarrow

        self._require_mode(True, "to_arrow_batch_reader", "poll()")
        schema = self._arrow_schema()
        # In a thread, because it asks the server, and Ctrl-C is to get through.
        begun = in_thread(FlussFuture, self._begin, stoppable=True)
        feed = _Feed(self, *begun.result())
        self._reader = weakref.ref(feed)
        return pyarrow.RecordBatchReader.from_batches(schema, feed)

    def _begin(self, future: Any) -> tuple[Any, list[tuple], Any]:
        with _Stop(future) as stop:
            return self._start_read(remembered=False, stop=stop)

    def _read_changes(self, progress: Progressing) -> Any:
        """All changes of the subscribed buckets up to now, in a thread."""
        schema = self._arrow_schema()
        starts = _core.positions(self._open_handle())

        def work(future: Any) -> Any:
            latest, earliest = OffsetSpec.latest(), OffsetSpec.earliest()
            found_ends = self._offsets_of([(p, b, latest) for _, p, b, _ in starts])
            firsts = self._resolved(
                [(p, b, earliest if start < 0 else start) for _, p, b, start in starts]
            )
            ends = {entry[:3]: end for entry, end in zip(starts, found_ends)}
            left = {
                entry[:3]: ends[entry[:3]]
                for entry, (_, _, first) in zip(starts, firsts)
                if first < ends[entry[:3]]
            }
            shown = self._progress(progress, starts)
            found: list = []
            try:
                shown.start()
                while left and not FlussFuture.cancelled(future):
                    part = _core.poll_changes(self._handle, _POLL_MS).result()
                    if part is not None:
                        found.append(part)
                        shown.advance(part[0].num_rows)
                    for entry in _core.positions(self._handle):
                        if entry[3] >= left.get(entry[:3], entry[3] + 1):
                            del left[entry[:3]]
            finally:
                shown.end()
            return _arrow.changes_to_table(found, schema, ends)

        return in_thread(DeferredTable, work)

    def __arrow_c_schema__(self) -> Any:
        """The columns, for consumers that ask for them before they read."""
        self._require_mode(True, "__arrow_c_schema__", "poll()")
        return self._arrow_schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All rows of the subscribed buckets up to now, as a stream that the consumer pulls."""
        return self.to_arrow_batch_reader().__arrow_c_stream__(requested_schema)

    # --- iteration, life ---

    def __iter__(self) -> LogScanner:
        """Endless, as `async for`: records or batches, one after the other; each step waits. With
        nothing subscribed there is nothing to wait for: that is an error."""
        return self

    def __next__(self) -> Any:
        while not self._backlog:
            self._require_some(_core.positions(self._open_handle()))
            poll = self.poll_record_batch if self._batches else self.poll
            self._backlog.extend(poll(_POLL_MS).result())
        return self._backlog.popleft()

    def __aiter__(self) -> LogScanner:
        return self

    async def __anext__(self) -> Any:
        while not self._backlog:
            self._require_some(_core.positions(self._open_handle()))
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


def _to_pandas(table: Any) -> Any:
    return table.to_pandas()


class _Feed:
    """Gives batches to a pyarrow reader; when the reader goes, so does the subscription."""

    def __init__(
        self, scanner: LogScanner, stream: Any, positions: list[tuple], reader: Any
    ) -> None:
        self._scanner = scanner
        self._stream = stream
        self._positions = positions
        self._reader = reader

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
            self._scanner._finish(self._positions, self._reader)
            self._scanner._reader = None

    def __del__(self) -> None:
        self._end()
