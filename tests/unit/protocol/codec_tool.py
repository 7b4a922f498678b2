# SPDX-License-Identifier: Apache-2.0
"""The codec of src/protocol for tests in Python: a pipe to codec_tool, and the parsed schema."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("FLUSS_BUILD", TOP / "build"))


def load_schema():
    """{message name: Message}, as tools/protogen reads messages.schema."""
    loader = importlib.machinery.SourceFileLoader("protogen", str(TOP / "tools" / "protogen"))
    protogen = importlib.util.module_from_spec(importlib.util.spec_from_loader("protogen", loader))
    sys.modules["protogen"] = protogen
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(protogen)
    finally:
        sys.dont_write_bytecode = keep
    return protogen.parse((TOP / "src" / "protocol" / "messages.schema").read_text())


class CodecError(Exception):
    """The codec refused the bytes."""


class CodecTool:
    """Runs codec_tool; one question, one answer."""

    def __init__(self):
        program = BUILD / "tests" / "unit" / "protocol" / "codec_tool"
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.process.stdin.close()
        status = self.process.wait(timeout=30)
        self.process.stdout.close()
        assert status == 0, f"codec_tool ended with status {status}"

    def ask(self, *words):
        self.process.stdin.write(" ".join(words).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode()
        assert answer, f"codec_tool ended at: {' '.join(words)[:200]}"
        status, _, rest = answer.rstrip("\n").partition(" ")
        if status != "ok":
            raise CodecError(rest)
        return rest

    def message(self, name, encoded):
        """Decode and encode again: (bytes, JSON object)."""
        again, _, text = self.ask("message", name, encoded.hex()).partition(" ")
        return bytes.fromhex(again), json.loads(text)

    def frame(self, api_key, direction, frame):
        """The same for a frame with its length prefix: (bytes, header, message name, JSON)."""
        answer = self.ask("frame", str(api_key), direction, frame.hex())
        again, header, name, text = answer.split(" ", 3)
        numbers = [int(part) for part in header.split("/")]
        return bytes.fromhex(again), numbers, name, json.loads(text)

    def apis(self):
        return json.loads(self.ask("apis"))
