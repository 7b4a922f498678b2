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


def main():
    seeds = {}
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
