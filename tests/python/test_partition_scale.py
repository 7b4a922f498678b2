# SPDX-License-Identifier: Apache-2.0
"""Tables of many partitions: made, written, read, read after a restart, dropped.

Goal: every row in its partition, once; the server's memory and open files stay within what
docs/server.md says, however many buckets there are. Method: a server process of its own, whose
files and memory are looked at from outside. $FLUSS_TEST_PARTITIONS partitions (default 40) of
four buckets; .ci/run takes 1,000.
"""

import os
import sys
import time
from pathlib import Path

import fluss
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from wire import BUILD, Server  # noqa: E402

CALL_S_MAX = 120
PARTITION_COUNT = int(os.environ.get("FLUSS_TEST_PARTITIONS", "40"))
BUCKET_COUNT = 4
ROWS_EACH = 20  # of a partition
FILES_ALLOWED = 1024  # of the server's process: half of them for logs
RSS_FIXED_KIB = 64 << 10
RSS_EACH_KIB = 40  # of a bucket in use
SCHEMA = [("id", pa.int32()), ("day", pa.string()), ("value", pa.int64())]


def open_files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def start_with_few_files(folder):
    """A server whose process may open FILES_ALLOWED files."""
    script = folder / "fluss"
    program = (BUILD / "fluss").resolve()
    script.write_text(f'#!/bin/sh\nulimit -n {FILES_ALLOWED}\nexec {program} "$@"\n')
    script.chmod(0o755)
    return Server(folder / "data", command=script)


def connect(server):
    made = fluss.FlussConnection.create(bootstrap_servers=server.address)
    return made.result(CALL_S_MAX)


def name_of(i):
    return f"d{i:05d}"


def rows():
    """A batch of all rows, the partitions mixed."""
    count = PARTITION_COUNT * ROWS_EACH
    ids = pa.array(range(count), pa.int32())
    days = pa.array([name_of(i % PARTITION_COUNT) for i in range(count)])
    values = pa.array(range(0, count * 3, 3), pa.int64())
    return pa.record_batch([ids, days, values], schema=pa.schema(SCHEMA))


def check_rows(table):
    found = table.new_scan().to_arrow()
    assert found.num_rows == PARTITION_COUNT * ROWS_EACH
    ids = found.column("id").to_pylist()
    days = dict(zip(ids, found.column("day").to_pylist(), strict=True))
    assert days == {i: name_of(i % PARTITION_COUNT) for i in range(len(ids))}


def check_limits(server):
    rss_max = RSS_FIXED_KIB + RSS_EACH_KIB * PARTITION_COUNT * BUCKET_COUNT
    assert open_files(server) <= FILES_ALLOWED * 3 // 4
    assert server.rss_kib() <= rss_max


def make_partitions(admin, path):
    calls = [admin.create_partition(path, {"day": name_of(i)}) for i in range(PARTITION_COUNT)]
    for call in calls:
        call.result(CALL_S_MAX)
    infos = admin.list_partition_infos(path).result(CALL_S_MAX)
    assert len({info.partition_id for info in infos}) == PARTITION_COUNT


def drop_partitions(admin, path):
    calls = [admin.drop_partition(path, {"day": name_of(i)}) for i in range(PARTITION_COUNT)]
    for call in calls:
        call.result(CALL_S_MAX)
    assert admin.list_partition_infos(path).result(CALL_S_MAX) == []


def wait_until_gone(folder):
    """The files of what was dropped go in the background."""
    deadline = time.monotonic() + CALL_S_MAX
    while any(names for _, names, _ in os.walk(folder) if "log-0" in names):
        assert time.monotonic() < deadline, f"{folder} still holds logs"
        time.sleep(0.05)


@pytest.mark.parametrize("kind", ["log", "pk"])
def test_many_partitions(tmp_path, kind):
    keys = ["id", "day"] if kind == "pk" else None
    description = fluss.TableDescriptor(
        fluss.Schema(pa.schema(SCHEMA), primary_keys=keys),
        partition_keys=["day"],
        bucket_keys=["id"],
        bucket_count=BUCKET_COUNT,
    )
    path = fluss.TablePath("fluss", f"many_{kind}")
    figures = []

    def note(what):
        figures.append(
            f"{what} {time.monotonic() - started:.2f} s {server.rss_kib() >> 10} MiB "
            f"{open_files(server)} files"
        )

    with start_with_few_files(tmp_path) as server:
        started = time.monotonic()
        connection = connect(server)
        admin = connection.get_admin()
        admin.create_table(path, description).result(CALL_S_MAX)
        make_partitions(admin, path)
        note("made")
        table = connection.get_table(path).result(CALL_S_MAX)
        writer = (table.new_upsert() if kind == "pk" else table.new_append()).create_writer()
        writer.write_arrow_batch(rows())
        writer.flush().result(CALL_S_MAX)
        note("written")
        check_limits(server)
        check_rows(table)
        note("read")
        check_limits(server)
        connection.close().result(CALL_S_MAX)
        assert server.stop() == 0
        note_at = time.monotonic()
        server.start()
        figures.append(f"restarted {time.monotonic() - note_at:.2f} s")
        connection = connect(server)
        table = connection.get_table(path).result(CALL_S_MAX)
        check_rows(table)
        note("read again")
        check_limits(server)
        drop_partitions(connection.get_admin(), path)
        note("dropped")
        wait_until_gone(server.data_dir / "fluss")
        note("gone")
        check_limits(server)
        connection.close().result(CALL_S_MAX)
    print(f"\n{kind}: {PARTITION_COUNT} x {BUCKET_COUNT}: " + "; ".join(figures))
