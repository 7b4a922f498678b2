# SPDX-License-Identifier: Apache-2.0
"""The package under test as scenarios use it: every call waits, within a limit."""

import os
import time

import fluss

LIMIT_S = 20
FULL = bool(os.environ.get("FLUSS_TEST_FULL"))
# Not what a busy machine takes for an answer; tests that lose answers wait for less.
PATIENT = {"request-timeout": "15000", "connect-timeout": "15000"}
LOST_MS = 1000


class Client:
    """A connection to a stub. Settings are keys of the C library with '_' for '.' and '-'."""

    def __init__(self, stub, servers=None, **settings):
        self.stub = stub
        keys = {_spell(name): str(value) for name, value in settings.items()}
        self.config = fluss.Config(
            {"bootstrap.servers": servers or stub.address, **PATIENT, **keys}
        )

    def __enter__(self):
        self.connection = fluss.FlussConnection.create(self.config).result(LIMIT_S)
        self.admin = self.connection.get_admin()
        return self

    def __exit__(self, *exc_info):
        self.connection.close().result(LIMIT_S)

    def open(self, name):
        return self.connection.get_table(fluss.TablePath("fluss", name)).result(LIMIT_S)

    def writer(self, name):
        table = self.open(name)
        if table.has_primary_key():
            return table.new_upsert().create_writer()
        return table.new_append().create_writer()

    def scanner(self, name, *offsets, buckets=1):
        """A record scanner on the first buckets, from the offsets given or the beginning."""
        scanner = self.open(name).new_scan().create_log_scanner().result(LIMIT_S)
        for bucket in range(buckets):
            start = offsets[bucket] if bucket < len(offsets) else fluss.EARLIEST_OFFSET
            scanner.subscribe(bucket, start)
        return scanner

    def metric(self, name):
        """The value of a counter or gauge."""
        return self.connection.metrics()[name]


_KEYS = {key.replace(".", "_").replace("-", "_"): key for key in fluss._core.config_keys()}


def _spell(name):
    return _KEYS.get(name) or _KEYS[f"{name}_ms"]


def share(cases, count):
    """All cases, or, where not everything is to be run, `count` of them, spread out."""
    cases = list(cases)
    return cases if FULL else cases[:: max(1, len(cases) // count)]


def outcome(future):
    """None, or the code of the error that a future or a write handle ends with."""
    future = future.wait() if isinstance(future, fluss.WriteResultHandle) else future
    try:
        future.result(LIMIT_S)
    except fluss.FlussError as error:
        return error.error_code
    return None


def drain(scanner, count, limit_s=LIMIT_S):
    """(bucket, offset, row) of the next `count` records; fewer when time is over."""
    found, until = [], time.monotonic() + limit_s
    while len(found) < count and time.monotonic() < until:
        for record in scanner.poll(200).result(LIMIT_S):
            found.append((record.bucket.bucket_id, record.offset, record.row))
    return found


def ids(table, bucket=0, partition_id=None):
    """The `id` column, in log order, of what a stub's bucket holds, read back by a connection of
    its own: every checksum is checked on the way."""
    with Client(table.stub) as client:
        handle = client.open(table.path[1])
        scanner = handle.new_scan().create_log_scanner().result(LIMIT_S)
        end = table.of(bucket, partition_id).end
        if partition_id is None:
            scanner.subscribe(bucket, fluss.EARLIEST_OFFSET)
        else:
            scanner.subscribe_partition(partition_id, bucket, fluss.EARLIEST_OFFSET)
        return [row["id"] for _, _, row in drain(scanner, end)]
