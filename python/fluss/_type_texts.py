# SPDX-License-Identifier: Apache-2.0
"""Type texts of the C library ("ARRAY<INT NOT NULL>") as trees (_types.py), and columns in words.
Loaded with the first table or schema, since regular expressions take long to load."""

from __future__ import annotations

import re

from ._types import CODES, DEFAULT_PRECISION
from .errors import FlussError

_PIECE = re.compile(r"`(?:[^`]|``)*`|'(?:[^']|'')*'|.", re.DOTALL)
_KEY = re.compile(r"PRIMARY\s+KEY\s*\((.*)\)", re.IGNORECASE | re.DOTALL)
_COLUMN = re.compile(
    r"(?P<name>`(?:[^`]|``)+`|[^\s`]+)\s+(?P<type>.+?)"
    r"(?:\s+COMMENT\s+(?P<comment>'(?:[^']|'')*'))?",
    re.IGNORECASE | re.DOTALL,
)
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
            precision = numbers[0] if numbers else DEFAULT_PRECISION.get(name, 0)
        scale = numbers[1] if len(numbers) > 1 else 0
        return (CODES[name], precision, scale, length, nullable, children)


def parse(text: str) -> tuple:
    """The tree of a type text."""
    return _Parser(text).type()


def parse_columns(text: str) -> tuple[list[tuple[str, str, str | None]], list[str]]:
    """((name, type text, comment), ...) and the primary key of columns in words. FlussError for
    what is no column; types are checked by the C library."""
    columns, keys = [], []
    for part in _split(text):
        found = _KEY.fullmatch(part)
        if found is not None:
            if keys:
                raise FlussError("the primary key is given twice")
            keys = [_unquote(name.strip()) for name in _split(found[1])]
            continue
        found = _COLUMN.fullmatch(part)
        if found is None:
            raise FlussError(f"{part!r} is no column: expected a name and a type")
        comment = found["comment"]
        comment = comment if comment is None else comment[1:-1].replace("''", "'")
        columns.append((_unquote(found["name"]), found["type"].strip(), comment))
    return columns, keys


def _unquote(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _split(text: str) -> list[str]:
    """What stands between the commas that are in no brackets and no quotes."""
    parts, depth, current = [], 0, ""
    for token in _PIECE.findall(text):
        depth += (token in "<(") - (token in ">)")
        if token == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += token
    return [*parts, current.strip()]
