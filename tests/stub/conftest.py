# SPDX-License-Identifier: Apache-2.0
"""A stub server for each test, and connections of the package under test to it."""

import contextlib
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
BUILD = Path(os.environ.get("FLUSS_BUILD", HERE.parents[1] / "build"))
if (BUILD / "python" / "fluss").is_dir():
    sys.path.insert(0, str((BUILD / "python").resolve()))

from stub import Stub  # noqa: E402


@pytest.fixture
def stub():
    with Stub() as running:
        yield running


@pytest.fixture
def cluster():
    """Three servers; bucket i of a table is led by server i % 3."""
    with Stub(servers=3) as running:
        yield running


@pytest.fixture
def connect():
    """connect(stub, key=value...): a connection with settings, keys as the Python package spells
    them; closed at the end."""
    from client import Client

    with contextlib.ExitStack() as stack:
        yield lambda stub, **settings: stack.enter_context(Client(stub, **settings))
