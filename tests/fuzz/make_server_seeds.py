#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the seeds of fuzz_server from the requests of tests/e2e/api_edges.py: one seed an API.

The tables are those that the program makes: ids 0 (log), 1 (primary key) and 2 (partitioned).
"""

import collections
import struct
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "e2e"))
from api_edges import ALL  # noqa: E402
from wire import API, encode  # noqa: E402

BODY_SIZE_MAX, FRAMES_MAX, KEY_FIRST = 400, 12, 1000
KNOWN = collections.defaultdict(int, log=0, edge_log=0, pk=1, edge_pk=1, parts=2, rebalance="x")


def main():
    seeds = collections.defaultdict(list)
    for step in ALL:
        body = encode(API[step.api][1], step.request(KNOWN))
        if len(body) <= BODY_SIZE_MAX and len(seeds[step.api]) < FRAMES_MAX:
            key = API[step.api][0] - KEY_FIRST
            seeds[step.api].append(struct.pack("<BBH", key, 2, len(body)) + body)
    folder = TESTS / "fuzz" / "corpus" / "fuzz_server"
    folder.mkdir(parents=True, exist_ok=True)
    for api, frames in seeds.items():
        (folder / api.lower()).write_bytes(b"".join(frames))


if __name__ == "__main__":
    main()
