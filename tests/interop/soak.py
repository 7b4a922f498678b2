# SPDX-License-Identifier: Apache-2.0
"""One of several clients that write to one server while it is killed and started, and the check.

    soak.py create HOST:PORT DATABASE
    soak.py write HOST:PORT DATABASE NAME SECONDS FILE
    soak.py check HOST:PORT DATABASE FILE…

`write` appends rows (writer, id) to a log table and upserts (k, i) of its own keys, window by
window. It notes in FILE what it begins to send, "sent ID", and what was acknowledged: "log ID",
"pk K I". A client that is stuck is left, and a new one goes on with other keys. Uses only what
pyfluss 1.0 has. `check`, by our package: every acknowledged row is there once, one of unknown
outcome at most once, no other; no key lies behind what was acknowledged last. Closes with
`N passed, N failed`.
"""

import asyncio
import collections
import sys
import time
from pathlib import Path

import fluss
import pyarrow as pa
from peer import run_program

BUCKETS, WINDOW, KEYS, KEYS_OF_A_WRITER = 3, 50, 40, 1000
WRITERS = ["ours", "pyfluss", "java"]  # a writer's place gives its keys
ANSWER_S_MAX, RETRY_S = 30, 0.1
LOG, PK = "soak_log", "soak_pk"


async def connect(address):
    return await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": address}))


async def create(address, database):
    connection = await connect(address)
    admin = connection.get_admin()
    await admin.create_database(database, ignore_if_exists=True)
    log = pa.schema([("writer", pa.string()), ("id", pa.int64())])
    pk = pa.schema([pa.field("k", pa.int32(), nullable=False), ("i", pa.int64())])
    for name, schema, keys in ((LOG, log, None), (PK, pk, ["k"])):
        schema = fluss.Schema(schema, primary_keys=keys)
        description = fluss.TableDescriptor(schema, bucket_count=BUCKETS)
        await admin.create_table(fluss.TablePath(database, name), description)


class Stuck(Exception):
    """The client does not come back by itself."""


class Writers:
    """A connection with a writer to each table, and keys that no connection before it had."""

    def __init__(self, log, pk, first_key):
        self.log, self.pk, self.first_key = log, pk, first_key

    @classmethod
    async def open(cls, address, database, first_key):
        connection = await connect(address)
        log = await connection.get_table(fluss.TablePath(database, LOG))
        pk = await connection.get_table(fluss.TablePath(database, PK))
        return cls(log.new_append().create_writer(), pk.new_upsert().create_writer(), first_key)


async def send(write, row):
    """Hand a row over. pyfluss forgets its tables when no server is there, and refuses then."""
    until = time.monotonic() + ANSWER_S_MAX
    while True:
        try:
            return write(row)
        except fluss.FlussError as error:
            if time.monotonic() > until:
                raise Stuck from error
            await asyncio.sleep(RETRY_S)


async def is_acknowledged(handle):
    try:
        await asyncio.wait_for(handle.wait(), ANSWER_S_MAX)
    except asyncio.TimeoutError as error:
        raise Stuck from error
    except fluss.FlussError as error:
        print(f"failed: {error!r}"[:200], flush=True)
        return False
    return True


async def write_window(writers, name, window, notes):
    notes.write("".join(f"sent {n}\n" for n in window))
    appended = [await send(writers.log.append, {"writer": name, "id": n}) for n in window]
    keys = [writers.first_key + n % KEYS for n in window]
    upserted = [await send(writers.pk.upsert, {"k": k, "i": n}) for k, n in zip(keys, window)]
    for n, handle in zip(window, appended):
        if await is_acknowledged(handle):
            notes.write(f"log {n}\n")
    for key, n, handle in zip(keys, window, upserted):
        if await is_acknowledged(handle):
            notes.write(f"pk {key} {n}\n")


async def write(address, database, name, seconds, file):
    first_key = WRITERS.index(name) * KEYS_OF_A_WRITER
    until, i, writers = time.monotonic() + float(seconds), 0, None
    with Path(file).open("w") as notes:
        while time.monotonic() < until:
            try:
                writers = writers or await Writers.open(address, database, first_key)
                await write_window(writers, name, range(i, i + WINDOW), notes)
            except (Stuck, fluss.FlussError) as why:
                print(f"{name} connects anew after row {i}: {why!r}"[:200], flush=True)
                first_key, writers = first_key + KEYS, None
                await asyncio.sleep(RETRY_S)
            i += WINDOW
    return i


def read_notes(file):
    acked, sent, last = set(), set(), {}
    for line in Path(file).read_text().splitlines():
        kind, *numbers = line.split()
        if kind == "pk":
            last[int(numbers[0])] = int(numbers[1])
        else:
            (acked if kind == "log" else sent).add(int(numbers[0]))
    return acked, sent - acked, last


async def check(address, database, files, report):
    connection = await connect(address)
    table = await connection.get_table(fluss.TablePath(database, LOG))
    scanner = await table.new_scan().create_record_batch_log_scanner()
    for bucket in range(BUCKETS):
        scanner.subscribe(bucket, fluss.EARLIEST_OFFSET)
    rows = (await scanner.to_arrow()).to_pylist()
    found = collections.Counter((row["writer"], row["id"]) for row in rows)
    table = await connection.get_table(fluss.TablePath(database, PK))
    lookuper = table.new_lookup().create_lookuper()
    for file in files:
        name = Path(file).stem
        acked, unknown, last = read_notes(file)
        report.check(f"{name} wrote", len(acked) > WINDOW and len(last) >= KEYS, True)
        own = {n: count for (writer, n), count in found.items() if writer == name}
        lost = sorted(acked - set(own))
        report.check(f"{name}: of {len(acked)} acknowledged rows none is lost", lost[:20], [])
        twice = sorted(n for n, count in own.items() if count > 1)
        report.check(f"{name}: no row is there twice", twice[:20], [])
        strange = sorted(set(own) - acked - unknown)
        report.check(f"{name}: {len(unknown)} of unknown outcome, no other", strange[:20], [])
        behind = {}
        for key, value in last.items():
            row = await lookuper.lookup({"k": key})
            if row is None or row["i"] < value:
                behind[key] = (row, value)
        report.check(f"{name}: no key is behind", behind, {})


async def run(arguments, report):
    action, address, database, *rest = arguments
    if action == "create":
        await create(address, database)
        report.check("the tables are made", True, True)
    elif action == "write":
        count = await write(address, database, *rest)
        report.check(f"{count} rows are written", count > 0, True)
    else:
        await check(address, database, rest, report)


if __name__ == "__main__":
    sys.exit(run_program(run))
