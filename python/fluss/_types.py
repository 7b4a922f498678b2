# SPDX-License-Identifier: Apache-2.0
"""Type texts of the C library ("ARRAY<INT NOT NULL>") as trees, and in the spelling of Python.

A tree is (type, precision, scale, length, nullable, ((name, tree), ...)), which is what the codec
of the extension is made from.
"""

from __future__ import annotations

import re

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
_DEFAULT_PRECISION = {"DECIMAL": 10, "TIMESTAMP": 6, "TIMESTAMP_LTZ": 6}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^']|'')*'|[<>(),:]|[^\s<>(),:`']+)")


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, *words: str) -> bool:
        found = tuple(token.upper() for token in self.tokens[self.at : self.at + len(words)])
        if found == words:
            self.at += len(words)
        return found == words

    def numbers(self) -> list[int]:
        found: list[int] = []
        if self.accept("("):
            while not self.accept(")"):
                token = self.take()
                if token != ",":
                    found.append(int(token))
        return found

    def children(self, name: str) -> list:
        self.accept("<")
        found = []
        while not self.accept(">"):
            label = self.field_name() if name == "ROW" else ""
            found.append((label, self.type()))
            if self.peek().startswith("'"):
                self.take()
            self.accept(",")
        return found

    def field_name(self) -> str:
        name = self.take()
        self.accept(":")
        return name[1:-1].replace("``", "`") if name.startswith("`") else name

    def type(self) -> tuple:
        name = self.take().upper()
        children = tuple(self.children(name)) if name in ("ARRAY", "MAP", "ROW") else ()
        numbers = [] if children else self.numbers()
        nullable = not self.accept("NOT", "NULL")
        if nullable:
            self.accept("NULL")
        is_sized = name in ("CHAR", "BINARY")
        length = (numbers or [1])[0] if is_sized else 0
        precision = 0
        if not is_sized:
            precision = numbers[0] if numbers else _DEFAULT_PRECISION.get(name, 0)
        scale = numbers[1] if len(numbers) > 1 else 0
        return (CODES[name], precision, scale, length, nullable, children)


def parse(text: str) -> tuple:
    """The tree of a type text."""
    return _Parser(text).type()


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
    elif precision != _DEFAULT_PRECISION.get(name, 0):
        text += f"({precision})"
    return text if nullable else text + " NOT NULL"
