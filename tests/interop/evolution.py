# SPDX-License-Identifier: Apache-2.0
"""Tables whose schemas grow, written under each schema and read on every path.

`evolution.py create|alter2|alter3|write1|write2|write3|read|read-ours HOST:PORT DATABASE WRITER`
makes the tables WRITER_log and WRITER_pk, gives them their second and third schema, writes rows
under the present schema, or reads all of them back (read-ours: from our server); `running` alters
tables under readers, writers and lookups that go on. Altering wants our package; the rest runs on
pyfluss too.

| schema | columns |
| --- | --- |
| 1 | `grp` INT, `id` INT, `name` STRING, `n` BIGINT |
| 2 | and `score` DOUBLE |
| 3 | and `tags` ARRAY<STRING>, `extra` ROW<`a` INT, `b` STRING> |

Schema s writes the rows with ids 10 (s - 1) to 10 s - 1, by the rule of `row`. With a key (grp, id)
it also changes older rows: schema 2 sets `score` of key 1 alone and deletes key 2, schema 3 writes
key 0 anew, sets `tags` of key 11 alone and clears of key 3 what a partial delete of (grp, id, n)
clears.
Prints a line a check and closes with `N passed, N failed`.
"""

import asyncio
import sys
import time

import fluss
import pyarrow as pa
from peer import READ_LIMIT_S, run_program

IS_OURS = hasattr(fluss, "Server")
PER_SCHEMA = 10
FIELDS = [
    pa.field("grp", pa.int32(), nullable=False),
    pa.field("id", pa.int32(), nullable=False),
    pa.field("name", pa.string()),
    pa.field("n", pa.int64()),
    pa.field("score", pa.float64()),
    pa.field("tags", pa.list_(pa.string())),
    pa.field("extra", pa.struct([("a", pa.int32()), ("b", pa.string())])),
]
WIDTHS = {1: 4, 2: 5, 3: 7}
NAMES = [field.name for field in FIELDS]
ADDED = {
    2: [("score", "DOUBLE")],
    3: [("tags", "ARRAY<STRING>"), ("extra", "ROW<a INT, b STRING>")],
}


def row(i, schema):
    """Row i as it is written under a schema; what that schema lacks is null."""
    values = {
        "grp": i % 3,
        "id": i,
        "name": f"n{i}" if i % 7 else None,
        "n": i * 10**12,
        "score": i / 4,
        "tags": [f"t{i}", None, ""] if i % 2 else [],
        "extra": {"a": i, "b": None if i % 3 else f"b{i}"} if i % 5 else None,
    }
    return {name: values[name] if k < WIDTHS[schema] else None for k, name in enumerate(NAMES)}


def rows_of(schema):
    return [row(i, schema) for i in range((schema - 1) * PER_SCHEMA, schema * PER_SCHEMA)]


def expected_log():
    return [values for schema in WIDTHS for values in rows_of(schema)]


def expected_pk():
    rows = {values["id"]: values for values in expected_log()}
    rows[1]["score"] = -1.5
    del rows[2]
    rows[0] = row(0, 3)
    rows[11]["tags"] = ["late"]
    rows[3]["n"] = None
    return rows


def path_of(database, writer, kind):
    return fluss.TablePath(database, f"{writer}_{kind}")


async def create_table(connection, path, with_key, fields=None):
    admin = connection.get_admin()
    await admin.create_database(path.database_name, ignore_if_exists=True)
    await admin.drop_table(path, ignore_if_not_exists=True)
    schema = fluss.Schema(
        pa.schema(fields or FIELDS[: WIDTHS[1]]), primary_keys=["grp", "id"] if with_key else None
    )
    keys = {"bucket_keys": ["grp"]} if with_key else {}
    await admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=1, **keys))


async def alter(connection, path, schema):
    changes = [{"change": "add_column", "name": name, "type": kind} for name, kind in ADDED[schema]]
    await connection.get_admin().alter_table(path, changes)


async def table_of_schema(connection, path, schema):
    """The table once its handle shows a schema: right after an ALTER a server may give the old."""
    give_up_at = time.monotonic() + READ_LIMIT_S
    while True:
        table = await connection.get_table(path)
        width = len(table.get_table_info().get_schema().get_column_names())
        if width == WIDTHS[schema] or time.monotonic() > give_up_at:
            return table
        await asyncio.sleep(0.1)


def narrow(values, schema):
    return {name: values[name] for name in NAMES[: WIDTHS[schema]]}


async def write(connection, database, writer, schema, report):
    table = await table_of_schema(connection, path_of(database, writer, "log"), schema)
    appender = table.new_append().create_writer()
    rows = [narrow(values, schema) for values in rows_of(schema)]
    for values in rows[:5]:
        appender.append(values)
    await appender.flush()
    arrow_schema = pa.schema(FIELDS[: WIDTHS[schema]])
    appender.write_arrow_batch(pa.RecordBatch.from_pylist(rows[5:], schema=arrow_schema))
    await appender.flush()
    table = await table_of_schema(connection, path_of(database, writer, "pk"), schema)
    upserter = table.new_upsert().create_writer()
    for values in rows:
        upserter.upsert(values)
    if schema == 2:
        upserter.delete({"grp": 2, "id": 2})
        part = table.new_upsert().partial_update_by_name(["grp", "id", "score"]).create_writer()
        await upserter.flush()
        part.upsert({"grp": 1, "id": 1, "score": -1.5})
        await part.flush()
    elif schema == 3:
        upserter.upsert(row(0, 3))
        await upserter.flush()
        part = table.new_upsert().partial_update_by_name(["grp", "id", "tags"]).create_writer()
        part.upsert({"grp": 11 % 3, "id": 11, "tags": ["late"]})
        await part.flush()
        part = table.new_upsert().partial_update_by_name(["grp", "id", "n"]).create_writer()
        part.delete({"grp": 0, "id": 3})
        await part.flush()
    await upserter.flush()
    report.check(f"rows of schema {schema} are written", len(rows), PER_SCHEMA)


def plain(record_row):
    """A row as dict, whatever the package's row type is."""
    values = dict(record_row)
    if isinstance(values.get("extra"), tuple):
        values["extra"] = dict(zip(("a", "b"), values["extra"]))
    return values


async def poll_rows(scanner, count):
    found = []
    give_up_at = time.monotonic() + READ_LIMIT_S
    while len(found) < count and time.monotonic() < give_up_at:
        found += [plain(record.row) for record in await scanner.poll(2000)]
    return found


async def poll_batch_rows(scanner, count):
    """Rows of Arrow batches, each with the columns of its own batch."""
    found = []
    give_up_at = time.monotonic() + READ_LIMIT_S
    while len(found) < count and time.monotonic() < give_up_at:
        for batch in await scanner.poll_record_batch(2000):
            found += batch.batch.to_pylist()
    return found


async def read_log(connection, path, on_ours, report):
    table = await table_of_schema(connection, path, 3)
    expected = expected_log()
    scanner = await table.new_scan().with_fixed_schema(True).create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    report.check("log: records", await poll_rows(scanner, len(expected)), expected)
    scanner = await table.new_scan().with_fixed_schema(True).create_record_batch_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    report.check("log: Arrow", (await scanner.to_arrow()).to_pylist(), expected)
    scanner = await table.new_scan().with_fixed_schema(False).create_record_batch_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    written = [narrow(values, schema) for schema in WIDTHS for values in rows_of(schema)]
    report.check("log: as written", await poll_batch_rows(scanner, len(written)), written)
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    for limit in (5, 15, 25):
        scanner = table.new_scan().limit(limit).create_bucket_batch_scanner(bucket)
        found = (await scanner.to_arrow()).to_pylist()
        report.check(f"log: the last {limit}", found, expected[-limit:])
    await project_log(table, expected, on_ours, report)


async def project_log(table, expected, on_ours, report):
    """A projection to columns that older rows lack: the official server refuses those rows, which
    our client then reads whole; ours sends nulls."""
    columns = ["extra", "id"]
    wanted = [{name: values[name] for name in columns} for values in expected]
    starts = {"new rows": 2 * PER_SCHEMA}
    if IS_OURS or on_ours:
        starts |= {"all rows": 0, "from the middle": 7}
    for what, start in starts.items():
        scan = table.new_scan().project_by_name(columns)
        scanner = await scan.create_record_batch_log_scanner()
        scanner.subscribe(0, start)
        found = (await scanner.to_arrow()).to_pylist()
        report.check(f"log: projected, {what}", found, wanted[start:])
    if IS_OURS or on_ours:
        scanner = await table.new_scan().project_by_name(["tags"]).create_log_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        found = await poll_rows(scanner, len(expected))
        report.check("log: only new columns", found, [{"tags": r["tags"]} for r in expected])


async def read_pk(connection, path, report):
    table = await table_of_schema(connection, path, 3)
    expected = expected_pk()
    lookuper = table.new_lookup().create_lookuper()
    found = {}
    for i in range(3 * PER_SCHEMA):
        values = await lookuper.lookup({"grp": i % 3, "id": i})
        if values is not None:
            found[i] = plain(values)
    report.check("pk: lookups", found, expected)
    prefix = table.new_lookup().lookup_by(["grp"]).create_lookuper()
    found = {}
    for group in range(3):
        rows = await prefix.lookup({"grp": group})
        found |= {values["id"]: plain(values) for values in rows}
    report.check("pk: prefix lookups", found, expected)
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    scanner = table.new_scan().limit(100).create_bucket_batch_scanner(bucket)
    rows = (await scanner.to_arrow()).to_pylist()
    report.check("pk: limit scan", {values["id"]: values for values in rows}, expected)
    scanner = table.new_scan().project_by_name(["tags", "id"]).limit(100)
    rows = (await scanner.create_bucket_batch_scanner(bucket).to_arrow()).to_pylist()
    wanted = {i: {"tags": values["tags"], "id": i} for i, values in expected.items()}
    report.check("pk: projected limit scan", {r["id"]: r for r in rows}, wanted)
    if IS_OURS:
        rows = (await table.new_scan().to_arrow()).to_pylist()
        report.check("pk: whole table", {values["id"]: values for values in rows}, expected)
    await read_changelog(table, expected, report)


async def read_changelog(table, expected, report):
    """The changelog from its start, folded into a table."""
    scanner = await table.new_scan().with_fixed_schema(True).create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    image, give_up_at = {}, time.monotonic() + READ_LIMIT_S
    while image != expected and time.monotonic() < give_up_at:
        for record in await scanner.poll(500):
            values = plain(record.row)
            change = record.change_type.short_string()
            if change in ("-U", "-D"):
                old = image.pop(values["id"], None)
                if old != values:
                    report.check(f"pk: {change} has the old row", values, old)
            else:
                image[values["id"]] = values
    report.check("pk: changelog", image, expected)


async def running(connection, database, report):
    """ALTER under a scanner, writers and lookups: each handle keeps the columns it began with."""
    log, pk = path_of(database, "running", "log"), path_of(database, "running", "pk")
    await create_table(connection, log, False)
    await create_table(connection, pk, True)
    old_log, old_pk = await connection.get_table(log), await connection.get_table(pk)
    scanner = await old_log.new_scan().create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    appender, upserter = old_log.new_append().create_writer(), old_pk.new_upsert().create_writer()
    lookuper = old_pk.new_lookup().create_lookuper()
    written = []

    async def write_old(first):
        for i in range(first, first + 5):
            appender.append(narrow(row(i, 1), 1))
            upserter.upsert(narrow(row(i, 1), 1))
            written.append(row(i, 1))
        await appender.flush()
        await upserter.flush()

    await write_old(0)
    for schema in (2, 3):
        await alter(connection, log, schema)
        await alter(connection, pk, schema)
        await write_old(100 * schema)
        new_log = await table_of_schema(connection, log, schema)
        new_pk = await table_of_schema(connection, pk, schema)
        newer = new_log.new_append().create_writer()
        keyed = new_pk.new_upsert().create_writer()
        for i in range(100 * schema + 50, 100 * schema + 55):
            newer.append(narrow(row(i, schema), schema))
            keyed.upsert(narrow(row(i, schema), schema))
            written.append(row(i, schema))
        await newer.flush()
        await keyed.flush()
        found = await lookuper.lookup({"grp": (100 * schema + 51) % 3, "id": 100 * schema + 51})
        old_view = narrow(row(100 * schema + 51, schema), 1)
        report.check(f"an old lookup of a row of schema {schema}", plain(found), old_view)
    found = await poll_rows(scanner, len(written))
    report.check("the old scanner goes on", found, [narrow(values, 1) for values in written])
    new_log = await table_of_schema(connection, log, 3)
    rows = (await new_log.new_scan().to_arrow()).to_pylist()
    report.check("a new scanner sees all columns", rows, written)
    lookuper = (await table_of_schema(connection, pk, 3)).new_lookup().create_lookuper()
    found = [plain(await lookuper.lookup({"grp": r["grp"], "id": r["id"]})) for r in written]
    report.check("new lookups see all columns", found, written)
    # An old handle that writes a row anew clears what it does not know.
    upserter.upsert(narrow(row(351, 1), 1))
    await upserter.flush()
    found = plain(await lookuper.lookup({"grp": 0, "id": 351}))
    report.check("an old writer's full row", found, row(351, 1))


async def run(arguments, report):
    action, address, database, writer = arguments
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": address}))
    paths = {kind: path_of(database, writer, kind) for kind in ("log", "pk")}
    if action == "create":
        for kind, path in paths.items():
            await create_table(connection, path, kind == "pk")
        report.check("the tables are made", 2, len(paths))
    elif action.startswith("alter"):
        for path in paths.values():
            await alter(connection, path, int(action[5:]))
            info = (await table_of_schema(connection, path, int(action[5:]))).get_table_info()
            report.check("the schema's id", info.schema_id, int(action[5:]))
    elif action.startswith("write"):
        await write(connection, database, writer, int(action[5:]), report)
    elif action == "running":
        await running(connection, database, report)
    else:
        await read_log(connection, paths["log"], action == "read-ours", report)
        await read_pk(connection, paths["pk"], report)


if __name__ == "__main__":
    sys.exit(run_program(run))
