# SPDX-License-Identifier: Apache-2.0
"""The library's log, as lines of Python's logging: loggers "fluss.COMPONENT".

A thread takes the lines over, so that threads of the library never wait for the interpreter. It is
started with the first connection or server for which a handler is set up; without one, nothing is
logged and no thread runs."""

from __future__ import annotations

import sys
from _thread import allocate_lock

from . import _core
from ._typing import Any

_END_S_MAX = 2
_LEVELS = {3: 40, 4: 30, 6: 20, 7: 10}  # of syslog: of logging

# The route, and the thread that empties it; of this process.
_running: list[tuple[Any, Any]] = []
_lock = allocate_lock()


def _emit(level: int, component: str, text: str) -> None:
    import logging

    logger = logging.getLogger(f"fluss.{component}")
    logger.log(_LEVELS.get(level, 20), "%s", text)


def warn(component: str, text: str) -> None:
    """A line of the package's own, where raising is of no use."""
    _emit(4, component, text)


def start() -> Any:
    """Route the log if anybody listens; the route, or None."""
    logging: Any = sys.modules.get("logging")
    with _lock:
        if not _running and logging is not None:
            logger = logging.getLogger("fluss")
            if logger.hasHandlers():
                import threading

                route = _core.log_open(logger.isEnabledFor(logging.DEBUG))
                pump = threading.Thread(
                    target=_core.log_pump, args=(route, _emit), name="fluss-log", daemon=True
                )
                pump.start()
                _running.append((route, pump))
        return _running[0][0] if _running else None


def stop() -> None:
    """Deliver the lines that are there; for the end of the process."""
    for route, pump in _running:
        _core.log_close(route)
        pump.join(_END_S_MAX)


def forget() -> None:
    """In a forked child: its parent's route is not its own."""
    global _lock
    _lock = allocate_lock()
    _running.clear()
