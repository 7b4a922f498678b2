# SPDX-License-Identifier: Apache-2.0
"""What a log scanner commits, and where it goes on from: offsets that outlive the reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ._arguments import mapping, natural, require
from ._typing import Any, Start
from .errors import FlussError
from .futures import DeferredDict, FlussFuture, in_thread, wait_for
from .values import EARLIEST_OFFSET, OffsetSpec, TableBucket, _Answer, make_bucket


def _partition_of(bucket: TableBucket) -> int:
    return -1 if bucket.partition_id is None else bucket.partition_id


class Committing(_Answer):
    """The part of a LogScanner that has to do with committed offsets."""

    _table: Any
    _finished: dict[TableBucket, int]
    _store: Any
    _storing: Any

    def commit(
        self, name: str, offsets: Mapping[TableBucket | int, int] | None = None
    ) -> FlussFuture:
        """Keep under a name how far the table was read, for `subscribe_committed` to go on from.

        The offsets are those after the rows that were handed out before this call: of every bucket
        that is read, and of those that a bounded read (`to_arrow` and the like) has read to its
        end; this call waits for one that is under way. So commit when the rows have been dealt
        with. They are kept in the table `fluss_committed_offsets` of the same database, which the
        first commit makes. Where several readers commit the same name and bucket, the last one
        wins.

        Args:
            name: of the reader; any text that is not empty.
            offsets: by bucket, of the next row to read; instead of those of this scanner.

        Returns:
            A future of the offsets that were committed, by bucket; they are safe when it is done.
        """
        self._require_reader(name)
        self._require_no_reader()
        self._open_handle()
        given = None if offsets is None else self._given(offsets)
        read = self._under_way()
        pending = None if read is None else read.future()
        if given is None and pending is None:
            given = self._reached()

        def work() -> dict[TableBucket, int]:
            if given is None:
                wait_for(pending)
            reached = self._reached() if given is None else given
            kept = self._in_numbers(reached)
            self._offsets().save(name, kept)
            return kept

        return self._in_turn(FlussFuture, work)

    def committed(self, name: str) -> Any:
        """What was committed under a name last: a dict of offsets by bucket, awaitable and usable
        at once; empty for a name that was never committed for this table."""
        self._require_reader(name)
        return self._in_turn(DeferredDict, lambda: self._offsets().load(name))

    def subscribe_committed(self, name: str, start_offset: Start = EARLIEST_OFFSET) -> None:
        """Read every bucket, of every partition that exists now, from where it was committed.

        Args:
            name: as it was given to `commit`.
            start_offset: for buckets that were not committed, and those whose committed offset is
                not in the log any more, which a line in the log of "fluss.scanner" tells.
        """
        start = self._start_of(start_offset)
        present = self._present_partitions()
        kept = self._in_log(self.committed(name).result(), present)
        info = self._table._info
        every = [
            (p, b, kept.get(make_bucket(info.table_id, p, b), start))
            for p in present
            for b in range(info.num_buckets)
        ]
        if every:
            self._subscribe(every)

    def delete_committed(self, name: str) -> FlussFuture:
        """Forget what was committed under a name for this table, and for dropped tables of this
        name: a future of None. For a name that was never committed there is nothing to do."""
        self._require_reader(name)
        return self._in_turn(FlussFuture, lambda: self._offsets().delete(name))

    @staticmethod
    def _require_reader(name: str) -> None:
        require(name, str, "name")
        if not name:
            raise FlussError("name must not be empty")

    def _offsets(self) -> Any:
        """The store, for one thread at a time."""
        if self._store is None:
            from ._offsets import OffsetStore

            self._store = OffsetStore(self._table)
        return self._store

    def _in_turn(self, kind: type, work: Callable[[], Any]) -> Any:
        """Work with committed offsets in a thread, after what was begun before."""
        before = self._storing

        def in_order() -> Any:
            wait_for(before)
            return work()

        self._storing = in_thread(kind, in_order)
        return self._storing

    def _given(self, offsets: Mapping[TableBucket | int, int]) -> dict[TableBucket, int]:
        """Offsets of the user, checked."""
        given = {}
        for bucket, offset in mapping(offsets, "offsets"):
            key = make_bucket(*self._bucket_key(bucket, "offsets key"))
            self._table._require_bucket(key)
            given[key] = natural(offset, f"offsets[{key!r}]")
        return given

    def _reached(self) -> dict[TableBucket, int]:
        """What `commit` is about: where buckets are, and where they were read to."""
        return {**self._finished, **self.subscribed_buckets()}

    def _in_numbers(self, reached: dict[TableBucket, int]) -> dict[TableBucket, int]:
        """The same with the numbers of offsets that may still be EARLIEST_OFFSET."""
        earliest = OffsetSpec.earliest()
        entries = [
            (_partition_of(bucket), bucket.bucket_id, earliest if at == EARLIEST_OFFSET else at)
            for bucket, at in reached.items()
        ]
        return dict(zip(reached, (entry[2] for entry in self._resolved(entries))))

    def _in_log(
        self, kept: dict[TableBucket, int], present: dict[int, str]
    ) -> dict[TableBucket, int]:
        """Those of the offsets that the log of their bucket has, or has next."""
        kept = {bucket: at for bucket, at in kept.items() if _partition_of(bucket) in present}
        firsts, ends = (
            self._offsets_of([(_partition_of(b), b.bucket_id, spec) for b in kept], present)
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
        )
        found = {}
        for (bucket, offset), first, end in zip(kept.items(), firsts, ends):
            if first <= offset <= end:
                found[bucket] = offset
            else:
                self._tell_lost(bucket, offset, f"[{first}, {end})")
        return found

    def _tell_lost(self, bucket: TableBucket, offset: int, there: str) -> None:
        import logging

        logging.getLogger("fluss.scanner").warning(
            "%s, %s: committed offset %d is not in the log, which has %s",
            self._table._name(),
            bucket,
            offset,
            there,
        )
