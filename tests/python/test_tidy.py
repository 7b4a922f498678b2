# SPDX-License-Identifier: Apache-2.0
"""tools/tidy finds what it says it finds: for each rule a good tree with one bad file more."""

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


def load_tidy():
    loader = importlib.machinery.SourceFileLoader("tidy", str(TOP / "tools" / "tidy"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


tidy = load_tidy()

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
HEAD = SPDX + "/* Says its job. */\n"
README = "# folder\n" + "A line of text.\n" * 12
GOOD = {
    "src/README.md": README,
    "src/meson.build": "# SPDX-License-Identifier: Apache-2.0\n",
    "src/base/README.md": README,
    "src/base/meson.build": "# SPDX-License-Identifier: Apache-2.0\nfiles('thing.c')\n",
    "src/base/thing.h": SPDX
    + "#ifndef FL_THING_H\n#define FL_THING_H\nint fl_thing(void);\n#endif\n",
    "src/base/thing.c": HEAD
    + '#include "base/thing.h"\n\n#include <string.h>\n\n'
    + "/* strcpy( in a comment and in a string is no call */\n"
    + "int fl_thing(void)\n{\n"
    + '    return (int)strlen("goto nowhere; free(x)");\n}\n',
    "src/format/README.md": README,
    "src/net/README.md": README,
    "src/client/README.md": README,
}


def function_of(lines):
    return HEAD + "int fl_long(void)\n{\n" + "    fl_thing();\n" * (lines - 3) + "}\n"


def source(body):
    return HEAD + body + "\n"


BAD = [
    ("walls", "src/base/up.c", source('#include "format/types.h"')),
    ("walls", "src/net/side.c", source('#include "client/rpc.h"')),
    ("walls", "src/net/private.c", source('#include "base/thing_private.h"')),
    ("walls", "src/client/loop.c", source("#include <uv.h>")),
    ("walls", "python/ext.c", source('#include "base/thing.h"')),
    ("pure", "src/format/clock.c", source("int fl_f(void)\n{\n    return (int)time(0);\n}")),
    ("banned", "src/net/copy.c", source("int fl_f(char *a)\n{\n    strcpy(a, a);\n}")),
    ("banned", "tests/unit/net/test_a.c", source("int f(int a)\n{\n    assert(a);\n}")),
    ("heap", "src/net/heap.c", source("void fl_f(void *a)\n{\n    free(a);\n}")),
    ("goto", "src/net/jump.c", source("int fl_f(void)\n{\nagain:\n    goto again;\n}")),
    ("sizes", "src/net/wide.c", source("/* " + "x" * 100 + " */")),
    ("sizes", "src/net/tall.c", HEAD + "int fl_declared(void);\n" * 800),
    ("functions", "src/net/long.c", function_of(71)),
    (
        "functions",
        "tools/long.py",
        "# SPDX-License-Identifier: Apache-2.0\ndef f():\n" + "    f()\n" * 70,
    ),
    ("functions", "tools/broken.py", "# SPDX-License-Identifier: Apache-2.0\ndef f(:\n"),
    ("spdx", "src/net/bare.c", "/* Says its job. */\nint fl_x(void);\n"),
    ("spdx", "src/net/silent.c", SPDX + "int fl_x(void);\n"),
    ("spdx", "tools/script", "#!/usr/bin/env python3\nprint()\n"),
    ("readme", "src/storage/log.h", SPDX + "#ifndef FL_LOG_H\n#define FL_LOG_H\n#endif\n"),
    ("readme", "src/net/README.md", "# short\n"),
    ("guards", "src/net/open.h", SPDX + "int fl_x(void);\n"),
    ("guards", "src/net/odd.h", SPDX + "#ifndef FL_EVEN_H\n#define FL_EVEN_H\n#endif\n"),
    ("dead", "src/base/lonely.c", source("int fl_x(void);")),
    ("citations", "src/net/cited.c", source("/* spe" + "c/protocol.md 7.1 */")),
    ("unfinished", "src/net/later.c", source("/* TO" + "DO: more */")),
    ("places", "docs/notes.md", "see /wor" + "k/main\n"),
    ("places", "docs/hosts.md", "from pypi." + "org\n"),
    ("whitespace", "src/net/tab.c", source("\tint fl_x(void);")),
    ("whitespace", "src/net/end.c", HEAD + "int fl_x(void);"),
]


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def rules_found(root):
    return {(found.rule, str(found.path)) for found in tidy.findings(root)}


def test_good_tree_has_no_finding(tmp_path):
    write(tmp_path, GOOD)
    assert rules_found(tmp_path) == set()


@pytest.mark.parametrize(("rule", "name", "text"), BAD, ids=[f"{bad[0]}-{bad[1]}" for bad in BAD])
def test_bad_file_is_found_by_its_rule(tmp_path, rule, name, text):
    write(tmp_path, {**GOOD, name: text})
    found = rules_found(tmp_path)
    assert (rule, name) in found or (rule, str(Path(name).parent)) in found


def test_each_rule_has_a_bad_sample():
    assert {rule.__name__[len("rule_") :] for rule in tidy.RULES} == {bad[0] for bad in BAD}


def test_function_of_70_lines_is_accepted(tmp_path):
    write(tmp_path, {**GOOD, "src/base/thing.c": function_of(70)})
    assert rules_found(tmp_path) == set()


def test_multi_line_signatures_count():
    lines = (SPDX + "static int f(int a,\n             int b)\n{\n    return a;\n}\n").splitlines()
    assert list(tidy.c_functions(lines)) == [("f", 2, 6)]
