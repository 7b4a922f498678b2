# SPDX-License-Identifier: Apache-2.0
"""Starts the command `fluss` that came with the wheel, or was built for an editable install."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import _core


def main() -> None:
    """Become the command, with this program's arguments."""
    here = Path(_core.__file__).resolve().parent
    places = [here / "fluss", here.parent.parent / "fluss"]
    command = str(next((place for place in places if place.is_file()), places[0]))
    os.execv(command, [command, *sys.argv[1:]])
