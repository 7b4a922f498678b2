# SPDX-License-Identifier: Apache-2.0
"""What this process has allocated from the C library, all threads and arenas together."""

import ctypes
import os


class _Mallinfo(ctypes.Structure):
    _fields_ = [(f"_{i}", ctypes.c_size_t) for i in range(4)] + [
        ("mapped", ctypes.c_size_t),
        *[(f"_{i}", ctypes.c_size_t) for i in range(5, 7)],
        ("in_use", ctypes.c_size_t),
        *[(f"_{i}", ctypes.c_size_t) for i in range(8, 10)],
    ]


# A sanitizer has a heap of its own, of which the C library knows nothing.
IS_KNOWN = "san.so" not in os.environ.get("LD_PRELOAD", "")


def heap_bytes():
    count = ctypes.CDLL(None).mallinfo2
    count.restype = _Mallinfo
    use = count()
    return use.mapped + use.in_use
