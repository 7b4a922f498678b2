# SPDX-License-Identifier: Apache-2.0
"""What one operation of a Python program costs: time, and processor time of client and server.

    python cost_bench.py --bootstrap ADDRESS [--server PID,PID] [--scale 1.0] [--only NAME,NAME]

Like the peer benchmark it uses the API of pyfluss 1.0, so that both packages run it, and checks
what it reads; what only one of them has is measured where it is there. Processor time says more
than time on a machine that others use too. `bench/run --program cost` runs it for each pair.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import time

import fluss
import pyarrow as pa

LOG = pa.schema(
    [
        ("id", pa.int64()),
        ("device", pa.string()),
        ("value", pa.float64()),
        ("ts", pa.timestamp("us")),
        ("ok", pa.bool_()),
    ]
)
KV = pa.schema(
    [("id", pa.int32()), ("name", pa.string()), ("score", pa.int64()), ("note", pa.string())]
)
POLL_MS = 5000
GATHER_S_MAX = 20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def log_rows(start, count):
    moment = 1_700_000_000_000_000
    return pa.record_batch(
        [
            pa.array(range(start, start + count), pa.int64()),
            pa.array([f"device-{i % 997:04d}" for i in range(start, start + count)]),
            pa.array([i * 0.5 for i in range(start, start + count)]),
            pa.array(range(moment + start, moment + start + count), pa.timestamp("us")),
            pa.array([i % 3 == 0 for i in range(start, start + count)]),
        ],
        schema=LOG,
    )


def kv_rows(count, note):
    return [{"id": i, "name": f"user-{i}", "score": i * 7, "note": note * 64} for i in range(count)]


class Costs:
    """Figures by name, printed as they come."""

    def __init__(self, servers, only):
        self.servers = servers
        self.only = only
        self.figures = {}

    def wants(self, group):
        return not self.only or group in self.only

    def _server_s(self):
        ticks = 0
        for pid in self.servers:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                ticks += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        return ticks / TICKS_PER_S

    @contextlib.contextmanager
    def of(self, name, count):
        """Measure what is done inside, `count` operations, or as many as it says afterwards."""
        server, client, start = self._server_s(), time.process_time(), time.perf_counter()
        yield
        spent = time.perf_counter() - start
        client, server = time.process_time() - client, self._server_s() - server
        count = count() if callable(count) else count
        self.put(
            name,
            count=count,
            us=spent / count * 1e6,
            client_us=client / count * 1e6,
            **({"server_us": server / count * 1e6} if self.servers else {}),
        )

    def put(self, name, **figures):
        self.figures[name] = figures
        shown = "  ".join(f"{key}={value:,.3f}" for key, value in figures.items() if key != "count")
        print(f"{name:24s} {shown}", flush=True)


async def fresh_table(conn, name, schema, **options):
    admin = conn.get_admin()
    path = fluss.TablePath("fluss", name)
    await admin.drop_table(path, ignore_if_not_exists=True)
    descriptor = fluss.TableDescriptor(schema, bucket_count=1, **options)
    await admin.create_table(path, descriptor, ignore_if_exists=False)
    await asyncio.sleep(0.5)  # the official server elects leaders
    return await conn.get_table(path)


async def record_scanner(table):
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    return scanner


async def batch_scanner(table):
    scanner = await table.new_scan().create_record_batch_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    return scanner


async def measure_rows(conn, costs, scale):
    table = await fresh_table(conn, "cost_rows", fluss.Schema(LOG))
    count = int(100_000 * scale)
    dicts = log_rows(0, count).to_pylist()
    lists = [list(row.values()) for row in dicts]
    for name, rows in (("append_dict", dicts), ("append_list", lists)):
        writer = table.new_append().create_writer()
        with costs.of(name, count):
            for row in rows:
                writer.append(row)
            await writer.flush()
    for name, columns in (("poll_records", 0), ("poll_rows", 1)):
        scanner = await record_scanner(table)
        total, seen = 0, 0
        with costs.of(name, 2 * count):
            while seen < 2 * count:
                for record in await scanner.poll(POLL_MS):
                    seen += 1
                    if columns:
                        total += record.row["id"]
        assert total == columns * count * (count - 1)


async def measure_arrow(conn, costs, scale):
    for kind in ("NONE", "ZSTD"):
        options = {"properties": {"table.log.arrow.compression.type": kind}}
        table = await fresh_table(conn, f"cost_{kind.lower()}", fluss.Schema(LOG), **options)
        rows, batches = 20_000, max(1, int(50 * scale))
        sample = [log_rows(i * rows, rows) for i in range(min(batches, 10))]
        name, count = kind.lower(), rows * batches
        writer = table.new_append().create_writer()
        with costs.of(f"write_arrow_{name}", count):
            for i in range(batches):
                writer.write_arrow_batch(sample[i % len(sample)])
            await writer.flush()
        scanner = await batch_scanner(table)
        with costs.of(f"to_arrow_{name}", count):
            read = await scanner.to_arrow()
        assert read.num_rows == count
    frame = pa.Table.from_batches(sample).to_pandas()
    with costs.of("write_pandas", len(frame)):
        writer.write_pandas(frame)
        await writer.flush()


async def measure_kv(conn, costs, scale):
    schema = fluss.Schema(KV, primary_keys=["id"])
    table = await fresh_table(conn, "cost_kv", schema)
    count = int(100_000 * scale)
    for name, note in (("upsert_insert", "x"), ("upsert_update", "z")):
        rows = kv_rows(count, note)
        writer = table.new_upsert().create_writer()
        with costs.of(name, count):
            for row in rows:
                writer.upsert(row)
            await writer.flush()
    scanner = await record_scanner(table)
    seen = 0
    with costs.of("changelog_rows", 3 * count):
        while seen < 3 * count:
            for record in await scanner.poll(POLL_MS):
                seen += record.row is not None
    await measure_lookups(table, costs, count, scale)
    await measure_scans(table, costs, count, scale)


async def measure_lookups(table, costs, count, scale):
    lookuper = table.new_lookup().create_lookuper()
    keys = [{"id": i * 7919 % count} for i in range(max(1, int(20_000 * scale)))]
    serial = keys[: max(1, len(keys) // 200)]
    with costs.of("lookup_one_by_one", len(serial)):
        for key in serial:
            row = await lookuper.lookup(key)
            assert row["score"] == key["id"] * 7
    await measure_gathered(lookuper, costs, keys)
    if hasattr(lookuper, "lookup_many"):
        with costs.of("lookup_many_1000", len(keys)):
            for at in range(0, len(keys), 1000):
                some = keys[at : at + 1000]
                rows = await lookuper.lookup_many(some)
                assert all(row["score"] == key["id"] * 7 for row, key in zip(rows, some))


async def measure_gathered(lookuper, costs, keys):
    """For as long as a package may take: pyfluss looks keys up one after the other."""
    done, until = 0, time.perf_counter() + GATHER_S_MAX
    with costs.of("lookup_gather_50", lambda: done):
        while done < len(keys) and time.perf_counter() < until:
            some = keys[done : done + 50]
            rows = await asyncio.gather(*[lookuper.lookup(key) for key in some])
            assert all(row["score"] == key["id"] * 7 for row, key in zip(rows, some))
            done += len(some)


async def measure_scans(table, costs, count, scale):
    times, limit = max(1, int(20 * scale)), min(count, 1000)
    with costs.of("limit_scan_1000", times * limit):
        for _ in range(times):
            bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
            scanner = table.new_scan().limit(limit).create_bucket_batch_scanner(bucket)
            read = await scanner.to_arrow()
            assert read.num_rows == limit


async def measure_memory(conn, costs, scale):
    table = await fresh_table(conn, "cost_memory", fluss.Schema(LOG))
    rows, batches = 20_000, max(1, int(250 * scale))
    sample = log_rows(0, rows)
    writer = table.new_append().create_writer()
    for _ in range(batches):
        writer.write_arrow_batch(sample)
    await writer.flush()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scanner = await batch_scanner(table)
    with costs.of("memory_to_arrow", rows * batches):
        read = await scanner.to_arrow()
    assert read.num_rows == rows * batches
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    costs.put("memory", before_mb=before / 1024, peak_mb=after / 1024, data_mb=read.nbytes / 2**20)


GROUPS = {
    "rows": measure_rows,
    "arrow": measure_arrow,
    "kv": measure_kv,
    "memory": measure_memory,
}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument(
        "--server", default="", help="process ids whose time counts as the server's"
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    costs = Costs(options.server.split(",") if options.server else [], options.only)
    start = time.perf_counter()
    conn = await fluss.FlussConnection.create(
        fluss.Config({"bootstrap.servers": options.bootstrap})
    )
    costs.put("connect", ms=(time.perf_counter() - start) * 1e3)
    for name, measure in GROUPS.items():
        if costs.wants(name):
            await measure(conn, costs, options.scale)
    with contextlib.suppress(TypeError):
        await conn.close()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(costs.figures, file, indent=1)


asyncio.run(main())
