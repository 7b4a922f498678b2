# SPDX-License-Identifier: Apache-2.0
"""Values of other libraries and of user classes, which the extension asks about when the plain way
of writing a value does not apply."""

from __future__ import annotations

import datetime
import enum
import operator
import struct
from decimal import Decimal

from ._typing import Any

_FLOAT_DIGITS = 9  # as many decimal digits tell any two numbers of FLOAT apart


def odd_value(value: Any) -> Any:
    """What stands for a value that its column has refused: the value of an enumeration's member,
    None for a missing value of pandas, the date of a numpy.datetime64 of whole days. NotImplemented
    for anything else."""
    if isinstance(value, enum.Enum):
        return value.value
    name = type(value).__name__
    if name in ("NAType", "NaTType"):
        return None
    if name == "datetime64" and value.dtype.str.endswith("[D]"):
        day = value.item()
        return day if isinstance(day, datetime.date) or day is None else NotImplemented
    return NotImplemented


def odd_row(value: Any) -> Any:
    """The fields of a dataclass or named tuple, as a dict; NotImplemented when it is neither."""
    kind = type(value)
    names = getattr(kind, "__dataclass_fields__", None)
    if names is None and issubclass(kind, tuple):
        names = getattr(kind, "_fields", None)
    if not isinstance(names, (dict, tuple)) or not all(isinstance(name, str) for name in names):
        return NotImplemented
    return {name: getattr(value, name) for name in names}


def exact_float(value: Any, is_single: bool) -> Any:
    """A number that is no float, as one; None when digits would be lost, NotImplemented when it is
    no number. @param is_single for a FLOAT of 24 bits instead of 53"""
    if isinstance(value, (str, bytes, bytearray)):
        return NotImplemented
    try:
        if hasattr(type(value), "__index__"):
            number = operator.index(value)
            found = _single(float(number)) if is_single else float(number)
            return found if int(found) == number else None
        if not hasattr(type(value), "__float__"):
            return NotImplemented
        found = float(value)
    except OverflowError:
        return None
    except (TypeError, ValueError):
        return NotImplemented
    if isinstance(value, Decimal):
        return found if _keeps_digits(value, found, is_single) else None
    return found if found == value or value != value else None


def _single(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


def _keeps_digits(value: Decimal, found: float, is_single: bool) -> bool:
    """Whether a float, written with as many digits as the decimal has, is the decimal again."""
    if not value.is_finite():
        return True
    if not is_single:
        return Decimal(repr(found)) == value
    digits = len(value.normalize().as_tuple().digits)
    return digits <= _FLOAT_DIGITS and Decimal(f"{_single(found):.{digits - 1}e}") == value


def odd_moment(value: Any) -> Any:
    """A moment that is no datetime: (ms, nanoseconds within it), a datetime, None for a missing
    one; NotImplemented when it is no moment at all."""
    if type(value).__name__ == "datetime64":
        return _datetime64(value)
    if type(value).__name__ == "NaTType":
        return None
    if hasattr(value, "to_pydatetime"):
        moment = value.to_pydatetime()
        return moment if moment is None or isinstance(moment, datetime.datetime) else NotImplemented
    return NotImplemented


def _datetime64(value: Any) -> Any:
    """Refused are moments that 64 bits of microseconds cannot hold, and digits below the
    nanosecond."""
    if value != value:
        return None
    whole = value.astype("datetime64[us]")
    nanos = 0
    if value.dtype.str.endswith("[ns]"):
        nanos = int(value.astype("int64")) - int(whole.astype("int64")) * 1000
    elif whole.astype(value.dtype) != value:
        return NotImplemented
    micros = int(whole.astype("int64"))
    ms = micros // 1000
    return ms, (micros - ms * 1000) * 1000 + nanos
