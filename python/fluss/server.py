# SPDX-License-Identifier: Apache-2.0
"""A Fluss server inside this process."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ._arguments import require_plain
from ._arguments import settings as texts_of
from ._typing import Any
from .errors import FlussError
from .values import require


class Server:
    """A Fluss server in this process, running until `close()` or the end of the `with` block.

    Args:
        data_dir: where the data is, made when missing; None: a temporary directory that goes with
            the server.
        listen: "host:port"; port 0 picks one.
        settings: further settings of the server, by their official keys.

    Example:
        with Server() as server:
            connection = FlussConnection.create(bootstrap_servers=server.bootstrap_servers)
    """

    _running: Any = None

    def __init__(
        self,
        data_dir: str | os.PathLike | None = None,
        *,
        listen: str = "127.0.0.1:0",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        require(listen, str, "listen")
        if data_dir is not None and not isinstance(data_dir, (str, os.PathLike)):
            raise TypeError(f"data_dir must be a path, not {type(data_dir).__name__}")
        if data_dir is not None and not os.fspath(data_dir):
            raise ValueError("data_dir is empty; None makes a temporary directory")
        pairs = [("bind.listeners", f"FLUSS://{listen}")]
        if data_dir is not None:
            pairs.append(("data.dir", require_plain(os.fsdecode(data_dir), "data_dir")))
        pairs += texts_of({} if settings is None else settings, "settings")
        from ._embedded import RunningServer

        self._running = RunningServer(pairs)

    def _text(self, name: str) -> str | None:
        running = self._running
        if running is None:
            raise FlussError("the server is closed")
        return getattr(running, name)

    @property
    def bootstrap_servers(self) -> str:
        """The address to connect to, for `Config({"bootstrap.servers": ...})`."""
        return self._text("endpoint") or ""

    @property
    def sasl_bootstrap_servers(self) -> str | None:
        """The address of the listener that asks for a password; None when there is none."""
        return self._text("sasl_endpoint")

    @property
    def data_dir(self) -> str:
        return self._text("data_dir") or ""

    def close(self) -> None:
        """Stop the server. A second call does nothing."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None) -> bool:
        self.close()
        return False

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Server cannot be copied or pickled: give its bootstrap_servers instead")

    def __repr__(self) -> str:
        running = self._running
        return f"Server({'closed' if running is None else running.endpoint})"
