# SPDX-License-Identifier: Apache-2.0
"""The package of the build under test, a server for the tests that need one, and time limits."""

import asyncio
import os
import signal
import sys
import uuid
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("FLUSS_BUILD", Path(__file__).resolve().parents[2] / "build"))
PACKAGE = (BUILD / "python").resolve()
if (PACKAGE / "fluss").is_dir():
    sys.path.insert(0, str(PACKAGE))
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE), inherited]))

CALL_S_MAX = 60


def pytest_configure(config):
    """Ctrl-C as in the foreground: a job in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """The address of a server: $FLUSS_BOOTSTRAP_SERVERS, or one in this process."""
    given = os.environ.get("FLUSS_BOOTSTRAP_SERVERS", "").strip()
    if given:
        yield given
        return
    import fluss

    with fluss.Server(tmp_path_factory.mktemp("server")) as server:
        yield server.bootstrap_servers


@pytest.fixture
def connection(servers):
    """A connection, closed at the end."""
    import fluss

    made = fluss.FlussConnection.create(bootstrap_servers=servers).result(CALL_S_MAX)
    yield made
    made.close().result(CALL_S_MAX)


@pytest.fixture
def admin(connection):
    return connection.get_admin()


@pytest.fixture
def database(connection):
    """A database of the test's own."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    admin = connection.get_admin()
    admin.create_database(name).result(CALL_S_MAX)
    yield name
    admin.drop_database(name, True, True).result(CALL_S_MAX)


@pytest.fixture
def run():
    """Runs a coroutine to its end, within a limit."""

    def run_one(coroutine):
        async def limited():
            return await asyncio.wait_for(coroutine, CALL_S_MAX)

        return asyncio.run(limited())

    return run_one
