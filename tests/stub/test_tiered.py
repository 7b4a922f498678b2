# SPDX-License-Identifier: Apache-2.0
"""Readers of logs that a cluster has moved to a file system, beside logs that it has not.

Goal: rows come whole and in order whatever the settings are; one broken file fails its own bucket,
by a message that names it; what is read ahead is bounded. Method: the stub keeps a bucket's batches
in files of the test and answers fetches with their place.
"""

import time
import uuid

import fluss
import pytest
from stub import change
from test_d_scanner import LOG, fill

from client import LIMIT_S, drain

BUCKETS = 6


@pytest.fixture
def tiered(stub, connect, tmp_path):
    """A table whose buckets but the last are tiered, a file each; the files, by bucket."""
    table = stub.create_table("t", LOG, buckets=BUCKETS, bucket_key=["id"])
    fill(connect(stub, client_bucket_hash="java"), "t", 600, note="n" * 50, apart=30)
    files = {}
    for bucket in range(BUCKETS - 1):
        folder = tmp_path / str(bucket) / str(uuid.uuid4())
        folder.mkdir(parents=True)
        files[bucket] = folder / f"{0:020d}.log"
        files[bucket].write_bytes(b"".join(data for _, _, data in table.of(bucket).log))
    stub.on("FETCH_LOG", change(lambda message: name_files(message, table, files)))
    return table, files


def name_files(message, table, files):
    for part in message["tables_resp"][0]["buckets_resp"]:
        file = files.get(part["bucket_id"])
        if file is None or not part.get("records"):
            continue
        segment = {
            "remote_log_segment_id": file.parent.name,
            "remote_log_start_offset": 0,
            "remote_log_end_offset": table.of(part["bucket_id"]).end,
            "segment_size_in_bytes": 0,
        }
        part["records"] = None
        part["remote_log_fetch_info"] = {
            "remote_log_tablet_dir": f"file://{file.parent.parent}",
            "remote_log_segments": [segment],
            "first_start_pos": 0,
        }


def by_bucket(found):
    return {b: [o for bucket, o, _ in found if bucket == b] for b in range(BUCKETS)}


@pytest.mark.parametrize(
    "threads, prefetch, largest", [(1, 4, "16 mb"), (3, 1, "2 kb"), (64, 4, "2048")]
)
def test_rows_are_whole_and_in_order(stub, connect, tiered, threads, prefetch, largest):
    table, _ = tiered
    settings = {
        "remote_file_download_thread_num": threads,
        "scanner_remote_log_prefetch_num": prefetch,
        "scanner_log_fetch_max_bytes": largest,
        "scanner_log_fetch_max_bytes_for_bucket": "2 kb",
    }
    scanner = connect(stub, **settings).scanner("t", buckets=BUCKETS)
    found = by_bucket(drain(scanner, 600))
    assert found == {b: list(range(table.of(b).end)) for b in range(BUCKETS)}


def test_what_is_read_ahead_is_bounded(stub, connect, tiered):
    """An answer may name any number of tiered logs."""
    step = largest = 1024
    client = connect(
        stub,
        remote_file_download_thread_num=1,
        scanner_remote_log_prefetch_num=1,
        scanner_log_fetch_max_bytes=largest,
        scanner_log_fetch_max_bytes_for_bucket=step,
    )
    scanner = client.scanner("t", buckets=BUCKETS - 1)
    while not scanner.poll(200).result(LIMIT_S):
        pass
    read = client.metric("fluss_client_scanner_remote_bytes_total")
    batch = max(len(data) for b in range(BUCKETS) for _, _, data in tiered[0].of(b).log)
    assert 0 < read <= 2 * (largest + step + batch)


def gone(file, data):
    file.unlink()


def cut(file, data):
    file.write_bytes(data[:-10])


def emptied(file, data):
    file.write_bytes(b"")


def flipped(file, data):
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


@pytest.mark.parametrize(
    "damage, word",
    [
        (gone, "No such file"),
        (cut, "within a batch"),
        (emptied, "no batch from there on"),
        (flipped, "CRC"),
    ],
)
def test_a_broken_file_fails_its_own_bucket(stub, connect, tiered, damage, word):
    table, files = tiered
    damage(files[0], files[0].read_bytes())
    scanner = connect(stub).scanner("t", buckets=BUCKETS)
    found, errors, until = [], [], time.monotonic() + LIMIT_S
    others = sum(table.of(b).end for b in range(1, BUCKETS))
    while (len([b for b, _ in found if b]) < others or not errors) and time.monotonic() < until:
        try:
            found += [(r.bucket.bucket_id, r.offset) for r in scanner.poll(200).result(LIMIT_S)]
        except fluss.FlussError as error:
            errors.append(error)
    assert len([b for b, _ in found if b]) == others
    assert word in str(errors[0]) and "bucket 0" in str(errors[0])
    place = files[0].parent.parent if damage in (emptied, flipped) else files[0]
    assert str(place) in str(errors[0])
    if damage is not flipped:
        assert errors[0].error_code == fluss.ErrorCode.STORAGE_EXCEPTION
