#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Meter readings of a small factory: write them to a log table, read them back, add them up.

    python examples/quickstart.py              an embedded server, its data in a folder of its own
    python examples/quickstart.py HOST:PORT    any Fluss server

Every step of a log table is here: create it, append dicts, Arrow and pandas, wait for one row's
acknowledgement, read everything as Arrow, project columns, poll records with their offsets, follow
new rows only. Each figure that is printed is checked against what was written.
"""

import asyncio
import datetime
import sys
import tempfile
import time

import fluss
import pyarrow as pa
import pyarrow.compute as pc

DEVICES = ["boiler", "compressor", "conveyor", "cooler", "lathe", "lights", "mill", "oven"]
BATCH_ROWS = 8_640  # three hours: each device every ten seconds
BATCHES = 56  # a week
FIRST = datetime.datetime(2026, 6, 1)
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("device", pa.string()),
        pa.field("at", pa.timestamp("us")),
        pa.field("energy_wh", pa.int64()),
        pa.field("celsius", pa.float64()),
    ]
)


def reading(i):
    """Reading number i as a dict; made up, but always the same."""
    device = i % len(DEVICES)
    return {
        "id": i,
        "device": DEVICES[device],
        "at": FIRST + datetime.timedelta(seconds=10 * (i // len(DEVICES))),
        "energy_wh": 3 + 7 * device + i % 11,
        "celsius": 20.0 + 5 * device + (i % 100) / 10,
    }


def readings(first, count):
    return pa.RecordBatch.from_pylist([reading(i) for i in range(first, first + count)], COLUMNS)


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found}, but {expected} was written")


def say(what, rows, seconds):
    print(f"  {what:42s}{rows:>9,} rows {seconds * 1000:>9,.1f} ms {rows / seconds:>13,.0f} rows/s")


async def create(connection, path):
    admin = connection.get_admin()
    await admin.create_database(path.database_name, ignore_if_exists=True)
    await admin.drop_table(path, ignore_if_not_exists=True)
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(COLUMNS), bucket_count=1))
    return await connection.get_table(path)


async def write(table, batches):
    """All batches, then a few rows each other way; the number of rows."""
    writer = table.new_append().create_writer()
    started = time.perf_counter()
    for batch in batches:
        writer.write_arrow_batch(batch)
    await writer.flush()
    written = BATCHES * BATCH_ROWS
    say("Arrow batches written, on disk", written, time.perf_counter() - started)

    started = time.perf_counter()
    for i in range(written, written + 1_000):
        writer.append(reading(i))
    await writer.flush()
    written += 1_000
    say("dicts written, on disk", 1_000, time.perf_counter() - started)

    started = time.perf_counter()
    handle = writer.append(tuple(reading(written).values()))
    await handle.wait()
    written += 1
    say("one tuple written, acknowledged", 1, time.perf_counter() - started)

    writer.write_pandas(readings(written, 99).to_pandas())
    await writer.flush()
    return written + 99


async def scan_all(table, columns=None):
    scan = table.new_scan()
    if columns:
        scan = scan.project_by_name(columns)
    scanner = await scan.create_record_batch_log_scanner()
    scanner.subscribe(bucket_id=0, start_offset=fluss.EARLIEST_OFFSET)
    started = time.perf_counter()
    found = await scanner.to_arrow()
    seconds = time.perf_counter() - started
    say(f"{'all' if not columns else len(columns)} columns read as Arrow", found.num_rows, seconds)
    return found


def print_sums(found, total):
    sums = found.group_by("device").aggregate(
        [("energy_wh", "sum"), ("celsius", "mean"), ("device", "count")]
    )
    print(f"\n  {'device':12s} {'readings':>9s} {'energy, kWh':>12s} {'mean, °C':>9s}")
    for row in sums.sort_by("device").to_pylist():
        energy, mean = row["energy_wh_sum"] / 1000, row["celsius_mean"]
        print(f"  {row['device']:12s} {row['device_count']:>9,} {energy:>12,.1f} {mean:>9.1f}")
    energy = pc.sum(found["energy_wh"]).as_py()
    same("sum of energy_wh", energy, total)
    print(f"  {'all':12s} {found.num_rows:>9,} {energy / 1000:>12,.1f}\n")


async def follow(connection, path, table, last_offset):
    """Subscribe at the end, append one row, and be handed just that row."""
    admin = connection.get_admin()
    end = (await admin.list_offsets(path, [0], fluss.OffsetSpec.latest()))[0]
    same("the end offset", end, last_offset)
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe(bucket_id=0, start_offset=end)
    started = time.perf_counter()
    table.new_append().create_writer().append(reading(end))
    records = []
    while not records:
        records = list(await scanner.poll(5000))
    say("one row appended and polled by a follower", 1, time.perf_counter() - started)
    record = records[0]
    print(f"\n  offset {record.offset}, {record.change_type.short_string()}, {record.row}")
    same("the followed row", record.row, reading(end))


async def run(servers):
    started = time.perf_counter()
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": servers}))
    path = fluss.TablePath("factory", "readings")
    table = await create(connection, path)
    print(f"connected and table made in {(time.perf_counter() - started) * 1000:.0f} ms\n")
    batches = [readings(n * BATCH_ROWS, BATCH_ROWS) for n in range(BATCHES)]
    written = await write(table, batches)
    total = sum(reading(i)["energy_wh"] for i in range(written))
    found = await scan_all(table)
    same("rows", found.num_rows, written)
    await scan_all(table, ["device", "energy_wh"])
    await follow(connection, path, table, written)
    await connection.close()

    # A new connection finds the same rows; an embedded server has been down in between.
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": servers}))
    found = await scan_all(await connection.get_table(path))
    same("rows after opening again", found.num_rows, written + 1)
    print_sums(found.slice(0, written), total)
    await connection.get_admin().drop_table(path)
    await connection.close()


def main():
    if len(sys.argv) > 1:
        print(f"Fluss server at {sys.argv[1]}")
        asyncio.run(run(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory(prefix="fluss-quickstart-") as folder:
        print(f"embedded server, data in {folder}")
        asyncio.run(run(f"embedded:{folder}"))


if __name__ == "__main__":
    main()
