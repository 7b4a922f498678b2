# SPDX-License-Identifier: Apache-2.0
"""Progress of long reads: a callback of the user, or a bar on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from ._arrow import is_installed
from ._typing import Any, Progressing
from .errors import FlussError

_BAR_AFTER_S = 1.0


def require_progress(progress: Progressing) -> None:
    """TypeError for what is no wish for progress."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(
            f"progress must be a function, a bool or None, not {type(progress).__name__}"
        )
    if progress is True and not is_installed("tqdm"):
        raise FlussError("progress=True draws a bar with tqdm, which is not installed")


def _is_terminal() -> bool:
    try:
        return bool(getattr(sys.stderr, "isatty", bool)()) and is_installed("tqdm")
    except ValueError:  # it is closed
        return False


class _Paper:
    """A stream that a bar is drawn on; what it cannot take is left out, for tqdm keeps a lock when
    it is interrupted by an error."""

    def __init__(self, stream: Any) -> None:
        import contextlib

        self._stream = stream
        self._quiet = contextlib.suppress(AttributeError, OSError, ValueError)

    def write(self, text: str) -> None:
        with self._quiet:
            self._stream.write(text)

    def flush(self) -> None:
        with self._quiet:
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Progress:
    """Rows that were read, of how many. The total is asked for when something is shown. A bar that
    cannot be drawn, as where stderr is closed, stops no read."""

    def __init__(self, wanted: Progressing, title: str, unit: str = "row") -> None:
        require_progress(wanted)
        self._call = wanted if callable(wanted) else None
        self._draws = wanted is True or (wanted is None and _is_terminal())
        self._due = time.monotonic() + (0 if wanted is True else _BAR_AFTER_S)
        self._title, self._unit = title, unit
        self._count_rows: Callable[[], int] = int
        self._total: int | None = None
        self._bar: Any = None
        self._rows = 0

    def is_wanted(self) -> bool:
        """Whether there is, or may be, somebody to tell."""
        return self._call is not None or self._draws

    def start(self, count_rows: Callable[[], int]) -> None:
        """Call once before the first row, so that a callback knows the total from the start."""
        self._count_rows = count_rows
        if self._call is not None:
            self.advance(0)

    def advance(self, rows: int) -> None:
        """So many rows more."""
        self._rows += rows
        if self._call is None and not self._draws:
            return
        if self._draws and self._bar is None and time.monotonic() < self._due:
            return
        if self._total is None:
            self._total = self._count_rows()
        self._total = max(self._total, self._rows)
        if self._call is not None:
            self._call(self._rows, self._total)
            return
        if self._bar is None:
            import tqdm

            self._bar = tqdm.tqdm(
                total=self._total,
                desc=self._title,
                unit=self._unit,
                unit_scale=True,
                file=_Paper(sys.stderr),
            )
        self._bar.update(self._rows - self._bar.n)

    def end(self) -> None:
        """Call in any case."""
        if self._bar is not None:
            self._bar.close()
