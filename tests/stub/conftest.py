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


def pytest_configure(config):
    config.addinivalue_line("markers", "full: takes seconds; only where FLUSS_TEST_FULL is set")


def pytest_collection_modifyitems(config, items):
    if not os.environ.get("FLUSS_TEST_FULL"):
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


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
