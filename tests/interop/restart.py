# SPDX-License-Identifier: Apache-2.0
"""Our client through rolling restarts of the official tablet server.

    restart.py HOST:PORT STATE_FOLDER SECONDS RESTARTS

For SECONDS threads append to a log table, upsert into a primary-key table, look up, and follow the
log, while the tablet server is stopped and started again RESTARTS times. Its command line is read
from the running process, whose id lies in STATE_FOLDER as official_server.sh keeps it. Then: every
acknowledged row is there, once, in the order in which it was written; the follower saw the same; no
key lies behind the value that was acknowledged last; no call failed.
Prints a line a check and closes with `N passed, N failed`.
"""

import collections
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import fluss
import pyarrow as pa

BUCKETS = 2
UNDER_WAY_MAX = 500
KEYS = 50
LIMIT_S = 90  # of one call: a restart of the official server takes about ten seconds


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def equal(self, what, found, expected):
        ok = found == expected
        self.passed += ok
        self.failed += not ok
        shown = "" if ok else f": found {str(found)[:300]}, expected {str(expected)[:300]}"
        print(f"{'ok' if ok else 'FAILED':7s} {what}{shown}", flush=True)


class Tablet:
    """The official tablet server's process."""

    def __init__(self, state):
        self.pid_file = Path(state) / "tablet.pid"
        self.log = Path(state) / "tablet.log"

    def restart(self):
        pid = int(self.pid_file.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        names = Path(f"/proc/{pid}/environ").read_bytes().rstrip(b"\0").split(b"\0")
        env = dict(name.split(b"=", 1) for name in names if b"=" in name)
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + LIMIT_S
        while _is_running(pid):
            if time.monotonic() > until:
                raise RuntimeError("the tablet server does not stop")
            time.sleep(0.05)  # somebody else's child: there is no event to wait for
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.pid_file.write_text(f"{process.pid}\n")


def _is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Work:
    """What the threads do until told to stop, and what they saw."""

    def __init__(self, connection, log, pk):
        self.connection, self.log, self.pk = connection, log, pk
        self.is_over = threading.Event()
        self.errors = []
        self.acked = collections.defaultdict(list)  # bucket: ids in order
        self.seen = collections.defaultdict(list)  # bucket: (offset, id)
        self.values = {}  # key: the value acknowledged last
        self.lookups = 0

    def append(self):
        writer = self.log.new_append().create_writer()
        under_way = collections.deque()
        number = 0
        while not self.is_over.is_set() or under_way:
            if not self.is_over.is_set() and len(under_way) < UNDER_WAY_MAX:
                under_way.append((number, writer.append({"id": number, "note": "x" * 40})))
                number += 1
                continue
            i, handle = under_way.popleft()
            handle.wait().result(LIMIT_S)
            self.acked[handle.bucket.bucket_id].append(i)

    def upsert(self):
        writer = self.pk.new_upsert().create_writer()
        value = 0
        while not self.is_over.is_set():
            key, value = value % KEYS, value + 1
            writer.upsert({"id": key, "value": value}).wait().result(LIMIT_S)
            self.values[key] = value

    def look_up(self):
        lookuper = self.pk.new_lookup().create_lookuper()
        while not self.is_over.is_set():
            for key in range(KEYS):
                known = self.values.get(key)
                row = lookuper.lookup({"id": key}).result(LIMIT_S)
                self.lookups += 1
                if known is not None and (row is None or row["value"] < known):
                    self.errors.append(f"key {key}: {row} after {known} was acknowledged")

    def follow(self):
        scanner = self.log.new_scan().create_log_scanner().result(LIMIT_S)
        for bucket in range(BUCKETS):
            scanner.subscribe(bucket, fluss.EARLIEST_OFFSET)
        until = None
        while True:
            for record in scanner.poll(500).result(LIMIT_S):
                self.seen[record.bucket.bucket_id].append((record.offset, record.row["id"]))
            if self.is_over.is_set():
                until = until or time.monotonic() + LIMIT_S
                ends = self.ends()
                done = all(len(self.seen[bucket]) >= end for bucket, end in ends.items())
                if done or time.monotonic() > until:
                    return

    def ends(self):
        path = fluss.TablePath("restarts", "log")
        latest = fluss.OffsetSpec.latest()
        admin = self.connection.get_admin()
        return admin.list_offsets(path, list(range(BUCKETS)), latest).result(LIMIT_S)

    def guarded(self, run):
        def body():
            try:
                run()
            except Exception as error:
                self.errors.append(f"{run.__name__}: {error!r}")

        return threading.Thread(target=body)


def make_tables(connection):
    admin = connection.get_admin()
    admin.create_database("restarts", None, True).result(LIMIT_S)
    log = fluss.Schema(pa.schema([("id", pa.int32()), ("note", pa.string())]))
    keyed = pa.schema([("id", pa.int32()), ("value", pa.int64())])
    tables = []
    for name, schema in (("log", log), ("pk", fluss.Schema(keyed, primary_keys=["id"]))):
        path = fluss.TablePath("restarts", name)
        admin.drop_table(path, ignore_if_not_exists=True).result(LIMIT_S)
        description = fluss.TableDescriptor(schema, bucket_count=BUCKETS)
        admin.create_table(path, description).result(LIMIT_S)
        tables.append(connection.get_table(path).result(LIMIT_S))
    return tables


def run(address, state, seconds, restarts, checks):
    config = fluss.Config({"bootstrap.servers": address, "request-timeout": "60000"})
    connection = fluss.FlussConnection.create(config).result(LIMIT_S)
    work = Work(connection, *make_tables(connection))
    tablet = Tablet(state)
    threads = [work.guarded(each) for each in (work.append, work.upsert, work.look_up, work.follow)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for i in range(restarts):
        while time.monotonic() - started < seconds * (i + 0.5) / (restarts + 0.5):
            time.sleep(0.1)  # the schedule of the restarts, not a wait for anything
        before = sum(map(len, work.acked.values()))
        tablet.restart()
        print(f"restart {i + 1} after {before} acknowledged rows", flush=True)
    while time.monotonic() - started < seconds:
        time.sleep(0.1)
    work.is_over.set()
    for thread in threads:
        thread.join(2 * LIMIT_S)
    checks.equal("no call failed", work.errors, [])
    ends = work.ends()
    for bucket in range(BUCKETS):
        seen = work.seen[bucket]
        ids = [i for _, i in seen]
        acked = work.acked[bucket]
        checks.equal(f"bucket {bucket}: dense offsets", [o for o, _ in seen], list(range(len(ids))))
        checks.equal(f"bucket {bucket}: the follower reached the end", len(ids), ends[bucket])
        checks.equal(f"bucket {bucket}: acknowledged rows, once, in order", ids, acked)
    lookuper = work.pk.new_lookup().create_lookuper()
    final = {key: lookuper.lookup({"id": key}).result(LIMIT_S)["value"] for key in work.values}
    checks.equal("each key has the value acknowledged last", final, work.values)
    written = sum(map(len, work.acked.values()))
    checks.equal("there was work", written > 1000 and work.lookups > 100, True)
    print(
        f"{written} rows, {max(work.values.values())} upserts, {work.lookups} lookups", flush=True
    )
    connection.close().result(LIMIT_S)


def main():
    address, state, seconds, restarts = sys.argv[1:]
    checks = Checks()
    try:
        run(address, state, float(seconds), int(restarts), checks)
    except Exception as error:
        checks.failed += 1
        print(f"FAILED  {error!r}", flush=True)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
