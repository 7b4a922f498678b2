# SPDX-License-Identifier: Apache-2.0
"""Futures in Python: deferred values, and work in threads.

A deferred value is a future that stands in for its result: `await` gives the real object, any other
use waits for it and then acts as it. So methods that older programs use at once and newer ones
await serve both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from . import _core
from ._typing import Any

FlussFuture = _core.FlussFuture

_FORWARDED = [
    "len",
    "getitem",
    "setitem",
    "delitem",
    "contains",
    "iter",
    "reversed",
    "str",
    "format",
    "bool",
    "int",
    "float",
    "complex",
    "index",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "add",
    "radd",
    "iadd",
    "sub",
    "rsub",
    "isub",
    "mul",
    "rmul",
    "imul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "neg",
    "pos",
    "abs",
    "invert",
    "matmul",
    "rmatmul",
    "dir",
    "enter",
    "exit",
    "copy",
    "deepcopy",
    "reduce_ex",
    "round",
]


def describe(future: Any, name: str, text: Callable[[Any], str]) -> str:
    """What repr() says of something that a future brings: the text of its value. That there is none
    is said too, where any other use raises."""
    try:
        value = FlussFuture.result(future)
    except _core.cancelled_error():
        return f"<{name} cancelled>"
    except Exception as error:
        return f"<{name} failed: {error!r}>"
    return text(value)


class Deferred(FlussFuture):
    """Base of deferred values."""

    __hash__ = object.__hash__

    @property
    def __class__(self):
        return type(self)._stands_for()

    def __repr__(self) -> str:
        return describe(self, type(self).__name__, repr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_asyncio_future_blocking":
            object.__setattr__(self, name, value)
        else:
            setattr(self.result(), name, value)

    @staticmethod
    def _stands_for() -> type:
        raise NotImplementedError


_REFLECTED = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


def _copy(value: Any) -> Any:
    import copy

    return copy.copy(value)


def _deepcopy(value: Any, memo: dict) -> Any:
    import copy

    return copy.deepcopy(value, memo)


def _forward(name: str) -> Callable[..., Any]:
    builtin: Callable[..., Any] | None = {
        "len": len,
        "iter": iter,
        "reversed": reversed,
        "str": str,
        "format": format,
        "bool": bool,
        "dir": dir,
        "copy": _copy,
        "deepcopy": _deepcopy,
        "contains": operator.contains,
        "getitem": operator.getitem,
        "setitem": operator.setitem,
        "delitem": operator.delitem,
    }.get(name)
    if builtin is not None:

        def forward(self, *args):
            return builtin(self.result(), *args)

    elif name in _REFLECTED:
        compare = getattr(operator, name)

        def forward(self, other):
            return compare(self.result(), settled(other))

    else:
        special = f"__{name}__"

        def forward(self, *args):
            method = getattr(self.result(), special, None)
            if method is None:
                if name in ("reduce_ex", "int", "float", "complex", "index", "enter", "exit"):
                    raise TypeError(f"the result has no {special}")
                return NotImplemented
            return method(*[settled(arg) for arg in args])

    forward.__name__ = f"__{name}__"
    return forward


for _name in _FORWARDED:
    setattr(Deferred, f"__{_name}__", _forward(_name))


def settled(value: Any) -> Any:
    """The value itself, or the result of a deferred one."""
    return value.result() if issubclass(type(value), Deferred) else value


class DeferredTable(Deferred):
    """A pyarrow.Table that is being read."""

    @staticmethod
    def _stands_for() -> type:
        import pyarrow

        return pyarrow.Table

    # Of the class, because some consumers ask the class for them.
    def __arrow_c_schema__(self) -> Any:
        return self.result().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.result().__arrow_c_stream__(requested_schema)


class DeferredFrame(Deferred):
    """A pandas.DataFrame that is being read."""

    @staticmethod
    def _stands_for() -> type:
        import pandas

        return pandas.DataFrame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.result().__arrow_c_stream__(requested_schema)


class DeferredList(Deferred):
    """A list that is being read."""

    @staticmethod
    def _stands_for() -> type:
        return list


class DeferredDict(Deferred):
    """A dict that is being read."""

    @staticmethod
    def _stands_for() -> type:
        return dict


def in_thread(
    kind: type, work: Callable[[], Any], on_cancel: Callable[[], None] | None = None
) -> Any:
    """Start work in a thread of its own; a future of that kind for what it returns.

    Args:
        on_cancel: has the work end; called at once when the future is cancelled, which Ctrl-C, or
            another signal that ends a wait for it, then does too.
    """
    promise = _core.promise(kind, on_cancel)

    def run() -> None:
        try:
            value = work()
        except BaseException as error:  # noqa: B036 - it is raised where the future is used
            FlussFuture._set_exception(promise, error)
        else:
            FlussFuture._set_result(promise, value)

    _start_thread("fluss-read", run)
    return promise


def _start_thread(name: str, target: Callable[..., None], *args: Any) -> None:
    import threading

    threading.Thread(target=target, args=args, name=name, daemon=True).start()


def wait_for(future: Any) -> None:
    """Until a future has ended, in whatever way; None has."""
    if future is not None:
        try:
            FlussFuture.exception(future)
        except _core.cancelled_error():
            pass


def failed(error: BaseException, kind: type = FlussFuture) -> Any:
    """A future that has ended with an error."""
    promise = _core.promise(kind)
    FlussFuture._set_exception(promise, error)
    return promise


def resolved(value: Any, kind: type = FlussFuture) -> Any:
    """A future that has ended with a value."""
    promise = _core.promise(kind)
    FlussFuture._set_result(promise, value)
    return promise


def watch(future: Any) -> None:
    """Wait for a future in a thread, where no event loop can be told by its queue."""
    _start_thread("fluss-wait", FlussFuture._watch, future)
