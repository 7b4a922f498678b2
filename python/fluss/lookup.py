# SPDX-License-Identifier: Apache-2.0
"""Lookups by key and by prefixes of it."""

from __future__ import annotations

from collections.abc import Sequence

from . import _arrow, _core
from ._arguments import several
from ._handles import Uncopied
from ._typing import Any
from .errors import FlussError
from .futures import FlussFuture, settled
from .values import _Answer

_ONE, _MANY, _ALL, _ARROW = range(4)
_KEYS = "keys or an Arrow table or frame with the key columns"


def columns_of(table: Any, columns: Sequence[str]) -> None:
    """Refuse columns that are no prefix: partition keys and bucket keys, in that order."""
    info = table._info
    for name in columns:
        if name not in table._trees:
            raise FlussError(f"Unknown column name: {name!r}")
    keys, partition_keys = info.get_primary_keys(), info.get_partition_keys()
    if sorted(columns) == sorted(keys):
        raise FlussError(
            f"columns {columns} are the whole primary key: a prefix lookup needs fewer, "
            "use create_lookuper() of new_lookup()"
        )
    missing = [name for name in partition_keys if name not in columns]
    if missing:
        raise FlussError(f"columns {columns} lack the partition fields {missing}")
    rest = [name for name in columns if name not in partition_keys]
    if rest != info.get_bucket_keys():
        raise FlussError(
            f"columns {columns}, without partition fields, must be the bucket keys "
            f"{info.get_bucket_keys()} in that order"
        )


class Lookuper(Uncopied, _Answer):
    """Finds rows by primary key. Lookups that are under way together travel together."""

    _another = "create_lookuper()"

    @classmethod
    def _of(cls, table: Any, insert: bool) -> Any:
        return cls._make(
            _table=table,
            _handle=None,
            _insert=insert,
            _key=table._codec(table._info.get_primary_keys()),
            _row=table._codec(table._all_columns()),
        )

    def _opened(self) -> Any:
        if self._handle is None:
            self._handle = _core.open_lookup(self._table._handle, None, self._insert)
        return self

    def lookup(self, pk: Any) -> FlussFuture:
        """The row of a key, a dict; None when there is none.

        Args:
            pk: dict with the key columns, or their values in key order.
        """
        return _core.lookup(self._opened()._handle, self._key, self._row, pk, _ONE)

    def _keys_of(self, pks: Any) -> tuple:
        pks = settled(pks)
        if _arrow.is_frame(pks):
            return _arrow.rows_of(pks, "pks", self._table._info.get_primary_keys())
        if _arrow.is_column(pks):
            raise TypeError(f"pks must be a list of {_KEYS}, not {type(pks).__name__}")
        return tuple(several(pks, "pks", _KEYS))

    def lookup_many(self, pks: Any) -> FlussFuture:
        """A row or None for each key, in the order of the keys, in one call.

        Args:
            pks: keys as of lookup(); or an Arrow table, a frame, or whatever gives Arrow data, with
                the key columns and perhaps others.
        """
        keys = self._keys_of(pks)
        return _core.lookup(self._opened()._handle, self._key, self._row, keys, _MANY)

    def lookup_arrow(self, pks: Any) -> FlussFuture:
        """The rows that were found, as one Arrow batch.

        Args:
            pks: as of lookup_many().
        """
        keys = self._keys_of(pks)
        return _core.lookup(self._opened()._handle, self._key, self._row, keys, _ARROW)

    def __repr__(self) -> str:
        return f"Lookuper(table={self._table._name()})"


class PrefixLookuper(Uncopied, _Answer):
    """Finds all rows whose key begins with given values."""

    _another = "create_lookuper()"

    @classmethod
    def _of(cls, table: Any, columns: Sequence[str]) -> PrefixLookuper:
        return cls._make(
            _table=table,
            _handle=_core.open_lookup(table._handle, columns, False),
            _key=table._codec(columns),
            _row=table._codec(table._all_columns()),
        )

    def lookup(self, prefix: Any) -> FlussFuture:
        """The rows, a list of dicts."""
        return _core.lookup(self._handle, self._key, self._row, prefix, _ALL)

    def __repr__(self) -> str:
        return f"PrefixLookuper(table={self._table._name()})"
