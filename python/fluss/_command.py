# SPDX-License-Identifier: Apache-2.0
"""Starts the command `fluss` that came with the wheel."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Become the command, with this program's arguments."""
    command = str(Path(__file__).resolve().parent / "fluss")
    os.execv(command, [command, *sys.argv[1:]])
