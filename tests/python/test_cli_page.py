# SPDX-License-Identifier: Apache-2.0
"""docs/cli.md is true: its commands run as they stand, on the tables that the page speaks of."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from peers import BUILD
from testlib import server

LIMIT_S = 60
USER = "admin:admin-secret"
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
ROUND = [line for line in PAGE.split("```")[1].strip().splitlines() if " server " not in line]
CALLS = re.findall(r"`(fluss [^`]+)`", PAGE)
EXAMPLES = [
    call
    for call in CALLS
    if not call.startswith(("fluss server", "fluss create-table shop.prices"))
    and "USER OPERATION" not in call
]
TABLES = [call for call in CALLS if call.startswith("fluss create-table")]
WORLD = [
    "fluss drop-database shop --cascade --if-exists",
    "fluss create-database shop",
    'fluss create-table shop.stock "item STRING, pieces INT, price DECIMAL(10,2)" --key item',
    "fluss append shop.stock < rows.jsonl",
    "fluss append shop.stock < rows.jsonl",
    *TABLES,
    "fluss append shop.prices < rows.jsonl",
    "fluss create-partition shop.log day=2026",
]
# What an example makes must not be there.
UNDONE = {
    "create-database": "fluss drop-database shop --cascade",
    "create-table": "fluss drop-table shop.log",
    "create-partition": "fluss drop-partition shop.log day=2026",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "rows.jsonl").write_text(
        '{"item": "cup", "pieces": 12, "price": "4.50"}\n{"item": "jug", "pieces": 1}\n'
    )
    rights = ("-o", "authorizer.enabled=true", "-o", "super.users=User:admin")
    with server(BUILD / "fluss", sasl=True, options=rights) as addresses:
        command = f"{BUILD.resolve() / 'fluss'} \\1 --server {addresses[1]} --user {USER}"

        def run(line):
            line = re.sub(r"\bfluss ([a-z][a-z-]*)", command, line)
            return subprocess.run(
                ["bash", "-c", line],
                cwd=folder,
                env=os.environ,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )

        yield run


def must(done):
    assert done.returncode == 0, done.args[-1] + ": " + done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(run, example):
    for line in WORLD:
        must(run(line))
    name = shlex.split(example)[1]
    if name in UNDONE:
        must(run(UNDONE[name]))
    must(run(example))


def test_first_round_runs(run):
    must(run(WORLD[0]))
    found = [must(run(line)) for line in ROUND]
    assert "cup" in found[ROUND.index("fluss lookup shop.stock cup")]
