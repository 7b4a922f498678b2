# SPDX-License-Identifier: Apache-2.0
"""A Python client as an interop peer: whatever package `fluss` the interpreter has.

`peer.py create|write|read KIND HOST:PORT DATABASE TABLE`, KIND being log, pk or a key of FORMATS,
makes the table of README.md anew, writes its rows, or reads them back and compares every value
and offset. Uses only what pyfluss 1.0 has, so that it serves that package and ours. Arrow has no
CHAR, so `create` makes that column a STRING.
Prints a line a check and closes with `N passed, N failed`.
"""

import asyncio
import datetime
import decimal
import sys
import time
import traceback

import fluss
import pyarrow as pa

ROWS = 100
READ_LIMIT_S = 60
EPOCH = datetime.datetime(1970, 1, 1)
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("c_boolean", pa.bool_()),
        ("c_tinyint", pa.int8()),
        ("c_smallint", pa.int16()),
        ("c_bigint", pa.int64()),
        ("c_float", pa.float32()),
        ("c_double", pa.float64()),
        ("c_char", pa.string()),
        ("c_string", pa.string()),
        ("c_binary", pa.binary(8)),
        ("c_bytes", pa.binary()),
        ("c_decimal", pa.decimal128(10, 2)),
        ("c_decimal_wide", pa.decimal128(22, 5)),
        ("c_date", pa.date32()),
        ("c_time", pa.time32("ms")),
        ("c_timestamp", pa.timestamp("us")),
        ("c_timestamp_ltz", pa.timestamp("us", tz="UTC")),
    ]
)
RULES = [
    lambda i: i,
    lambda i: i % 2 == 0,
    lambda i: i - 50,
    lambda i: i * 300 - 15000,
    lambda i: i * 90_000_000_000_000_007 - 4_500_000_000_000_000_000,
    lambda i: i * 0.25 - 3.0,
    lambda i: i * 0.1,
    lambda i: f"{i:04d}",
    lambda i: f"row-{i}-" + "é€😀" * (i % 5),
    lambda i: (i + 1).to_bytes(8, "big"),
    lambda i: bytes([i]) * i,
    lambda i: decimal.Decimal(i * 12345 - 500_000).scaleb(-2),
    lambda i: decimal.Decimal(i * 10**18 + 7).scaleb(-5),
    lambda i: (EPOCH + datetime.timedelta(days=i * 1000 - 5000)).date(),
    lambda i: (EPOCH + datetime.timedelta(milliseconds=i * 863_999)).time(),
    lambda i: EPOCH + moment(1_700_000_000_000 + i * 86_400_001, i),
    lambda i: utc(EPOCH + moment(1_600_000_000_000 + i * 1000, i)),
]


def moment(milliseconds, microseconds):
    return datetime.timedelta(milliseconds=milliseconds, microseconds=microseconds)


def utc(naive):
    return naive.replace(tzinfo=datetime.timezone.utc)


def row(i):
    """Row i as a dict, by the rule of README.md."""
    values = [rule(i) if k == 0 or (i + k) % 7 else None for k, rule in enumerate(RULES)]
    return dict(zip(COLUMNS.names, values))


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, found, expected):
        if found == expected:
            self.passed += 1
            print(f"ok      {what}")
        else:
            self.failed += 1
            print(f"FAILED  {what}: found {found!r}, expected {expected!r}")


def difference(found, i):
    """The first column that differs, as text; None when all are equal."""
    for column, expected in row(i).items():
        if found[column] != expected:
            return f"row {i}, {column}: {found[column]!r}, not {expected!r}"
    return None


# Formats by kind of table; the others have those that a table has by itself.
FORMATS = {
    "log_indexed": {"table.log.format": "INDEXED"},
    "log_compacted": {"table.log.format": "COMPACTED"},
    "pk_indexed": {"table.kv.format": "INDEXED"},
    "pk_compacted": {"table.log.format": "COMPACTED"},
}


async def create(connection, path, kind, report):
    with_key = kind.startswith("pk")
    admin = connection.get_admin()
    await admin.create_database(path.database_name, ignore_if_exists=True)
    await admin.drop_table(path, ignore_if_not_exists=True)
    schema = fluss.Schema(COLUMNS, primary_keys=["id"] if with_key else None)
    formats = FORMATS.get(kind, {})
    description = fluss.TableDescriptor(schema, bucket_count=1, properties=formats)
    await admin.create_table(path, description)
    report.check("the table is made", await admin.table_exists(path), True)


async def write(connection, path, with_key, report):
    table = await connection.get_table(path)
    if with_key:
        writer = table.new_upsert().create_writer()
        acks = [writer.upsert({**row(ROWS - 1 - i), "id": i}) for i in range(ROWS)]
        acks += [writer.upsert(row(i)) for i in range(ROWS)]
        acks.append(writer.delete({"id": ROWS - 1}))
    else:
        writer = table.new_append().create_writer()
        acks = [writer.append(row(i)) for i in range(ROWS // 2)]
        await writer.flush()  # the other half as one Arrow batch, after the rows
        rest = [row(i) for i in range(ROWS // 2, ROWS)]
        acks.append(writer.write_arrow_batch(pa.RecordBatch.from_pylist(rest, schema=COLUMNS)))
    await writer.flush()
    for ack in acks:
        await ack.wait()  # a flush alone does not tell of batches that failed
    report.check("all writes are acknowledged", len(acks), 201 if with_key else ROWS // 2 + 1)


async def read_admin(connection, path, with_key, report):
    admin = connection.get_admin()
    databases = await admin.list_databases()
    report.check("the database is listed", path.database_name in databases, True)
    tables = await admin.list_tables(path.database_name)
    report.check("the table is listed", path.table_name in tables, True)
    info = await admin.get_table_info(path)
    report.check("the columns are equal", info.get_schema().get_column_names(), COLUMNS.names)
    report.check("the key is equal", list(info.get_primary_keys()), ["id"] if with_key else [])
    report.check("it has one bucket", info.num_buckets, 1)
    if not with_key:
        latest = await admin.list_offsets(path, [0], fluss.OffsetSpec.latest())
        report.check("the latest offset", latest, {0: ROWS})
    earliest = await admin.list_offsets(path, [0], fluss.OffsetSpec.earliest())
    report.check("the earliest offset", earliest, {0: 0})


async def poll_rows(scanner, count):
    """(offset, row) of the next `count` records, fewer when time is over."""
    found = []
    give_up_at = time.monotonic() + READ_LIMIT_S
    while len(found) < count and time.monotonic() < give_up_at:
        found += [(record.offset, record.row) for record in await scanner.poll(5000)]
    return found


async def read_log(connection, path, report):
    table = await connection.get_table(path)
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    found = await poll_rows(scanner, ROWS)
    wrong = [difference(values, i) for i, (_, values) in enumerate(found)]
    report.check("every value is equal", next(filter(None, wrong), None), None)
    report.check("the offsets are dense", [offset for offset, _ in found], list(range(ROWS)))
    scanner = await table.new_scan().project_by_name(["c_string", "id"]).create_log_scanner()
    scanner.subscribe(0, ROWS - 10)
    ids = [values["id"] for _, values in await poll_rows(scanner, 10)]
    report.check("a projected read from an offset", ids, list(range(ROWS - 10, ROWS)))
    scanner = await table.new_scan().create_record_batch_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    rows = (await scanner.to_arrow()).to_pylist()
    wrong = [difference(values, i) for i, values in enumerate(rows)]
    report.check("every value of to_arrow is equal", next(filter(None, wrong), None), None)
    report.check("to_arrow gives all rows", len(rows), ROWS)


async def read_pk(connection, path, report):
    table = await connection.get_table(path)
    lookuper = table.new_lookup().create_lookuper()
    found = [await lookuper.lookup({"id": i}) for i in range(ROWS)]
    wrong = [difference(values, i) for i, values in enumerate(found) if values is not None]
    report.check("every value is equal", next(filter(None, wrong), None), None)
    missing = [i for i, values in enumerate(found) if values is None]
    report.check("all keys but the deleted one are found", missing, [ROWS - 1])


async def run(arguments, report):
    action, kind, address, database, name = arguments
    with_key = kind.startswith("pk")
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": address}))
    path = fluss.TablePath(database, name)
    if action == "create":
        await create(connection, path, kind, report)
    elif action == "write":
        await write(connection, path, with_key, report)
    else:
        await read_admin(connection, path, with_key, report)
        await (read_pk if with_key else read_log)(connection, path, report)


def run_program(run):
    """Run `run(arguments, report)` with those of the command line; the status to exit with."""
    report = Report()
    try:
        asyncio.run(run(sys.argv[1:], report))
    except Exception:
        report.failed += 1
        traceback.print_exc(file=sys.stdout)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(run_program(run))
