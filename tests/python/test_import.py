# SPDX-License-Identifier: Apache-2.0
"""Importing the package costs little, and loads nothing that was not asked for.

The time is what users feel; the list of modules is what keeps it short on every machine, for a
module of the standard library that comes back costs a few milliseconds that no limit notices.
"""

import os
import subprocess
import sys
import typing

import fluss
import pytest

MS_MAX = 50
ATTEMPTS = 10
PROGRAM = """
import sys, time
started = time.process_time()
import fluss
print(round(1000 * (time.process_time() - started)))
print(*sys.modules)
"""
# What this package uses later, or never: libraries of others, and modules that load slowly.
LOADED_LATER = [
    "pyarrow",
    "pandas",
    "polars",
    "numpy",
    "tqdm",
    "asyncio",
    "concurrent",
    "contextlib",
    "contextvars",
    "copy",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "importlib.util",
    "inspect",
    "ipaddress",
    "json",
    "logging",
    "numbers",
    "pathlib",
    "re",
    "socket",
    "struct",
    "tempfile",
    "threading",
    "typing",
    "urllib",
    "fluss._embedded",
    "fluss._literals",
    "fluss._type_texts",
    "fluss._values",
]


@pytest.fixture(scope="module")
def import_once(tmp_path_factory):
    """Imports in a process; gives the milliseconds of processor time, and the modules that are
    loaded. The sources have been compiled, as those of an installed package have. Without `site`,
    which loads what the environment has in .pth files."""
    environment = dict(os.environ, PYTHONPYCACHEPREFIX=str(tmp_path_factory.mktemp("bytecode")))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    package = os.path.dirname(os.path.dirname(fluss.__file__))
    environment["PYTHONPATH"] = package

    def run_program():
        command = [sys.executable, "-S", "-c", PROGRAM]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        took, loaded = ended.stdout.splitlines()
        return int(took), set(loaded.split())

    run_program()
    return run_program


def test_import_loads_no_module_that_is_used_later(import_once):
    assert sorted(import_once()[1].intersection(LOADED_LATER)) == []


def test_import_takes_less_than_50_ms(import_once):
    """Of the processor, since other programs may run too; the best of some attempts."""
    attempts = (import_once()[0] for _ in range(ATTEMPTS))
    took = []
    for ms in attempts:
        took.append(ms)
        if ms < MS_MAX:
            return
    pytest.fail(f"milliseconds of all attempts: {took}")


def test_annotations_can_be_evaluated_all_the_same():
    if sys.version_info < (3, 10):
        pytest.skip("X | Y of types cannot be evaluated before Python 3.10")
    hints = typing.get_type_hints(fluss.FlussAdmin.list_offsets)
    assert hints["table_path"] is fluss.TablePath
    for owner in [getattr(fluss, name) for name in fluss.__all__]:
        for function in vars(owner).values() if isinstance(owner, type) else ():
            if hasattr(function, "__annotations__"):
                typing.get_type_hints(function)
