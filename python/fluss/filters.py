# SPDX-License-Identifier: Apache-2.0
"""Conditions on columns, for `TableScan.filter`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from . import _core
from ._arguments import require_kind, several
from ._typing import Any
from .errors import FlussError
from .values import _Answer, require

_OPS = [
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "is_null",
    "is_not_null",
    "starts_with",
    "ends_with",
    "contains",
    "is_in",
    "not_in",
]
_LITERALS_MAX = 1 << 16  # of one condition; the limit of the C library


class Predicate(_Answer):
    """A condition. Combine with `&` and `|`, or `and_` and `or_`."""

    __slots__ = ("_kind", "_parts")

    def and_(self, other: Predicate) -> Predicate:
        return self._join("and", other)

    def or_(self, other: Predicate) -> Predicate:
        return self._join("or", other)

    def _join(self, kind: str, other: Predicate) -> Predicate:
        require(other, Predicate, "other")
        parts: list = []
        for one in (self, other):
            parts += one._parts if one._kind == kind else [one]
        return Predicate._make(_kind=kind, _parts=parts)

    def __and__(self, other: Predicate) -> Predicate:
        return self.and_(other) if issubclass(type(other), Predicate) else NotImplemented

    def __or__(self, other: Predicate) -> Predicate:
        return self.or_(other) if issubclass(type(other), Predicate) else NotImplemented

    def __bool__(self) -> bool:
        raise TypeError("a Predicate has no truth value; combine with & and |, not with and, or")

    def _build(self, trees: dict[str, tuple]) -> Any:
        """The condition in the form of the C library, checked against the table's columns."""
        from ._literals import require_exact

        if self._kind != "column":
            return _core.combine(self._kind == "and", [part._build(trees) for part in self._parts])
        column, operator, values = self._parts
        if column not in trees:
            raise FlussError(f"Column {column!r} not found")
        if operator in _OPS[:6] and values[0] is None:
            raise FlussError(
                f"column {column!r} {operator} null is never true: use is_null() or is_not_null()"
            )
        codec = _core.codec([(column, (*trees[column][:4], True, trees[column][5]))] * len(values))
        single = _core.codec([(column, (*trees[column][:4], True, trees[column][5]))])
        for value in values:
            require_exact(single, column, value)
        return _core.predicate(column, _OPS.index(operator), codec, tuple(values))

    def __repr__(self) -> str:
        if self._kind != "column":
            return f"Compound({self._kind}: {', '.join(map(repr, self._parts))})"
        column, operator, values = self._parts
        return f"Predicate({column} {operator} {', '.join(map(repr, values))})"


class ColumnRef:
    """A column, to be compared with literals."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        require(name, str, "name")
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def _test(self, operator: str, *values: Any, name: str = "value") -> Predicate:
        from ._literals import literal

        literals = tuple(literal(value, name) for value in values)
        return Predicate._make(_kind="column", _parts=(self._name, operator, literals))

    def __eq__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._test("==", value)

    def __ne__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._test("!=", value)

    def __lt__(self, value: Any) -> Predicate:
        return self._test("<", value)

    def __le__(self, value: Any) -> Predicate:
        return self._test("<=", value)

    def __gt__(self, value: Any) -> Predicate:
        return self._test(">", value)

    def __ge__(self, value: Any) -> Predicate:
        return self._test(">=", value)

    equal = __eq__
    not_equal = __ne__
    less_than = __lt__
    less_or_equal = __le__
    greater_than = __gt__
    greater_or_equal = __ge__

    def is_null(self) -> Predicate:
        return self._test("is_null")

    def is_not_null(self) -> Predicate:
        return self._test("is_not_null")

    def starts_with(self, prefix: str) -> Predicate:
        require_kind(prefix, str, "prefix")
        return self._test("starts_with", prefix)

    def ends_with(self, suffix: str) -> Predicate:
        require_kind(suffix, str, "suffix")
        return self._test("ends_with", suffix)

    def contains(self, infix: str) -> Predicate:
        require_kind(infix, str, "infix")
        return self._test("contains", infix)

    def is_in(self, values: Iterable[Any]) -> Predicate:
        return self._test("is_in", *_several(values), name="values element")

    def not_in(self, values: Iterable[Any]) -> Predicate:
        return self._test("not_in", *_several(values), name="values element")

    def __bool__(self) -> bool:
        raise TypeError("a column has no truth value; compare it with something")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"col({self._name!r})"


def _several(values: Iterable[Any]) -> list[Any]:
    """Literals; of an endless iterable no more than are too many."""
    found = list(itertools.islice(several(values, "values", "literals"), _LITERALS_MAX + 1))
    if len(found) > _LITERALS_MAX:
        raise FlussError(f"values has more than {_LITERALS_MAX} literals, the most possible")
    return found


def col(name: str) -> ColumnRef:
    """A column, for conditions: `col("age") > 30`."""
    return ColumnRef(name)
