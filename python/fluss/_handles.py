# SPDX-License-Identifier: Apache-2.0
"""What the objects have in common that stand for a part of a connection: they are not copied, and
some are managed by `with` and `async with`."""

from __future__ import annotations

from ._typing import Any
from .errors import FlussError


class Uncopied:
    """Refuses `copy`, `deepcopy` and `pickle`: two objects would share one place in a log, one
    buffer or one connection without knowing of each other."""

    _another = ""  # how to get another one

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} is neither copied nor pickled: share it, or make another one "
            f"with {self._another}"
        )


class Managed:
    """`with` and `async with`. An error of the end is raised unless the body has raised one."""

    def _leave(self) -> None:
        """Ends the object, and waits for that where it may."""
        raise NotImplementedError

    def _start_leaving(self) -> Any:
        """Ends the object: a future, or None where there is nothing to wait for."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        return self

    def __exit__(self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None) -> bool:
        try:
            self._leave()
        except FlussError:
            if exc_type is None:
                raise
        return False

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(
        self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None
    ) -> bool:
        try:
            leaving = self._start_leaving()
            if leaving is not None:
                await leaving
        except FlussError:
            if exc_type is None:
                raise
        return False
