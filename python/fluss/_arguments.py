# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: what is of the wrong kind is refused with the argument's name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ._typing import Any
from .errors import FlussError

_ELEMENTS_MAX = 1 << 20  # of a list of numbers or names; no frame holds as many


def require_kind(value: object, kind: type, name: str) -> None:
    """TypeError when an argument is not of its type, whatever its `__class__` says."""
    if not issubclass(type(value), kind):
        raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")


def plain(text: str) -> str:
    """The characters of a str, which a class that is derived from it, such as an enumeration, may
    hide."""
    return str.__str__(text)


def require_plain(text: str, name: str) -> str:
    """FlussError for a text that the C library cannot hold. It may be a secret."""
    text = plain(text)
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
    if value is None or value is True or value is False:
        return bool(value)
    if type(value).__name__ in ("bool", "bool_"):  # numpy's
        return bool(value)
    raise TypeError(f"{name} must be bool, not {type(value).__name__}")


def shown(value: int) -> str:
    """An int for the text of an error: Python turns none of thousands of digits into text."""
    size = value.bit_length()
    return str(value) if size <= 256 else f"(a number of {size} bits)"


def integer(value: Any, name: str) -> int:
    """The int of whatever stands for one, such as a number of numpy; a bool does not."""
    kind = type(value)
    if kind is int:
        return value
    if kind is not bool and hasattr(kind, "__index__"):
        try:
            return int.__index__(value if issubclass(kind, int) else operator.index(value))
        except TypeError:
            pass
    raise TypeError(f"{name} must be int, not {kind.__name__}")


def number(value: Any, name: str, bits: int = 64) -> int:
    """An int that fits so many bits."""
    found = integer(value, name)
    if not -(2 ** (bits - 1)) <= found < 2 ** (bits - 1):
        raise OverflowError(f"{name} {shown(found)} does not fit {bits} bits")
    return found


def natural(value: Any, name: str, bits: int = 64) -> int:
    """An int that fits so many bits and is not negative."""
    found = number(value, name, bits)
    if found < 0:
        raise FlussError(f"{name} must not be negative, not {found}")
    return found


def _elements(values: Any, name: str, what: str) -> list:
    """The elements of a list or another sequence, which is no text."""
    is_text = isinstance(values, (str, bytes, bytearray, memoryview))
    if is_text or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list of {what}, not {type(values).__name__}")
    found = []
    for value in values:
        if len(found) == _ELEMENTS_MAX:
            raise ValueError(f"{name} has more than {_ELEMENTS_MAX} elements")
        found.append(value)
    return found


def numbers(values: Sequence[int], name: str, bits: int = 32) -> list[int]:
    """A list of ints."""
    return [number(value, f"{name} element", bits) for value in _elements(values, name, "int")]


def texts(values: Sequence[str], name: str) -> list[str]:
    """A list of str; a lone str is no list of them."""
    found = _elements(values, name, "str")
    for value in found:
        require(value, str, f"{name} element")
    return found


def several(values: Iterable[Any], name: str, what: str) -> Iterator:
    """The elements of a list or another iterable, one by one: it may be endless, and its first
    element wrong. A text is none, nor is a dict, nor what waits, as futures and scanners do."""
    kind = type(values)
    is_text = isinstance(values, (str, bytes, bytearray, memoryview))
    waits = hasattr(kind, "__await__") or hasattr(kind, "__aiter__")
    is_list = isinstance(values, Sequence) or not (waits or isinstance(values, Mapping))
    try:
        if is_list and not is_text and isinstance(values, Iterable):
            return iter(values)
    except TypeError:
        pass
    advice = ": await it first" if hasattr(kind, "__await__") else ""
    raise TypeError(f"{name} must be a list of {what}, not {kind.__name__}{advice}")


def mapping(value: Mapping, name: str) -> list[tuple[Any, Any]]:
    """The entries of a dict or the like."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dict, not {type(value).__name__}")
    return [(key, found) for key, found in value.items()]


def pairs(value: Mapping[str, str | None], name: str) -> list[tuple[str, str | None]]:
    """The entries of a dict of texts, of which None is none."""
    found = mapping(value, name)
    for key, text in found:
        require(key, str, f"{name} key")
        optional(text, str, f"{name}[{key!r}]")
    return found


def settings(value: Mapping[str, Any], name: str) -> list[tuple[str, str]]:
    """The entries of a dict of settings as texts."""
    found = []
    for key, given in mapping(value, name):
        require(key, str, f"{name} key")
        found.append((plain(key), setting(given, f"{name}[{key!r}]")))
    return found


def setting(value: Any, name: str) -> str:
    """A setting as a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if issubclass(type(value), str):
        return require_plain(value, name)
    if hasattr(type(value), "__index__"):
        return str(number(value, name, 65))
    raise TypeError(f"{name} must be str, int or bool, not {type(value).__name__}")
