# SPDX-License-Identifier: Apache-2.0
"""Types as trees, and in the spelling of Python.

A tree is (type, precision, scale, length, nullable, ((name, tree), ...)), which is what the codec
of the extension is made from.
"""

from __future__ import annotations

_NAMES = [
    "NULL",
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "CHAR",
    "STRING",
    "BINARY",
    "BYTES",
    "DECIMAL",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_LTZ",
    "ARRAY",
    "MAP",
    "ROW",
]
CODES = {name: code for code, name in enumerate(_NAMES)}
DEFAULT_PRECISION = {"DECIMAL": 10, "TIMESTAMP": 6, "TIMESTAMP_LTZ": 6}


def spell(tree: tuple) -> str:
    """A type as `Schema.get_column_types` spells it: "int NOT NULL", "row<a: int, b: string>"."""
    code, precision, scale, length, nullable, children = tree
    name = _NAMES[code]
    text = name.lower()
    if name == "ROW":
        text += "<" + ", ".join(f"{label}: {spell(child)}" for label, child in children) + ">"
    elif children:
        text += "<" + ",".join(spell(child) for _, child in children) + ">"
    elif name == "DECIMAL":
        text += f"({precision},{scale})"
    elif length:
        text += f"({length})"
    elif precision != DEFAULT_PRECISION.get(name, 0):
        text += f"({precision})"
    return text if nullable else text + " NOT NULL"
