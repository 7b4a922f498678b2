# SPDX-License-Identifier: Apache-2.0
"""The one exception of the package, and the numbers of its causes."""

from __future__ import annotations

from . import _core

_CODES = _core.error_codes()
_RETRIABLE = frozenset(number for _, number, retriable in _CODES if retriable)


class FlussError(Exception):
    """A call failed.

    Attributes:
        message: what happened, in a sentence.
        error_code: the server's code, unchanged; `ErrorCode.CLIENT_ERROR` (-2) when the client
            found the fault itself. `ErrorCode` has a name for each.
    """

    def __init__(self, message: str, error_code: int = -2) -> None:
        if not self.args:
            self.args = (message, error_code)
        self.message = message
        self.error_code = error_code

    @property
    def is_retriable(self) -> bool:
        """Whether the same call can succeed later."""
        return self.error_code in _RETRIABLE

    def __str__(self) -> str:
        if self.error_code == -2:
            return f"FlussError: {self.message}"
        return f"FlussError(code={self.error_code}): {self.message}"


class PrecisionWarning(UserWarning):
    """A value of a row has more digits than its column: decimals are rounded half up, timestamps
    cut, as pyfluss does without a word. `warnings.simplefilter("error", PrecisionWarning)` lets
    such rows be refused."""


class ErrorCode:
    """Names of the codes in `FlussError.error_code`."""


for _name, _number, _ in _CODES:
    setattr(ErrorCode, _name, _number)
