# SPDX-License-Identifier: Apache-2.0
"""The extension compiles against the headers of the oldest CPython that is found, as it does in
`pip install .` there: the headers of one version declare another limited API than those of the
next. With FLUSS_TEST_FULL=1 against those of every one."""

import os
import re
import runpy
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
INTERPRETERS = dict(runpy.run_path(str(TOP / "tools" / "wheel_test"))["interpreters"]())
TRIED = list(INTERPRETERS) if os.environ.get("FLUSS_TEST_FULL") else list(INTERPRETERS)[:1]
WRONG = ["-Wall", "-Wextra", "-Wconversion", "-Wno-missing-field-initializers", "-Werror"]
FLAGS = [*WRONG, "-Wno-error=deprecated-declarations", "-std=gnu11", "-D_GNU_SOURCE"]


@pytest.mark.parametrize("version", TRIED)
def test_extension_compiles_against_the_headers_of(version):
    where = "import sysconfig; print(sysconfig.get_path('include'))"
    asked = subprocess.run([INTERPRETERS[version], "-c", where], capture_output=True, text=True)
    headers = Path(asked.stdout.strip())
    if not (headers / "Python.h").exists():
        pytest.skip(f"no headers of CPython {version}")
    limited = re.search(r"limited_api: '3\.(\d+)'", (TOP / "python/fluss/meson.build").read_text())
    sources = sorted((TOP / "python" / "core").glob("*.c"))
    command = [os.environ.get("CC", "gcc"), "-fsyntax-only", *FLAGS]
    command += [
        f"-DPy_LIMITED_API=0x03{int(limited[1]):02x}0000",
        f"-I{TOP}/include",
        f"-I{headers}",
    ]
    done = subprocess.run([*command, *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
