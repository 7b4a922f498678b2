# SPDX-License-Identifier: Apache-2.0
"""Connections, and what happens to them when the program ends."""

from __future__ import annotations

import atexit
import os
import time
import weakref
from collections import Counter

from . import _core, _logging
from ._handles import Managed, Uncopied
from ._typing import Any
from .admin import FlussAdmin
from .config import Config
from .errors import FlussError
from .futures import FlussFuture, failed
from .table import FlussTable
from .values import TablePath, _Answer, require

# Writes wait for room in the buffer in slices of this length, so that Ctrl-C gets through.
_SLICE_MS = 100
_CLOSING_S_MAX = 30
_LEFT_OPEN_S_MAX = 5

_open: weakref.WeakSet[FlussConnection] = weakref.WeakSet()
_closing: list[FlussFuture] = []


def _at_exit() -> None:
    """Let what is being closed finish, and close what was left open, within limits."""
    until = time.monotonic() + _CLOSING_S_MAX
    soon = time.monotonic() + _LEFT_OPEN_S_MAX
    left = [(_core.close(connection._handle), soon) for connection in list(_open)]
    closing = [(future, until) for future in _closing if _core.is_untold(future)]
    for future, limit in [*closing, *left]:
        try:
            error = future.exception(max(0.0, limit - time.monotonic()))
        except (TimeoutError, _core.cancelled_error()):
            continue
        if error is not None:
            _logging.warn("connection", str(error))
    _closing.clear()
    _logging.stop()


def _after_fork() -> None:
    """The child has no part in its parent's connections."""
    _open.clear()
    _closing.clear()
    _logging.forget()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)


class FlussConnection(Managed, Uncopied, _Answer):
    """A connection to a cluster, or to an embedded server.

    Example:
        config = Config({"bootstrap.servers": "127.0.0.1:9123"})
        async with await FlussConnection.create(config) as connection:
            print(await connection.get_admin().list_databases())
    """

    _another = "FlussConnection.create()"

    @staticmethod
    def create(config: Config | None = None, **settings: Any) -> FlussFuture:
        """Connect: a future of the connection. Settings may be given by name,
        `create(bootstrap_servers="127.0.0.1:9123")`."""
        if config is None:
            config = Config()
        require(config, Config, "config")
        if settings:
            config = Config(config._values)
            for name, value in settings.items():
                if not isinstance(getattr(Config, name, None), property):
                    raise TypeError(f"create() got an unexpected setting {name!r}")
                setattr(config, name, value)
        kept = Config()
        kept._values = dict(config._values)
        wait_ms = kept.writer_buffer_wait_timeout_ms
        _logging.start()
        try:
            handle = kept._open(**{"writer.buffer.wait-timeout-ms": str(min(wait_ms, _SLICE_MS))})
        except FlussError as error:
            return failed(error)
        return _core.connect(handle, lambda connection: FlussConnection._of(connection, wait_ms))

    connect = create

    @classmethod
    def _of(cls, handle: Any, wait_ms: int) -> FlussConnection:
        made = cls._make(
            _handle=handle,
            _wait_ms_max=wait_ms if wait_ms < 2**62 else -1,
            _admin=None,
            _closed=None,
        )
        _open.add(made)
        return made

    def get_admin(self) -> FlussAdmin:
        """The administration of the cluster; may be awaited."""
        if self._admin is None:
            self._admin = FlussAdmin._make(_connection=self)
        return self._admin

    def get_table(self, table_path: TablePath) -> FlussFuture:
        """Open a table: a future of `FlussTable`."""
        require(table_path, TablePath, "table_path")
        path = (table_path.database_name, table_path.table_name)
        return _core.open_table(self._handle, path, lambda table: FlussTable._of(self, table))

    def close(self) -> FlussFuture:
        """Send what is queued, for at most `request_timeout_ms`, then close. It starts at once;
        outside of an event loop the call itself waits. Rows that were given up, and of which
        neither a handle nor a flush told, are told here: the future fails, once, and the
        connection is closed all the same."""
        closed = self._closed
        if closed is None or not _core.is_untold(closed):
            _open.discard(self)
            self._closed = closed = _core.close(self._handle)
            _closing[:] = [future for future in _closing if _core.is_untold(future)]
            _closing.append(closed)
        if _core.running_loop() is None:
            closed.result()
        return closed

    def metrics(self) -> dict[str, int | dict[str, int]]:
        """What this connection has done, and is doing, by the name of the metric: counters since
        it was made, gauges as they are now, histograms as a dict of `count` and `sum`. Where
        several metrics have one name, it is followed by their labels, `name{labels}`.

        Example:
            connection.metrics()["fluss_client_writer_records_total"]
        """
        rows = self.list_metrics()
        named = Counter(row["name"] for row in rows)
        found: dict[str, int | dict[str, int]] = {}
        for row in rows:
            name = row["name"]
            if named[name] > 1:
                name += f"{{{row['labels']}}}"
            if row["value"] is None:
                found[name] = {"count": int(row["count"]), "sum": int(row["sum"])}
            else:
                found[name] = int(row["value"])
        return found

    def list_metrics(self) -> list[dict[str, Any]]:
        """The metrics as an exporter wants them: for each a dict with the texts `name`, `labels`
        and `type`, and `value`, or `count` and `sum` of a histogram; what it has not is None."""
        return _core.metrics(self._handle)

    _leave = _start_leaving = close

    def __repr__(self) -> str:
        return "FlussConnection()"
