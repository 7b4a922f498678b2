# SPDX-License-Identifier: Apache-2.0
"""No operation leaks a reference or memory.

Each kind of operation runs in equal rounds. Between them, after a collection of garbage, are
counted: the blocks of Python's allocator, objects that the collector knows, references to objects
that every operation uses, and, where rounds are long enough for it to tell, what is allocated from
the C library. The server is a process of its own, so that what it keeps of its tables does not
count (an upsert is about 20 bytes in RocksDB's memory, until that is written out). What grows with
each operation shows as a slope. $FLUSS_LEAK_OPERATIONS is the count of operations of a kind,
1,000,000 for a thorough run."""

import gc
import os
import sys

import fluss
import heap
import pytest
from leak_operations import KINDS, World
from server_process import server_process

OPERATIONS = int(os.environ.get("FLUSS_LEAK_OPERATIONS", "1000"))
ROUNDS = 5
CACHED_MAX = 500  # what caches of the interpreter may still gain, however many operations
HEAP_MATTERS_FROM = 100_000
HEAP_MAX = 0.5  # bytes an operation
POOLED_MAX = 512 << 10  # what frames that are pooled, or not yet, make of a difference


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaks")
    with server_process(folder / "data") as server:
        made = World(server.address, f"leaks_{os.getpid()}", folder)
        yield made
        made._close()


def measure():
    gc.collect()
    shared = [None, True, False, fluss.FlussFuture, fluss.WriteResultHandle, fluss.ScanRecords]
    return {
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "references": sum(sys.getrefcount(one) for one in shared),
        "bytes of the heap": heap.heap_bytes(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_leaks_nothing(kind, world):
    operate = getattr(world, kind)
    count = max(OPERATIONS // ROUNDS // getattr(operate, "costs", 1), 1)
    operate(count)  # caches fill
    operate(1)
    found = [measure()]
    for _ in range(ROUNDS):
        operate(count)
        found.append(measure())
    for what, limit in [("blocks", 0.05), ("objects", 0.02), ("references", 0.05)]:
        series = [one[what] for one in found]
        growth = series[-1] - series[1]
        most = CACHED_MAX + limit * count * (ROUNDS - 1)
        assert growth < most, f"{growth} more {what}, expected below {most:.0f}: {series}"
    if OPERATIONS >= HEAP_MATTERS_FROM and heap.IS_KNOWN:
        series = [one["bytes of the heap"] for one in found]
        growth, operations = series[-1] - series[2], count * (ROUNDS - 2)
        print(f"{kind}: {growth / operations:.2f} bytes an operation, {series[-1] >> 20} MiB")
        most = POOLED_MAX + HEAP_MAX * operations
        assert growth < most, (
            f"{growth} more bytes of the heap, expected below {most:.0f}: {series}"
        )
