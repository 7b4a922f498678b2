# SPDX-License-Identifier: Apache-2.0
"""Types of fluss.lookup: lookups."""

from collections.abc import Iterable
from typing import Any

from .futures import FlussFuture
from .records import RecordBatch

class Lookuper:
    def lookup(self, pk: Any) -> FlussFuture[dict[str, Any] | None]: ...
    def lookup_many(self, pks: Iterable[Any]) -> FlussFuture[list[dict[str, Any] | None]]: ...
    def lookup_arrow(self, pks: Iterable[Any]) -> FlussFuture[RecordBatch]: ...

class PrefixLookuper:
    def lookup(self, prefix: Any) -> FlussFuture[list[dict[str, Any]]]: ...
