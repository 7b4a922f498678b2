# SPDX-License-Identifier: Apache-2.0
"""Logs that the official server has tiered to a local file system, read by a Python client.

`tiered.py write|read|broken HOST:PORT DATABASE TABLE REMOTE_DIR` fills a table of two buckets over
many small segments and waits until the oldest of them lie in REMOTE_DIR alone; reads every row as
records, as Arrow, projected and from offsets within segments; or, for our package, takes segments
away and breaks them: the error is of that bucket alone, and names the file.
Prints a line a check and closes with `N passed, N failed`.
"""

import asyncio
import shutil
import sys
import time
from pathlib import Path

import fluss
import pyarrow as pa
from peer import READ_LIMIT_S, run_program

BUCKETS, BATCHES, ROWS = 2, 40, 300
COLUMNS = pa.schema([("id", pa.int32()), ("text", pa.string()), ("square", pa.int64())])
NAMES = COLUMNS.names


def rows_of(batch):
    """The rows of one batch; text that does not compress, so that segments fill."""
    ids = range(batch * ROWS, (batch + 1) * ROWS)
    return [{"id": i, "text": f"{i * 2654435761 % 2**32:032b}", "square": i * i} for i in ids]


async def write(connection, path, remote, report):
    admin = connection.get_admin()
    await admin.create_database(path.database_name, ignore_if_exists=True)
    await admin.drop_table(path, ignore_if_not_exists=True)
    description = fluss.TableDescriptor(
        fluss.Schema(COLUMNS),
        bucket_count=BUCKETS,
        bucket_keys=["id"],
        properties={
            "table.log.tiered.local-segments": "1",
            "table.log.arrow.compression.type": "NONE",
        },
    )
    await admin.create_table(path, description)
    table = await connection.get_table(path)
    writer = table.new_append().create_writer()
    for i in range(BATCHES):
        writer.write_arrow_batch(pa.RecordBatch.from_pylist(rows_of(i), schema=COLUMNS))
        await writer.flush()
    give_up_at = time.monotonic() + READ_LIMIT_S
    tiered = set()
    while len(tiered) < BUCKETS and time.monotonic() < give_up_at:
        await asyncio.sleep(0.2)  # between looks at the files of another process
        tiered = {f.parts[-3] for f in segments(remote, path) if int(f.stem) > 0}
    report.check("segments of every bucket are tiered", len(tiered), BUCKETS)


def segments(remote, path):
    """The tiered segments: REMOTE/log/DATABASE/TABLE-ID/BUCKET/SEGMENT/OFFSET.log"""
    return sorted(
        (Path(remote) / "log" / path.database_name).glob(f"{path.table_name}-*/*/*/*.log")
    )


def remote_bytes(connection):
    """What came from tiered files; None where the package does not tell."""
    if not hasattr(connection, "metrics"):
        return None
    return connection.metrics()["fluss_client_scanner_remote_bytes_total"]


async def scanned(table, positions, columns=None):
    """The rows from these offsets to the end, by bucket in the order of offsets, as Arrow."""
    scan = table.new_scan() if columns is None else table.new_scan().project_by_name(columns)
    scanner = await scan.create_record_batch_log_scanner()
    scanner.subscribe_buckets(positions)
    return await scanner.to_arrow()


async def polled(table, count):
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe_buckets({b: fluss.EARLIEST_OFFSET for b in range(BUCKETS)})
    found = {b: [] for b in range(BUCKETS)}
    give_up_at = time.monotonic() + READ_LIMIT_S
    while sum(map(len, found.values())) < count and time.monotonic() < give_up_at:
        for bucket, records in (await scanner.poll(5000)).items():
            found[bucket.bucket_id] += [(record.offset, dict(record.row)) for record in records]
    return found


async def read(connection, path, _, report):
    table = await connection.get_table(path)
    expected = sorted((row for i in range(BATCHES) for row in rows_of(i)), key=lambda r: r["id"])
    earliest = {b: fluss.EARLIEST_OFFSET for b in range(BUCKETS)}
    before = remote_bytes(connection)
    rows = (await scanned(table, earliest)).to_pylist()
    report.check("to_arrow gives every row", sorted(rows, key=lambda r: r["id"]), expected)
    if before is not None:
        report.check("some came from tiered files", remote_bytes(connection) > before, True)
    few = await scanned(table, earliest, ["square", "id"])
    report.check("a projection has its columns", few.schema.names, ["square", "id"])
    report.check(
        "and every row",
        sorted(few.to_pylist(), key=lambda r: r["id"]),
        [{"square": r["square"], "id": r["id"]} for r in expected],
    )
    found = await polled(table, len(expected))
    for bucket, records in found.items():
        offsets = [offset for offset, _ in records]
        report.check(f"bucket {bucket}: dense offsets", offsets, list(range(len(records))))
    rows = sorted((row for records in found.values() for _, row in records), key=lambda r: r["id"])
    report.check("records have every row", rows, expected)
    for start in (1, 777, 2000, 4321):
        rows = (await scanned(table, {0: start})).to_pylist()
        report.check(f"from offset {start}", rows, [row for _, row in found[0][start:]])


async def fails(table, file, what, report):
    """The bucket of a broken segment fails by a typed error; the other one is read."""
    bucket = int(file.parts[-3])
    try:
        await scanned(table, {bucket: fluss.EARLIEST_OFFSET})
        report.check(f"{what}: an error", "none", "an error")
    except fluss.FlussError as error:
        report.check(f"{what}: its code", error.error_code, fluss.ErrorCode.STORAGE_EXCEPTION)
        report.check(f"{what}: it names the file", str(file) in str(error), True)
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe_buckets({b: fluss.EARLIEST_OFFSET for b in range(BUCKETS)})
    errors, other = 0, 0
    expected = await row_count(table, 1 - bucket)
    give_up_at = time.monotonic() + READ_LIMIT_S
    while (other < expected or not errors) and time.monotonic() < give_up_at:
        try:
            other += sum(r.bucket.bucket_id != bucket for r in await scanner.poll(2000))
        except fluss.FlussError:
            errors += 1
    report.check(f"{what}: the other bucket is read", other, expected)


async def row_count(table, bucket):
    scanner = await table.new_scan().create_record_batch_log_scanner()
    scanner.subscribe(bucket, fluss.EARLIEST_OFFSET)
    return (await scanner.to_arrow()).num_rows


async def broken(connection, path, remote, report):
    table = await connection.get_table(path)
    file = segments(remote, path)[0]
    kept = file.with_suffix(".kept")
    shutil.move(file, kept)
    await fails(table, file, "a segment that is gone", report)
    file.write_bytes(kept.read_bytes()[:-100])
    await fails(table, file, "a segment that is short", report)
    file.unlink()
    file.mkdir()
    await fails(table, file, "a folder in its place", report)
    file.rmdir()
    shutil.move(kept, file)
    await read(connection, path, remote, report)


async def run(arguments, report):
    action, address, database, name, remote = arguments
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": address}))
    path = fluss.TablePath(database, name)
    await {"write": write, "read": read, "broken": broken}[action](connection, path, remote, report)


if __name__ == "__main__":
    sys.exit(run_program(run))
