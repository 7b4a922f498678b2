# SPDX-License-Identifier: Apache-2.0
"""Kill -9 in the middle of writing rows, with every merge engine, again and again.

Goal: after a restart a table is what its changelog adds up to, what was acknowledged is in it, and
a writer that repeats what it does not know the fate of changes nothing twice. Method: one data
directory, a table for each engine and changelog image, an idempotent writer each with random
upserts, partial updates and deletes; a server that is killed after a random number of
acknowledgements while more are in flight, and whose store keeps little in memory, so that its files
are at all kinds of places behind the log; a new server, on which each changelog is followed step by
step. At the end the same batches, written to new tables without a kill, give the same rows.
FLUSS_TEST_SEED makes another run, FLUSS_ROW_KILLS makes it longer.
"""

import os
import random

from killing import Writer, write_until
from rows import Table, value_records
from wire import Server, read_log

KILLS = int(os.environ.get("FLUSS_ROW_KILLS", "6"))
KEYS = 12
OPTIONS = ("log.segment.file-size=64kb", "kv.rocksdb.writebuffer.size=64kb")
PLAIN = [("id", "INT"), ("a", "INT"), ("b", "STRING"), ("c", "BIGINT")]
SUMS = [("id", "INT"), ("a", "INT", "sum"), ("b", "STRING", "listagg"), ("c", "BIGINT", "max")]
AGGREGATION = {"merge__engine": "aggregation", "delete.behavior": "ALLOW"}
VERSIONED = {"merge__engine": "versioned", "merge__engine.versioned.ver__column": "c"}


def make_tables(prefix=""):
    tables = []
    for image in ("FULL", "WAL"):
        more = {"changelog.image": image}
        tables += [
            Table(f"{prefix}plain_{image}", PLAIN, **more),
            Table(f"{prefix}first_{image}", PLAIN, **more, merge__engine="first_row"),
            Table(f"{prefix}versioned_{image}", PLAIN, **more, **VERSIONED),
            Table(f"{prefix}numbered_{image}", PLAIN, **more, auto_increment="c"),
        ]
    return [*tables, Table(f"{prefix}sums", SUMS, **AGGREGATION)]


class RowWriter(Writer):
    """Rows of one table; `made` holds (records, target columns) of each request."""

    api = "PUT_KV"

    def __init__(self, connection, table, chance):
        super().__init__(connection.ask("INIT_WRITER")["writer_id"])
        self.table, self.chance = table, chance
        self.end = 0  # of the log, after the last acknowledged request

    def draw(self):
        chance, properties = self.chance, self.table.properties
        takes_targets = properties.get("merge__engine") in (None, "aggregation")
        targets = []
        if self.table.auto_increment or (takes_targets and chance.random() < 0.3):
            targets = sorted([0, *chance.sample([1, 2], chance.randint(0, 2))])
        rows = []
        for _ in range(chance.randint(1, 8)):
            drawn = [chance.randrange(KEYS), chance.randrange(-9, 9), "x" * chance.randrange(40)]
            drawn.append(chance.randrange(100))
            row = [v if not targets or i in targets else None for i, v in enumerate(drawn)]
            rows.append((row, chance.random() < 0.2))
        return rows, targets

    def put(self, table, sequence, writer_id):
        records, targets = self.made[sequence]
        return table.put(records, targets=targets, writer_id=writer_id, sequence=sequence)

    def request(self, sequence):
        return self.put(self.table, sequence, self.writer_id)

    def wait(self, connection):
        acked = self.acked
        found, sequence = super().wait(connection)
        assert found["log_end_offset"] > self.end or sequence < acked
        self.end = max(self.end, found["log_end_offset"])
        return found, sequence


def folded(table, batches):
    """The rows that a changelog adds up to; every change must fit what is there."""
    is_full = table.properties.get("changelog.image") != "WAL"
    rows, before = {}, None
    for batch in batches:
        for offset, change, values in table.changes(batch):
            key = values[0]
            if change in ("-U", "-D"):
                assert rows[key] == values, f"{table.name}, offset {offset}: another row is there"
            if change == "+I":
                assert key not in rows, f"{table.name}, offset {offset}: the row is there already"
            if change == "+U" and is_full:
                assert before == key, f"{table.name}, offset {offset}: +U without its -U"
            before = key if change == "-U" else None
            rows[key] = values
            if change == "-D":
                del rows[key]
    return rows


def stored(connection, table):
    """(values by lookup, values by scan), as bytes."""
    keys = [[key, None, None, None] for key in range(KEYS)]
    (found,) = connection.ask("LOOKUP", table.lookup(keys))["buckets_resp"]
    scan = connection.ask("LIMIT_SCAN", {"table_id": table.id, "bucket_id": 0, "limit": 1000})
    looked_up = [value.get("values") for value in found["values"]]
    return looked_up, value_records(scan["records"])


def check(server, writers):
    with server.connect() as connection:
        for writer in writers:
            table = writer.table
            batches = read_log(connection, table.id)
            offset = 0
            for sequence, batch in enumerate(batches):
                assert batch["base_offset"] == offset, "a hole in the offsets"
                assert (batch["writer_id"], batch["sequence"]) == (writer.writer_id, sequence)
                offset += batch["delta"] + 1
            assert len(batches) >= writer.acked, "an acknowledged batch is missing"
            assert offset >= writer.end
            rows = folded(table, batches)
            wanted = [
                b"\x01\0" + table.row(rows[key]) if key in rows else None for key in range(KEYS)
            ]
            looked_up, scanned = stored(connection, table)
            assert looked_up == wanted, f"{table.name} is not what its changelog adds up to"
            assert scanned == [value for value in wanted if value is not None]


def write_anew(connection, writers):
    """The same batches to new tables, without a kill: the same rows."""
    for writer, table in zip(writers, make_tables("again_")):
        table.create(connection)
        writer_id = connection.ask("INIT_WRITER")["writer_id"]
        for sequence in range(writer.acked):
            answer = connection.ask("PUT_KV", writer.put(table, sequence, writer_id))
            assert "error_code" not in answer["buckets_resp"][0]
        ours, again = (stored(connection, each) for each in (writer.table, table))
        if not table.auto_increment:  # blocks of numbers are lost with a process
            assert ours == again, table.name


def test_a_table_is_what_its_changelog_adds_up_to(tmp_path):
    seed = int(os.environ.get("FLUSS_TEST_SEED", "20261130"))
    print(f"FLUSS_TEST_SEED={seed}")
    chance = random.Random(seed)
    options = [word for option in OPTIONS for word in ("-o", option)]
    server = Server(tmp_path / "data", *options).start()
    with server.connect() as connection:
        writers = [RowWriter(connection, t.create(connection), chance) for t in make_tables()]
    for _ in range(KILLS):
        write_until(server, writers, chance.randint(0, 150))
        server.start()
        check(server, writers)
    with server.connect() as connection:
        for writer in writers:  # what is not known to be there is written again
            writer.reconnected()
            while writer.next < len(writer.made):
                writer.send(connection)
                writer.wait(connection)
        write_anew(connection, writers)
    check(server, writers)
    assert server.stop() == 0
