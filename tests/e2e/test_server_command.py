# SPDX-License-Identifier: Apache-2.0
"""The command `fluss server`: its options, its configuration file, its directory, its words.

Goal and method: one claim a test; the command as a user starts it, and what it prints.
"""

import json
import socket
import subprocess
from pathlib import Path

import pytest
from wire import BUILD, Server, ServerError, create_table, path_of, table_json

TOP = Path(__file__).resolve().parents[2]


def run(*arguments):
    return subprocess.run(
        [BUILD / "fluss", "server", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_second_server_on_the_directory_is_refused_and_a_killed_one_is_no_obstacle(tmp_path):
    server = Server(tmp_path / "data").start()
    second = run("--data-dir", str(server.data_dir), "--listen", "127.0.0.1:0")
    assert second.returncode == 1
    assert str(server.process.pid) in second.stderr
    server.kill()
    with server:
        pass


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "log.segment.file-sise=1mb"], "log.segment.file-size"),
        (["-o", "log.segment.file-size=many"], "many"),
        (["-o", "server.shards"], "KEY=VALUE"),
        (["--listen", "127.0.0.1"], "127.0.0.1"),
        (["--sasl-listen", "127.0.0.1:0"], "security.sasl.plain.credentials"),
        (["--sasl-listen", "127.0.0.1:0", "--sasl-user", "alice"], "NAME:PASSWORD"),
        (["--no-such"], "--no-such"),
        (["--config", "/does/not/exist"], "/does/not/exist"),
    ],
)
def test_a_wrong_option_is_named(tmp_path, arguments, words):
    done = run("--data-dir", str(tmp_path / "data"), *arguments)
    assert done.returncode != 0
    assert words in done.stderr
    assert done.stdout == ""


def test_a_password_is_never_shown(tmp_path):
    done = run(
        *("--data-dir", str(tmp_path / "data"), "--sasl-listen", "127.0.0.1:0"),
        *("--sasl-user", "al ice:hushhush", "--verbose"),
    )
    assert done.returncode != 0
    assert "hushhush" not in done.stderr + done.stdout
    options = ("--sasl-listen", "127.0.0.1:0", "--sasl-user", "al:hushhush")
    with Server(tmp_path / "data", *options) as server, server.connect() as connection:
        assert "hushhush" not in repr(connection.ask("DESCRIBE_CLUSTER_CONFIGS"))


def test_a_configuration_file_and_options_that_beat_it(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text("# ours\nmax.bucket.num: 2\ndefault.bucket.number=2\n\n")
    options = ("--config", str(config), "-o", "max.bucket.num=3")
    with Server(tmp_path / "data", *options) as server, server.connect() as connection:
        request = {
            "table_path": path_of("t"),
            "table_json": table_json({"id": "INTEGER"}),
            "ignore_if_exists": False,
        }
        connection.ask("CREATE_TABLE", request)
        info = connection.ask("GET_TABLE_INFO", {"table_path": path_of("t")})
        assert json.loads(info["table_json"])["bucket_count"] == 2
        create_table(connection, "three", 3)
        with pytest.raises(ServerError):
            create_table(connection, "four", 4)


def test_an_address_in_use_is_an_error_that_names_it(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("--data-dir", str(tmp_path / "data"), "--listen", address)
    assert done.returncode == 1
    assert address in done.stderr


def test_the_documentation_lists_exactly_the_settings():
    rows = run("--settings").stdout.splitlines()
    page = (TOP / "docs" / "server.md").read_text().partition("## Settings")[2]
    assert len(rows) > 20
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def test_a_command_with_closed_output_says_so(tmp_path):
    """No socket may take the number of a standard stream."""
    shell = '"$0" databases -s "$1" >&-'
    with Server(tmp_path / "data") as server:
        ended = subprocess.run(
            ["sh", "-c", shell, BUILD / "fluss", server.address],
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    assert ended.returncode == 1
    assert b"standard output" in ended.stderr
