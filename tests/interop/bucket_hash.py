# SPDX-License-Identifier: Apache-2.0
"""Does our client find every key, whichever bucket hash the writer has?

    bucket_hash.py create HOST:PORT DATABASE WRITER    make the tables of a writer anew
    bucket_hash.py write  HOST:PORT DATABASE WRITER    write 100,000 keys to each; also pyfluss
    bucket_hash.py read   HOST:PORT DATABASE WRITER    look up all keys with each setting
    bucket_hash.py own    HOST:PORT DATABASE ours      an empty table, and one with rows of both

A table for each kind of key: INT, BIGINT, STRING and (INT, STRING), 16 buckets. The two hashes
differ on most of the dense INT keys, and on 48 of the sparse ones. The keys of row i are in KEYS
below and in java/…/BucketHash.java. Only `write` works with pyfluss.
Prints a line a check and closes with `N passed, N failed`.
"""

import sys

import fluss
import pyarrow as pa
from peer import run_program

ROWS = 100_000
BUCKETS = 16
MIXED_ROWS = 2000
HASH_OF = {"java": "java", "pyfluss": "rust"}
KEYS = {
    "int": ([("k", pa.int32())], lambda i: (i - 500,)),
    "int_sparse": ([("k", pa.int32())], lambda i: (i * 40_009 - 2_000_000_000,)),
    "bigint": ([("k", pa.int64())], lambda i: (i * 90_000_000_007 - 4_500_000_000_000_000,)),
    "string": ([("k", pa.string())], lambda i: (text(i),)),
    "int_string": ([("k", pa.int32()), ("l", pa.string())], lambda i: (i % 1000 - 500, text(i))),
}


def text(i):
    return f"key-{i}" + "é" * (i % 3)


def keys_of(kind, count=ROWS):
    columns, rule = KEYS[kind]
    names = [name for name, _ in columns]
    return [dict(zip(names, rule(i))) for i in range(count)]


async def connect(address, bucket_hash=None):
    settings = {"bootstrap.servers": address}
    if bucket_hash:
        settings["client.bucket-hash"] = bucket_hash
    return await fluss.FlussConnection.create(fluss.Config(settings))


async def create_table(connection, path, kind):
    admin = connection.get_admin()
    await admin.create_database(path.database_name, ignore_if_exists=True)
    await admin.drop_table(path, ignore_if_not_exists=True)
    columns = KEYS[kind][0]
    names = [name for name, _ in columns]
    fields = [pa.field(name, kind_of, nullable=False) for name, kind_of in columns]
    schema = fluss.Schema(pa.schema([*fields, ("v", pa.int32())]), primary_keys=names)
    await admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=BUCKETS))


async def create(address, database, writer, report):
    connection = await connect(address)
    for kind in KEYS:
        path = fluss.TablePath(database, f"{writer}_{kind}")
        await create_table(connection, path, kind)
        report.check(f"{path} is made", await connection.get_admin().table_exists(path), True)


async def upsert(connection, path, keys, first=0):
    """Row i of the table is a key and v = i."""
    writer = (await connection.get_table(path)).new_upsert().create_writer()
    last = None
    for i, key in enumerate(keys, first):
        last = writer.upsert({**key, "v": i})
    await writer.flush()
    await last.wait()


async def write(address, database, writer, report):
    connection = await connect(address)
    for kind in KEYS:
        path = fluss.TablePath(database, f"{writer}_{kind}")
        await upsert(connection, path, keys_of(kind))
        report.check(f"{path} is written", True, True)


async def count_found(address, path, keys, bucket_hash):
    """How many keys are found; each must have its own row."""
    connection = await connect(address, bucket_hash)
    lookuper = (await connection.get_table(path)).new_lookup().create_lookuper()
    rows = await lookuper.lookup_many(keys)
    wrong = [row for i, row in enumerate(rows) if row is not None and row["v"] != i]
    if wrong:
        raise AssertionError(f"{path}: {len(wrong)} keys have another's row, such as {wrong[0]}")
    return sum(row is not None for row in rows)


async def read(address, database, writer, report):
    right = HASH_OF[writer]
    other = "rust" if right == "java" else "java"
    for kind in KEYS:
        path = fluss.TablePath(database, f"{writer}_{kind}")
        keys = keys_of(kind)
        found = await count_found(address, path, keys, "auto")
        report.check(f"{path}: keys found by auto", found, ROWS)
        found = await count_found(address, path, keys, right)
        report.check(f"{path}: keys found by {right}", found, ROWS)
        found = await count_found(address, path, keys, other)
        print(f"        {other} finds {found} keys of {path}")
        report.check(f"{path}: {other} finds some but not all", 0 < found < ROWS, True)


async def own(address, database, writer, report):
    plain = await connect(address)
    path = fluss.TablePath(database, f"{writer}_empty")
    await create_table(plain, path, "bigint")
    keys = keys_of("bigint", MIXED_ROWS)
    await upsert(plain, path, keys)
    found = await count_found(address, path, keys, "java")
    report.check("an empty table is written as the Java client does", found, MIXED_ROWS)

    path = fluss.TablePath(database, f"{writer}_mixed")
    await create_table(plain, path, "bigint")
    half = MIXED_ROWS // 2
    await upsert(await connect(address, "java"), path, keys[:half])
    await upsert(await connect(address, "rust"), path, keys[half:], half)
    found = await count_found(address, path, keys, "auto")
    report.check("lookups of a mixed table ask both buckets", found, MIXED_ROWS)
    for one in ("java", "rust"):
        found = await count_found(address, path, keys, one)
        report.check(f"{one} alone does not find all of it", half < found < MIXED_ROWS, True)
    message = "no error"
    try:
        await upsert(await connect(address), path, keys[:1])
    except fluss.FlussError as error:
        message = str(error)
    named = all(word in message for word in ("client.bucket-hash", "java", "rust", str(path)))
    report.check(f"a mixed table refuses writes ({message})", named, True)


async def run(arguments, report):
    action, *rest = arguments
    await {"create": create, "write": write, "read": read, "own": own}[action](*rest, report)


if __name__ == "__main__":
    sys.exit(run_program(run))
