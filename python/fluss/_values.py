# SPDX-License-Identifier: Apache-2.0
"""Values of other libraries that the extension asks about."""

from __future__ import annotations

from typing import Any


def odd_moment(value: Any) -> Any:
    """A moment that is no datetime: (ms, nanoseconds within it), a datetime, None for a missing
    one; NotImplemented when it is no moment at all."""
    if type(value).__name__ == "datetime64":
        return _datetime64(value)
    if type(value).__name__ == "NaTType":
        return None
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    return NotImplemented


def _datetime64(value: Any) -> Any:
    if value != value:
        return None
    micros = int(value.astype("datetime64[us]").astype("int64"))
    nanos = 0
    if value.dtype.str.endswith("[ns]"):
        nanos = int(value.astype("int64")) - micros * 1000
    ms = micros // 1000
    return ms, (micros - ms * 1000) * 1000 + nanos
