# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: what is of the wrong kind is refused with the argument's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ._typing import Any
from .errors import FlussError


def require_kind(value: object, kind: type, name: str) -> None:
    """TypeError when an argument is not of its type; a bool is no int."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")


def require_plain(text: str, name: str) -> str:
    """FlussError for a text that the C library cannot hold. It may be a secret."""
    if "\0" in text:
        raise FlussError(f"{name} holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FlussError(f"{name} holds a lone surrogate") from None
    return text


def require(value: object, kind: type, name: str) -> None:
    """As `require_kind`; of texts, names and the like, also `require_plain`. Values of rows may be
    any text."""
    require_kind(value, kind, name)
    if isinstance(value, str):
        require_plain(value, name)


def optional(value: Any, kind: type, name: str) -> Any:
    """The value, which may be None."""
    if value is not None:
        require(value, kind, name)
    return value


def flag(value: Any, name: str) -> bool:
    """A truth value; None is false."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if type(value).__name__ in ("bool", "bool_"):  # numpy's
        return bool(value)
    raise TypeError(f"{name} must be bool, not {type(value).__name__}")


def shown(value: int) -> str:
    """An int for the text of an error: Python turns none of thousands of digits into text."""
    size = value.bit_length()
    return str(value) if size <= 256 else f"(a number of {size} bits)"


def number(value: int, name: str, bits: int = 64) -> int:
    """An int that fits so many bits."""
    require(value, int, name)
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise OverflowError(f"{name} {shown(value)} does not fit {bits} bits")
    return value


def numbers(values: Sequence[int], name: str, bits: int = 32) -> list[int]:
    """A list of ints."""
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, (Sequence, range)):
        raise TypeError(f"{name} must be a list of int, not {type(values).__name__}")
    return [number(value, f"{name} element", bits) for value in values]


def texts(values: Sequence[str], name: str) -> list[str]:
    """A list of str; a lone str is no list of them."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list of str, not {type(values).__name__}")
    for value in values:
        require(value, str, f"{name} element")
    return list(values)


def several(values: Iterable[Any], name: str, what: str) -> list:
    """The elements of a list or another iterable, which is no text and no dict."""
    if isinstance(values, (str, bytes, bytearray, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of {what}, not {type(values).__name__}")
    return list(values)


def mapping(value: Mapping, name: str) -> Mapping:
    """A dict or the like."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dict, not {type(value).__name__}")
    return value


def pairs(value: Mapping[str, str | None], name: str) -> list[tuple[str, str | None]]:
    """The entries of a dict of texts, of which None is none."""
    for key, text in mapping(value, name).items():
        require(key, str, f"{name} key")
        optional(text, str, f"{name}[{key!r}]")
    return list(value.items())
