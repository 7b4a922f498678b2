# SPDX-License-Identifier: Apache-2.0
"""The command `fluss`, run as a user runs it, against a server of its own.

Goal: what `scan --json` prints, `append` reads; tables, keys and offsets come out right; wrong use
and refused rows are said and change nothing that was not asked for.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from peers import BUILD
from testlib import server

LIMIT_S = 60
TYPES = {
    "b": ("BOOLEAN", [True, False]),
    "i1": ("TINYINT", [-128, 127]),
    "i2": ("SMALLINT", [-32768, 32767]),
    "i4": ("INT", [-(2**31), 2**31 - 1]),
    "i8": ("BIGINT", [-(2**63), 2**63 - 1]),
    "f4": ("FLOAT", [0.5, "NaN"]),
    "f8": ("DOUBLE", [-1e300, "-Infinity"]),
    "c": ("CHAR(3)", ["abc", "äöü"]),
    "s": ("STRING", ["", "é€😀"]),
    "x": ("BINARY(4)", ["AAECAw==", "/////w=="]),
    "y": ("BYTES", ["", "AQI="]),
    "d": ("DECIMAL(10,2)", ["-12.50", "0.00"]),
    "w": ("DECIMAL(38,10)", ["1234567890123456789012345678.0123456789", "-0.0000000001"]),
    "day": ("DATE", ["1969-12-31", "2026-06-01"]),
    "t": ("TIME(3)", ["00:00:00", "23:59:59.999"]),
    "n": ("TIMESTAMP(9)", ["1969-12-31T23:59:59.999999999", "2026-06-01T12:30:00.25"]),
    "z": ("TIMESTAMP_LTZ(6)", ["1970-01-01T00:00:00Z", "2026-06-01T12:30:00.000001Z"]),
    "a": ("ARRAY<INT>", [[], [1, None, 3]]),
    "m": ("MAP<STRING, BIGINT>", [[], [["k", 5]]]),
    "r": ("ROW<p INT, q ARRAY<STRING>>", [{"p": 1, "q": ["x"]}, {"p": None, "q": None}]),
}


@pytest.fixture(scope="module")
def address():
    with server(BUILD / "fluss") as addresses:
        yield addresses[0]


def runner(address):
    def run(*arguments, stdin="", status=0):
        done = subprocess.run(
            [BUILD / "fluss", *arguments, "--server", address],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


@pytest.fixture
def fluss(address):
    return runner(address)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_rows_of_every_type_come_back_as_they_went_in(fluss):
    columns = ", ".join(f"{name} {text}" for name, (text, _) in TYPES.items())
    fluss("create-table", "fluss.types", columns)
    rows = [{name: values[i] for name, (_, values) in TYPES.items()} for i in range(2)]
    rows.append(dict.fromkeys(TYPES))
    fluss("append", "fluss.types", stdin=lines(rows))
    assert rows_of(fluss("scan", "fluss.types", "--json")) == rows


def test_table_is_listed_described_and_dropped(fluss):
    fluss(
        "create-table", "fluss.life", "id INT, `odd name` STRING", "--key", "id", "--buckets", "3"
    )
    assert {"name": "life"} in rows_of(fluss("tables", "--json"))
    described = json.loads(fluss("describe", "fluss.life", "--json"))
    assert described["columns"] == [
        {"name": "id", "type": "INT NOT NULL"},
        {"name": "odd name", "type": "STRING"},
    ]
    assert (described["primary_keys"], described["buckets"]) == (["id"], 3)
    assert "primary key:    id" in fluss("describe", "fluss.life")
    fluss("drop-table", "fluss.life")
    assert {"name": "life"} not in rows_of(fluss("tables", "--json"))
    assert "does not exist" in fluss("describe", "fluss.life", status=1)


def test_partitions_are_made_listed_and_dropped(fluss):
    columns = "id INT, region STRING, shift INT"
    fluss("create-table", "fluss.parts", columns, "--partitioned-by", "region,shift")
    for region, shift in (("eu", 1), ("eu", 2), ("us", 1)):
        fluss("create-partition", "fluss.parts", f"shift={shift}", f"region={region}")
    listed = rows_of(fluss("partitions", "fluss.parts", "--json"))
    assert [row["name"] for row in listed] == ["eu$1", "eu$2", "us$1"]
    narrowed = rows_of(fluss("partitions", "fluss.parts", "region=eu", "--json"))
    assert [row["name"] for row in narrowed] == ["eu$1", "eu$2"]
    fluss("append", "fluss.parts", stdin=lines([{"id": 1, "region": "us", "shift": 1}]))
    assert len(rows_of(fluss("scan", "fluss.parts", "--json"))) == 1
    fluss("drop-partition", "fluss.parts", "region=us", "shift=1")
    assert "us$1" not in fluss("partitions", "fluss.parts")
    assert rows_of(fluss("scan", "fluss.parts", "--json")) == []
    again = ("create-partition", "fluss.parts", "region=eu", "shift=1")
    assert "already exists" in fluss(*again, status=1)
    missing = ("drop-partition", "fluss.parts", "region=eu", "shift=9")
    assert "does not exist" in fluss(*missing, status=1)
    assert "COLUMN=VALUE" in fluss("create-partition", "fluss.parts", "region", status=2)
    assert "is missing" in fluss("drop-partition", "fluss.parts", status=2)


def test_existing_table_is_an_error_unless_allowed(fluss):
    fluss("create-table", "fluss.twice", "id INT")
    assert "twice" in fluss("create-table", "fluss.twice", "id INT", status=1)
    fluss("create-table", "fluss.twice", "id INT", "--if-not-exists")


def test_offsets_count_the_rows_of_each_bucket(fluss):
    fluss("create-table", "fluss.counted", "id INT", "--buckets", "4", "--bucket-key", "id")
    fluss("append", "fluss.counted", stdin=lines({"id": i} for i in range(100)))
    offsets = rows_of(fluss("offsets", "fluss.counted", "--json"))
    assert [row["bucket"] for row in offsets] == [0, 1, 2, 3]
    assert sum(row["offset"] for row in offsets) == 100


def test_key_table_gives_its_changelog(fluss):
    fluss("create-table", "fluss.keyed", "id INT, v STRING", "--key", "id")
    fluss("append", "fluss.keyed", stdin=lines([{"id": 1, "v": "a"}, {"id": 1, "v": "b"}]))
    changes = rows_of(fluss("scan", "fluss.keyed", "--json", "--meta"))
    assert [(row["_change"], row["v"]) for row in changes] == [
        ("+I", "a"),
        ("-U", "a"),
        ("+U", "b"),
    ]


def test_scan_takes_offset_limit_and_columns(fluss):
    fluss("create-table", "fluss.part", "id INT, v STRING")
    fluss("append", "fluss.part", stdin=lines({"id": i, "v": f"v{i}"} for i in range(200)))
    found = fluss("scan", "fluss.part", "--json", "--from", "150", "-n", "3", "-c", "v,id")
    assert found == '{"v":"v150","id":150}\n{"v":"v151","id":151}\n{"v":"v152","id":152}\n'
    assert len(rows_of(fluss("scan", "fluss.part", "--json"))) == 200
    assert len(rows_of(fluss("scan", "fluss.part", "--json", "--limit", "0"))) == 200
    assert fluss("scan", "fluss.part", "--from", "latest") == ""
    table = fluss("scan", "fluss.part", "-n", "2").splitlines()
    assert [line.split() for line in table] == [["id", "v"], ["0", "v0"], ["1", "v1"]]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"id": "one"}', "column 'id': \"one\" is not a whole number"),
        ('{"id": 1, "day": "yesterday"}', "a date like"),
        ('{"id": 1, "other": 2}', "no column 'other'"),
        ('{"id": 99999999999}', "id"),
        ('{"id": 1', "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"day": null}', "id"),
    ],
)
def test_refused_row_is_named_and_those_before_it_are_kept(fluss, line, complaint):
    fluss("create-table", "fluss.strict", "id INT NOT NULL, day DATE", "--if-not-exists")
    before = rows_of(fluss("offsets", "fluss.strict", "--json"))[0]["offset"]
    said = fluss("append", "fluss.strict", stdin='{"id": 5}\n' + line + "\n", status=1)
    assert "line 2" in said
    assert complaint in said
    assert rows_of(fluss("offsets", "fluss.strict", "--json"))[0]["offset"] == before + 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["scan"], "DATABASE.TABLE"),
        (["scan", "fluss.part", "--from", "soon"], "earliest, latest or an offset"),
        (["append", "nodot"], "DATABASE.TABLE"),
        (["create-table", "fluss.x", "id INT", "--buckets", "0"], "1 to 100000"),
        (["tables", "--timeout", "-1"], "seconds"),
        (["describe", "fluss.x", "--nonsense"], "nonsense"),
    ],
)
def test_wrong_use_is_said_with_status_2(fluss, arguments, complaint):
    assert complaint in fluss(*arguments, status=2)


def test_column_without_type_is_named(fluss):
    assert "column 'v' has no type" in fluss("create-table", "fluss.bad", "id INT, v", status=1)


def test_no_server_is_an_error_that_names_the_address():
    done = subprocess.run(
        [BUILD / "fluss", "databases", "--server", "127.0.0.1:1"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr


# ---- rights ----


@pytest.fixture(scope="module")
def secure():
    """A server with ACLs; runs the command as one of its users."""
    options = ["-o", "authorizer.enabled=true", "-o", "super.users=User:admin"]
    with server(BUILD / "fluss", sasl=True, options=options) as addresses:

        def run(user, *arguments, status=0):
            command = [BUILD / "fluss", *arguments, "--server", addresses[1]]
            done = subprocess.run(
                [*command, "--user", f"{user}:{user}-secret"],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
            assert done.returncode == status, done.stderr
            return done.stdout if status == 0 else done.stderr

        yield run


def test_rights_are_granted_shown_and_revoked(secure):
    secure("admin", "create-table", "fluss.t", "id INT")
    assert "not authorized" in secure("alice", "describe", "fluss.t", status=1)
    granted = secure("admin", "acl", "grant", "alice", "READ,WRITE", "table:fluss.t", "--json")
    assert [json.loads(row)["operation"] for row in granted.splitlines()] == ["READ", "WRITE"]
    assert "fluss.t" in secure("alice", "describe", "fluss.t")
    assert "not authorized" in secure("alice", "drop-table", "fluss.t", status=1)
    listed = secure("admin", "acl", "list", "alice", "WRITE", "--json").splitlines()
    assert [json.loads(row) for row in listed] == [
        {
            "principal_type": "User",
            "principal": "alice",
            "operation": "WRITE",
            "resource_type": "TABLE",
            "resource": "fluss.t",
            "host": "*",
        }
    ]
    secure("admin", "acl", "revoke", "alice", "ANY", "table:fluss.t")
    assert "not authorized" in secure("alice", "describe", "fluss.t", status=1)
    assert "no such ACL" in secure(
        "admin", "acl", "revoke", "alice", "READ", "table:fluss.t", status=1
    )


def test_everyone_can_be_given_a_right(secure):
    secure("admin", "acl", "grant", "*", "DESCRIBE", "database:*")
    assert "fluss" in secure("alice", "databases")
    secure("admin", "acl", "revoke", "*", "DESCRIBE", "database:*")
    assert "fluss" not in secure("alice", "databases")


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["acl"], "list, grant or revoke"),
        (["acl", "give"], "'give' is not list, grant or revoke"),
        (["acl", "grant", "alice", "READ"], "found 2 words"),
        (["acl", "grant", "alice", "READ", "fluss.t"], "'fluss.t' is not cluster"),
        (["acl", "grant", "alice", ",", "cluster"], "no operations"),
    ],
)
def test_wrong_use_of_acl_is_said(secure, arguments, complaint):
    assert complaint in secure("admin", *arguments, status=2)


def test_an_operation_that_is_not_known_is_named(secure):
    text = secure("admin", "acl", "grant", "alice", "SING", "cluster", status=1)
    assert "operation 'SING' is not known" in text


# --- odd input and output ---


def run_raw(address, *arguments, stdin=None, **more):
    return subprocess.run(
        [BUILD / "fluss", *arguments, "--server", address],
        stdin=stdin if stdin is not None else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=LIMIT_S,
        **more,
    )


def test_directory_as_input_is_an_error(fluss, address, tmp_path):
    fluss("create-table", "fluss.odd_input", "id INT", "--if-not-exists")
    folder = os.open(tmp_path, os.O_RDONLY)
    done = run_raw(address, "append", "fluss.odd_input", stdin=folder)
    os.close(folder)
    assert (done.returncode, b"can't be read" in done.stderr) == (1, True)


@pytest.mark.parametrize("content", [bytes(range(256)) * 10, b'{"id":1\x00}\n', b"\xff\xfe\n"])
def test_binary_input_is_one_line_of_error(fluss, address, tmp_path, content):
    fluss("create-table", "fluss.odd_input", "id INT", "--if-not-exists")
    file = tmp_path / "input"
    file.write_bytes(content)
    with file.open("rb") as stream:
        done = run_raw(address, "append", "fluss.odd_input", stdin=stream)
    assert done.returncode == 1
    assert done.stderr.startswith(b"fluss append: line 1: no JSON object")


def test_output_that_is_full_is_an_error_and_one_that_closes_is_quiet(fluss, address):
    fluss("create-table", "fluss.much", "id INT", "--if-not-exists")
    fluss("append", "fluss.much", stdin=lines({"id": i} for i in range(20_000)))
    with open("/dev/full", "wb") as full:
        done = run_raw(address, "scan", "fluss.much", "--json", stdout=full)
    assert (done.returncode, b"standard output" in done.stderr) == (1, True)
    command = f"'{BUILD / 'fluss'}' scan fluss.much --json --limit 0 --server {address} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=LIMIT_S)
    assert (done.stdout, done.stderr) == (b'{"id":0}\n', b"")


def test_only_a_table_is_cut_and_that_is_said(fluss, address):
    fluss("create-table", "fluss.cut", "id INT")
    fluss("append", "fluss.cut", stdin=lines({"id": i} for i in range(150)))
    done = run_raw(address, "scan", "fluss.cut", stdout=subprocess.PIPE)
    assert len(done.stdout.splitlines()) < 110
    assert b"--limit 0 prints all" in done.stderr
    done = run_raw(address, "scan", "fluss.cut", "-n", "100", stdout=subprocess.PIPE)
    assert done.stderr == b""


def test_what_scan_prints_as_json_append_reads_as_a_whole(fluss):
    fluss("create-table", "fluss.whole", "id INT")
    fluss("create-table", "fluss.copy", "id INT")
    fluss("append", "fluss.whole", stdin=lines({"id": i} for i in range(250)))
    fluss("append", "fluss.copy", stdin=fluss("scan", "fluss.whole", "--json"))
    assert len(rows_of(fluss("scan", "fluss.copy", "--json"))) == 250
    assert len(rows_of(fluss("scan", "fluss.copy", "--json", "-n", "7"))) == 7


@pytest.mark.parametrize(
    "arguments",
    [("scan",), ("scan", "--limit", "x", "a.b"), ("append", "--odd"), ("acl", "list", "--odd")],
)
def test_wrong_argument_gives_one_line_and_points_to_the_help(address, arguments):
    done = run_raw(address, *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)
    assert done.stderr.endswith(f"try `fluss {arguments[0]} --help`\n".encode())


def test_scan_ends_where_a_bucket_has_lost_all_its_rows(tmp_path):
    fluss = runner(f"embedded:{tmp_path}")
    fluss("create-table", "fluss.old", "id INT", "--buckets", "2", "--bucket-key", "id")
    fluss("append", "fluss.old", stdin=lines({"id": i} for i in range(20)))
    rows = rows_of(fluss("scan", "fluss.old", "--json", "--meta"))
    kept = [row for row in rows if row["_bucket"] == 1]
    assert 0 < len(kept) < len(rows)
    # What is left of a log when its last segment expires, as an official server lets it.
    (log,) = tmp_path.glob("fluss/old-*/log-0/00*.log")
    log.write_bytes(b"")
    log.rename(log.with_name(f"{len(rows) - len(kept):020}.log"))
    assert rows_of(fluss("scan", "fluss.old", "--json", "--meta")) == kept
    assert fluss("scan", "fluss.old", "--json", "--from", "latest") == ""


def test_pattern_and_missing_name_drop_nothing(fluss):
    fluss("create-table", "fluss.kept", "id INT", "--if-not-exists")
    fluss("drop-table", status=2)
    fluss("drop-table", "fluss.*", status=1)
    fluss("drop-table", "fluss.", status=2)
    assert {"name": "kept"} in rows_of(fluss("tables", "--json"))
