# SPDX-License-Identifier: Apache-2.0
"""Every recorded frame between pyfluss 1.0.0 and an official server (frames/README.md).

Goal: our codec reads each frame as the recorder did, and writes the same bytes again. Method: the
frame through codec_tool; the recorded message brought to the codec's text form.
"""

import base64
import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "protocol"))
from codec_tool import CodecTool, load_schema  # noqa: E402

FRAMES = Path(__file__).resolve().parent / "frames"
SCHEMA = load_schema()
SCENARIOS = sorted(path.stem for path in FRAMES.glob("*.jsonl"))
ERROR_TEXT_SIZE_MAX = 1015  # longer texts of the server are cut at a character
SECRETS = ("token", "challenge")


@pytest.fixture(scope="module")
def codec():
    with CodecTool() as tool:
        yield tool


def frames_of(scenario):
    lines = (FRAMES / f"{scenario}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def value_of(f, value):
    """A value in the recorder's form (protobuf's JSON: int64 as text, bytes in base64) in ours."""
    if f.is_message:
        return in_our_form(f.type, value)
    if f.type == "int64":
        return int(value)
    if f.type == "bytes":
        decoded = base64.b64decode(value)
        return f"<{len(decoded)} bytes>" if f.name in SECRETS else decoded.hex()
    return value


def in_our_form(name, recorded):
    fields = {f.name: f for f in SCHEMA[name].fields}
    ours = {}
    for key, value in recorded.items():
        f = fields[re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()]
        values = [value_of(f, item) for item in (value if f.is_repeated else [value])]
        ours[f.name] = values if f.is_repeated else values[0]
    return ours


def test_recordings_are_there():
    assert len(SCENARIOS) == 17
    assert sum(len(frames_of(scenario)) for scenario in SCENARIOS) == 476


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_frame_decodes_to_the_recorded_message_and_encodes_to_the_same_bytes(codec, scenario):
    for number, frame in enumerate(frames_of(scenario), 2):
        where = f"{scenario}.jsonl:{number}, {frame['api']} {frame['dir']}"
        recorded = bytes.fromhex(frame["frame_hex"])
        again, header, name, shown = codec.frame(frame["api_key"], frame["dir"], recorded)
        if frame["dir"] == "request":
            assert header == [frame["api_key"], frame["api_version"], frame["request_id"]], where
        else:
            assert header == [frame["response_type"], frame["request_id"]], where
        assert shown == in_our_form(name, frame["message"]), where
        if len(shown.get("error_message", "").encode()) <= ERROR_TEXT_SIZE_MAX:
            assert again == recorded, where


def test_all_frames_but_one_are_compared_byte_for_byte():
    long_errors = [
        frame["api"]
        for scenario in SCENARIOS
        for frame in frames_of(scenario)
        if len(frame["message"].get("error_message", "").encode()) > ERROR_TEXT_SIZE_MAX
    ]
    assert long_errors == ["CREATE_TABLE"]
