# SPDX-License-Identifier: Apache-2.0
"""Fixtures of pytest for tests of programs that use Fluss. pytest finds them by itself where the
package is installed.

    def test_my_program(fluss_server):
        connection = fluss.FlussConnection.create(
            bootstrap_servers=fluss_server.bootstrap_servers
        ).result()
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def fluss_server(tmp_path_factory: Any) -> Iterator[Any]:
    """A `fluss.Server` in this process, one for all tests; its data goes with it."""
    from .server import Server

    with Server(tmp_path_factory.mktemp("fluss-server")) as server:
        yield server


@pytest.fixture
def fluss_connection(fluss_server: Any) -> Iterator[Any]:
    """A `fluss.FlussConnection` to `fluss_server`, closed after the test."""
    from .connection import FlussConnection

    made = FlussConnection.create(bootstrap_servers=fluss_server.bootstrap_servers).result()
    yield made
    made.close().result()
