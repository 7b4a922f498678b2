# SPDX-License-Identifier: Apache-2.0
"""What a newcomer meets in the command `fluss`: databases, lookups, and errors that say what to do.

Goal: rows are found by key in each way a key can be written; each error names what was found, what
was expected, and the option that helps.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from peers import BUILD
from testlib import server

LIMIT_S = 60


@pytest.fixture(scope="module")
def addresses():
    with server(BUILD / "fluss", sasl=True) as addresses:
        yield addresses


@pytest.fixture
def fluss(addresses):
    def run(*arguments, stdin="", status=0, at=0):
        done = subprocess.run(
            [BUILD / "fluss", arguments[0], "--server", addresses[at], *arguments[1:]],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def names_of(text):
    return [row["name"] for row in rows_of(text)]


def test_version_is_that_of_the_library():
    done = subprocess.run(
        [BUILD / "fluss", "--version"], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0
    assert done.stdout.strip().split()[-1][0].isdigit()


# ---- databases ----


def test_database_is_made_and_dropped(fluss):
    fluss("create-database", "shop", "--comment", "a shop")
    assert "shop" in names_of(fluss("databases", "--json"))
    assert "shop" in fluss("create-database", "shop", status=1)
    fluss("create-database", "shop", "--if-not-exists")
    fluss("create-table", "shop.t", "id INT")
    assert "not empty" in fluss("drop-database", "shop", status=1)
    fluss("drop-database", "shop", "--cascade")
    assert "shop" not in names_of(fluss("databases", "--json"))
    assert "shop" in fluss("drop-database", "shop", status=1)
    fluss("drop-database", "shop", "--if-exists")


@pytest.mark.parametrize("command", ["create-database", "drop-database"])
def test_database_wants_one_name(fluss, command):
    assert "one argument" in fluss(command, status=2)
    assert "one argument" in fluss(command, "a", "b", status=2)


# ---- lookup ----


@pytest.fixture(scope="module")
def scores(addresses):
    """A table with a key of three columns in another order than that of the columns."""

    def run(*arguments, stdin=""):
        command = [BUILD / "fluss", *arguments, "--server", addresses[0]]
        subprocess.run(command, input=stdin, text=True, timeout=LIMIT_S, check=True)

    columns = "score DOUBLE, day DATE, name STRING, id INT"
    run("create-table", "fluss.scores", columns, "--key", "id,name,day", "--buckets", "3")
    rows = [{"score": i / 2, "day": f"2026-06-0{i}", "name": str(i), "id": -i} for i in range(1, 6)]
    run("append", "fluss.scores", stdin=lines(rows))
    return rows


def test_row_is_found_by_the_values_of_its_key(fluss, scores):
    found = fluss("lookup", "fluss.scores", "--json", "--", "-3", "3", "2026-06-03")
    assert rows_of(found) == [scores[2]]
    table = fluss("lookup", "fluss.scores", "--", "-3", "3", "2026-06-03").splitlines()
    assert table[0].split() == ["score", "day", "name", "id"]
    assert len(table) == 2


def test_rows_are_found_by_json_as_arguments_and_lines(fluss, scores):
    keys = [{name: row[name] for name in ("day", "id", "name")} for row in scores[:2]]
    found = fluss("lookup", "fluss.scores", *map(json.dumps, keys), "--json")
    assert rows_of(found) == scores[:2]
    assert rows_of(fluss("lookup", "fluss.scores", "--json", stdin=lines(keys))) == scores[:2]


def test_key_without_row_is_said(fluss, scores):
    said = fluss("lookup", "fluss.scores", "7", "x", "2026-06-03", status=1)
    assert 'no row has the key {"id":7,"name":"x","day":"2026-06-03"}' in said


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        (["7"], "1 values for a key of 3 columns: id, name, day"),
        (["x", "x", "2026-06-03"], "column 'id': \"x\" is not a whole number"),
        (["1", "x", "today"], "column 'day': \"today\" is not a date"),
        (['{"id": 1, "score": 2}'], "the key has no column 'score'"),
        (['{"id": 1}'], "name"),
        (['{"id": 1'], "no JSON object"),
    ],
)
def test_wrong_key_is_named(fluss, scores, key, complaint):
    assert complaint in fluss("lookup", "fluss.scores", *key, status=1)


def test_lookup_in_a_log_table_is_refused(fluss):
    fluss("create-table", "fluss.log", "id INT", "--if-not-exists")
    assert "primary key" in fluss("lookup", "fluss.log", "1", status=1)


# ---- errors that help ----


def test_table_shows_letters_of_any_alphabet_and_escapes_control_characters(fluss):
    fluss("create-table", "fluss.words", "word STRING, n INT")
    fluss(
        "append", "fluss.words", stdin=lines([{"word": "\u00e4\u6f22", "n": 1}, {"word": "a\x1b"}])
    )
    shown = fluss("scan", "fluss.words").splitlines()
    assert (shown[1].split(), shown[2].split()) == (["\u00e4\u6f22", "1"], ["a\\x1b"])


def test_missing_partition_is_named(fluss):
    fluss("create-table", "fluss.ev", "id INT, day STRING", "--partitioned-by", "day")
    row = lines([{"id": 1, "day": "2031"}])
    said = fluss("append", "fluss.ev", "--timeout", "2", stdin=row, status=1)
    assert "fluss.ev(day=2031)' does not exist" in said


def test_server_that_wants_a_user_points_to_the_option(fluss):
    assert "--user NAME:PASSWORD" in fluss("databases", status=1, at=1)


def test_server_without_folder_keeps_its_data_in_a_temporary_one():
    process = subprocess.Popen(
        [BUILD / "fluss", "server", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline().startswith("listening on 127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "temporary directory" in said


@pytest.mark.parametrize("user", ["", "bob", ":secret", "bob:"])
def test_server_user_without_name_or_password_is_refused(tmp_path, user):
    done = subprocess.run(
        [BUILD / "fluss", "server", "--data-dir", tmp_path, "--listen", "127.0.0.1:0"]
        + ["--sasl-listen", "127.0.0.1:0", "--sasl-user", user],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 2
    assert "--sasl-user: expected NAME:PASSWORD: no " in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("options", "warns"),
    [
        (["--listen", "192.0.2.1:0"], True),
        (["--listen", "192.0.2.1:0", "-o", "authorizer.enabled=true"], False),
        (["-o", "bind.listeners=S://192.0.2.1:0", "-o", "security.protocol.map=S:SASL"], False),
    ],
)
def test_server_that_lets_everyone_in_says_so(tmp_path, options, warns):
    """192.0.2.1 is nobody's address, so the server ends without listening."""
    command = [BUILD / "fluss", "server", "--data-dir", tmp_path, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode != 0
    assert ("warning: whoever reaches FLUSS://192.0.2.1:0" in done.stderr) is warns


def test_operations_of_rights_are_listed(fluss):
    said = fluss("acl", "grant", "bob", "FLY", "cluster", status=1)
    assert said == (
        "fluss acl: operation 'FLY' is not known; known are ALL, READ, WRITE, CREATE, DROP, "
        "ALTER, DESCRIBE\n"
    )


@pytest.mark.parametrize("columns", ["id INT, PRIMARY KEY (id)", "id INT primary key"])
def test_primary_key_among_the_columns_points_to_the_option(fluss, columns):
    assert "--key A,B" in fluss("create-table", "fluss.sql", columns, status=1)


@pytest.mark.parametrize("number", ["1.255", "0.1", "1e300", "12345.678901234567"])
def test_refused_number_is_shown_as_written(fluss, number):
    fluss("create-table", "fluss.money", "d DECIMAL(10,2)", "--if-not-exists")
    said = fluss("append", "fluss.money", stdin=f'{{"d": {number}}}\n', status=1)
    assert f"{number} is not a decimal in a string" in said


def test_offset_out_of_range_names_the_bucket_once_and_the_partition(fluss):
    """Only --follow reads beyond the end; without it the scan is done at once."""
    fluss("create-table", "fluss.far", "id INT, day STRING", "--partitioned-by", "day")
    fluss("create-partition", "fluss.far", "day=2030")
    said = fluss("scan", "fluss.far", "--follow", "--from", "7", status=1)
    assert said.count("fluss.far") == said.count("bucket 0") == 1
    assert "partition 2030, bucket 0: offset 7 is not in the range 0 to 0" in said
