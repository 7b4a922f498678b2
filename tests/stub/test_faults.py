# SPDX-License-Identifier: Apache-2.0
"""The list of known faults names tests that exist, and leaves out no scenario of this folder."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = (HERE.parent / "faults.md").read_text()
ROWS = re.findall(r"^\| ([A-Z]\d+) \| ([^|]+) \| (.+) \|$", LIST, re.MULTILINE)
IDS = {
    "D": [1, *range(3, 14)],
    "E": [1, 2, *range(5, 20)],
    "K": [1, 2, *range(4, 12)],
    "L": range(1, 10),
    "M": range(2, 13),
}


def named_in(cell):
    return [tuple(test.split("::")) for test in re.findall(r"`([^`]+::\w+)`", cell)]


def test_every_fault_has_a_test():
    assert [row[0] for row in ROWS] == [f"{letter}{n}" for letter in IDS for n in IDS[letter]]
    assert all(named_in(cell) for _, _, cell in ROWS)


def test_every_test_that_is_named_exists():
    missing = []
    for fault, _, cell in ROWS:
        for name, function in named_in(cell):
            path = HERE.parent / name
            pattern = (
                rf"^(?:async )?def {function}\(" if path.suffix == ".py" else rf"\b{function}\("
            )
            if not path.exists() or not re.search(pattern, path.read_text(), re.MULTILINE):
                missing.append(f"{fault}: {name}::{function}")
    assert missing == []


def test_every_scenario_with_an_id_is_listed():
    missing = []
    for path in sorted(HERE.glob("test_[a-z]_*.py")):
        for function in re.findall(r"^def (test_[a-z]\d\d_\w+)\(", path.read_text(), re.MULTILINE):
            letter, number = function[5].upper(), int(function[6:8])
            cells = [cell for fault, _, cell in ROWS if fault == f"{letter}{number}"]
            if not cells or f"stub/{path.name}::{function}`" not in cells[0]:
                missing.append(f"{path.name}::{function}")
    assert missing == []
