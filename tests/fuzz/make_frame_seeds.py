#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the seeds of fuzz_frames from the recorded frames.

For each API, direction and response type: the longest frame that is not large.
"""

import json
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SEED_SIZE_MAX = 1200
KEY_FIRST = 1000

# A FetchLogRequest with a filter of nested predicates, which no recording has; by python-protobuf.
FETCH_WITH_FILTER = bytes.fromhex(
    "0000 03f7 0000 00000001"
    "08ffffffffffffffffff01108080401a54080310011a02000222071000180520e8072a3f08011a3b0800"
    "122508001221080b10021a07080810004201781a1208061000350000004039000000000000f83f121008"
    "011a0c080112080800120408061001300120f4032801"
)


def main():
    seeds = {"fetch_log_request_filter": FETCH_WITH_FILTER}
    for path in sorted((TESTS / "golden" / "frames").glob("*.jsonl")):
        for line in path.read_text().splitlines()[1:]:
            frame = json.loads(line)
            body = bytes.fromhex(frame["frame_hex"])[4:]
            is_response = frame["dir"] == "response"
            name = f"{frame['api'].lower()}_{frame['dir']}_{frame.get('response_type', 0)}"
            seed = bytes([0x80 if is_response else 0, frame["api_key"] - KEY_FIRST]) + body
            if len(seeds.get(name, b"")) < len(seed) <= SEED_SIZE_MAX:
                seeds[name] = seed
    folder = TESTS / "fuzz" / "corpus" / "fuzz_frames"
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed in seeds.items():
        (folder / name).write_bytes(seed)


if __name__ == "__main__":
    main()
