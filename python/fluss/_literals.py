# SPDX-License-Identifier: Apache-2.0
"""Literals of conditions: which values can be one, and whether a column holds them exactly. Loaded
with the first condition, since decimal and datetime take long to load."""

from __future__ import annotations

import datetime
import decimal

from ._arguments import number
from ._typing import Any
from .errors import FlussError

_KINDS = (
    bool,
    int,
    float,
    str,
    bytes,
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.datetime,
    type(None),
)

# What is said of a literal that a column can't take.
_MISFITS = {decimal.Decimal: "does not fit", float: "cannot be represented exactly by"}


def literal(value: Any, name: str) -> Any:
    """The value as one that a condition can have; refuses what is none."""
    kind = type(value)
    if issubclass(kind, _KINDS):
        if issubclass(kind, int) and kind is not bool:
            return number(value, name)
        if issubclass(kind, datetime.datetime) and value != value:
            raise TypeError(f"Unsupported filter literal: {name} is NaT; use is_null()")
        return value
    plain = _of_numpy(value)
    if issubclass(type(plain), _KINDS):
        return literal(plain, name)
    raise TypeError(f"Unsupported filter literal: {name} of type {kind.__name__}")


def _of_numpy(value: Any) -> Any:
    """The plain value of a scalar of numpy; of others, and of a moment in nanoseconds, which would
    become an int, the value itself."""
    kind = type(value)
    if not any(base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__):
        return value
    plain = value.item()
    is_moment = kind.__name__ in ("datetime64", "timedelta64")
    return value if is_moment and isinstance(plain, int) else plain


def require_exact(codec: Any, column: str, value: Any) -> None:
    """Refuse a literal of another type, or one that the column's type would round."""
    try:
        stored = codec.round_trip((value,), True)[column]
    except FlussError as error:
        how = _MISFITS.get(type(value), "does not match")
        raise FlussError(f"literal {value!r} {how} column {column!r}: {error.message}") from None
    if value is None or isinstance(value, (bool, str, bytes)):
        return
    if isinstance(value, datetime.datetime) and (value.tzinfo is None) != (stored.tzinfo is None):
        stored = stored.replace(tzinfo=value.tzinfo)
    if stored != value and value == value:
        raise FlussError(f"literal {value!r} does not fit column {column!r} exactly")
