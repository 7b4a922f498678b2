# SPDX-License-Identifier: Apache-2.0
"""Log scanners. What they do is in modules of its own: which buckets they read (`_subscribing`),
waiting for rows (`_polling`), reading up to now (`_bounded`), offsets that outlive them
(`_committing`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from . import _core
from ._bounded import Bounded
from ._committing import Committing
from ._handles import Managed, Uncopied
from ._polling import Polling
from ._typing import Any


class LogScanner(Committing, Bounded, Polling, Managed, Uncopied):
    """Reads the log of a table. One call at a time."""

    _another = "create_log_scanner() or create_record_batch_log_scanner()"

    @classmethod
    def _of(
        cls, table: Any, open_handle: Callable, names: list[str], batches: bool, as_written: bool
    ) -> LogScanner:
        """`open_handle` makes a scanner of the C library whose rows are as they were written, or
        aligned with the table."""
        return cls._make(
            _table=table,
            _open=open_handle,
            _handle=open_handle(as_written),
            _names=names,
            _batches=batches,
            _as_written=as_written,
            _codec=None if batches else table._codec(names),
            _schema=None,
            _held=deque(),
            _reader=None,
            _read=None,
            _repeated=None,
            _finished={},
            _partitions=frozenset(),
            _store=None,
            _storing=None,
        )

    def close(self) -> None:
        """Stop reading."""
        if self._handle is not None:
            _core.wake(self._handle)
        self._handle = None

    _leave = _start_leaving = close

    def __repr__(self) -> str:
        return f"LogScanner(table={self._table._name()})"
