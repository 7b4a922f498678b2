# SPDX-License-Identifier: Apache-2.0
"""What scanners deliver: records of a poll, and Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import _arrow, _core
from ._typing import Any
from .futures import FlussFuture, describe
from .values import TableBucket, _Answer

ScanRecord = _core.ScanRecord


class RecordBatch(_core.Batch):
    """Arrow rows of one bucket, with their place in the log."""

    @property
    def batch(self) -> Any:
        """The rows as a pyarrow.RecordBatch, without a copy."""
        return _arrow.to_batch(self)

    def __repr__(self) -> str:
        return (
            f"RecordBatch(bucket={self.bucket}, base_offset={self.base_offset}, "
            f"last_offset={self.last_offset}, rows={self.num_rows})"
        )


class ScanRecords(_Answer):
    """The records of one poll, grouped by bucket.

    While the poll is under way this object is awaitable; any use of its content waits. Flat order
    is bucket by bucket.
    """

    __slots__ = ("_future", "_list", "_groups")

    @classmethod
    def _of_future(cls, future: Any) -> ScanRecords:
        return cls._make(_future=future, _list=None, _groups=None)

    @classmethod
    def _of_list(cls, records: list, future: Any) -> ScanRecords:
        groups: list = []
        for i, record in enumerate(records):
            if groups and groups[-1][0] == record.bucket:
                groups[-1] = (record.bucket, groups[-1][1], i + 1)
            else:
                groups.append((record.bucket, i, i + 1))
        return cls._make(_future=future, _list=records, _groups=groups)

    def _fill(self) -> list:
        if self._list is None:
            self._list, self._groups = self._future.result()
        return self._list

    # --- of a future ---

    def __await__(self):
        if self._list is None:
            yield from self._future.__await__()
        return self

    def result(self, timeout: float | None = None) -> ScanRecords:
        """Wait for the poll, seconds; the object itself."""
        if self._list is None:
            self._list, self._groups = self._future.result(timeout)
        return self

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return self._future.exception(timeout)

    def done(self) -> bool:
        return self._future.done()

    def cancelled(self) -> bool:
        return self._future.cancelled()

    def cancel(self, msg: Any = None) -> bool:
        return self._future.cancel(msg)

    def add_done_callback(self, fn: Callable[[Any], Any], *, context: Any = None) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable, not {type(fn).__name__}")
        self._future.add_done_callback(_Passing(fn, self), context=context)

    def remove_done_callback(self, fn: Callable[[Any], Any]) -> int:
        return self._future.remove_done_callback(_Passing(fn, self))

    # --- content ---

    def buckets(self) -> list[TableBucket]:
        """The buckets that have records."""
        self._fill()
        found = dict.fromkeys(bucket for bucket, _, _ in self._groups)
        return list(found)

    keys = buckets

    def records(self, bucket: TableBucket) -> list:
        """The records of a bucket; none for an absent one."""
        records = self._fill()
        parts = [records[start:end] for key, start, end in self._groups if key == bucket]
        return [record for part in parts for record in part]

    def values(self) -> Iterator[list]:
        return iter([self.records(bucket) for bucket in self.buckets()])

    def items(self) -> Iterator[tuple[TableBucket, list]]:
        return iter([(bucket, self.records(bucket)) for bucket in self.buckets()])

    def count(self) -> int:
        return len(self._fill())

    def is_empty(self) -> bool:
        return not self._fill()

    def to_list(self) -> list:
        """All records."""
        return list(self._fill())

    def __len__(self) -> int:
        return len(self._fill())

    def __bool__(self) -> bool:
        return bool(self._fill())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fill())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, TableBucket):
            return self.records(index)
        if isinstance(index, bool) or not isinstance(index, (int, slice)):
            raise TypeError(f"expected int, slice or TableBucket, not {type(index).__name__}")
        try:
            return self._fill()[index]
        except IndexError:
            raise IndexError(f"record {index} of {len(self)}") from None

    def __contains__(self, bucket: object) -> bool:
        if not isinstance(bucket, TableBucket):
            raise TypeError(f"expected a TableBucket, not {type(bucket).__name__}")
        return bucket in self.buckets()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ScanRecords):
            return self is other or self._fill() == other._fill()
        return self._fill() == other if isinstance(other, list) else NotImplemented

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return describe(self._future, "ScanRecords", self._text)

    def _text(self, _result: Any) -> str:
        return f"ScanRecords(records={len(self)}, buckets={len(self.buckets())})"


class _Passing:
    """A callback that gets the records in place of the future under them."""

    def __init__(self, fn: Callable[[Any], Any], records: ScanRecords) -> None:
        self.fn = fn
        self.records = records

    def __call__(self, future: FlussFuture) -> None:
        self.fn(self.records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Passing) and self.fn == other.fn

    __hash__ = None  # type: ignore[assignment]
