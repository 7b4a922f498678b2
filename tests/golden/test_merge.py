# SPDX-License-Identifier: Apache-2.0
"""Random writes to tables of all merge engines: our server answers and holds what the official did.

Goal: no value differs. Method: merge.jsonl has, for each table of tests/interop/merge.py, the codes
and log end offsets of the official server 0.9.1 and hashes of its rows and its changelog; the same
script runs here. Where a hash differs, `tests/interop/run --only merge` shows the values.
"""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.path.insert(0, str(HERE.parent / "interop"))
import merge  # noqa: E402
from wire import Connection, Server  # noqa: E402

STEPS = 25
LINES = [json.loads(line) for line in (HERE / "merge.jsonl").read_text().splitlines()]
RECORDED = {line["table"]: line for line in LINES}
TABLES = merge.all_tables()


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    data_dir = tmp_path_factory.mktemp("merge") / "data"
    with Server(data_dir, "-o", "log.flush=os") as server, Connection(server.address) as opened:
        merge.create_database(opened)
        yield opened


def test_every_table_is_recorded():
    assert [table.name for table in TABLES] == list(RECORDED)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_writes_have_the_outcome_of_the_official_server(connection, table):
    table.create(connection, database=merge.DATABASE)
    ours, official = (
        merge.short(merge.run_table(connection, table, merge.SEED, STEPS)),
        RECORDED[table.name],
    )
    for step, (a, b) in enumerate(zip(official["answers"], ours["answers"])):
        assert a == b or (a[1], b[1]) in merge.OTHER_CODES, f"step {step}"
    for what in ("lookups", "scan", "changelog"):
        assert ours[what] == official[what], what
