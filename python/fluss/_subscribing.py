# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of a log scanner: which buckets it reads, and where in them it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from . import _core
from ._arguments import mapping, number
from ._typing import Any, Start
from .errors import ErrorCode, FlussError
from .values import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    OffsetSpec,
    TableBucket,
    _Answer,
    make_bucket,
)


def reached_before(reached: dict[TableBucket, int], held: Iterable) -> dict[TableBucket, int]:
    """Offsets by bucket, which are those of the first row of what somebody still holds."""
    for row in reversed(tuple(held)):
        if row.bucket in reached:
            reached[row.bucket] = row.base_offset if hasattr(row, "base_offset") else row.offset
    return reached


class Subscribing(_Answer):
    """The part of a LogScanner that has to do with its buckets."""

    _table: Any
    _handle: Any
    _partitions: frozenset[int]
    _held: deque  # records or batches that an iteration fetched and did not give yet
    _finished: dict[TableBucket, int]  # where bounded reads of buckets ended
    _repeated: list[tuple] | None  # where the last one began; it is read again when nothing else is
    _reader: Any  # a reference to what feeds a RecordBatchReader

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
        known = {entry[1] for entry in self._positions()}
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
        feed = None if self._reader is None else self._reader()
        if feed is not None and feed.is_active():
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
        _core.unsubscribe(self._handle, [at for at in self._positions() if at[:3] == key])
        self._forget({key})

    def _forget(self, keys: set[tuple]) -> None:
        """Of buckets that were moved: the rows that an iteration holds, where a bounded read of
        them ended, and where the last one began."""
        self._repeated = None
        moved = {make_bucket(*key) for key in keys}
        for bucket in moved:
            self._finished.pop(bucket, None)
        if self._held:
            self._held = deque(row for row in self._held if row.bucket not in moved)

    # --- where the scanner is ---

    def subscribed_buckets(self) -> dict[TableBucket, int]:
        """The next offset of every bucket that is read: after the rows that were handed out, which
        those of a poll that nobody has looked at were not, nor those that an iteration holds. A
        bucket that was subscribed at EARLIEST_OFFSET stays there until its first rows come."""
        reached = {make_bucket(*entry[:3]): entry[3] for entry in self._positions()}
        return reached_before(reached, self._held)

    def _give_back(self) -> None:
        """Have the rows that an iteration holds delivered again."""
        if self._held:
            reached, self._held = self.subscribed_buckets(), deque()
            places = ((make_bucket(*entry[:3]), entry[:3]) for entry in self._positions())
            _core.subscribe(self._handle, [(*key, reached[bucket]) for bucket, key in places])

    def _positions(self) -> list[tuple]:
        """(table_id, partition_id, bucket, offset) of every bucket that is read."""
        return _core.positions(self._open_handle())

    def _open_handle(self) -> Any:
        if self._handle is None:
            raise FlussError("the scanner is closed")
        return self._handle

    @staticmethod
    def _require_some(positions: list[tuple]) -> None:
        if not positions:
            raise FlussError("No buckets subscribed: call subscribe() first")
