# SPDX-License-Identifier: Apache-2.0
"""A running server of the server library, by ctypes. Loaded with the first `Server`: programs that
have none need neither."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from . import _core, _logging
from .errors import FlussError

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
    here = Path(_core.__file__).resolve().parent  # of an editable install the build, as in a build
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


class RunningServer:
    """A server from its start on, until `stop()`.

    Attributes:
        endpoint, sasl_endpoint, data_dir: what the library says of it, which stays as it is.
    """

    def __init__(self, settings: list[tuple[str, str]]) -> None:
        encoded = [(key.encode(), value.encode()) for key, value in settings]
        array = (_Pair * len(encoded))(*encoded)
        handle, error = ctypes.c_void_p(), _Error()
        self._library = _load()
        code = self._library.fluss_server_start(
            array, len(encoded), ctypes.byref(handle), ctypes.byref(error)
        )
        if code != 0:
            raise FlussError(error.message.decode(errors="replace"), code)
        self._handles = [handle]
        self.endpoint = self._text("endpoint", handle)
        self.sasl_endpoint = self._text("sasl_endpoint", handle)
        self.data_dir = self._text("data_dir", handle)

    def _text(self, name: str, handle: ctypes.c_void_p) -> str | None:
        text = getattr(self._library, f"fluss_server_{name}")(handle)
        return None if text is None else text.decode()

    def stop(self) -> None:
        """Only the first of the threads that stop it finds the handle: pop() is one step."""
        with contextlib.suppress(IndexError):
            handle = self._handles.pop()
            self._library.fluss_server_stop(handle, -1, None)
            self._library.fluss_server_free(handle)
