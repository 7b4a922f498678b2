# SPDX-License-Identifier: Apache-2.0
"""Bounded reads: the rows of a scanner's buckets up to now, as a table, a frame or a reader.

A read goes its own way in the C library. It leaves the scanner alone until its result is looked at:
then the buckets that it has read, and that nobody moved meanwhile, are not read any more. A read
that fails, or is cancelled or dropped, has changed nothing. While it is under way, the scanner is
not polled. A thread is started where somebody is told of progress, where a conversion would hold an
event loop, and for changelogs, whose rows are converted part by part.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable

from . import _arrow, _core
from ._progress import Progress
from ._subscribing import Subscribing, reached_before
from ._typing import Any, Progressing
from .errors import FlussError
from .futures import DeferredFrame, DeferredTable, FlussFuture, in_thread, resolved
from .values import TableBucket, make_bucket


class BoundedRead:
    """One read. It is under way as long as its handle is there."""

    def __init__(self, scanner: Any, reader: Any, starts: list[tuple]) -> None:
        self._scanner = scanner
        self._starts = starts
        self._handle = _core.begin_read(reader)
        self._future: Any = None

    def give(self, kind: type, finish: Callable[[Any], Any], shown: Progress | None) -> Any:
        """What it is for: a future of that kind.

        Args:
            finish: makes the result of what was read.
            shown: who is told of progress, which a thread does; None: no thread is needed.
        """
        if shown is None:
            rest = _core.read_rest(self._handle)
            future = _core.rebind(kind, rest, lambda found: finish(self._ended(found)), True)
        else:
            future = in_thread(kind, lambda: finish(self._ended(self._pull(shown))), self.stop)
        self._future = weakref.ref(future)
        return future

    def future(self) -> Any:
        """What was given, where somebody has it, and the read is under way."""
        return None if self._handle is None or self._future is None else self._future()

    def is_under_way(self) -> bool:
        return self._handle is not None

    def stop(self) -> None:
        """Have whatever waits for it end at once."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _core.stop_read(handle)

    def _pull(self, shown: Progress) -> list:
        """All parts, of which somebody is told."""
        try:
            self.settle()
            shown.start(self._total)
            found: list = []
            while part := self.next_batches():
                found += part
                for batch in part:
                    shown.advance(_rows_of(batch))
            return found
        except BaseException:
            self._handle = None  # not when the traceback, which has this frame, goes
            raise
        finally:
            shown.end()

    def settle(self) -> None:
        """Wait until it is known where it ends."""
        _core.read_settled(self._open()).result()

    def next_batches(self) -> list:
        """Those that come next; none: the end."""
        if self._scanner._batches:
            return _core.read_some(self._open()).result()
        changes = _core.read_changes(self._open()).result()
        return [] if changes is None else [changes]

    def _open(self) -> Any:
        if self._handle is None:
            raise FlussError("the read was stopped")
        return self._handle

    def _total(self) -> int:
        """How many rows there are between its bounds, which are settled."""
        return sum(stop - start for *_, start, _, stop in _core.read_progress(self._open()))

    def _ended(self, found: list) -> list:
        self._scanner._repeated = self._starts
        self.leave(())
        return found

    def leave(self, held: Iterable) -> None:
        """Stop reading what it read up to here, except for what somebody still holds."""
        handle, self._handle = self._open(), None
        places = _core.read_progress(handle)
        reached = {make_bucket(*entry[:3]): entry[4] for entry in places}
        self._scanner._finish(reached_before(reached, held), self._starts)


def _rows_of(part: Any) -> int:
    """Of a batch, or of a batch of changes with what happened to them."""
    return (part[0] if isinstance(part, tuple) else part).num_rows


class Feed:
    """The batches of a read for a pyarrow reader; when that goes, so does the subscription."""

    def __init__(self, read: BoundedRead) -> None:
        self._read = read
        self._held: deque = deque()

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> Any:
        if self.is_active() and not self._held:
            self._held.extend(self._read.next_batches())
        if not self._held:
            self._end()
            raise StopIteration
        return _arrow.to_batch(self._held.popleft())

    def is_active(self) -> bool:
        return self._read.is_under_way()

    def _end(self) -> None:
        if self.is_active():
            self._read.leave(self._held)

    def __del__(self) -> None:
        self._end()


class Bounded(Subscribing):
    """The part of a LogScanner that reads up to now."""

    _open: Callable[[bool], Any]
    _as_written: bool
    _finished: dict[TableBucket, int]
    _reader: Any
    _read: Any
    _repeated: list[tuple] | None

    def to_arrow(self, *, progress: Progressing = None) -> Any:
        """All rows of the subscribed buckets up to now, as one pyarrow.Table.

        Args:
            progress: see `TableScan.to_arrow`.
        """
        return self._start_read("to_arrow", DeferredTable, None, progress)

    def to_pandas(self, *, progress: Progressing = None) -> Any:
        """All rows of the subscribed buckets up to now, as one pandas.DataFrame."""
        _arrow.require_library("pandas", "to_pandas")
        return self._start_read("to_pandas", DeferredFrame, _arrow.to_pandas, progress)

    def to_polars(self, *, progress: Progressing = None) -> FlussFuture:
        """A future of all rows of the subscribed buckets up to now, as one polars.DataFrame."""
        _arrow.require_library("polars", "to_polars")
        return self._start_read("to_polars", FlussFuture, _arrow.to_polars, progress)

    def _start_read(
        self, method: str, kind: type, convert: Callable | None, progress: Progressing
    ) -> Any:
        self._require_mode(True, method, "poll()")
        schema, shown = self._arrow_schema(), self._progress(progress)
        read = self._begin_read(self._starts(repeats=True))

        def finish(found: list) -> Any:
            table = _arrow.to_table(found, schema)
            return table if convert is None else convert(table)

        holds_loop = convert is not None and _core.running_loop() is not None
        return read.give(kind, finish, shown if holds_loop or shown.is_wanted() else None)

    def _read_changes(self, progress: Progressing) -> Any:
        """All changes of the subscribed buckets up to now."""
        schema, shown = self._arrow_schema(), self._progress(progress)
        if not self._positions():
            return resolved(_arrow.changes_to_table([], schema), DeferredTable)
        read = self._begin_read(self._starts())
        return read.give(DeferredTable, lambda found: _arrow.changes_to_table(found, schema), shown)

    def to_arrow_batch_reader(self) -> Any:
        """As `to_arrow`, batch by batch: a pyarrow.RecordBatchReader. Each step waits."""
        import pyarrow

        self._require_mode(True, "to_arrow_batch_reader", "poll()")
        schema, read = self._arrow_schema(), self._begin_read(self._starts())
        read.settle()
        feed = Feed(read)
        self._reader = weakref.ref(feed)
        return pyarrow.RecordBatchReader.from_batches(schema, feed)

    def __arrow_c_schema__(self) -> Any:
        """The columns, for consumers that ask for them before they read."""
        self._require_mode(True, "__arrow_c_schema__", "poll()")
        return self._arrow_schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All rows of the subscribed buckets up to now, as a stream that the consumer pulls."""
        return self.to_arrow_batch_reader().__arrow_c_stream__(requested_schema)

    def _nothing(self, kind: type) -> Any:
        """The answer of a bounded read of a table without partitions."""
        empty = self._arrow_schema().empty_table()
        if kind is DeferredFrame:
            return resolved(_arrow.to_pandas(empty), kind)
        return resolved(_arrow.to_polars(empty) if kind is FlussFuture else empty, kind)

    def _arrow_schema(self) -> Any:
        """The schema of the wanted columns, as they are now."""
        if self._schema is None:
            self._schema = self._table._arrow_schema_of(self._names)
        return self._schema

    def _progress(self, wanted: Progressing) -> Progress:
        return Progress(wanted, self._table._name())

    def _starts(self, repeats: bool = False) -> list[tuple]:
        """Where a read begins: where the scanner is; or, where it is nowhere, where the last one
        began."""
        self._require_no_reader()
        self._give_back()
        starts = self._positions() or (repeats and self._repeated) or []
        self._require_some(starts)
        return starts

    def _begin_read(self, starts: list[tuple]) -> BoundedRead:
        """Of the scanner itself where that reads from there, in the form that is wanted."""
        reader = self._open_handle()
        if self._as_written or not self._positions():
            reader = self._open(False)
            _core.subscribe(reader, starts)
        read = BoundedRead(self, reader, starts)
        self._read = weakref.ref(read)
        return read

    def _under_way(self) -> BoundedRead | None:
        """The read that was begun last, if its result is not there yet."""
        read = None if self._read is None else self._read()
        return read if read is not None and read.is_under_way() else None

    def _finish(self, reached: dict[TableBucket, int], starts: list[tuple]) -> None:
        """Stop reading buckets that a read has read from there to here, unless they were moved."""
        self._finished.update(reached)
        began = set(starts)
        try:
            left = [entry for entry in self._positions() if entry in began]
            _core.unsubscribe(self._handle, left)
        except FlussError:  # it is closed, or its connection is: nothing is read any more
            pass
