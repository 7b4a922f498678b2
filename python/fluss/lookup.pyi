# SPDX-License-Identifier: Apache-2.0
"""Types of fluss.lookup: lookups."""

from collections.abc import Iterable
from typing import Any, Protocol, type_check_only

from .futures import FlussFuture
from .records import RecordBatch
from .writer import _Row

@type_check_only
class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@type_check_only
class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...

_Keys = Iterable[_Row] | _ArrowStream | _ArrowArray

class Lookuper:
    def lookup(self, pk: _Row) -> FlussFuture[dict[str, Any] | None]: ...
    def lookup_many(self, pks: _Keys) -> FlussFuture[list[dict[str, Any] | None]]: ...
    def lookup_arrow(self, pks: _Keys) -> FlussFuture[RecordBatch]: ...

class PrefixLookuper:
    def lookup(self, prefix: _Row) -> FlussFuture[list[dict[str, Any]]]: ...
