# SPDX-License-Identifier: Apache-2.0
"""A Fluss server inside this process, from the server library, which is loaded when it is used."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _core, _logging
from ._arguments import mapping
from .errors import FlussError
from .values import require

_NAME = "libfluss_server.so"
_INFO = 6


class _Pair(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Error(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int32),
        ("kind", ctypes.c_uint16),
        ("retriable", ctypes.c_uint16),
        ("message", ctypes.c_char * 1016),
    ]


def _places() -> list[str]:
    """Where the library can be: named by the environment, in the wheel, in a build, installed."""
    here = Path(__file__).resolve().parent
    named = os.environ.get("FLUSS_SERVER_LIBRARY")
    built = here.parent.parent / "src" / "server"
    bundled = here.parent / ".libfluss.mesonpy.libs"
    found = [named] if named else []
    for folder in (here, bundled, built):
        found += [str(path) for path in sorted(folder.glob(_NAME + "*")) if path.is_file()]
    return [*found, _NAME, _NAME + ".1", _NAME + ".0"]


def _load() -> ctypes.CDLL:
    reasons = []
    for place in _places():
        try:
            library = ctypes.CDLL(place)
            break
        except OSError as error:
            reasons.append(str(error))
    else:
        raise FlussError(f"the server library cannot be loaded: {reasons[0]}")
    library.fluss_server_start.argtypes = [
        ctypes.POINTER(_Pair),
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(_Error),
    ]
    library.fluss_server_start.restype = ctypes.c_int32
    for name in ("endpoint", "sasl_endpoint", "data_dir"):
        function = getattr(library, f"fluss_server_{name}")
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_char_p
    library.fluss_server_stop.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.POINTER(_Error),
    ]
    library.fluss_server_stop.restype = ctypes.c_int32
    library.fluss_server_free.argtypes = [ctypes.c_void_p]
    library.fluss_server_free.restype = None
    library.fluss_server_set_log.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    library.fluss_server_set_log.restype = None
    route = _logging.start()
    if route is not None:
        function, user = _core.log_hook(route)
        library.fluss_server_set_log(function, _INFO, user)
    return library


class Server:
    """A Fluss server in this process, running until `close()` or the end of the `with` block.

    Args:
        data_dir: where the data is, made when missing; None: a temporary directory that goes with
            the server.
        listen: "host:port"; port 0 picks one.
        settings: further settings of the server, by their official keys.

    Example:
        with Server() as server:
            connection = FlussConnection.create(bootstrap_servers=server.bootstrap_servers)
    """

    def __init__(
        self,
        data_dir: str | os.PathLike | None = None,
        *,
        listen: str = "127.0.0.1:0",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        require(listen, str, "listen")
        if data_dir is not None and not isinstance(data_dir, (str, os.PathLike)):
            raise TypeError(f"data_dir must be a path, not {type(data_dir).__name__}")
        self._handle: int | None = None
        pairs = [("bind.listeners", f"FLUSS://{listen}")]
        if data_dir is not None:
            pairs.append(("data.dir", os.fspath(data_dir)))
        for key, value in mapping({} if settings is None else settings, "settings").items():
            require(key, str, "settings key")
            text = str(value).lower() if isinstance(value, bool) else str(value)
            pairs.append((key, text))
        encoded = [(key.encode(), value.encode()) for key, value in pairs]
        array = (_Pair * len(encoded))(*encoded)
        handle, error = ctypes.c_void_p(), _Error()
        self._library = _load()
        code = self._library.fluss_server_start(
            array, len(encoded), ctypes.byref(handle), ctypes.byref(error)
        )
        if code != 0:
            raise FlussError(error.message.decode(errors="replace"), code)
        self._handle = handle.value

    def _text(self, name: str) -> str | None:
        if self._handle is None:
            raise FlussError("the server is closed")
        text = getattr(self._library, f"fluss_server_{name}")(self._handle)
        return None if text is None else text.decode()

    @property
    def bootstrap_servers(self) -> str:
        """The address to connect to, for `Config({"bootstrap.servers": ...})`."""
        return self._text("endpoint") or ""

    @property
    def sasl_bootstrap_servers(self) -> str | None:
        """The address of the listener that asks for a password; None when there is none."""
        return self._text("sasl_endpoint")

    @property
    def data_dir(self) -> str:
        return self._text("data_dir") or ""

    def close(self) -> None:
        """Stop the server. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.fluss_server_stop(handle, -1, None)
            self._library.fluss_server_free(handle)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None) -> bool:
        self.close()
        return False

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __repr__(self) -> str:
        where = "closed" if self._handle is None else self.bootstrap_servers
        return f"Server({where})"
