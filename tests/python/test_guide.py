# SPDX-License-Identifier: Apache-2.0
"""docs/guide-python.md is true: its blocks run as they stand, one after the other."""

import ast
import asyncio
import inspect
import re
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide-python.md"


def blocks():
    """(first line, source) of each block of Python."""
    text = GUIDE.read_text(encoding="utf-8")
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield text[: match.start(1)].count("\n"), match.group(1)


def test_blocks_run():
    async def main():
        names = {}
        for line, source in blocks():
            code = compile(
                "\n" * line + source, str(GUIDE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            )
            result = eval(code, names)
            if inspect.iscoroutine(result):
                await asyncio.wait_for(result, 60)
        assert "bucket" in names

    asyncio.run(main())
