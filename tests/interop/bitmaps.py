# SPDX-License-Identifier: Apache-2.0
"""Serialised Roaring bitmaps as the Java library makes them: the operands of the golden unions."""

from pathlib import Path

_LINES = (Path(__file__).resolve().parents[1] / "golden" / "bitmaps.txt").read_text().splitlines()


def _operands(width):
    rows = [line.split() for line in _LINES]
    return [bytes.fromhex(text) for row in rows if row[0] == width for text in row[1:3]]


_POOLS = {"rbm32": _operands("32"), "rbm64": _operands("64")}


def draw_bitmap(chance, function):
    """A bitmap for an aggregation function, rbm32 or rbm64."""
    return chance.choice(_POOLS[function])
