# SPDX-License-Identifier: Apache-2.0
"""tools/protogen refuses a wrong schema and says where; what it writes is as message.h promises.

Method: small schemas as text, through the program as the build runs it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PROTOGEN = Path(__file__).resolve().parents[2] / "tools" / "protogen"


def generate(folder, schema):
    """(exit status, standard error, header, source)"""
    (folder / "x.schema").write_text(schema)
    done = subprocess.run(
        [sys.executable, PROTOGEN, "x.schema", "x.h", "x.c"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    texts = [(folder / name).read_text() for name in ("x.h", "x.c") if (folder / name).exists()]
    return done.returncode, done.stderr, *texts


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ("1 a int32", "line 1: a field before the first message"),
        ("message A\nmessage A", "line 2: message A is there twice"),
        ("message A\n  1 a", "line 2: expected `NUMBER FIELD TYPE`, found `1 a`"),
        ("message A\n  1 camelCase int32", "line 2: expected"),
        ("message A\n  1 a int32!", "line 2: expected"),
        ("message A\n  1 a int32\n  2 a int64", "line 3: field a is there twice"),
        ("message A\n  2 a int32\n  1 b int32", "line 3: field numbers don't ascend"),
        ("message A\n  2 a int32\n  2 b int32", "line 3: field numbers don't ascend"),
        ("message A\n  0 a int32", "line 2: field number 0 is not in 1..64"),
        ("message A\n  65 a int32", "line 2: field number 65 is not in 1..64"),
        ("message A\n  1 default int32", "line 2: field name default is a word of C"),
        ("message A\n  1 a string[]", "line 2: string can't be packed"),
        ("message A\n  1 a B?", "A.a: unknown type B"),
        ("message A\n  1 b B?\nmessage B\n  1 a A?", "message A contains itself"),
    ],
)
def test_wrong_schema_is_refused_with_its_place(tmp_path, schema, complaint):
    status, error, *written = generate(tmp_path, schema)
    assert status == 1
    assert complaint in error
    assert not written


def test_message_may_contain_itself_as_a_repeated_field(tmp_path):
    status, _, header, _ = generate(tmp_path, "message PbNode\n  1 children PbNode*  # a tree")
    assert status == 0
    assert "fl_msg_pb_node *children;" in header
    assert "size_t children_count;" in header


def test_struct_has_the_members_that_the_codec_header_describes(tmp_path):
    schema = "message Inner\nmessage OuterRequest\n  1 a int32\n  3 b bytes?\n  4 inner Inner\n"
    status, _, header, source = generate(tmp_path, schema)
    assert status == 0
    body = header[header.index("struct fl_msg_outer_request {") :]
    members = [line.strip() for line in body[: body.index("};")].splitlines()[1:]]
    assert sorted(members) == sorted(
        ["int32_t a;", "bool has_b;", "fl_slice b;", "fl_msg_inner inner;"]
    )
    assert "UINT64_C(0x9)" in source  # numbers 1 and 4 are required
