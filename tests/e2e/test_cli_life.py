# SPDX-License-Identifier: Apache-2.0
"""The command `fluss` in a shell: signals, pipes, servers that go away, input without an end.

Goal: rows are whole and none is lost or there twice, waits end, memory is bounded, and what went
wrong is said. Method: one server for the tests that leave it alone; readers and writers are known
to be at work by what they print or by the offsets of their table.
"""

import fcntl
import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import termios
import time

import pytest
from command import run, start
from wire import BUILD, LIMIT_S, TOP, Port, Server

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
MEMORY_MAX = 1 << 30


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("cli") / "data") as server:
        run(server.address, "create-table", "fluss.log", "id INT, v STRING, d DOUBLE")
        run(server.address, "create-table", "fluss.keyed", "id INT, v STRING", "--key", "id")
        yield server.address


def end_offset(address, table):
    return json.loads(run(address, "offsets", table, "--json"))["offset"]


def wait_for_rows(address, table, count):
    deadline = time.monotonic() + LIMIT_S
    while end_offset(address, table) < count:
        assert time.monotonic() < deadline


# ---- signals ----


@pytest.mark.parametrize("number", SIGNALS)
def test_rows_that_were_read_are_sent_when_a_signal_ends_the_input(address, number):
    before = end_offset(address, "fluss.log")
    append = start(address, "append", "fluss.log")
    append.stdin.write(b'{"id": 1}\n{"id": 2}\n{"id": 3')
    wait_for_rows(address, "fluss.log", before + 2)
    append.send_signal(number)
    _, err = append.communicate(timeout=LIMIT_S)
    assert (append.returncode, err) == (-number, b"2 rows appended\n")
    assert end_offset(address, "fluss.log") == before + 2


def test_a_signal_at_any_moment_ends_an_append(address):
    """Also between the question whether one came and the wait for input."""
    for i in range(int(os.environ.get("FLUSS_SIGNALS", "20"))):
        append = start(address, "append", "fluss.log")
        time.sleep(i % 50 / 1000)
        append.send_signal(signal.SIGINT)
        assert append.wait(LIMIT_S) == -signal.SIGINT
        assert append.communicate() in {(b"", b""), (b"", b"0 rows appended\n")}


@pytest.mark.parametrize("number", SIGNALS)
def test_follow_ends_by_the_signal_between_two_rows(address, number):
    run(address, "append", "fluss.keyed", stdin=b'{"id": 1}\n')
    follow = start(address, "scan", "fluss.keyed", "--follow")
    assert json.loads(follow.stdout.readline()) == {"id": 1, "v": None}
    follow.send_signal(number)
    out, err = follow.communicate(timeout=LIMIT_S)
    assert (follow.returncode, err) == (-number, b"")
    assert all(json.loads(line) for line in out.splitlines())


def bytes_in(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"0000"), sys.byteorder)


def test_rows_are_whole_when_a_signal_comes_while_output_is_stuck(address):
    run(address, "create-table", "fluss.long", "id INT")
    run(address, "append", "fluss.long", stdin=b'{"id": 123456789}\n' * 10_000)
    scan = start(address, "scan", "fluss.long", "--json")
    deadline, filled, before = time.monotonic() + LIMIT_S, 0, -1
    while filled == 0 or filled != before:  # until the pipe is full
        assert time.monotonic() < deadline
        before, filled = filled, bytes_in(scan.stdout)
        select.select([], [], [], 0.05)
    scan.send_signal(signal.SIGINT)
    out, err = scan.communicate(timeout=LIMIT_S)
    assert (scan.returncode, err) == (-signal.SIGINT, b"")
    assert {*out.splitlines(keepends=True)} == {b'{"id":123456789}\n'}


def test_lookup_prints_what_it_found_before_a_signal(address):
    run(address, "append", "fluss.keyed", stdin=b'{"id": 7, "v": "seven"}\n')
    lookup = start(address, "lookup", "fluss.keyed", "--json")
    lookup.stdin.write(b'{"id": 7}\n{"id": 8}\n')
    assert lookup.stderr.readline() == b'fluss lookup: no row has the key {"id":8}\n'
    lookup.send_signal(signal.SIGINT)
    out, _ = lookup.communicate(timeout=LIMIT_S)
    assert lookup.returncode == -signal.SIGINT
    assert json.loads(out) == {"id": 7, "v": "seven"}


# ---- servers that come and go ----


@pytest.fixture
def port():
    with Port() as kept:
        yield kept


def test_follow_and_a_long_append_go_on_over_kills(tmp_path, port):
    server = Server(tmp_path / "data", "--listen", port.address).start()
    run(server.address, "create-table", "fluss.t", "id INT")
    output = tmp_path / "rows"
    with output.open("wb") as stream:
        command = [BUILD / "fluss", "scan", "fluss.t", "--follow", "--server", server.address]
        follow = subprocess.Popen(command, stdout=stream, stderr=subprocess.PIPE)
    append = start(server.address, "append", "fluss.t")
    sent = 0
    for round_number in range(3):
        for _ in range(500):
            append.stdin.write(b'{"id": %d}\n' % sent)
            sent += 1
        if round_number < 2:
            wait_for_rows(server.address, "fluss.t", 1)
            server.kill()
            append.stdin.write(b'{"id": %d}\n' % sent)
            sent += 1
            server.start()
    _, err = append.communicate(timeout=LIMIT_S)
    assert (append.returncode, err) == (0, b"%d rows appended\n" % sent)
    deadline = time.monotonic() + LIMIT_S
    while output.read_bytes().count(b"\n") < sent:
        assert time.monotonic() < deadline
    follow.send_signal(signal.SIGTERM)
    follow.communicate(timeout=LIMIT_S)
    rows = [json.loads(line)["id"] for line in output.read_text().splitlines()]
    assert rows == list(range(sent))
    assert server.stop() == 0


def test_follow_says_that_the_server_is_away_and_that_it_is_back(tmp_path):
    server = Server(tmp_path / "data").start()
    run(server.address, "create-table", "fluss.t", "id INT")
    follow = start(server.address, "scan", "fluss.t", "--follow")
    run(server.address, "append", "fluss.t", stdin=b'{"id": 1}\n')
    assert json.loads(follow.stdout.readline()) == {"id": 1}
    server.kill()
    said = follow.stderr.readline().decode()
    assert said.startswith("fluss scan: no answer for 3 seconds, waiting; last: ")
    assert server.address in said
    server = Server(server.data_dir, "--listen", server.address).start()
    assert follow.stderr.readline() == b"fluss scan: the server answers again\n"
    run(server.address, "append", "fluss.t", stdin=b'{"id": 2}\n')
    assert json.loads(follow.stdout.readline()) == {"id": 2}
    follow.send_signal(signal.SIGINT)
    assert follow.communicate(timeout=LIMIT_S) == (b"", b"")
    assert server.stop() == 0


def test_waits_end_and_say_why(tmp_path):
    """The last trouble is in the message, of each kind of call."""
    server = Server(tmp_path / "data").start()
    run(server.address, "create-table", "fluss.t", "id INT", "--key", "id")
    append = start(server.address, "append", "fluss.t", "--timeout", "1")
    append.stdin.write(b'{"id": 1}\n')
    wait_for_rows(server.address, "fluss.t", 1)
    server.kill()
    append.stdin.write(b'{"id": 2}\n')
    _, err = append.communicate(timeout=LIMIT_S)
    assert append.returncode == 1
    assert b"no result within 1000 milliseconds; last: " in err
    assert server.address.encode() in err


# ---- input ----


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b"", 0),
        (b"\n \t\r\n\n", 0),
        (b'\xef\xbb\xbf{"id": 1}\n', 1),
        (b'{"id": 1}\r\n{"id": 2}', 2),
        (b'{"d": 0.%s}\n' % (b"9" * 400), 1),
        (b'{"d": -0.0}\n{"id": -0}\n{}\n', 3),
        (b'{"d": 9223372036854775808}\n{"d": -%s, "v": "\\"%s"}\n' % (b"9" * 300, b"9" * 30), 2),
    ],
)
def test_what_is_taken(address, text, count):
    before = end_offset(address, "fluss.log")
    run(address, "append", "fluss.log", stdin=text)
    assert end_offset(address, "fluss.log") == before + count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"id": 1, "id": 2}', "duplicate object key"),
        (b'{"id": %s}' % (b"9" * 400), "line 1: a number out of range: too big integer"),
        (b'{"id": 9223372036854775808}', "9.223372036854776e18 is not a whole number of 64 bits"),
        (b'{"d": 1e400}', "line 1: a number out of range: real number overflow"),
        (b"[" * 100_000, "maximum parsing depth"),
        (b'{"v": ' * 100_000, "maximum parsing depth"),
        (b'{"v": "\xff"}', "unable to decode byte 0xff"),
        (b'{"v": "\\ud800"}', "invalid Unicode"),
        (b'{"id": 1}{"id": 2}', "end of file expected"),
        ('{"id": 1}'.encode("utf-16"), "line 1: no JSON object"),
        (b"null", "line 1: no JSON object"),
    ],
)
def test_what_is_refused_is_said(address, text, words):
    before = end_offset(address, "fluss.log")
    said = run(address, "append", "fluss.log", stdin=text + b"\n", status=1)
    assert words in said
    assert said.endswith("\n0 rows appended\n")
    assert end_offset(address, "fluss.log") == before


def test_a_line_without_an_end_takes_bounded_memory(address):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))

    with open("/dev/zero", "rb") as endless:
        command = [BUILD / "fluss", "append", "fluss.log", "--server", address]
        done = subprocess.run(
            command,
            stdin=endless,
            capture_output=True,
            timeout=LIMIT_S,
            preexec_fn=limit,
            check=False,
        )
    assert done.returncode == 1
    assert b"line 1: longer than 128 MiB" in done.stderr


@pytest.mark.parametrize("command", ["append fluss.log", "lookup fluss.keyed"])
def test_closed_input_is_not_an_empty_one(address, command):
    shell = f'"$0" {command} -s "$1" <&-'
    done = subprocess.run(
        ["sh", "-c", shell, BUILD / "fluss", address],
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    assert b"standard input can't be read: Bad file descriptor" in done.stderr


# ---- output ----


@pytest.mark.parametrize(
    "command",
    ["--help", "--version", "help scan", "scan -h", "server --help", "server --settings", "tables"],
)
def test_output_that_cannot_be_written_is_an_error(address, command):
    environment = {**os.environ, "FLUSS_SERVER": address}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [BUILD / "fluss", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=LIMIT_S,
            env=environment,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.endswith(b"standard output: No space left on device\n")
    assert done.stderr.count(b"\n") == 1


def command_names():
    listed = subprocess.run([BUILD / "fluss", "help"], capture_output=True, text=True, check=True)
    names = [line.split()[0] for line in listed.stdout.splitlines() if line.startswith("  ")]
    assert len(names) > 10
    return names


def test_every_command_has_help():
    for name in command_names():
        texts = {
            subprocess.run(
                [BUILD / "fluss", *words], capture_output=True, text=True, check=True
            ).stdout
            for words in ([name, "--help"], [name, "-h"], ["help", name])
        }
        assert len(texts) == 1
        assert texts.pop().startswith(f"usage: fluss {name}")


def test_wrong_options_begin_with_the_name_of_the_command():
    done = subprocess.run(
        [BUILD / "fluss", "scan", "-q"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("fluss scan: invalid option")


def test_a_table_shows_every_row_and_cuts_long_values_with_a_mark(address):
    run(address, "create-table", "fluss.wide", "id INT, v STRING")
    rows = [{"id": i, "v": f"v{i}"} for i in range(10_500)]
    rows[3]["v"] = "é" * 1_000_000
    rows[4]["v"] = "a\0b"
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    run(address, "append", "fluss.wide", stdin=text)
    for locale in ("C.UTF-8", "C"):
        environment = {**os.environ, "LC_ALL": locale}
        table = run(address, "scan", "fluss.wide", "-n", "0", env=environment).splitlines()
        assert len(table) == 10_500 + 2, "a heading each 10,000 rows"
        assert max(map(len, table)) < 5000
        assert [line.split()[0] for line in table if "id" not in line] == list(
            map(str, range(10_500))
        )
    assert "a\\u0000b" in table[5]


def test_a_narrow_terminal_gets_all_columns(address):
    run(address, "append", "fluss.keyed", stdin=b'{"id": 123456, "v": "%s"}\n' % (b"long " * 20))
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "20", "TERM": "dumb"}
    done = subprocess.run(
        [BUILD / "fluss", "lookup", "fluss.keyed", "123456", "--server", address],
        stdout=slave,
        timeout=LIMIT_S,
        env=environment,
        check=False,
    )
    os.close(slave)
    shown = os.read(master, 1 << 16)
    os.close(master)
    assert done.returncode == 0
    assert b"123456" in shown and b"long" in shown


# ---- keys ----


def test_rows_are_found_by_the_beginning_of_their_key(address):
    options = ("--key", "id,b", "--bucket-key", "id")
    run(address, "create-table", "fluss.pairs", "id INT, b STRING", *options)
    run(
        address,
        "append",
        "fluss.pairs",
        stdin=b'{"id":1,"b":"x"}\n{"id":1,"b":"y"}\n{"id":2,"b":"z"}',
    )
    expected = '{"id":1,"b":"x"}\n{"id":1,"b":"y"}\n'
    lookup = ("lookup", "fluss.pairs", "--prefix", "--json")
    assert run(address, *lookup, "1") == expected
    assert run(address, *lookup, '{"id": 1}') == expected
    assert run(address, *lookup, stdin=b'{"id": 1}\n') == expected
    assert 'begins with {"id":9}' in run(address, *lookup, "9", status=1)
    assert "2 values for a prefix of 1 columns: id" in run(address, *lookup, "1", "x", status=1)
    assert run(address, "lookup", "fluss.keyed", "--prefix", "1", status=1)


def test_the_beginning_of_a_key_names_the_partition(address):
    options = ("--key", "day,id,b", "--bucket-key", "id", "--partitioned-by", "day")
    run(address, "create-table", "fluss.days", "id INT, b STRING, day STRING", *options)
    run(address, "create-partition", "fluss.days", "day=mon")
    run(address, "append", "fluss.days", stdin=b'{"id":1,"b":"x","day":"mon"}\n')
    lookup = ("lookup", "fluss.days", "--prefix", "--json")
    assert run(address, *lookup, "mon", "1") == '{"id":1,"b":"x","day":"mon"}\n'
    assert "no row has" in run(address, *lookup, "tue", "1", status=1)


# ---- what is installed with it ----


def complete(*words):
    """What Tab offers for the last word."""
    script = (
        f'source "{TOP}/src/cli/completion.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_fluss; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", BUILD / "fluss", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return done.stdout.split()


def test_bash_completes_commands_and_options():
    assert complete("drop-") == ["drop-database", "drop-partition", "drop-table"]
    assert complete("help", "sc") == ["scan"]
    assert complete("scan", "fluss.t", "--f") == ["--from", "--follow"]
    assert complete("lookup", "--p") == ["--prefix"]
    assert complete("server", "--sasl-") == ["--sasl-listen", "--sasl-user"]


def test_every_command_has_a_man_page_with_all_its_options():
    for name in command_names():
        page = (BUILD / "man1" / f"fluss-{name}.1").read_text()
        shown = set(re.findall(r"--[a-z-]+", page.replace("\\-", "-")))
        help_text = subprocess.run(
            [BUILD / "fluss", name, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert set(re.findall(r"--[a-z-]+", help_text)) <= shown
        assert f"fluss-{name} " in (BUILD / "man1" / "fluss.1").read_text().replace("\\-", "-")
