# SPDX-License-Identifier: Apache-2.0
"""Polling of a log scanner, and iterating over it, which is polling without end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from . import _arrow, _core
from ._arguments import natural
from ._subscribing import Subscribing
from ._typing import Any
from .errors import FlussError
from .futures import Deferred, DeferredList, DeferredTable, resolved
from .records import ScanRecords

_POLL_MS = 1000


class Polling(Subscribing):
    """The part of a LogScanner that waits for rows to come."""

    _batches: bool
    _codec: Any

    def poll(self, timeout_ms: int) -> ScanRecords:
        """Records that are there, or come within the time; awaitable and usable at once."""
        self._require_mode(False, "poll", "poll_arrow() or poll_record_batch()")
        timeout = self._timeout_of(timeout_ms)
        if self._held or not self._positions():
            return ScanRecords._of_list(self._take_held(), resolved(None))
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
        if self._held or not self._positions():
            found = self._take_held()
            return resolved(convert(found) if convert else found, kind)
        return _core.rebind(kind, _core.poll(self._handle, timeout, None), convert)

    def poll_changelog(self, timeout_ms: int) -> Any:
        """As `poll`, as one pyarrow.Table: before the table's columns are `_change_type`,
        `_log_offset` and `_commit_timestamp`. For a scanner of records."""
        self._require_mode(False, "poll_changelog", "poll_arrow()")
        timeout = self._timeout_of(timeout_ms)
        schema = self._arrow_schema()
        self._give_back()
        if not self._positions():
            return resolved(_arrow.changes_to_table([], schema), DeferredTable)
        return _core.rebind(
            DeferredTable,
            _core.poll_changes(self._handle, timeout),
            lambda found: _arrow.changes_to_table([found] if found else [], schema),
        )

    def _take_held(self) -> list:
        """What an iteration has fetched and not given."""
        held, self._held = self._held, deque()
        return list(held)

    def _require_mode(self, batches: bool, method: str, other: str) -> None:
        self._open_handle()
        if self._batches != batches:
            kind = "batches" if self._batches else "records"
            raise FlussError(f"{method}() does not fit a scanner of {kind}: use {other}")

    @staticmethod
    def _timeout_of(timeout_ms: int) -> int:
        return natural(timeout_ms, "timeout_ms")

    # --- iteration ---

    def __iter__(self) -> Polling:
        """Endless, as `async for`: records or batches, one after the other; each step waits. With
        nothing subscribed there is nothing to wait for: that is an error."""
        return self

    def __next__(self) -> Any:
        while not self._held:
            self._held.extend(self._poll_step().result())
        return self._held.popleft()

    def __aiter__(self) -> Polling:
        return self

    async def __anext__(self) -> Any:
        while not self._held:
            self._held.extend(await self._poll_step())
        return self._held.popleft()

    def _poll_step(self) -> Any:
        self._require_some(self._positions())
        return self.poll_record_batch(_POLL_MS) if self._batches else self.poll(_POLL_MS)
